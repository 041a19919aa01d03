//! What happens when something breaks: unreadable input, damaged state, a closed pipe. Beside
//! others it is a denial with a reason and the operator's way out; a person alone goes on.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::support::machine::Machine;
use crate::support::place::Pair;
use crate::support::reply::Verdict;

/// What becomes of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Overwritten,
    Truncated,
    Empty,
    Text,
    NewerSchema,
    /// A table of another program, which knows no version.
    Foreign,
    /// The same, with the number of our own.
    Namesake,
    Directory,
    Pipe,
    Gone,
}

#[expect(clippy::disallowed_types, reason = "damage is done to the table itself")]
impl Damage {
    const ALL: [Self; 10] = [
        Self::Overwritten,
        Self::Truncated,
        Self::Empty,
        Self::Text,
        Self::NewerSchema,
        Self::Foreign,
        Self::Namesake,
        Self::Directory,
        Self::Pipe,
        Self::Gone,
    ];

    fn happen(self, table: &Path) {
        let file = fs::File::options().write(true).open(table).unwrap();
        let size = file.metadata().unwrap().len();
        match self {
            Self::Overwritten => file.write_all_at(&vec![0xA5; 8_192], 0).unwrap(),
            Self::Truncated => file.set_len(size / 2).unwrap(),
            Self::Empty => file.set_len(0).unwrap(),
            Self::Text => fs::write(table, "[]").unwrap(),
            Self::NewerSchema => {
                let made = rusqlite::Connection::open(table).unwrap();
                made.execute("UPDATE meta SET v = '9999' WHERE k = 'reader'", []).unwrap();
                made.pragma_update(None, "user_version", 9_999).unwrap();
            }
            Self::Foreign | Self::Namesake => {
                fs::remove_file(table).unwrap();
                let made = rusqlite::Connection::open(table).unwrap();
                made.execute_batch("CREATE TABLE lanes_of_a_pool(swimmer TEXT)").unwrap();
                if self == Self::Namesake {
                    let ours = octo::kernel::schema::STEPS.len();
                    made.pragma_update(None, "user_version", ours).unwrap();
                }
            }
            Self::Directory => {
                fs::remove_file(table).unwrap();
                fs::create_dir(table).unwrap();
            }
            Self::Pipe => {
                fs::remove_file(table).unwrap();
                let made = std::process::Command::new("mkfifo").arg(table).status().unwrap();
                assert!(made.success());
            }
            Self::Gone => fs::remove_file(table).unwrap(),
        }
    }
}

#[test]
fn a_damaged_table_never_lets_a_live_lane_go() {
    for damage in Damage::ALL {
        let pair = Pair::meet();
        damage.happen(&pair.place.kernel("table.sqlite"));
        let reply = pair.other().ask("Write", &pair.wanted());
        let Verdict::Deny(reason) = reply.verdict() else { panic!("{damage:?} opened the lane") };
        let told = reason.contains("holder") || reason.contains("octo doctor");
        assert!(told || damage == Damage::NewerSchema, "{damage:?}: no way out in: {reason}");
    }
}

#[test]
fn repair_brings_the_live_lanes_back_from_the_journals() {
    for damage in Damage::ALL.into_iter().filter(|damage| *damage != Damage::NewerSchema) {
        let pair = Pair::meet();
        damage.happen(&pair.place.kernel("table.sqlite"));
        let repaired = pair.place.machine.operator(&["doctor", "--repair"]);
        assert_ne!(repaired.code, Some(101), "{damage:?}: {repaired:?}");
        let reply = pair.other().ask("Write", &pair.wanted());
        let Verdict::Deny(reason) = reply.verdict() else { panic!("{damage:?} lost the lane") };
        assert!(reason.contains("holder"), "{damage:?}: {reason}");
        assert_eq!(pair.holder().ask("Write", &pair.wanted()).verdict(), Verdict::Pass);
    }
}

#[test]
fn a_lone_user_is_not_locked_out_by_damage() {
    for damage in Damage::ALL {
        let machine = Machine::gates_only();
        let repo = machine.repo("app", &[("a.txt", "a\n")]);
        let me = machine.session("me", &repo.root);
        me.start();
        me.holds(&repo.at("a.txt"), "mine\n");
        damage.happen(&machine.kernel().join("table.sqlite"));
        let write = json!({ "file_path": repo.at("a.txt"), "content": "x" });
        assert_eq!(me.ask("Write", &write).verdict(), Verdict::Pass, "{damage:?}");
        let add = json!({ "command": "git add -A", "description": "x" });
        assert_eq!(me.ask("Bash", &add).verdict(), Verdict::Pass, "{damage:?}");
    }
}

#[test]
fn a_lock_that_is_never_let_go_is_a_denial_in_time() {
    let pair = Pair::meet();
    let lock = fs::File::create(pair.place.machine.kernel().join("table.lock")).unwrap();
    lock.lock().unwrap();
    let reply = pair.other().ask("Write", &pair.wanted());
    assert!(reply.rule().starts_with("gate."), "{reply:?}");
}

