//! Owns the way home: what is uncommitted becomes a commit on the session's branch, the branch is
//! merged off to the side and the target moves by compare-and-swap.
//! Must never touch a checkout except by fast-forward, never stage what was copied in, never
//! report success for work that was left behind.

use std::fmt;

use super::keep::Keep;
use super::plan::{Refusal, short};
use super::row::{State, TreeRow};
use super::{Context, TreeError, apply, facts, lock};
use crate::git::Git;
use crate::policy::lane::Pid;
use crate::policy::verdict::What;

pub mod commit;
pub mod landed;
pub mod merge;
pub mod request;
pub mod resolve;
pub mod target;

/// A manager of virtual branches moves its workspace branch itself; nothing lands there.
const VIRTUAL: &str = "gitbutler/";
/// How often a landing is computed anew because somebody else landed first.
const TRIES: u32 = 40;

/// What to do with the branch once all work is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aim {
    /// Merge it into its target.
    Land,
    /// Leave it.
    CommitOnly,
    /// Push it and open a request.
    Publish,
}

/// A wish to bring work home.
#[derive(Debug, Clone)]
pub struct SaveRequest {
    /// Who asks.
    pub by: Pid,
    /// The commit's message; made up when absent.
    pub message: Option<String>,
    /// Another target than the recorded one.
    pub onto: Option<String>,
    /// What to do with the branch.
    pub aim: Aim,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Saved {
    /// The commit that took the loose work in, if there was any.
    pub committed: Option<String>,
    /// Where the work stands now.
    pub outcome: Outcome,
    /// What should be known besides.
    pub notes: Vec<String>,
}

/// Where saved work stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// On the target.
    Landed {
        /// The branch.
        target: String,
        /// Its commit now.
        commit: String,
    },
    /// The target has it already, by history or by content.
    Already {
        /// The branch.
        target: String,
        /// How that is known.
        how: landed::How,
    },
    /// On the session's branch only, as asked.
    OnBranch,
    /// Published for a request.
    Published {
        /// What to open, or what was opened.
        request: String,
    },
    /// Computed, but the target's checkout must not move now.
    Waiting {
        /// What is in the way.
        why: String,
    },
    /// It conflicts; nothing was touched.
    Conflict {
        /// The branch.
        target: String,
        /// Where.
        files: Vec<merge::Conflict>,
    },
    /// Something said no; the tree is intact.
    Stopped {
        /// What.
        why: String,
        /// Where the loose work is held meanwhile.
        keep: Option<Keep>,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landed { target, commit } => write!(f, "landed on {target} as {}", short(commit)),
            Self::Already { target, how } => write!(f, "{target} has it already: {how}"),
            Self::OnBranch => f.write_str("saved on its branch"),
            Self::Published { request } => f.write_str(request),
            Self::Waiting { why } => write!(f, "ready to land, but {why}"),
            Self::Conflict { target, files } => {
                let names: Vec<String> =
                    files.iter().map(|f| f.path.display().to_string()).collect();
                write!(f, "conflicts with {target} in {}", names.join(", "))
            }
            Self::Stopped { why, keep: None } => write!(f, "stopped: {why}"),
            Self::Stopped { why, keep: Some(keep) } => {
                write!(f, "stopped: {why}\nthe work is in the tree, and held besides: {keep}")
            }
        }
    }
}

/// Saves a tree's work and brings it home. Can be repeated at any time.
pub fn save(ctx: &Context<'_>, row: &TreeRow, request: &SaveRequest) -> Result<Saved, TreeError> {
    let root = apply::root(row)
        .ok_or_else(|| Refusal::NotNow(format!("{} is gone: octo worktree recreate", row.path)))?;
    let mut saved = Saved { committed: None, outcome: Outcome::OnBranch, notes: Vec::new() };
    let git = Git::new(row.path.as_path());
    match commit::gather(ctx, row, &root, request, &mut saved.notes)? {
        commit::Gathered::Stopped { why, keep } => {
            saved.outcome = Outcome::Stopped { why, keep };
            return settle(ctx, row, request, saved);
        }
        commit::Gathered::Nothing => {}
        commit::Gathered::Commit(id) => saved.committed = Some(id),
    }
    let head = facts::head_of(&git);
    let Some((branch, tip)) = head.and_then(|h| Some((h.branch?, h.commit))) else {
        let why = "HEAD is on no branch: `git switch -c NAME` in the tree first".to_owned();
        saved.outcome = Outcome::Stopped { why, keep: None };
        return settle(ctx, row, request, saved);
    };
    if branch != row.branch {
        saved.notes.push(format!("the tree is on {branch}: that is what lands"));
    }
    let source = Source { branch, tip };
    saved.outcome = match request.aim {
        Aim::CommitOnly => Outcome::OnBranch,
        Aim::Publish => target::publish(row, &source)?,
        Aim::Land => land(ctx, row, request, &source)?,
    };
    settle(ctx, row, request, saved)
}

