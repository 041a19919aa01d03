//! Subagents of the real client on one file: siblings, background, parent and child, and what a
//! delegation frees for whom. Asserted on files, index and HEAD.

use crate::support::office::{Office, on_every_client};
use crate::support::script::{
    Step, agent, agent_behind, agent_waited_for, bash, edit, gate, read, say, script, write,
};

#[test]
fn of_parallel_siblings_one_writes_and_the_other_is_told() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let shared = repo.at("shared.txt");
            let made = vec![gate("one"), write(&shared, "by one\n")];
            let again = vec![gate("one wrote"), bash("echo 'again one' >> shared.txt")];
            let over = vec![write(&shared, "by two\n")];
            let append = vec![bash("echo 'by two' >> shared.txt")];
            vec![
                script("parent", [vec![agent_behind("one"), agent_behind("two")]]),
                script("one", [made, again]),
                // The client wants a file read before it is replaced.
                script(
                    "two",
                    [vec![gate("two"), read(&shared)], over, append, vec![gate("two tried")]],
                ),
            ]
        });
        let (api, repo) = (&office.api, &office.repo);
        let parent = office.session("parent");
        api.reached("one");
        api.reached("two");
        api.open("one");
        api.reached("one wrote");
        api.open("two");
        api.reached("two tried");
        assert_eq!(repo.content("shared.txt").unwrap(), "by one\n");
        api.open("two tried");
        api.open("one wrote");
        parent.finish().well();
        let (one, two) = (api.heard("one"), api.heard("two"));
        one.ran(0);
        one.ran(1);
        for refused in 1..=2 {
            two.refused(refused, &["octo: denied [", "shared.txt", "general-purpose"]);
        }
        let content = repo.content("shared.txt").unwrap();
        assert_eq!(content, "by one\nagain one\n");
    });
}

#[test]
fn siblings_that_start_together_never_both_write() {
    on_every_client(|client| {
        let names = ["c1", "c2", "c3", "c4"];
        let office = Office::open(client, |repo| {
            let shared = repo.at("shared.txt");
            let child = |name: &str| {
                let made = vec![gate("all"), write(&shared, &format!("by {name}\n"))];
                script(name, [made, vec![gate("wrote")]])
            };
            let spawn = names.iter().map(|name| agent_behind(name)).collect();
            let mut scripts = vec![script("parent", [spawn])];
            scripts.extend(names.map(child));
            scripts
        });
        let api = &office.api;
        let parent = office.session("parent");
        api.reached_by("all", names.len());
        api.open("all");
        api.reached_by("wrote", names.len());
        let wrote = names.iter().filter(|name| !api.heard(name).result(0).failed);
        let wrote: Vec<&&str> = wrote.collect();
        assert_eq!(wrote.len(), 1, "{wrote:?} wrote");
        let content = office.repo.content("shared.txt").unwrap();
        assert_eq!(content, format!("by {}\n", wrote[0]));
        api.open("wrote");
        parent.finish().well();
    });
}

#[test]
fn a_parent_is_not_privileged_over_its_child_in_the_background() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = repo.at("a.txt");
            let parent = script(
                "parent",
                [
                    vec![read(&a), agent_behind("child")],
                    vec![gate("child wrote"), read(&a)],
                    vec![edit(&a, "by the child", "by the parent")],
                    vec![write(&a, "by the parent\n")],
                    vec![bash("git checkout -- a.txt")],
                    vec![gate("parent tried")],
                ],
            );
            let child = script(
                "child",
                [
                    vec![read(&a)],
                    vec![write(&a, "by the child\n")],
                    vec![gate("child goes on"), bash("echo more >> a.txt")],
                ],
            );
            vec![parent, child]
        });
        let (api, repo) = (&office.api, &office.repo);
        let parent = office.session("parent");
        api.reached("child goes on");
        api.open("child wrote");
        api.reached("parent tried");
        let heard = api.heard("parent");
        for refused in 3..=5 {
            heard.refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("a.txt").unwrap(), "by the child\n");
        api.open("child goes on");
        api.open("parent tried");
        parent.finish().well();
        assert_eq!(repo.content("a.txt").unwrap(), "by the child\nmore\n");
    });
}

