//! Owns the view on what is kept: newest first, what and whose; and letting old ones go.
//! Must never drop a snapshot that a tree being buried, or an archived row, still needs.

use std::collections::BTreeSet;

use super::REFS;
use crate::git::Git;
use crate::policy::lane::AbsPath;
use crate::worktree::TreeError;

/// One snapshot on the shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name below `refs/octo/keep/`.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// Unix seconds.
    pub at: u64,
    /// What was about to happen.
    pub what: String,
    /// The work tree it is of.
    pub root: Option<String>,
    /// The branch that was checked out there.
    pub branch: Option<String>,
    /// The process that was about to act.
    pub by: Option<String>,
    /// Whose work it is.
    pub owner: Option<String>,
}

/// What is let go.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Seconds after which a snapshot goes.
    pub age: u64,
    /// Snapshots that stay at most.
    pub count: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: 30 * 86_400, count: 2_000 }
    }
}

/// Whether a clean-up is only shown or done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Shown.
    DryRun,
    /// Done.
    Act,
}

/// All snapshots of a repository, newest first.
pub fn list(common: &AbsPath) -> Result<Vec<Item>, TreeError> {
    let format = "--format=%(refname)%00%(objectname)%00%(contents)%00%1e";
    let git = Git::new(common.as_path()).env("GIT_DIR", common.as_path());
    let out = git.run(&["for-each-ref", "--sort=-refname", format, REFS])?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    Ok(text.split('\u{1e}').filter_map(item).collect())
}

fn item(record: &str) -> Option<Item> {
    let mut parts = record.trim_start_matches('\n').split('\0');
    let name = parts.next()?.strip_prefix(REFS)?.to_owned();
    let commit = parts.next()?.to_owned();
    let letter = parts.next()?;
    let line = |key: &str| {
        let value = letter.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(": "));
        value.map(str::to_owned)
    };
    Some(Item {
        at: name.split('-').next()?.parse().ok()?,
        what: letter.lines().next()?.strip_prefix("before ")?.to_owned(),
        root: line("Octo-Root"),
        branch: line("Octo-Branch"),
        by: line("Octo-By"),
        owner: line("Octo-Owner"),
        name,
        commit,
    })
}

/// Lets snapshots go that are older or more than the retention says, but none that is `needed`.
/// Returns those that went (or would go).
pub fn prune(
    common: &AbsPath,
    retention: Retention,
    needed: &BTreeSet<String>,
    now: u64,
    mode: Mode,
) -> Result<Vec<Item>, TreeError> {
    let mut items = list(common)?;
    let mut rank = 0;
    items.retain(|item| {
        rank += 1;
        let old = now.saturating_sub(item.at) > retention.age || rank > retention.count;
        old && !needed.contains(&item.name)
    });
    if mode == Mode::Act && !items.is_empty() {
        let lines: Vec<String> =
            items.iter().map(|i| format!("delete {REFS}{} {}\n", i.name, i.commit)).collect();
        let git = Git::new(common.as_path()).env("GIT_DIR", common.as_path());
        drop(git.input(lines.concat()).run(&["update-ref", "--stdin"])?);
    }
    Ok(items)
}
