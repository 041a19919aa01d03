//! What only git can tell, asked outside the transaction and remembered for the next try: is a
//! path clean, what is staged, which commit is at HEAD, what a stash entry is.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use crate::git::run::Git;
use crate::kernel::store::Identity;
use crate::policy::facts::{Root, StashUse};
use crate::policy::lane::AbsPath;

/// How long git may take for one question.
const PATIENCE: Duration = Duration::from_secs(3);
/// More paths than this are asked for as a whole tree.
const MOST_PATHS: usize = 400;

/// A question for git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Which of these paths still differ from HEAD.
    Clean(AbsPath, Vec<AbsPath>),
    /// What is staged.
    Staged(AbsPath),
    /// Which commit is at HEAD.
    Head(AbsPath),
    /// Which commit a stash entry is.
    Stash(AbsPath, StashUse),
}

/// Answers so far.
#[derive(Debug, Default)]
pub struct Asked {
    clean: HashMap<AbsPath, (Identity, Cleanliness)>,
    staged: HashMap<AbsPath, Option<Vec<AbsPath>>>,
    heads: HashMap<AbsPath, Option<String>>,
    stashes: HashMap<(AbsPath, String), Vec<String>>,
}

/// Whether a path differs from HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanliness {
    /// As committed, or not there and not in HEAD.
    Clean,
    /// It differs, or nobody knows.
    Dirty,
}

fn entry_name(take: &StashUse) -> String {
    match take {
        StashUse::Take(None) => "stash@{0}".to_owned(),
        StashUse::Take(Some(name)) if name.bytes().all(|b| b.is_ascii_digit()) => {
            format!("stash@{{{name}}}")
        }
        StashUse::Take(Some(name)) => name.clone(),
        StashUse::Clear => String::new(),
    }
}

impl Asked {
    /// Whether a path is clean, if that was asked and the path has not changed since.
    #[must_use]
    pub fn clean(&self, path: &AbsPath) -> Option<Cleanliness> {
        let (identity, answer) = self.clean.get(path)?;
        (*identity == Identity::of(path)).then_some(*answer)
    }

    /// What is staged in a root: `None` = not asked, `Some(None)` = unreadable.
    #[must_use]
    pub fn staged(&self, root: &AbsPath) -> Option<&Option<Vec<AbsPath>>> {
        self.staged.get(root)
    }

    /// The commit at HEAD: `None` = not asked, `Some(None)` = none.
    #[must_use]
    pub fn head(&self, root: &AbsPath) -> Option<&Option<String>> {
        self.heads.get(root)
    }

    /// The commits of the stash entries a verb would take: `None` = not asked.
    #[must_use]
    pub fn stash(&self, root: &AbsPath, take: &StashUse) -> Option<&[String]> {
        self.stashes.get(&(root.clone(), entry_name(take))).map(Vec::as_slice)
    }

    /// Asks git and remembers.
    pub fn ask(&mut self, need: &Need) {
        match need {
            Need::Clean(root, paths) => self.ask_clean(root, paths),
            Need::Staged(root) => {
                let paths = staged(root);
                self.staged.insert(root.clone(), paths);
            }
            Need::Head(root) => {
                self.heads.insert(root.clone(), head(root));
            }
            Need::Stash(root, take) => {
                let name = entry_name(take);
                let git = Git::new(root.as_path()).within(PATIENCE);
                let text = match take {
                    StashUse::Take(_) => {
                        git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])
                    }
                    StashUse::Clear => git.text(&["stash", "list", "--format=%H"]),
                };
                let entries = text.unwrap_or_default().lines().map(str::to_owned).collect();
                self.stashes.insert((root.clone(), name), entries);
            }
        }
    }

    fn ask_clean(&mut self, root: &AbsPath, paths: &[AbsPath]) {
        let before: Vec<_> = paths.iter().map(|p| (p.clone(), Identity::of(p))).collect();
        let dirty = dirty(root, paths);
        for (path, identity) in before {
            let answer = match &dirty {
                Some(dirty) if !dirty.iter().any(|d| d.overlaps(&path)) => Cleanliness::Clean,
                Some(_) | None => Cleanliness::Dirty,
            };
            self.clean.insert(path, (identity, answer));
        }
    }
}

