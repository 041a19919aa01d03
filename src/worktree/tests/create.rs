//! Proofs for the making of trees.

use super::*;
use crate::git::{self, Head};
use crate::worktree::apply::News;
use crate::worktree::plan::Refusal;
use crate::worktree::{State, TreeError};

fn refusal(bench: &Bench, request: &Request) -> Refusal {
    match apply::create(&bench.ctx(), request) {
        Err(TreeError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_gets_one_tree_with_its_whole_id_and_keeps_it() {
    let bench = Bench::new();
    let id = "634c7e8c-12bc-45f7-9b49-090bd838430f";
    let made = apply::create(&bench.ctx(), &bench.request(id)).unwrap();
    assert_eq!(made.news, News::New);
    assert_eq!(made.row.path, bench.places.trees.join("arm/app").join(id));
    assert_eq!(git(&made.row.path, &["symbolic-ref", "--short", "HEAD"]), format!("dim/{id}"));
    assert_eq!(git(&made.row.path, &["status", "--porcelain"]), "");
    assert_eq!(read(&made.row.path, "src/x.rs"), "fn x() {}\n");
    assert_eq!(made.row.target.as_deref(), Some("main"));
    let again = apply::create(&bench.ctx(), &bench.request(id)).unwrap();
    assert_eq!((again.news, &again.row.path), (News::Known, &made.row.path));
    let mut inside = bench.request(id);
    inside.from = made.row.path.join("src");
    assert_eq!(apply::create(&bench.ctx(), &inside).unwrap().row.path, made.row.path);
}

#[test]
fn eight_at_once_get_eight_trees() {
    let bench = Bench::new();
    let paths: std::collections::BTreeSet<String> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let bench = &bench;
                s.spawn(move || bench.tree(&format!("s{n}-abc")).path.to_string())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(paths.len(), 8);
    assert_eq!(git::worktrees(&bench.main.join(".git")).len(), 9);
}

#[test]
fn what_cannot_be_isolated_is_refused_with_its_reason() {
    let bench = Bench::new();
    let at = |path: &AbsPath| {
        let mut request = bench.request("s-1");
        request.from = path.clone();
        refusal(&bench, &request)
    };
    let plain = bench.top.join("plain");
    std::fs::create_dir(plain.as_path()).unwrap();
    assert_eq!(at(&plain), Refusal::NotARepository(plain.clone()));
    git(&bench.top, &["init", "-q", "--bare", "bare.git"]);
    assert!(matches!(at(&bench.top.join("bare.git")), Refusal::Bare(_)));
    git(&bench.top, &["init", "-q", "unborn"]);
    assert!(matches!(at(&bench.top.join("unborn")), Refusal::Unborn(_)));
    git(&bench.main, &["worktree", "add", "-q", "../hand"]);
    let hand = bench.top.join("hand");
    assert_eq!(at(&hand), Refusal::Linked { at: hand.clone(), main: bench.main.clone() });
    let mut fork = bench.request("s-1");
    fork.from = hand;
    fork.via = Via::Fork;
    assert_eq!(apply::create(&bench.ctx(), &fork).unwrap().row.main, bench.main);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    for id in ["12345", "-x", "a..b", "x.lock", &host, &format!("{host}-4711")] {
        assert!(matches!(refusal(&bench, &bench.request(id)), Refusal::Id(..)), "{id}");
    }
    let mut bench = bench;
    bench.prefs.floor = u64::MAX;
    assert!(matches!(refusal(&bench, &bench.request("s-9")), Refusal::Space { .. }));
}

#[test]
fn m95_a_branch_octo_did_not_make_is_never_adopted() {
    let bench = Bench::new();
    let old = git(&bench.main, &["rev-parse", "HEAD"]);
    git(&bench.main, &["branch", "dim/s-1"]);
    write(&bench.main, "a.txt", "newer\n");
    git(&bench.main, &["commit", "-qam", "second"]);
    let made = apply::create(&bench.ctx(), &bench.request("s-1")).unwrap();
    assert_eq!(made.row.branch, "dim/s-1-2");
    assert_eq!(read(&made.row.path, "a.txt"), "newer\n");
    assert!(made.notes.join(" ").contains(old.get(..10).unwrap()), "{:?}", made.notes);
    assert_eq!(bench.tree("s-1").path, made.row.path);
}

#[test]
fn m96_every_base_equals_head() {
    let bench = Bench::new();
    git(&bench.main, &["switch", "-q", "-c", "feature"]);
    write(&bench.main, "f.txt", "f\n");
    git(&bench.main, &["add", "f.txt"]);
    git(&bench.main, &["commit", "-qm", "f"]);
    let head = git(&bench.main, &["rev-parse", "HEAD"]);
    let row = bench.tree("on-feature");
    assert_eq!((row.base.as_str(), row.target.as_deref()), (head.as_str(), Some("feature")));
    git(&bench.main, &["checkout", "-q", "--detach"]);
    let row = bench.tree("on-detached");
    assert_eq!((row.base, row.target), (head.clone(), None));
    git(&bench.top, &["clone", "-q", "--depth=1", &format!("file://{}", bench.main), "shallow"]);
    let mut request = bench.request("on-shallow");
    request.from = bench.top.join("shallow");
    let row = apply::create(&bench.ctx(), &request).unwrap().row;
    assert_eq!(git(&row.path, &["rev-parse", "HEAD"]), head);
}

#[test]
fn a_neighbours_unpublished_commits_are_no_base() {
    let bench = Bench::new();
    git(&bench.top, &["clone", "-q", "--bare", "app", "up.git"]);
    git(&bench.main, &["remote", "add", "origin", "../up.git"]);
    git(&bench.main, &["fetch", "-q"]);
    let published = git(&bench.main, &["rev-parse", "HEAD"]);
    git(&bench.main, &["commit", "-q", "--allow-empty", "-m", "mine"]);
    let own = apply::create(&bench.ctx(), &bench.request("alone")).unwrap();
    assert_ne!(own.row.base, published);
    assert!(own.base.contains("1 ahead of and 0 behind"), "{}", own.base);
    let pid = Pid::new("other").unwrap();
    let user = User { pid: pid.clone(), session: pid, since: 1 };
    bench.registry.users.lock().unwrap().push((bench.main.clone(), user));
    let made = apply::create(&bench.ctx(), &bench.request("beside")).unwrap();
    assert_eq!((made.row.base.as_str(), made.row.target.as_deref()), (&*published, Some("main")));
    assert!(made.notes.join(" ").contains("unpublished commits of another"), "{:?}", made.notes);
}

#[test]
fn two_repositories_of_one_name_get_two_folders() {
    let bench = Bench::new();
    git(&bench.top, &["clone", "-q", "app", "elsewhere/app"]);
    let one = bench.tree("s-1");
    let mut request = bench.request("s-1");
    request.from = bench.top.join("elsewhere/app");
    let two = apply::create(&bench.ctx(), &request);
    let two = two.unwrap().row;
    assert_ne!(one.path.parent(), two.path.parent());
    assert_eq!(bench.row("s-1").common, one.common);
}

#[test]
fn m101_m104_what_the_session_needs_comes_along_and_nothing_nested() {
    let mut bench = Bench::new();
    bench.prefs.ports = 3;
    write(&bench.main, ".env", "SECRET=1\n");
    let secret = bench.main.join(".env");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(secret.as_path(), mode).unwrap();
    write(&bench.main, "config/a.local.json", "{}");
    write(&bench.main, "node_modules/m/i.js", "x");
    write(&bench.main, ".gitignore", ".env*\nnode_modules/\nlogs/\n*.local.json\n.claude/\n");
    git(&bench.main, &["commit", "-qam", "ignore"]);
    write(&bench.main, ".worktreeinclude", "config/*.local.json\n.claude/\n");
    write(&bench.main, ".claude/settings.local.json", "{}");
    git(&bench.main, &["worktree", "add", "-q", ".claude/worktrees/w9"]);
    write(&bench.main, ".claude/worktrees/w9/loose.txt", "x");
    git(&bench.top, &["init", "-q", "app/.claude/nested"]);
    write(&bench.main, ".claude/nested/deep.txt", "x");
    let mut request = bench.request("s-1");
    request.from = bench.main.join("src");
    let row = apply::create(&bench.ctx(), &request).unwrap().row;
    assert_eq!(read(&row.path, ".env"), "SECRET=1\n");
    let meta = std::fs::metadata(row.path.join(".env").as_path()).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777, 0o600);
    assert!(exists(row.path.join("config/a.local.json").as_path()));
    assert!(exists(row.path.join(".claude/settings.local.json").as_path()));
    for absent in [".claude/worktrees", ".claude/nested", "node_modules"] {
        assert!(!exists(row.path.join(absent).as_path()), "{absent}");
    }
    assert_eq!(row.place(), row.path.join("src"));
    assert!(row.notes.iter().any(|n| n.contains(".env")), "{:?}", row.notes);
    assert!(!row.notes.iter().any(|n| n.contains("SECRET")));
    let env = read(&row.path, ".env.octo");
    assert!(env.contains("OCTO_PORT_2=") && env.contains("COMPOSE_PROJECT_NAME=app-s-1"), "{env}");
    assert_eq!(git(&row.path, &["status", "--porcelain"]), "");
    let other = bench.tree("s-2");
    let (a, b) = (row.ports.unwrap(), other.ports.unwrap());
    assert!(a.first + a.count <= b.first || b.first + b.count <= a.first);
}

#[test]
fn submodules_are_filled_from_local_objects() {
    let bench = Bench::new();
    git(&bench.top, &["clone", "-q", "app", "lib"]);
    let lib = bench.top.join("lib");
    let allow = "protocol.file.allow=always";
    let add = ["-c", allow, "submodule", "--quiet", "add", lib.as_path().to_str().unwrap(), "lib"];
    git(&bench.main, &add);
    git(&bench.main, &["commit", "-qm", "sub"]);
    std::fs::rename(lib.as_path(), bench.top.join("gone").as_path()).unwrap();
    let row = bench.tree("s-1");
    assert_eq!(read(&row.path, "lib/b.txt"), "b\n");
    let url = git(&row.path.join("lib"), &["config", "remote.origin.url"]);
    assert_eq!(url, lib.to_string());
    assert_eq!(git(&row.path, &["status", "--porcelain"]), "");
    // M107: asked from inside the submodule, the tree is one of the submodule.
    let mut request = bench.request("s-sub");
    request.from = bench.main.join("lib");
    let sub = apply::create(&bench.ctx(), &request).unwrap().row;
    assert_eq!(sub.main, bench.main.join("lib"));
    assert_eq!(read(&sub.path, "b.txt"), "b\n");
}

#[test]
fn m109_a_sparse_cone_is_inherited_or_set() {
    let mut bench = Bench::new();
    write(&bench.main, "docs/d.md", "d");
    git(&bench.main, &["add", "-A"]);
    git(&bench.main, &["commit", "-qm", "docs"]);
    bench.prefs.sparse = vec!["docs".into()];
    let row = bench.tree("set");
    assert!(exists(row.path.join("docs/d.md").as_path()));
    assert!(!exists(row.path.join("src").as_path()));
    assert!(exists(bench.main.join("src/x.rs").as_path()));
    bench.prefs.sparse.clear();
    git(&bench.main, &["sparse-checkout", "set", "--cone", "src"]);
    let row = bench.tree("inherited");
    assert!(exists(row.path.join("src/x.rs").as_path()));
    assert!(!exists(row.path.join("docs").as_path()));
}

#[test]
fn m176_a_separate_git_directory_is_a_repository_like_any_other() {
    let bench = Bench::new();
    git(&bench.top, &["clone", "-q", "--separate-git-dir=store.git", "app", "apart"]);
    let mut request = bench.request("s-1");
    request.from = bench.top.join("apart");
    let row = apply::create(&bench.ctx(), &request).unwrap().row;
    assert_eq!(read(&row.path, "b.txt"), "b\n");
    assert_eq!((&row.common, &row.main), (&bench.top.join("store.git"), &request.from));
    // From inside a tree of it: the main checkout cannot be named, its repository can.
    let mut fork = bench.request("s-2");
    fork.from = row.path.clone();
    fork.via = Via::Fork;
    let second = apply::create(&bench.ctx(), &fork).unwrap().row;
    assert_eq!(read(&second.path, "b.txt"), "b\n");
    assert_eq!(second.common, row.common);
}

#[test]
fn m112_relative_pointers_are_read_like_absolute_ones() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    let root = git::root_of(&row.path).unwrap();
    write(&row.path, ".git", "gitdir: ../../../../app/.git/worktrees/s-1\n");
    write(&root.git_dir, "gitdir", "../../../../octorato/arm/app/s-1/.git\n");
    assert_eq!(git::root_of(&row.path.join("src")).unwrap(), root);
    assert_eq!(bench.tree("s-1").path, row.path);
}

#[test]
fn a_tree_handed_on_leaves_its_session_a_fresh_one() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    let other = Pid::new("s-2").unwrap();
    let adopted = crate::worktree::care::adopt(&bench.ctx(), &row.path, &other).unwrap();
    assert_eq!((adopted.session, adopted.path), (other, row.path.clone()));
    let made = apply::create(&bench.ctx(), &bench.request("s-1")).unwrap();
    assert_ne!((&made.row.path, &made.row.branch), (&row.path, &row.branch));
    assert!(made.notes.join(" ").contains("handed on to session s-2"), "{:?}", made.notes);
    assert_eq!(bench.tree("s-2").path, row.path);
    // Once the other has left the branch, it is the session's own again.
    git(&row.path, &["switch", "-q", "-c", "other-work"]);
    let common = row.common.clone();
    for own in bench.registry.rows(Some(&common)).unwrap() {
        if own.path == made.row.path {
            git(&bench.main, &["worktree", "remove", &own.path.to_string()]);
            bench.registry.forget(&own.path).unwrap();
        }
    }
    let made = apply::create(&bench.ctx(), &bench.request("s-1")).unwrap();
    assert_eq!(made.row.branch, "dim/s-1");
    assert_ne!(made.row.path, row.path);
    // Moved by hand: git and the register are told.
    let moved = bench.top.join("moved");
    std::fs::rename(made.row.path.as_path(), moved.as_path()).unwrap();
    assert_eq!(crate::worktree::care::repair(&bench.ctx(), &moved).unwrap().path, moved);
    assert_eq!(bench.tree("s-1").path, moved);
}

