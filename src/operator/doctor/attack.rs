//! The proof: in a home and a repository of its own, one session holds a file and another wants
//! it, through the very entries that are installed, run as the client runs them. What is not
//! denied here is not denied anywhere.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use super::Finding;
use super::scene::Scene;
use crate::applet::Event;
use crate::operator::context::Context;
use crate::operator::screen::harmless;
use crate::wiring::entry::{OURS_ON_PATH, is_ours};
use crate::wiring::files::found;
use crate::wiring::survey::Survey;

/// The words with which a session of a proof is named.
pub(super) const HOLDER: &str = "doctor-holder";
const RIVAL: &str = "doctor-rival";

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let lines = installed(context);
    if lines.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for line in lines {
        let finding = match Scene::set() {
            Err(why) => Finding::warn(
                "attack.scene",
                format!("can't set the scene: {why}"),
                "see to TMPDIR",
            ),
            Ok(scene) => play(&scene, &line),
        };
        findings.push(finding);
    }
    findings
}

/// The installed shell lines for `PreToolUse`, of settings or of the plugin.
pub(super) fn installed(context: &Context) -> Vec<String> {
    let event = Event::PreToolUse.wire().name;
    let files = found(&context.home, &context.project);
    let surveys = || files.iter().filter_map(|file| file.content.as_ref().ok());
    let mut lines: Vec<String> = surveys()
        .flat_map(Survey::ours)
        .filter(|hook| hook.event == event && is_ours(&hook.command))
        .map(|hook| hook.command.clone())
        .collect();
    let plugin =
        surveys().any(|survey| survey.plugins.iter().any(|name| name.starts_with("octo@")));
    if lines.is_empty() && plugin {
        lines.push(OURS_ON_PATH.to_owned());
    }
    lines.dedup();
    lines
}

fn play(scene: &Scene, line: &str) -> Finding {
    let fix = "octo doctor --fix, then octo doctor";
    let held = scene.repo.join("held.txt");
    let claim = scene.fire(line, HOLDER, "Write", &json!({"file_path": held, "content": "mine"}));
    match claim {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let text = format!("a lone session's write is refused: {}", said(&output));
            return Finding::bad("attack.claim", text, fix);
        }
        Err(why) => {
            return Finding::bad("attack.claim", format!("the entry can't run: {why}"), fix);
        }
    }
    drop(fs::write(&held, "mine"));
    let attacks = [
        ("Write", json!({"file_path": held, "content": "taken"})),
        ("Bash", json!({"command": "rm -rf .", "description": "attack"})),
        ("Bash", json!({"command": "git add -A && git commit -m all", "description": "attack"})),
    ];
    for (tool, input) in &attacks {
        let what = input.get("command").and_then(Value::as_str).unwrap_or("a write over it");
        match scene.fire(line, RIVAL, tool, input) {
            Ok(output) if denied(&output) => {}
            Ok(output) => {
                let code = output.status.code().unwrap_or(-1);
                let text = format!("{what}: NOT denied (exit {code}): {}", said(&output));
                return Finding::bad("attack.denied", text, fix);
            }
            Err(why) => return Finding::bad("attack.denied", format!("{what}: {why}"), fix),
        }
    }
    let harmless_call = json!({"command": "git status --short", "description": "look"});
    match scene.fire(line, RIVAL, "Bash", &harmless_call) {
        Ok(output) if output.status.success() => Finding::ok(
            "attack.denied",
            "a rival's write, rm and broad staging are denied; reading passes",
        ),
        Ok(output) => {
            Finding::bad("attack.denied", format!("reading is refused: {}", said(&output)), fix)
        }
        Err(why) => Finding::bad("attack.denied", why, fix),
    }
}

/// A denial that blocks on every client: exit 2, and a well-formed one on stdout.
fn denied(output: &Output) -> bool {
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let word = json.pointer("/hookSpecificOutput/permissionDecision").and_then(Value::as_str);
    output.status.code() == Some(2) && word == Some("deny")
}

fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    harmless(text.lines().next().unwrap_or("no word"))
}
