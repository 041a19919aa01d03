//! Proofs for snapshots: what they hold, what they cost nobody, and the way back.

use std::path::PathBuf;

use super::*;
use crate::git;
use crate::policy::facts::Root;
use crate::worktree::keep::refs::{self, Back};
use crate::worktree::keep::restore::{self, Into, Layer};
use crate::worktree::keep::shelf::{self, Mode, Retention};
use crate::worktree::keep::snapshot::{self, Extra};
use crate::worktree::keep::{Bounds, Keep, Kept, Reason};

fn reason(at: u64) -> Reason {
    Reason { what: "git reset --hard".into(), by: Some("s-2".into()), owner: None, at }
}

fn root(bench: &Bench) -> Root {
    git::root_of(&bench.main).unwrap()
}

fn take(bench: &Bench, at: u64) -> Kept {
    snapshot::before(&root(bench), &reason(at), &Extra::default(), Bounds::default()).unwrap()
}

fn taken(kept: Kept) -> Keep {
    match kept {
        Kept::Ref(keep) => keep,
        Kept::Nothing | Kept::TooBig { .. } => panic!("{kept:?}"),
    }
}

#[test]
fn a_clean_tree_costs_no_snapshot() {
    let bench = Bench::new();
    assert_eq!(take(&bench, 1), Kept::Nothing);
    assert!(shelf::list(&bench.main.join(".git")).unwrap().is_empty());
}

#[test]
fn index_files_links_modes_and_odd_bytes_come_back_as_they_were() {
    let bench = Bench::new();
    git(&bench.main, &["config", "core.autocrlf", "true"]);
    write(&bench.main, "a.txt", "staged\n");
    git(&bench.main, &["add", "a.txt"]);
    write(&bench.main, "a.txt", "mixed\r\nends\n");
    write(&bench.main, "new dir/ü\"q.txt", "untracked");
    std::os::unix::fs::symlink("nowhere", bench.main.join("ln").as_path()).unwrap();
    write(&bench.main, "run.sh", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bench.main.join("run.sh").as_path(), mode).unwrap();
    std::fs::remove_file(bench.main.join("b.txt").as_path()).unwrap();
    let before = git(&bench.main, &["status", "--porcelain"]);
    let keep = taken(take(&bench, 1_800_000_000));
    assert_eq!(git(&bench.main, &["status", "--porcelain"]), before, "the tree is as it was");
    git(&bench.main, &["reset", "-q", "--hard"]);
    git(&bench.main, &["clean", "-qfd"]);
    let common = bench.main.join(".git");
    let held = restore::show(&common, &keep.name).unwrap();
    let staged = held.iter().find(|h| h.layer == Layer::Index).unwrap();
    assert_eq!(git(&bench.main, &["cat-file", "blob", &staged.blob]), "staged");
    write(&bench.main, "a.txt", "written since\n");
    let into = Into::Root(&root(&bench));
    let done = restore::restore(&common, &keep.name, &[], into, &reason(1_800_000_009)).unwrap();
    assert_eq!(done.written.len(), 4, "{done:?}");
    assert_eq!(read(&bench.main, "a.txt"), "mixed\r\nends\n");
    assert_eq!(read(&bench.main, "new dir/ü\"q.txt"), "untracked");
    let link = std::fs::read_link(bench.main.join("ln").as_path()).unwrap();
    assert_eq!(link, PathBuf::from("nowhere"));
    let replaced = taken(done.replaced);
    let held = restore::show(&common, &replaced.name).unwrap();
    assert!(
        held.iter().any(|h| git(&bench.main, &["cat-file", "blob", &h.blob]) == "written since")
    );
    let items = shelf::list(&common).unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[1].what, "git reset --hard");
    assert_eq!(items[1].root.as_deref(), Some(bench.main.to_string().as_str()));
    assert_eq!((items[1].by.as_deref(), items[1].branch.as_deref()), (Some("s-2"), Some("main")));
}