#[test]
fn trees_the_register_has_forgotten_are_found_and_taken_back() {
    use crate::worktree::view::{self, Sizes};
    use crate::worktree::{care, lost};
    let mut bench = Bench::new();
    write(&bench.main, ".env", "SECRET=1\n");
    git(&bench.main, &["config", "core.excludesFile", "/dev/null"]);
    write(&bench.main, ".gitignore", "logs/\n");
    git(&bench.main, &["commit", "-qam", "nothing hides .env"]);
    let uuid = "634c7e8c-12bc-45f7-9b49-090bd838430f";
    let own = bench.tree(uuid);
    let mut request = bench.request(uuid);
    request.name = Some("agent-a1".into());
    let further = apply::create(&bench.ctx(), &request).unwrap().row;
    git(&bench.main, &["worktree", "add", "-q", "../hand"]);
    std::fs::remove_file(bench.top.join("register.json").as_path()).unwrap();
    // Without a word about the repository: the places where trees lie are enough.
    let found = lost::find(&bench.ctx(), None).unwrap();
    assert_eq!(found.iter().map(|l| &l.path).collect::<Vec<_>>(), [&own.path, &further.path]);
    let views = view::all(&bench.ctx(), None, Sizes::Skipped).unwrap();
    assert_eq!(views.len(), 3, "{views:?}");
    let remedy = format!("octo worktree adopt {} --session {uuid}", own.path);
    assert_eq!(views[0].retry.as_deref(), Some(remedy.as_str()));
    assert_eq!(views[2].session, None, "the hand-made one is nobody's");
    for lost in &found {
        lost::take_back(&bench.ctx(), lost).unwrap();
    }
    assert!(lost::find(&bench.ctx(), Some(&own.common)).unwrap().is_empty());
    let back = bench.row(uuid);
    assert_eq!((&back.path, &back.branch, &back.name), (&own.path, &own.branch, &None));
    assert_eq!(bench.row(&format!("{uuid}.agent-a1")).name.as_deref(), Some("agent-a1"));
    // What was brought along stays out of every commit, also after that.
    write(&own.path, "work.txt", "work\n");
    bench.now += 1;
    let by = Pid::new(uuid).unwrap();
    let wish = crate::worktree::landing::SaveRequest {
        by,
        message: None,
        onto: None,
        aim: crate::worktree::landing::Aim::Land,
    };
    drop(crate::worktree::landing::save(&bench.ctx(), &back, &wish).unwrap());
    let files = git(&bench.main, &["ls-tree", "-r", "--name-only", "main"]);
    assert!(files.contains("work.txt") && !files.contains(".env"), "{files}");
    assert!(care::adopt(&bench.ctx(), &bench.main, &back.session).is_err());
}

