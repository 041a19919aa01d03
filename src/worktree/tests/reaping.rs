//! Proofs for the end of a tree: what stays and why, what goes and how it comes back.

use super::*;
use crate::git;
use crate::worktree::keep::bury::BranchFate;
use crate::worktree::keep::restore::{self, Into};
use crate::worktree::keep::{Reason, shelf};
use crate::worktree::landing::{Aim, SaveRequest, save};
use crate::worktree::reap::{Gone, Risk, reap, reclaim};
use crate::worktree::{Pin, State, User};

fn gone(bench: &Bench, id: &str, risks: &[Risk]) -> Gone {
    let by = Pid::new("operator").unwrap();
    reclaim(&bench.ctx(), &bench.row(id), &by, risks).unwrap()
}

fn kept(gone: Gone) -> String {
    match gone {
        Gone::Kept(why) => why.join("; "),
        Gone::Buried { .. } => panic!("{gone:?}"),
    }
}

fn buried(gone: Gone) -> (String, BranchFate) {
    match gone {
        Gone::Buried { restore, branch, left: None } => (restore, branch),
        Gone::Buried { .. } | Gone::Kept(_) => panic!("{gone:?}"),
    }
}

fn land(bench: &Bench, id: &str) {
    let by = Pid::new(id).unwrap();
    let wish = SaveRequest { by, message: None, onto: None, aim: Aim::Land };
    drop(save(&bench.ctx(), &bench.row(id), &wish).unwrap());
}

fn commit(row: &TreeRow, file: &str) {
    write(&row.path, file, "x\n");
    git(&row.path, &["add", file]);
    git(&row.path, &["commit", "-qm", file]);
}

#[test]
fn m123_what_holds_work_is_kept_with_its_reason() {
    let mut bench = Bench::new();
    let tree = |name: &str| bench.tree(name);
    let (modified, untracked, detached) = (tree("s-a"), tree("s-b"), tree("s-d"));
    let (staged, stashed, rebasing, ahead) = (tree("s-e"), tree("s-f"), tree("s-g"), tree("s-h"));
    write(&modified.path, "a.txt", "modified\n");
    write(&untracked.path, "untracked.txt", "u\n");
    git(&detached.path, &["checkout", "-q", "--detach"]);
    commit(&detached, "d.txt");
    write(&staged.path, "a.txt", "staged\n");
    git(&staged.path, &["add", "a.txt"]);
    write(&staged.path, "a.txt", &read(&bench.main, "a.txt"));
    write(&stashed.path, "a.txt", "stashed\n");
    git(&stashed.path, &["stash", "-q"]);
    git(&rebasing.path, &["commit", "-q", "--allow-empty", "-m", "g"]);
    drop(
        Git::new(rebasing.path.as_path())
            .env("GIT_SEQUENCE_EDITOR", "sed -i s/pick/edit/")
            .run(&["rebase", "-q", "-i", "HEAD~1"]),
    );
    commit(&ahead, "h.txt");
    bench.now += 30 * 86_400;
    let old = [Risk::Abandoned];
    assert!(kept(gone(&bench, "s-a", &old)).contains("1 changed and 0 untracked"));
    assert!(kept(gone(&bench, "s-b", &old)).contains("0 changed and 1 untracked"));
    assert!(kept(gone(&bench, "s-d", &old)).contains("no branch holds"));
    assert!(kept(gone(&bench, "s-e", &old)).contains("1 changed"));
    assert!(kept(gone(&bench, "s-g", &old)).contains("rebase is under way"));
    assert!(kept(gone(&bench, "s-h", &[])).contains("1 commits have not landed"));
    // (f) the stash is the repository's: it outlives the tree.
    let (_, branch) = buried(gone(&bench, "s-f", &old));
    assert_eq!(branch, BranchFate::Delete);
    assert!(git(&bench.main, &["stash", "list"]).contains("dim/s-f"));
    // Abandoned but clean: the folder goes, the branch stays.
    let (restore, branch) = buried(gone(&bench, "s-h", &old));
    assert_eq!((restore.as_str(), branch), ("octo worktree recreate s-h", BranchFate::Stays));
    assert!(!exists(ahead.path.as_path()));
    assert_eq!(git(&bench.main, &["show", "dim/s-h:h.txt"]), "x");
    assert_eq!(read(&bench.tree("s-h").path, "h.txt"), "x\n");
}