#[test]
fn an_unborn_head_and_an_open_merge_are_held_too() {
    let bench = Bench::new();
    git(&bench.main, &["switch", "-q", "-c", "x"]);
    write(&bench.main, "a.txt", "x\n");
    git(&bench.main, &["commit", "-qam", "x"]);
    git(&bench.main, &["switch", "-q", "main"]);
    write(&bench.main, "a.txt", "y\n");
    git(&bench.main, &["commit", "-qam", "y"]);
    drop(Git::new(bench.main.as_path()).ask(&["merge", "-q", "x"]).unwrap());
    write(&bench.main, "a.txt", "half resolved\n");
    let keep = taken(take(&bench, 5));
    let common = bench.main.join(".git");
    let held = restore::show(&common, &keep.name).unwrap();
    assert_eq!(git(&bench.main, &["cat-file", "blob", &held[0].blob]), "half resolved");
    let unborn = bench.top.join("unborn");
    git(&bench.top, &["init", "-q", "unborn"]);
    write(&unborn, "first.txt", "first");
    let at = git::root_of(&unborn).unwrap();
    let kept = snapshot::before(&at, &reason(5), &Extra::default(), Bounds::default()).unwrap();
    let held = restore::show(&at.common, &taken(kept).name).unwrap();
    assert_eq!(held[0].path, PathBuf::from("first.txt"));
}

#[test]
fn the_bounds_hold_and_nested_repositories_are_named() {
    let bench = Bench::new();
    write(&bench.main, "big.bin", &"x".repeat(5_000));
    let small = Bounds { bytes: 4_000, files: 10, ..Bounds::default() };
    let kept = snapshot::before(&root(&bench), &reason(1), &Extra::default(), small).unwrap();
    assert!(matches!(kept, Kept::TooBig { bytes: 5_000, files: 1 }), "{kept:?}");
    git(&bench.top, &["init", "-q", "app/nested"]);
    write(&bench.main, "nested/f", "f");
    assert_eq!(taken(take(&bench, 1)).missed, ["nested/"]);
}

#[test]
fn old_snapshots_go_and_needed_ones_stay() {
    let bench = Bench::new();
    let common = bench.main.join(".git");
    let mut names = Vec::new();
    for n in 0..4_u64 {
        write(&bench.main, "a.txt", &format!("{n}\n"));
        names.push(taken(take(&bench, 1_000_000_000 + n * 86_400)).name);
    }
    let retention = Retention { age: 2 * 86_400, count: 100, bytes: u64::MAX };
    let needed = [names[0].clone()].into();
    let now = 1_000_000_000 + 3 * 86_400 + 1;
    let gone = shelf::prune(&common, retention, &needed, now, Mode::DryRun).unwrap();
    assert_eq!(gone.iter().map(|i| &i.name).collect::<Vec<_>>(), [&names[1]]);
    assert_eq!(shelf::list(&common).unwrap().len(), 4);
    shelf::prune(&common, retention, &needed, now, Mode::Act).unwrap();
    let left: Vec<String> = shelf::list(&common).unwrap().into_iter().map(|i| i.name).collect();
    assert_eq!(left, [names[3].clone(), names[2].clone(), names[0].clone()]);
}

#[test]
fn a_branch_and_stash_entries_that_go_can_be_given_back() {
    let bench = Bench::new();
    let (common, at) = (bench.main.join(".git"), root(&bench));
    git(&bench.main, &["switch", "-q", "-c", "gone"]);
    git(&bench.main, &["commit", "-q", "--allow-empty", "-m", "only here"]);
    let tip = git(&bench.main, &["rev-parse", "HEAD"]);
    git(&bench.main, &["switch", "-q", "main"]);
    git(&bench.main, &["branch", "merged"]);
    assert_eq!(refs::branch(&at, "merged", &reason(1)).unwrap(), Kept::Nothing);
    assert_eq!(refs::branch(&at, "none", &reason(1)).unwrap(), Kept::Nothing);
    let keep = taken(refs::branch(&at, "gone", &reason(1)).unwrap());
    assert_eq!(refs::branch(&at, "gone", &reason(2)).unwrap(), Kept::Nothing, "held already");
    git(&bench.main, &["branch", "-q", "-D", "gone"]);
    git(&bench.main, &["reflog", "expire", "--expire=now", "--all"]);
    git(&bench.main, &["gc", "-q", "--prune=now"]);
    let back = refs::give_back(&common, &keep.name).unwrap();
    assert!(matches!(back.as_slice(), [Back::Given(_)]), "{back:?}");
    assert_eq!(git(&bench.main, &["rev-parse", "gone"]), tip);
    let back = refs::give_back(&common, &keep.name).unwrap();
    assert!(matches!(back.as_slice(), [Back::Same(_)]), "{back:?}");
    git(&bench.main, &["branch", "-q", "-f", "gone", "main"]);
    let back = refs::give_back(&common, &keep.name).unwrap();
    assert!(matches!(back.as_slice(), [Back::Taken(_)]), "{back:?}");

    for n in ["one", "two", "three"] {
        write(&bench.main, "a.txt", n);
        git(&bench.main, &["stash", "push", "-q", "-m", n]);
    }
    let before = git(&bench.main, &["stash", "list"]);
    let one = taken(refs::stash(&at, Some("stash@{1}"), &reason(3)).unwrap());
    let names = refs::of(&common, &one.name).unwrap();
    assert_eq!(names.len(), 1);
    assert!(names[0].title.ends_with("two"), "{names:?}");
    let rest = taken(refs::stash(&at, None, &reason(4)).unwrap());
    assert_eq!(refs::of(&common, &rest.name).unwrap().len(), 2, "the third is held already");
    git(&bench.main, &["stash", "clear"]);
    git(&bench.main, &["gc", "-q", "--prune=now"]);
    refs::give_back(&common, &rest.name).unwrap();
    refs::give_back(&common, &one.name).unwrap();
    let after = git(&bench.main, &["stash", "list"]);
    assert_eq!(after.lines().count(), before.lines().count(), "{after}");
    git(&bench.main, &["checkout", "-q", "--", "."]);
    git(&bench.main, &["stash", "pop", "-q", "stash@{2}"]);
    assert_eq!(read(&bench.main, "a.txt"), "one");
}

