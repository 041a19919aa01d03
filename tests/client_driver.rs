//! The driver itself against the real client: scripts are followed by parent and children, gates
//! stage a race, events reach a hook, and every way a session ends is seen as platform says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::api::Api;
use crate::support::client::{Client, Launch, Mode, Pin};
use crate::support::eventually;
use crate::support::machine::Machine;
use crate::support::script::{agent_waited_for, bash, gate, say, script, write};
use crate::support::terminal::{ACCEPT_EDITS, Terminal};

/// Puts a recorder in the hook's place that keeps every payload, one a line.
fn record(machine: &Machine) -> PathBuf {
    let log = machine.base().join("events.jsonl");
    let hook = machine.base().join("recorder");
    let text =
        format!("#!/bin/sh\npayload=$(cat)\nprintf '%s\\n' \"$payload\" >> {}\n", log.display());
    fs::write(&hook, text).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).unwrap();
    let entry = json!([{ "hooks": [{ "type": "command", "command": hook }] }]);
    let mut hooks = json!({});
    for event in [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "SubagentStart",
        "SubagentStop",
        "Stop",
    ] {
        hooks[event] = entry.clone();
    }
    fs::create_dir_all(machine.home.join(".claude")).unwrap();
    let settings = json!({ "hooks": hooks }).to_string();
    fs::write(machine.home.join(".claude/settings.json"), settings).unwrap();
    log
}

fn events(log: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn names(log: &PathBuf) -> Vec<String> {
    let name = |event: &Value| event["hook_event_name"].as_str().unwrap().to_owned();
    events(log).iter().map(name).collect()
}

#[test]
fn parent_and_child_follow_scripts_of_their_own() {
    for client in Client::all() {
        let machine = Machine::new();
        let log = record(&machine);
        let repo = machine.repo("app", &[("a.txt", "a\n")]);
        let api = Api::start([
            script(
                "parent",
                [vec![say("off"), agent_waited_for("child")], vec![bash("cat made.txt")]],
            ),
            script("child", [vec![write(repo.at("made.txt"), "by the child\n")]]),
        ]);
        let ended = Launch::new(&client, &machine, &api, &repo.root)
            .mode(Mode::Bypass)
            .script("parent")
            .finish();
        ended.well();
        assert_eq!(repo.content("made.txt").unwrap(), "by the child\n");
        assert!(api.heard("parent").result(1).text.contains("by the child"));
        assert!(names(&log).contains(&"SubagentStop".to_owned()), "{:?}", client.pin);
    }
}

#[test]
fn gates_let_the_test_decide_who_comes_first() {
    let Some(client) = Client::pinned(Pin::Newest) else { return };
    let machine = Machine::new();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let turn = |word: &str| vec![gate(word), bash(&format!("echo {word} >> order.txt"))];
    let api = Api::start([script("one", [turn("one")]), script("two", [turn("two")])]);
    let start = |name: &str| {
        let launch = Launch::new(&client, &machine, &api, &repo.root);
        launch.mode(Mode::Bypass).script(name).start()
    };
    let (one, two) = (start("one"), start("two"));
    api.reached("one");
    api.reached("two");
    api.open("two");
    two.finish().well();
    api.open("one");
    one.finish().well();
    assert_eq!(repo.content("order.txt").unwrap(), "two\none\n");
}

#[test]
fn a_killed_client_fires_nothing_more() {
    let Some(client) = Client::pinned(Pin::Newest) else { return };
    let machine = Machine::new();
    let log = record(&machine);
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let api = Api::start([script("killed", [vec![bash("true")], vec![gate("never")]])]);
    let launch = Launch::new(&client, &machine, &api, &repo.root).mode(Mode::Bypass);
    let run = launch.script("killed").start();
    api.reached("never");
    run.kill();
    let seen = names(&log);
    assert!(seen.contains(&"PostToolUse".to_owned()), "{seen:?}");
    assert!(!seen.iter().any(|name| name == "SessionEnd" || name == "Stop"), "{seen:?}");
}

#[test]
fn escape_during_a_subagent_is_seen_by_nobody() {
    for client in Client::all() {
        let machine = Machine::new();
        let log = record(&machine);
        let repo = machine.repo("app", &[("a.txt", "a\n")]);
        let api = Api::start([
            script("parent", [vec![agent_waited_for("child")]]),
            script("child", [vec![bash("echo x > made.txt")], vec![gate("long")]]),
            script("after", []),
        ]);
        let opened = Terminal::open(&client, &machine, &api, &repo.root, &ACCEPT_EDITS);
        let Some(screen) = opened else {
            return;
        };
        screen.follows(&api, "parent");
        api.reached("long");
        screen.keys(&["Escape"]);
        screen.shows("Interrupted");
        assert!(!names(&log).iter().any(|name| name == "SubagentStop" || name == "Stop"));
        screen.line("/clear");
        eventually("a session cleared", || {
            let cleared = |event: &Value| event["source"] == "clear";
            events(&log).iter().any(cleared).then_some(())
        });
        screen.follows(&api, "after");
    }
}
