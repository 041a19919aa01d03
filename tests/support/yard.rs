//! A machine with one repository, sessions played there, and a person who types commands: the
//! stage of the tests about worktrees.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::machine::Machine;
use super::puppet::Puppet;
use super::reply::{Reply, Verdict};
use super::repo::Repo;

/// A machine, one repository, and what is done there.
pub(crate) struct Yard {
    pub(crate) machine: Machine,
    pub(crate) repo: Repo,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let machine = Machine::new();
        let files =
            [("a.txt", "a\n"), ("b.txt", "b\n"), ("lib/c.rs", "c\n"), (".gitignore", ".env\n")];
        let repo = machine.repo("app", &files);
        Self { machine, repo }
    }

    /// A machine without a repository, for a script that makes one called `app`.
    pub(crate) fn scripted(name: &str) -> Self {
        let machine = Machine::new();
        let folder = machine.home.join("proj");
        fs::create_dir_all(&folder).unwrap();
        let root = folder.join("app");
        let place = Self { repo: Repo::planned(&root, &machine.home), machine };
        place.script(name, &[]);
        place
    }

    pub(crate) fn session(&self, id: &str) -> Puppet<'_> {
        let session = self.machine.session(id, &self.repo.root);
        session.start();
        session
    }

    pub(crate) fn tree(&self, id: &str) -> PathBuf {
        self.machine.home.join(".octorato/arm/app").join(id)
    }

    /// A person's command in a folder: no session is among its ancestors.
    pub(crate) fn octo(&self, folder: &Path, words: &[&str]) -> Reply {
        self.person("octo", folder, words)
    }

    pub(crate) fn person(&self, program: &str, folder: &Path, words: &[&str]) -> Reply {
        let mut command = self.machine.command("setsid");
        // It begins when the program that forked it has ended, and with it its way up to this
        // test, which is a client to the hooks that it starts.
        let line = r#"while read -r s 2>/dev/null < /proc/$PPID/stat; do
            case $s in *"(setsid) Z"*) break;; *"(setsid)"*) sleep 0.01;; *) break;; esac
        done; "$0" "$@"; echo "code $?" >&2"#;
        let program = self.machine.bin.join(program);
        let command = command.args(["--fork", "sh", "-c", line]).arg(program).args(words);
        let mut reply: Reply = command.current_dir(folder).output().unwrap().into();
        let (rest, code) = reply.stderr.rsplit_once("code ").unwrap();
        reply.code = code.trim().parse().ok();
        reply.stderr = rest.to_owned();
        reply
    }

    pub(crate) fn init(&self, id: &str) -> Reply {
        let root = self.repo.root.to_str().unwrap();
        let words = ["--session-id", id, "worktree-init", "--repo", root];
        self.person("octo-dim", &self.repo.root, &words)
    }

    /// What a person's command says as JSON.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let said = self.octo(&self.repo.root, words);
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("no JSON: {said:?}"))
    }

    /// A tree as `octo worktree list` shows it.
    #[track_caller]
    pub(crate) fn listed(&self, id: &str) -> Value {
        let all = self.json(&["worktree", "list", "--all", "--json"]);
        let found = all["trees"].as_array().unwrap().iter().find(|tree| tree["id"] == id).cloned();
        found.unwrap_or_else(|| panic!("no {id} in {all}"))
    }

    /// The snapshots of the repository, newest first.
    pub(crate) fn keeps(&self) -> Vec<Value> {
        self.json(&["keep", "list", "--json"])["keeps"].as_array().unwrap().clone()
    }

    /// Makes a tree for a session and returns where it lies.
    #[track_caller]
    pub(crate) fn made(&self, id: &str) -> PathBuf {
        let made = self.init(id);
        assert_eq!(made.code, Some(0), "{made:?}");
        PathBuf::from(made.stdout.trim())
    }

    /// Runs a script of `fixtures/repos` in the folder of the repositories.
    #[track_caller]
    pub(crate) fn script(&self, name: &str, words: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repos").join(name);
        let mut shell = self.machine.command("sh");
        shell.arg(script).args(words).current_dir(self.repo.root.parent().unwrap());
        let reply: Reply = shell.output().unwrap().into();
        assert_eq!(reply.code, Some(0), "{name} {words:?}: {reply:?}");
        reply.stdout
    }
}

/// The words of a refusal.
#[track_caller]
pub(crate) fn reason(reply: &Reply) -> String {
    match reply.verdict() {
        Verdict::Deny(reason) => reason,
        Verdict::Pass => panic!("it passed"),
    }
}
