//! The client and the machine: versions, tools of other servers that write, room on the disk.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Finding;
use crate::applet::Event;
use crate::config::Fence;
use crate::fence::probe::{self, Obstacle};
use crate::kernel::home::Home;
use crate::operator::context::Context;
use crate::operator::place::Place;
use crate::operator::screen::harmless;
use crate::wiring::files::{self, Scope};
use crate::wiring::survey::{Survey, survey};

/// Oldest client that the tests drive.
const OLDEST: [u32; 3] = [2, 1, 197];
/// First client that blocks when a hook itself fails.
const CLOSES: [u32; 3] = [2, 1, 295];

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let mut findings = vec![client(), git(), disk(context), fence(context)];
    findings.extend(servers(context));
    findings
}

pub(super) fn output(program: &str, argument: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first `a.b.c` in a text.
fn version(text: &str) -> Option<[u32; 3]> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
        let mut parts = word.split('.').map(|part| part.parse().ok());
        Some([parts.next()??, parts.next()??, parts.next()??])
    })
}

/// What a client does when a hook itself could not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::operator) enum Failing {
    /// It blocks the call.
    Blocks,
    /// It lets the call through, unless a shell around the hook says otherwise: and the shell line
    /// runs through the prefix, which may be the thing that is missing.
    Passes([u32; 3]),
    /// There is no client to ask.
    Unknown,
}

/// What the client on `PATH` does.
pub(in crate::operator) fn failing() -> Failing {
    match output("claude", "--version").and_then(|found| version(&found)) {
        Some(version) if version >= CLOSES => Failing::Blocks,
        Some(version) => Failing::Passes(version),
        None => Failing::Unknown,
    }
}

fn dotted(version: [u32; 3]) -> String {
    version.map(|part| part.to_string()).join(".")
}

/// Why a fence is no gain with this client, if it is none.
pub(in crate::operator) fn hole() -> Option<String> {
    let Failing::Passes(version) = failing() else { return None };
    let (version, closes) = (dotted(version), dotted(CLOSES));
    Some(format!(
        "client {version} lets every call through when octo-sh is missing; {closes} and later \
         block it"
    ))
}

fn client() -> Finding {
    let Some(found) = output("claude", "--version") else {
        return Finding::ok("client.version", "no `claude` on PATH: its version is not known");
    };
    let shown = harmless(found.trim());
    match version(&found) {
        Some(version) if version < OLDEST => Finding::warn(
            "client.version",
            format!("client {shown} is older than what we test"),
            "update it: octo is tested from 2.1.197 on",
        ),
        Some(version) if version < CLOSES => Finding::ok(
            "client.version",
            format!("client {shown}; a killed hook lets its call through, 2.1.295 and later block"),
        ),
        Some(_) => {
            Finding::ok("client.version", format!("client {shown} blocks when a hook fails"))
        }
        None => Finding::warn("client.version", format!("client says {shown}"), "no version in it"),
    }
}

fn git() -> Finding {
    match output("git", "--version").as_deref().map(|text| (text, version(text))) {
        None => Finding::bad("git.version", "there is no git", "install git 2.38 or later"),
        Some((_, Some(version))) if version < [2, 38, 0] => Finding::warn(
            "git.version",
            "git is older than 2.38: landing needs merge-tree",
            "update git",
        ),
        Some((text, _)) => Finding::ok("git.version", harmless(text.trim())),
    }
}

fn disk(context: &Context) -> Finding {
    let Ok(stat) = rustix::fs::statvfs(&context.home) else {
        return Finding::warn("disk.free", "free space can't be read", "df");
    };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize) / (1 << 20);
    let floor = context.settings.worktree.min_free_mb;
    if free < floor {
        let text = format!("{free} MB free, worktrees need {floor}");
        return Finding::warn("disk.free", text, "octo worktree reclaim; octo prune");
    }
    Finding::ok("disk.free", format!("{free} MB free"))
}

