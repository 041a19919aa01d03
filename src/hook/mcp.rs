//! Tools of MCP servers: which fields of which known tool name a file that is written or taken
//! away, a command, or git's own work. Of an unknown server only absolute paths that exist are
//! looked at, and never claimed; what works on another machine is none of ours.

use serde_json::Value;

use super::observe::of_command;
use super::site::Disk;
use crate::policy::facts::Effect;
use crate::policy::program::{Follow, Site};
use crate::policy::shell::{Entry, World};

/// How many strings of an unknown server's input are looked at.
const MOST_STRINGS: usize = 200;

/// Where a tool's relative paths begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// In the server's directory, as far as known the event's.
    Cwd,
    /// In the project the server was started for.
    Project,
}

/// A tool of a known server.
struct Row {
    /// Its own name, after the server's.
    tool: &'static str,
    /// Fields whose path is written.
    writes: &'static [&'static str],
    /// Fields whose path is taken away.
    removes: &'static [&'static str],
    /// Where relative paths begin.
    base: Base,
}

const fn writes(tool: &'static str, writes: &'static [&'static str]) -> Row {
    Row { tool, writes, removes: &[], base: Base::Cwd }
}

const fn removes(tool: &'static str, removes: &'static [&'static str]) -> Row {
    Row { tool, writes: &[], removes, base: Base::Cwd }
}

const fn moves(
    tool: &'static str,
    writes: &'static [&'static str],
    removes: &'static [&'static str],
) -> Row {
    Row { tool, writes, removes, base: Base::Cwd }
}

