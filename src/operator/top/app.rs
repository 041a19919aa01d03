//! The state of the live view and what each key does to it. Pure: pictures and keys in, an action
//! out; draws nothing, reads nothing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::journal::Entry;
use crate::operator::model::{Process, Snapshot};
use crate::operator::screen::Color;
use crate::policy::rules;

/// What the terminal's owner must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing.
    None,
    /// Leave.
    Quit,
    /// Put text on the clipboard.
    Copy(String),
    /// Read a process's journal.
    Journal(String),
    /// End a process's lanes: a person said yes.
    Release(String),
}

/// What is shown on top and what keys mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// The lists.
    Browse,
    /// Typing a filter.
    Filter,
    /// Asked whether to release.
    Confirm(String),
    /// Reading a journal.
    Journal {
        /// Whose.
        pid: String,
        /// Its lines.
        lines: Vec<String>,
        /// The first line shown.
        top: usize,
    },
}

/// The order of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Oldest first.
    Age,
    /// Most lanes first.
    Lanes,
    /// Most refused first.
    Denials,
}

impl Sort {
    /// Its name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Lanes => "lanes",
            Self::Denials => "denied",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Age => Self::Lanes,
            Self::Lanes => Self::Denials,
            Self::Denials => Self::Age,
        }
    }
}

/// The live view.
#[derive(Debug)]
pub(super) struct App {
    /// The home directory, shortened in paths.
    pub(super) home: String,
    /// Colour.
    pub(super) color: Color,
    /// The latest picture, as filtered and sorted.
    pub(super) rows: Vec<Process>,
    /// The latest picture whole.
    pub(super) picture: Snapshot,
    /// Free megabytes where worktrees are made.
    pub(super) free_mb: u64,
    /// Refusals, newest first.
    pub(super) denials: Vec<Entry>,
    /// The process the cursor is on.
    pub(super) selected: usize,
    /// What keys mean.
    pub(super) mode: Mode,
    /// Only processes with this in id, type or path.
    pub(super) filter: String,
    /// The order.
    pub(super) sort: Sort,
    /// Ended processes too.
    pub(super) all: bool,
    /// The last thing said.
    pub(super) message: String,
}

impl App {
    /// An empty view.
    pub(super) fn new(home: String, color: Color, all: bool) -> Self {
        Self {
            home,
            color,
            rows: Vec::new(),
            picture: Snapshot::default(),
            free_mb: 0,
            denials: Vec::new(),
            selected: 0,
            mode: Mode::Browse,
            filter: String::new(),
            sort: Sort::Age,
            all,
            message: String::new(),
        }
    }

    /// Takes a new picture; the cursor stays on its process.
    pub(super) fn update(&mut self, picture: Snapshot, denials: Vec<Entry>) {
        let on = self.current().map(|process| process.pid.clone());
        self.picture = picture;
        self.denials = denials;
        self.arrange();
        if let Some(at) = self.rows.iter().position(|process| Some(&process.pid) == on.as_ref()) {
            self.selected = at;
        }
    }

    /// Says something in the footer.
    pub(super) fn say(&mut self, text: String) {
        self.message = text;
    }

    /// Shows a journal, its end first.
    pub(super) fn open_journal(&mut self, pid: &str, lines: Vec<String>) {
        let top = lines.len().saturating_sub(10);
        self.mode = Mode::Journal { pid: pid.to_owned(), lines, top };
    }

    /// The process the cursor is on.
    pub(super) fn current(&self) -> Option<&Process> {
        self.rows.get(self.selected)
    }

    /// The refusals of the process the cursor is on, else everybody's.
    pub(super) fn shown_denials(&self) -> Vec<&Entry> {
        let mine: Vec<&Entry> = match self.current() {
            Some(process) => self.denials.iter().filter(|entry| entry.pid == process.pid).collect(),
            None => Vec::new(),
        };
        if mine.is_empty() { self.denials.iter().collect() } else { mine }
    }