/// The commit at HEAD.
fn head(root: &AbsPath) -> Option<String> {
    let git = Git::new(root.as_path()).within(PATIENCE);
    git.text(&["rev-parse", "--verify", "--quiet", "HEAD"]).ok()
}

/// HEAD and the top of the stash as they stand, read from git's own files.
#[must_use]
pub fn tips(root: &Root) -> Tips {
    let head = fs::read_to_string(root.git_dir.join("HEAD").as_path()).ok();
    let head = head.and_then(|text| match text.trim().strip_prefix("ref: ") {
        Some(name) => reference(&root.common, name),
        None => Some(text.trim().to_owned()),
    });
    Tips { head, stash: reference(&root.common, "refs/stash") }
}

/// What two refs point at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tips {
    /// HEAD's commit.
    pub head: Option<String>,
    /// The stash's top entry.
    pub stash: Option<String>,
}

fn reference(common: &AbsPath, name: &str) -> Option<String> {
    if let Ok(text) = fs::read_to_string(common.join(name).as_path()) {
        return Some(text.trim().to_owned());
    }
    let packed = fs::read_to_string(common.join("packed-refs").as_path()).ok()?;
    packed.lines().find_map(|line| {
        let (sha, its) = line.split_once(' ')?;
        (its == name).then(|| sha.to_owned())
    })
}

fn staged(root: &AbsPath) -> Option<Vec<AbsPath>> {
    let git = Git::new(root.as_path()).within(PATIENCE);
    let args = ["diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
    let out = git.ask(&args).ok()?;
    Some(out.fields().map(|name| root.join(name)).collect())
}

/// The paths among `paths` (or below them) that differ from HEAD, untracked ones included, ignored
/// ones not. `None` when git does not answer.
#[must_use]
pub fn dirty(root: &AbsPath, paths: &[AbsPath]) -> Option<HashSet<AbsPath>> {
    let mut args: Vec<OsString> = [
        "--literal-pathspecs",
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
        "--",
    ]
    .map(OsString::from)
    .to_vec();
    if paths.len() <= MOST_PATHS {
        args.extend(paths.iter().map(|p| p.as_path().as_os_str().to_owned()));
    }
    let git = Git::new(root.as_path()).within(PATIENCE);
    let out = git.ask(&args).ok()?;
    let mut dirty = HashSet::new();
    for field in out.fields() {
        let bytes = field.as_encoded_bytes();
        let name = bytes.get(3..)?;
        let name = std::path::Path::new(std::ffi::OsStr::new(std::str::from_utf8(name).ok()?));
        dirty.insert(root.join(name));
    }
    Some(dirty)
}

/// Whether a commit in this root runs hooks that stash and restore the whole tree.
#[must_use]
pub fn sweeps(root: &Root) -> bool {
    let hooks = [
        root.common.join("hooks/pre-commit"),
        root.path.join(".husky/pre-commit"),
        root.path.join(".githooks/pre-commit"),
    ];
    hooks.iter().any(|hook| {
        fs::metadata(hook.as_path()).is_ok_and(|m| m.is_file() && m.len() < 64 * 1024)
            && fs::read_to_string(hook.as_path()).is_ok_and(|text| {
                ["pre-commit.com", "pre_commit", "lint-staged", "git stash"]
                    .iter()
                    .any(|mark| text.contains(mark))
            })
    })
}

/// Whether a merge, rebase, cherry-pick, revert, am or bisect is under way.
#[must_use]
pub fn under_way(git_dir: &AbsPath, operation: &str) -> bool {
    let marks: &[&str] = match operation {
        "merge" => &["MERGE_HEAD"],
        "rebase" => &["rebase-merge", "rebase-apply"],
        "am" => &["rebase-apply"],
        "cherry-pick" => &["CHERRY_PICK_HEAD", "sequencer"],
        "revert" => &["REVERT_HEAD", "sequencer"],
        "bisect" => &["BISECT_LOG"],
        _ => &[],
    };
    marks.iter().any(|mark| fs::symlink_metadata(git_dir.join(mark).as_path()).is_ok())
}