#[test]
fn m141_a_full_disk_names_the_two_largest_that_could_go() {
    let mut bench = Bench::new();
    for (name, size) in [("s-small", 10), ("s-big", 900_000), ("s-mid", 300_000)] {
        let mut row = bench.tree(name);
        write(&row.path, "logs/run.log", &"x".repeat(size));
        row.state = State::Landed { commit: row.base.clone() };
        bench.registry.put(&row).unwrap();
    }
    bench.prefs.floor = u64::MAX;
    let Refusal::Space { reclaimable, .. } = refusal(&bench, &bench.request("s-new")) else {
        panic!("there is no room")
    };
    assert!(
        reclaimable[0].contains("s-big") && reclaimable[1].contains("s-mid"),
        "{reclaimable:?}"
    );
    assert_eq!(reclaimable.len(), 2);
}

#[test]
fn skip_worktree_flags_are_carried_over() {
    let bench = Bench::new();
    git(&bench.main, &["update-index", "--skip-worktree", "b.txt"]);
    write(&bench.main, "b.txt", "pinned here\n");
    let row = bench.tree("s-1");
    assert!(git(&row.path, &["ls-files", "-t", "b.txt"]).starts_with('S'));
    assert_eq!(git(&row.path, &["ls-files", "-t", "a.txt"]), "H a.txt");
}

