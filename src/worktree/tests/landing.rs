//! Proofs for the way home: what lands, what waits, what conflicts, and that nothing is lost.

use super::*;
use crate::worktree::landing::landed::How;
use crate::worktree::landing::resolve::{Resolution, resolve};
use crate::worktree::landing::{Aim, Outcome, SaveRequest, Saved, save};
use crate::worktree::{Claim, State};

fn wish(by: &str) -> SaveRequest {
    SaveRequest { by: Pid::new(by).unwrap(), message: None, onto: None, aim: Aim::Land }
}

fn saved(bench: &Bench, session: &str) -> Saved {
    save(&bench.ctx(), &bench.row(session), &wish(session)).unwrap()
}

fn landed(saved: &Saved) {
    assert!(matches!(saved.outcome, Outcome::Landed { .. }), "{saved:?}");
}

fn hook(bench: &Bench, name: &str, text: &str) {
    let path = bench.main.join(".git/hooks").join(name);
    std::fs::write(path.as_path(), text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.as_path(), mode).unwrap();
}

#[test]
fn loose_work_is_committed_and_lands_in_the_checkout_without_touching_its_dirt() {
    let bench = Bench::new();
    write(&bench.main, ".env", "E=1\n");
    git(&bench.main, &["config", "core.excludesFile", "/dev/null"]);
    let row = bench.tree("s-1");
    write(&row.path, ".gitignore", "none\n");
    write(&row.path, "a.txt", "changed\n");
    write(&row.path, "new.txt", "new\n");
    write(&bench.main, "b.txt", "a person's own\n");
    let done = saved(&bench, "s-1");
    landed(&done);
    assert_eq!(read(&bench.main, "a.txt"), "changed\n");
    assert_eq!(read(&bench.main, "b.txt"), "a person's own\n");
    assert_eq!(git(&bench.main, &["show", "HEAD:b.txt"]), "b");
    let parents = git(&bench.main, &["rev-list", "--parents", "-n1", "HEAD"]);
    assert_eq!(parents.split(' ').count(), 3, "a merge of its own");
    let files = git(&bench.main, &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(files.contains("new.txt") && !files.contains(".env"), "{files}");
    assert!(matches!(bench.row("s-1").state, State::Landed { .. }));
    let again = saved(&bench, "s-1");
    assert!(matches!(again.outcome, Outcome::Already { how: How::History, .. }), "{again:?}");
}

#[test]
fn eight_sessions_save_ten_times_at_once_and_all_land() {
    let bench = Bench::new();
    let rows: Vec<TreeRow> = (0..8).map(|n| bench.tree(&format!("s{n}-x"))).collect();
    std::thread::scope(|s| {
        for row in &rows {
            let bench = &bench;
            s.spawn(move || {
                for n in 0..10 {
                    write(&row.path, &format!("{}-{n}.txt", row.id), "x\n");
                    landed(&saved(bench, &row.id));
                }
            });
        }
    });
    let files = git(&bench.main, &["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files.lines().filter(|f| f.starts_with('s') && f.contains("-x-")).count(), 80);
    assert_eq!(git(&bench.main, &["status", "--porcelain"]), "");
}

#[test]
fn m133_a_checkout_that_must_not_move_makes_the_work_wait() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    write(&row.path, "a.txt", "changed\n");
    write(&bench.main, "a.txt", "a person's own\n");
    let head = git(&bench.main, &["rev-parse", "main"]);
    let done = saved(&bench, "s-1");
    assert!(matches!(&done.outcome, Outcome::Waiting { why } if why.contains("a.txt")), "{done:?}");
    assert_eq!(git(&bench.main, &["rev-parse", "main"]), head);
    assert_eq!(read(&bench.main, "a.txt"), "a person's own\n");
    assert_eq!(git(&bench.main, &["diff", "--cached", "--name-only"]), "");
    let state = bench.row("s-1").state;
    assert!(
        matches!(&state, State::Waiting { retry, .. } if retry == "octo save s-1"),
        "{state:?}"
    );
    git(&bench.main, &["checkout", "-q", "--", "a.txt"]);
    let pid = Pid::new("s-2").unwrap();
    let claim = Claim { path: bench.main.join("a.txt"), pid: pid.clone(), session: pid };
    bench.registry.claims.lock().unwrap().push(claim);
    let done = saved(&bench, "s-1");
    assert!(matches!(&done.outcome, Outcome::Waiting { why } if why.contains("s-2")), "{done:?}");
    bench.registry.claims.lock().unwrap().clear();
    landed(&saved(&bench, "s-1"));
}

#[test]
fn m134_a_conflict_names_files_and_hunks_and_touches_nothing() {
    let mut bench = Bench::new();
    let (one, two) = (bench.tree("s-1"), bench.tree("s-2"));
    write(&one.path, "a.txt", "one\nTWO by 1\nthree\nfour\nfive\nsix\nseven\n");
    write(&two.path, "a.txt", "one\nTWO by 2\nthree\nfour\nfive\nsix\nseven\n");
    write(&two.path, "fine.txt", "fine\n");
    landed(&saved(&bench, "s-1"));
    let main = git(&bench.main, &["rev-parse", "main"]);
    let done = saved(&bench, "s-2");
    let Outcome::Conflict { target, files } = &done.outcome else { panic!("{done:?}") };
    assert_eq!((target.as_str(), files.len()), ("main", 1));
    assert_eq!(files[0].path, Path::new("a.txt"));
    assert!(files[0].hunks[0].1.contains("TWO by 1") && files[0].hunks[0].1.contains("TWO by 2"));
    assert_eq!(git(&bench.main, &["rev-parse", "main"]), main);
    assert_eq!(read(&two.path, "a.txt"), "one\nTWO by 2\nthree\nfour\nfive\nsix\nseven\n");
    assert_eq!(git(&two.path, &["status", "--porcelain"]), "");
    // Without a resolver: a tree with the merge open and a brief.
    let kept = resolve(&bench.ctx(), &bench.row("s-2"), &wish("s-2")).unwrap();
    let Resolution::Prepared { brief, .. } = kept else { panic!("{kept:?}") };
    assert!(std::fs::read_to_string(brief).unwrap().contains("TWO by 1"));
    // With one: settled, landed.
    bench.prefs.resolver = Some("git checkout --ours a.txt && git add a.txt".into());
    let kept = resolve(&bench.ctx(), &bench.row("s-2"), &wish("s-2")).unwrap();
    let Resolution::Saved(done) = kept else { panic!("{kept:?}") };
    landed(&done);
    assert_eq!(read(&bench.main, "a.txt").lines().nth(1), Some("TWO by 2"));
    assert_eq!(read(&bench.main, "fine.txt"), "fine\n");
}

#[test]
fn m135_a_refusing_hook_stops_everything_with_the_work_held() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    hook(&bench, "pre-commit", "#!/bin/sh\necho no tabs >&2\nexit 1\n");
    write(&row.path, "a.txt", "changed\n");
    git(&row.path, &["add", "a.txt"]);
    write(&row.path, "b.txt", "unstaged\n");
    let before = git(&row.path, &["status", "--porcelain"]);
    let done = saved(&bench, "s-1");
    let Outcome::Stopped { why, keep } = &done.outcome else { panic!("{done:?}") };
    assert!(why.contains("no tabs"), "{why}");
    assert_eq!(git(&row.path, &["status", "--porcelain"]), before);
    let spec = format!("{}:b.txt", keep.as_ref().unwrap().commit);
    assert_eq!(git(&row.path, &["show", &spec]), "unstaged");
    assert!(matches!(bench.row("s-1").state, State::Attention { .. }));
}

#[test]
fn what_is_under_way_or_somebody_elses_is_not_committed_over() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    write(&row.path, "a.txt", "x\n");
    let pid = Pid::new("s-2").unwrap();
    let claim = Claim { path: row.path.join("a.txt"), pid: pid.clone(), session: pid };
    bench.registry.claims.lock().unwrap().push(claim);
    let done = saved(&bench, "s-1");
    assert!(
        matches!(&done.outcome, Outcome::Stopped { why, .. } if why.contains("s-2")),
        "{done:?}"
    );
    bench.registry.claims.lock().unwrap().clear();
    git(&row.path, &["checkout", "-q", "--detach"]);
    assert!(matches!(saved(&bench, "s-1").outcome, Outcome::Stopped { .. }));
    assert_eq!(git(&row.path, &["status", "--porcelain"]), " M a.txt");
    // M131: the session's branch is the default branch itself.
    git(&bench.main, &["checkout", "-q", "--detach"]);
    git(&row.path, &["switch", "-q", "main"]);
    let done = saved(&bench, "s-1");
    assert!(matches!(&done.outcome, Outcome::Stopped { why, .. } if why.contains("itself")));
}

