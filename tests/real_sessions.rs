//! Two sessions of the real client in one checkout: what one is working on, the other can't
//! overwrite, sweep up or throw away. Asserted on files, index and HEAD.

use crate::support::client::Mode;
use crate::support::eventually;
use crate::support::office::{Office, on_every_client};
use crate::support::script::{
    agent_waited_for, bash, bash_behind, edit, gate, read, say, script, write,
};

#[test]
fn the_lived_collision_step_by_step() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let (skill, notes) = (repo.at("skill.md"), repo.at("notes.md"));
            let a = script(
                "a",
                [
                    // 1. A makes a file and edits another; nothing is committed yet.
                    vec![write(&skill, "a skill\n"), read(&notes)],
                    vec![edit(&notes, "notes", "notes of A")],
                    vec![
                        gate("a commits"),
                        bash("git add skill.md notes.md && git commit -qm a -- skill.md notes.md"),
                    ],
                ],
            );
            let b = script(
                "b",
                [
                    vec![write(repo.at("own.md"), "of B\n")],
                    // 2. B stages broadly, and 3. commits what it staged.
                    vec![bash("git add -A")],
                    vec![bash("git add . && git commit -m 'b work'")],
                    vec![bash("git commit -am 'b work'")],
                    // The way that the refusal shows.
                    vec![bash("git add own.md && git commit -qm b -- own.md")],
                    // 4. B takes its commit back to change it.
                    vec![bash("git reset HEAD~1")],
                    vec![bash("git reset --hard HEAD~1")],
                ],
            );
            vec![a, b]
        });
        let repo = &office.repo;
        let before = repo.head();
        let mut a = office.session("a");
        let holder = a.session();
        office.api.reached("a commits");
        office.finished("b");
        let b = office.api.heard("b");
        b.ran(0);
        for refused in [1, 2, 3, 5, 6] {
            b.refused(refused, &["octo: denied ["]);
        }
        b.ran(4);
        assert_eq!(repo.content("skill.md").unwrap(), "a skill\n");
        assert_eq!(repo.content("notes.md").unwrap(), "notes of A\n");
        assert_eq!(repo.changed_by("HEAD"), ["own.md"]);
        assert_eq!(repo.git(&["rev-parse", "HEAD~1"]), before);
        assert_eq!(repo.staged(), [""; 0]);
        assert_eq!(repo.status(), [" M notes.md", "?? skill.md"]);
        assert_eq!(repo.branch(), "main");
        assert!(b.mentions(&holder), "the newcomer was not told who works here");
        office.api.open("a commits");
        a.finish().well();
        office.api.heard("a").ran(3);
        assert_eq!(repo.changed_by("HEAD"), ["notes.md", "skill.md"]);
        assert_eq!(repo.status(), [""; 0]);
    });
}

#[test]
fn a_file_in_work_is_not_written_by_another_session() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let core = repo.at("lib/core.rs");
            let a = script(
                "a",
                [vec![read(&core)], vec![write(&core, "by A\n")], vec![gate("a is done")]],
            );
            let b = script(
                "b",
                [
                    vec![read(&core)],
                    vec![edit(&core, "by A", "by B")],
                    vec![write(&core, "by B\n")],
                    vec![bash("sed -i s/A/B/ lib/core.rs")],
                    vec![bash("echo B > lib/core.rs")],
                    vec![bash("rm -rf lib")],
                    vec![bash("bash -c \"mv lib/core.rs elsewhere.rs\"")],
                    vec![bash("git checkout -- lib")],
                    vec![bash("git stash")],
                    vec![gate("a has gone"), read(&core)],
                    vec![write(&core, "by B\n")],
                ],
            );
            vec![a, b]
        });
        let repo = &office.repo;
        let mut a = office.session("a");
        let holder = a.session();
        office.api.reached("a is done");
        let careful = office.launch("b").mode(Mode::AcceptEdits).args(&["--allowedTools", "Bash"]);
        let b = careful.start();
        office.api.reached("a has gone");
        let heard = office.api.heard("b");
        heard.refused(1, &["lib/core.rs", &holder]);
        for refused in 2..=8 {
            heard.refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("lib/core.rs").unwrap(), "by A\n");
        assert!(repo.content("elsewhere.rs").is_none());
        assert_eq!(repo.git(&["stash", "list"]), "");
        office.api.open("a is done");
        a.finish().well();
        office.api.open("a has gone");
        b.finish().well();
        office.api.heard("b").ran(10);
        assert_eq!(repo.content("lib/core.rs").unwrap(), "by B\n");
    });
}

