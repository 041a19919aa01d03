//! The gate itself in trouble: stuck, killed, out of memory, state that can't be read, written or
//! locked. Beside others every such end is a denial with a reason; a person alone goes on, and no
//! other event blocks.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::machine::{Machine, feed};
use crate::support::place::Pair;
use crate::support::reply::{Reply, Verdict};

/// Events other than the one that may block.
const OTHERS: [&str; 8] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
];

/// No event but `PreToolUse` blocks, whatever is broken.
#[track_caller]
fn others_go_on(pair: &Pair, what: &str) {
    for event in OTHERS {
        let more = json!({
            "tool_name": "Write", "tool_input": pair.wanted(), "tool_use_id": "t",
            "prompt": "go", "source": "startup", "reason": "other",
        });
        let said = pair.other().fire(event, more);
        assert_ne!(said.code, Some(2), "{what}: {event} blocks: {said:?}");
        assert!(!said.stdout.contains("\"block\""), "{what}: {event}: {said:?}");
    }
}

fn hook(machine: &Machine) -> Command {
    let mut hook = machine.command("octo-hook");
    hook.arg("PreToolUse");
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    hook
}

fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

fn pipe(path: &Path) {
    drop(fs::remove_file(path));
    drop(fs::remove_dir_all(path));
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_hook_that_is_never_fed_gives_up_and_denies() {
    let machine = Machine::gates_only();
    let mut child = hook(&machine).spawn().unwrap();
    let open = child.stdin.take();
    let ended: Reply = child.wait_with_output().unwrap().into();
    drop(open);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("[gate.deadline]"), "{ended:?}");
}

#[test]
fn a_hook_that_crashes_denies_and_elsewhere_reports() {
    let machine = Machine::gates_only();
    for name in ["-SEGV", "-ABRT", "-BUS", "-TERM", "-HUP", "-INT"] {
        for (event, code) in [("PreToolUse", 2), ("Stop", 1)] {
            let mut hook = machine.command("octo-hook");
            hook.arg(event).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = hook.spawn().unwrap();
            // Half a payload is read: the envelope stands by then.
            child.stdin.as_mut().unwrap().write_all(&vec![b' '; 70_000]).unwrap();
            signal(&child, name);
            let ended: Reply = child.wait_with_output().unwrap().into();
            assert_eq!(ended.code, Some(code), "{name} {event}: {ended:?}");
            assert_eq!(ended.stderr.contains("[gate.crash]"), code == 2, "{name}: {ended:?}");
        }
    }
}

#[test]
fn a_hook_without_memory_denies() {
    let pair = Pair::meet();
    let big = json!({ "file_path": pair.place.repo.at("a.txt"), "content": "x".repeat(30 << 20) });
    let payload = pair.other().question("Write", &big).to_string();
    let mut shell = pair.place.machine.command("sh");
    shell.args(["-c", "ulimit -d 16384; ulimit -v 65536; exec octo-hook PreToolUse"]);
    let ended = feed(shell, payload.as_bytes());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("octo: denied ["), "{ended:?}");
}

#[test]
fn a_stopped_holder_of_the_lock_is_a_denial_beside_others_and_no_more() {
    let pair = Pair::meet();
    let mut holder = pair.place.machine.command("flock");
    holder.arg(pair.place.kernel("table.lock")).args(["sh", "-c", "echo; sleep 60"]);
    let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    signal(&holder, "-STOP");
    let said = pair.other().ask("Write", &pair.wanted());
    let looked = pair.other().ask("Bash", &json!({ "command": "ls", "description": "x" }));
    pair.place.machine.silent_for("holder", 1_000);
    let alone = pair.place.machine.session("alone", &pair.place.repo.root);
    pair.place.machine.silent_for("other", 1_000);
    let passed = alone.ask("Write", &pair.wanted());
    signal(&holder, "-CONT");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(said.rule(), "gate.state");
    assert_eq!(looked.verdict(), Verdict::Pass, "a look around meets nobody");
    assert_eq!(passed.verdict(), Verdict::Pass, "{passed:?}");
}

#[test]
fn pipes_and_folders_in_place_of_any_file_deny_beside_others_in_time() {
    for name in ["table.lock", "journal/other.jsonl", "beat/other", "journal", "beat"] {
        for folder in [false, true] {
            let pair = Pair::meet();
            let place = pair.place.kernel(name);
            pipe(&place);
            if folder {
                fs::remove_file(&place).unwrap();
                fs::create_dir(&place).unwrap();
            }
            let what = format!("{name}, folder: {folder}");
            let said = pair.other().ask("Write", &pair.wanted());
            let empty_beats = name == "beat" && folder;
            if let Verdict::Deny(reason) = said.verdict() {
                assert!(!reason.contains("gate.deadline"), "{what}: {reason}");
            } else {
                assert!(empty_beats, "{what} opened the lane");
            }
            others_go_on(&pair, &what);
        }
    }
}

#[test]
fn a_pipe_in_place_of_a_holders_heartbeat_frees_nothing() {
    let pair = Pair::meet();
    pair.other().start();
    pipe(&pair.place.kernel("beat/holder"));
    let said = pair.other().ask("Write", &pair.wanted());
    assert_eq!(said.rule(), "lane.held", "{said:?}");
}

