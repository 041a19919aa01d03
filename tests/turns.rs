//! What the turns of several processes do to lanes: calls that never ended, agents in the
//! background, clients that went away, names wired one by one, words that wait for somebody.

use std::fs::{self, File, FileTimes};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::machine::Machine;
use crate::support::place::{Place, bash, runs};
use crate::support::puppet::Puppet;

/// The seed's names that judge tool calls, and ours.
const NAMES: [&str; 4] = [
    "octo-hook",
    "dimension-awareness-hook",
    "pretool-write-tree-owner",
    "pretool-bash-tree-owner",
];

/// The payload of one call under an id of its own.
fn call(who: &Puppet<'_>, event: &str, id: &str, tool: &str, input: &Value) -> Value {
    let more = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": id });
    who.payload(event, more)
}

#[test]
fn a_name_that_judges_no_lanes_takes_none() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    let question = call(&second, "PreToolUse", "t1", "Bash", &bash("echo x > a.txt")).to_string();
    let said = place.machine.feed("dimension-awareness-hook", &[], question.as_bytes());
    assert!(!said.denied(), "{said:?}");
    let said = place.machine.feed("pretool-bash-tree-owner", &[], question.as_bytes());
    assert_eq!(said.rule(), "lane.held");
    assert!(!place.asks_for(&first, "a.txt").denied());
}

#[test]
fn all_names_wired_at_once_judge_and_journal_a_call_once() {
    for turn in 0..NAMES.len() {
        let place = Place::new();
        let (first, second) = (place.session("first"), place.session("second"));
        first.holds(&place.repo.at("a.txt"), "by first\n");
        place.repo.put("b.txt", "uncommitted\n");
        let order = (0..NAMES.len()).map(|n| NAMES[(n + turn) % NAMES.len()]);
        let refused = call(&second, "PreToolUse", "t1", "Bash", &bash("rm a.txt")).to_string();
        let passing = bash("rm b.txt; echo x > lib/new.rs");
        let passing = call(&second, "PreToolUse", "t2", "Bash", &passing).to_string();
        let mut refusals = 0;
        for name in order {
            let args: &[&str] = if name == "octo-hook" { &["PreToolUse"] } else { &[] };
            refusals += usize::from(place.machine.feed(name, args, refused.as_bytes()).denied());
            let passed = place.machine.feed(name, args, passing.as_bytes());
            assert!(!passed.denied(), "{name}: {passed:?}");
        }
        assert!(refusals >= 2, "turn {turn}: octo-hook and the bash gate both refuse");
        assert_eq!(place.kinds("second", "deny"), 1, "turn {turn}");
        assert_eq!(place.kinds("second", "keep"), 1, "turn {turn}");
        assert_eq!(place.kinds("second", "claim"), 1, "turn {turn}");
        assert_eq!(place.kinds("second", "start"), 1, "turn {turn}");
    }
}

#[test]
fn a_background_child_outlives_its_parents_turn_whichever_event_comes_first() {
    for prompt in [None, Some("go on")] {
        let place = Place::new();
        let (lead, other) = (place.session("lead"), place.session("other"));
        let input = json!({ "description": "d", "prompt": "p", "subagent_type": "builder" });
        assert!(!lead.ask("Agent", &input).denied());
        let mut report = call(&lead, "PostToolUse", "t1", "Agent", &input);
        report["tool_response"] =
            json!({ "isAsync": true, "status": "async_launched", "agentId": "child" });
        place.machine.hook("PostToolUse", &report);
        let child = lead.subagent("child");
        child.start();
        child.holds(&place.repo.at("a.txt"), "by child\n");
        match prompt {
            None => lead.fire("Stop", json!({ "stop_hook_active": false })),
            Some(prompt) => lead.fire("UserPromptSubmit", json!({ "prompt": prompt })),
        };
        let said = place.asks_for(&other, "a.txt");
        assert!(said.denied() && said.stderr.contains("child"), "{prompt:?}: {said:?}");
    }
}

