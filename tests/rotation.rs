//! A journal that goes on in segments: nothing is lost between them, what is taken out of one is
//! found, what the operator let go is not missed, and any segment alone brings the lanes back.

use std::fs::{self, File, FileTimes};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::support::machine::Machine;
use crate::support::place::Place;
use crate::support::puppet::Puppet;
use crate::support::reply::Reply;

/// Refusals that fill some segments of 16 KB.
const REFUSALS: usize = 150;

struct Stage {
    place: Place,
}

impl Stage {
    /// `long` holds `a.txt` since before its journal went on in new segments.
    fn set() -> Self {
        let machine = Machine::gates_only();
        let stage = Self { place: Place::on(machine) };
        stage.segments_of(16);
        let (long, other) = (stage.long(), stage.place.session("other"));
        long.start();
        long.holds(&stage.place.repo.at("a.txt"), "by long\n");
        other.holds(&stage.place.repo.at("b.txt"), "by other\n");
        for _ in 0..REFUSALS {
            assert!(stage.place.asks_for(&long, "b.txt").denied());
        }
        assert!(stage.segments().len() >= 2, "{:?}", stage.segments());
        stage
    }

    fn segments_of(&self, kilobytes: u64) {
        self.place.machine.configure(&format!(
            "isolation = \"off\"\n[retention]\njournal_kilobytes = {kilobytes}\n"
        ));
    }

    fn long(&self) -> Puppet<'_> {
        self.place.machine.session("long", &self.place.repo.root)
    }

    fn file(&self, number: usize) -> PathBuf {
        self.place.kernel(&format!("journal/long.jsonl.{number}"))
    }

    /// The numbers of the segments that are no longer written.
    fn segments(&self) -> Vec<usize> {
        (1..100).filter(|number| self.file(*number).exists()).collect()
    }

    fn verify(&self) -> Reply {
        self.place.machine.operator(&["replay", "--verify"])
    }

    /// Makes a segment look as if it was last written so many days ago.
    fn aged(&self, number: usize, days: u64) {
        let then = SystemTime::now() - Duration::from_hours(days * 24);
        let file = File::options().write(true).open(self.file(number)).unwrap();
        file.set_times(FileTimes::new().set_modified(then)).unwrap();
    }

    fn a_stranger_is_refused(&self, when: &str) {
        let stranger = self.place.machine.session("stranger", &self.place.repo.root);
        let said = self.place.asks_for(&stranger, "a.txt");
        assert!(said.denied() && said.stderr.contains("long"), "{when}: {said:?}");
    }
}