#[test]
fn a_table_of_a_newer_octo_that_this_one_may_read_goes_on_working() {
    #[expect(clippy::disallowed_types, reason = "the newer octo is played by hand")]
    fn newer(table: &Path) {
        let table = rusqlite::Connection::open(table).unwrap();
        let at: i64 = table.pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
        table.execute_batch("ALTER TABLE lane ADD COLUMN colour TEXT").unwrap();
        table.pragma_update(None, "user_version", at + 1).unwrap();
    }
    let pair = Pair::meet();
    newer(&pair.place.kernel("table.sqlite"));
    assert_eq!(pair.other().ask("Write", &pair.wanted()).rule(), "lane.held");
    pair.other().holds(&pair.place.repo.at("b.txt"), "x\n");
}

#[test]
fn state_that_another_user_owns_is_a_denial_with_a_way_out() {
    let pair = Pair::meet();
    let Some(nobody) = Nobody::on(&pair) else { return };
    let payload = pair.other().question("Write", &pair.wanted()).to_string();
    for (path, mode) in [
        (pair.place.kernel("table.sqlite"), 0o000),
        (pair.place.kernel("table.sqlite"), 0o444),
        (pair.place.kernel("table.lock"), 0o000),
        (pair.place.kernel("journal"), 0o000),
        (pair.place.kernel("journal"), 0o555),
        (pair.place.kernel("beat"), 0o000),
        (pair.place.kernel("beat"), 0o555),
        (pair.place.kernel(""), 0o555),
        (pair.place.kernel(""), 0o000),
    ] {
        let was = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let said = nobody.asks(&payload);
        fs::set_permissions(&path, was).unwrap();
        let Verdict::Deny(reason) = said.verdict() else {
            panic!("{} {mode:o} opened the lane", path.display())
        };
        let way_out = reason.contains("what to do") || reason.contains("wait for it");
        assert!(way_out, "{} {mode:o}: {reason}", path.display());
    }
}

/// A user who may not pass over modes, as these tests' own user may where it is root.
struct Nobody<'p> {
    pair: &'p Pair,
}

impl<'p> Nobody<'p> {
    const ID: &'static str = "65534";

    fn on(pair: &'p Pair) -> Option<Self> {
        let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let owner = format!("{0}:{0}", Self::ID);
        let given =
            Command::new("chown").args(["-R", &owner]).arg(pair.place.machine.base()).status();
        let nobody = Self { pair };
        let works = root && given.unwrap().success();
        // The binary must be within that user's reach.
        (works && nobody.command("true").status().is_ok_and(|s| s.success())).then_some(nobody)
    }

    fn command(&self, program: &str) -> Command {
        let copy = self.pair.place.machine.base().join("octo-copy");
        if !copy.exists() {
            fs::copy(env!("CARGO_BIN_EXE_octo"), &copy).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = self.pair.place.machine.command("setpriv");
        command.args(["--reuid", Self::ID, "--regid", Self::ID, "--clear-groups"]);
        if program == "octo-hook" {
            command.arg(copy).args(["octo-hook", "PreToolUse"]);
        } else {
            command.arg(program);
        }
        command
    }

    fn asks(&self, payload: &str) -> Reply {
        feed(self.command("octo-hook"), payload.as_bytes())
    }
}

#[test]
fn an_agent_that_has_ended_does_not_lock_a_lone_user_out() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let me = machine.session("me", &repo.root);
    me.start();
    let agent = me.spawn("agent");
    agent.holds(&repo.at("a.txt"), "x\n");
    agent.end();
    fs::write(machine.kernel().join("table.sqlite"), "[]").unwrap();
    let write = json!({ "file_path": repo.at("a.txt"), "content": "x" });
    assert_eq!(me.ask("Write", &write).verdict(), Verdict::Pass);
}

#[test]
fn a_call_without_what_it_is_judged_by_is_refused() {
    let machine = Machine::gates_only();
    let me = machine.session("me", &machine.home);
    for (tool, input) in [
        ("Write", json!({ "file_path": "" })),
        ("Write", json!({ "file_path": ["a"] })),
        ("Write", json!({ "file_path": "a", "file_path ": 1, "notebook_path": 2 })),
        ("Bash", json!({ "description": "x" })),
        ("Bash", json!({ "command": 7 })),
        ("Write", json!({ "file_path": "a\u{0}b" })),
    ] {
        assert_eq!(me.ask(tool, &input).rule(), "gate.payload", "{tool} {input}");
    }
    let mut nowhere = me.question("Bash", &json!({ "command": "ls" }));
    nowhere["cwd"] = json!("proj");
    assert_eq!(machine.hook("PreToolUse", &nowhere).rule(), "gate.payload");
}

#[test]
fn every_event_cut_anywhere_blocks_only_before_a_tool() {
    let machine = Machine::gates_only();
    let me = machine.session("me", &machine.home);
    let call = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "prompt": "go" });
    for event in OTHERS.iter().chain(&["PreToolUse", "ConfigChange", "PostToolBatch"]) {
        let text = me.payload(event, call.clone()).to_string();
        for part in 0..12 {
            let cut = &text.as_bytes()[..text.len() * part / 12];
            let said = machine.feed("octo-hook", &[event], cut);
            assert_eq!(said.code, Some(if *event == "PreToolUse" { 2 } else { 0 }), "{said:?}");
        }
    }
}

#[test]
fn nothing_on_the_way_waits_for_a_pipe() {
    // The pause file, the transcript and the boundary file are read on the way: pipes in their
    // place may be errors, never waits.
    let pair = Pair::meet();
    pipe(&pair.place.kernel("off"));
    let transcript = pair.place.machine.home.join(".claude/projects/x/holder.jsonl");
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    pipe(&transcript);
    pair.place.machine.silent_for("holder", 1_000);
    let said = pair.other().ask("Write", &pair.wanted());
    assert!(!said.stderr.contains("gate.deadline"), "{said:?}");
}
