//! Owns the proofs of the worktree parts against real git: a bench with a repository, a register
//! in a file (so that a killed child leaves one), and one module per part.
//! Must never stand in for git or the file system.

use std::path::Path;
use std::sync::Mutex;

use super::plan::{Request, Via};
use super::row::Record;
use super::{
    Claim, Context, Job, Jobs, Layout, Places, Ports, Prefs, Registry, RegistryError, Start,
    TreeRow, User, apply,
};
use crate::git::{Follow, Git, canonical};
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::What;

mod create;
mod keeping;
mod landing;
mod reaping;
mod walk;

/// A register in a file.
pub(super) struct FileRegistry {
    file: AbsPath,
    pub(super) users: Mutex<Vec<(AbsPath, User)>>,
    pub(super) claims: Mutex<Vec<Claim>>,
}

impl FileRegistry {
    fn change<T>(&self, f: impl FnOnce(&mut Vec<Record>) -> T) -> T {
        let lock = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(format!("{}.lock", self.file))
            .unwrap();
        lock.lock().unwrap();
        let text = std::fs::read_to_string(self.file.as_path()).unwrap_or_else(|_| "[]".into());
        let mut rows: Vec<Record> = serde_json::from_str(&text).unwrap();
        let out = f(&mut rows);
        let temp = format!("{}.new", self.file);
        std::fs::write(&temp, serde_json::to_string(&rows).unwrap()).unwrap();
        std::fs::rename(temp, self.file.as_path()).unwrap();
        out
    }
}

impl Registry for FileRegistry {
    fn rows(&self, common: Option<&AbsPath>) -> Result<Vec<TreeRow>, RegistryError> {
        let mut rows = Vec::new();
        self.change(|all| {
            let text = serde_json::to_string(all).unwrap();
            let copies: Vec<Record> = serde_json::from_str(&text).unwrap();
            rows = copies.into_iter().filter_map(Record::row).collect();
        });
        rows.retain(|r| common.is_none_or(|c| r.common == *c));
        Ok(rows)
    }

    fn put(&self, row: &TreeRow) -> Result<(), RegistryError> {
        self.change(|all| {
            all.retain(|r| r.path() != row.path.as_path());
            all.push(Record::from(row));
        });
        Ok(())
    }

    fn forget(&self, path: &AbsPath) -> Result<(), RegistryError> {
        self.change(|all| all.retain(|r| r.path() != path.as_path()));
        Ok(())
    }

    fn ports(
        &self,
        path: &AbsPath,
        count: u16,
        free: &dyn Fn(u16) -> bool,
    ) -> Result<Option<Ports>, RegistryError> {
        // Held rows are what `put` last wrote, so a block is reserved here at once.
        Ok(self.change(|all| {
            let taken: Vec<Ports> = all.iter().filter_map(Record::ports).collect();
            let block = super::ports::block(&taken, count, free)?;
            all.iter_mut().filter(|r| r.path() == path.as_path()).for_each(|r| r.give(block));
            Some(block)
        }))
    }

    fn users(&self, root: &AbsPath) -> Result<Vec<User>, RegistryError> {
        let users = self.users.lock().unwrap();
        Ok(users.iter().filter(|(at, _)| at == root).map(|(_, u)| u.clone()).collect())
    }

    fn heard(&self, _: &Pid) -> Result<Option<u64>, RegistryError> {
        Ok(None)
    }

    fn claims(&self, root: &AbsPath) -> Result<Vec<Claim>, RegistryError> {
        let claims = self.claims.lock().unwrap();
        Ok(claims.iter().filter(|c| c.path.within(root)).cloned().collect())
    }

    fn sent(&self, _: &Pid, _: &AbsPath, _: &AbsPath) -> Result<(), RegistryError> {
        Ok(())
    }

    fn recalled(&self, _: &Pid, _: &AbsPath) -> Result<(), RegistryError> {
        Ok(())
    }

    fn tell(&self, _session: &Pid, _text: &str) {}

    fn note(&self, _session: &Pid, _what: What, _text: &str) {}
}

/// Nothing is detached: everything happens in the call.
pub(super) struct Inline;

impl Jobs for Inline {
    fn detach(&self, _job: Job<'_>) -> bool {
        false
    }
}

