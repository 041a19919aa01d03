//! Tools of MCP servers: the known shapes of local file writers claim like an edit, an unknown
//! server's absolute existing paths are checked and never claimed, reads and remote servers pass.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::machine::Machine;
use crate::support::puppet::Puppet;
use crate::support::repo::Repo;

struct Desk {
    machine: Machine,
    repo: Repo,
}

impl Desk {
    fn new() -> Self {
        let machine = Machine::gates_only();
        let files = [("a.txt", "a\n"), ("b.txt", "b\n"), ("dir/c.txt", "c\n")];
        let repo = machine.repo("app", &files);
        Self { machine, repo }
    }

    fn session(&self, id: &str) -> Puppet<'_> {
        self.machine.session(id, &self.repo.root)
    }
}

/// Calls of real servers that would change the file at `path`.
fn writes(path: &Path) -> Vec<(&'static str, Value)> {
    vec![
        ("mcp__filesystem__write_file", json!({ "path": path, "content": "x" })),
        (
            "mcp__filesystem__edit_file",
            json!({ "path": path, "edits": [{ "oldText": "a", "newText": "b" }] }),
        ),
        ("mcp__filesystem__move_file", json!({ "source": path, "destination": "/tmp/elsewhere" })),
        ("mcp__filesystem__move_file", json!({ "source": "/tmp/elsewhere", "destination": path })),
    ]
}

#[test]
fn a_held_file_is_refused_to_every_known_writer() {
    let desk = Desk::new();
    desk.session("holder").holds(&desk.repo.at("a.txt"), "held\n");
    for (tool, input) in writes(&desk.repo.at("a.txt")) {
        let reply = desk.session("other").ask(tool, &input);
        assert!(reply.denied(), "{tool} {input}");
        assert!(reply.stderr.contains("holder"), "{tool}: {reply:?}");
    }
}

#[test]
fn a_known_writer_claims_what_it_writes() {
    for tool in ["mcp__filesystem__write_file", "mcp__filesystem__edit_file"] {
        let desk = Desk::new();
        let path = desk.repo.at("a.txt");
        let (_, input) = writes(&path).into_iter().find(|(name, _)| *name == tool).unwrap();
        assert!(!desk.session("first").ask(tool, &input).denied());
        let write = json!({ "file_path": path, "content": "x" });
        assert!(desk.session("second").ask("Write", &write).denied(), "{tool} did not claim");
    }
}

#[test]
fn an_unknown_server_is_checked_and_never_claims() {
    let desk = Desk::new();
    desk.session("holder").holds(&desk.repo.at("a.txt"), "held\n");
    let other = desk.session("other");
    let held = json!({ "target": desk.repo.at("a.txt"), "text": "x" });
    assert!(other.ask("mcp__strange__patch", &held).denied());
    let free = json!({ "target": desk.repo.at("b.txt"), "text": "x" });
    assert!(!other.ask("mcp__strange__patch", &free).denied());
    let write = json!({ "file_path": desk.repo.at("b.txt"), "content": "x" });
    assert!(!desk.session("third").ask("Write", &write).denied(), "a guess became a claim");
}

#[test]
fn reads_and_remote_servers_pass() {
    let desk = Desk::new();
    desk.session("holder").holds(&desk.repo.at("a.txt"), "held\n");
    let other = desk.session("other");
    let path = desk.repo.at("a.txt");
    for (tool, input) in [
        ("mcp__filesystem__read_file", json!({ "path": path })),
        ("mcp__filesystem__read_text_file", json!({ "path": path })),
        ("mcp__filesystem__list_directory", json!({ "path": desk.repo.root })),
        ("mcp__filesystem__search_files", json!({ "path": desk.repo.root, "pattern": "a" })),
        ("mcp__filesystem__get_file_info", json!({ "path": path })),
        (
            "mcp__github__create_or_update_file",
            json!({ "owner": "o", "repo": "r", "path": "a.txt", "content": "x" }),
        ),
        ("mcp__slack__post_message", json!({ "text": "a.txt is done" })),
    ] {
        assert!(!other.ask(tool, &input).denied(), "{tool} {input}");
    }
}

