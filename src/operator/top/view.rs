//! What the live view looks like: sessions as a tree, the lanes under the cursor, the stream of
//! refusals with rule and remedy. Usable at 80x24 and without colour. Draws; changes nothing.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color as Ink, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Row, Table, TableState};

use super::app::{App, Mode};
use crate::journal::Entry;
use crate::operator::model::{Held, Process, Standing};
use crate::operator::ps::tilde;
use crate::operator::replay::moment;
use crate::operator::screen::{Color, age, fit, harmless};
use crate::policy::rules;

/// Draws the whole view.
pub(super) fn draw(frame: &mut Frame, app: &App) {
    let [head, sessions, lanes, denials, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(5),
        Constraint::Length(6),
        Constraint::Percentage(30),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(header(app), head);
    table(frame, app, sessions);
    frame.render_widget(held(app, lanes), lanes);
    frame.render_widget(refused(app, denials), denials);
    frame.render_widget(footer(app), foot);
    match &app.mode {
        Mode::Journal { pid, lines, top } => journal(frame, pid, lines, *top),
        Mode::Browse | Mode::Filter | Mode::Confirm(_) => {}
    }
}

fn ink(app: &App, color: Ink, modifier: Modifier) -> Style {
    let style = Style::default().add_modifier(modifier);
    match app.color {
        Color::On => style.fg(color),
        Color::Off => style,
    }
}

fn header(app: &App) -> Paragraph<'static> {
    let live = |kind: fn(&Process) -> bool| {
        let all = app.picture.processes.iter();
        all.filter(|process| process.state == Standing::Live && kind(process)).count()
    };
    let sessions = live(|process| process.kind == "session");
    let agents = live(|process| process.kind != "session");
    let lanes: usize = app.picture.processes.iter().map(|process| process.lanes.len()).sum();
    let denied: u64 = app.picture.processes.iter().map(|process| process.denials).sum();
    let mut spans = vec![
        Span::styled("octo", ink(app, Ink::Cyan, Modifier::BOLD)),
        Span::raw(format!(
            "  {sessions} sessions  {agents} agents  {lanes} lanes  {denied} denied  by {}",
            app.sort.word()
        )),
        Span::raw(format!("  {} GB free", app.free_mb >> 10)),
    ];
    if let Some(pause) = app.picture.off.first() {
        let left = age(pause.until.saturating_sub(app.picture.at));
        let text = format!("  gates OFF {left}");
        spans.push(Span::styled(text, ink(app, Ink::Yellow, Modifier::BOLD)));
    }
    Paragraph::new(Line::from(spans))
}

fn block(title: String) -> Block<'static> {
    Block::default().borders(Borders::TOP).title(title)
}

fn table(frame: &mut Frame, app: &App, area: Rect) {
    let width = usize::from(area.width).saturating_sub(50).max(10);
    let rows = app.rows.iter().map(|process| {
        let style = match process.state {
            Standing::Live if process.in_a_row > 2 => ink(app, Ink::Yellow, Modifier::BOLD),
            Standing::Live => Style::default(),
            Standing::Silent | Standing::Ended | Standing::Dead => {
                ink(app, Ink::DarkGray, Modifier::DIM)
            }
        };
        let indent = if process.kind == "session" { "" } else { "└ " };
        let root = process.trees.first().map(|tree| &tree.path).or(process.root.as_ref());
        let root = root.map_or("-".to_owned(), |root| fit(&tilde(root, &app.home), width));
        Row::new([
            format!("{indent}{}", harmless(&process.short)),
            fit(&harmless(&process.kind), 10),
            process.state.word().to_owned(),
            root,
            process.lanes.len().to_string(),
            age(process.seen),
            process.denials.to_string(),
        ])
        .style(style)
    });
    let widths = [
        Constraint::Length(12),
        Constraint::Length(10),
        Constraint::Length(6),
        Constraint::Min(10),
        Constraint::Length(5),
        Constraint::Length(7),
        Constraint::Length(6),
    ];
    let heading = Row::new(["PID", "TYPE", "STATE", "ROOT", "LANES", "SEEN", "DENIED"])
        .style(Style::default().add_modifier(Modifier::BOLD));
    let filter = match (&app.mode, app.filter.is_empty()) {
        (Mode::Filter, _) => format!(" sessions /{}_ ", harmless(&app.filter)),
        (Mode::Browse | Mode::Confirm(_) | Mode::Journal { .. }, false) => {
            format!(" sessions /{} ", harmless(&app.filter))
        }
        (Mode::Browse | Mode::Confirm(_) | Mode::Journal { .. }, true) => " sessions ".to_owned(),
    };
    let table = Table::new(rows, widths)
        .header(heading)
        .block(block(filter))
        .row_highlight_style(Style::default().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default();
    state.select((!app.rows.is_empty()).then_some(app.selected));
    frame.render_stateful_widget(table, area, &mut state);
}

fn held(app: &App, area: Rect) -> Paragraph<'static> {
    let width = usize::from(area.width);
    let Some(process) = app.current() else {
        return Paragraph::new("no processes").block(block(" lanes ".to_owned()));
    };
    let left = app.picture.lease_seconds.saturating_sub(process.seen);
    let line = |word: &str, held: &Held| {
        let path = tilde(&held.path, &app.home);
        let written = match held.written {
            Some(ago) => format!("written {} ago", age(ago)),
            None if word == "lane" => "not written yet".to_owned(),
            None => "uncommitted".to_owned(),
        };
        let tail = format!("  {}  {written}", age(held.age));
        let room = width.saturating_sub(tail.chars().count() + word.len() + 1);
        Line::from(format!("{word} {}{tail}", fit(&path, room)))
    };
    let working = process.lanes.iter().map(|held| line("lane", held));
    let custody = process.custody.iter().map(|held| line("kept", held));
    let rows = usize::from(area.height).saturating_sub(1);
    let trees = process.trees.iter().map(|tree| {
        let landing = tree.retry.as_deref().map(|retry| format!("; to land it: {retry}"));
        let text = format!("tree {} {}{}", tree.branch, tree.state, landing.unwrap_or_default());
        Line::from(fit(&harmless(&text), width))
    });
    let total = process.trees.len() + process.lanes.len() + process.custody.len();
    let mut lines: Vec<Line> = trees.chain(working).chain(custody).take(rows).collect();
    if total > rows {
        lines.pop();
        lines.push(Line::from(format!("and {} more", total + 1 - rows)));
    }
    let title = format!(" {} holds {total}; lapses in {} of silence ", process.short, age(left));
    Paragraph::new(lines).block(block(harmless(&title)))
}

