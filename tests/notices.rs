//! Words that reach whom they concern: a session hears at its next prompt that its lane was taken,
//! that somebody began beside it, that its tree was reclaimed; a person hears through the desktop.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::eventually;
use crate::support::machine::Machine;
use crate::support::puppet::Puppet;

/// What a session is told at its next prompt.
fn hears(session: &Puppet<'_>) -> String {
    session.fire("UserPromptSubmit", json!({ "prompt": "go on" })).context()
}

#[test]
fn a_holder_hears_that_its_lane_lapsed_or_was_released() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let first = machine.session("first-1", &repo.root);
    let second = machine.session("second-1", &repo.root);
    first.holds(&repo.at("a.txt"), "of the first\n");
    machine.silent_for("first-1", 1_000);
    second.holds(&repo.at("a.txt"), "of the second\n");
    let told = hears(&first);
    assert!(told.contains("a.txt lapsed; second-1 has it now"), "{told:?}");
    assert!(!hears(&first).contains("lapsed"), "it is told twice");

    let released = machine.operator(&["ps", "--release", "second-1"]);
    assert_eq!(released.code, Some(0), "{released:?}");
    let told = hears(&second);
    assert!(told.contains("the operator released your 1 lane(s)"), "{told:?}");
}

#[test]
fn who_works_hears_once_of_somebody_who_begins_beside_it() {
    let machine = Machine::new();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let elsewhere = machine.repo("other", &[("a.txt", "a\n")]);
    let first = machine.session("first-1", &repo.root);
    first.start();
    assert_eq!(hears(&first), "", "a person alone is told something");
    machine.session("far-1", &elsewhere.root).start();
    assert_eq!(hears(&first), "", "another repository is nobody's business");
    let second = machine.session("second-1", &repo.root);
    second.start();
    let told = hears(&first);
    assert!(told.contains("session second-1 began beside you"), "{told:?}");
    second.fire("SessionStart", json!({ "source": "compact" }));
    assert_eq!(hears(&first), "", "it is told again");
}

#[test]
fn a_session_hears_that_its_tree_was_reclaimed() {
    let machine = Machine::new();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("first-1", &repo.root).holds(&repo.at("a.txt"), "of the first\n");
    let second = machine.session("second-1", &repo.root);
    let write = json!({ "file_path": repo.at("a.txt"), "content": "x" });
    assert_eq!(second.ask("Write", &write).rule(), "shared.fork");
    let tree = machine.home.join(".octorato/arm/app/second-1");
    assert!(tree.is_dir());
    second.end();
    let gone = machine.operator(&["worktree", "reclaim", "dim/second-1", "--abandoned", "--yes"]);
    assert!(!tree.exists(), "{gone:?}");
    let told = second.fire("SessionStart", json!({ "source": "resume" })).context();
    assert!(told.contains("second-1 was reclaimed; back with: "), "{told:?}");
}

#[test]
fn the_desktop_shows_the_third_refusal() {
    let machine = Machine::new();
    let note = machine.home.join("note");
    let desktop = machine.bin.join("notify-send");
    let script =
        format!("#!/bin/sh\nprintf '%s|' \"$@\" > '{0}.new'; mv '{0}.new' '{0}'\n", note.display());
    fs::write(&desktop, script).unwrap();
    fs::set_permissions(&desktop, fs::Permissions::from_mode(0o755)).unwrap();
    machine.configure("isolation = \"off\"\nnotify = \"desktop\"\n");
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let rival = machine.session("rival-1", &repo.root);
    let write = json!({ "file_path": repo.at("a.txt"), "content": "taken" });
    for _ in 0..3 {
        assert!(rival.ask("Write", &write).denied());
    }
    let text = eventually("the notice", || fs::read_to_string(&note).ok());
    assert!(text.starts_with("--app-name=octo|octo|") && text.contains("[lane.held]"), "{text}");
}
