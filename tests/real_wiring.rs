//! The wiring in the real client, old and new: a hook that is missing, dies or hangs lets no
//! writing tool through and traps no session; uninstalling frees a live one.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::support::client::{Client, Pin};
use crate::support::machine::Machine;
use crate::support::office::{Office, on_every_client};
use crate::support::script::{bash, edit, gate, read, script, write};

/// What stands in the binary's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    Missing,
    Panicking,
    Signalled,
    Hanging,
}

impl Broken {
    fn put(self, machine: &Machine) {
        let script = match self {
            Self::Missing => None,
            Self::Panicking => Some("#!/bin/sh\necho 'thread main panicked' >&2\nexit 101\n"),
            Self::Signalled => Some("#!/bin/sh\nkill -SEGV $$\n"),
            Self::Hanging => Some("#!/bin/sh\nexec sleep 600\n"),
        };
        for entry in fs::read_dir(machine.programs()).unwrap().flatten() {
            fs::remove_file(entry.path()).unwrap();
            if let Some(text) = script {
                fs::write(entry.path(), text).unwrap();
                fs::set_permissions(entry.path(), Permissions::from_mode(0o755)).unwrap();
            }
        }
    }
}

#[test]
fn a_missing_binary_stops_every_writing_tool_and_no_session() {
    on_every_client(|client| blocked(client, Broken::Missing));
}

#[test]
fn a_dying_binary_stops_every_writing_tool_and_no_session() {
    on_every_client(|client| blocked(client, Broken::Panicking));
    on_every_client(|client| blocked(client, Broken::Signalled));
}

/// The oldest client runs the tool when a hook outlives its time; the newest one blocks it.
#[test]
fn a_hanging_program_in_its_place_stops_every_writing_tool() {
    if let Some(client) = Client::pinned(Pin::Newest) {
        blocked(&client, Broken::Hanging);
    }
}

fn blocked(client: &Client, broken: Broken) {
    let office = Office::open(client, |repo| {
        let a = repo.at("a.txt");
        vec![script(
            "work",
            [
                vec![read(&a)],
                vec![write(&a, "written\n")],
                vec![edit(&a, "a", "edited")],
                vec![bash("echo shell > a.txt")],
            ],
        )]
    });
    broken.put(&office.machine);
    if broken == Broken::Hanging {
        impatient(&office);
    }
    office.finished("work");
    let heard = office.api.heard("work");
    for refused in 1..=3 {
        heard.refused(refused, &[]);
    }
    assert!(heard.requests() <= 6, "the session was kept going: {} requests", heard.requests());
    assert_eq!(office.repo.content("a.txt").unwrap(), "a\n", "{broken:?}");
}

/// Nobody waits half a minute for each hook of a test.
fn impatient(office: &Office) {
    let text = fs::read_to_string(office.settings()).unwrap();
    let hurried = text.replace("\"timeout\": 30", "\"timeout\": 2");
    let hurried = hurried.replace("\"timeout\": 20", "\"timeout\": 1");
    assert_ne!(hurried, text, "the wiring has other time limits now");
    fs::write(office.settings(), hurried).unwrap();
}

#[test]
fn a_locked_table_is_a_denial_and_not_a_hang() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = repo.at("a.txt");
            vec![
                script(
                    "first",
                    [vec![read(&a)], vec![write(&a, "by the first\n")], vec![gate("end")]],
                ),
                script("second", [vec![read(&a)], vec![write(&a, "by the second\n")]]),
            ]
        });
        let first = office.session("first");
        office.api.reached("end");
        let lock = File::create(office.machine.kernel().join("table.lock")).unwrap();
        lock.lock().unwrap();
        office.finished("second");
        office.api.heard("second").refused(1, &["octo: denied [gate."]);
        assert_eq!(office.repo.content("a.txt").unwrap(), "by the first\n");
        drop(lock);
        office.api.open("end");
        first.finish().well();
    });
}

#[test]
fn uninstalling_frees_a_live_session_and_restores_the_settings() {
    on_every_client(|client| {
        let machine = Machine::gates_only();
        let settings = "{\n    \"env\": { \"A\": \"1\" },\n\n    \"permissions\": { \"deny\": [\"WebFetch\"] }\n}\n";
        let path = machine.home.join(".claude/settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, settings).unwrap();
        let office = Office::on(machine, client, |repo| {
            let a = repo.at("a.txt");
            vec![script(
                "live",
                [
                    vec![read(&a)],
                    vec![write(&a, "before\n")],
                    vec![gate("uninstalled"), edit(&a, "before", "after")],
                    vec![bash("echo shell >> a.txt")],
                ],
            )]
        });
        assert_ne!(fs::read_to_string(office.settings()).unwrap(), settings);
        let live = office.session("live");
        office.api.reached("uninstalled");
        let gone = office.machine.operator(&["uninstall", "--scope", "user"]);
        assert_eq!(gone.code, Some(0), "{gone:?}");
        assert_eq!(fs::read_to_string(office.settings()).unwrap(), settings);
        office.api.open("uninstalled");
        live.finish().well();
        for call in 0..4 {
            office.api.heard("live").ran(call);
        }
        assert_eq!(office.repo.content("a.txt").unwrap(), "after\nshell\n");
    });
}
