//! Any order of events of several processes, through the real hooks and table in one process, and
//! deaths between the journal's line and the commit: no two live processes ever hold overlapping
//! paths, the table says what the journals say, and after a death the journals say no less.

use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::rehearsal::Rehearsal;
use crate::journal::Replay;
use crate::kernel::life::Registry;
use crate::kernel::log;
use crate::kernel::store::{LaneRow, fault};
use crate::policy::lane::{LEASE, Pid};
use crate::policy::verdict::{Note, What};

/// Paths of which many are above each other.
const PATHS: [&str; 5] = ["a", "a/b", "a/b/c", "d", "d/e"];
/// Processes: id and session. Agents of `s1` and `s2` besides the sessions themselves.
const WHO: [(&str, &str); 5] =
    [("s1", "s1"), ("s1a", "s1"), ("s1b", "s1"), ("s2", "s2"), ("s2a", "s2")];

#[derive(Debug, Clone)]
enum Step {
    Ask(usize, usize),
    Wrote(usize, usize),
    Refused(usize, usize),
    Spawn(usize),
    End(usize),
    Stop(usize),
    Silent(usize),
    Released(usize),
    Killed(usize, usize),
    KilledAtEnd(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let (who, path) = (0..WHO.len(), 0..PATHS.len());
    prop_oneof![
        6 => (who.clone(), path.clone()).prop_map(|(w, p)| Step::Ask(w, p)),
        4 => (who.clone(), path.clone()).prop_map(|(w, p)| Step::Wrote(w, p)),
        1 => (who.clone(), path).prop_map(|(w, p)| Step::Refused(w, p)),
        1 => who.clone().prop_map(Step::Spawn),
        1 => who.clone().prop_map(Step::End),
        1 => who.clone().prop_map(Step::Stop),
        1 => who.clone().prop_map(Step::Silent),
        1 => who.clone().prop_map(Step::Released),
        2 => (who.clone(), 0..PATHS.len()).prop_map(|(w, p)| Step::Killed(w, p)),
        1 => who.prop_map(Step::KilledAtEnd),
    ]
}

struct World {
    play: Rehearsal,
    calls: usize,
    died: bool,
}

impl World {
    /// Fires an event; true when it passed.
    fn fire(&self, who: usize, event: &str, more: serde_json::Value) -> bool {
        let (pid, session) = WHO[who];
        self.play.fire(pid, session, event, more).code == 0
    }

    fn call(&self, who: usize, event: &str, path: usize, id: usize) -> bool {
        let file = self.play.work.join(PATHS[path]);
        let more = serde_json::json!({
            "tool_name": "Write", "tool_input": { "file_path": file },
            "tool_use_id": format!("t{id}"),
        });
        self.fire(who, event, more)
    }

    fn take(&mut self, step: &Step) {
        self.calls += 1;
        let id = self.calls;
        match *step {
            Step::Ask(who, path) => {
                self.call(who, "PreToolUse", path, id);
            }
            Step::Wrote(who, path) => {
                if self.call(who, "PreToolUse", path, id) {
                    let file = self.play.work.join(PATHS[path]);
                    drop(fs::create_dir_all(file.parent().unwrap()));
                    drop(fs::write(&file, format!("{id}")));
                    self.call(who, "PostToolUse", path, id);
                }
            }
            Step::Refused(who, path) => {
                self.call(who, "PreToolUse", path, id);
                self.call(who, "PostToolUseFailure", path, id);
            }
            Step::Spawn(who) => {
                let more = serde_json::json!({
                    "tool_name": "Agent", "tool_input": {}, "tool_use_id": format!("t{id}"),
                });
                self.fire(who, "PreToolUse", more);
            }
            Step::End(who) => {
                let (pid, session) = WHO[who];
                let event = if pid == session { "SessionEnd" } else { "SubagentStop" };
                self.fire(who, event, serde_json::json!({}));
            }
            Step::Stop(who) => {
                self.fire(who, "Stop", serde_json::json!({}));
            }
            Step::Released(who) => self.release(&Pid::new(WHO[who].0).unwrap()),
            Step::Killed(who, path) => {
                fault::arm();
                self.call(who, "PreToolUse", path, id);
                self.died |= fault::disarm() == fault::Struck::Yes;
            }
            Step::KilledAtEnd(who) => {
                fault::arm();
                let (pid, session) = WHO[who];
                let event = if pid == session { "SessionEnd" } else { "SubagentStop" };
                self.fire(who, event, serde_json::json!({}));
                self.died |= fault::disarm() == fault::Struck::Yes;
            }
            Step::Silent(who) => {
                let beat = self.play.home.beat(&Pid::new(WHO[who].0).unwrap());
                drop(fs::write(&beat, ".\n"));
                let then = SystemTime::now() - Duration::from_secs(LEASE + 60);
                if let Ok(file) = File::options().write(true).open(&beat) {
                    file.set_times(FileTimes::new().set_modified(then)).unwrap();
                }
            }
        }
    }

