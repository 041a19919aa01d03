//! A second session of the real client gets a tree of its own at its first write, works and
//! commits there, and the first never notices. Nobody gets one without need.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::client::{Client, Launch, Mode, Pin};
use crate::support::machine::Machine;
use crate::support::office::{Office, on_every_client};
use crate::support::repo::Repo;
use crate::support::script::{Script, Step, bash, call, edit, gate, read, say, script, write};

/// Tools that a careful mode must be told to allow.
const ALLOWED: [&str; 4] = ["--allowedTools", "Bash", "Write", "Edit"];

/// The tree that a refusal told the model of.
fn told_tree(request: &Value) -> Option<PathBuf> {
    let text = request["messages"].to_string();
    let at = text.find("/.octorato/")?;
    let ends = |c: char| c.is_whitespace() || "\"'`\\,;)(<>".contains(c);
    let start = text[..at].rfind(ends).map_or(0, |start| start + 1);
    let end = text[at..].find(ends).map_or(text.len(), |end| at + end);
    let named = Path::new(&text[start..end]);
    named.ancestors().find(|above| above.join(".git").exists()).map(Path::to_path_buf)
}

/// What the model does in the tree it was told of; nothing when it was told of none.
fn there(request: &Value, steps: impl Fn(&Path) -> Vec<Step>) -> Vec<Step> {
    told_tree(request).map_or_else(|| vec![say("no tree was named")], |tree| steps(&tree))
}

fn writes_there(request: &Value) -> Vec<Step> {
    there(request, |tree| vec![write(tree.join("own.txt"), "of B\n"), read(tree.join("a.txt"))])
}

fn edits_there(request: &Value) -> Vec<Step> {
    there(request, |tree| vec![edit(tree.join("a.txt"), "a", "a of B")])
}

fn goes_there(request: &Value) -> Vec<Step> {
    there(request, |tree| vec![bash(&format!("cd {}", tree.display()))])
}

fn enters(request: &Value) -> Vec<Step> {
    there(request, |tree| vec![call("EnterWorktree", json!({ "path": tree }))])
}

fn newcomer(name: &str, repo: &Repo) -> Script {
    script(
        name,
        [
            vec![write(repo.at("own.txt"), "of B\n")],
            vec![Step::From(writes_there)],
            vec![Step::From(edits_there)],
            vec![Step::From(goes_there)],
            vec![bash("git add own.txt a.txt && git commit -qm 'of B' && pwd")],
            vec![write(repo.at("again.txt"), "of B\n")],
            vec![bash(&format!("echo B > {}", repo.at("shell.txt").display()))],
        ],
    )
}

fn first(repo: &Repo) -> Script {
    let (b, commit) = (repo.at("b.txt"), "git commit -qm 'of A' -- b.txt");
    script(
        "a",
        [
            vec![read(&b)],
            vec![write(&b, "of A\n")],
            vec![gate("a goes on"), edit(&b, "of A", "still of A")],
            vec![bash(commit)],
        ],
    )
}

#[test]
fn the_second_session_works_and_commits_in_a_tree_of_its_own() {
    on_every_client(|client| {
        for mode in [Mode::Bypass, Mode::AcceptEdits, Mode::Default] {
            second_session(client, mode);
        }
    });
}

