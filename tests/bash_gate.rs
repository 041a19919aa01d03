//! Shell commands that B runs while A holds `lib/core.rs`, edited and not committed: the hook's
//! verdict, and for all it lets through the proof by execution: A's file, its index entry, the
//! branch and HEAD are what they were. `unseen.jsonl` holds what came to mind after the gate was
//! built; some of its cases have a `before` that A has run.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::cases::{fill, load, play, text};
use crate::support::fence::whole;
use crate::support::machine::{Machine, clean};
use crate::support::puppet::{self, Puppet};
use crate::support::reply::Verdict;
use crate::support::repo::Repo;

/// What A has written and nobody else may take.
const WORK: &str = "fn core() {} // A's unfinished work\n";
/// Longest that a command may run.
const LIMIT: Duration = Duration::from_secs(20);

/// Whether A has staged its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Staged {
    No,
    Yes,
}

/// Who B is to A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kin {
    /// Two subagents of one session.
    Siblings,
    /// Two sessions in one checkout.
    Strangers,
}

#[test]
fn siblings_while_nothing_is_staged() {
    judge_all("bash_gate.jsonl", Kin::Siblings, Staged::No);
}

#[test]
fn siblings_while_a_has_staged() {
    judge_all("bash_gate.jsonl", Kin::Siblings, Staged::Yes);
}

#[test]
fn strangers_while_nothing_is_staged() {
    judge_all("bash_gate.jsonl", Kin::Strangers, Staged::No);
}

#[test]
fn strangers_while_a_has_staged() {
    judge_all("bash_gate.jsonl", Kin::Strangers, Staged::Yes);
}

#[test]
fn unseen_by_siblings_while_nothing_is_staged() {
    judge_all("unseen.jsonl", Kin::Siblings, Staged::No);
}

#[test]
fn unseen_by_strangers_while_a_has_staged() {
    judge_all("unseen.jsonl", Kin::Strangers, Staged::Yes);
}

#[test]
fn behind_the_fence_nothing_harms_with_the_gate_off() {
    if !whole() {
        return;
    }
    let cases = load("bash_gate.jsonl");
    let template = Template::make();
    let id = |case: &Value| text(case, "id").to_owned();
    play(&cases, id, |case| {
        let scene = Scene::set(&template);
        let a = scene.machine.session("main-a", &scene.app.root);
        a.start();
        a.holds(&scene.app.at("lib/core.rs"), WORK);
        let before = scene.picture();
        let marks =
            [("{ROOT}", scene.app.root.as_path()), ("{HOME}", scene.machine.home.as_path())];
        let command = fill(&case["command"], &marks);
        let mut fenced = scene.machine.command("timeout");
        fenced.args(["20", "octo", "exec", "--as", "main-b", "--", "bash", "-c"]);
        fenced.arg(command.as_str().unwrap()).current_dir(&scene.app.root);
        let said = fenced.stdin(Stdio::null()).output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        let built = !words.contains("octo exec:");
        let harm = before.differs(&scene.picture());
        [(!built).then_some(words), (!harm.is_empty()).then_some(harm)]
            .into_iter()
            .flatten()
            .collect()
    });
}

fn judge_all(file: &str, kin: Kin, staged: Staged) {
    let cases = load(file);
    assert!(cases.len() > 120, "the case file is cut");
    let template = Template::make();
    let id = |case: &Value| text(case, "id").to_owned();
    // A refusal changes nothing but the kernel's own memory of it: with that set back, the same
    // scene serves the next case. One in which a command has run is never used again.
    let idle: Mutex<Vec<Meeting>> = Mutex::default();
    play(&cases, id, |case| {
        let before = text(case, "before");
        let waiting = before.is_empty().then(|| idle.lock().unwrap().pop()).flatten();
        let meeting = waiting.unwrap_or_else(|| Meeting::stage(&template, kin, staged, before));
        let (wrong, ran) = judge(&meeting, case);
        if ran == Ran::No && wrong.is_empty() && before.is_empty() {
            meeting.forget();
            idle.lock().unwrap().push(meeting);
        }
        wrong
    });
}