/// The branch that lands, and its commit.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its short name.
    pub branch: String,
    /// Its commit.
    pub tip: String,
}

fn land(
    ctx: &Context<'_>,
    row: &TreeRow,
    request: &SaveRequest,
    source: &Source,
) -> Result<Outcome, TreeError> {
    let stopped = |why: String| Ok(Outcome::Stopped { why, keep: None });
    let Some(target) = request.onto.clone().or_else(|| row.target.clone()) else {
        return stopped("it was made from a detached HEAD: name the branch with --onto".to_owned());
    };
    if target.starts_with(VIRTUAL) {
        return stopped(format!("{target} is a manager's own branch: name another with --onto"));
    }
    if target == source.branch {
        return stopped(format!("{target} cannot land on itself"));
    }
    let git = Git::new(row.main.as_path());
    let _turn = lock::landing(ctx.places, &row.common)?;
    for _ in 0..TRIES {
        let Some(old) = facts::commit_of(&git, &format!("refs/heads/{target}")) else {
            return stopped(format!("the branch {target} is gone: name another with --onto"));
        };
        if let Some(how) = landed::in_target(&git, &source.tip, &row.base, &old)? {
            return Ok(Outcome::Already { target, how });
        }
        let tree = match merge::compute(&git, &old, &source.tip)? {
            merge::Merged::Conflict(files) => return Ok(Outcome::Conflict { target, files }),
            merge::Merged::Clean(tree) => tree,
        };
        let commit = match merge::commit(&git, &tree, &old, source, &target) {
            Ok(commit) => commit,
            Err(error) => return stopped(error.to_string()),
        };
        let step = target::Step { target: &target, old: &old, new: &commit };
        match target::advance(ctx, row, &request.by, &step)? {
            target::Advance::Done => return Ok(Outcome::Landed { target, commit }),
            target::Advance::Moved => {}
            target::Advance::Blocked(why) => return Ok(Outcome::Waiting { why }),
        }
    }
    Ok(Outcome::Waiting { why: format!("{target} moved {TRIES} times meanwhile") })
}

/// Writes down where the work stands, so that it is not forgotten.
fn settle(
    ctx: &Context<'_>,
    row: &TreeRow,
    request: &SaveRequest,
    saved: Saved,
) -> Result<Saved, TreeError> {
    let retry = format!("octo save {}", row.id);
    let mut row = row.clone();
    row.seen = ctx.now;
    row.state = match &saved.outcome {
        Outcome::Landed { commit, .. } => State::Landed { commit: commit.clone() },
        Outcome::Already { target, .. } => {
            let git = Git::new(row.main.as_path());
            let commit = facts::commit_of(&git, &format!("refs/heads/{target}"));
            State::Landed { commit: commit.unwrap_or_default() }
        }
        Outcome::OnBranch | Outcome::Published { .. } => State::Ready,
        Outcome::Waiting { why } => State::Waiting { why: why.clone(), retry },
        Outcome::Conflict { .. } => {
            let why = saved.outcome.to_string();
            State::Attention { why, retry: format!("{retry} --resolve") }
        }
        Outcome::Stopped { why, .. } => State::Attention { why: why.clone(), retry },
    };
    ctx.registry.put(&row)?;
    let text = format!("{}: {}", row.branch, saved.outcome);
    ctx.registry.note(&request.by, What::Notice, &text);
    Ok(saved)
}
