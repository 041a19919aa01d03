//! A denial names a command that works instead. Taken at its word: for every refusal of the case
//! files the command is asked for in the very same state, must pass every gate, and must run.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::bash_gate::{Kin, Meeting, Staged, Template};
use crate::scenarios::{ELSEWHERE, Stage};
use crate::support::cases::{fill, load, play, text};
use crate::support::puppet::{Puppet, Ran};
use crate::support::reply::{Reply, Verdict};

/// How the programs begin that remedies are made of.
const PROGRAMS: [&str; 3] = ["git -C ", "octo-dim ", "octo "];
/// Areas of rules whose remedy is a person, a change of text, or another path.
const NO_COMMAND: [&str; 5] = ["floor.", "arm.", "gate.", "keep.", "shared."];

/// The commands a denial names: each stands at the end of its line or before a `;`.
fn commands(reason: &str) -> Vec<String> {
    let Some(remedy) = reason.lines().last() else { return Vec::new() };
    let parts = remedy.split("; ");
    let command = |part: &str| {
        let at = PROGRAMS.iter().filter_map(|program| {
            let at = part.find(&format!(": {program}"))? + 2;
            Some(at)
        });
        at.min().and_then(|at| part.get(at..)).map(str::to_owned)
    };
    parts.filter_map(command).collect()
}

/// What is wrong with the remedies of an answer. Those seen before in such a state are skipped.
fn wrong(
    reply: &Reply,
    actor: &Puppet<'_>,
    place: &str,
    seen: &Mutex<BTreeSet<String>>,
) -> Vec<String> {
    let Verdict::Deny(reason) = reply.verdict() else { return Vec::new() };
    let rule = reply.rule();
    let named = commands(&reason);
    if named.is_empty() {
        let none = NO_COMMAND.iter().any(|area| rule.starts_with(area));
        return if none {
            Vec::new()
        } else {
            vec![format!("[{rule}] names no command: {reason}")]
        };
    }
    let mut wrong = Vec::new();
    for command in named {
        if !seen.lock().unwrap().insert(command.replace(place, "")) {
            continue;
        }
        match actor.bash(&command) {
            Ran::Denied(again) => {
                wrong.push(format!("[{rule}] says {command:?}, which is [{}]", again.rule()));
            }
            Ran::Done(output) if !output.status.success() => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                wrong.push(format!("[{rule}] says {command:?}, which fails: {said}"));
            }
            Ran::Done(_) => {}
        }
    }
    wrong
}

/// Whether B has work of its own that a remedy can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Nothing,
    Work,
}

/// Commands of the case files that could be refused.
fn gated() -> Vec<Value> {
    let mut cases = load("bash_gate.jsonl");
    cases.retain(|case| text(case, "right") != "allow");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/programs_harmful.txt");
    let lines = std::fs::read_to_string(path).unwrap();
    let lines = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    cases.extend(lines.map(|line| json!({ "id": line, "command": line })));
    cases
}

fn sweep(kin: Kin, staged: Staged, own: Own) {
    let cases = gated();
    assert!(cases.len() > 400, "the case files are cut");
    let template = Template::make();
    let seen: Mutex<BTreeSet<String>> = Mutex::default();
    let denied = Mutex::new(0);
    // A scene serves until a remedy was run in it: only then it is no longer the same state.
    let idle: Mutex<Vec<Meeting>> = Mutex::default();
    play(
        &cases,
        |case| text(case, "id").to_owned(),
        |case| {
            let waiting = idle.lock().unwrap().pop();
            let meeting = waiting.unwrap_or_else(|| {
                let meeting = Meeting::stage(&template, kin, staged, "");
                if own == Own::Work {
                    meeting.b().holds(&meeting.scene.app.at("notes.md"), "B's own\n");
                }
                meeting
            });
            let place = meeting.scene.machine.base().display().to_string();
            let marks = [
                ("{ROOT}", meeting.scene.app.root.as_path()),
                ("{HOME}", meeting.scene.machine.home.as_path()),
            ];
            let command = fill(&case["command"], &marks);
            let reply = meeting.b().ask("Bash", &json!({ "command": command }));
            if !reply.denied() {
                return Vec::new();
            }
            *denied.lock().unwrap() += 1;
            let before = seen.lock().unwrap().len();
            let wrong = wrong(&reply, &meeting.b(), &place, &seen);
            if seen.lock().unwrap().len() == before {
                idle.lock().unwrap().push(meeting);
            }
            wrong
        },
    );
    let denied = denied.into_inner().unwrap();
    assert!(denied > 300, "only {denied} were refused");
}

#[test]
fn remedies_work_for_a_sibling_with_work_of_its_own() {
    sweep(Kin::Siblings, Staged::Yes, Own::Work);
}

#[test]
fn remedies_work_for_a_stranger_with_nothing() {
    sweep(Kin::Strangers, Staged::No, Own::Nothing);
}

#[test]
fn remedies_of_all_scenarios_work() {
    let mut cases = load("scenarios.jsonl");
    cases.retain(|case| ELSEWHERE.iter().all(|(id, _)| text(case, "id") != *id));
    cases.retain(|case| text(case, "right") == "deny" && case["input"]["raw"].is_null());
    assert!(cases.len() > 60, "the case file is cut");
    play(
        &cases,
        |case| text(case, "id").to_owned(),
        |case| {
            let stage = Stage::set(case);
            let input = &stage.case["input"];
            let reply = stage.judge(input);
            let steps = input["sequence"].as_array();
            let payload = steps.and_then(|s| s.last()).map_or(input, |step| &step["payload"]);
            // Every scenario is a state of its own: nothing counts as seen.
            wrong(&reply, &stage.actor(payload), "", &Mutex::default())
        },
    );
}

#[test]
fn a_remedy_is_taken_from_a_denial_as_it_stands() {
    let told = "octo: denied [x] y\nsee: git -C /r stash list; keep it: octo-dim --session-id a";
    assert_eq!(commands(told), ["git -C /r stash list", "octo-dim --session-id a"]);
    assert!(commands("what to do: ask the person at the terminal").is_empty());
}