fn second_session(client: &Client, mode: Mode) {
    let office = Office::on(Machine::new(), client, |repo| vec![first(repo), newcomer("b", repo)]);
    let (api, repo) = (&office.api, &office.repo);
    let before = repo.head();
    let a = office.session("a");
    api.reached("a goes on");
    let b = office.launch("b").mode(mode).args(&ALLOWED).finish();
    let id = b.well().session();
    let heard = api.heard("b");
    heard.refused(0, &["octo: denied [shared.", "/.octorato/"]);
    for call in 1..=5 {
        heard.ran(call);
    }
    for call in 6..=7 {
        heard.refused(call, &["octo: denied [shared."]);
    }
    let tree = PathBuf::from(heard.result(5).text.trim());
    assert!(tree.display().to_string().contains(&id), "{} is not of {id}", tree.display());
    let branch = format!("dim/{id}");
    let own = Repo::open(&tree, &office.machine.home);
    assert_eq!(own.branch(), branch);
    assert_eq!(own.changed_by("HEAD"), ["a.txt", "own.txt"]);
    assert_eq!(own.git(&["rev-parse", "HEAD~1"]), before, "the base");
    assert_eq!(repo.head(), before);
    assert_eq!(repo.branch(), "main");
    assert_eq!(repo.status(), [" M b.txt"], "{mode:?}: the shared checkout");
    api.open("a goes on");
    a.finish().well();
    for call in 0..4 {
        api.heard("a").ran(call);
    }
    assert_eq!(repo.changed_by("HEAD"), ["b.txt"]);
    assert_eq!(repo.committed("b.txt").unwrap(), "still of A");
}

#[test]
fn a_session_that_asks_nobody_may_enter_its_tree_by_the_clients_own_tool() {
    on_every_client(|client| {
        let office = Office::on(Machine::new(), client, |repo| {
            let find = json!({ "query": "select:EnterWorktree" });
            let enters = [
                vec![write(repo.at("own.txt"), "of B\n")],
                vec![call("ToolSearch", find)],
                vec![Step::From(enters)],
                vec![Step::From(writes_there)],
                vec![bash("git add own.txt && git commit -qm 'of B' && pwd")],
            ];
            let asks = [vec![write(repo.at("own.txt"), "of C\n")]];
            vec![first(repo), script("b", enters), script("c", asks)]
        });
        let a = office.session("a");
        office.api.reached("a goes on");
        office.finished("b");
        let heard = office.api.heard("b");
        heard.refused(0, &["the EnterWorktree tool with the path"]);
        // The older client has every tool at hand and no search for them.
        for call in 2..=5 {
            heard.ran(call);
        }
        let tree = PathBuf::from(heard.result(5).text.trim());
        let own = Repo::open(&tree, &office.machine.home);
        assert_eq!(own.changed_by("HEAD"), ["own.txt"]);
        let c = office.launch("c").mode(Mode::AcceptEdits).args(&ALLOWED).finish();
        c.well();
        office.api.heard("c").refused(0, &["your own worktree is"]);
        assert!(!office.api.heard("c").mentions("the EnterWorktree tool with the path"));
        office.api.open("a goes on");
        a.finish().well();
    });
}

#[test]
fn eight_newcomers_get_eight_trees() {
    let Some(client) = Client::pinned(Pin::Newest) else { return };
    let names: Vec<String> = (0..8).map(|n| format!("n{n}")).collect();
    let office = Office::on(Machine::new(), &client, |repo| {
        let mut scripts = vec![first(repo)];
        scripts.extend(names.iter().map(|name| newcomer(name, repo)));
        scripts
    });
    let a = office.session("a");
    office.api.reached("a goes on");
    let running: Vec<_> = names.iter().map(|name| office.session(name)).collect();
    for run in running {
        run.finish().well();
    }
    let mut trees: Vec<String> =
        names.iter().map(|name| office.api.heard(name).result(5).text.trim().to_owned()).collect();
    trees.sort();
    trees.dedup();
    assert_eq!(trees.len(), 8, "{trees:#?}");
    assert_eq!(office.repo.git(&["worktree", "list"]).lines().count(), 9);
    assert_eq!(office.repo.status(), [" M b.txt"]);
    office.api.open("a goes on");
    a.finish().well();
}

#[test]
fn a_session_that_only_asks_costs_no_tree() {
    on_every_client(|client| {
        let office = Office::on(Machine::new(), client, |repo| {
            let asks = [
                vec![read(repo.at("a.txt")), bash("git log --oneline && git status --short")],
                vec![bash("grep -rn core lib | head -3 > /dev/null; cat b.txt")],
            ];
            vec![first(repo), script("b", asks)]
        });
        let a = office.session("a");
        office.api.reached("a goes on");
        office.finished("b");
        for call in 0..3 {
            office.api.heard("b").ran(call);
        }
        assert_eq!(office.repo.git(&["worktree", "list"]).lines().count(), 1);
        assert!(!office.machine.home.join(".octorato").join("arm").exists());
        office.api.open("a goes on");
        a.finish().well();
    });
}