#[test]
fn input_that_cannot_be_read_is_refused_before_a_tool_and_reported_elsewhere() {
    let machine = Machine::gates_only();
    let payloads = ["", "{", "{}", "[1,2]", "not json", "null", "\u{0}", "{\"session_id\":\"s\"}"];
    for payload in payloads {
        let reply = machine.feed("octo-hook", &["PreToolUse"], payload.as_bytes());
        assert_eq!(reply.rule(), "gate.payload", "{payload:?}");
        for event in ["PostToolUse", "Stop", "UserPromptSubmit", "SessionStart", "SubagentStop"] {
            let reply = machine.feed("octo-hook", &[event], payload.as_bytes());
            assert_eq!(reply.code, Some(0), "{event} {payload:?}: {reply:?}");
            assert_eq!(reply.stdout, "", "{event} {payload:?}");
        }
    }
    let reply = machine.feed("octo-hook", &[], b"not json");
    assert_eq!(reply.rule(), "gate.payload", "without an argument the strictest event decides");
}

#[test]
fn every_captured_payload_cut_anywhere_is_refused() {
    let machine = Machine::gates_only();
    let mut seen = 0;
    for (name, text) in captured().filter(|(name, _)| name.starts_with("PreToolUse")) {
        for part in 1..6 {
            let cut = text.len() * part / 6;
            let reply = machine.feed("octo-hook", &["PreToolUse"], &text.as_bytes()[..cut]);
            assert_eq!(reply.rule(), "gate.payload", "{name} cut at {cut}");
            seen += 1;
        }
    }
    assert!(seen > 50, "the captured payloads are gone");
}

#[test]
fn every_captured_payload_passes_for_a_person_alone() {
    for (name, text) in captured() {
        let machine = Machine::gates_only();
        let event = name.split('.').next().unwrap();
        if event == "WorktreeCreate" {
            continue;
        }
        let reply = machine.feed("octo-hook", &[event], text.as_bytes());
        assert_eq!(reply.code, Some(0), "{name}: {reply:?}");
        assert!(!reply.stdout.contains("permissionDecision"), "{name}: {reply:?}");
    }
}

#[test]
fn an_event_that_disagrees_with_the_wiring_is_refused() {
    let machine = Machine::gates_only();
    let me = machine.session("me", &machine.home);
    let payload = me.payload("PostToolUse", json!({ "tool_name": "Bash", "tool_input": {} }));
    let reply = machine.hook("PreToolUse", &payload);
    assert_eq!(reply.rule(), "gate.payload", "{reply:?}");
}

#[test]
fn a_closed_stdout_still_denies_by_the_exit_code() {
    let pair = Pair::meet();
    let payload = pair.other().question("Write", &pair.wanted()).to_string();
    let mut hook = pair.place.machine.command("octo-hook");
    hook.arg("PreToolUse").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = hook.spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_payload_beyond_the_bound_is_refused() {
    let machine = Machine::gates_only();
    let me = machine.session("me", &machine.home);
    let content = "x".repeat(64 * 1024 * 1024);
    let input = json!({ "file_path": machine.home.join("big"), "content": content });
    assert_eq!(me.ask("Write", &input).rule(), "gate.size");
}

#[test]
fn a_report_of_half_a_megabyte_is_no_news() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let me = machine.session("me", &repo.root);
    let input = json!({ "file_path": repo.at("a.txt"), "old_string": "a", "new_string": "b" });
    let response = json!({ "originalFile": "line\n".repeat(100_000) });
    assert_eq!(me.call("Edit", &input, response).verdict(), Verdict::Pass);
}

#[test]
fn nesting_without_end_is_a_denial_beside_others_and_never_a_crash() {
    let pair = Pair::meet();
    let deep = 100_000;
    for (open, close) in
        [("$(", ")"), ("( ", ")"), ("{ ", "; }"), ("`", "`"), ("\"$(", ")\""), ("<(", ")")]
    {
        let command = format!("{}rm a.txt{}", open.repeat(deep), close.repeat(deep));
        let reply = pair.other().ask("Bash", &json!({ "command": command, "description": "x" }));
        assert!(reply.denied(), "{open} lets it through");
    }
    for text in ["'", "\"", "<<E\n", "${x:-", "$((", "[[ ", "case x in "] {
        let command = format!("rm a.txt; {}", text.repeat(deep));
        let reply = pair.other().ask("Bash", &json!({ "command": command, "description": "x" }));
        assert!(reply.denied(), "{text} lets it through");
    }
}

/// All payloads that were captured from the real clients.
fn captured() -> impl Iterator<Item = (String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/payloads");
    let versions = fs::read_dir(root).unwrap().flatten();
    versions.flat_map(|version| fs::read_dir(version.path()).unwrap().flatten()).map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        (name, fs::read_to_string(file.path()).unwrap().trim_end().to_owned())
    })
}
