//! The life of a lane and of custody: who gets a path when its holder ends, delegates, yields,
//! commits, falls silent or is released, and what a successor owes to bytes it did not write.

use serde_json::json;

use crate::support::place::{Place, runs};

#[test]
fn a_finished_agents_lane_ends_and_its_bytes_stay_its_parents() {
    let place = Place::new();
    let lead = place.session("lead");
    let (one, two) = (lead.spawn("one"), lead.spawn("two"));
    one.holds(&place.repo.at("a.txt"), "by one\n");
    assert!(place.asks_for(&two, "a.txt").denied());
    one.end();
    assert!(!place.asks_for(&two, "a.txt").denied());
    let other = place.session("other");
    for command in ["git reset --hard", "git checkout -- a.txt", "git add -A", "git stash"] {
        assert!(runs(&other, command).denied(), "{command} takes what the agent left");
    }
}

#[test]
fn a_session_that_has_ended_holds_nothing_against_anybody() {
    let place = Place::new();
    let first = place.session("first");
    first.holds(&place.repo.at("a.txt"), "by first\n");
    first.end();
    let second = place.session("second");
    assert!(!place.asks_for(&second, "a.txt").denied());
    assert!(!runs(&second, "git add -A").denied());
    assert!(!runs(&second, "git reset --hard").denied());
}

#[test]
fn a_delegation_serves_the_children_and_nobody_else() {
    let place = Place::new();
    let lead = place.session("lead");
    lead.holds(&place.repo.at("a.txt"), "by lead\n");
    let child = lead.spawn("child");
    let stranger = place.session("stranger");
    assert!(place.asks_for(&stranger, "a.txt").denied());
    assert!(!place.asks_for(&child, "a.txt").denied());
    child.holds(&place.repo.at("a.txt"), "by child\n");
    child.bash("git commit -qm child -- a.txt").well();
    assert_eq!(place.repo.committed("a.txt").unwrap(), "by child");
    // What the parent takes after the spawn still binds the child.
    lead.holds(&place.repo.at("b.txt"), "by lead\n");
    assert!(place.asks_for(&child, "b.txt").denied());
}

#[test]
fn siblings_of_the_spawner_get_nothing_from_its_delegation() {
    let place = Place::new();
    let lead = place.session("lead");
    let (one, two) = (lead.spawn("one"), lead.spawn("two"));
    one.holds(&place.repo.at("a.txt"), "by one\n");
    let agent = json!({ "description": "x", "prompt": "x", "subagent_type": "builder" });
    assert!(!one.ask("Agent", &agent).denied());
    assert!(place.asks_for(&two, "a.txt").denied());
}

#[test]
fn a_commit_ends_the_lane_and_the_custody() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    first.bash("git commit -qm done -- a.txt").well();
    assert!(!place.asks_for(&second, "a.txt").denied());
    assert!(!runs(&second, "git checkout -- a.txt").denied());
}

#[test]
fn a_path_set_back_by_its_holder_is_free() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    first.bash("git checkout -- a.txt").well();
    assert!(!place.asks_for(&second, "a.txt").denied());
}

#[test]
fn a_yield_frees_the_holders_own_lanes() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    first.holds(&place.repo.at("b.txt"), "by first\n");
    assert!(place.asks_for(&second, "a.txt").denied());
    first.bash("octo yield a.txt").well();
    assert!(!place.asks_for(&second, "a.txt").denied());
    assert!(place.asks_for(&second, "b.txt").denied());
}

#[test]
fn the_operator_frees_a_stuck_lane_and_it_is_on_record() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    assert!(place.asks_for(&second, "a.txt").denied());
    let released = place.machine.operator(&["ps", "--release", "first"]);
    assert_eq!(released.code, Some(0), "{released:?}");
    assert!(!place.asks_for(&second, "a.txt").denied());
    let journal = place.machine.journal("first");
    let released = |line: &&serde_json::Value| {
        let reason = line["reason"].as_str().unwrap_or_default();
        line["kind"] == "release" && reason.starts_with("operator")
    };
    assert!(journal.iter().any(|line| released(&line)), "{journal:#?}");
    let nobody = place.machine.operator(&["ps", "--release", "nobody"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
}

#[test]
fn a_silent_holder_holds_up_to_its_lease_and_no_longer() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    place.machine.silent_for("first", 890);
    assert!(place.asks_for(&second, "a.txt").denied());
    place.machine.silent_for("first", 901);
    assert!(!place.asks_for(&second, "a.txt").denied());
}

#[test]
fn the_lapsed_holder_is_told_who_has_its_path() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    place.machine.silent_for("first", 1_000);
    second.holds(&place.repo.at("a.txt"), "by second\n");
    let back = place.asks_for(&first, "a.txt");
    assert!(back.denied() && back.stderr.contains("second"), "{back:?}");
}

#[test]
fn a_call_the_user_refused_leaves_no_claim_after_the_next_event() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    assert!(!place.asks_for(&first, "a.txt").denied());
    assert!(place.asks_for(&second, "a.txt").denied());
    first.fire("Stop", json!({ "stop_hook_active": false }));
    assert!(!place.asks_for(&second, "a.txt").denied());
}

#[test]
fn an_agent_that_was_seen_to_end_may_come_back() {
    let place = Place::new();
    let lead = place.session("lead");
    let (one, two) = (lead.spawn("one"), lead.spawn("two"));
    one.holds(&place.repo.at("a.txt"), "by one\n");
    one.end();
    one.holds(&place.repo.at("a.txt"), "by one again\n");
    assert!(place.asks_for(&two, "a.txt").denied());
}

#[test]
fn what_is_replaced_can_be_brought_back() {
    let place = Place::new();
    let lead = place.session("lead");
    let (one, two) = (lead.spawn("one"), lead.spawn("two"));
    one.holds(&place.repo.at("a.txt"), "precious bytes\n");
    one.end();
    two.holds(&place.repo.at("a.txt"), "by two\n");
    let kept = place.machine.journal("two");
    let kept = kept.iter().find(|line| line["kind"] == "keep");
    let restore = kept.and_then(|line| line["restore"].as_str()).map(str::to_owned);
    let restore = restore.expect("a keep line with the restore command");
    let run = place
        .machine
        .run("bash", &["-c", &format!("cd {} && {restore}", place.repo.root.display())]);
    assert_eq!(run.code, Some(0), "{restore}: {run:?}");
    let there = place.repo.content("a.txt").unwrap().contains("precious bytes");
    assert!(there || run.stdout.contains("precious bytes"), "{restore}: {run:?}");
}

#[test]
fn ignored_paths_and_scratch_are_nobodys_lane() {
    let place = Place::new();
    place.repo.put(".gitignore", "target/\n*.log\n");
    let (first, second) = (place.session("first"), place.session("second"));
    for name in ["target/out.o", "run.log"] {
        first.holds(&place.repo.at(name), "first\n");
        assert!(!place.asks_for(&second, name).denied(), "{name}");
    }
}