#[test]
fn a_person_alone_never_notices() {
    on_every_client(|client| {
        let office = Office::on(Machine::new(), client, |repo| {
            let b = repo.at("b.txt");
            let work = [
                vec![read(&b)],
                vec![write(&b, "mine\n")],
                vec![bash("git add -A && git commit -qam mine && git reset -q --hard HEAD~1")],
                vec![bash("git checkout -q -b side && git stash list && git clean -fdq")],
            ];
            vec![script("alone", work)]
        });
        office.finished("alone");
        let heard = office.api.heard("alone");
        for call in 0..4 {
            heard.ran(call);
        }
        assert!(!heard.mentions("octo: "), "{:#?}", heard.lines("octo: "));
        assert_eq!(office.repo.branch(), "side");
        assert_eq!(office.repo.git(&["worktree", "list"]).lines().count(), 1);
    });
}

#[test]
fn the_brain_is_read_only_for_a_newcomer_while_anybody_lives() {
    on_every_client(|client| {
        let machine = Machine::new();
        let brain = machine.home.join(".claude");
        fs::create_dir_all(&brain).unwrap();
        let brain = Repo::make(
            &brain,
            &machine.home,
            &[
                ("CLAUDE.md", "rules\n"),
                (".gitignore", "*\n!CLAUDE.md\n!skills/\n!skills/**\n!.gitignore\n"),
            ],
        );
        let skill = brain.at("skills/new.md");
        let office = Office::on(machine, client, |repo| {
            let other = script("other", [vec![write(&skill, "a skill\n")]]);
            vec![first(repo), other]
        });
        let a = office.session("a");
        office.api.reached("a goes on");
        let launch = Launch::new(client, &office.machine, &office.api, &brain.root);
        let other = launch.mode(Mode::Bypass).script("other").finish();
        let id = other.well().session();
        office.api.heard("other").refused(0, &["octo: denied [shared.", "/.octorato/dim/", &id]);
        assert!(brain.content("skills/new.md").is_none());
        office.api.open("a goes on");
        a.finish().well();
    });
}

#[test]
fn a_session_of_an_arm_works_in_its_tree_and_in_no_other_arm() {
    on_every_client(|client| {
        let machine = Machine::new();
        let place = machine.home.join("other-arm");
        let other = Repo::make(&place, &machine.home, &[("x.txt", "x\n")]);
        let (x, fresh) = (other.at("x.txt"), other.at("fresh.txt"));
        let company = machine.home.join(".claude/company/config");
        fs::create_dir_all(&company).unwrap();
        let arms = json!({ "app": "proj/app", "other": "other-arm" });
        fs::write(company.join("arms-paths.json"), arms.to_string()).unwrap();
        let office = Office::on(machine, client, |repo| {
            let steps = [
                vec![write(repo.at("own.txt"), "of B\n")],
                vec![Step::From(writes_there)],
                vec![write(&fresh, "of B\n")],
                vec![bash(&format!("echo B >> {}", x.display()))],
            ];
            vec![first(repo), script("b", steps)]
        });
        let a = office.session("a");
        office.api.reached("a goes on");
        let b = office.launch("b").mode(Mode::Bypass).args(&ALLOWED).finish();
        b.well();
        let heard = office.api.heard("b");
        heard.refused(0, &["octo: denied [shared.", "/.octorato/arm/app/"]);
        heard.ran(1);
        // The second call of that step reads; then come the two that cross over.
        for call in 3..=4 {
            heard.refused(call, &["octo: denied [arm.cross]", "other-arm"]);
        }
        assert_eq!(other.status(), [""; 0]);
        office.api.open("a goes on");
        a.finish().well();
    });
}
