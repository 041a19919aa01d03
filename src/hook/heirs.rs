//! Who goes on for whom: `/clear`, `--fork-session`, a resumed conversation and its twin in
//! another client. What a conversation left uncommitted, and its tree, follow it and nobody else.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::rehearsal::Rehearsal;
use crate::kernel::clock::{self, Client};
use crate::kernel::store::{ProcessRow, State, Tx, Vouched};
use crate::policy::lane::{AbsPath, Pid, Tick};
use crate::shield::Reply;
use crate::worktree::Registry as _;
use crate::worktree::row::{Pin, Setup, State as TreeState, TreeRow};
use crate::worktree::table::Table;

struct Stage {
    play: Rehearsal,
    _folder: tempfile::TempDir,
}

fn pid(name: &str) -> Pid {
    Pid::new(name).unwrap()
}

impl Stage {
    /// A session `old` that has written `a`, holds its lane and works in a tree.
    fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let play = Rehearsal::new(folder.path(), |_| {});
        let stage = Self { play, _folder: folder };
        stage.start("old", "startup");
        stage.wrote("old", "a");
        let path = |name: &str| AbsPath::new(stage.play.work.join(name)).unwrap();
        let row = TreeRow {
            id: "old".to_owned(),
            session: pid("old"),
            name: None,
            alias: None,
            common: path(".git"),
            main: AbsPath::new(&stage.play.work).unwrap(),
            path: path("../tree"),
            branch: "dim/old".to_owned(),
            target: None,
            base: "0".repeat(40),
            state: TreeState::Ready,
            created: 1,
            seen: 1,
            pin: Pin::Loose,
            ports: None,
            setup: Setup::None,
            copied: Vec::new(),
            sub: None,
            notes: Vec::new(),
        };
        Table::new(stage.play.home.clone(), 900).put(&row).unwrap();
        stage
    }

    fn start(&self, id: &str, source: &str) -> Reply {
        self.play.fire(id, id, "SessionStart", json!({ "source": source }))
    }

    fn says(&self, id: &str) {
        self.play.fire(id, id, "UserPromptSubmit", json!({ "prompt": "go" }));
    }

    fn ends(&self, id: &str, reason: &str) {
        self.play.fire(id, id, "SessionEnd", json!({ "reason": reason }));
    }

    fn wrote(&self, id: &str, name: &str) {
        let file = self.play.work.join(name);
        let call = |event| {
            let more = json!({
                "tool_name": "Write", "tool_input": { "file_path": file },
                "tool_use_id": format!("{id}-{name}"),
            });
            assert_eq!(self.play.fire(id, id, event, more).code, 0);
        };
        call("PreToolUse");
        fs::write(&file, id).unwrap();
        call("PostToolUse");
    }

    fn with<T>(&self, mut work: impl FnMut(&mut Tx<'_>) -> T) -> T {
        self.play.kernel().transact(|tx| Ok(work(tx))).unwrap()
    }

    fn change(&self, id: &str, change: impl Fn(&mut ProcessRow)) {
        self.with(|tx| {
            let mut row = tx.process(&pid(id)).unwrap().unwrap();
            change(&mut row);
            tx.put_process(&row).unwrap();
        });
    }

    /// Whose the uncommitted bytes of `a`, the presence and the tree are.
    #[track_caller]
    fn all_belongs_to(&self, id: &str) {
        let a = AbsPath::new(self.play.work.join("a")).unwrap();
        let root = AbsPath::new(&self.play.work).unwrap();
        self.with(|tx| {
            assert_eq!(tx.custody_at(&a).unwrap().unwrap().owner, pid(id), "custody");
            let here = tx.presence_in(&root).unwrap();
            assert!(here.iter().any(|row| row.session == pid(id) && row.wrote), "{here:?}");
        });
        let trees = Table::new(self.play.home.clone(), 900).rows(None).unwrap();
        assert!(trees.iter().all(|tree| tree.session == pid(id)), "the tree: {trees:?}");
    }

    fn row(&self, id: &str) -> ProcessRow {
        self.with(|tx| tx.process(&pid(id)).unwrap().unwrap())
    }
}