#[test]
fn a_long_journal_reads_as_one() {
    let stage = Stage::set();
    let whole = stage.verify();
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let told = stage.place.machine.operator(&["replay", "long", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let entries = told["entries"].as_array().unwrap();
    let of = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!(of("deny"), REFUSALS);
    assert_eq!(entries[0]["kind"], "start");
    // Said again once for each segment after the first.
    assert_eq!(of("claim"), 1 + stage.segments().len());
    stage.a_stranger_is_refused("after some segments");
    for number in stage.segments() {
        let meta = fs::metadata(stage.file(number)).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
        assert_eq!(mode & 0o077, 0, "segment {number} can be read by others");
        assert!(meta.len() < 32 * 1024, "segment {number} has {} bytes", meta.len());
    }
}

#[test]
fn a_program_that_knows_no_segments_writes_on_in_the_newest() {
    let stage = Stage::set();
    let before = stage.segments();
    // As good as one that knows none: it never sees the bound.
    stage.segments_of(1 << 20);
    for _ in 0..60 {
        assert!(stage.place.asks_for(&stage.long(), "b.txt").denied());
    }
    assert_eq!(stage.segments(), before);
    assert_eq!(stage.verify().code, Some(0));
    stage.segments_of(16);
    assert!(stage.place.asks_for(&stage.long(), "b.txt").denied());
    assert_eq!(stage.segments().len(), before.len() + 1);
    assert_eq!(stage.verify().code, Some(0));
}

#[test]
fn what_is_taken_out_of_a_segment_is_found() {
    let stage = Stage::set();
    let numbers = stage.segments();
    for number in numbers {
        let file = stage.file(number);
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let damage = [
            ("edited", Some(text.replacen("lane.held", "lane.free", 1))),
            ("cut", Some(lines[..lines.len() - 1].concat())),
            ("without a line", Some([&lines[..3], &lines[4..]].concat().concat())),
            ("lengthened", Some(format!("{text}{}", lines[1]))),
            ("emptied", Some(String::new())),
            ("removed", None),
        ];
        for (what, left) in damage {
            match left {
                Some(left) => fs::write(&file, left).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let said = stage.verify();
            assert_eq!(said.code, Some(1), "segment {number} {what}: {said:?}");
            assert!(said.stdout.contains("long: line"), "segment {number} {what}: {said:?}");
            fs::write(&file, &text).unwrap();
        }
    }
    assert_eq!(stage.verify().code, Some(0), "the damage was undone");
}

#[test]
fn what_the_operator_let_go_is_not_missed_and_was_not_needed() {
    let stage = Stage::set();
    let last = *stage.segments().last().unwrap();
    stage.aged(1, 40);
    let would = stage.place.machine.operator(&["prune", "--dry-run"]);
    assert!(would.stdout.contains("would prune long segment 1,"), "{would:?}");
    assert!(!would.stdout.contains("segment 2"), "{would:?}");
    assert!(stage.file(1).exists(), "a dry run removed it");
    let done = stage.place.machine.operator(&["prune"]);
    assert!(done.stdout.contains("pruned long segment 1,"), "{done:?}");
    assert!(!stage.file(1).exists());
    let whole = stage.verify();
    assert_eq!(whole.code, Some(0), "{whole:?}");
    for number in 2..=last {
        stage.aged(number, 40);
    }
    stage.place.machine.operator(&["prune"]);
    assert!(stage.segments().is_empty());
    assert_eq!(stage.verify().code, Some(0));
    stage.a_stranger_is_refused("without its old segments");

    // The claim's own line is gone with the first segment; what the last one says again is enough.
    fs::write(stage.place.kernel("table.sqlite"), "broken").unwrap();
    let repaired = stage.place.machine.operator(&["doctor", "--repair"]);
    assert!(repaired.stderr.contains("rebuilt from"), "{repaired:?}");
    stage.a_stranger_is_refused("after a repair");
    let whole = stage.verify();
    assert_eq!(whole.code, Some(0), "what was let go is still known: {whole:?}");
    assert!(!stage.place.asks_for(&stage.long(), "a.txt").denied());
}

#[test]
fn a_repair_in_the_middle_of_a_long_journal_loses_nothing() {
    let stage = Stage::set();
    fs::remove_file(stage.place.kernel("table.sqlite")).unwrap();
    stage.place.machine.operator(&["doctor", "--repair"]);
    stage.a_stranger_is_refused("after a repair");
    assert!(stage.place.asks_for(&stage.long(), "b.txt").denied());
    let whole = stage.verify();
    assert_eq!(whole.code, Some(0), "{whole:?}");
}

#[test]
fn a_record_that_goes_takes_its_segments_along() {
    let stage = Stage::set();
    stage.long().bash("git checkout -- a.txt").well();
    stage.long().end();
    stage.place.machine.configure("isolation = \"off\"\n[retention]\ndays = 1\n");
    let would = stage.place.machine.operator(&["prune", "--dry-run"]);
    assert!(!would.stdout.contains("long"), "it ended just now: {would:?}");
    let then = SystemTime::now() - Duration::from_hours(10 * 24);
    let live = stage.place.kernel("journal/long.jsonl");
    let live = File::options().write(true).open(live).unwrap();
    live.set_times(FileTimes::new().set_modified(then)).unwrap();
    stage.place.machine.operator(&["prune"]);
    assert!(stage.segments().is_empty() && !stage.place.kernel("journal/long.jsonl").exists());
    assert_eq!(stage.verify().code, Some(0));
}