#[test]
fn parent_and_child_pass_work_to_and_fro() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let (a, made) = (repo.at("a.txt"), repo.at("made.txt"));
            let parent = script(
                "parent",
                [
                    vec![read(&a), write(&made, "by the parent\n")],
                    vec![edit(&a, "a", "parent")],
                    vec![agent_waited_for("child")],
                    vec![read(&a), read(&made)],
                    vec![edit(&a, "child", "parent again")],
                    vec![bash("git commit -qm 'all of it' -- a.txt")],
                ],
            );
            let child = script(
                "child",
                [
                    vec![read(&a), read(&made)],
                    vec![edit(&a, "parent", "child")],
                    vec![edit(&made, "by the parent", "by the child")],
                    vec![bash("git add made.txt && git commit -qm 'by the child' -- made.txt")],
                    vec![say("done")],
                ],
            );
            vec![parent, child]
        });
        let repo = &office.repo;
        office.finished("parent");
        for result in office.api.heard("child").results() {
            assert!(!result.failed, "child: {}", result.text);
        }
        for result in office.api.heard("parent").results() {
            assert!(!result.failed, "parent: {}", result.text);
        }
        assert_eq!(repo.committed("a.txt").unwrap(), "parent again");
        assert_eq!(repo.committed("made.txt").unwrap(), "by the child");
        assert_eq!(repo.changed_by("HEAD"), ["a.txt"]);
        assert_eq!(repo.changed_by("HEAD~1"), ["made.txt"]);
        assert_eq!(repo.status(), [""; 0]);
    });
}

#[test]
fn a_delegation_frees_nothing_for_another_session() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = repo.at("a.txt");
            let parent = script(
                "parent",
                [vec![read(&a)], vec![write(&a, "by the parent\n")], vec![agent("child")]],
            );
            let child = script("child", [vec![gate("child waits")]]);
            let other = script(
                "other",
                [
                    vec![read(&a)],
                    vec![write(&a, "by another\n")],
                    vec![bash("git reset --hard")],
                    vec![bash("git checkout -- a.txt")],
                    vec![bash("git add a.txt && git commit -m mine")],
                    vec![bash("git commit -m mine -- a.txt")],
                ],
            );
            vec![parent, child, other]
        });
        let (api, repo) = (&office.api, &office.repo);
        let head = repo.head();
        let parent = office.session("parent");
        api.reached("child waits");
        office.finished("other");
        for refused in 1..=5 {
            api.heard("other").refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("a.txt").unwrap(), "by the parent\n");
        assert_eq!(repo.staged(), [""; 0]);
        assert_eq!(repo.head(), head);
        api.open("child waits");
        parent.finish().well();
    });
}

#[test]
fn two_agents_that_want_each_others_files_both_finish() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let child = |name: &str, own: &str, wanted: &str| {
                let (own, wanted) = (repo.at(own), repo.at(wanted));
                let (first, last) = (format!("by {name}\n"), format!("{name} at last\n"));
                let turns = [
                    vec![read(&own)],
                    vec![write(&own, &first)],
                    vec![gate(&format!("{name} asks")), read(&wanted)],
                    vec![write(&wanted, &first)],
                    // A holder is told at its next event who waits for it.
                    vec![gate("both asked"), bash("true")],
                    vec![Step::From(yield_when_told)],
                    vec![gate(&format!("{name} tries again")), read(&wanted)],
                    vec![write(&wanted, &last)],
                ];
                script(name, turns)
            };
            vec![
                script("parent", [vec![agent_behind("one"), agent_behind("two")]]),
                child("one", "a.txt", "b.txt"),
                child("two", "b.txt", "a.txt"),
            ]
        });
        let api = &office.api;
        let parent = office.session("parent");
        api.reached("one asks");
        api.reached("two asks");
        api.open("one asks");
        api.reached("both asked");
        api.open("two asks");
        api.reached_by("both asked", 2);
        api.open("both asked");
        api.reached("one tries again");
        api.reached("two tries again");
        let told = ["one", "two"].map(|name| api.heard(name).mentions("give way: octo yield"));
        assert_eq!(told.iter().filter(|told| **told).count(), 1, "who is told to yield: {told:?}");
        // Who yielded has nothing any more; so the other's way is free.
        let yielded = if told[1] { "two" } else { "one" };
        api.heard(yielded).ran(5);
        let order = if told[1] { ["one", "two"] } else { ["two", "one"] };
        for name in order {
            api.open(&format!("{name} tries again"));
            api.finished(name);
        }
        parent.finish().well();
        api.heard(order[0]).ran(7);
        let wanted = if order[0] == "one" { "b.txt" } else { "a.txt" };
        assert_eq!(office.repo.content(wanted).unwrap(), format!("{} at last\n", order[0]));
    });
}

/// The model does what the refusal asks of it.
fn yield_when_told(request: &serde_json::Value) -> Vec<Step> {
    let told = request["messages"].to_string().contains("give way: octo yield");
    vec![bash(if told { "octo yield" } else { "true" })]
}