const fn project(tool: &'static str, writes: &'static [&'static str]) -> Row {
    Row { tool, writes, removes: &[], base: Base::Project }
}

const PATH: &[&str] = &["path", "file_path", "filePath", "filepath", "filename"];
const SYMBOL: &[&str] = &["relative_path"];
const IDE: &[&str] = &["pathInProject", "path"];

/// Tools of real servers that write local files.
static ROWS: &[Row] = &[
    writes("write_file", PATH),
    writes("write_text_file", PATH),
    writes("edit_file", PATH),
    writes("create_file", PATH),
    writes("append_file", PATH),
    writes("append_to_file", PATH),
    writes("insert_content", PATH),
    writes("search_and_replace", PATH),
    writes("replace_in_file", PATH),
    writes("update_file", PATH),
    writes("modify_file", PATH),
    writes("edit_block", PATH),
    writes("edit_text_file_contents", PATH),
    writes("patch_text_file_contents", PATH),
    writes("append_text_file_contents", PATH),
    writes("insert_text_file_contents", PATH),
    writes("create_text_file_contents", PATH),
    writes("write_pdf", &["path", "outputPath"]),
    writes("str_replace_editor", PATH),
    writes("str_replace_based_edit_tool", PATH),
    writes("text_editor", PATH),
    writes("copy_file", &["destination", "dest", "to"]),
    moves("move_file", &["destination", "dest", "to"], &["source", "src", "from"]),
    moves(
        "rename_file",
        &["destination", "new_path", "newPath"],
        &["source", "old_path", "oldPath", "path"],
    ),
    removes("delete_file", PATH),
    removes("remove_file", PATH),
    removes("delete_directory", PATH),
    removes("delete_path", PATH),
    project("create_text_file", SYMBOL),
    project("replace_regex", SYMBOL),
    project("replace_content", SYMBOL),
    project("replace_symbol_body", SYMBOL),
    project("insert_after_symbol", SYMBOL),
    project("insert_before_symbol", SYMBOL),
    project("insert_at_line", SYMBOL),
    project("replace_lines", SYMBOL),
    project("delete_lines", SYMBOL),
    project("rename_symbol", SYMBOL),
    project("safe_delete_symbol", SYMBOL),
    project("replace_text_in_file", IDE),
    project("create_new_file", IDE),
    project("create_new_file_with_text", IDE),
    project("replace_file_text_by_path", IDE),
    project("reformat_file", IDE),
    project("rename_refactoring", IDE),
];

/// Tools that run a shell command on this machine, and the field that holds it.
const SHELLS: &[(&str, &str)] = &[
    ("start_process", "command"),
    ("execute_command", "command"),
    ("execute_shell_command", "command"),
    ("execute_terminal_command", "command"),
    ("run_shell_command", "command"),
    ("run_terminal_command", "command"),
    ("shell_execute", "command"),
];
/// Fields that say where such a command runs.
const PLACES: &[&str] = &["cwd", "workdir", "working_directory", "workingDirectory", "directory"];
/// Parts of a server's name that tell of another machine.
const REMOTE: &[&str] = &["ssh", "remote", "docker", "kube", "sandbox", "e2b", "cloud"];

/// Tools that are git in other clothes: the words, and the fields whose values follow them.
const GIT: &[(&str, &[&str], &[&str])] = &[
    ("git_add", &["add"], &["files"]),
    ("git_commit", &["commit", "-m", "x"], &[]),
    ("git_reset", &["reset"], &["mode", "commit", "target"]),
    ("git_checkout", &["checkout"], &["branch_name", "branchOrPath", "target"]),
    ("git_branch", &["branch"], &[]),
    ("git_create_branch", &["branch"], &["branch_name"]),
    ("git_clean", &["clean", "-fd"], &[]),
    ("git_stash", &["stash"], &["mode"]),
    ("git_merge", &["merge"], &["branch"]),
    ("git_rebase", &["rebase"], &["upstream"]),
    ("git_pull", &["pull"], &[]),
    ("git_cherry_pick", &["cherry-pick"], &["commitRef", "commits"]),
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

/// Everything a call of `mcp__SERVER__TOOL` would do here.
pub(super) fn effects(name: &str, input: &Value, cwd: &str, disk: &Disk) -> Vec<Effect> {
    let (server, tool) = name.rsplit_once("__").unwrap_or(("", name));
    if works_elsewhere(server, input) {
        return Vec::new();
    }
    if let Some((_, words, fields)) = GIT.iter().find(|(known, ..)| *known == tool) {
        return of_command(&git(words, fields, input, cwd), cwd, disk);
    }
    if let Some((_, field)) = SHELLS.iter().find(|(known, _)| *known == tool) {
        let text = input.get(*field).and_then(Value::as_str).unwrap_or_default();
        return of_command(text, &place(input, cwd), disk);
    }
    if let Some(row) = ROWS.iter().find(|row| row.tool == tool) {
        return row_effects(row, input, cwd, disk);
    }
    if only_reads(tool.strip_prefix("git_").unwrap_or(tool)) {
        return Vec::new();
    }
    let mut texts = Vec::new();
    strings(input, &mut texts);
    let paths = texts.iter().filter(|t| t.starts_with('/') && t.len() < 4096);
    let existing = paths
        .filter(|t| World::target(disk, t) != Entry::Missing)
        .filter_map(|t| disk.resolve(t, Follow::All));
    existing.map(|path| Effect::Check { path }).collect()
}

/// A server on another machine, or one that works on a hosted repository.
fn works_elsewhere(server: &str, input: &Value) -> bool {
    let server = server.to_ascii_lowercase();
    let hosted = |a: &str, b: &str| input.get(a).is_some() && input.get(b).is_some();
    REMOTE.iter().any(|word| server.contains(word))
        || hosted("owner", "repo")
        || hosted("project_id", "branch")
}

fn row_effects(row: &Row, input: &Value, cwd: &str, disk: &Disk) -> Vec<Effect> {
    let texts = |fields: &[&str]| -> Vec<String> {
        let found = fields.iter().filter_map(|name| input.get(*name));
        let found = found.filter_map(Value::as_str).filter(|text| !text.is_empty());
        found.map(|text| absolute(text, row.base, input, cwd, disk)).collect()
    };
    let writes = texts(row.writes)
        .into_iter()
        .filter_map(|text| disk.resolve(&text, Follow::All).map(|path| Effect::Write { path }));
    let removes = texts(row.removes).into_iter().filter_map(|text| {
        disk.resolve(&text, Follow::Parents).map(|path| Effect::Remove { path })
    });
    writes.chain(removes).collect()
}

/// A tool's path as an absolute one. A relative one of a project's server stands in the project it
/// names, or that the session began in, or the work tree, or the directory: in the first of them
/// that has it; a new file in the first.
fn absolute(text: &str, base: Base, input: &Value, cwd: &str, disk: &Disk) -> String {
    if let Some(rest) = text.strip_prefix("~/") {
        return format!("{}/{rest}", disk.home_dir());
    }
    if text.starts_with('/') {
        return text.to_owned();
    }
    let here = format!("{cwd}/{text}");
    if base == Base::Cwd {
        return here;
    }
    let named = input.get("projectPath").and_then(Value::as_str).map(str::to_owned);
    let began = std::env::var("CLAUDE_PROJECT_DIR").ok().filter(|dir| dir.starts_with('/'));
    let tree = disk.resolve(cwd, Follow::All).and_then(|cwd| disk.root_of(&cwd));
    let tree = tree.map(|root| root.path.key().into_owned());
    let candidates: Vec<String> = [named, began, tree]
        .into_iter()
        .flatten()
        .map(|dir| format!("{}/{text}", dir.trim_end_matches('/')))
        .chain([here.clone()])
        .collect();
    let there = candidates.iter().find(|path| World::target(disk, path) != Entry::Missing);
    there.or(candidates.first()).cloned().unwrap_or(here)
}

/// Where a command runs.
fn place(input: &Value, cwd: &str) -> String {
    let named = PLACES.iter().find_map(|field| input.get(*field)).and_then(Value::as_str);
    match named.filter(|text| !text.is_empty()) {
        Some(text) if text.starts_with('/') => text.to_owned(),
        Some(text) => format!("{cwd}/{text}"),
        None => cwd.to_owned(),
    }
}

/// The command line of a tool that is git.
fn git(words: &[&str], fields: &[&str], input: &Value, cwd: &str) -> String {
    let repo = ["repo_path", "path"].iter().find_map(|field| input.get(*field));
    let repo = repo.and_then(Value::as_str).unwrap_or(cwd);
    let mut line = vec!["git".to_owned(), "-C".to_owned(), quoted(repo)];
    line.extend(words.iter().map(|word| (*word).to_owned()));
    for field in fields {
        let mut texts = Vec::new();
        if let Some(value) = input.get(*field) {
            strings(value, &mut texts);
        }
        // What comes out of a list comes out last first.
        line.extend(texts.into_iter().rev().map(|text| match (*field, text) {
            ("mode", "save") => "push".to_owned(),
            ("mode", mode) if words == ["reset"] => quoted(&format!("--{mode}")),
            (_, text) => quoted(text),
        }));
    }
    line.join(" ")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
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
    use serde_json::json;

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

    #[test]
    fn gits_tools_are_gits_command_lines() {
        let line = |tool: &str, input: Value| {
            let (_, words, fields) = GIT.iter().find(|(known, ..)| *known == tool).unwrap();
            git(words, fields, &input, "/w")
        };
        let add = json!({ "repo_path": "/r", "files": ["a", "it's"] });
        assert_eq!(line("git_add", add), r"git -C '/r' add 'a' 'it'\''s'");
        let reset = json!({ "path": "/r", "mode": "hard" });
        assert_eq!(line("git_reset", reset), "git -C '/r' reset '--hard'");
        assert_eq!(line("git_stash", json!({ "mode": "save" })), "git -C '/w' stash push");
    }

    #[test]
    fn every_row_is_there_once_and_writes_something() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.tool).collect();
        names.extend(SHELLS.iter().map(|(tool, _)| *tool));
        names.extend(GIT.iter().map(|(tool, ..)| *tool));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(ROWS.iter().all(|row| !row.writes.is_empty() || !row.removes.is_empty()));
    }
}
