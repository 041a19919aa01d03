//! The client and the machine: versions, tools of other servers that write, room on the disk.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Finding;
use crate::config::Fence;
use crate::fence::probe;
use crate::kernel::home::Home;
use crate::operator::context::Context;
use crate::operator::place::Place;
use crate::operator::screen::harmless;
use crate::wiring::files::{self, Scope};
use crate::wiring::survey::survey;

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

/// Whether the client is known to block a call whose hook could not run. An older one needs the
/// shell form of our hooks, which a prefix that is missing would let through.
pub(in crate::operator) fn client_closes() -> bool {
    output("claude", "--version").and_then(|found| version(&found)).is_some_and(|v| v >= CLOSES)
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
    match (report.obstacles.first(), wanted) {
        _ if wanted == Fence::Off => {
            Finding::ok("fence.level", format!("off by setting; {level} here"))
        }
        (None, _) if wired(context) => {
            Finding::ok("fence.level", format!("{level}: shell commands run behind it"))
        }
        (None, _) => Finding::ok(
            "fence.level",
            format!("{level}, but shell commands run without it: octo install --fence"),
        ),
        (Some(obstacle), Fence::Require) => Finding::bad(
            "fence.level",
            format!("required, but {level}: {}", obstacle.reason()),
            obstacle.fix(&program),
        ),
        (Some(obstacle), Fence::On | Fence::Off) => Finding::ok(
            "fence.level",
            format!("{level}: {}; fuller with: {}", obstacle.reason(), obstacle.fix(&program)),
        ),
    }
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
        let text = format!(
            "local MCP servers: {}; their tools pass our matcher, files they write without naming them do not",
            local.join(", ")
        );
        Finding::ok("mcp.servers", text)
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
