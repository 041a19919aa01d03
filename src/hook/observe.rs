//! What a tool call would do, as effects: which input field names a file, what a command's
//! reading says. Resolves; judges nothing.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::input::{Payload, PayloadError};
use super::mcp;
use super::site::Disk;
use crate::applet;
use crate::policy::facts::{Effect, Why};
use crate::policy::lane::AbsPath;
use crate::policy::program::{self, Follow, Site};
use crate::policy::shell::{self, Arg, Dir};

/// Longest command that is read, in bytes.
pub const COMMAND_LIMIT: usize = 1024 * 1024;
/// Things that one command would do which are judged one by one.
const MOST_EFFECTS: usize = 2048;

/// What kind of call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Writes one named file.
    Write,
    /// Runs a command.
    Command,
    /// Hands work to a subagent.
    Delegate,
    /// A tool of an MCP server.
    Mcp,
    /// Anything else: reads, as far as we are concerned.
    Other,
}

impl Tool {
    /// The kind of a tool by its name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Self::Write,
            "Bash" | "Monitor" | "PowerShell" => Self::Command,
            "Agent" | "Task" => Self::Delegate,
            _ if name.starts_with("mcp__") => Self::Mcp,
            _ => Self::Other,
        }
    }
}

#[derive(Deserialize)]
struct FileInput {
    #[serde(default)]
    file_path: Option<String>,
    #[serde(default)]
    notebook_path: Option<String>,
}

#[derive(Deserialize)]
struct CommandInput {
    #[serde(default)]
    command: Option<String>,
}

/// Everything a call would do.
pub fn effects(payload: &Payload<'_>, disk: &Disk) -> Result<Vec<Effect>, PayloadError> {
    match Tool::of(payload.tool()) {
        Tool::Write => file(payload, disk),
        Tool::Command => command(payload, disk),
        Tool::Mcp => mcp(payload, disk),
        Tool::Delegate | Tool::Other => Ok(Vec::new()),
    }
}

fn parse<'p, T: Deserialize<'p>>(input: Option<&'p RawValue>) -> Result<Option<T>, PayloadError> {
    input.map(|raw| serde_json::from_str(raw.get()).map_err(PayloadError::Json)).transpose()
}

/// A path of a tool's input: relative ones stand on the event's directory, `~` is the user's home.
fn path(payload: &Payload<'_>, text: &str, disk: &Disk, follow: Follow) -> Option<AbsPath> {
    if text.is_empty() {
        return None;
    }
    let absolute = if let Some(rest) = text.strip_prefix("~/") {
        format!("{}/{rest}", disk.home_dir())
    } else if text == "~" {
        disk.home_dir().to_owned()
    } else if text.starts_with('/') {
        text.to_owned()
    } else {
        format!("{}/{text}", payload.cwd)
    };
    disk.resolve(&absolute, follow)
}

fn file(payload: &Payload<'_>, disk: &Disk) -> Result<Vec<Effect>, PayloadError> {
    // A call that names no file writes none; one whose name says nothing may write any.
    let missing = || PayloadError::Missing("file path");
    let Some(input) = parse::<FileInput>(payload.tool_input)? else { return Ok(Vec::new()) };
    let texts = [input.file_path, input.notebook_path];
    let mut effects = Vec::new();
    for text in texts.iter().flatten() {
        let path = path(payload, text, disk, Follow::All).ok_or_else(missing)?;
        effects.push(Effect::Write { path });
    }
    Ok(effects)
}

/// The text of a command tool's call, if it has one.
fn command_text(payload: &Payload<'_>) -> Result<Option<String>, PayloadError> {
    if Tool::of(payload.tool()) != Tool::Command {
        return Ok(None);
    }
    Ok(parse::<CommandInput>(payload.tool_input)?.and_then(|input| input.command))
}

fn command(payload: &Payload<'_>, disk: &Disk) -> Result<Vec<Effect>, PayloadError> {
    let Some(text) = command_text(payload)? else {
        // Monitor may watch something that is no command; Bash never does.
        let is_bash = payload.tool() == "Bash";
        return if is_bash { Err(PayloadError::Missing("command")) } else { Ok(Vec::new()) };
    };
    Ok(of_command(&text, &payload.cwd, disk))
}

