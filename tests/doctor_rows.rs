//! Every row of doctor: each thing that can be wrong is made wrong, found under its name with a
//! fix, and mended where --fix may.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::machine::Machine;

/// A machine where octo is installed.
fn installed() -> Machine {
    let machine = Machine::gates_only();
    let done = machine.operator(&["install", "--no-check"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    machine
}

/// Doctor's findings by their names, the worst of each.
fn findings(machine: &Machine, words: &[&str]) -> BTreeMap<String, Value> {
    let said = machine.operator(&[&["doctor", "--json"], words].concat());
    let all: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!((&all["schema"], &all["kind"]), (&json!(1), &json!("doctor")));
    let rank = |finding: &Value| ["ok", "warn", "bad"].iter().position(|l| finding["level"] == *l);
    let mut worst: BTreeMap<String, Value> = BTreeMap::new();
    for finding in all["findings"].as_array().unwrap() {
        let id = finding["id"].as_str().unwrap().to_owned();
        if worst.get(&id).is_none_or(|known| rank(known) < rank(finding)) {
            worst.insert(id, finding.clone());
        }
    }
    worst
}

/// The row stands so, its text holds the word, and what is not well names a fix.
#[track_caller]
fn row(found: &BTreeMap<String, Value>, id: &str, level: &str, word: &str) {
    let finding = found.get(id).unwrap_or_else(|| panic!("no {id} in {found:#?}"));
    let text = finding["text"].as_str().unwrap();
    assert!(finding["level"] == level && text.contains(word), "{id}: {finding}");
    assert_eq!(finding["fix"].is_string(), level != "ok", "{finding}");
}

fn settings(machine: &Machine) -> PathBuf {
    machine.home.join(".claude/settings.json")
}

/// Changes the settings as somebody else would.
fn edit(machine: &Machine, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(settings(machine)).unwrap();
    let mut all: Value = serde_json::from_str(&text).unwrap();
    change(&mut all);
    fs::write(settings(machine), serde_json::to_string_pretty(&all).unwrap()).unwrap();
}

#[test]
fn a_whole_installation_has_no_finding_against_it() {
    let machine = installed();
    let found = findings(&machine, &[]);
    for id in [
        "program.copy",
        "program.path",
        "wiring.entries",
        "wiring.drift",
        "wiring.reach",
        "client.version",
        "git.version",
        "disk.free",
        "fence.level",
        "kernel.table",
        "config.files",
        "attack.denied",
    ] {
        row(&found, id, "ok", "");
    }
}

#[test]
fn stale_programs_and_names_are_found_and_put_right() {
    let machine = installed();
    let program = machine.programs().join("octo");
    let mut bytes = fs::read(&program).unwrap();
    bytes.push(0);
    fs::remove_file(&program).unwrap();
    fs::write(&program, bytes).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(machine.programs().join("octo-sh")).unwrap();
    let foreign = machine.home.join(".local/bin/octo-dim");
    fs::remove_file(&foreign).unwrap();
    fs::write(&foreign, "#!/bin/sh\n").unwrap();
    // The one that is not the installed copy.
    let built = machine.bin.join("octo").display().to_string();
    let asked = |words: &[&str]| {
        let said = machine.operator_with(&built, &[&["doctor", "--json"], words].concat());
        serde_json::from_str::<Value>(&said.stdout).unwrap()["findings"].clone()
    };
    let has = |found: &Value, id: &str, word: &str| {
        let all = found.as_array().unwrap().iter();
        let mut named = all.filter(|finding| finding["id"] == id && finding["level"] == "warn");
        named.any(|finding| finding["text"].as_str().unwrap().contains(word))
    };
    let found = asked(&[]);
    assert!(has(&found, "program.copy", "another build"), "{found:#}");
    assert!(has(&found, "program.links", "octo-sh"), "{found:#}");
    assert!(has(&found, "program.path", "another `octo-dim` comes first"), "{found:#}");
    let found = asked(&["--fix"]);
    assert!(!has(&found, "program.copy", "") && !has(&found, "program.links", ""), "{found:#}");
    assert_eq!(fs::read_to_string(foreign).unwrap(), "#!/bin/sh\n", "not ours to mend");
}

#[test]
fn what_works_against_the_wiring_is_found() {
    let machine = installed();
    edit(&machine, |all| {
        let theirs = json!([{ "hooks": [{ "type": "command", "command": "/opt/theirs/make" }] }]);
        all["hooks"]["WorktreeCreate"] = theirs;
        all["env"] =
            json!({ "CLAUDE_CODE_SHELL_PREFIX": "/opt/theirs/run", "CLAUDE_CODE_SIMPLE": "1" });
    });
    let found = findings(&machine, &[]);
    row(&found, "wiring.others", "warn", "/opt/theirs/make");
    row(&found, "wiring.prefix", "warn", "/opt/theirs/run");
    row(&found, "wiring.switch", "bad", "CLAUDE_CODE_SIMPLE");

    let machine = installed();
    edit(&machine, |all| {
        for group in all["hooks"]["PreToolUse"].as_array_mut().unwrap() {
            let seen = group["matcher"].as_str().unwrap().replace("|mcp__.*", "");
            group["matcher"] = seen.into();
        }
    });
    let servers = json!({ "mcpServers": { "notes": { "command": "notes-server" } } });
    fs::write(machine.home.join(".claude.json"), servers.to_string()).unwrap();
    let found = findings(&machine, &[]);
    row(&found, "mcp.servers", "warn", "notes");
    row(&found, "wiring.drift", "warn", "another version");
    let found = findings(&machine, &["--fix"]);
    row(&found, "mcp.servers", "ok", "notes");
    row(&found, "wiring.drift", "ok", "");
}

#[test]
fn the_kernels_health_is_looked_at() {
    let machine = installed();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let holder = machine.session("holder-1", &repo.root);
    holder.holds(&repo.at("a.txt"), "held\n");
    let rival = machine.session("rival-1", &repo.root);
    let write = json!({ "file_path": repo.at("a.txt"), "content": "taken" });
    for _ in 0..3 {
        assert!(rival.ask("Write", &write).denied());
    }
    fs::set_permissions(machine.kernel(), fs::Permissions::from_mode(0o755)).unwrap();
    let found = findings(&machine, &[]);
    row(&found, "session.heard", "ok", "holder-1");
    row(&found, "session.stuck", "warn", "rival-1");
    row(&found, "kernel.modes", "warn", "other users");
    row(&found, "kernel.orphans", "ok", "");
    let found = findings(&machine, &["--fix"]);
    assert!(!found.contains_key("kernel.modes"), "{found:#?}");

    holder.end();
    fs::write(machine.kernel().join("ballast"), vec![0; 17 << 20]).unwrap();
    machine.configure("[worktree]\nmin_free_mb = 900000000\n[retention]\nmegabytes = 16\n");
    let found = findings(&machine, &[]);
    row(&found, "kernel.orphans", "warn", "1 uncommitted paths");
    row(&found, "kernel.size", "warn", "retention.megabytes");
    row(&found, "disk.free", "warn", "worktrees need");
    machine.configure("notice = 1\n");
    row(&findings(&machine, &[]), "config.files", "warn", "notice");
}

#[test]
fn trees_without_a_folder_or_a_session_are_found() {
    let machine = Machine::new();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let second = machine.session("second-1", &repo.root);
    let write = json!({ "file_path": repo.at("a.txt"), "content": "x" });
    assert_eq!(second.ask("Write", &write).rule(), "shared.fork");
    row(&findings(&machine, &[]), "kernel.orphans", "ok", "");
    fs::remove_dir_all(machine.home.join(".octorato/arm/app/second-1")).unwrap();
    row(&findings(&machine, &[]), "kernel.orphans", "warn", "lost their folder");
}
