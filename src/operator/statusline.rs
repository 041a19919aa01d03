//! `octo statusline`: one short line for the client's status line. Fast, quiet, never an error:
//! a status line that fails is worse than an empty one.

use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::error::Done;
use super::model::{Snapshot, Standing};
use super::screen::{age, harmless};
use crate::git::{Follow, canonical, head_branch, root_of};
use crate::kernel::home::Home;

/// What the client sends is small.
const LIMIT: u64 = 1 << 20;
/// How long the wrapped command may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Prints a segment for the client's status line.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo statusline\n  octo statusline --wrap 'my-line'\n\nIn the client's settings:\n  \"statusLine\": {\"type\": \"command\", \"command\": \"octo statusline\"}\n  \"statusLine\": {\"type\": \"command\", \"command\": \"octo statusline --wrap 'my-line'\"}"
)]
pub struct StatuslineArgs {
    /// A command whose line comes first; it gets the client's input.
    #[arg(long, value_name = "COMMAND")]
    pub wrap: Option<String>,
}

/// What is known of a session at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// The branch checked out where it works.
    pub branch: Option<String>,
    /// It works in a tree of its own.
    pub own_tree: Option<()>,
    /// Other live sessions in this repository.
    pub neighbours: usize,
    /// Lanes of the session and its agents.
    pub lanes: usize,
    /// Its refusals.
    pub denials: u64,
    /// Its tree waits for somebody to land it.
    pub landing: Option<String>,
    /// Seconds until the gates are on again.
    pub off: Option<u64>,
}

/// Runs `octo statusline`.
pub fn run(args: &StatuslineArgs, context: &Context) -> Done {
    let mut input = String::new();
    if !std::io::stdin().is_terminal() {
        drop(std::io::stdin().take(LIMIT).read_to_string(&mut input));
    }
    let mut parts = Vec::new();
    if let Some(command) = &args.wrap {
        parts.extend(wrapped(command, &input));
    }
    parts.extend(Some(draw(&look(&input, context))).filter(|text| !text.is_empty()));
    context.screen.print(&format!("{}\n", parts.join(" · ")))
}

/// The segment as text; empty when there is nothing to say.
#[must_use]
pub fn draw(segment: &Segment) -> String {
    let mut parts = Vec::new();
    if let Some(branch) = &segment.branch {
        let tree = if segment.own_tree.is_some() { "⎇ " } else { "" };
        parts.push(format!("{tree}{}", harmless(branch)));
    }
    let mut count = |number: u64, one: &str, many: &str| {
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { one } else { many }));
        }
    };
    count(segment.neighbours as u64, "neighbour", "neighbours");
    count(segment.lanes as u64, "lane", "lanes");
    count(segment.denials, "denied", "denied");
    parts.extend(segment.landing.iter().map(|state| harmless(state)));
    if let Some(left) = segment.off {
        parts.push(format!("gates OFF {}", age(left)));
    }
    parts.join(" · ")
}

fn look(input: &str, context: &Context) -> Segment {
    let sent: serde_json::Value = serde_json::from_str(input).unwrap_or_default();
    let text = |pointer: &str| sent.pointer(pointer).and_then(|value| value.as_str());
    let cwd = text("/workspace/current_dir").or_else(|| text("/cwd"));
    let cwd = cwd.map_or(context.cwd.as_path(), Path::new);
    let root = canonical(cwd, Follow::All).and_then(|path| root_of(&path));
    let mut segment = Segment::default();
    if let Some(root) = &root {
        segment.branch = match head_branch(&root.git_dir) {
            crate::git::Head::Branch(name) => {
                Some(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned())
            }
            crate::git::Head::Detached(_) | crate::git::Head::Unknown => None,
        };
        let linked = matches!(root.kind, crate::policy::facts::RootKind::Linked { .. });
        segment.own_tree = linked.then_some(());
    }
    let Some(home) = Home::discover() else { return segment };
    let Ok(picture) = Snapshot::take(&home, context.settings.lease_seconds) else {
        return segment;
    };
    let session = text("/session_id");
    let here = root.as_ref().map(|root| root.path.to_string());
    let live = |state| state == Standing::Live;
    for process in &picture.processes {
        if Some(process.session.as_str()) == session {
            segment.lanes += process.lanes.len();
            segment.denials += process.denials;
            let waits = process.trees.iter().find(|tree| tree.retry.is_some());
            let word = |state: &str| state.split(':').next().unwrap_or_default().to_owned();
            segment.landing = segment.landing.or(waits.map(|tree| word(&tree.state)));
        } else if process.kind == "session" && live(process.state) && process.root == here {
            segment.neighbours += 1;
        }
    }
    let pause = picture.off.iter().find(|pause| pause.covers(cwd, picture.at));
    segment.off = pause.map(|pause| pause.until.saturating_sub(picture.at));
    segment
}

/// The first line of another status line command; nothing when it fails or takes too long.
fn wrapped(command: &str, input: &str) -> Option<String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let stdout = child.stdout.take()?;
    let input = input.to_owned();
    // Written beside the wait: a command that reads nothing must not stop us.
    std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        drop(stdout.take(LIMIT).read_to_string(&mut text));
        drop(send.send(text));
    });
    let text = receive.recv_timeout(PATIENCE).ok();
    if text.is_none() {
        drop(child.kill());
    }
    drop(child.wait());
    text?.lines().next().map(str::to_owned).filter(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_alone_sees_the_branch_and_nothing_else() {
        let alone = Segment { branch: Some("main".to_owned()), ..Segment::default() };
        assert_eq!(draw(&alone), "main");
        assert_eq!(draw(&Segment::default()), "");
    }

    #[test]
    fn what_matters_is_counted() {
        let busy = Segment {
            branch: Some("dim/3f2a".to_owned()),
            own_tree: Some(()),
            neighbours: 1,
            lanes: 3,
            denials: 2,
            landing: Some("ready to land".to_owned()),
            off: Some(60),
        };
        assert_eq!(
            draw(&busy),
            "⎇ dim/3f2a · 1 neighbour · 3 lanes · 2 denied · ready to land · gates OFF 60 s"
        );
    }

    #[test]
    fn a_wrapped_command_gets_the_input_and_cannot_hang_us() {
        assert_eq!(wrapped("cat", "hello\nmore"), Some("hello".to_owned()));
        assert_eq!(wrapped("exit 3", "x"), None);
    }
}