#[test]
fn broad_staging_takes_nothing_of_a_neighbour() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = script(
                "a",
                [
                    vec![
                        write(repo.at("new.txt"), "new of A\n"),
                        bash("echo more >> a.txt && git add a.txt"),
                    ],
                    vec![gate("end")],
                ],
            );
            let broad = [
                "git add -A",
                "git add .",
                "git add -u",
                "git add :/",
                "git add '*'",
                "git stage .",
                "git commit -am x",
                "git commit -m x",
                "git -C . add --all",
                "cd lib && git add ..",
                "bash -c 'git add -A'",
                "git add new.txt",
                "git stash -u",
                "git rm -r --cached .",
            ];
            let mut turns = vec![vec![bash("echo own >> b.txt")]];
            turns.extend(broad.iter().map(|command| vec![bash(command)]));
            turns.push(vec![bash("git add b.txt && git commit -qm own -- b.txt")]);
            vec![a, script("b", turns)]
        });
        let repo = &office.repo;
        let a = office.session("a");
        office.api.reached("end");
        let (staged, tip) = (repo.index("a.txt"), repo.head());
        office.finished("b");
        let heard = office.api.heard("b");
        heard.ran(0);
        for refused in 1..=14 {
            heard.refused(refused, &["octo: denied ["]);
        }
        heard.ran(15);
        assert_eq!(repo.index("a.txt"), staged, "A's index entry");
        assert_eq!(repo.index("new.txt"), "");
        assert_eq!(repo.staged(), ["a.txt"]);
        assert_eq!(repo.git(&["rev-parse", "HEAD~1"]), tip);
        assert_eq!(repo.changed_by("HEAD"), ["b.txt"]);
        office.api.open("end");
        a.finish().well();
    });
}

#[test]
fn work_of_a_finished_agent_survives_a_neighbours_reset() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = script(
                "a",
                [
                    vec![agent_waited_for("child")],
                    vec![gate("end"), bash("git commit -qm 'by the child' -- a.txt")],
                ],
            );
            let child = script(
                "child",
                [
                    vec![read(repo.at("a.txt"))],
                    vec![
                        write(repo.at("a.txt"), "by the child\n"),
                        write(repo.at("made.txt"), "made\n"),
                    ],
                    vec![say("child is done")],
                ],
            );
            let destructive = [
                "git reset --hard",
                "git checkout .",
                "git checkout -- a.txt",
                "git restore a.txt",
                "git clean -fd",
                "git stash -u",
                "git checkout -f main",
                "git checkout HEAD -- .",
            ];
            vec![a, child, script("b", destructive.iter().map(|command| vec![bash(command)]))]
        });
        let repo = &office.repo;
        let a = office.session("a");
        office.api.reached("end");
        assert_eq!(repo.content("a.txt").unwrap(), "by the child\n");
        office.finished("b");
        let heard = office.api.heard("b");
        for refused in 0..8 {
            heard.refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("a.txt").unwrap(), "by the child\n");
        assert_eq!(repo.content("made.txt").unwrap(), "made\n");
        assert_eq!(repo.status(), [" M a.txt", "?? made.txt"]);
        office.api.open("end");
        a.finish().well();
        assert_eq!(repo.committed("a.txt").unwrap(), "by the child");
    });
}

#[test]
fn a_command_in_the_background_keeps_what_it_is_about_to_write() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let wait = "until [ -e go ]; do [ -d lib ] || exit; sleep 0.05; done; echo A > slow.txt; touch done";
            vec![
                script("a", [vec![bash_behind(wait)], vec![gate("end")]]),
                script(
                    "b",
                    [vec![write(repo.at("slow.txt"), "of B\n")], vec![bash("rm -f slow.txt")]],
                ),
            ]
        });
        let repo = &office.repo;
        let a = office.session("a");
        office.api.reached("end");
        office.finished("b");
        for refused in 0..2 {
            office.api.heard("b").refused(refused, &["slow.txt"]);
        }
        repo.put("go", "");
        eventually("the command's end", || repo.content("done"));
        assert_eq!(repo.content("slow.txt").unwrap(), "A\n");
        office.api.open("end");
        a.finish().well();
    });
}