/// Whether a case's command was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ran {
    No,
    Yes,
}

/// A scene in which A has its file and B is about to type.
pub(crate) struct Meeting {
    pub(crate) scene: Scene,
    kin: Kin,
    staged: Staged,
    before: Picture,
}

impl Meeting {
    pub(crate) fn stage(template: &Template, kin: Kin, staged: Staged, before: &str) -> Self {
        let scene = Scene::set(template);
        let lead = scene.machine.session("main-a", &scene.app.root);
        lead.start();
        let a = lead.spawn("kid-a");
        if kin == Kin::Siblings {
            lead.spawn("kid-b");
        }
        if !before.is_empty() {
            // A conflict is what some of them are about: they end badly.
            assert!(matches!(a.bash(before), puppet::Ran::Done(_)), "{before} was refused");
        }
        a.holds(&scene.app.at("lib/core.rs"), WORK);
        if staged == Staged::Yes {
            a.bash("git add lib/core.rs").well();
        }
        let before = scene.picture();
        let remembered = scene.remembered();
        assert!(Command::new("cp").arg("-a").args(remembered).status().unwrap().success());
        Self { scene, kin, staged, before }
    }

    pub(crate) fn b(&self) -> Puppet<'_> {
        let session = |id| self.scene.machine.session(id, &self.scene.app.root);
        match self.kin {
            Kin::Siblings => {
                let kid = session("main-a").subagent("kid-b");
                Puppet { agent_type: "builder".to_owned(), ..kid }
            }
            Kin::Strangers => session("main-b"),
        }
    }

    /// The kernel as it was before B asked anything.
    fn forget(&self) {
        let [kernel, copy] = self.scene.remembered();
        fs::remove_dir_all(&kernel).unwrap();
        assert!(Command::new("cp").arg("-a").args([copy, kernel]).status().unwrap().success());
        let file = self.scene.app.content("lib/core.rs");
        assert_eq!(file, self.before.file, "a refused command did something");
    }
}

fn judge(meeting: &Meeting, case: &Value) -> (Vec<String>, Ran) {
    let scene = &meeting.scene;
    let machine = &scene.machine;
    let marks: [(&str, &Path); 2] = [("{ROOT}", &scene.app.root), ("{HOME}", &machine.home)];
    let filled = fill(&case["command"], &marks);
    let command = filled.as_str().unwrap();
    let reply = meeting.b().ask("Bash", &json!({ "command": command, "description": "x" }));
    let mut wrong = Vec::new();
    match (right(case, meeting.staged), reply.verdict()) {
        (Right::Deny, Verdict::Pass) => wrong.push(format!("MISSED {command:?}")),
        (Right::Allow, Verdict::Deny(reason)) => {
            let line = reason.lines().next().unwrap_or_default().to_owned();
            wrong.push(format!("REFUSED {command:?}: {line}"));
        }
        (Right::Deny | Right::Either, Verdict::Deny(_))
        | (Right::Allow | Right::Either, Verdict::Pass) => {}
    }
    if reply.denied() {
        return (wrong, Ran::No);
    }
    scene.execute(command);
    let after = scene.picture();
    if after != meeting.before {
        let journal = machine.journal("kid-a");
        let life: Vec<&str> = journal.iter().map(|line| text(line, "kind")).collect();
        wrong.push(format!("HARMED {command:?}: {}; A: {life:?}", meeting.before.differs(&after)));
    }
    (wrong, Ran::Yes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Allow,
    Deny,
    Either,
}

fn right(case: &Value, staged: Staged) -> Right {
    match (text(case, "right"), staged) {
        ("allow", _) => Right::Allow,
        ("deny", _) | ("deny-if-foreign-staged", Staged::Yes) => Right::Deny,
        ("deny-if-foreign-staged", Staged::No) if text(case, "unstaged") != "either" => {
            Right::Allow
        }
        ("either" | "deny-if-foreign-staged", _) => Right::Either,
        (other, _) => panic!("unknown right {other}"),
    }
}

/// The repository of the cases, a fresh copy for each.
pub(crate) struct Scene {
    pub(crate) machine: Machine,
    pub(crate) app: Repo,
}

/// What must stay as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Picture {
    file: Option<String>,
    index: String,
    branch: String,
    taken: bool,
}