fn refused(app: &App, area: Rect) -> Paragraph<'static> {
    let width = usize::from(area.width);
    let rows = usize::from(area.height).saturating_sub(1);
    let shown = app.shown_denials();
    let mut lines = Vec::new();
    for entry in shown.iter().take(rows.div_ceil(2)) {
        lines.extend(refusal(app, entry, width));
    }
    lines.truncate(rows);
    Paragraph::new(lines).block(block(format!(" denied {} ", shown.len())))
}

fn refusal(app: &App, entry: &Entry, width: usize) -> [Line<'static>; 2] {
    let rule = entry.note.rule.as_deref().unwrap_or("denied");
    let clock: String = moment(entry.at).chars().skip(11).take(8).collect();
    let pid: String = harmless(&entry.pid).chars().take(8).collect();
    let target = tilde(entry.note.target.as_deref().unwrap_or_default(), &app.home);
    let head = format!("{clock} {pid} ");
    let room = width.saturating_sub(head.chars().count() + rule.len() + 3);
    let first = Line::from(vec![
        Span::raw(head),
        Span::styled(format!("[{}]", harmless(rule)), ink(app, Ink::Red, Modifier::BOLD)),
        Span::raw(format!(" {}", fit(&target, room))),
    ]);
    let remedy = rules::find(rule).map_or("octo explain", |(_, _, remedy)| remedy);
    let second = format!("         {}", fit(remedy, width.saturating_sub(9)));
    [first, Line::from(Span::styled(second, ink(app, Ink::DarkGray, Modifier::DIM)))]
}

fn footer(app: &App) -> Paragraph<'static> {
    let text = match &app.mode {
        Mode::Confirm(pid) => {
            format!("release every lane of {}? y releases, any other key does not", harmless(pid))
        }
        Mode::Filter => "type to filter, enter keeps it, esc clears it".to_owned(),
        Mode::Journal { .. } => "j k move, space page, q back".to_owned(),
        Mode::Browse if app.message.is_empty() => {
            "j k move  / filter  s sort  a all  enter journal  c copy  r release  q quit".to_owned()
        }
        Mode::Browse => harmless(&app.message),
    };
    Paragraph::new(Span::styled(text, ink(app, Ink::DarkGray, Modifier::DIM)))
}

fn journal(frame: &mut Frame, pid: &str, lines: &[String], top: usize) {
    let [_, area, _] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    let width = usize::from(area.width);
    let shown: Vec<Line> =
        lines.iter().skip(top).map(|line| Line::from(fit(line, width))).collect();
    let title = format!(" journal of {}, {} lines ", harmless(pid), lines.len());
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(shown).block(block(title)), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::app::tests::app;
    use super::*;

    fn screen(app: &App, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, app)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content.chunks(usize::from(width));
        let line = |row: &[ratatui::buffer::Cell]| {
            let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
            text.trim_end().to_owned()
        };
        rows.map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_small_terminal_shows_everything_that_matters() {
        let mut app = app();
        app.selected = 1;
        app.free_mb = 7 << 10;
        let text = screen(&app, 80, 24);
        for piece in [
            "7 GB free",
            "octo  2 sessions  1 agents  2 lanes  2 denied",
            "3f2a91c0",
            "└ a1b2c3d4",
            "lane /w/app/src/lib.rs",
            "[lane.held] /w/app/src/lib.rs",
            "wait for the holder",
            "q quit",
        ] {
            assert!(text.contains(piece), "{piece} is missing in\n{text}");
        }
        assert_eq!(text.lines().count(), 24);
    }

    #[test]
    fn a_large_terminal_gives_paths_their_room() {
        let text = screen(&app(), 160, 50);
        assert!(text.contains("/w/app") && text.lines().count() == 50, "{text}");
    }

    #[test]
    fn a_question_and_a_journal_are_seen() {
        let mut app = app();
        app.mode = Mode::Confirm("a1b2c3d4e5".to_owned());
        assert!(screen(&app, 80, 24).contains("release every lane of a1b2c3d4e5? y releases"));
        app.open_journal("a1b2c3d4e5", vec!["1970 line".to_owned()]);
        let text = screen(&app, 80, 24);
        assert!(text.contains("journal of a1b2c3d4e5, 1 lines") && text.contains("1970 line"));
    }

    #[test]
    fn a_tiny_terminal_does_not_break() {
        for (width, height) in [(1, 1), (20, 5), (40, 10)] {
            drop(screen(&app(), width, height));
        }
    }
}
