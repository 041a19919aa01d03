//! Rows of another machine, another boot, another pid namespace: what they hold is honoured until
//! it lapses, nobody is called dead who can't be looked up, and a boot clock that began anew
//! confuses nothing.

#![expect(clippy::disallowed_types, reason = "other machines are played in the table itself")]

use rusqlite::{Connection, params};
use serde_json::Value;

use crate::support::place::{Pair, runs};
use crate::support::reply::Verdict;

/// Where a holder may be that is not here.
const ELSEWHERE: [(&str, &str); 3] =
    [("machine", "another"), ("boot", "another"), ("namespace", "4711")];
/// A moment no clock of this test has reached.
const LATER: i64 = 90_000_000;

fn table(pair: &Pair) -> Connection {
    Connection::open(pair.place.kernel("table.sqlite")).unwrap()
}

/// Makes the holder's row one of another place, with a client that is gone here.
fn sent(pair: &Pair, column: &str, value: &str) {
    let gone = "UPDATE process SET client_pid = 4194303, client_start = 1, vouched = 1 \
                WHERE pid = 'holder'";
    assert_eq!(table(pair).execute(gone, []).unwrap(), 1);
    let away = format!("UPDATE process SET {column} = ?1 WHERE pid = 'holder'");
    if !column.is_empty() {
        assert_eq!(table(pair).execute(&away, params![value]).unwrap(), 1);
    }
}

fn state_of(pair: &Pair, pid: &str) -> String {
    let told = pair.place.machine.run("octo", &["ps", "--all", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let all = told["processes"].as_array().unwrap();
    let row = all.iter().find(|row| row["pid"] == pid).unwrap();
    row["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_that_is_gone_here_ends_the_lanes_of_this_place() {
    let pair = Pair::meet();
    sent(&pair, "", "");
    assert_eq!(pair.asked().verdict(), Verdict::Pass);
}

#[test]
fn a_holder_elsewhere_holds_until_it_lapses() {
    for (column, value) in ELSEWHERE {
        let pair = Pair::meet();
        sent(&pair, column, value);
        let said = pair.asked();
        assert!(said.denied() && said.stderr.contains("holder"), "{column}: {said:?}");
        assert_eq!(state_of(&pair, "holder"), "live", "{column}");
        // Newcomers and the tidy must not bury it.
        pair.place.session("newcomer");
        pair.place.machine.operator(&["octo-dim", "prune"]);
        pair.place.machine.operator(&["prune"]);
        assert!(pair.asked().denied(), "{column}: purged early");
        let staged = runs(&pair.other(), "git reset --hard");
        assert!(staged.denied(), "{column}: {staged:?}");
        pair.place.machine.silent_for("holder", 890);
        assert!(pair.asked().denied(), "{column}: let go before its lease");
        pair.place.machine.silent_for("holder", 901);
        assert_eq!(pair.asked().verdict(), Verdict::Pass, "{column}: held after its lease");
    }
}

#[test]
fn a_silent_holder_elsewhere_keeps_its_record_for_as_long_as_any() {
    for (column, value) in ELSEWHERE {
        let pair = Pair::meet();
        sent(&pair, column, value);
        pair.place.machine.silent_for("holder", 3_000);
        pair.place.session("newcomer");
        pair.place.machine.operator(&["prune"]);
        assert_eq!(state_of(&pair, "holder"), "silent", "{column}");
        // It comes back, and is here now.
        pair.holder().start();
        assert_eq!(state_of(&pair, "holder"), "live", "{column}");
        assert!(pair.asked().denied(), "{column}: its lane stands while nobody took it");
    }
}

#[test]
fn a_boot_clock_that_began_anew_confuses_nothing() {
    let pair = Pair::meet();
    pair.other().start();
    let all = table(&pair);
    all.execute_batch(&format!(
        "UPDATE process SET boot = 'the one before', started = started + {LATER}, seen = seen + {LATER};
         UPDATE lane SET claimed = claimed + {LATER}, written = written + {LATER};
         UPDATE custody SET since = since + {LATER};
         UPDATE presence SET since = since + {LATER};"
    ))
    .unwrap();
    let said = pair.asked();
    assert!(said.denied(), "{said:?}");
    assert!(!said.stderr.contains("9000000"), "an age from nowhere: {said:?}");
    pair.holder().holds(&pair.place.repo.at("a.txt"), "again\n");
    pair.holder().holds(&pair.place.repo.at("b.txt"), "x\n");
    assert!(pair.place.asks_for(&pair.other(), "b.txt").denied());
    let since = "SELECT max(since) FROM presence WHERE session = 'holder'";
    let since: i64 = all.query_row(since, [], |row| row.get(0)).unwrap();
    assert!(since < LATER, "its presence is still dated in a future that never comes");
    let idle = "isolation = \"off\"\nlane_idle_seconds = 60\n";
    pair.place.machine.configure(idle);
    assert!(pair.place.asks_for(&pair.other(), "b.txt").denied(), "idle by another boot's clock");
    pair.place.machine.silent_for("holder", 901);
    assert_eq!(pair.asked().verdict(), Verdict::Pass);
}
