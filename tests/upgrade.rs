//! Old and new programs on one kernel: two copies work beside each other while one is installed
//! over, tables of older schemas are brought forward, newer ones are used or refused as they say.

#![expect(clippy::disallowed_types, reason = "tables of other versions are made by hand")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rusqlite::Connection;
use serde_json::json;

use crate::support::machine::Machine;
use crate::support::reply::{Reply, Verdict};

/// A table as the first migration step made it; never edited.
const FIRST: &str = include_str!("../fixtures/schemas/step1.sql");
/// How often the two programs race while the table and the programs change under them.
const ROUNDS: usize = 60;
/// How many hooks meet an old table at once.
const CROWD: usize = 12;

fn table(machine: &Machine) -> PathBuf {
    machine.kernel().join("table.sqlite")
}

fn open(machine: &Machine) -> Connection {
    Connection::open(table(machine)).unwrap()
}

fn version(machine: &Machine) -> usize {
    open(machine).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// Everything a table is made of.
fn shape(table: &Connection) -> Vec<String> {
    let mut all = table.prepare("SELECT sql FROM sqlite_master WHERE sql NOT NULL").unwrap();
    let rows = all.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let plain = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rows: Vec<String> = rows.map(|row| plain(row.unwrap())).collect();
    rows.sort();
    rows
}

/// Puts the table's content into one of the first schema, as if no newer program had been here.
fn set_back(machine: &Machine) {
    let old = machine.kernel().join("older");
    let made = Connection::open(&old).unwrap();
    made.execute_batch(FIRST).unwrap();
    made.execute("ATTACH ?1 AS now", [table(machine).to_str().unwrap()]).unwrap();
    let names = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name <> 'meta'";
    let names: Vec<String> = {
        let mut names = made.prepare(names).unwrap();
        names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for name in names {
        let columns = "SELECT group_concat(name) FROM pragma_table_info(?1, 'main')";
        let columns: String = made.query_row(columns, [&name], |row| row.get(0)).unwrap();
        let copied = format!("INSERT INTO main.{name} SELECT {columns} FROM now.{name}");
        made.execute_batch(&copied).unwrap();
    }
    made.execute_batch("DETACH now").unwrap();
    drop(made);
    fs::rename(old, table(machine)).unwrap();
}

/// Changes the table as a program of the next schema would have, which any program with schema
/// `reader` or newer can still read.
fn set_forward(machine: &Machine, reader: usize) {
    let next = version(machine) + 1;
    let made = open(machine);
    made.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    made.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         CREATE TABLE of_the_future(k TEXT);
         ALTER TABLE lane ADD COLUMN of_the_future TEXT;
         UPDATE meta SET v = '{reader}' WHERE k = 'reader';
         PRAGMA user_version = {next};
         COMMIT;"
    ))
    .unwrap();
}

/// A copy of the program somewhere else, under its hook's name.
fn copy(machine: &Machine, folder: &str) -> String {
    let folder = machine.base().join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_octo"), folder.join("octo")).unwrap();
    symlink("octo", folder.join("octo-hook")).unwrap();
    folder.join("octo-hook").to_str().unwrap().to_owned()
}

#[test]
fn the_first_step_is_what_was_released() {
    let (old, new) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
    old.execute_batch(FIRST).unwrap();
    new.execute_batch(octo::kernel::schema::STEPS[0]).unwrap();
    assert_eq!(shape(&old), shape(&new), "a released step was edited");
}