/// Whether a command names one of our programs: its process may ask who it is.
#[must_use]
pub fn runs_ours(payload: &Payload<'_>) -> bool {
    command_text(payload).ok().flatten().is_some_and(|text| {
        text.split(|c: char| c.is_whitespace() || "/;&|()'\"".contains(c))
            .any(|word| applet::find(word).is_some())
    })
}

/// Everything a command would do when it is run in `cwd`.
#[must_use]
pub fn of_command(text: &str, cwd: &str, disk: &Disk) -> Vec<Effect> {
    if text.len() > COMMAND_LIMIT {
        let dir = disk.resolve(cwd, Follow::All);
        let words = text.chars().take(80).collect();
        return vec![Effect::Opaque { dir, why: Why::TooLong, words }];
    }
    let steps = read(text, cwd, disk, |_| String::new());
    let mut seen = HashSet::new();
    let distinct = |effect: &Effect| seen.insert(effect.clone());
    let mut effects: Vec<Effect> =
        steps.into_iter().flat_map(|step| step.effects).filter(distinct).collect();
    if effects.len() > MOST_EFFECTS {
        effects.truncate(MOST_EFFECTS);
        let dir = disk.resolve(cwd, Follow::All);
        let words = format!("a command with more than {MOST_EFFECTS} targets");
        effects.push(Effect::Opaque { dir, why: Why::TooLong, words });
    }
    effects
}

/// One program of a command, or a part of it that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its words, shortened.
    pub words: String,
    /// How many shell texts it was found under.
    pub depth: u8,
    /// What it would do.
    pub effects: Vec<Effect>,
}

/// What a call's command was read as, program by program.
#[must_use]
pub fn steps(payload: &Payload<'_>, disk: &Disk) -> Vec<Step> {
    let text = command_text(payload).ok().flatten().filter(|text| text.len() <= COMMAND_LIMIT);
    text.map_or_else(Vec::new, |text| read(&text, &payload.cwd, disk, program::shown))
}

/// Reads a command; `shown` makes the words of a step, which only people need.
fn read(text: &str, cwd: &str, disk: &Disk, shown: fn(&shell::Invocation) -> String) -> Vec<Step> {
    let reading = shell::read(text, cwd, disk);
    let done = program::line_effects(&reading.invocations, disk);
    let step = |(effects, invocation): (Vec<Effect>, &shell::Invocation)| Step {
        words: shown(invocation),
        depth: invocation.depth,
        effects,
    };
    let mut steps: Vec<Step> = done.into_iter().zip(&reading.invocations).map(step).collect();
    let state = format!("{}/.claude/.cache/kernel", disk.home_dir());
    let named = reading.invocations.iter().zip(steps.iter_mut());
    for (invocation, step) in named.filter(|(i, _)| program::state::is_named(i)) {
        let dir = disk.resolve(&state, Follow::All);
        let words = invocation.argv.iter().map(Arg::prefix).collect::<Vec<_>>().join(" ");
        step.effects.push(Effect::Opaque { dir, why: Why::Operand, words });
    }
    for unread in reading.unread {
        let dir = match &unread.dir {
            Dir::At(at) => disk.resolve(at.as_str(), Follow::All),
            Dir::Unknown => None,
            Dir::Fresh => continue,
        };
        let words = unread.words;
        let effect = Effect::Opaque { dir, why: unread.why, words: words.clone() };
        steps.push(Step { words, depth: 0, effects: vec![effect] });
    }
    steps
}

fn mcp(payload: &Payload<'_>, disk: &Disk) -> Result<Vec<Effect>, PayloadError> {
    let Some(input) = parse::<serde_json::Value>(payload.tool_input)? else {
        return Ok(Vec::new());
    };
    Ok(mcp::effects(payload.tool(), &input, &payload.cwd, disk))
}
