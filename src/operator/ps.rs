//! `octo ps`: who works where, who holds what, who is being refused. Draws a picture taken by
//! `model`; `--release` is `release`'s.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::model::{Process, Snapshot, Standing};
use super::screen::{Screen, Tone, age, harmless};
use super::table::{Column, Lean, lay_out};
use crate::kernel::home::Home;

/// Paths listed under a process before the rest is counted.
const LISTED: usize = 5;

/// Shows processes, what they hold and how they stand.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo ps                     who works here now\n  octo ps --all --json        everything, for a program\n  octo ps --long              and what their commands used\n  octo ps --release 3f2a91c0  end a process's lanes (yours to do, not an agent's)"
)]
pub struct PsArgs {
    /// Ended and dead processes too.
    #[arg(long, short)]
    pub all: bool,
    /// Also what the commands of each used behind the fence: time, memory.
    #[arg(long, short)]
    pub long: bool,
    /// For programs.
    #[arg(long)]
    pub json: bool,
    /// End the lanes of this process; its whole id or a beginning that names it alone, with
    /// `@GENERATION` (from --json) to be sure that no later process of that id is meant.
    #[arg(long, value_name = "PID", add = ArgValueCandidates::new(super::completion::pids))]
    pub release: Option<String>,
}

const COLUMNS: &[Column] = &[
    Column { title: "PID", lean: Lean::Left, least: 10 },
    Column { title: "TYPE", lean: Lean::Left, least: 7 },
    Column { title: "STATE", lean: Lean::Left, least: 6 },
    Column { title: "ROOT", lean: Lean::Left, least: 10 },
    Column { title: "LANES", lean: Lean::Right, least: 5 },
    Column { title: "CUSTODY", lean: Lean::Right, least: 7 },
    Column { title: "AGE", lean: Lean::Right, least: 5 },
    Column { title: "SEEN", lean: Lean::Right, least: 5 },
    Column { title: "DENIED", lean: Lean::Right, least: 6 },
];

/// Runs `octo ps`.
pub fn run(args: &PsArgs, context: &Context) -> Done {
    if let Some(word) = &args.release {
        return super::release::release(word, context);
    }
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let mut picture = Snapshot::take(&home, context.settings.lease_seconds)?;
    if !args.all {
        picture.narrow();
    }
    if args.long {
        picture.measure(&super::replay::read(&home)?);
    }
    if args.json {
        let value = serde_json::to_value(&picture).unwrap_or_default();
        return context.screen.json("ps", value);
    }
    context.screen.print(&draw(&picture, &context.home.display().to_string(), &context.screen))
}

/// The table as text.
#[must_use]
pub fn draw(picture: &Snapshot, home: &str, screen: &Screen) -> String {
    let mut out = String::new();
    for pause in &picture.off {
        let left = age(pause.until.saturating_sub(picture.at));
        let place = pause.root.as_deref().map_or("everywhere".to_owned(), |root| tilde(root, home));
        let text = format!("gates are OFF {place} for {left} more, by {}", harmless(&pause.by));
        out.push_str(&screen.paint(Tone::Warn, &text));
        out.push('\n');
    }
    if picture.processes.is_empty() {
        out.push_str("no processes\n");
        return out;
    }
    let rows: Vec<Vec<String>> = picture.processes.iter().map(|p| row(p, home)).collect();
    let mut lines = lay_out(COLUMNS, &rows, screen.width).into_iter();
    if let Some(heading) = lines.next() {
        out.push_str(&screen.paint(Tone::Strong, &heading));
        out.push('\n');
    }
    for (line, process) in lines.zip(&picture.processes) {
        let tone = match process.state {
            Standing::Live if process.in_a_row > 2 => Tone::Warn,
            Standing::Live => Tone::Plain,
            Standing::Silent | Standing::Ended | Standing::Dead => Tone::Dim,
        };
        out.push_str(&screen.paint(tone, &line));
        out.push('\n');
        for detail in details(process, home) {
            let detail = super::screen::fit(&detail, screen.width);
            out.push_str(&screen.paint(Tone::Dim, &detail));
            out.push('\n');
        }
    }
    let lease = age(picture.lease_seconds);
    out.push_str(&screen.paint(Tone::Dim, &format!("lanes end after {lease} of silence\n")));
    out
}

fn row(process: &Process, home: &str) -> Vec<String> {
    let is_agent = process.kind != "session";
    vec![
        format!("{}{}", if is_agent { "└ " } else { "" }, harmless(&process.short)),
        harmless(&process.kind),
        process.state.word().to_owned(),
        process.root.as_deref().map_or("-".to_owned(), |root| tilde(root, home)),
        process.lanes.len().to_string(),
        process.custody.len().to_string(),
        age(process.age),
        age(process.seen),
        process.denials.to_string(),
    ]
}

