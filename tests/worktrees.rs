//! A session's tree through the real binary: the first write that is sent away, the client's own
//! worktrees, what is held before a loss, and the commands a person types.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::repo::Repo;
use crate::support::yard::{Yard, reason};

#[test]
fn a_newcomers_first_write_is_sent_to_a_tree_of_its_own() {
    let place = Yard::new();
    let first = place.session("first");
    first.holds(&place.repo.at("a.txt"), "first's\n");
    let second = place.session("second");
    let said = reason(&second.write(&place.repo.at("lib/c.rs"), "second's\n"));
    let tree = place.tree("second");
    assert!(said.contains(tree.join("lib/c.rs").to_str().unwrap()), "{said}");
    assert_eq!(fs::read_to_string(tree.join("lib/c.rs")).unwrap(), "c\n");
    // It works there, and the shared checkout is read-only for it from now on.
    let there = place.machine.session("second", &tree);
    assert!(!there.write(&tree.join("lib/c.rs"), "second's\n").denied());
    assert!(second.write(&place.repo.at("b.txt"), "x").denied());
    there.bash("git add -A && git commit -qm 'second'").well();
    // The first never noticed.
    assert!(!first.write(&place.repo.at("a.txt"), "first's again\n").denied());
    // The work comes home past the first's own, and is refused where it meets it.
    let home = place.octo(&tree, &["save"]);
    assert_eq!(home.code, Some(0), "{home:?}");
    assert_eq!(place.repo.content("lib/c.rs").unwrap(), "second's\n");
    assert_eq!(place.repo.content("a.txt").unwrap(), "first's again\n");
    assert!(!there.write(&tree.join("a.txt"), "clash\n").denied());
    let home = place.octo(&tree, &["save"]);
    assert_eq!(home.code, Some(1), "{home:?}");
    assert!(home.stderr.contains("first"), "{home:?}");
    let list = place.octo(&place.repo.root, &["worktree", "list"]);
    assert!(list.stdout.contains("second") && list.stderr.contains("octo save second"), "{list:?}");
}

#[test]
fn the_brain_stays_read_only_for_whoever_was_sent_away_while_anybody_lives_anywhere() {
    let place = Yard::new();
    let first = place.session("first");
    first.holds(&place.repo.at("a.txt"), "first's\n");
    let brain = place.machine.home.join(".claude");
    fs::create_dir_all(&brain).unwrap();
    let files = [("CLAUDE.md", "rules\n"), (".gitignore", "*\n!CLAUDE.md\n")];
    let brain = Repo::make(&brain, &place.machine.home, &files);
    let second = place.machine.session("second", &brain.root);
    for rule in ["shared.fork", "shared.readonly", "shared.readonly"] {
        let said = reason(&second.write(&brain.at("CLAUDE.md"), "mine\n"));
        assert!(said.contains(rule) && said.contains("/.octorato/dim/second"), "{said}");
    }
    let bash = json!({ "command": "echo mine > CLAUDE.md" });
    assert!(second.ask("Bash", &bash).denied());
    first.end();
    assert!(!second.write(&brain.at("CLAUDE.md"), "mine\n").denied());
}