/// A machine with one repository, `main`, and a register.
pub(super) struct Bench {
    held: Option<tempfile::TempDir>,
    pub(super) top: AbsPath,
    pub(super) main: AbsPath,
    pub(super) registry: FileRegistry,
    pub(super) places: Places,
    pub(super) prefs: Prefs,
    pub(super) now: u64,
}

impl Bench {
    /// A repository with one commit: `a.txt`, `b.txt`, `src/x.rs`, `.gitignore`.
    pub(super) fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let top = canonical(tmp.path(), Follow::All).unwrap();
        let mut bench = Self::at(&top);
        bench.held = Some(tmp);
        let main = bench.main.clone();
        std::fs::create_dir_all(main.join("src").as_path()).unwrap();
        git(&top, &["init", "-q", "-b", "main", "app"]);
        git(&main, &["config", "user.name", "dev"]);
        git(&main, &["config", "user.email", "dev@example.org"]);
        git(&main, &["config", "commit.gpgsign", "false"]);
        git(&main, &["config", "core.fsync", "none"]);
        write(&main, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
        write(&main, "b.txt", "b\n");
        write(&main, "src/x.rs", "fn x() {}\n");
        write(&main, ".gitignore", ".env*\nnode_modules/\nlogs/\n");
        git(&main, &["add", "-A"]);
        git(&main, &["commit", "-q", "-m", "first"]);
        bench
    }

    /// The machine that lies in this folder.
    pub(super) fn at(top: &AbsPath) -> Self {
        Self {
            held: None,
            top: top.clone(),
            main: top.join("app"),
            registry: FileRegistry {
                file: top.join("register.json"),
                users: Mutex::default(),
                claims: Mutex::default(),
            },
            places: Places {
                trees: top.join("octorato"),
                brain: top.join("claude"),
                papers: top.join("papers"),
                layout: Layout::Home,
            },
            prefs: Prefs { floor: 0, ..Prefs::default() },
            now: 1_800_000_000,
        }
    }

    pub(super) fn ctx(&self) -> Context<'_> {
        Context {
            registry: &self.registry,
            jobs: &Inline,
            places: &self.places,
            prefs: &self.prefs,
            now: self.now,
        }
    }

    pub(super) fn request(&self, session: &str) -> Request {
        Request {
            session: Pid::new(session).unwrap(),
            name: None,
            from: self.main.clone(),
            via: Via::Command,
            start: Start::Head,
            branch: None,
        }
    }

    /// The session's tree, made if need be.
    pub(super) fn tree(&self, session: &str) -> TreeRow {
        let made = apply::create(&self.ctx(), &self.request(session)).unwrap();
        assert_eq!(made.row.state, super::State::Ready, "{:?}", made.row);
        made.row
    }

    pub(super) fn row(&self, id: &str) -> TreeRow {
        self.registry.rows(None).unwrap().into_iter().find(|r| r.id == id).unwrap()
    }
}

pub(super) fn git(dir: &AbsPath, args: &[&str]) -> String {
    let git = Git::new(dir.as_path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.text(args).unwrap_or_else(|e| panic!("{e}"))
}

pub(super) fn write(dir: &AbsPath, path: &str, text: &str) {
    let file = dir.join(path);
    std::fs::create_dir_all(file.as_path().parent().unwrap()).unwrap();
    std::fs::write(file.as_path(), text).unwrap();
}

pub(super) fn read(dir: &AbsPath, path: &str) -> String {
    std::fs::read_to_string(dir.join(path).as_path()).unwrap_or_default()
}

pub(super) fn exists(path: impl AsRef<Path>) -> bool {
    path.as_ref().symlink_metadata().is_ok()
}

/// Runs one test of this binary in a process of its own, told to die at a point. Returns whether
/// it was killed there.
pub(super) fn die_at(test: &str, point: &str, top: &AbsPath) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env("OCTO_TEST_DIE_AT", point)
        .env("OCTO_TEST_TOP", top.as_path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    status.signal() == Some(9)
}

/// The folder a child of `die_at` works in; none in an ordinary test run.
pub(super) fn child_top() -> Option<AbsPath> {
    AbsPath::new(std::env::var_os("OCTO_TEST_TOP")?)
}