#[test]
fn the_shelf_is_bounded_by_bytes_and_the_last_day_stays() {
    let bench = Bench::new();
    let common = bench.main.join(".git");
    let day = 86_400;
    let mut names = Vec::new();
    let mut noise = 1_u64;
    for n in 0..4_u64 {
        // Bytes that do not shrink: the bound is about the disk.
        let text: String = (0..40_000)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b'a' + u8::try_from((noise >> 40) % 26).unwrap())
            })
            .collect();
        write(&bench.main, "a.txt", &text);
        names.push(taken(take(&bench, 1_000_000_000 + n * day)).name);
    }
    let retention = Retention { age: 100 * day, count: 100, bytes: 60_000 };
    let now = 1_000_000_000 + 3 * day + 1;
    let gone = shelf::prune(&common, retention, &[].into(), now, Mode::DryRun).unwrap();
    let gone: Vec<&String> = gone.iter().map(|i| &i.name).collect();
    assert_eq!(gone, [&names[1], &names[0]]);
    let tight = Retention { bytes: 0, ..retention };
    let gone = shelf::prune(&common, tight, &[].into(), now, Mode::Act).unwrap();
    assert_eq!(gone.len(), 3, "the youngest is of the last day");
    assert_eq!(shelf::list(&common).unwrap().len(), 1);
}

#[test]
fn a_file_only_its_owner_may_read_comes_back_so() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    write(&bench.main, ".env", "SECRET=1\n");
    let secret = bench.main.join(".env");
    std::fs::set_permissions(secret.as_path(), PermissionsExt::from_mode(0o600)).unwrap();
    let ignored = vec![PathBuf::from(".env")];
    let extra = Extra { ignored, ..Extra::default() };
    let kept = snapshot::before(&root(&bench), &reason(1), &extra, Bounds::default()).unwrap();
    std::fs::remove_file(secret.as_path()).unwrap();
    let (common, name) = (bench.main.join(".git"), taken(kept).name);
    let into = Into::Root(&root(&bench));
    drop(restore::restore(&common, &name, &[], into, &reason(2)).unwrap());
    let mode = std::fs::metadata(secret.as_path()).unwrap().permissions().mode() & 0o777;
    assert_eq!((read(&bench.main, ".env").as_str(), mode), ("SECRET=1\n", 0o600));
}

#[test]
fn a_detached_commit_is_held_before_git_takes_its_tree_away() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    let at = git::root_of(&row.path).unwrap();
    assert_eq!(snapshot::unreached(&at, &reason(1)).unwrap(), None);
    git(&row.path, &["checkout", "-q", "--detach"]);
    git(&row.path, &["commit", "-q", "--allow-empty", "-m", "loose"]);
    let tip = git(&row.path, &["rev-parse", "HEAD"]);
    let keep = snapshot::unreached(&at, &reason(1)).unwrap().unwrap();
    git(&bench.main, &["worktree", "remove", "--force", &row.path.to_string()]);
    git(&bench.main, &["gc", "-q", "--prune=now"]);
    assert_eq!(git(&bench.main, &["rev-parse", &format!("{}^", keep.commit)]), tip);
}
