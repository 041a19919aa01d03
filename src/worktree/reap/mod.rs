//! Owns the end of a tree's life: what each tree looks like right now, and taking away those that
//! may go.
//! Must never decide from remembered state: git is asked at that moment, per tree, and again
//! under the lock.

use std::collections::BTreeSet;

use super::keep::Reason;
use super::keep::bury::{self, BranchFate};
use super::keep::shelf::{self, Mode, Retention};
use super::landing::{Aim, Outcome, SaveRequest, save};
use super::plan::Refusal;
use super::row::{Pin, State, TreeRow};
use super::{Context, TreeError, apply, lock};
use crate::git::Git;
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::What;

pub mod judge;
pub mod survey;

pub use judge::{Fate, Folder, Locker, Risk, TreeFacts};
pub use survey::survey;

/// The reaper leaves a tree alone for this long after the last sign of its session.
pub const REST: u64 = 3_600;
/// A tree nobody has been in for this long is abandoned.
pub const ABANDONED: u64 = 86_400;

/// What became of a tree.
#[derive(Debug)]
#[must_use]
pub enum Gone {
    /// It went; how to get it back.
    Buried {
        /// The restore command.
        restore: String,
        /// What became of the branch.
        branch: BranchFate,
        /// What could not be removed.
        left: Option<String>,
    },
    /// It stays, for these reasons.
    Kept(Vec<String>),
}

/// Takes a tree away if it may go, under the locks, on facts of this moment.
pub fn reclaim(
    ctx: &Context<'_>,
    row: &TreeRow,
    by: &Pid,
    risks: &[Risk],
) -> Result<Gone, TreeError> {
    let _repository = lock::repository(ctx.places, &row.common)?;
    let lock::Taken::Ours(_tree) = lock::tree(ctx.places, &row.path)? else {
        return Ok(Gone::Kept(vec!["it is being filled or removed right now".to_owned()]));
    };
    let reason = Reason {
        what: format!("the removal of the worktree {}", row.id),
        by: Some(by.to_string()),
        owner: Some(row.session.to_string()),
        at: ctx.now,
    };
    if let State::Burying { .. } = row.state {
        let state = bury::finish(ctx, row, &reason)?;
        return Ok(finished(&state));
    }
    let facts = survey(ctx, row)?;
    if facts.locker == Locker::Dead && facts.folder == Folder::There {
        // A lock by a dead process binds nobody, and `-f -f` would also pass over dirt.
        unlock(row)?;
    }
    match judge::fate(&facts, risks) {
        Fate::Keep(why) => Ok(Gone::Kept(why)),
        Fate::Remove(branch) => remove(ctx, row, by, &reason, branch),
        Fate::GiveUp => {
            let wish = SaveRequest {
                by: by.clone(),
                message: Some(format!("Work left in the worktree {}\n", row.id)),
                onto: None,
                aim: Aim::CommitOnly,
            };
            let saved = save(ctx, row, &wish)?;
            if let Outcome::Stopped { why, .. } = saved.outcome {
                return Ok(Gone::Kept(vec![why]));
            }
            remove(ctx, row, by, &reason, BranchFate::Stays)
        }
        Fate::Forget => {
            if let Some(tree) = facts.registered {
                bury::orphan(&row.common, &tree, &reason)?;
            }
            let mut row = row.clone();
            row.state = State::Archived { keep: String::new() };
            row.ports = None;
            ctx.registry.put(&row)?;
            Ok(Gone::Buried {
                restore: format!("octo worktree recreate {}", row.id),
                branch: BranchFate::Stays,
                left: None,
            })
        }
    }
}

fn unlock(row: &TreeRow) -> Result<(), TreeError> {
    let git = Git::new(row.main.as_path());
    drop(git.run(&["worktree", "unlock", &row.path.to_string()])?);
    Ok(())
}

fn finished(state: &State) -> Gone {
    match state {
        State::Archived { keep } => Gone::Buried {
            restore: format!("octo keep restore {keep}"),
            branch: BranchFate::Stays,
            left: None,
        },
        State::Preparing
        | State::Ready
        | State::Failed { .. }
        | State::Waiting { .. }
        | State::Attention { .. }
        | State::Landed { .. }
        | State::Burying { .. } => {
            Gone::Kept(vec![format!("an interrupted removal was undone: {state}")])
        }
    }
}

