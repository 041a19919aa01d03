//! Every way a session or a call ends in the real client: interrupted, killed, cleared, resumed,
//! forked, refused, failed. What it had is neither lost nor held for ever.

use crate::support::client::{Client, Mode};
use crate::support::office::{Office, on_every_client};
use crate::support::script::{agent_waited_for, bash, edit, gate, read, say, script, write};
use crate::support::terminal::{ACCEPT_EDITS, Terminal};

#[test]
fn escape_during_a_subagent_leaves_its_work_to_the_parent() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let (a, b) = (repo.at("a.txt"), repo.at("b.txt"));
            vec![
                script(
                    "parent",
                    [
                        vec![agent_waited_for("child")],
                        // After Escape the same conversation goes on here.
                        vec![read(&a)],
                        vec![write(&a, "by the parent\n")],
                        vec![bash("git commit -qm both -- a.txt b.txt")],
                    ],
                ),
                script(
                    "child",
                    [
                        vec![read(&a), read(&b)],
                        vec![write(&a, "by the child\n"), write(&b, "by the child\n")],
                        vec![gate("long")],
                    ],
                ),
                script(
                    "reset",
                    [vec![bash("git reset --hard")], vec![bash("git checkout -- b.txt")]],
                ),
            ]
        });
        let (api, repo) = (&office.api, &office.repo);
        let Some(screen) = Terminal::open(client, &office.machine, api, &repo.root, &ACCEPT_EDITS)
        else {
            return;
        };
        screen.follows(api, "parent");
        api.reached("long");
        screen.keys(&["Escape"]);
        screen.shows("Interrupted");
        office.finished("reset");
        for refused in 0..2 {
            api.heard("reset").refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("a.txt").unwrap(), "by the child\n");
        assert_eq!(repo.content("b.txt").unwrap(), "by the child\n");
        screen.line("go on yourself");
        api.finished("parent");
        assert_eq!(repo.committed("a.txt").unwrap(), "by the parent");
        assert_eq!(repo.committed("b.txt").unwrap(), "by the child");
        assert_eq!(repo.status(), [""; 0]);
    });
}

#[test]
fn a_killed_client_holds_nothing() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = repo.at("a.txt");
            vec![
                script(
                    "killed",
                    [vec![read(&a)], vec![write(&a, "by the killed one\n")], vec![gate("never")]],
                ),
                script(
                    "next",
                    [
                        vec![read(&a)],
                        vec![edit(&a, "killed one", "next one")],
                        vec![bash("git add -A && git commit -qm next")],
                    ],
                ),
            ]
        });
        let (api, repo) = (&office.api, &office.repo);
        let killed = office.session("killed");
        api.reached("never");
        killed.kill();
        office.finished("next");
        for call in 0..3 {
            api.heard("next").ran(call);
        }
        assert_eq!(repo.committed("a.txt").unwrap(), "by the next one");
        assert_eq!(repo.status(), [""; 0]);
    });
}

#[test]
fn clear_hands_the_work_to_the_next_id() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let a = repo.at("a.txt");
            vec![
                script("first", [vec![read(&a)], vec![write(&a, "by the first\n")]]),
                script("reset", [vec![bash("git reset --hard")], vec![bash("git restore a.txt")]]),
                script(
                    "second",
                    [
                        vec![read(&a)],
                        vec![edit(&a, "first", "second")],
                        vec![bash("git commit -qm 'cleared' -- a.txt")],
                    ],
                ),
            ]
        });
        let (api, repo) = (&office.api, &office.repo);
        let Some(screen) = Terminal::open(client, &office.machine, api, &repo.root, &ACCEPT_EDITS)
        else {
            return;
        };
        screen.follows(api, "first");
        api.finished("first");
        screen.line("/clear");
        // A busy client takes the first Enter for choosing from its list of commands only.
        std::thread::sleep(std::time::Duration::from_secs(2));
        screen.keys(&["Enter"]);
        screen.gone("by the first");
        office.finished("reset");
        for refused in 0..2 {
            api.heard("reset").refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("a.txt").unwrap(), "by the first\n");
        screen.follows(api, "second");
        api.finished("second");
        for call in 0..3 {
            api.heard("second").ran(call);
        }
        assert_eq!(repo.committed("a.txt").unwrap(), "by the second");
    });
}

#[test]
fn a_resumed_session_goes_on_with_its_files() {
    on_every_client(|client| resumed_or_forked(client, &[]));
}

#[test]
fn a_forked_session_goes_on_with_its_files() {
    on_every_client(|client| resumed_or_forked(client, &["--fork-session"]));
}

fn resumed_or_forked(client: &Client, how: &[&str]) {
    let office = Office::open(client, |repo| {
        let a = repo.at("a.txt");
        vec![
            script(
                "long",
                [
                    vec![read(&a)],
                    vec![write(&a, "first half\n")],
                    vec![say("paused")],
                    vec![read(&a)],
                    vec![edit(&a, "first half", "both halves")],
                    vec![gate("end"), bash("git commit -qm both -- a.txt")],
                ],
            ),
            script(
                "other",
                [vec![read(&a)], vec![write(&a, "by another\n")], vec![bash("git reset --hard")]],
            ),
        ]
    });
    let (api, repo) = (&office.api, &office.repo);
    let id = office.finished("long");
    let resume = office.launch("nothing-new").mode(Mode::Bypass).args(&["--resume", &id]);
    let second = resume.args(how).start();
    api.reached("end");
    office.finished("other");
    for refused in 1..=2 {
        api.heard("other").refused(refused, &["octo: denied ["]);
    }
    assert_eq!(repo.content("a.txt").unwrap(), "both halves\n");
    api.open("end");
    second.finish().well();
    assert_eq!(repo.committed("a.txt").unwrap(), "both halves");
}

#[test]
fn a_write_that_the_client_refuses_leaves_no_claim() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let made = repo.at("made.txt");
            vec![
                script(
                    "refused",
                    [
                        vec![write(&made, "never\n")],
                        vec![read(repo.at("a.txt"))],
                        vec![gate("end")],
                    ],
                ),
                script("other", [vec![write(&made, "by another\n")]]),
            ]
        });
        let (api, repo) = (&office.api, &office.repo);
        let refused = office.launch("refused").mode(Mode::Default).start();
        api.reached("end");
        let result = api.heard("refused").result(0);
        assert!(result.failed && !result.text.contains("octo: "), "{result:?}");
        office.finished("other");
        api.heard("other").ran(0);
        assert_eq!(repo.content("made.txt").unwrap(), "by another\n");
        api.open("end");
        refused.finish();
    });
}

#[test]
fn what_a_failing_command_wrote_is_still_its_own() {
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let made = repo.at("made.txt");
            vec![
                script("failing", [vec![bash("echo half > made.txt; exit 3")], vec![gate("end")]]),
                script(
                    "other",
                    [
                        vec![read(&made)],
                        vec![write(&made, "by another\n")],
                        vec![bash("rm made.txt")],
                        vec![bash("git clean -fd")],
                    ],
                ),
            ]
        });
        let (api, repo) = (&office.api, &office.repo);
        let failing = office.session("failing");
        api.reached("end");
        office.finished("other");
        for refused in 1..=3 {
            api.heard("other").refused(refused, &["octo: denied ["]);
        }
        assert_eq!(repo.content("made.txt").unwrap(), "half\n");
        api.open("end");
        failing.finish().well();
    });
}
