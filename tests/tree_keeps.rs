//! Before a loss: what a call that the gates let through would throw away, each kind, and the one
//! command that brings it back.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::reply::Reply;
use crate::support::yard::Yard;

/// The one snapshot that is not among the `known` ones, which it joins.
#[track_caller]
fn newest(place: &Yard, known: &mut Vec<String>) -> String {
    let keeps = place.keeps();
    let names = keeps.iter().map(|keep| keep["name"].as_str().unwrap().to_owned());
    let fresh: Vec<String> = names.filter(|name| !known.contains(name)).collect();
    assert_eq!(fresh.len(), 1, "{keeps:#?}");
    known.extend(fresh.clone());
    fresh[0].clone()
}

#[track_caller]
fn back(place: &Yard, words: &[&str]) -> Reply {
    let words: Vec<&str> = ["keep", "restore"].iter().chain(words).copied().collect();
    let done = place.octo(&place.repo.root, &words);
    assert_eq!(done.code, Some(0), "{done:?}");
    done
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_branch_keeps_its_commits_by_whatever_verb_it_goes() {
    let place = Yard::new();
    let session = place.session("s-1");
    let mut known = Vec::new();
    for (n, verb) in
        ["git branch -D", "git update-ref -d refs/heads/", "git branch -f"].iter().enumerate()
    {
        let name = format!("b{n}");
        place.repo.branch_with(&name, &[("a.txt", &format!("only on {name}\n"))]);
        let tail = if n == 2 { " main" } else { "" };
        let space = if verb.ends_with('/') { "" } else { " " };
        session.bash(&format!("{verb}{space}{name}{tail}")).well();
        let keep = newest(&place, &mut known);
        let shown = place.octo(&place.repo.root, &["keep", "show", &keep]);
        assert!(shown.stdout.contains(&format!("branch   {name} ")), "{shown:?}");
        let done = back(&place, &[&keep]);
        if n == 2 {
            // The name is in use again: the commit is named, and a command for it.
            assert!(done.stderr.contains(&format!("git branch {name}-back ")), "{done:?}");
            continue;
        }
        assert_eq!(place.repo.git(&["show", &format!("{name}:a.txt")]), format!("only on {name}"));
    }
    // What another name still holds costs no snapshot.
    place.repo.git(&["branch", "merged"]);
    session.bash("git branch -D merged").well();
    assert_eq!(place.keeps().len(), 3);
}

#[test]
fn entries_of_the_stash_come_back_in_their_order() {
    let place = Yard::new();
    for text in ["one\n", "two\n"] {
        place.repo.put("a.txt", text);
        place.repo.git(&["stash", "push", "--quiet", "--message", text.trim()]);
    }
    let before = place.repo.git(&["stash", "list"]);
    let session = place.session("s-1");
    let mut known = Vec::new();
    session.bash("git stash drop -q stash@{1}").well();
    let one = newest(&place, &mut known);
    session.bash("git stash clear").well();
    let two = newest(&place, &mut known);
    assert_eq!(place.repo.git(&["stash", "list"]), "");
    back(&place, &[&one]);
    back(&place, &[&two]);
    assert_eq!(place.repo.git(&["stash", "list"]), before);
}

#[test]
fn ignored_files_that_no_tool_built_come_back_closed_as_they_were() {
    let place = Yard::new();
    place.repo.put(".gitignore", ".env\nnode_modules/\nlogs/\n");
    place.repo.git(&["commit", "--quiet", "--all", "--message", "ignore"]);
    let session = place.session("s-1");
    for (n, command) in
        ["git clean -fdxq", "rm .env", "rm -r .env logs node_modules"].iter().enumerate()
    {
        place.repo.put(".env", "SECRET=1\n");
        fs::set_permissions(place.repo.at(".env"), PermissionsExt::from_mode(0o600)).unwrap();
        place.repo.put("logs/run.log", "line\n");
        place.repo.put("node_modules/m/i.js", "built\n");
        session.bash(command).well();
        let count = place.keeps().len();
        assert!(count > n, "{command} left nothing");
        for keep in place.keeps() {
            let name = keep["name"].as_str().unwrap().to_owned();
            let shown = place.octo(&place.repo.root, &["keep", "show", &name]);
            assert!(!shown.stdout.contains("node_modules"), "{shown:?}");
            back(&place, &[&name]);
        }
        assert_eq!(place.repo.content(".env").unwrap(), "SECRET=1\n", "{command}");
        assert_eq!(mode(&place.repo.at(".env")), 0o600, "{command}");
        assert_eq!(place.repo.content("logs/run.log").unwrap(), "line\n", "{command}");
    }
}

#[test]
fn more_than_is_held_is_said() {
    let place = Yard::new();
    place.repo.put(".gitignore", "blob/\n");
    place.repo.git(&["commit", "--quiet", "--all", "--message", "ignore"]);
    for n in 0..2_100 {
        place.repo.put(&format!("blob/{n}"), "x");
    }
    let session = place.session("s-1");
    let input = serde_json::json!({ "command": "git clean -fdxq", "description": "step" });
    let said = session.ask("Bash", &input);
    assert!(!said.denied(), "{said:?}");
    assert!(said.context().contains("not held first"), "{said:?}");
}

#[test]
fn a_persons_uncommitted_file_outlives_an_agents_first_write() {
    let place = Yard::new();
    let session = place.session("s-1");
    // What git has as it is needs no snapshot.
    assert!(!session.write(&place.repo.at("a.txt"), "the agent's\n").denied());
    assert_eq!(place.keeps().len(), 0);
    place.repo.put("b.txt", "a person's\n");
    place.repo.put("new.txt", "a person's, never added\n");
    assert!(!session.write(&place.repo.at("b.txt"), "the agent's\n").denied());
    session.bash("echo again > new.txt && echo again >> b.txt").well();
    // Its own second write replaces nothing of a person's.
    let keeps = place.keeps();
    assert_eq!(keeps.len(), 2, "{keeps:#?}");
    let folder = place.machine.home.join("back");
    for keep in &keeps {
        let name = keep["name"].as_str().unwrap();
        back(&place, &[name, "--to", folder.to_str().unwrap()]);
    }
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("b.txt"), "a person's\n");
    assert_eq!(read("new.txt"), "a person's, never added\n");
}

