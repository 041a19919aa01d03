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