    fn arrange(&mut self) {
        let word = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&word);
        let wanted = |process: &Process| {
            has(&process.pid)
                || has(&process.kind)
                || process.root.as_deref().is_some_and(has)
                || process.lanes.iter().any(|held| has(&held.path))
        };
        let mut picture = self.picture.clone();
        if !self.all {
            picture.narrow();
        }
        let mut families: Vec<Vec<Process>> = Vec::new();
        for process in picture.processes.iter().filter(|p| word.is_empty() || wanted(p)) {
            match families.last_mut() {
                Some(family)
                    if process.kind != "session"
                        && family.first().is_some_and(|head| head.session == process.session) =>
                {
                    family.push(process.clone());
                }
                Some(_) | None => families.push(vec![process.clone()]),
            }
        }
        let lanes = |family: &[Process]| family.iter().map(|p| p.lanes.len()).sum::<usize>();
        let denials = |family: &[Process]| family.iter().map(|p| p.denials).sum::<u64>();
        match self.sort {
            Sort::Age => {}
            Sort::Lanes => families.sort_by_key(|family| std::cmp::Reverse(lanes(family))),
            Sort::Denials => families.sort_by_key(|family| std::cmp::Reverse(denials(family))),
        }
        self.rows = families.into_iter().flatten().collect();
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    /// What a key does.
    pub(super) fn key(&mut self, key: KeyEvent) -> Action {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Action::Quit;
        }
        match self.mode.clone() {
            Mode::Browse => self.browse(key.code),
            Mode::Filter => {
                self.type_filter(key.code);
                Action::None
            }
            Mode::Confirm(pid) => {
                self.mode = Mode::Browse;
                if key.code == KeyCode::Char('y') {
                    return Action::Release(pid);
                }
                self.say("nothing released".to_owned());
                Action::None
            }
            Mode::Journal { pid, lines, top } => {
                self.read(key.code, pid, lines, top);
                Action::None
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the keyboard's keys are not our enum")]
    fn browse(&mut self, code: KeyCode) -> Action {
        self.message.clear();
        let last = self.rows.len().saturating_sub(1);
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.selected = last,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                self.arrange();
            }
            KeyCode::Char('a') => {
                self.all = !self.all;
                self.arrange();
            }
            KeyCode::Enter => {
                let pid = self.current().map(|process| process.pid.clone());
                return pid.map_or(Action::None, Action::Journal);
            }
            KeyCode::Char('c') => {
                let rule = self.shown_denials().first().and_then(|entry| entry.note.rule.clone());
                let remedy = rule.and_then(|rule| rules::find(&rule).map(|(_, _, remedy)| remedy));
                return match remedy {
                    Some(remedy) => {
                        self.say(format!("copied: {remedy}"));
                        Action::Copy(remedy.to_owned())
                    }
                    None => Action::None,
                };
            }
            KeyCode::Char('r') => {
                if let Some(pid) = self.current().map(|process| process.pid.clone()) {
                    self.mode = Mode::Confirm(pid);
                }
            }
            _ => {}
        }
        Action::None
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the keyboard's keys are not our enum")]
    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.mode = Mode::Browse,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Browse;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
        self.arrange();
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the keyboard's keys are not our enum")]
    fn read(&mut self, code: KeyCode, pid: String, lines: Vec<String>, top: usize) {
        let last = lines.len().saturating_sub(1);
        let top = match code {
            KeyCode::Down | KeyCode::Char('j') => (top + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => (top + 10).min(last),
            KeyCode::PageUp => top.saturating_sub(10),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => {
                self.mode = Mode::Browse;
                return;
            }
            _ => top,
        };
        self.mode = Mode::Journal { pid, lines, top };
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::operator::model::tests::{held, process};
    use crate::policy::verdict::{Note, What};

    /// A view with two sessions, an agent and a refusal.
    pub(crate) fn app() -> App {
        let mut agent = process("a1b2c3d4e5", "3f2a91c0-5d2e", "builder");
        agent.lanes = vec![held("/w/app/src/lib.rs"), held("/w/app/src/main.rs")];
        let mut rival = process("77e0aa12-9f11", "77e0aa12-9f11", "session");
        rival.denials = 2;
        let picture = Snapshot {
            at: 100,
            lease_seconds: 900,
            processes: vec![process("3f2a91c0-5d2e", "3f2a91c0-5d2e", "session"), agent, rival],
            off: Vec::new(),
        };
        let note = Note {
            rule: Some("lane.held".to_owned()),
            target: Some("/w/app/src/lib.rs".to_owned()),
            ..Note::default()
        };
        let denial = Entry {
            seq: 3,
            at: 90,
            tick: 90,
            pid: "77e0aa12-9f11".to_owned(),
            kind: What::Deny,
            note,
            prev: String::new(),
        };
        let mut app = App::new("/home/dev".to_owned(), Color::Off, false);
        app.update(picture, vec![denial]);
        app
    }

    fn press(app: &mut App, code: KeyCode) -> Action {
        app.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn a_release_needs_a_yes() {
        let mut app = app();
        press(&mut app, KeyCode::Down);
        assert_eq!(press(&mut app, KeyCode::Char('r')), Action::None);
        assert_eq!(press(&mut app, KeyCode::Enter), Action::None, "enter is no yes");
        press(&mut app, KeyCode::Char('r'));
        assert_eq!(press(&mut app, KeyCode::Char('y')), Action::Release("a1b2c3d4e5".to_owned()));
    }

    #[test]
    fn the_cursor_stays_on_its_process_when_the_order_changes() {
        let mut app = app();
        press(&mut app, KeyCode::End);
        let on = app.current().unwrap().pid.clone();
        let mut picture = app.picture.clone();
        picture.processes.rotate_right(1);
        app.update(picture, Vec::new());
        assert_eq!(app.current().unwrap().pid, on);
    }

    #[test]
    fn a_filter_narrows_and_escape_ends_it() {
        let mut app = app();
        press(&mut app, KeyCode::Char('/'));
        "builder".chars().for_each(|c| drop(press(&mut app, KeyCode::Char(c))));
        assert_eq!(app.rows.len(), 1);
        press(&mut app, KeyCode::Esc);
        assert_eq!(app.rows.len(), 3);
    }

    #[test]
    fn sorting_keeps_families_together() {
        let mut app = app();
        press(&mut app, KeyCode::Char('s'));
        press(&mut app, KeyCode::Char('s'));
        let order: Vec<_> = app.rows.iter().map(|process| process.pid.as_str()).collect();
        assert_eq!(order, ["77e0aa12-9f11", "3f2a91c0-5d2e", "a1b2c3d4e5"]);
    }

    #[test]
    fn the_remedy_of_the_latest_refusal_can_be_copied() {
        let mut app = app();
        let remedy = rules::find("lane.held").unwrap().2;
        assert_eq!(press(&mut app, KeyCode::Char('c')), Action::Copy(remedy.to_owned()));
    }
}
