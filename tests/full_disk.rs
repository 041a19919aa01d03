//! A disk without a byte left, or one that can only be read, played on a small file system of its own: the room that was kept
//! back lets claims, denials and journals go on; when that is used up too, beside others is a
//! denial, and nobody is locked out.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::client::skip;
use crate::support::place::{Pair, bash};
use crate::support::reply::Reply;

/// What the shell that plays a full disk knows: `ask LABEL PAYLOAD` prints the hook's exit code and
/// the rule it named, `full` fills the disk to the last byte.
const WORDS: &str = r#"
ask() { octo-hook PreToolUse < "$2" > out 2> err; code=$?
        echo "$1 $code $(sed -n 's/.*octo: denied \[\([a-z.]*\)\].*/\1/p' err | head -n 1)"; }
full() { cat /dev/zero >> "$MNT/fill" 2>/dev/null || true; }
"#;

struct Stage {
    pair: Pair,
}

impl Stage {
    fn set() -> Self {
        let pair = Pair::meet();
        pair.other().start();
        assert!(pair.place.kernel("reserve").exists(), "no room is kept back");
        Self { pair }
    }

    /// Lays a payload down for the shell.
    fn payload(&self, name: &str, payload: &Value) -> String {
        let path = self.pair.place.machine.base().join(name);
        fs::write(&path, payload.to_string()).unwrap();
        path.display().to_string()
    }

    /// Plays a script with the kernel's folder alone on a file system of 64 MB; what it printed,
    /// by label. None where this machine allows no mounts.
    fn play(&self, script: &str) -> Option<BTreeMap<String, String>> {
        let machine = &self.pair.place.machine;
        let mnt = machine.base().join("mnt");
        fs::create_dir(&mnt).unwrap();
        let script = format!(
            "export MNT={mnt}; cd {base}; mount -t tmpfs -o size=64m none $MNT || exit 77
             cp -a --sparse=never {kernel} $MNT/kernel && mount --bind $MNT/kernel {kernel} || exit 77
             cd {kernel} && cd {base}
             {WORDS}\n{script}\necho end 0",
            mnt = mnt.display(),
            base = machine.base().display(),
            kernel = machine.kernel().display(),
        );
        // As root a mount namespace is enough; everybody else needs one of users too.
        let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
        for way in ways {
            let mut shell = machine.command("unshare");
            shell.args(way).args(["sh", "-c", &script]).stdin(Stdio::null());
            let Ok(ended) = shell.output().map(Reply::from) else { continue };
            let lines = ended.stdout.lines().filter_map(|line| line.split_once(' '));
            let told: BTreeMap<_, _> =
                lines.map(|(label, rest)| (label.to_owned(), rest.trim().to_owned())).collect();
            if told.contains_key("end") {
                return Some(told);
            }
            assert!(ended.code == Some(77) || ended.stdout.is_empty(), "{ended:?}");
        }
        skip("no file system can be mounted here, so no full disk can be played");
        None
    }
}

#[test]
fn the_room_kept_back_lets_everybody_go_on() {
    let stage = Stage::set();
    let place = &stage.pair.place;
    let (other, third) = (stage.pair.other(), place.session("third"));
    let held = stage.payload("held", &other.question("Write", &stage.pair.wanted()));
    let look = stage.payload("look", &other.question("Bash", &bash("ls")));
    let mine = stage.payload("mine", &other.question("Write", &place.write("b.txt")));
    let taken = stage.payload("taken", &third.question("Write", &place.write("b.txt")));
    let again = stage.payload("again", &other.question("Write", &place.write("lib/c.rs")));
    let start =
        stage.payload("start", &third.payload("SessionStart", json!({ "source": "clear" })));
    let reserve = place.kernel("reserve").display().to_string();
    let Some(told) = stage.play(&format!(
        r#"
        full; ask held {held}; ask look {look}; ask mine {mine}; ask taken {taken}
        echo "reserve $(test -e {reserve} && echo there || echo gone)"
        octo replay --verify > out 2>&1; echo "verify $?"
        echo "doctor $(octo doctor --json | grep -c kernel.reserve)"
        rm $MNT/fill; ask again {again}; octo-hook SessionStart < {start} > out 2>&1
        echo "remade $(test -e {reserve} && echo there || echo gone)"
        "#
    )) else {
        return;
    };
    let said = |label: &str| told[label].as_str();
    assert_eq!(said("held"), "2 lane.held", "{told:?}");
    assert_eq!(said("look"), "0", "{told:?}");
    assert_eq!(said("mine"), "0", "{told:?}");
    assert_eq!(said("taken"), "2 lane.held", "the claim was not recorded: {told:?}");
    assert_eq!(said("reserve"), "gone", "{told:?}");
    assert_eq!(said("verify"), "0", "{told:?}");
    assert_ne!(said("doctor"), "0", "{told:?}");
    assert_eq!(said("again"), "0", "{told:?}");
    assert_eq!(said("remade"), "there", "{told:?}");
}

/// A table that can't be written, beside one who holds and then alone. `away` takes the writing
/// away, `alone` makes the holder old.
fn nobody_is_locked_out_and_no_lane_opens(away: &str, alone: &str) {
    let stage = Stage::set();
    let place = &stage.pair.place;
    let other = stage.pair.other();
    let ask =
        |name: &str, tool: &str, input: &Value| stage.payload(name, &other.question(tool, input));
    let held = ask("held", "Write", &stage.pair.wanted());
    let look = ask("look", "Bash", &bash("ls"));
    let write = ask("write", "Write", &place.write("b.txt"));
    let delete = ask("delete", "Bash", &bash("rm lib/c.rs"));
    let at = |text: &str| {
        let folders = [
            ("{kernel}", place.machine.kernel()),
            ("{reserve}", place.kernel("reserve")),
            ("{beats}", place.kernel("beat")),
        ];
        folders.iter().fold(text.to_owned(), |text, (mark, path)| {
            text.replace(mark, &path.display().to_string())
        })
    };
    let (away, alone) = (at(away), at(alone));
    let Some(told) = stage.play(&format!(
        r"
        {away}; ask held {held}; ask look {look}
        {alone}
        ask alone-look {look}; ask alone-write {write}; ask alone-delete {delete}
        "
    )) else {
        return;
    };
    let said = |label: &str| told[label].as_str();
    assert!(said("held").starts_with("2 "), "{told:?}");
    for label in ["look", "alone-look", "alone-write", "alone-delete"] {
        assert_eq!(said(label), "0", "{label}: {told:?}");
    }
}

#[test]
fn without_any_room_nobody_is_locked_out_and_no_lane_opens() {
    nobody_is_locked_out_and_no_lane_opens(
        "rm {reserve}; full",
        "touch -d '-2000 seconds' {beats}/holder",
    );
}

#[test]
fn a_disk_that_can_only_be_read_locks_nobody_out_and_opens_no_lane() {
    nobody_is_locked_out_and_no_lane_opens(
        "mount -o remount,bind,ro {kernel}",
        "mount -o remount,bind,rw {kernel}; touch -d '-2000 seconds' {beats}/holder
         mount -o remount,bind,ro {kernel}",
    );
}
