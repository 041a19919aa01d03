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

const DAY: u64 = 86_400;

/// What is let go.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Seconds after which a snapshot goes.
    pub age: u64,
    /// Snapshots that stay at most.
    pub count: usize,
    /// Bytes of objects that nothing but snapshots holds.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: 30 * DAY, count: 2_000, bytes: 1 << 30 }
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

/// Lets snapshots go that are older, more or larger than the retention says, but none that is
/// `needed`, and of the last day only those that are too many. Returns those that went (or would
/// go).
pub fn prune(
    common: &AbsPath,
    retention: Retention,
    needed: &BTreeSet<String>,
    now: u64,
    mode: Mode,
) -> Result<Vec<Item>, TreeError> {
    let mut items = list(common)?;
    let held = within(common, &items, retention.bytes)?;
    let mut rank = 0;
    items.retain(|item| {
        rank += 1;
        let age = now.saturating_sub(item.at);
        let old = age > retention.age || rank > retention.count || rank > held && age > DAY;
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

/// How many of the newest snapshots together hold no more than `limit` bytes of their own.
fn within(common: &AbsPath, items: &[Item], limit: u64) -> Result<usize, TreeError> {
    let (mut fits, mut over) = (0, items.len() + 1);
    let mut count = items.len();
    while over - fits > 1 {
        if bytes_of(common, items.get(..count).unwrap_or(items))? > limit {
            over = count;
        } else {
            fits = count;
        }
        count = usize::midpoint(fits, over);
    }
    Ok(fits)
}

/// Bytes on the disk of what only these snapshots hold.
fn bytes_of(common: &AbsPath, items: &[Item]) -> Result<u64, TreeError> {
    if items.is_empty() {
        return Ok(0);
    }
    let mut lines: String = items.iter().flat_map(|i| [i.commit.as_str(), "\n"]).collect();
    lines.push_str("--not\n--branches\n--remotes\n--tags\n");
    let git = Git::new(common.as_path()).env("GIT_DIR", common.as_path()).input(lines);
    let text = git.text(&["rev-list", "--objects", "--disk-usage", "--stdin"])?;
    Ok(text.trim().parse().unwrap_or(0))
}