#[test]
fn m123c_ignored_files_of_its_own_are_held_and_come_back() {
    let bench = Bench::new();
    write(&bench.main, ".env", "E=1\n");
    write(&bench.main, ".env.local", "L=1\n");
    let row = bench.tree("s-1");
    write(&row.path, ".env.local", "L=edited\n");
    write(&row.path, "logs/run.log", "line\n");
    write(&row.path, "node_modules/m/i.js", "built");
    let (restore, _) = buried(gone(&bench, "s-1", &[]));
    let name = restore.rsplit(' ').next().unwrap();
    let held = restore::show(&row.common, name).unwrap();
    let paths: Vec<_> = held.iter().map(|h| h.path.to_str().unwrap()).collect();
    assert_eq!(paths, [".env.local", "logs/run.log"]);
    let out = bench.top.join("back");
    let reason = Reason { what: "restore".into(), by: None, owner: None, at: bench.now };
    let done = restore::restore(&row.common, name, &[], Into::Folder(&out), &reason).unwrap();
    assert_eq!(done.written.len(), 2);
    assert_eq!(read(&out, ".env.local"), "L=edited\n");
}

#[test]
fn landed_and_clean_goes_with_its_branch_and_the_ref_brings_it_back() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    commit(&row, "one.txt");
    // A commit that was amended away lives in the tree's own reflog only.
    git(&row.path, &["commit", "-q", "--amend", "-m", "amended"]);
    let lost = git(&row.path, &["rev-parse", "HEAD@{1}"]);
    land(&bench, "s-1");
    let tip = git(&row.path, &["rev-parse", "HEAD"]);
    let (restore, branch) = buried(gone(&bench, "s-1", &[]));
    assert_eq!(branch, BranchFate::Delete);
    assert_eq!(git(&bench.main, &["branch", "--list", "dim/*"]), "");
    let words: Vec<&str> = restore.split(' ').skip(1).collect();
    git(&bench.main, &words);
    assert_eq!(git(&bench.main, &["rev-parse", "dim/s-1"]), tip);
    git(&bench.main, &["reflog", "expire", "--expire=now", "--all"]);
    git(&bench.main, &["gc", "-q", "--prune=now"]);
    git(&bench.main, &["cat-file", "-e", &lost]);
}

#[test]
fn what_is_in_use_pinned_or_not_octos_stays() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    let pid = Pid::new("child").unwrap();
    let user = User { pid: pid.clone(), session: pid, since: 0 };
    bench.registry.users.lock().unwrap().push((row.path.clone(), user));
    assert!(kept(gone(&bench, "s-1", &[])).contains("child"));
    bench.registry.users.lock().unwrap().clear();
    let mut sleeper = std::process::Command::new("sleep")
        .arg("30")
        .current_dir(row.path.join("src").as_path())
        .spawn()
        .unwrap();
    assert!(kept(gone(&bench, "s-1", &[])).contains("sleep"));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let mut pinned = bench.row("s-1");
    pinned.pin = Pin::Pinned;
    bench.registry.put(&pinned).unwrap();
    assert!(kept(gone(&bench, "s-1", &[])).contains("pinned"));
    // M131: a row that names the main checkout removes nothing.
    let mut wrong = bench.row("s-1");
    wrong.pin = Pin::Loose;
    wrong.path = bench.main.clone();
    let by = Pid::new("operator").unwrap();
    let gone = reclaim(&bench.ctx(), &wrong, &by, &[Risk::Dirty, Risk::Unlanded]).unwrap();
    assert!(kept(gone).contains("something else"));
    assert!(exists(bench.main.join("a.txt").as_path()));
}

