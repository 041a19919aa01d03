//! The loss test: sessions write, stage, commit, stash, reset, crash, save, archive and are
//! reclaimed in random order, and at the end every line ever written is somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::*;
use crate::git;
use crate::policy::facts::RootKind;
use crate::worktree::keep::snapshot::{self, Extra};
use crate::worktree::keep::{Bounds, Reason, refs};
use crate::worktree::landing::{Aim, SaveRequest, save};
use crate::worktree::reap::{Risk, reap, reclaim};
use crate::worktree::seed;

/// Steps of an ordinary run; `OCTO_WALK=10000` walks as far as the promise reaches.
const STEPS: u32 = 1_500;
const SESSIONS: [&str; 4] = ["w-1", "w-2", "w-3", "w-4"];
const POINTS: [&str; 12] = [
    "create.marked",
    "create.registered",
    "fill.checkout",
    "fill.seeded",
    "save.staged",
    "save.committed",
    "save.moved",
    "bury.held",
    "bury.marked",
    "bury.renamed",
    "bury.deregistered",
    "bury.archived",
];

/// A small generator with a fixed seed: a walk that fails can be walked again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

fn archive(bench: &Bench, row: &TreeRow, risks: &[Risk]) {
    let by = row.session.clone();
    let wish = SaveRequest { by: by.clone(), message: None, onto: None, aim: Aim::Land };
    if risks.is_empty() {
        drop(save(&bench.ctx(), row, &wish));
    }
    let row = bench.row(&row.id);
    drop(reclaim(&bench.ctx(), &row, &by, risks));
}

/// What a session that dies is doing: all it can do, until the point is reached.
#[test]
#[ignore = "child of the walk: dies where it is told"]
fn child() {
    let Some(top) = child_top() else { return };
    let bench = Bench::at(&top);
    let session = read(&top, "victim");
    if let Ok(made) = apply::create(&bench.ctx(), &bench.request(&session)) {
        archive(&bench, &made.row, &[]);
        archive(&bench, &made.row, &[Risk::Dirty, Risk::Unlanded]);
        drop(apply::create(&bench.ctx(), &bench.request(&session)));
    }
}

/// Appends a line no other step writes.
fn append(row: &TreeRow, dice: &mut Dice, line: &str) {
    let names = ["a.txt", "b.txt", "src/x.rs", "new.txt", "deep/er/n.txt", "logs/run.log"];
    let own = format!("own-{}.txt", row.id);
    let name = if dice.below(3) == 0 { own.as_str() } else { names[dice.below(names.len())] };
    let text = read(&row.path, name) + line + "\n";
    write(&row.path, name, &text);
}

fn destructive(bench: &Bench, row: &TreeRow, args: &[&str]) {
    let root = git::root_of(&row.path).unwrap();
    if !matches!(root.kind, RootKind::Linked { .. }) {
        return;
    }
    let reason = Reason { what: args.join(" "), by: None, owner: None, at: bench.now };
    // What the hook holds before it lets such a verb run.
    let ignored = seed::ignored_files(&root, &root.path, &[], Bounds::NONE, &|_| false).unwrap();
    let extra = Extra { ignored: ignored.files, ..Extra::default() };
    let kept = snapshot::before(&root, &reason, &extra, Bounds::NONE);
    assert!(kept.is_ok(), "{kept:?}");
    drop(refs::stash(&root, None, &reason).unwrap());
    drop(Git::new(row.path.as_path()).ask(args));
}

/// Every line in every blob that a ref reaches, and in every file of every tree.
fn lines_anywhere(bench: &Bench) -> BTreeSet<String> {
    let main = Git::new(bench.main.as_path());
    // Older entries of the stash are held by its reflog, which is what `git stash list` reads.
    let stash = main.text(&["log", "-g", "--format=%H", "refs/stash"]).unwrap_or_default();
    let mut args = vec!["rev-list", "--objects", "--all"];
    args.extend(stash.lines());
    let objects = main.text(&args).unwrap();
    let ids: String =
        objects.lines().filter_map(|l| l.split(' ').next()).flat_map(|id| [id, "\n"]).collect();
    let all = main.input(ids).run(&["cat-file", "--batch"]).unwrap().stdout;
    let mut found: BTreeSet<String> =
        String::from_utf8_lossy(&all).lines().map(str::to_owned).collect();
    let mut todo = vec![bench.places.trees.as_path().to_owned(), bench.main.as_path().to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                if entry.file_name() != ".git" {
                    todo.push(entry.path());
                }
            } else {
                found.extend(text_of(&entry.path()).lines().map(str::to_owned));
            }
        }
    }
    found
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_long_random_walk_loses_nothing() {
    let steps = std::env::var("OCTO_WALK").map_or(STEPS, |n| n.parse().unwrap());
    let mut bench = Bench::new();
    let mut dice = Dice(20_261_129);
    let mut written = Vec::new();
    let mut crashes = 0;
    let mut rows: BTreeMap<&str, TreeRow> = BTreeMap::new();
    for step in 0..steps {
        bench.now += 60;
        let session = SESSIONS[dice.below(SESSIONS.len())];
        let known = rows.get(session).filter(|r| exists(r.path.join(".git").as_path()));
        let row = known.cloned().unwrap_or_else(|| bench.tree(session));
        rows.insert(session, row.clone());
        match dice.below(2_000) {
            0..1_900 => {
                let line = format!("line {step} of {session}");
                append(&row, &mut dice, &line);
                written.push(line);
            }
            1_900..1_930 => {
                git(&row.path, &["add", "-A"]);
            }
            1_930..1_955 => {
                drop(Git::new(row.path.as_path()).ask(&["commit", "-qam", "work"]));
            }
            1_955..1_960 => destructive(&bench, &row, &["reset", "-q", "--hard"]),
            1_960..1_963 => destructive(&bench, &row, &["clean", "-fdxq"]),
            1_963..1_966 => destructive(&bench, &row, &["checkout", "-q", "--", "."]),
            1_966 => destructive(&bench, &row, &["stash", "drop", "-q"]),
            1_967 => drop(Git::new(row.path.as_path()).ask(&["stash", "-q"])),
            1_968..1_970 => {
                drop(Git::new(row.path.as_path()).ask(&["commit", "-q", "--amend", "--no-edit"]));
            }
            1_970..1_984 => {
                let by = row.session.clone();
                let wish = SaveRequest { by, message: None, onto: None, aim: Aim::Land };
                drop(save(&bench.ctx(), &row, &wish));
            }
            1_984..1_989 => archive(&bench, &row, &[]),
            1_989..1_994 => archive(&bench, &row, &[Risk::Dirty, Risk::Unlanded]),
            1_994..1_995 => {
                bench.now += 90_000;
                drop(reap(&bench.ctx(), &Pid::new("reaper").unwrap(), None));
            }
            _ => {
                write(&bench.top, "victim", session);
                let point = POINTS[dice.below(POINTS.len())];
                crashes += u32::from(die_at("worktree::tests::walk::child", point, &bench.top));
            }
        }
    }
    let found = lines_anywhere(&bench);
    let lost: Vec<&String> = written.iter().filter(|line| !found.contains(*line)).collect();
    let enough = usize::try_from(steps / 10 * 8).unwrap();
    assert!(written.len() > enough && crashes >= steps / 2_000, "{crashes} crashes");
    println!("{} lines, {crashes} crashes, {} lost", written.len(), lost.len());
    assert!(
        lost.is_empty(),
        "{} of {} lost: {:?}",
        lost.len(),
        written.len(),
        lost.iter().take(5).collect::<Vec<_>>()
    );
}
