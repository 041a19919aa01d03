//! Ways around the fence that were looked for from inside: those that were closed, and those the
//! mechanism cannot close. Each gap here stands in SECURITY.md by its test's name.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use octo::fence::GitWrite;
use serde_json::json;

use crate::support::fence::{Scratch, User, raw, run, whole};

/// Runs a script of the holder's or the caller's, outside of any fence.
fn outside(scratch: &Scratch, text: &str) {
    run(scratch.command(Path::new("bash")).args(["-ec", text]));
}

#[test]
fn a_removed_working_folder_is_no_way_around() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let mut scratch = Scratch::new(user);
        let before = scratch.work();
        let inner = "exec $DRIVE $TABLE exec --as B -- bash -c";
        let text = format!(
            "mkdir src/gone && cd src/gone && rmdir ../gone && {inner} \
             'echo x > ../auth/held.txt; rm -rf ../auth; echo x > ../../notes.txt'"
        );
        scratch.free(&text);
        let after = scratch.work();
        assert_eq!(after.replace("alive: true", ""), before.replace("alive: true", ""));
    }
}

#[test]
fn a_standard_descriptor_that_is_a_folder_is_no_way_around() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let folder = || File::open(scratch.repo().join("src/auth")).unwrap();
    let text = "for n in 0 1 2; do echo x > /proc/self/fd/$n/held.txt; done";
    let mut command = scratch.fenced_command();
    command.args(["bash", "-c", text]).stdin(folder()).stdout(folder()).stderr(folder());
    command.status().unwrap();
    let held = fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap();
    assert_eq!(held, "held\nmine\n");
}

/// A linked worktree of the repository, as process B's own place.
fn linked(scratch: &Scratch) -> std::path::PathBuf {
    let (repo, tree) = (scratch.repo(), scratch.beside("t/tree"));
    outside(scratch, "git worktree add -q -b mine $T/tree");
    let common = repo.join(".git");
    scratch.table(&json!({
        "trees": [{"path": tree, "git_dir": common.join("worktrees/tree"), "common": common}],
        "roots": [{"path": repo, "git_dir": common, "common": common}],
        "holds": [{"path": repo.join("src/auth/held.txt"), "root": repo, "holder": "A"}],
        "closed": [scratch.beside("kernel"), repo],
    }));
    tree
}

fn from(tree: &Path, scratch: &Scratch, text: &str) -> bool {
    let mut fenced = scratch.fenced_command();
    fenced.args(["bash", "-ec", text]).current_dir(tree).output().unwrap().status.success()
}

#[test]
fn a_missing_hooks_folder_is_no_place_to_plant_a_hook() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let tree = linked(&scratch);
    outside(&scratch, "rm -rf .git/hooks .git/info");
    let plant = "mkdir -p $R/.git/hooks && echo true > $R/.git/hooks/pre-commit";
    assert!(!from(&tree, &scratch, plant));
    assert!(!from(
        &tree,
        &scratch,
        "mkdir -p $R/.git/info && echo '* x' > $R/.git/info/attributes"
    ));
    // Nor for a form that may write index and refs.
    let scratch = Scratch::new(User::Me);
    outside(&scratch, "rm -rf .git/hooks");
    let text = "mkdir -p .git/hooks && echo true > .git/hooks/pre-commit";
    scratch.ticket(text, GitWrite::OwnIndex);
    let said = scratch.prefix(&scratch.framed(text)).output().unwrap();
    assert!(!said.status.success());
}

#[test]
fn gap_a_branch_kept_only_in_packed_refs_moves_from_a_linked_worktree() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let tree = linked(&scratch);
    assert!(!from(&tree, &scratch, "git update-ref refs/heads/main other"), "loose: closed");
    outside(&scratch, "git pack-refs --all");
    assert!(from(&tree, &scratch, "git update-ref refs/heads/main other"));
    let held = fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap();
    assert_eq!(held, "held\nmine\n", "the content stays");
}

#[test]
fn gap_shared_objects_and_other_branches_are_open_to_a_linked_worktree() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let tree = linked(&scratch);
    assert!(from(&tree, &scratch, "git branch -qD other && rm -rf $R/.git/objects/??"));
}

#[test]
fn gap_a_git_directory_behind_a_link_can_be_swapped() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    outside(&scratch, "mv .git $T/real && ln -s $T/real .git");
    let real = scratch.beside("t/real");
    let root = json!({"path": scratch.repo(), "git_dir": real, "common": real});
    scratch.table(&json!({
        "trees": [root], "roots": [root], "closed": [scratch.beside("kernel")],
        "holds": [{"path": scratch.repo().join("src/auth/held.txt"), "root": scratch.repo(), "holder": "A"}],
    }));
    assert!(!scratch.fenced("git -c core.fsmonitor=false add -A").status.success());
    let said =
        scratch.fenced("cp -r $T/real $T/copy && rm .git && ln -s $T/copy .git && git add -A");
    assert!(said.status.success(), "{said:?}");
}