#[test]
fn a_crowd_that_meets_an_older_table_brings_it_forward_once_with_its_lanes() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let (today, shape_today) = (version(&machine), shape(&open(&machine)));
    set_back(&machine);
    assert_eq!(version(&machine), 1);
    let write = json!({ "file_path": repo.at("a.txt"), "content": "taken" });
    thread::scope(|scope| {
        for number in 0..CROWD {
            let rival = machine.session(&format!("rival-{number}"), &repo.root);
            let write = &write;
            scope.spawn(move || {
                let Verdict::Deny(reason) = rival.ask("Write", write).verdict() else {
                    panic!("the lane was lost on the way")
                };
                assert!(reason.contains("[lane.held]") && reason.contains("holder"), "{reason}");
            });
        }
    });
    assert_eq!(version(&machine), today);
    assert_eq!(shape(&open(&machine)), shape_today);
    let whole = machine.run("octo", &["replay", "--verify"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
}

#[test]
fn a_newer_table_is_used_unless_it_asks_for_a_newer_reader() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    machine.session("holder", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let today = version(&machine);
    let write = |name| json!({ "file_path": repo.at(name), "content": "x" });
    let rival = machine.session("rival", &repo.root);
    set_forward(&machine, today);
    assert_eq!(rival.ask("Write", &write("a.txt")).rule(), "lane.held");
    assert!(!rival.ask("Write", &write("b.txt")).denied());
    assert_eq!(
        machine.session("third", &repo.root).ask("Write", &write("b.txt")).rule(),
        "lane.held"
    );
    assert_eq!(version(&machine), today + 1, "the table was set back");

    open(&machine).execute("UPDATE meta SET v = ?1", [(today + 1).to_string()]).unwrap();
    let Verdict::Deny(reason) = rival.ask("Write", &write("a.txt")).verdict() else {
        panic!("a table that could not be read let a lane go")
    };
    let needs = format!("needs octo schema {} or newer: upgrade octo", today + 1);
    assert!(reason.contains("[gate.state]") && reason.contains(&needs), "{reason}");
    let doctor = machine.operator(&["doctor"]);
    assert!(doctor.code == Some(2) && doctor.stdout.contains(&needs), "{doctor:?}");
    assert_eq!(version(&machine), today + 1, "the table was touched");
}

#[test]
fn two_programs_race_on_one_kernel_while_one_is_upgraded() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.install();
    let installed = machine.programs().join("octo-hook").to_str().unwrap().to_owned();
    let newer = copy(&machine, "newer");
    let newer_octo = Path::new(&newer).with_file_name("octo").to_str().unwrap().to_owned();
    let today = version_after_first_use(&machine, &repo.root);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let upgrades = scope.spawn(|| {
            let mut done = 0;
            while done == 0 || !over.load(Ordering::Relaxed) {
                let said = machine.operator_with(&newer_octo, &["install", "--no-check"]);
                assert_eq!(said.code, Some(0), "{said:?}");
                done += 1;
            }
        });
        for round in 0..ROUNDS {
            if round == ROUNDS / 3 {
                set_forward(&machine, today);
            }
            let path = repo.at(&format!("file-{round}"));
            let ask = |program: &str, id: &str| -> Reply {
                let session = machine.session(id, &repo.root);
                let write = json!({ "file_path": path, "content": "x" });
                let payload = session.question("Write", &write).to_string();
                machine.feed(program, &["PreToolUse"], payload.as_bytes())
            };
            let (old, new) = thread::scope(|race| {
                let old = race.spawn(|| ask(&installed, "of-the-old"));
                (ask(&newer, "of-the-new"), old.join().unwrap())
            });
            assert_ne!(old.denied(), new.denied(), "round {round}: {old:?} {new:?}");
            let loser = if old.denied() { old } else { new };
            assert_eq!(loser.rule(), "lane.held", "round {round}: {loser:?}");
        }
        over.store(true, Ordering::Relaxed);
        upgrades.join().unwrap();
    });
    for program in ["octo", &newer_octo] {
        let whole = machine.run(program, &["replay", "--verify"]);
        assert_eq!(whole.code, Some(0), "{whole:?}");
    }
}

fn version_after_first_use(machine: &Machine, root: &Path) -> usize {
    let first = machine.session("of-the-old", root).start();
    assert_eq!(first.code, Some(0), "{first:?}");
    machine.session("of-the-old", root).holds(&root.join("first"), "x");
    version(machine)
}