#[test]
fn an_agent_the_client_says_still_runs_lives_on() {
    let place = Place::new();
    let (lead, other) = (place.session("lead"), place.session("other"));
    let (runs_on, interrupted) = (lead.subagent("runs-on"), lead.subagent("interrupted"));
    for agent in [&runs_on, &interrupted] {
        agent.start();
    }
    runs_on.holds(&place.repo.at("a.txt"), "one\n");
    interrupted.holds(&place.repo.at("b.txt"), "two\n");
    let tasks = json!([
        { "id": "runs-on", "type": "subagent", "status": "running", "description": "x" }
    ]);
    lead.fire("Stop", json!({ "stop_hook_active": false, "background_tasks": tasks }));
    assert!(place.asks_for(&other, "a.txt").denied());
    assert!(!place.asks_for(&other, "b.txt").denied());
}

#[test]
fn words_wait_for_a_refusal_and_for_a_look_around() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    second.holds(&place.repo.at("b.txt"), "by second\n");
    assert!(place.asks_for(&second, "a.txt").denied());
    let looked = runs(&first, "ls");
    assert!(looked.context().contains("second was refused"), "{looked:?}");
    assert_eq!(runs(&first, "ls").stdout, "", "a word is said once");
    assert!(runs(&second, "rm a.txt").denied());
    let refused = place.asks_for(&first, "b.txt");
    assert!(refused.denied() && refused.stderr.contains("second was refused"), "{refused:?}");
}

#[test]
fn of_a_circle_the_one_that_began_last_is_told_to_yield() {
    let place = Place::new();
    let lead = place.session("lead");
    let (older, younger) = (lead.spawn("a-older"), lead.spawn("b-younger"));
    older.holds(&place.repo.at("a.txt"), "older\n");
    younger.holds(&place.repo.at("b.txt"), "younger\n");
    assert!(place.asks_for(&younger, "a.txt").denied());
    let closed = place.asks_for(&older, "b.txt");
    assert!(closed.denied() && closed.stderr.contains("told to give way"), "{closed:?}");
    let told = runs(&younger, "ls");
    assert!(told.context().contains("give way: octo yield"), "{told:?}");
    younger.bash("octo yield b.txt").well();
    assert!(!place.asks_for(&older, "b.txt").denied());
}

#[test]
fn an_agent_that_comes_back_does_not_make_its_session_a_newcomer() {
    let place = Place::on(Machine::new());
    let first = place.session("first");
    first.holds(&place.repo.at("a.txt"), "by first\n");
    let agent = first.spawn("agent");
    runs(&agent, "ls");
    place.machine.silent_for("agent", 1_000);
    place.session("second");
    let back = place.asks_for(&agent, "b.txt");
    assert!(!back.denied(), "{back:?}");
}

#[test]
fn a_session_lives_as_long_as_one_of_its_agents() {
    let place = Place::new();
    let (first, second) = (place.session("first"), place.session("second"));
    let agent = first.spawn("agent");
    agent.bash("ls").well();
    place.machine.silent_for("first", 1_000);
    let staged = runs(&second, "git add -A");
    assert!(staged.denied(), "{staged:?}");
    place.machine.silent_for("agent", 1_000);
    assert!(!runs(&second, "git add -A").denied());
}

#[test]
fn lanes_end_with_a_dead_client_and_stand_when_the_talk_goes_on_in_another() {
    let place = Place::new();
    let other = place.session("other");
    let first = place.machine.session("first", &place.repo.root);
    let write = json!({ "file_path": place.repo.at("a.txt"), "content": "x" });
    let (asked, done) = (
        call(&first, "PreToolUse", "t1", "Write", &write),
        call(&first, "PostToolUse", "t1", "Write", &write),
    );
    // `xargs` plays the client: one process, neither shell nor wrapper, that starts the hooks.
    let folder = place.machine.base();
    for (name, payload) in [("PreToolUse", &asked), ("PostToolUse", &done)] {
        fs::write(folder.join(name), payload.to_string()).unwrap();
    }
    let step = format!(
        "octo-hook {{}} < {0}/{{}} && echo by-first > {1}",
        folder.display(),
        place.repo.at("a.txt").display()
    );
    let mut client = place.machine.command("xargs");
    client.args(["-I{}", "sh", "-c", &step]).stdin(Stdio::piped());
    let mut client = client.spawn().unwrap();
    std::io::Write::write_all(&mut client.stdin.take().unwrap(), b"PreToolUse\nPostToolUse\n")
        .unwrap();
    assert!(client.wait().unwrap().success());
    assert_eq!(place.kinds("first", "confirm"), 1, "the set-up failed");
    // Its conversation goes on in another client, which is this test.
    assert!(!place.asks_for(&first, "lib/c.rs").denied());
    assert!(place.asks_for(&other, "a.txt").denied());
}