#[test]
fn gap_a_held_symbolic_link_can_be_replaced() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    outside(&scratch, "ln -s lib/a.txt alias");
    scratch.hold(&["alias"]);
    assert!(scratch.fenced("ln -sfn src alias").status.success());
    assert_eq!(fs::read_link(scratch.repo().join("alias")).unwrap(), Path::new("src"));
}

#[test]
fn gap_a_stopped_supervisor_takes_nothing_in() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let replace = "cp src/auth/held.txt $T/new && mv $T/new src/auth/held.txt";
    // The holder saves as an editor does, which takes the mount away until it is made again.
    let text = "kill -STOP $PPID; touch $T/stopped; until [ -e $T/saved ]; do sleep 0.01; done; \
                echo x > $H; s=$?; kill -CONT $PPID; exit $s";
    let mut holder = scratch.command(Path::new("bash"));
    let wait = format!("until [ -e $T/stopped ]; do sleep 0.01; done; {replace}; touch $T/saved");
    let mut holder = holder.args(["-c", &wait]).spawn().unwrap();
    let said = scratch.fenced(text);
    holder.wait().unwrap();
    assert!(said.status.success(), "{said:?}");
}

#[test]
fn gap_what_was_begun_alone_stays_without_a_fence() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let kept = fs::read_to_string(scratch.place()).unwrap();
    let mut alone: serde_json::Value = serde_json::from_str(&kept).unwrap();
    alone["alone"] = json!(true);
    scratch.table(&alone);
    let wait = "(until [ -e $T/others ]; do sleep 0.01; done; echo x > $H; touch $T/done) \
                < /dev/null > /dev/null 2>&1 &";
    assert!(scratch.fenced(wait).status.success());
    fs::write(scratch.place(), kept).unwrap();
    outside(&scratch, "touch $T/others; until [ -e $T/done ]; do sleep 0.01; done");
    assert_eq!(fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap(), "x\n");
}

#[test]
fn gap_a_hook_kept_in_the_work_tree_runs_with_the_index_open() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    outside(&scratch, "git config core.hooksPath .husky; mkdir .husky; echo own > lib/own.txt");
    outside(&scratch, "printf '#!/bin/sh\\ngit add -A\\n' > .husky/pre-commit; chmod +x .husky/*");
    outside(&scratch, "git add lib/own.txt");
    let text = "git commit -qm own";
    scratch.ticket(text, GitWrite::OwnIndex);
    let said = scratch.prefix(&scratch.framed(text)).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let mut git = Command::new("git");
    let shown = git.args(["show", "--name-only", "HEAD"]).current_dir(scratch.repo());
    let shown = shown.output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("notes.txt"), "{shown:?}");
}

#[test]
fn gap_a_cache_folder_takes_programs_that_others_run() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    outside(&scratch, "mkdir -p $HOME/.local/bin");
    assert!(scratch.fenced("echo true > $HOME/.local/bin/make").status.success());
}

#[test]
fn gap_a_command_can_hold_the_tables_lock() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    outside(&scratch, "touch $(dirname $TABLE)/table.lock");
    let said = scratch.fenced("exec 5< $(dirname $TABLE)/table.lock && flock -n 5 && echo held");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "held\n", "{said:?}");
}

#[test]
fn gap_a_daemon_outside_hands_over_its_descriptor() {
    if !whole() {
        return;
    }
    if raw().is_none() {
        println!("SKIPPED: no compiler");
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let place = scratch.beside("t/daemon");
    let mut daemon = scratch.command(raw().unwrap());
    let mut daemon = daemon
        .arg("give")
        .arg(&place)
        .arg(scratch.repo().join("src/auth/held.txt"))
        .spawn()
        .unwrap();
    for _ in 0..2000 {
        if place.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = scratch.fenced("$RAW receive $T/daemon");
    assert!(said.status.success(), "{said:?}");
    assert!(daemon.wait().unwrap().success());
    let held = fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap();
    assert!(held.starts_with("raw"), "{held}");
}

#[test]
fn gap_a_terminal_shared_with_a_shell_outside_can_be_typed_into() {
    if !whole() {
        return;
    }
    let switch = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").unwrap_or("1".into());
    if raw().is_none() || !Path::new("/usr/bin/script").exists() || switch.trim() != "1" {
        println!("SKIPPED: no compiler, no terminal, or a kernel that refuses it");
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let text = "script -qec '$DRIVE $TABLE exec --as B -- $RAW type \"typed\n\"; \
                read -r one; read -r two; echo \"got $one$two\"' $T/typescript";
    let said = scratch.free(text);
    assert!(String::from_utf8_lossy(&said.stdout).contains("got typed"), "{said:?}");
}
