//! Everyday commands of coding agents: none is refused for a person alone, and none beside a
//! neighbour who holds a file they do not touch.

use std::fs;

use serde_json::{Value, json};

use crate::support::cases::{fill, load, play, text};
use crate::support::machine::Machine;
use crate::support::puppet::Puppet;
use crate::support::reply::Verdict;
use crate::support::repo::Repo;

/// The fewest commands that make a corpus.
const ENOUGH: usize = 500;

#[test]
fn a_session_alone_is_never_refused() {
    let machine = Machine::gates_only();
    let app = checkout(&machine);
    let alone = machine.session("alone", &app.root);
    alone.start();
    none_is_refused(&machine, &app, &alone);
}

#[test]
fn a_sibling_beside_staged_work_is_not_refused() {
    let machine = Machine::gates_only();
    let app = checkout(&machine);
    let lead = machine.session("main-a", &app.root);
    lead.start();
    let (a, b) = (lead.spawn("kid-a"), lead.spawn("kid-b"));
    a.holds(&app.at("lib/core.rs"), "unfinished\n");
    a.bash("git add lib/core.rs").well();
    none_is_refused(&machine, &app, &b);
}

#[test]
fn a_stranger_beside_a_held_file_is_not_refused() {
    let machine = Machine::gates_only();
    let app = checkout(&machine);
    let lead = machine.session("main-a", &app.root);
    lead.start();
    let (a, b) = (lead.spawn("kid-a"), machine.session("main-b", &app.root));
    a.holds(&app.at("lib/core.rs"), "unfinished\n");
    none_is_refused(&machine, &app, &b);
}

fn checkout(machine: &Machine) -> Repo {
    let files = [
        ("lib/core.rs", "fn core() {}\n"),
        ("lib/util.rs", "fn util() {}\n"),
        ("notes.md", "notes\n"),
        ("docs/a.md", "docs\n"),
        (".gitignore", "x.log\n"),
    ];
    let app = machine.repo("app", &files);
    fs::create_dir_all(app.at("build")).unwrap();
    app.branch_with("other", &[("docs/a.md", "other\n")]);
    app.branch_with("corebr", &[("lib/core.rs", "fn branch() {}\n")]);
    app
}

fn none_is_refused(machine: &Machine, app: &Repo, who: &Puppet<'_>) {
    let cases = load("ordinary.jsonl");
    assert!(cases.len() >= ENOUGH, "the corpus is cut");
    let marks = [("{ROOT}", app.root.as_path()), ("{HOME}", machine.home.as_path())];
    let id = |case: &Value| text(case, "id").to_owned();
    play(&cases, id, |case| {
        let command = fill(&case["command"], &marks);
        match who.ask("Bash", &json!({ "command": command, "description": "x" })).verdict() {
            Verdict::Pass => Vec::new(),
            Verdict::Deny(reason) => vec![format!("REFUSED {command}: {reason}")],
        }
    });
}