/// A client that runs and is not this one.
struct Twin(Child);

impl Twin {
    fn run() -> (Self, Client) {
        let child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let began = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
        let client = Client { pid: child.id(), start: began.parse().unwrap() };
        (Self(child), client)
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Whether this test runs below a process that can be taken for the client.
fn has_client() -> bool {
    clock::client().is_some()
}

#[test]
fn a_cleared_conversation_goes_on_under_its_new_id() {
    let stage = Stage::set();
    stage.ends("old", "clear");
    stage.start("new", "clear");
    stage.all_belongs_to("new");
    let old = stage.row("old");
    assert_eq!((old.state, old.heir), (State::Ended, Some(pid("new"))));
    assert!(
        stage.with(|tx| tx.lanes_of(&pid("old")).unwrap().is_empty()),
        "lanes are not handed on"
    );
    // Once only: a second newcomer gets nothing.
    stage.start("third", "clear");
    stage.all_belongs_to("new");
}

#[test]
fn a_clear_of_another_time_client_or_reason_is_nobodys_to_take() {
    let late = Stage::set();
    late.ends("old", "clear");
    late.change("old", |row| row.seen = Tick(row.seen.0.saturating_sub(1_000)));
    late.start("new", "clear");
    late.all_belongs_to("old");

    let elsewhere = Stage::set();
    elsewhere.ends("old", "clear");
    elsewhere.change("old", |row| row.client = Some(Client { pid: 4_194_303, start: 1 }));
    elsewhere.start("new", "clear");
    elsewhere.all_belongs_to("old");

    for (reason, source) in [("other", "clear"), ("clear", "startup")] {
        let ended = Stage::set();
        ended.ends("old", reason);
        ended.start("new", source);
        ended.all_belongs_to("old");
    }
}

#[test]
fn of_two_conversations_one_client_cleared_the_one_in_the_same_folder_is_continued() {
    let stage = Stage::set();
    stage.start("beside", "startup");
    stage.ends("old", "clear");
    stage.ends("beside", "clear");
    stage.change("beside", |row| row.cwd = Some("/somewhere/else".to_owned()));
    stage.start("new", "clear");
    stage.all_belongs_to("new");
    assert_eq!(stage.row("beside").heir, None);
}

#[test]
fn a_forked_conversation_is_known_by_the_start_that_came_under_the_old_id() {
    if !has_client() {
        return;
    }
    let stage = Stage::set();
    stage.start("old", "resume");
    // `--fork-session`: every later event has an id that never began.
    stage.says("fork");
    stage.all_belongs_to("fork");
    assert_eq!(stage.row("old").heir, Some(pid("fork")));
}

#[test]
fn a_resumed_conversation_that_goes_on_itself_has_no_heir() {
    let stage = Stage::set();
    stage.start("old", "resume");
    stage.says("old");
    stage.says("stranger");
    stage.all_belongs_to("old");
    assert_eq!(stage.row("old").state, State::Open);
}

#[test]
fn of_two_resumed_in_one_client_a_fork_inherits_from_neither() {
    let stage = Stage::set();
    stage.start("second", "startup");
    stage.start("old", "resume");
    stage.start("second", "resume");
    stage.says("fork");
    stage.all_belongs_to("old");
    assert_eq!(stage.row("second").heir, None);
}

#[test]
fn a_resumed_one_in_another_client_is_not_this_forks_past() {
    let stage = Stage::set();
    stage.start("old", "resume");
    stage.change("old", |row| row.client = Some(Client { pid: 4_194_303, start: 1 }));
    stage.says("fork");
    stage.all_belongs_to("old");
}

#[cfg(target_os = "linux")]
#[test]
fn a_twin_is_told_and_inherits_nothing() {
    let stage = Stage::set();
    let (_twin, other) = Twin::run();
    stage.change("old", |row| {
        row.client = Some(other);
        row.vouched = Vouched::Yes;
    });
    let said = stage.start("old", "resume");
    assert!(said.stdout.contains("already runs in another client"), "{}", said.stdout);
    stage.says("fork");
    stage.all_belongs_to("old");
    assert_eq!(stage.row("old").client, Some(other), "the twin's client was forgotten");
}
