//! Owns the moving of the target: by compare-and-swap where nobody has it checked out, by
//! fast-forward of that checkout where somebody has.
//! Must never move a branch under a checkout (that stages a reversal there), nor a checkout whose
//! dirty files, lanes or custody meet what changes.

use std::time::Duration;

use super::commit::under_way;
use super::request::{self, Wanted};
use super::{Outcome, Source};
use crate::git::{self, Git, GitError, Head, Tree, discover::Standing, run::Failure};
use crate::policy::facts::Root;
use crate::policy::lane::{AbsPath, Pid};
use crate::worktree::fault::point;
use crate::worktree::{Context, TreeError, TreeRow, facts};

const PUSH: Duration = Duration::from_mins(2);

/// A move of a branch.
#[derive(Debug)]
pub struct Step<'a> {
    /// The branch.
    pub target: &'a str,
    /// Where it must still be.
    pub old: &'a str,
    /// Where it goes.
    pub new: &'a str,
}

/// What came of a move.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Advance {
    /// It is there.
    Done,
    /// Somebody else moved it first: compute anew.
    Moved,
    /// Its checkout must not move, for this reason.
    Blocked(String),
}

/// Moves the target, in the way its checkouts allow.
pub fn advance(
    ctx: &Context<'_>,
    row: &TreeRow,
    by: &Pid,
    step: &Step<'_>,
) -> Result<Advance, TreeError> {
    let trees = git::worktrees(&row.common);
    if let Some(tree) = trees.iter().find(|t| rebases(&t.git_dir, step.target)) {
        return Ok(Advance::Blocked(format!(
            "a rebase of {} is under way in {}",
            step.target, tree.path
        )));
    }
    let has =
        |t: &&Tree| t.head == Head::Branch(step.target.to_owned()) && t.standing == Standing::Whole;
    let mut holders = trees.iter().filter(has);
    let moved = match (holders.next(), holders.next()) {
        (None, _) => swap(&row.main, step)?,
        (Some(tree), None) => checkout(ctx, row, by, tree, step)?,
        (Some(one), Some(two)) => {
            let why =
                format!("{} is checked out twice: {} and {}", step.target, one.path, two.path);
            return Ok(Advance::Blocked(why));
        }
    };
    point("save.moved");
    if moved == Advance::Done {
        let git = Git::new(row.main.as_path());
        let now = facts::commit_of(&git, &format!("refs/heads/{}", step.target));
        let there = now.is_some_and(|n| n == step.new || is_ancestor(&git, step.new, &n));
        if !there {
            return Err(TreeError::Unverified(format!("{} did not move", step.target)));
        }
    }
    Ok(moved)
}

/// Whether `old` is in the history of `new`.
#[must_use]
pub fn is_ancestor(git: &Git, old: &str, new: &str) -> bool {
    git.test(&["merge-base", "--is-ancestor", old, new]).unwrap_or(false)
}

fn swap(main: &AbsPath, step: &Step<'_>) -> Result<Advance, TreeError> {
    let name = format!("refs/heads/{}", step.target);
    let git = Git::new(main.as_path());
    let out = git.ask(&["update-ref", "-m", "octo save", &name, step.new, step.old])?;
    if out.code == 0 {
        return Ok(Advance::Done);
    }
    match facts::commit_of(&git, &name) {
        Some(now) if now == step.old => Err(refused("update-ref", main, out.code, out.stderr)),
        Some(_) | None => Ok(Advance::Moved),
    }
}

fn checkout(
    ctx: &Context<'_>,
    row: &TreeRow,
    by: &Pid,
    tree: &Tree,
    step: &Step<'_>,
) -> Result<Advance, TreeError> {
    let blocked = |why: String| Ok(Advance::Blocked(why));
    if let Some(root) = git::root_of(&tree.path)
        && let Some(what) = under_way(&root)
    {
        return blocked(format!("a {what} is under way in {}", tree.path));
    }
    let git = Git::new(tree.path.as_path());
    let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", step.old, step.new];
    let changed = git.run(&args)?;
    let changed: Vec<AbsPath> = changed.fields().map(|p| tree.path.join(p)).collect();
    for claim in ctx.registry.claims(&tree.path)? {
        let mine = claim.pid == *by || claim.session == row.session;
        if !mine && changed.iter().any(|p| p.overlaps(&claim.path)) {
            return blocked(format!("{} is {}'s", claim.path, claim.pid));
        }
    }
    let out = git.ask(&["merge", "--ff-only", "--no-autostash", "--quiet", step.new]);
    let out = match out {
        Ok(out) => out,
        Err(GitError { kind: Failure::Locked, message, .. }) => {
            return blocked(format!("{}: {message}", tree.path));
        }
        Err(error) => return Err(error.into()),
    };
    if out.code == 0 {
        return Ok(Advance::Done);
    }
    let now = facts::commit_of(&git, "HEAD");
    if now.as_deref() != Some(step.old) {
        return Ok(Advance::Moved);
    }
    let said: Vec<&str> = out.stderr.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    blocked(format!("{}: {}", tree.path, said.join(" ")))
}

/// Whether a rebase of this branch is under way there: HEAD is detached meanwhile.
fn rebases(git_dir: &AbsPath, branch: &str) -> bool {
    ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|file| {
        std::fs::read_to_string(git_dir.join(file).as_path())
            .is_ok_and(|name| name.trim().strip_prefix("refs/heads/") == Some(branch))
    })
}

fn refused(call: &str, dir: &AbsPath, code: i32, message: String) -> TreeError {
    TreeError::Git(GitError {
        kind: Failure::Exit(code),
        call: format!("git {call}"),
        dir: dir.as_path().to_owned(),
        message,
    })
}

/// Pushes the session's branch and opens a request for it, or says how.
pub fn publish(row: &TreeRow, source: &Source) -> Result<Outcome, TreeError> {
    let git = Git::new(row.path.as_path()).within(PUSH);
    let Some(remote) = facts::remote_of(&git) else {
        let why = "there is no remote to push to".to_owned();
        return Ok(Outcome::Stopped { why, keep: None });
    };
    let spec = format!("refs/heads/{0}:refs/heads/{0}", source.branch);
    let out = git.ask(&["push", "--quiet", "--set-upstream", &remote, &spec])?;
    if out.code != 0 {
        return Ok(Outcome::Stopped {
            why: format!("the push failed: {}", out.stderr),
            keep: None,
        });
    }
    let url = git.text(&["remote", "get-url", &remote]).unwrap_or_default();
    let request = request::open(&Wanted {
        folder: row.path.as_path(),
        url: &url,
        branch: &source.branch,
        target: row.target.as_deref(),
    });
    Ok(Outcome::Published { request })
}

/// Whether a work tree's HEAD stands on this branch.
#[must_use]
pub fn stands_on(root: &Root, branch: &str) -> bool {
    git::head_branch(&root.git_dir) == Head::Branch(branch.to_owned())
}