#[test]
fn a_target_nobody_has_checked_out_moves_alone() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    git(&bench.main, &["switch", "-q", "-c", "elsewhere"]);
    write(&row.path, "a.txt", "x\n");
    landed(&saved(&bench, "s-1"));
    assert_eq!(git(&bench.main, &["show", "main:a.txt"]), "x");
    assert_eq!(git(&bench.main, &["status", "--porcelain"]), "");
    write(&row.path, "a.txt", "y\n");
    let mut wish = wish("s-1");
    wish.onto = Some("gone".into());
    let done = save(&bench.ctx(), &bench.row("s-1"), &wish).unwrap();
    assert!(matches!(&done.outcome, Outcome::Stopped { why, .. } if why.contains("gone")));
}

#[test]
fn squashed_rebased_and_picked_work_is_known_by_its_content() {
    let bench = Bench::new();
    for how in ["squash", "rebase", "pick-later"] {
        let row = bench.tree(&format!("s-{how}"));
        for n in 0..2 {
            write(&row.path, &format!("{how}-{n}.txt"), &format!("{n}\n"));
            git(&row.path, &["add", "-A"]);
            git(&row.path, &["commit", "-qm", &format!("{how} {n}")]);
        }
        write(&bench.main, &format!("before-{how}"), "x\n");
        git(&bench.main, &["add", "-A"]);
        git(&bench.main, &["commit", "-qm", "between"]);
        let branch = row.branch.as_str();
        match how {
            "squash" => {
                git(&bench.main, &["merge", "-q", "--squash", branch]);
                git(&bench.main, &["commit", "-qm", "squashed"]);
            }
            _ => {
                git(&bench.main, &["cherry-pick", &format!("{}..{branch}", row.base)]);
            }
        }
        if how == "pick-later" {
            // The target has gone on changing the same file since.
            write(&bench.main, &format!("{how}-0.txt"), "later\n");
            git(&bench.main, &["commit", "-qam", "later"]);
        }
        let done = saved(&bench, &row.id);
        assert!(matches!(done.outcome, Outcome::Already { .. }), "{how}: {done:?}");
    }
    // Squashed, then changed again: only the patch tells.
    let row = bench.tree("s-last");
    write(&row.path, "l1.txt", "1\n");
    git(&row.path, &["add", "-A"]);
    git(&row.path, &["commit", "-qm", "l1"]);
    write(&row.path, "l2.txt", "2\n");
    git(&row.path, &["add", "-A"]);
    git(&row.path, &["commit", "-qm", "l2"]);
    git(&bench.main, &["merge", "-q", "--squash", &row.branch]);
    git(&bench.main, &["commit", "-qm", "squashed"]);
    write(&bench.main, "l1.txt", "changed since\n");
    git(&bench.main, &["commit", "-qam", "since"]);
    let done = saved(&bench, "s-last");
    assert!(matches!(done.outcome, Outcome::Already { how: How::Squashed, .. }), "{done:?}");
    // Half of it is not all of it.
    let row = bench.tree("s-half");
    for n in ["h1.txt", "h2.txt"] {
        write(&row.path, n, n);
        git(&row.path, &["add", "-A"]);
        git(&row.path, &["commit", "-qm", n]);
    }
    git(&bench.main, &["cherry-pick", &format!("{}~1", row.branch)]);
    landed(&saved(&bench, "s-half"));
}

#[test]
#[ignore = "child of killed_at_every_step: dies where it is told"]
fn child() {
    let Some(top) = child_top() else { return };
    let bench = Bench::at(&top);
    drop(save(&bench.ctx(), &bench.row("s-1"), &wish("s-1")));
}

#[test]
fn killed_at_every_step_the_next_save_lands_it() {
    for point in ["save.staged", "save.committed", "save.moved"] {
        let bench = Bench::new();
        let row = bench.tree("s-1");
        write(&row.path, "a.txt", "work\n");
        assert!(die_at("worktree::tests::landing::child", point, &bench.top), "{point}");
        let done = saved(&bench, "s-1");
        let there = matches!(done.outcome, Outcome::Landed { .. } | Outcome::Already { .. });
        assert!(there, "{point}: {done:?}");
        assert_eq!(read(&bench.main, "a.txt"), "work\n", "{point}");
        assert_eq!(git(&bench.main, &["status", "--porcelain"]), "", "{point}");
    }
}
