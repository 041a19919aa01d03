//! Tools of MCP servers: the known shapes of local file writers, shells on this machine, and what
//! can be told of the rest by name. Judges nothing.

use serde_json::Value;

use super::input::{Payload, PayloadError};
use super::observe::{self, parse, path};
use super::site::Disk;
use crate::policy::facts::Effect;
use crate::policy::program::{Follow, Site};
use crate::policy::shell;

/// How many strings of an unknown server's input are looked at.
const MOST_STRINGS: usize = 200;

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
    McpRow { tool: "write_file", writes: &["path", "file_path", "filePath", "uri"], removes: &[] },
    McpRow { tool: "edit_file", writes: &["path", "file_path", "filePath", "uri"], removes: &[] },
    McpRow { tool: "create_file", writes: &["path", "file_path", "filePath", "uri"], removes: &[] },
    McpRow { tool: "append_file", writes: &["path", "file_path"], removes: &[] },
    McpRow { tool: "edit_block", writes: &["path", "file_path"], removes: &[] },
    McpRow { tool: "move_file", writes: &["destination"], removes: &["source"] },
    McpRow {
        tool: "rename_file",
        writes: &["destination", "new_path"],
        removes: &["source", "old_path", "path"],
    },
    // A folder is nobody's work.
    McpRow { tool: "create_directory", writes: &[], removes: &[] },
    McpRow { tool: "copy_file", writes: &["destination"], removes: &[] },
    McpRow { tool: "delete_file", writes: &[], removes: &["path", "file_path", "uri"] },
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

/// Words of servers and tools that run commands.
const SHELLS: &[&str] = &[
    "shell", "bash", "sh", "zsh", "terminal", "command", "commands", "exec", "execute", "process",
];

/// Words of those that run them somewhere else.
const ELSEWHERE: &[&str] = &[
    "ssh",
    "docker",
    "container",
    "kube",
    "kubernetes",
    "k8s",
    "kubectl",
    "remote",
    "cloud",
    "sandbox",
    "e2b",
    "vm",
    "browser",
    "playwright",
    "chrome",
    "sql",
    "db",
    "database",
    "redis",
    "device",
    "adb",
    "simulator",
];

/// What a name may begin with before it says what is done.
const SUBJECTS: &[&str] = &["git", "file", "files", "fs", "repo", "directory", "workspace"];

/// Everything a call of such a tool would do.
pub(super) fn effects(payload: &Payload<'_>, disk: &Disk) -> Result<Vec<Effect>, PayloadError> {
    let Some(input) = parse::<Value>(payload.tool_input)? else { return Ok(Vec::new()) };
    let tool = payload.tool().rsplit("__").next().unwrap_or("");
    if let Some(row) = MCP.iter().find(|row| row.tool == tool) {
        let field = |name: &&str| input.get(*name).and_then(Value::as_str).map(local);
        let writes =
            row.writes.iter().filter_map(field).filter_map(|t| {
                path(payload, t, disk, Follow::All).map(|path| Effect::Write { path })
            });
        let removes = row.removes.iter().filter_map(field).filter_map(|t| {
            path(payload, t, disk, Follow::Parents).map(|path| Effect::Remove { path })
        });
        return Ok(writes.chain(removes).collect());
    }
    if let Some((text, dir)) = command(payload, &input) {
        return Ok(observe::of_command(&text, &dir, disk));
    }
    if only_reads(tool) {
        return Ok(Vec::new());
    }
    let mut texts = Vec::new();
    strings(&input, &mut texts);
    let paths = texts.iter().map(|t| local(t)).filter(|t| t.starts_with('/') && t.len() < 4096);
    let existing = paths
        .filter(|t| shell::World::target(disk, t) != shell::Entry::Missing)
        .filter_map(|t| disk.resolve(t, Follow::All));
    Ok(existing.map(|path| Effect::Check { path }).collect())
}

/// A path without the scheme of a local address.
fn local(text: &str) -> &str {
    text.strip_prefix("file://").unwrap_or(text)
}

/// The command of a tool that is a shell on this machine, and where it runs.
fn command(payload: &Payload<'_>, input: &Value) -> Option<(String, String)> {
    let words = words(payload.tool());
    let says = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if !says(SHELLS) || says(ELSEWHERE) {
        return None;
    }
    let field = |names: &[&str]| {
        names.iter().find_map(|name| input.get(*name).and_then(Value::as_str)).map(str::to_owned)
    };
    let mut text = field(&["command", "cmd", "commandLine", "command_line", "script"])?;
    for arg in input.get("args").and_then(Value::as_array).into_iter().flatten() {
        text.push(' ');
        text.push_str(&shell_words::quote(arg.as_str().unwrap_or_default()));
    }
    let dir = field(&["cwd", "workdir", "working_directory", "workingDirectory", "directory"]);
    let dir = dir.filter(|dir| dir.starts_with('/')).unwrap_or_else(|| payload.cwd.to_string());
    Some((text, dir))
}

/// Whether an unknown tool's name says that it reads: it begins with such a word, its subject put
/// aside (`git_status`), and has none that writes (`search_and_replace` does).
fn only_reads(tool: &str) -> bool {
    let words = words(tool);
    let subject = words.first().is_some_and(|word| SUBJECTS.contains(&word.as_str()));
    let first = words.get(usize::from(subject));
    first.is_some_and(|word| READERS.contains(&word.as_str()))
        && !words.iter().any(|word| WRITERS.contains(&word.as_str()))
}

/// The words of a name in any of the usual spellings.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
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
    words
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
        for tool in [
            "read_file",
            "getSymbols",
            "list-directory",
            "directory_tree",
            "searchCode",
            "git_status",
            "file_info",
        ] {
            assert!(only_reads(tool), "{tool}");
        }
        for tool in [
            "search_and_replace",
            "findAndReplace",
            "get-or-create",
            "treeify",
            "statement",
            "log_write",
            "git_commit",
        ] {
            assert!(!only_reads(tool), "{tool}");
        }
    }
}
