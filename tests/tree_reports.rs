//! What others lived through with worktrees, each on a real repository that a script of
//! `fixtures/repos` builds: creation (H), git hooks and locks (I), landing and removal (J),
//! orphans (K).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::reply::Reply;
use crate::support::repo::Repo;
use crate::support::yard::Yard;

fn init_in(place: &Yard, folder: &Path, id: &str, more: &[&str]) -> Reply {
    let mut words = vec!["--session-id", id, "worktree-init", "--repo", folder.to_str().unwrap()];
    words.extend(more);
    place.person("octo-dim", folder, &words)
}

fn repo_at(place: &Yard, path: &Path) -> Repo {
    Repo::open(path, &place.machine.home)
}

fn made(reply: &Reply) -> PathBuf {
    assert_eq!(reply.code, Some(0), "{reply:?}");
    assert_eq!(reply.stdout.lines().count(), 1, "the path alone: {reply:?}");
    PathBuf::from(reply.stdout.trim())
}

#[test]
fn h_m95_m96_m99_every_base_is_head_or_a_refusal_and_nothing_stale_is_adopted() {
    let place = Yard::scripted("bases.sh");
    let folder = |name: &str| place.repo.root.with_file_name(name);
    for name in ["on-default", "on-feature", "detached", "shallow", "no-remote", "remote-branch"] {
        let tree = made(&init_in(&place, &folder(name), &format!("of-{name}"), &[]));
        let (own, main) = (repo_at(&place, &tree), repo_at(&place, &folder(name)));
        assert_eq!(own.head(), main.head(), "{name}");
        assert_eq!(own.branch(), format!("dim/of-{name}"));
        assert!(own.status().is_empty(), "{name}");
    }
    let unborn = init_in(&place, &folder("unborn"), "s-u", &[]);
    assert_eq!((unborn.code, unborn.stdout.as_str()), (Some(1), ""), "{unborn:?}");
    assert!(unborn.stderr.contains("no commit yet"), "{unborn:?}");
    let stale = repo_at(&place, &folder("stale"));
    let old = stale.git(&["rev-parse", "--short=10", "dim/s-1"]);
    let said = init_in(&place, &folder("stale"), "s-1", &[]);
    let tree = repo_at(&place, &made(&said));
    assert_eq!((tree.head(), tree.branch()), (stale.head(), "dim/s-1-2".to_owned()));
    assert!(said.stderr.contains(&old) && said.stderr.contains("left alone"), "{said:?}");
    // Asked for by name it is taken, and only while nobody has it.
    let named = made(&init_in(&place, &folder("stale"), "s-9", &["--branch", "dim/s-1"]));
    assert_eq!(repo_at(&place, &named).branch(), "dim/s-1");
    // M113: in use elsewhere, and where.
    let held = init_in(&place, &folder("stale"), "s-8", &["--branch", "main"]);
    assert_eq!(held.code, Some(1), "{held:?}");
    let holder = folder("stale");
    assert!(held.stderr.contains(holder.to_str().unwrap()), "{held:?}");
}

#[test]
fn h_m101_m104_a_session_in_a_folder_gets_its_folder_and_no_copy_of_a_copy() {
    let place = Yard::scripted("nested.sh");
    let said = init_in(&place, &place.repo.at("services/api"), "s-1", &[]);
    let here = made(&said);
    let tree = place.tree("s-1");
    assert_eq!(here, tree.join("services/api"));
    assert_eq!(fs::read_to_string(here.join("main.txt")).unwrap(), "api\n");
    for there in [".env", "config/a.local.json", ".claude/settings.local.json"] {
        assert!(tree.join(there).exists(), "{there}");
    }
    for absent in [".claude/worktrees", ".claude/inner", "node_modules"] {
        assert!(!tree.join(absent).exists(), "{absent}");
    }
    assert!(said.stderr.contains(".env") && !said.stderr.contains("SECRET"), "{said:?}");
}

#[test]
fn h_m106_m107_submodules_come_from_what_is_here_and_an_empty_one_is_named() {
    let place = Yard::scripted("submodules.sh");
    let said = init_in(&place, &place.repo.root, "s-1", &[]);
    let tree = made(&said);
    assert_eq!(fs::read_to_string(tree.join("lib/l.txt")).unwrap(), "l\n");
    assert_eq!(fs::read_to_string(tree.join("lib/deep/d.txt")).unwrap(), "d\n");
    assert!(said.stderr.contains("empty: far"), "{said:?}");
    let sub = made(&init_in(&place, &place.repo.at("lib"), "s-lib", &[]));
    assert!(sub.join("l.txt").exists() && !sub.join("a.txt").exists());
}

