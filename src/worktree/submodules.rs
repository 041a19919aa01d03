//! Owns the submodules of a tree: filled from the objects the main checkout already has, and
//! looked through before the tree goes.
//! Must never ask a host while a session waits, and never fail silently: an empty submodule is
//! named.

use std::path::Path;
use std::time::Duration;

use crate::git::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;

/// Nesting that is followed.
const DEPTH: usize = 5;
const LIMIT: Duration = Duration::from_mins(5);

/// Fills the submodules of a fresh tree; returns what the session should know.
#[must_use]
pub fn bring(root: &Root, main: &AbsPath) -> Vec<String> {
    let mut empty = Vec::new();
    fill(root.path.as_path(), main.as_path(), "", DEPTH, &mut empty);
    if empty.is_empty() {
        return Vec::new();
    }
    vec![format!("submodules without local objects are empty: {}", empty.join(", "))]
}

fn fill(tree: &Path, main: &Path, prefix: &str, depth: usize, empty: &mut Vec<String>) {
    for (name, path) in listed(tree) {
        let label = format!("{prefix}{path}");
        let theirs = main.join(&path);
        if depth == 0 || !one(tree, &theirs, &name, &path) {
            empty.push(label);
        } else {
            fill(&tree.join(&path), &theirs, &format!("{label}/"), depth - 1, empty);
        }
    }
}

/// Clones one submodule from the main checkout's, then points it at the real address again.
fn one(tree: &Path, theirs: &Path, name: &str, path: &str) -> bool {
    let Ok(source) = Git::new(theirs).text(&["rev-parse", "--absolute-git-dir"]) else {
        return false;
    };
    // In an empty submodule folder git answers for the repository around it.
    let top = Git::new(theirs).text(&["rev-parse", "--show-toplevel"]).unwrap_or_default();
    if std::fs::canonicalize(theirs).ok() != std::fs::canonicalize(top).ok() {
        return false;
    }
    let url = format!("submodule.{name}.url={source}");
    let git = Git::new(tree).within(LIMIT);
    let allow = "protocol.file.allow=always";
    let args = ["-c", &url, "-c", allow, "submodule", "--quiet", "update", "--init", "--", path];
    let done = git.ask(&args).is_ok_and(|out| out.code == 0);
    if done {
        drop(git.ask(&["submodule", "--quiet", "sync", "--", path]));
    }
    done
}

/// Name and path of each submodule of a checkout.
fn listed(tree: &Path) -> Vec<(String, String)> {
    if std::fs::symlink_metadata(tree.join(".gitmodules")).is_err() {
        return Vec::new();
    }
    let args = ["config", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let Ok(out) = Git::new(tree).run(&args) else { return Vec::new() };
    let pairs = out.fields().filter_map(|f| {
        let (key, path) = f.to_str()?.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some((name.to_owned(), path.to_owned()))
    });
    pairs.collect()
}

/// Submodules of a tree that hold work which goes with the tree: changes, or commits their
/// remotes do not have.
#[must_use]
pub fn with_work(root: &Root) -> Vec<String> {
    let mut found = Vec::new();
    look(root.path.as_path(), "", DEPTH, &mut found);
    found
}

fn look(tree: &Path, prefix: &str, depth: usize, found: &mut Vec<String>) {
    for (_, path) in listed(tree) {
        let dir = tree.join(&path);
        if depth == 0 || std::fs::symlink_metadata(dir.join(".git")).is_err() {
            continue;
        }
        let git = Git::new(&dir);
        let dirty = git.text(&["status", "--porcelain"]).map_or(true, |t| !t.is_empty());
        let args = ["rev-list", "-n1", "HEAD", "--branches", "--reflog", "--not", "--remotes"];
        let own = git.text(&args).map_or(true, |t| !t.is_empty());
        if dirty || own {
            found.push(format!("{prefix}{path}"));
        }
        look(&dir, &format!("{prefix}{path}/"), depth - 1, found);
    }
}