fn remove(
    ctx: &Context<'_>,
    row: &TreeRow,
    by: &Pid,
    reason: &Reason,
    branch: BranchFate,
) -> Result<Gone, TreeError> {
    let root = apply::root(row).ok_or_else(|| Refusal::Foreign(row.path.clone()))?;
    let burial = match bury::bury(ctx, row, &root, reason, branch) {
        Ok(burial) => burial,
        Err(TreeError::Refused(Refusal::Kept(_, why))) => return Ok(Gone::Kept(why)),
        Err(TreeError::Refused(Refusal::Occupied(_, who))) => {
            return Ok(Gone::Kept(vec![format!("in use by {}", who.join(", "))]));
        }
        Err(error) => return Err(error),
    };
    let restore = match (&burial.work, &burial.tip, burial.branch) {
        (Some(keep), _, _) => format!("octo worktree recreate {}; {keep}", row.id),
        (None, Some(tip), BranchFate::Delete) => {
            format!("git branch {} refs/octo/keep/{}^", row.branch, tip.name)
        }
        (None, _, _) => format!("octo worktree recreate {}", row.id),
    };
    let text = format!("removed the worktree {}; back with: {restore}", row.path);
    ctx.registry.note(by, What::Keep, &text);
    if row.session != *by {
        let told = format!("octo: your worktree {} was reclaimed; back with: {restore}", row.path);
        ctx.registry.tell(&row.session, &told);
    }
    Ok(Gone::Buried { restore, branch: burial.branch, left: burial.left })
}

/// The reaper: what is landed, clean and unused goes; interrupted work is finished; the rest
/// stays, and the journal says why. Old snapshots go, those of `here` too. Returns what happened,
/// one line a tree.
pub fn reap(ctx: &Context<'_>, by: &Pid, here: Option<&AbsPath>) -> Result<Vec<String>, TreeError> {
    let mut lines = Vec::new();
    let rows = ctx.registry.rows(None)?;
    for row in &rows {
        if matches!(row.state, State::Archived { .. }) || row.pin == Pin::Pinned {
            continue;
        }
        let heard = ctx.registry.heard(&row.session)?.unwrap_or(0).max(row.seen);
        let fresh = ctx.now.saturating_sub(heard) < REST;
        if fresh && !matches!(row.state, State::Burying { .. }) {
            continue;
        }
        let line = match reclaim(ctx, row, by, &[]) {
            Ok(Gone::Buried { restore, .. }) => format!("{} removed; back with: {restore}", row.id),
            Ok(Gone::Kept(why)) => format!("{} kept: {}", row.id, why.join("; ")),
            Err(error) => format!("{} kept: {error}", row.id),
        };
        lines.push(line);
    }
    let mut folders: Vec<_> = rows.iter().filter_map(|r| r.path.parent()).collect();
    folders.sort();
    folders.dedup();
    let rows = ctx.registry.rows(None)?;
    lines.extend(folders.iter().flat_map(|f| bury::sweep(f, &rows)));
    lines.extend(thin(ctx, &rows, here));
    for line in &lines {
        ctx.registry.note(by, What::Notice, line);
    }
    Ok(lines)
}

/// Snapshots that a row still needs: they bring back what was laid to rest.
#[must_use]
pub fn needed(rows: &[TreeRow]) -> BTreeSet<String> {
    let name = |row: &TreeRow| match &row.state {
        State::Archived { keep } => Some(keep.clone()),
        State::Preparing
        | State::Ready
        | State::Failed { .. }
        | State::Waiting { .. }
        | State::Attention { .. }
        | State::Landed { .. }
        | State::Burying { .. } => None,
    };
    rows.iter().filter_map(name).collect()
}

/// Lets the snapshots go that are past their time, in every repository that is known.
fn thin(ctx: &Context<'_>, rows: &[TreeRow], here: Option<&AbsPath>) -> Vec<String> {
    let mut commons: Vec<&AbsPath> = rows.iter().map(|r| &r.common).chain(here).collect();
    commons.sort();
    commons.dedup();
    let needed = needed(rows);
    let line = |common: &&AbsPath| {
        let retention = Retention::default();
        match shelf::prune(common, retention, &needed, ctx.now, Mode::Act) {
            Ok(gone) if gone.is_empty() => None,
            Ok(gone) => Some(format!("{} old snapshots of {common} let go", gone.len())),
            Err(why) => Some(format!("snapshots of {common}: {why}")),
        }
    };
    commons.iter().filter_map(line).collect()
}