#[test]
fn m108_lfs_without_its_program_leaves_pointers_and_a_note() {
    let bench = Bench::new();
    write(&bench.main, "big.bin", "version https://git-lfs.github.com/spec/v1\n");
    git(&bench.main, &["add", "-A"]);
    git(&bench.main, &["commit", "-qm", "pointer"]);
    write(&bench.main, ".gitattributes", "*.bin filter=lfs\n");
    git(&bench.main, &["add", ".gitattributes"]);
    git(&bench.main, &["commit", "-qm", "lfs"]);
    for (key, value) in [("smudge", "no-such-lfs smudge"), ("required", "true")] {
        git(&bench.main, &["config", &format!("filter.lfs.{key}"), value]);
    }
    let row = bench.tree("s-1");
    assert!(read(&row.path, "big.bin").starts_with("version"));
    assert!(row.notes.iter().any(|n| n.contains("git-lfs")), "{:?}", row.notes);
}

#[test]
fn m117_hooks_run_or_are_said_to_be_off() {
    let bench = Bench::new();
    let hook = bench.main.join(".git/hooks/post-checkout");
    std::fs::write(hook.as_path(), "#!/bin/sh\necho $1 $3 > hooked\nexit 3\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(hook.as_path(), mode).unwrap();
    let row = bench.tree("s-1");
    assert_eq!(read(&row.path, "hooked"), format!("{} 1\n", "0".repeat(40)));
    assert!(row.notes.iter().any(|n| n.contains("post-checkout hook failed (3)")));
    git(&bench.main, &["config", "core.hooksPath", ".husky/_"]);
    let row = bench.tree("s-2");
    assert!(row.notes.iter().any(|n| n.contains("git hooks are off here")), "{:?}", row.notes);
}

#[test]
fn m143_a_vanished_folder_is_made_again_from_its_branch() {
    let bench = Bench::new();
    let row = bench.tree("s-1");
    write(&row.path, "a.txt", "work\n");
    git(&row.path, &["commit", "-qam", "work"]);
    std::fs::remove_dir_all(row.path.as_path()).unwrap();
    let made = apply::create(&bench.ctx(), &bench.request("s-1")).unwrap();
    assert_eq!((made.news, &made.row.path), (News::Again, &row.path));
    assert_eq!(read(&row.path, "a.txt"), "work\n");
    // The branch is gone too: from HEAD, and said.
    std::fs::remove_dir_all(row.path.as_path()).unwrap();
    git(&bench.main, &["worktree", "prune"]);
    git(&bench.main, &["branch", "-q", "-D", "dim/s-1"]);
    let made = apply::create(&bench.ctx(), &bench.request("s-1")).unwrap();
    assert!(made.notes.join(" ").contains("gone too"), "{:?}", made.notes);
    // A folder that is not registered is left alone.
    git(&bench.main, &["worktree", "remove", row.path.as_path().to_str().unwrap()]);
    write(&row.path, "mine.txt", "a person's");
    let made = apply::create(&bench.ctx(), &bench.request("s-1")).unwrap();
    assert_ne!(made.row.path, row.path);
    assert_eq!(read(&row.path, "mine.txt"), "a person's");
    assert_eq!(bench.tree("s-1").path, made.row.path);
}

#[test]
fn a_failed_start_leaves_nothing() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.places.trees.as_path()).unwrap();
    std::fs::write(bench.places.trees.join("arm").as_path(), "in the way").unwrap();
    apply::create(&bench.ctx(), &bench.request("s-1")).unwrap_err();
    assert_eq!(git::worktrees(&bench.main.join(".git")).len(), 1);
    assert_eq!(git(&bench.main, &["branch", "--list", "dim/*"]), "");
    assert!(bench.registry.rows(None).unwrap().is_empty());
}

