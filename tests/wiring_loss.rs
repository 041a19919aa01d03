//! Settings that hold our entries: a hooked process may not lose them, wherever the client keeps
//! its folder, and a change that did happen is blocked until the operator says otherwise.

use std::fs;

use serde_json::json;

use crate::support::machine::{Machine, feed};

#[test]
fn a_settings_file_that_is_gone_is_a_change_that_unhooks() {
    let machine = Machine::gates_only();
    machine.install();
    let settings = machine.home.join(".claude/settings.json");
    let me = machine.session("me", &machine.home);
    let changed = || me.fire("ConfigChange", json!({ "source": "user", "file_path": settings }));
    assert_eq!(changed().code, Some(0), "nothing of ours was lost");
    let text = fs::read_to_string(&settings).unwrap();
    for after in [None, Some("{}"), Some("{ not json"), Some("{\"disableAllHooks\": true}")] {
        match after {
            None => fs::remove_file(&settings).unwrap(),
            Some(after) => fs::write(&settings, after).unwrap(),
        }
        assert_eq!(changed().code, Some(2), "{after:?}");
        fs::write(&settings, &text).unwrap();
    }
}

#[test]
fn settings_a_client_cannot_read_any_more_are_lost_settings() {
    let machine = Machine::gates_only();
    machine.install();
    let me = machine.session("me", &machine.home);
    for command in ["chmod 000 ~/.claude/settings.json", "chmod -R a-r ~/.claude"] {
        let said = me.ask("Bash", &json!({ "command": command, "description": "x" }));
        assert!(said.denied() && said.rule().starts_with("floor."), "{command}: {said:?}");
    }
    let said = me.ask("Bash", &json!({ "command": "chmod 600 notes", "description": "x" }));
    assert!(!said.denied(), "{said:?}");
}

#[test]
fn the_clients_folder_may_lie_anywhere() {
    let machine = Machine::gates_only();
    machine.install();
    let other = machine.home.join("elsewhere");
    fs::create_dir(&other).unwrap();
    fs::copy(machine.home.join(".claude/settings.json"), other.join("settings.json")).unwrap();
    let me = machine.session("me", &machine.home);
    for (file, denied) in [("settings.json", true), ("notes.json", false)] {
        let input = json!({ "file_path": other.join(file), "content": "{}" });
        let mut hook = machine.command("octo-hook");
        hook.arg("PreToolUse").env("CLAUDE_CONFIG_DIR", &other);
        let said = feed(hook, me.question("Write", &input).to_string().as_bytes());
        assert_eq!(said.denied(), denied, "{file}: {said:?}");
    }
}