#[test]
fn a_worktree_that_goes_leaves_everything_it_alone_had() {
    for command in ["git worktree remove --force ../wt", "rm -rf ../wt"] {
        let place = Yard::new();
        place.repo.git(&["worktree", "add", "--quiet", "../wt"]);
        let tree = place.repo.root.with_file_name("wt");
        fs::write(tree.join("a.txt"), "changed there\n").unwrap();
        fs::write(tree.join("new.txt"), "made there\n").unwrap();
        fs::write(tree.join(".env"), "SECRET=2\n").unwrap();
        place.session("s-1").bash(command).well();
        assert!(!tree.exists());
        let name = newest(&place, &mut Vec::new());
        let folder = place.machine.home.join("back");
        back(&place, &[&name, "--to", folder.to_str().unwrap()]);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("a.txt"), "changed there\n", "{command}");
        assert_eq!(read("new.txt"), "made there\n", "{command}");
        assert_eq!(read(".env"), "SECRET=2\n", "{command}");
    }
}

#[test]
fn snapshots_are_let_go_by_age_and_size_and_only_for_a_person() {
    let place = Yard::new();
    place.repo.put("a.txt", "a person's\n");
    place.session("s-1").bash("git checkout -q -- .").well();
    let name = newest(&place, &mut Vec::new());
    // As if it had been taken in the spring of 2001.
    let old = format!("refs/octo/keep/0986000000-{}", &name[11..]);
    place.repo.git(&["update-ref", &old, &format!("refs/octo/keep/{name}")]);
    let dry = place.octo(&place.repo.root, &["keep", "prune"]);
    assert!(dry.stdout.contains("would let go 0986000000"), "{dry:?}");
    assert_eq!(place.keeps().len(), 2);
    let done = place.octo(&place.repo.root, &["keep", "prune", "--yes"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(newest(&place, &mut Vec::new()), name);
    // A full shelf lets go what is older than a day, never the last day's.
    let full = place.octo(&place.repo.root, &["keep", "prune", "--yes", "--megabytes", "0"]);
    assert_eq!(full.code, Some(0), "{full:?}");
    assert_eq!(place.keeps().len(), 1);
}