#[test]
fn an_escaped_call_holds_up_no_lease() {
    let place = Place::new();
    let (first, other) = (place.session("first"), place.session("other"));
    first.holds(&place.repo.at("a.txt"), "by first\n");
    let input = bash("make > b.txt");
    place.machine.hook("PreToolUse", &call(&first, "PreToolUse", "toolu_esc", "Bash", &input));
    place.machine.silent_for("first", 1_000);
    assert!(place.asks_for(&other, "a.txt").denied(), "a call in flight is a sign of life");
    let transcript = place.machine.home.join(".claude/projects/x/first.jsonl");
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let line = json!({ "type": "user", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "toolu_esc", "content": "interrupted" } ] } });
    fs::write(&transcript, format!("{line}\n")).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(1_000);
    let file = File::options().write(true).open(&transcript).unwrap();
    file.set_times(FileTimes::new().set_modified(long_ago)).unwrap();
    assert!(!place.asks_for(&other, "a.txt").denied(), "it was answered: nothing is in flight");
}

#[test]
fn a_command_in_the_background_keeps_what_it_will_write() {
    let place = Place::new();
    let (first, other) = (place.session("first"), place.session("other"));
    let mut input = bash("sleep 60; echo x > a.txt");
    input["run_in_background"] = json!(true);
    for event in ["PreToolUse", "PostToolUse"] {
        let said = place.machine.hook(event, &call(&first, event, "t1", "Bash", &input));
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    assert!(place.asks_for(&other, "a.txt").denied());
    let tasks = json!([{ "id": "b1", "type": "shell", "status": "running", "command": "x" }]);
    first.fire("Stop", json!({ "stop_hook_active": false, "background_tasks": tasks }));
    assert!(place.asks_for(&other, "a.txt").denied());
    first.fire("Stop", json!({ "stop_hook_active": false, "background_tasks": [] }));
    assert!(!place.asks_for(&other, "a.txt").denied());
}

#[test]
fn a_cleared_conversation_inherits_wherever_its_shell_stood() {
    let place = Place::new();
    let deep = place.machine.session("before", &place.repo.root.join("lib"));
    deep.start();
    deep.holds(&place.repo.at("a.txt"), "uncommitted\n");
    deep.fire("SessionEnd", json!({ "reason": "clear" }));
    let after = place.machine.session("after", &place.repo.root);
    after.fire("SessionStart", json!({ "source": "clear" }));
    let other = place.session("other");
    let said = runs(&other, "git reset --hard");
    assert!(said.denied() && said.stderr.contains("after"), "{said:?}");
    assert!(!runs(&after, "git checkout -- a.txt").denied());
}

#[test]
fn a_handed_on_lane_that_is_written_again_is_its_holders_alone_and_not_forgotten() {
    let place = Place::new();
    let lead = place.session("lead");
    lead.holds(&place.repo.at("a.txt"), "by lead\n");
    let child = lead.spawn("child");
    assert!(!place.asks_for(&lead, "a.txt").denied());
    assert!(place.asks_for(&child, "a.txt").denied());
    // The user refused that write: what the lead holds since before it still holds.
    lead.fire("Stop", json!({ "stop_hook_active": false }));
    let other = place.session("other");
    assert!(place.asks_for(&other, "a.txt").denied());
}

#[test]
fn gits_own_state_is_the_tree_of_everybody_in_it() {
    let place = Place::new();
    let (first, other) = (place.session("first"), place.session("other"));
    let reaching =
        ["rm .git/index", "echo x > .git/HEAD", "rm -rf .git/refs/heads/main", "rm -rf .git"];
    for command in reaching {
        assert!(!runs(&other, command).denied(), "{command}: nobody else has work here");
    }
    first.holds(&place.repo.at("a.txt"), "by first\n");
    for command in reaching {
        assert!(runs(&other, command).denied(), "{command}");
    }
    assert!(!runs(&other, "echo message > .git/COMMIT_EDITMSG").denied());
    assert!(!runs(&other, "rm -f .git/index.lock").denied());
}