#[test]
fn h_m108_m109_filters_without_a_program_and_cones() {
    let place = Yard::scripted("lfs.sh");
    let said = init_in(&place, &place.repo.root, "s-1", &[]);
    let tree = made(&said);
    assert!(fs::read_to_string(tree.join("big.bin")).unwrap().starts_with("version"));
    assert!(said.stderr.contains("git-lfs"), "{said:?}");
    let place = Yard::scripted("sparse.sh");
    let tree = made(&init_in(&place, &place.repo.root, "s-1", &[]));
    assert!(tree.join("src/s.txt").exists() && !tree.join("docs").exists());
}

#[test]
fn h_m112_relative_pointers_are_a_tree_like_any_other() {
    let place = Yard::new();
    let tree = place.made("s-1");
    place.script("relative.sh", &[tree.to_str().unwrap()]);
    assert_eq!(place.made("s-1"), tree);
    fs::write(tree.join("b.txt"), "there\n").unwrap();
    let saved = place.octo(&tree, &["save"]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    assert_eq!(place.repo.content("b.txt").unwrap(), "there\n");
}

#[test]
fn h_m114_i_m121_j_m136_the_doctor_names_what_endangers_trees_here() {
    let place = Yard::scripted("virtual.sh");
    place.machine.configure("[worktree]\nlocation = \"/var/tmp/trees\"\n");
    fs::write(place.repo.at(".git/index.lock"), "").unwrap();
    let doctor = place.octo(&place.repo.root, &["doctor"]);
    for finding in ["trees.place", "git.lock", "git.manager"] {
        assert!(doctor.stdout.contains(&format!("warn {finding}")), "{finding}: {doctor:?}");
    }
    assert!(doctor.stdout.contains("it is stale"), "{doctor:?}");
    assert!(place.repo.at(".git/index.lock").exists(), "the doctor deletes nothing");
}

#[test]
fn i_m117_git_hooks_that_a_fresh_tree_lacks_are_named() {
    let place = Yard::scripted("hookspath.sh");
    let said = init_in(&place, &place.repo.root, "s-1", &[]);
    made(&said);
    assert!(said.stderr.contains("git hooks are off here"), "{said:?}");
}

#[test]
fn i_m120_eight_at_once_all_get_a_tree() {
    let place = Yard::new();
    let trees: std::collections::BTreeSet<PathBuf> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|n| {
                let place = &place;
                scope.spawn(move || place.made(&format!("s{n}-eight")))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(trees.len(), 8);
    assert_eq!(place.repo.git(&["worktree", "list"]).lines().count(), 9);
}

#[test]
fn j_m123_m127_a_sweep_by_age_keeps_what_nothing_else_has() {
    let place = Yard::new();
    let kinds = [
        ("modified", "1 changed"),
        ("untracked", "1 untracked"),
        ("detached", "no branch holds"),
        ("staged", "1 changed"),
        ("rebasing", "rebase is under way"),
    ];
    for (kind, _) in kinds {
        let tree = place.made(kind);
        place.script("unkept.sh", &[tree.to_str().unwrap(), kind]);
    }
    for kind in ["ignored", "stashed", "clean"] {
        let tree = place.made(kind);
        place.script("unkept.sh", &[tree.to_str().unwrap(), kind]);
    }
    let words = ["worktree", "reclaim", "--yes", "--abandoned"];
    let swept = place.octo(&place.repo.root, &words);
    for (kind, why) in kinds {
        let line = swept.stdout.lines().find(|line| line.starts_with(&format!("kept {kind}:")));
        assert!(line.is_some_and(|line| line.contains(why)), "{kind}: {swept:?}");
        assert!(place.tree(kind).exists(), "{kind}");
    }
    for kind in ["ignored", "stashed", "clean"] {
        assert!(!place.tree(kind).exists(), "{kind}: {swept:?}");
        assert!(swept.stdout.contains(&format!("removed {kind}; back with: ")), "{swept:?}");
    }
    assert!(place.repo.git(&["stash", "list"]).contains("dim/stashed"));
    let held = place.keeps().into_iter().any(|keep| {
        let shown = place.octo(&place.repo.root, &["keep", "show", keep["name"].as_str().unwrap()]);
        shown.stdout.contains(".env")
    });
    assert!(held, "the edited .env is gone");
}

#[test]
fn j_m126_an_end_deletes_nothing_whatever_the_session_left_before() {
    let place = Yard::new();
    let session = place.session("s-1");
    for name in ["one", "two"] {
        session.fire("WorktreeCreate", json!({ "name": name }));
    }
    let (first, second) = (place.tree("s-1"), place.tree("s-1.two"));
    let own = repo_at(&place, &second);
    for n in 0..5 {
        own.git(&["commit", "--quiet", "--allow-empty", "--message", &n.to_string()]);
    }
    let tip = own.head();
    session.fire("WorktreeRemove", json!({ "worktree_path": first }));
    session.fire("SessionEnd", json!({ "reason": "other" }));
    assert_eq!(own.head(), tip);
    assert_eq!(place.repo.git(&["rev-parse", "dim/s-1.two"]), tip);
}

#[test]
fn j_m134_m135_conflicts_and_refusing_hooks_leave_everything_as_it_was() {
    let place = Yard::new();
    let tree = place.made("s-1");
    place.script("conflict.sh", &[tree.to_str().unwrap()]);
    let main = place.repo.head();
    let said = place.octo(&tree, &["save"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    for word in ["a.txt", "the session's", "a person's", "nothing was touched", "--resolve"] {
        assert!(said.stderr.contains(word), "{word}: {said:?}");
    }
    assert_eq!(place.repo.head(), main);
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "the session's\n");
    assert_eq!(place.listed("s-1")["retry"], "octo save s-1 --resolve");

    let tree = place.made("s-2");
    place.script("refusing_hook.sh", &[]);
    fs::write(tree.join("b.txt"), "loose\n").unwrap();
    let said = place.octo(&place.repo.root, &["archive", "s-2"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("no tabs allowed"), "{said:?}");
    assert_eq!(fs::read_to_string(tree.join("b.txt")).unwrap(), "loose\n");
    let state = place.listed("s-2")["state"].as_str().unwrap().to_owned();
    assert!(state.starts_with("needs attention: auto-commit rejected"), "{state}");
    let keep = place.keeps()[0]["name"].as_str().unwrap().to_owned();
    let shown = place.octo(&place.repo.root, &["keep", "show", &keep]);
    assert!(shown.stdout.contains("b.txt"), "{shown:?}");
}

#[test]
fn j_m132_k_m143_a_session_whose_ground_is_gone_is_told_the_way_back() {
    let place = Yard::new();
    let tree = place.made("s-1");
    repo_at(&place, &tree).git(&["commit", "--quiet", "--allow-empty", "--message", "kept"]);
    let there = place.machine.session("s-1", &tree);
    there.start();
    fs::remove_dir_all(&tree).unwrap();
    let said = there.ask("Bash", &json!({ "command": "ls", "description": "step" }));
    assert!(!said.denied(), "{said:?}");
    assert!(said.context().contains("octo worktree recreate s-1"), "{said:?}");
    let made = place.octo(&place.repo.root, &["worktree", "recreate", "s-1"]);
    assert_eq!(made.stdout, format!("{}\n", tree.display()), "{made:?}");
    assert_eq!(repo_at(&place, &tree).git(&["log", "-1", "--format=%s"]), "kept");
}

#[test]
fn j_m129_k_m138_m139_locks_of_the_living_hold_and_those_of_the_dead_do_not() {
    let place = Yard::new();
    let root = place.repo.root.to_str().unwrap().to_owned();
    let me = std::process::id().to_string();
    for what in ["gone", "standing", "initializing", "alive"] {
        let tree = place.made(what);
        place.script("stranded.sh", &[&root, tree.to_str().unwrap(), what, &me]);
    }
    let alive = place.octo(&place.repo.root, &["worktree", "reclaim", "--yes", "alive"]);
    assert_eq!(alive.code, Some(1), "{alive:?}");
    assert!(alive.stdout.contains("kept alive: it is locked"), "{alive:?}");
    let swept = place.octo(&place.repo.root, &["worktree", "reclaim", "--yes"]);
    for what in ["gone", "standing", "initializing"] {
        assert!(swept.stdout.contains(&format!("removed {what}; back with")), "{what}: {swept:?}");
        assert!(!place.tree(what).exists(), "{what}");
    }
    assert_eq!(place.repo.git(&["branch", "--list", "dim/gone"]).trim(), "dim/gone");
    assert_eq!(place.repo.git(&["worktree", "list"]).lines().count(), 2);
}