fn details(process: &Process, home: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for tree in &process.trees {
        let (path, branch) = (tilde(&tree.path, home), harmless(&tree.branch));
        lines.push(format!("    own tree {path} ({branch}), {}", harmless(&tree.state)));
        lines.extend(
            tree.retry.iter().map(|retry| format!("      to land it: {}", harmless(retry))),
        );
    }
    if let Some(level) = process.fence.as_deref().filter(|_| process.kind == "session") {
        lines.push(format!("    commands run behind the fence: {}", harmless(level)));
    }
    lines.extend(
        process.used.map(|used| format!("    {} commands used {}", used.commands, used.words())),
    );
    let unmet = process.not_isolated.iter();
    lines.extend(unmet.map(|why| format!("    NOT isolated: {}", harmless(why))));
    let working = process.lanes.iter().map(|held| ("lane", held));
    let custody = process
        .custody
        .iter()
        .filter(|held| !process.lanes.iter().any(|lane| lane.path == held.path))
        .map(|held| ("uncommitted", held));
    let all: Vec<_> = working.chain(custody).collect();
    for (word, held) in all.iter().take(LISTED) {
        let path = match &held.root {
            Some(root) => held.path.strip_prefix(&format!("{root}/")).unwrap_or(&held.path),
            None => &held.path,
        };
        let family = if held.family { ", its children may take it" } else { "" };
        lines.push(format!("    {word} {} ({}{family})", harmless(path), age(held.age)));
    }
    if all.len() > LISTED {
        lines.push(format!("    and {} more", all.len() - LISTED));
    }
    lines
}

/// A path with the home directory shortened.
#[must_use]
pub fn tilde(path: &str, home: &str) -> String {
    match path.strip_prefix(home) {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') && home.len() > 1 => harmless(&format!("~{rest}")),
        Some(_) | None => harmless(path),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Tree;
    use super::super::model::tests::{held, process};
    use super::super::screen::{Color, Voice};
    use super::super::used::Used;
    use super::*;
    use crate::kernel::off::Pause;

    fn plain(width: usize) -> Screen {
        Screen { width, color: Color::Off, voice: Voice::Normal }
    }

    fn picture() -> Snapshot {
        let mut session = process("3f2a91c0-5d2e-4b1c", "3f2a91c0-5d2e-4b1c", "session");
        session.root = Some("/home/dev/app".to_owned());
        session.fence = Some("full".to_owned());
        session.trees = vec![Tree {
            path: "/home/dev/.octorato/arm/app/3f2a".to_owned(),
            branch: "dim/3f2a".to_owned(),
            state: "ready".to_owned(),
            retry: None,
        }];
        let mut agent = process("a1b2c3d4e5", "3f2a91c0-5d2e-4b1c", "builder");
        agent.lanes = (0..7).map(|n| held(&format!("/w/app/src/f{n}.rs"))).collect();
        agent.denials = 3;
        agent.used = Some(Used { commands: 12, cpu_ms: 3_420, peak_kib: 51_200, wall_ms: 9_870 });
        Snapshot {
            at: 100,
            lease_seconds: 900,
            processes: vec![session, agent],
            off: vec![Pause { until: 160, root: None, by: "dev".to_owned() }],
        }
    }

    #[test]
    fn the_table_tells_the_whole_story_at_a_glance() {
        assert_eq!(
            draw(&picture(), "/home/dev", &plain(100)),
            "gates are OFF everywhere for 60 s more, by dev\n\
             PID         TYPE     STATE  ROOT    LANES  CUSTODY     AGE  SEEN  DENIED\n\
             3f2a91c0    session  live   ~/app       0        0  12 min  41 s       0\n    \
             own tree ~/.octorato/arm/app/3f2a (dim/3f2a), ready\n    \
             commands run behind the fence: full\n\
             └ a1b2c3d4  builder  live   /w/app      7        0  12 min  41 s       3\n    \
             12 commands used 3.4 s CPU, 50 MB at most, 9.8 s\n    \
             lane src/f0.rs (30 s)\n    lane src/f1.rs (30 s)\n    lane src/f2.rs (30 s)\n    \
             lane src/f3.rs (30 s)\n    lane src/f4.rs (30 s)\n    and 2 more\n\
             lanes end after 15 min of silence\n"
        );
    }

    #[test]
    fn a_narrow_terminal_is_never_overrun() {
        let text = draw(&picture(), "/home/dev", &plain(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn names_from_outside_are_harmless() {
        let mut all = picture();
        all.processes[1].kind = "b\u{1b}[31m".to_owned();
        assert!(!draw(&all, "/home/dev", &plain(120)).contains('\u{1b}'));
    }
}
