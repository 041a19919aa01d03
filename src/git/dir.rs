//! Owns what a git directory's own files say: whether it is one, whose refs and objects it uses,
//! where its work tree lies. Each file is read once. Never looks at a work tree.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::paths::{Follow, canonical};
use crate::policy::lane::AbsPath;

/// A git directory and what its files say, read once.
pub(super) struct GitDir {
    /// Where it lies.
    pub(super) path: AbsPath,
    /// A linked tree's: refs, objects and settings are the common directory's.
    pub(super) linked: bool,
    /// Its settings, as far as they matter here.
    pub(super) config: Config,
}

/// What a directory is to git.
pub(super) enum Opened {
    /// A git directory.
    GitDir(GitDir),
    /// None.
    NoGitDir,
    /// Nobody can tell: it may not be looked into.
    Closed,
}

/// git's own test: HEAD, refs and objects (the latter two in the common directory).
pub(super) fn opened(path: AbsPath) -> Opened {
    match std::fs::symlink_metadata(path.join("HEAD").as_path()) {
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::PermissionDenied => return Opened::Closed,
        Err(_) => return Opened::NoGitDir,
    }
    let pointed = std::fs::read(path.join("commondir").as_path());
    let linked = pointed.as_ref().map_or_else(|e| e.kind() != ErrorKind::NotFound, |_| true);
    let common = pointed.ok().and_then(|bytes| pointed_to(&path, &bytes));
    let base = common.as_ref().unwrap_or(&path);
    let has = |name: &str| std::fs::symlink_metadata(base.join(name).as_path()).is_ok();
    if !has("objects") || !has("refs") {
        return Opened::NoGitDir;
    }
    // A linked tree's own kind hangs on pointers alone.
    let config = if linked { Config::default() } else { Config::of(&path) };
    Opened::GitDir(GitDir { path, linked, config })
}

/// Whether it is a git directory at all.
pub(super) fn is_git_dir(dir: &AbsPath) -> bool {
    matches!(opened(dir.clone()), Opened::GitDir(_))
}

/// The common directory, where its pointer can be read.
pub(super) fn common_of(git_dir: &AbsPath) -> Option<AbsPath> {
    pointed_to(git_dir, &std::fs::read(git_dir.join("commondir").as_path()).ok()?)
}

/// The directory that a git directory's pointer file names; relative names start there.
fn pointed_to(git_dir: &AbsPath, bytes: &[u8]) -> Option<AbsPath> {
    canonical(git_dir.as_path().join(named(bytes)?), Follow::All)
}

/// The path in a pointer file.
pub(super) fn named(bytes: &[u8]) -> Option<&Path> {
    let text = bytes.trim_ascii();
    (!text.is_empty()).then(|| Path::new(OsStr::from_bytes(text)))
}

/// The settings that decide whether and where there is a work tree.
#[derive(Default)]
pub(super) struct Config {
    /// There is no work tree.
    pub(super) bare: bool,
    /// It lies there.
    pub(super) worktree: Option<PathBuf>,
    /// `config.worktree` counts too.
    own_file: bool,
}

impl Config {
    /// Reads them.
    pub(super) fn of(git_dir: &AbsPath) -> Self {
        let mut config = Self::default();
        config.add(git_dir, "config");
        // As git does: named by the first file, it is read after it.
        if config.own_file {
            config.add(git_dir, "config.worktree");
        }
        config
    }

    fn add(&mut self, git_dir: &AbsPath, name: &str) {
        if let Ok(bytes) = std::fs::read(git_dir.join(name).as_path()) {
            self.read(&String::from_utf8_lossy(&bytes));
        }
    }

    fn read(&mut self, text: &str) {
        let (mut core, mut extensions) = (false, false);
        for line in text.lines().map(str::trim) {
            let line = match line.strip_prefix('[').and_then(|l| l.split_once(']')) {
                Some((section, rest)) => {
                    core = section.trim().eq_ignore_ascii_case("core");
                    extensions = section.trim().eq_ignore_ascii_case("extensions");
                    rest.trim()
                }
                None => line,
            };
            if !core && !extensions || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = line.split_once('=').map_or((line, "true"), |(k, v)| (k, v));
            let value = value.trim();
            let on = matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1");
            match key.trim().to_ascii_lowercase().as_str() {
                "bare" if core => self.bare = on,
                "worktree" if core => self.worktree = Some(PathBuf::from(value.trim_matches('"'))),
                "worktreeconfig" if extensions => self.own_file = on,
                _ => {}
            }
        }
    }
}
