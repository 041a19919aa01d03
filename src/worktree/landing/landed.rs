//! Owns the question whether a branch's work is on a target: by history, or by content when it
//! was squashed, rebased or picked.
//! Must never say yes on a guess: what it says yes to may be removed.

use std::collections::BTreeSet;
use std::fmt;

use super::merge::{self, Merged};
use super::target::is_ancestor;
use crate::git::Git;
use crate::worktree::{TreeError, facts};

/// Commits of a target that are compared one by one.
const COMPARED: &str = "--max-count=500";

/// How it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// There is no commit beyond the base.
    Nothing,
    /// The target's history holds the tip.
    History,
    /// Merging it would change nothing.
    SameContent,
    /// Each of its commits is there as another commit.
    Picked,
    /// One commit there is all of its commits in one.
    Squashed,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "no commit beyond its base",
            Self::History => "merged",
            Self::SameContent => "merging it would change nothing",
            Self::Picked => "each of its commits is there",
            Self::Squashed => "squashed into one commit",
        })
    }
}

/// Whether the work between `base` and `tip` is in `target`.
pub fn in_target(git: &Git, tip: &str, base: &str, target: &str) -> Result<Option<How>, TreeError> {
    if is_ancestor(git, tip, target) {
        return Ok(Some(if tip == base { How::Nothing } else { How::History }));
    }
    let Some(fork) = merge_base(git, tip, target)? else { return Ok(None) };
    if let Merged::Clean(tree) = merge::compute(git, target, tip)?
        && facts_tree(git, target)? == tree
        && changes(git, &fork, tip)?
    {
        return Ok(Some(How::SameContent));
    }
    let cherry = git.text(&["cherry", target, tip])?;
    let mut lines = cherry.lines().peekable();
    if lines.peek().is_some() && lines.all(|l| l.starts_with('-')) && !merges(git, target, tip)? {
        return Ok(Some(How::Picked));
    }
    Ok(if squashed(git, &fork, tip, target)? { Some(How::Squashed) } else { None })
}

/// Whether it is in any of the branches that count: its target, and what is published.
pub fn anywhere(
    git: &Git,
    tip: &str,
    base: &str,
    target: Option<&str>,
) -> Result<Option<(String, How)>, TreeError> {
    let local = target.map(|t| format!("refs/heads/{t}"));
    let published = facts::default_of(git).and_then(|t| t.branch);
    let remote = published.map(|b| format!("refs/remotes/{b}"));
    for name in local.into_iter().chain(remote) {
        let Some(commit) = facts::commit_of(git, &name) else { continue };
        if let Some(how) = in_target(git, tip, base, &commit)? {
            return Ok(Some((name, how)));
        }
    }
    Ok(None)
}

fn merge_base(git: &Git, a: &str, b: &str) -> Result<Option<String>, TreeError> {
    let out = git.ask(&["merge-base", a, b])?;
    Ok((out.code == 0).then(|| out.text()).filter(|t| !t.is_empty()))
}

fn facts_tree(git: &Git, commit: &str) -> Result<String, TreeError> {
    Ok(git.text(&["rev-parse", &format!("{commit}^{{tree}}")])?)
}

/// A branch whose commits undo each other changes nothing and proves nothing.
fn changes(git: &Git, fork: &str, tip: &str) -> Result<bool, TreeError> {
    Ok(facts_tree(git, fork)? != facts_tree(git, tip)?)
}

/// `git cherry` passes merges over, so with one it cannot speak for all of the work.
fn merges(git: &Git, target: &str, tip: &str) -> Result<bool, TreeError> {
    let range = format!("{target}..{tip}");
    Ok(!git.text(&["rev-list", "-n1", "--merges", &range])?.is_empty())
}

/// One commit of the target has the same patch as the whole branch.
fn squashed(git: &Git, fork: &str, tip: &str, target: &str) -> Result<bool, TreeError> {
    let whole = git.run(&["diff", "--no-ext-diff", "--no-textconv", fork, tip])?.stdout;
    let mine = patch_ids(git, whole)?;
    if mine.is_empty() {
        return Ok(false);
    }
    let range = format!("{fork}..{target}");
    let args = ["log", "-p", "--no-merges", "--no-ext-diff", "--no-textconv", COMPARED, &range];
    let theirs = patch_ids(git, git.run(&args)?.stdout)?;
    Ok(mine.iter().all(|id| theirs.contains(id)))
}

fn patch_ids(git: &Git, patches: Vec<u8>) -> Result<BTreeSet<String>, TreeError> {
    let out = git.clone().input(patches).text(&["patch-id", "--stable"])?;
    Ok(out.lines().filter_map(|l| l.split(' ').next()).map(str::to_owned).collect())
}
