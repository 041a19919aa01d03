//! Ways to harm what somebody else holds: each proved to harm without the fence, then shown to
//! leave content, index entry and HEAD alone with it. Rows live in `fixtures/fence/attacks.sh`.

use crate::support::fence::{Row, Scratch, User, whole};

/// Runs every row as `user`; what failed, and how many were tried.
fn attack(user: User) -> (Vec<String>, usize) {
    let only = std::env::var("FENCE_ONLY").ok();
    let mut failed = Vec::new();
    let mut tried = 0;
    for row in Row::all("attacks.sh") {
        let wanted = only.as_ref().is_none_or(|o| row.name.contains(o.as_str()));
        let possible = row.lacks().is_none() && (user.is_root() || !row.marked("root"));
        if !wanted || !possible {
            continue;
        }
        tried += 1;
        let mut open = Scratch::new(user);
        let before = open.work();
        let said = open.free(&row.text);
        if open.work() == before {
            let said = String::from_utf8_lossy(&said.stderr).into_owned();
            failed.push(format!("{user:?} {}: harmless without the fence\n{said}", row.name));
        }
        let mut fenced = Scratch::new(user);
        let before = fenced.work();
        let said = fenced.fenced(&row.text);
        let after = fenced.work();
        if after != before {
            let said = String::from_utf8_lossy(&said.stderr).into_owned();
            failed.push(format!("{user:?} {}: HARMED\n{before}---\n{after}{said}", row.name));
        }
        if !fenced.log().contains("granted B full") {
            failed.push(format!("{user:?} {}: no full fence\n{}", row.name, fenced.log()));
        }
    }
    (failed, tried)
}

fn all_refused(user: User) {
    if !User::all().contains(&user) {
        println!("skipped: only root can become another user");
        return;
    }
    let (failed, tried) = attack(user);
    assert!(failed.is_empty(), "{} of {tried}:\n{}", failed.len(), failed.join("\n"));
    println!("{tried} attacks");
}

#[test]
fn every_attack_harms_without_the_fence_and_none_with_it() {
    if !whole() {
        return;
    }
    all_refused(User::Me);
}

#[test]
fn an_ordinary_user_is_fenced_just_as_well() {
    if !whole() {
        return;
    }
    all_refused(User::Nobody);
}

#[test]
fn there_are_at_least_a_hundred_attacks() {
    let rows = Row::all("attacks.sh");
    let mut names: Vec<_> = rows.iter().map(|r| &r.name).collect();
    names.sort();
    names.dedup();
    assert!(names.len() >= 100 && names.len() == rows.len(), "{}", names.len());
}
