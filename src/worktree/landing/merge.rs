//! Owns the merge that happens in no checkout: a tree computed from two commits, or the places
//! where they disagree.
//! Must never write a ref, an index or a file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Source;
use crate::git::{Git, GitError};
use crate::worktree::TreeError;

/// Lines of a conflict that are shown.
const SHOWN: usize = 40;

/// What a merge comes to.
#[derive(Debug)]
#[must_use]
pub enum Merged {
    /// This tree.
    Clean(String),
    /// These disagreements.
    Conflict(Vec<Conflict>),
}

/// A file two sides disagree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Below the root.
    pub path: PathBuf,
    /// What kind of disagreement, in git's words.
    pub why: String,
    /// The disagreeing parts, each with its first line's number.
    pub hunks: Vec<(usize, String)>,
}

/// Merges `theirs` into `ours` off to the side.
pub fn compute(git: &Git, ours: &str, theirs: &str) -> Result<Merged, TreeError> {
    let args = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs];
    let out = git.ask(&args)?;
    let mut parts = out.stdout.split(|b| *b == 0);
    let tree = String::from_utf8_lossy(parts.next().unwrap_or_default()).trim().to_owned();
    match out.code {
        0 => Ok(Merged::Clean(tree)),
        1 => Ok(Merged::Conflict(conflicts(git, &tree, parts)?)),
        code => Err(TreeError::Git(GitError {
            kind: crate::git::run::Failure::Exit(code),
            call: format!("git merge-tree {ours} {theirs}"),
            dir: PathBuf::new(),
            message: out.stderr,
        })),
    }
}

fn conflicts<'a>(
    git: &Git,
    tree: &str,
    mut parts: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<Conflict>, TreeError> {
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    for entry in parts.by_ref().take_while(|p| !p.is_empty()) {
        if let Some(at) = entry.iter().position(|b| *b == b'\t') {
            let path = OsStr::from_bytes(entry.get(at + 1..).unwrap_or_default());
            files.entry(PathBuf::from(path)).or_default();
        }
    }
    // Then messages: how many paths, the paths, the kind, the words.
    while let Some(count) = parts.next().and_then(|c| std::str::from_utf8(c).ok()?.parse().ok()) {
        let count: usize = count;
        let paths: Vec<PathBuf> =
            parts.by_ref().take(count).map(|p| PathBuf::from(OsStr::from_bytes(p))).collect();
        let kind = parts.next().unwrap_or_default();
        let words = String::from_utf8_lossy(parts.next().unwrap_or_default()).trim().to_owned();
        if kind.starts_with(b"CONFLICT") {
            for path in paths {
                files.entry(path).and_modify(|why| why.clone_from(&words));
            }
        }
    }
    files
        .into_iter()
        .map(|(path, why)| Ok(Conflict { hunks: hunks(git, tree, &path)?, path, why }))
        .collect()
}

/// The parts between conflict markers of the merged file.
fn hunks(git: &Git, tree: &str, path: &std::path::Path) -> Result<Vec<(usize, String)>, TreeError> {
    let mut spec = std::ffi::OsString::from(format!("{tree}:"));
    spec.push(path);
    let args: [&OsStr; 3] = ["cat-file".as_ref(), "blob".as_ref(), &spec];
    let out = git.ask(&args)?;
    if out.code != 0 || out.stdout.contains(&0) {
        return Ok(Vec::new());
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut hunks = Vec::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("<<<<<<< ") {
            open = Some((number + 1, Vec::new()));
        }
        if let Some((_, lines)) = &mut open
            && lines.len() < SHOWN
        {
            lines.push(line);
        }
        if line.starts_with(">>>>>>> ")
            && let Some((first, lines)) = open.take()
        {
            hunks.push((first, lines.join("\n")));
        }
    }
    Ok(hunks)
}

/// The merge commit: the target first, so that its first-parent line stays its own.
pub fn commit(
    git: &Git,
    tree: &str,
    old: &str,
    source: &Source,
    target: &str,
) -> Result<String, TreeError> {
    let text = format!("Merge branch '{}' into {target}\n", source.branch);
    let args = ["commit-tree", tree, "-p", old, "-p", &source.tip];
    Ok(git.clone().input(text).text(&args)?)
}
