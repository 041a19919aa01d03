//! Doctor beside the real client, old and new: what it says of each permission mode is so, and a
//! tree that can't be reached or a held file that isn't guarded is found.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::client::{Client, Pin};
use crate::support::machine::Machine;
use crate::support::office::on_every_client;

/// A machine with octo installed and the client on its search path.
fn machine(client: &Client) -> Machine {
    let machine = Machine::new();
    symlink(&client.program, machine.bin.join("claude")).unwrap();
    machine.install();
    machine
}

/// What doctor says of the client: a finding for each mode, by the mode.
fn asked(machine: &Machine) -> BTreeMap<String, Value> {
    let temporary = machine.base().join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let place = format!("TMPDIR={}", temporary.display());
    let said = machine.operator_with("env", &[&place, "octo", "doctor", "--client", "--json"]);
    let all: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().collect();
    assert!(left.is_empty(), "the proof left something behind: {left:?}");
    let findings = all["findings"].as_array().unwrap().iter();
    let of_client = findings.filter(|finding| finding["id"] == "client.modes");
    let mode =
        |finding: &Value| finding["text"].as_str().unwrap().split(':').next().map(str::to_owned);
    of_client.map(|finding| (mode(finding).unwrap(), finding.clone())).collect()
}

/// Every path below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut all = Vec::new();
    for entry in entries {
        all.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            all.extend(below(&entry.path()));
        }
    }
    all.sort();
    all
}

#[test]
fn every_mode_of_the_client_reaches_a_tree_and_nothing_else_is_touched() {
    on_every_client(|client| {
        let machine = machine(client);
        let before = below(&machine.home);
        let modes = asked(&machine);
        assert_eq!(below(&machine.home), before, "the proof wrote in the person's home");
        assert!(modes.values().all(|finding| finding["level"] == "ok"), "{modes:#?}");
        let text = |mode: &str| modes[mode]["text"].as_str().unwrap().to_owned();
        let asking = if client.pin == Pin::Newest { "manual" } else { "default" };
        for mode in [asking, "acceptEdits", "dontAsk", "bypassPermissions"] {
            for word in ["writes in its own tree", "stays there", "a held file is refused"] {
                assert!(text(mode).contains(word), "{}", text(mode));
            }
        }
        assert!(text("plan").contains("writes nowhere"), "{}", text("plan"));
    });
}

#[test]
fn a_tree_out_of_reach_and_a_gate_that_misses_writes_are_found() {
    let Some(client) = Client::pinned(Pin::Newest) else { return };
    let machine = machine(&client);
    let settings = machine.home.join(".claude/settings.json");
    let whole: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();

    let mut closed = whole.clone();
    closed["permissions"]["additionalDirectories"] = serde_json::json!([]);
    fs::write(&settings, closed.to_string()).unwrap();
    for (mode, finding) in asked(&machine) {
        assert_eq!(finding["level"], "warn", "{mode}: {finding}");
    }

    let mut blind = whole;
    for group in blind["hooks"]["PreToolUse"].as_array_mut().unwrap() {
        group["matcher"] = "Bash".into();
    }
    fs::write(&settings, blind.to_string()).unwrap();
    let found = asked(&machine);
    assert_eq!(found["bypassPermissions"]["level"], "bad", "{found:#?}");
    assert_eq!(found["plan"]["level"], "ok", "{found:#?}");
}
