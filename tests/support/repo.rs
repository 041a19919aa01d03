//! A real git repository of a test: content of files, index and HEAD, as git itself says them.
//! Calls git with the machine's own home and nothing of the developer's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository on the machine, on branch `main` with one commit or more.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    home: PathBuf,
}

impl Repo {
    /// Makes a repository at `root` whose first commit holds `files`.
    pub(crate) fn make(root: &Path, home: &Path, files: &[(&str, &str)]) -> Self {
        fs::create_dir_all(root).unwrap();
        let repo = Self { root: fs::canonicalize(root).unwrap(), home: home.to_path_buf() };
        repo.git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        for (name, content) in files {
            repo.put(name, content);
        }
        repo.git(&["add", "--all"]);
        repo.git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
        repo
    }

    /// A repository that will be made there.
    pub(crate) fn planned(root: &Path, home: &Path) -> Self {
        Self { root: root.to_path_buf(), home: home.to_path_buf() }
    }

    /// A repository that is there already.
    pub(crate) fn open(root: &Path, home: &Path) -> Self {
        Self { root: fs::canonicalize(root).unwrap(), home: home.to_path_buf() }
    }

    /// Makes a branch off main whose one commit sets these files, and returns to main.
    pub(crate) fn branch_with(&self, name: &str, files: &[(&str, &str)]) {
        self.git(&["switch", "--quiet", "--create", name]);
        for (file, content) in files {
            self.put(file, content);
        }
        self.git(&["commit", "--quiet", "--all", "--message", name]);
        self.git(&["switch", "--quiet", "main"]);
    }

    /// A path in the work tree.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file, as a person would.
    pub(crate) fn put(&self, name: &str, content: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A file's content; empty text for a missing one is never returned.
    pub(crate) fn content(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.at(name)).ok()
    }

    /// Runs git and returns its output without the last newline; fails when git does.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let (out, good) = self.try_git(args);
        assert!(good, "git {args:?} in {}: {out}", self.root.display());
        out
    }

    /// Runs git and says whether it went well.
    pub(crate) fn try_git(&self, args: &[&str]) -> (String, bool) {
        let mut git = Command::new("git");
        super::machine::clean(&mut git, &self.home);
        let done = git.arg("-C").arg(&self.root).args(args).output().unwrap();
        let mut out = String::from_utf8_lossy(&done.stdout).into_owned();
        if !done.status.success() {
            out.push_str(&String::from_utf8_lossy(&done.stderr));
        }
        (out.trim_end_matches('\n').to_owned(), done.status.success())
    }

    /// The commit at HEAD.
    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// The branch HEAD is on.
    pub(crate) fn branch(&self) -> String {
        self.git(&["symbolic-ref", "--short", "HEAD"])
    }

    /// What the index holds under `name`: mode, blob, stage. Empty when nothing.
    pub(crate) fn index(&self, name: &str) -> String {
        self.git(&["ls-files", "--stage", "--", name])
    }

    /// Paths whose index entry differs from HEAD, sorted.
    pub(crate) fn staged(&self) -> Vec<String> {
        lines(&self.git(&["diff", "--cached", "--name-only"]))
    }

    /// The files a commit changed, sorted.
    pub(crate) fn changed_by(&self, commit: &str) -> Vec<String> {
        lines(&self.git(&["show", "--format=", "--name-only", commit]))
    }

    /// A file as HEAD has it.
    pub(crate) fn committed(&self, name: &str) -> Option<String> {
        let (text, good) = self.try_git(&["cat-file", "-p", &format!("HEAD:{name}")]);
        good.then_some(text)
    }

    /// `git status` in short form, one entry a line.
    pub(crate) fn status(&self) -> Vec<String> {
        lines(&self.git(&["status", "--short", "--untracked-files=all"]))
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