#[test]
fn m138_m139_locks_of_the_dead_do_not_strand_a_tree() {
    let bench = Bench::new();
    let (one, two) = (bench.tree("s-1"), bench.tree("s-2"));
    for row in [&one, &two] {
        let path = row.path.to_string();
        git(
            &bench.main,
            &["worktree", "lock", "--reason", "claude agent a1 (pid 999999999)", &path],
        );
    }
    std::fs::remove_dir_all(one.path.as_path()).unwrap();
    assert_eq!(buried(gone(&bench, "s-1", &[])).1, BranchFate::Stays);
    assert_eq!(git(&bench.main, &["branch", "--list", "dim/s-1"]).trim(), "dim/s-1");
    buried(gone(&bench, "s-2", &[]));
    let three = bench.tree("s-3");
    let me = format!("claude agent a1 (pid {})", std::process::id());
    git(&bench.main, &["worktree", "lock", "--reason", &me, &three.path.to_string()]);
    assert!(kept(gone(&bench, "s-3", &[])).contains("locked"));
    assert_eq!(git::worktrees(&one.common).len(), 2);
}

#[test]
fn giving_a_dirty_tree_up_leaves_its_work_on_the_branch() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    write(&row.path, "a.txt", "left\n");
    write(&row.path, "new.txt", "new\n");
    buried(gone(&bench, "s-1", &[Risk::Dirty, Risk::Unlanded]));
    assert!(!exists(row.path.as_path()));
    assert_eq!(git(&bench.main, &["show", "dim/s-1:a.txt"]), "left");
    assert_eq!(read(&bench.tree("s-1").path, "new.txt"), "new\n");
}

#[test]
fn the_reaper_takes_only_what_is_safe_and_nested_work_stays() {
    let mut bench = Bench::new();
    let (done, open, nested) = (bench.tree("s-done"), bench.tree("s-open"), bench.tree("s-nest"));
    commit(&done, "d.txt");
    land(&bench, "s-done");
    commit(&open, "o.txt");
    git(&nested.path, &["init", "-q", "inner"]);
    write(&nested.path, "inner/f", "f");
    assert!(reap(&bench.ctx(), &Pid::new("reaper").unwrap(), None).unwrap().is_empty());
    bench.now += 7_200;
    let lines = reap(&bench.ctx(), &Pid::new("reaper").unwrap(), None).unwrap();
    assert!(!exists(done.path.as_path()), "{lines:?}");
    assert!(exists(open.path.as_path()) && exists(nested.path.as_path()), "{lines:?}");
    let text = lines.join("\n");
    assert!(text.contains("s-open kept: 1 commits") && text.contains("inner/"), "{text}");
    assert!(!shelf::list(&done.common).unwrap().is_empty());
}

#[test]
#[ignore = "child of killed_at_every_step: dies where it is told"]
fn child() {
    let Some(top) = child_top() else { return };
    let bench = Bench::at(&top);
    drop(gone(&bench, "s-1", &[Risk::Unlanded]));
}

#[test]
fn killed_at_every_step_nothing_is_lost_and_the_next_call_finishes_or_undoes() {
    for point in ["bury.held", "bury.marked", "bury.renamed", "bury.deregistered", "bury.archived"]
    {
        let bench = Bench::new();
        let row = bench.tree("s-1");
        commit(&row, "c.txt");
        write(&row.path, "logs/own.log", "own\n");
        assert!(die_at("worktree::tests::reaping::child", point, &bench.top), "{point}");
        let by = Pid::new("operator").unwrap();
        reap(&bench.ctx(), &by, None).unwrap();
        if matches!(bench.row("s-1").state, State::Ready) {
            buried(gone(&bench, "s-1", &[Risk::Unlanded]));
        }
        assert!(!exists(row.path.as_path()), "{point}");
        let left = std::fs::read_dir(row.path.parent().unwrap().as_path()).unwrap().count();
        assert_eq!(left, 0, "{point}");
        assert_eq!(git::worktrees(&row.common).len(), 1, "{point}");
        assert_eq!(git(&bench.main, &["show", "dim/s-1:c.txt"]), "x", "{point}");
        let held = shelf::list(&row.common).unwrap().into_iter().any(|item| {
            let held = restore::show(&row.common, &item.name).unwrap();
            held.iter().any(|h| h.path.ends_with("own.log"))
        });
        assert!(held, "{point}");
        assert_eq!(read(&bench.tree("s-1").path, "c.txt"), "x\n", "{point}");
    }
}