/// A shell or git in other clothes, and files named from a project's root.
#[test]
fn the_tools_of_real_servers_are_judged_by_what_they_do() {
    let desk = Desk::new();
    desk.session("holder").holds(&desk.repo.at("dir/c.txt"), "held\n");
    desk.session("holder").holds(&desk.repo.at("a.txt"), "held\n");
    let root = &desk.repo.root;
    // The session's shell stands below the root that the server's paths begin in.
    let other = desk.machine.session("other", &desk.repo.at("dir"));
    other.start();
    for (tool, input, refused) in [
        ("mcp__serena__replace_content", json!({ "relative_path": "dir/c.txt" }), true),
        ("mcp__serena__create_text_file", json!({ "relative_path": "a.txt" }), true),
        ("mcp__serena__create_text_file", json!({ "relative_path": "dir/new.txt" }), false),
        ("mcp__serena__rename_symbol", json!({ "relative_path": "a.txt", "new_name": "n" }), true),
        ("mcp__serena__execute_shell_command", json!({ "command": "rm c.txt" }), true),
        ("mcp__serena__execute_shell_command", json!({ "command": "rm a.txt", "cwd": root }), true),
        ("mcp__serena__execute_shell_command", json!({ "command": "cat ../a.txt" }), false),
        ("mcp__jetbrains__replace_text_in_file", json!({ "pathInProject": "dir/c.txt" }), true),
        (
            "mcp__jetbrains__create_new_file",
            json!({ "projectPath": root, "pathInProject": "a.txt", "text": "x" }),
            true,
        ),
        ("mcp__jetbrains__execute_terminal_command", json!({ "command": "git stash" }), true),
        ("mcp__desktop-commander__start_process", json!({ "command": "git add -A" }), true),
        ("mcp__desktop-commander__start_process", json!({ "command": "ls" }), false),
        (
            "mcp__desktop-commander__edit_block",
            json!({ "file_path": desk.repo.at("a.txt"), "old_string": "a" }),
            true,
        ),
        ("mcp__git__git_reset", json!({ "repo_path": root, "mode": "hard" }), true),
        ("mcp__git__git_checkout", json!({ "repo_path": root, "branch_name": "main" }), true),
        ("mcp__git__git_add", json!({ "repo_path": root, "files": ["."] }), true),
        ("mcp__git__git_add", json!({ "repo_path": root, "files": ["b.txt"] }), false),
        ("mcp__git__git_status", json!({ "repo_path": root }), false),
        ("mcp__git__git_diff_unstaged", json!({ "repo_path": root }), false),
        ("mcp__git__git_create_branch", json!({ "repo_path": root, "branch_name": "b" }), false),
        ("mcp__prod-ssh__execute_command", json!({ "command": "git reset --hard" }), false),
        (
            "mcp__github__delete_file",
            json!({ "owner": "o", "repo": "r", "path": "c.txt", "branch": "b" }),
            false,
        ),
    ] {
        let said = other.ask(tool, &input);
        assert_eq!(said.denied(), refused, "{tool} {input}: {said:?}");
    }
}

#[test]
fn a_file_named_from_the_projects_root_is_claimed_there() {
    let desk = Desk::new();
    let below = desk.machine.session("below", &desk.repo.at("dir"));
    below.start();
    let create = json!({ "relative_path": "fresh.txt", "content": "x" });
    assert!(!below.ask("mcp__serena__create_text_file", &create).denied());
    let write = |path: &str| json!({ "file_path": desk.repo.at(path), "content": "x" });
    let second = desk.session("second");
    assert!(second.ask("Write", &write("fresh.txt")).denied());
    assert!(!second.ask("Write", &write("dir/fresh.txt")).denied(), "the wrong one was claimed");
}
