//! What a tool call would do, as effects: which input field names a file, what a command's
//! reading says. Resolves; judges nothing.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::input::{Payload, PayloadError};
use super::site::Disk;
use crate::applet;
use crate::policy::facts::{Effect, Why};
use crate::policy::lane::AbsPath;
use crate::policy::program::{self, Follow, Site};
use crate::policy::shell::{self, Arg, Dir};

/// Longest command that is read, in bytes.
pub const COMMAND_LIMIT: usize = 1024 * 1024;
/// Things that one command would do which are judged one by one.
const MOST_EFFECTS: usize = 4096;
/// How many strings of an unknown server's input are looked at.
const MOST_STRINGS: usize = 200;

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

/// How a tool of a known server writes: which input fields are written, removed, or checked.
struct McpRow {
    /// The tool's own name, after the server's.
    tool: &'static str,
    /// Fields whose path is written.
    writes: &'static [&'static str],
    /// Fields whose path is taken away.
    removes: &'static [&'static str],
}

/// Tools of real servers that write local files.
static MCP: &[McpRow] = &[
    McpRow { tool: "write_file", writes: &["path", "file_path", "filePath"], removes: &[] },
    McpRow { tool: "edit_file", writes: &["path", "file_path", "filePath"], removes: &[] },
    McpRow { tool: "create_file", writes: &["path", "file_path", "filePath"], removes: &[] },
    McpRow { tool: "append_file", writes: &["path", "file_path"], removes: &[] },
    McpRow { tool: "edit_block", writes: &["path", "file_path"], removes: &[] },
    McpRow { tool: "move_file", writes: &["destination"], removes: &["source"] },
    McpRow {
        tool: "rename_file",
        writes: &["destination", "new_path"],
        removes: &["source", "old_path", "path"],
    },
    McpRow { tool: "copy_file", writes: &["destination"], removes: &[] },
    McpRow { tool: "delete_file", writes: &[], removes: &["path", "file_path"] },
    McpRow { tool: "delete_directory", writes: &[], removes: &["path"] },
    McpRow { tool: "create_text_file", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "replace_regex", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "replace_content", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "replace_symbol_body", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "insert_after_symbol", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "insert_before_symbol", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "insert_at_line", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "replace_lines", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "delete_lines", writes: &["relative_path"], removes: &[] },
    McpRow { tool: "str_replace_editor", writes: &["path"], removes: &[] },
    McpRow { tool: "replace_text_in_file", writes: &["pathInProject"], removes: &[] },
    McpRow { tool: "create_new_file", writes: &["pathInProject"], removes: &[] },
];

/// Words that a reading tool's name begins with (after the server's).
const READERS: &[&str] = &[
    "read",
    "get",
    "list",
    "search",
    "find",
    "view",
    "show",
    "query",
    "fetch",
    "describe",
    "stat",
    "head",
    "tail",
    "tree",
    "directory",
    "grep",
    "count",
    "check",
    "inspect",
    "lookup",
    "resolve",
    "status",
    "info",
    "browse",
    "screenshot",
    "diff",
    "log",
    "explain",
    "analyze",
];

/// Words of a tool's name that tell of writing, wherever they stand.
const WRITERS: &[&str] = &[
    "write", "edit", "replace", "create", "make", "delete", "remove", "move", "rename", "apply",
    "insert", "append", "update", "upsert", "set", "save", "put", "patch", "fix", "format",
    "store", "download", "convert", "export", "execute", "run",
];

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

fn command(payload: &Payload<'_>, disk: &Disk) -> Result<Vec<Effect>, PayloadError> {
    let input = parse::<CommandInput>(payload.tool_input)?;
    let Some(text) = input.and_then(|i| i.command) else {
        // Monitor may watch something that is no command; Bash never does.
        let is_bash = payload.tool() == "Bash";
        return if is_bash { Err(PayloadError::Missing("command")) } else { Ok(Vec::new()) };
    };
    Ok(of_command(&text, &payload.cwd, disk))
}

/// Whether a command names one of our programs: its process may ask who it is.
#[must_use]
pub fn runs_ours(payload: &Payload<'_>) -> bool {
    if Tool::of(payload.tool()) != Tool::Command {
        return false;
    }
    let input = parse::<CommandInput>(payload.tool_input).ok().flatten();
    input.and_then(|i| i.command).is_some_and(|text| {
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
    if Tool::of(payload.tool()) != Tool::Command {
        return Vec::new();
    }
    let input = parse::<CommandInput>(payload.tool_input).ok().flatten();
    let text = input.and_then(|i| i.command).filter(|text| text.len() <= COMMAND_LIMIT);
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
    let Some(input) = parse::<Value>(payload.tool_input)? else { return Ok(Vec::new()) };
    let tool = payload.tool().rsplit("__").next().unwrap_or("");
    if let Some(row) = MCP.iter().find(|row| row.tool == tool) {
        let field = |name: &&str| input.get(*name).and_then(Value::as_str);
        let writes =
            row.writes.iter().filter_map(field).filter_map(|t| {
                path(payload, t, disk, Follow::All).map(|path| Effect::Write { path })
            });
        let removes = row.removes.iter().filter_map(field).filter_map(|t| {
            path(payload, t, disk, Follow::Parents).map(|path| Effect::Remove { path })
        });
        return Ok(writes.chain(removes).collect());
    }
    if only_reads(tool) {
        return Ok(Vec::new());
    }
    let mut texts = Vec::new();
    strings(&input, &mut texts);
    let paths = texts.iter().filter(|t| t.starts_with('/') && t.len() < 4096);
    let existing = paths
        .filter(|t| shell::World::target(disk, t) != shell::Entry::Missing)
        .filter_map(|t| disk.resolve(t, Follow::All));
    Ok(existing.map(|path| Effect::Check { path }).collect())
}

/// Whether an unknown tool's name says that it reads: it begins with such a word and has none that
/// writes (`search_and_replace` does).
fn only_reads(tool: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in tool.chars() {
        let begins = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    let first = words.first().is_some_and(|word| READERS.contains(&word.as_str()));
    first && !words.iter().any(|word| WRITERS.contains(&word.as_str()))
}

/// All strings in a value, bounded.
fn strings<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        if out.len() >= MOST_STRINGS {
            return;
        }
        match value {
            Value::String(text) => out.push(text),
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => todo.extend(map.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_begins_with_reading_may_still_write() {
        for tool in ["read_file", "getSymbols", "list-directory", "directory_tree", "searchCode"] {
            assert!(only_reads(tool), "{tool}");
        }
        for tool in [
            "search_and_replace",
            "findAndReplace",
            "get-or-create",
            "treeify",
            "statement",
            "log_write",
        ] {
            assert!(!only_reads(tool), "{tool}");
        }
    }
}