#[test]
fn a_session_that_only_asks_costs_no_tree_and_eight_that_write_get_eight() {
    let place = Yard::new();
    place.session("first").holds(&place.repo.at("a.txt"), "first's\n");
    let reader = place.session("reader");
    assert!(!reader.ask("Read", &json!({ "file_path": place.repo.at("a.txt") })).denied());
    reader.bash("git status; cat a.txt").well();
    assert!(!place.tree("reader").exists());
    let paths: BTreeSet<PathBuf> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|n| {
                let place = &place;
                scope.spawn(move || {
                    let id = format!("s{n}-eight");
                    let session = place.session(&id);
                    reason(&session.write(&place.repo.at("b.txt"), "x\n"));
                    let tree = place.tree(&id);
                    assert!(tree.join("b.txt").exists());
                    tree
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(paths.len(), 8);
    assert_eq!(place.repo.git(&["worktree", "list"]).lines().count(), 9);
}

#[test]
fn m97_the_clients_own_worktrees_are_made_and_laid_to_rest() {
    let place = Yard::new();
    let session = place.session("s-1");
    let made = session.fire("WorktreeCreate", json!({ "name": "lane1" }));
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(made.stdout, format!("{}\n", place.tree("s-1").display()));
    let agent = session.fire("WorktreeCreate", json!({ "name": "agent-a1" }));
    assert_eq!(agent.stdout, format!("{}\n", place.tree("s-1.agent-a1").display()));
    let again = session.fire("WorktreeCreate", json!({ "name": "lane1" }));
    assert_eq!(again.stdout, made.stdout);
    // A failure aborts the spawn with its reason and leaves nothing.
    let nowhere = place.machine.session("s-2", &place.machine.home);
    let failed = nowhere.fire("WorktreeCreate", json!({ "name": "lane1" }));
    assert_ne!(failed.code, Some(0));
    assert!(failed.stdout.is_empty() && failed.stderr.contains("not in a git repository"));
    // M130: an unknown path is nobody's error; one with work is kept.
    let gone = session.fire("WorktreeRemove", json!({ "worktree_path": "/no/such/place" }));
    assert_eq!(gone.code, Some(0));
    fs::write(place.tree("s-1.agent-a1").join("new.txt"), "work").unwrap();
    let path = place.tree("s-1.agent-a1");
    let kept = session.fire("WorktreeRemove", json!({ "worktree_path": path }));
    assert!(kept.code == Some(0) && kept.stderr.contains("kept"), "{kept:?}");
    assert!(place.tree("s-1.agent-a1").join("new.txt").exists());
}

#[test]
fn what_a_let_through_verb_throws_away_comes_back() {
    let place = Yard::new();
    place.repo.put("a.txt", "a person's own\n");
    place.repo.put("loose.txt", "never added\n");
    let session = place.session("s-1");
    session.bash("git reset --hard -q && git clean -fdq").well();
    assert_eq!(place.repo.content("a.txt").unwrap(), "a\n");
    let list = place.octo(&place.repo.root, &["keep", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list["keeps"].as_array().unwrap().len(), 1, "{list}");
    let name = list["keeps"][0]["name"].as_str().unwrap();
    let back = place.octo(&place.repo.root, &["keep", "restore", name]);
    assert_eq!(back.code, Some(0), "{back:?}");
    assert_eq!(place.repo.content("a.txt").unwrap(), "a person's own\n");
    assert_eq!(place.repo.content("loose.txt").unwrap(), "never added\n");
    let journal = place.machine.journal("s-1");
    assert!(journal.iter().any(|line| line["restore"].as_str().is_some_and(|r| r.contains(name))));
}

#[test]
fn m160_the_command_prints_the_path_alone_and_wants_a_stable_id() {
    let place = Yard::new();
    let made = place.init("s-1");
    assert_eq!(made.stdout, format!("{}\n", place.tree("s-1").display()), "{made:?}");
    assert!(made.stderr.contains("dim/s-1 from main"), "{made:?}");
    let root = place.repo.root.to_str().unwrap();
    let after = ["worktree-init", "--session-id", "s-1", "--repo", root];
    assert_eq!(place.person("octo-dim", &place.repo.root, &after).stdout, made.stdout);
    let none = place.person("octo-dim", &place.repo.root, &["worktree-init", "--repo", root]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""));
    let sub = place.repo.at("lib");
    let words = ["--session-id", "s-2", "worktree-init", "--repo", sub.to_str().unwrap()];
    let mapped = place.person("octo-dim", &place.repo.root, &words);
    assert_eq!(mapped.stdout, format!("{}\n", place.tree("s-2").join("lib").display()));
    let there = place.octo(&place.tree("s-2"), &["scope", "lib/c.rs"]);
    assert_eq!(there.stdout, format!("{}\n", place.repo.at("lib/c.rs").display()));
    let words = ["scope", "lib/c.rs", "--physical", "--session", "s-2"];
    let back = place.octo(&place.repo.root, &words);
    assert_eq!(back.stdout, format!("{}\n", place.tree("s-2").join("lib/c.rs").display()));
}

#[test]
fn m143_m158_a_tree_follows_its_conversation() {
    let place = Yard::new();
    place.session("first").holds(&place.repo.at("a.txt"), "first's\n");
    let session = place.session("s-1");
    reason(&session.write(&place.repo.at("b.txt"), "x\n"));
    let tree = place.tree("s-1");
    let resumed = session.fire("SessionStart", json!({ "source": "resume" }));
    assert!(resumed.stdout.contains(tree.to_str().unwrap()), "{resumed:?}");
    fs::remove_dir_all(&tree).unwrap();
    let resumed = session.fire("SessionStart", json!({ "source": "resume" }));
    assert!(resumed.stdout.contains("made again"), "{resumed:?}");
    assert!(tree.join("b.txt").exists());
    fs::remove_dir_all(&tree).unwrap();
    let made = place.octo(&place.repo.root, &["worktree", "recreate", "s-1"]);
    assert_eq!(made.stdout, format!("{}\n", tree.display()), "{made:?}");
    let second = place.init("s-1");
    assert_eq!(second.stdout, format!("{}\n", tree.display()), "{second:?}");
}

#[test]
fn a_bad_day_is_told_and_the_gates_go_on() {
    let place = Yard::new();
    fs::write(place.machine.home.join(".octorato"), "in the way").unwrap();
    place.session("first").holds(&place.repo.at("a.txt"), "first's\n");
    let second = place.session("second");
    let said = second.write(&place.repo.at("b.txt"), "x\n");
    assert!(!said.denied() && said.stdout.contains("NOT isolated"), "{said:?}");
    assert!(!second.write(&place.repo.at("b.txt"), "x\n").denied());
    assert!(second.write(&place.repo.at("a.txt"), "x\n").denied());
    assert!(place.machine.journal("second").iter().any(|l| l["kind"] == "fork"));
}

#[test]
fn recover_holds_everything_and_tells_whose_it_is() {
    let place = Yard::new();
    let machine = &place.machine;
    machine.configure("isolation = \"off\"\n");
    let (one, two) = (place.session("one"), place.session("two"));
    one.holds(&place.repo.at("a.txt"), "one's\n");
    two.holds(&place.repo.at("b.txt"), "two's\n");
    // The collision, as a person's own script makes it.
    place.repo.git(&["commit", "-qam", "both in one"]);
    place.repo.put("lib/c.rs", "loose\n");
    let told = place.octo(&place.repo.root, &["recover"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        told.stdout.contains("written by one") && told.stdout.contains("one and two"),
        "{told:?}"
    );
    assert!(told.stdout.contains("uncommitted in"), "{told:?}");
    let list = place.octo(&place.repo.root, &["keep", "list"]);
    assert!(list.stdout.contains("octo recover"), "{list:?}");
}