    /// What the operator does to a process's lanes.
    fn release(&self, pid: &Pid) {
        let mut kernel = self.play.kernel();
        let released = kernel.transact(|tx| {
            for lane in tx.lanes_of(pid)? {
                tx.drop_lane(&lane.path)?;
                let target = Some(lane.path.to_string());
                tx.journal(pid, What::Release, Note { target, ..Note::default() });
            }
            Ok(())
        });
        released.unwrap();
    }

    /// Live lanes of different holders never overlap.
    fn check(&self) -> Result<(), TestCaseError> {
        let mut kernel = self.play.kernel();
        let (lanes, live) = kernel
            .look(|tx| {
                let mut registry = Registry::new(LEASE);
                let lanes: Vec<LaneRow> = tx.lanes()?;
                let mut live = Vec::new();
                for lane in &lanes {
                    if registry.is_live(tx, &lane.holder)? {
                        live.push(lane.clone());
                    }
                }
                Ok((lanes, live))
            })
            .unwrap();
        for (n, one) in live.iter().enumerate() {
            for two in live.iter().skip(n + 1) {
                let clash = one.holder != two.holder && one.path.overlaps(&two.path);
                prop_assert!(!clash, "{one:?} and {two:?}");
            }
        }
        let mut replay = Replay::default();
        for (name, parts) in log::all(&self.play.home).unwrap() {
            let pid = Pid::new(&name).unwrap();
            let head = kernel.look(|tx| tx.head(&pid)).unwrap();
            let read = crate::journal::read_all(&parts, head.as_ref(), 1);
            prop_assert!(read.flaws.is_empty(), "{name}: {:?}", read.flaws);
            // A line of a killed hook may say that something is held, never that it is free.
            let sure = read.entries.len().saturating_sub(read.unsure);
            let adds = |what| matches!(what, What::Claim | What::Confirm);
            let entries = read.entries.iter().enumerate();
            let counts = entries.filter(|(at, entry)| *at < sure || adds(entry.kind));
            counts.for_each(|(_, entry)| replay.fold(entry));
        }
        let told: Vec<(String, String)> = replay.lanes.keys().cloned().collect();
        let mut kept: Vec<(String, String)> =
            lanes.iter().map(|l| (l.path.to_string(), l.holder.to_string())).collect();
        kept.sort();
        if self.died {
            let missing: Vec<_> = kept.iter().filter(|lane| !told.contains(lane)).collect();
            prop_assert!(missing.is_empty(), "held and not on record: {missing:?}");
        } else {
            prop_assert_eq!(told, kept);
        }
        Ok(())
    }
}

fn play(steps: &[Step], folder: &Path) -> Result<(), TestCaseError> {
    // Segments so short that most runs have several.
    let play = Rehearsal::new(folder, |settings| settings.retention.journal_kilobytes = 2);
    let mut world = World { play, calls: 0, died: false };
    for step in steps {
        world.take(step);
        world.check()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_order_of_events_gives_two_holders(steps in prop::collection::vec(any_step(), 1..30)) {
        let folder = tempfile::tempdir().unwrap();
        play(&steps, folder.path())?;
    }
}