#[test]
#[ignore = "child of killed_at_every_step: dies where it is told"]
fn child() {
    let Some(top) = child_top() else { return };
    let bench = Bench::at(&top);
    bench.tree("s-1");
}

#[test]
fn killed_at_every_step_the_next_call_finishes() {
    for point in ["create.marked", "create.registered", "fill.checkout", "fill.seeded", "fill.done"]
    {
        let bench = Bench::new();
        write(&bench.main, ".env", "E=1\n");
        assert!(die_at("worktree::tests::create::child", point, &bench.top), "{point}");
        let row = bench.tree("s-1");
        assert_eq!(git(&row.path, &["status", "--porcelain"]), "", "{point}");
        assert_eq!(read(&row.path, ".env"), "E=1\n", "{point}");
        assert_eq!(git::worktrees(&row.common).len(), 2, "{point}");
        assert_eq!(bench.registry.rows(None).unwrap().len(), 1, "{point}");
    }
}

#[test]
fn an_interrupted_checkout_is_completed_around_the_sessions_own_files() {
    let bench = Bench::new();
    let mut row = bench.tree("s-1");
    write(&row.path, "a.txt", "one\ntwo\n");
    write(&row.path, "b.txt", "the session's own\n");
    std::fs::remove_file(row.path.join("src/x.rs").as_path()).unwrap();
    let root = git::root_of(&row.path).unwrap();
    std::fs::remove_file(root.git_dir.join("index").as_path()).unwrap();
    std::fs::write(root.git_dir.join("index.lock").as_path(), "").unwrap();
    row.state = State::Preparing;
    bench.registry.put(&row).unwrap();
    bench.tree("s-1");
    assert_eq!(git(&row.path, &["status", "--porcelain"]), " M b.txt");
    assert_eq!(read(&row.path, "b.txt"), "the session's own\n");
    assert_eq!(git::head_branch(&root.git_dir), Head::Branch("dim/s-1".into()));
}