/// Whether a settings file runs shell lines through our prefix.
fn wired(context: &Context) -> bool {
    [Scope::User, Scope::Local].iter().any(|scope| {
        let path = files::path(*scope, &context.home, &context.project);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let prefix = survey(&text).ok().and_then(|found| found.prefix);
        prefix.is_some_and(|prefix| prefix.ends_with("/octo-sh"))
    })
}

/// What the kernel grants to a fenced command, tried and not guessed.
fn fence(context: &Context) -> Finding {
    let report = probe::probe();
    // What was learned before the machine was put right must not outlive it; none is well, too.
    if let Some(home) = Home::discover() {
        drop(std::fs::remove_file(home.offer()));
    }
    let level = report.level.word();
    let program = Place::new(&context.home).program().display().to_string();
    let wanted = context.settings.fence;
    let wired = wired(context);
    if let Some(hole) = hole().filter(|_| wired && wanted != Fence::Off) {
        let text = format!("{level}, but {hole}");
        return Finding::warn("fence.level", text, "update the client, or octo install --fence=no");
    }
    // With several in the way, repairing one alone changes nothing.
    let all = |of: &dyn Fn(Obstacle) -> String| {
        report.obstacles.iter().map(|o| of(*o)).collect::<Vec<_>>().join("; ")
    };
    let (why, fix) = (all(&|o| o.reason().to_owned()), all(&|o| o.fix(&program)));
    match (report.obstacles.first(), wanted) {
        _ if wanted == Fence::Off => {
            Finding::ok("fence.level", format!("off by setting; {level} here"))
        }
        (None, _) if wired => {
            Finding::ok("fence.level", format!("{level}: shell commands run behind it"))
        }
        (None, Fence::Require) => Finding::bad(
            "fence.level",
            "required, but shell commands run without it",
            "octo install --fence",
        ),
        (None, _) => Finding::ok(
            "fence.level",
            format!("{level}, but shell commands run without it: octo install --fence"),
        ),
        (Some(_), Fence::Require) => {
            Finding::bad("fence.level", format!("required, but {level}: {why}"), fix)
        }
        (Some(_), Fence::On | Fence::Off) => {
            Finding::ok("fence.level", format!("{level}: {why}; fuller with: {fix}"))
        }
    }
}

/// Whether the wired entry for tool calls is for tools of servers too.
fn seen(context: &Context) -> bool {
    let event = Event::PreToolUse.wire();
    let files = files::found(&context.home, &context.project);
    let surveys = || files.iter().filter_map(|file| file.content.as_ref().ok());
    let ours = || surveys().flat_map(Survey::ours).filter(|hook| hook.event == event.name);
    // The plugin's entry has the matcher of the table.
    let wired = ours().next().is_some();
    !wired || ours().any(|hook| hook.matcher.is_empty() || hook.matcher.contains("mcp__"))
}

/// Servers whose tools the client offers, and that they pass our matcher.
fn servers(context: &Context) -> Option<Finding> {
    let read = |path: &Path| -> Value {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    let person = read(&context.home.join(".claude.json"));
    let project = read(&context.project.join(".mcp.json"));
    let key = context.project.display().to_string();
    let lists = [
        person.get("mcpServers"),
        person.get("projects").and_then(|all| all.get(&key)).and_then(|own| own.get("mcpServers")),
        project.get("mcpServers"),
    ];
    let local: Vec<String> = lists
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flatten()
        .filter(|(_, server)| server.get("command").is_some())
        .map(|(name, _)| harmless(name))
        .collect();
    (!local.is_empty()).then(|| {
        let names = local.join(", ");
        if seen(context) {
            let text = format!(
                "local MCP servers: {names}; their calls are judged, files they write without naming them are not"
            );
            return Finding::ok("mcp.servers", text);
        }
        let text = format!("local MCP servers: {names}; our matcher does not see their calls");
        Finding::warn("mcp.servers", text, "octo doctor --fix")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        assert_eq!(version("2.1.332 (Claude Code)"), Some([2, 1, 332]));
        assert_eq!(version("git version 2.47.0-rc1"), Some([2, 47, 0]));
        assert_eq!(version("no version"), None);
        assert!(version("2.1.197").unwrap() < CLOSES && version("2.1.1000").unwrap() > CLOSES);
    }
}