impl Scene {
    fn set(template: &Template) -> Self {
        let machine = Machine::gates_only();
        let proj = machine.home.join("proj");
        let copied = Command::new("cp").arg("-a").arg(&template.proj).arg(&proj).status().unwrap();
        assert!(copied.success());
        let app = Repo::open(&proj.join("app"), &machine.home);
        symlink(app.at("lib"), machine.home.join("ln")).unwrap();
        Self { machine, app }
    }

    /// The kernel's folder, and where its first state is kept.
    fn remembered(&self) -> [PathBuf; 2] {
        [self.machine.kernel(), self.machine.base().join("kernel-before")]
    }

    fn picture(&self) -> Picture {
        let (head, _) = self.app.try_git(&["log", "-p", "--format=", "HEAD"]);
        Picture {
            file: self.app.content("lib/core.rs"),
            index: self.app.try_git(&["ls-files", "--stage", "--", "lib/core.rs"]).0,
            branch: self.app.try_git(&["symbolic-ref", "HEAD"]).0,
            taken: head.contains("A's unfinished work"),
        }
    }

    /// Runs the command as the client's shell would, for a limited time.
    fn execute(&self, command: &str) {
        let mut bash = Command::new("bash");
        clean(&mut bash, &self.machine.home);
        bash.args(["-c", command]).current_dir(&self.app.root).process_group(0);
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = bash.spawn().unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > LIMIT {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Picture {
    fn differs(&self, after: &Self) -> String {
        let parts = [
            (self.file != after.file).then(|| format!("file is {:?}", after.file)),
            (self.index != after.index).then(|| format!("index entry is {:?}", after.index)),
            (self.branch != after.branch).then(|| format!("branch is {:?}", after.branch)),
            (self.taken != after.taken).then(|| "HEAD took A's bytes".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The projects folder of the cases, made once: two branches that differ from main, a bare
/// upstream, and a few files outside.
pub(crate) struct Template {
    proj: PathBuf,
    _folder: tempfile::TempDir,
}

impl Template {
    pub(crate) fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (home, proj) = (folder.path().join("home"), folder.path().join("proj"));
        fs::create_dir_all(&home).unwrap();
        let identity = "[user]\n\tname = Test\n\temail = test@example.invalid\n";
        fs::write(home.join(".gitconfig"), identity).unwrap();
        let files = [
            ("lib/core.rs", "fn core() {}\n"),
            ("lib/util.rs", "fn util() {}\n"),
            ("notes.md", "notes\n"),
            ("docs/a.md", "docs\n"),
            (".gitignore", "x.log\n"),
        ];
        let app = Repo::make(&proj.join("app"), &home, &files);
        app.put("notes.md", "notes, second edition\n");
        app.git(&["commit", "--quiet", "--all", "--message=second"]);
        fs::create_dir_all(app.at("build")).unwrap();
        app.branch_with("other", &[("docs/a.md", "other\n"), ("lib/util.rs", "fn other() {}\n")]);
        app.branch_with("corebr", &[("lib/core.rs", "fn branch() {}\n")]);
        app.git(&["init", "--bare", "--quiet", "../up.git"]);
        app.git(&["remote", "add", "origin", "../up.git"]);
        app.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
        fs::write(proj.join("x"), "outside\n").unwrap();
        fs::write(proj.join("list"), "lib/core.rs\n").unwrap();
        let patch =
            "--- a/lib/core.rs\n+++ b/lib/core.rs\n@@ -1 +1 @@\n-fn core() {}\n+fn patched() {}\n";
        fs::write(proj.join("p.diff"), patch).unwrap();
        Self { proj, _folder: folder }
    }
}
