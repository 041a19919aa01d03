//! Owns the picture of all trees for people and programs: octo's own with their state of this
//! moment, and those octo did not make.
//! Must never change anything.

use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;

use super::plan::short;
use super::reap::{Fate, judge, survey};
use super::row::{Pin, Setup, TreeRow};
use super::{Context, TreeError, lost};
use crate::git::discover::Standing;
use crate::git::{self, Head};
use crate::policy::lane::AbsPath;

/// Trees that are looked at side by side: the machine has other work too.
const SIDE_BY_SIDE: usize = 4;

/// One tree as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct TreeView {
    /// Its id; for one octo did not make, the folder's name.
    pub id: String,
    /// Whose it is; none when octo did not make it.
    pub session: Option<String>,
    /// Its folder.
    pub path: String,
    /// Its repository's main checkout.
    pub main: String,
    /// Its branch.
    pub branch: Option<String>,
    /// Where its work goes home to.
    pub target: Option<String>,
    /// What it started from.
    pub base: Option<String>,
    /// Where it stands.
    pub state: String,
    /// The command that settles what waits.
    pub retry: Option<String>,
    /// Changed and untracked files.
    pub dirty: usize,
    /// Commits its target lacks.
    pub ahead: u64,
    /// How its work has landed, if it has.
    pub landed: Option<String>,
    /// Why it stays; empty when it may go.
    pub kept: Vec<String>,
    /// Who refers to it.
    pub users: Vec<String>,
    /// Bytes, when asked for.
    pub size: Option<u64>,
    /// Seconds since it was made.
    pub age: u64,
    /// Seconds since its session was heard of.
    pub seen: u64,
    /// Kept from every clean-up.
    pub pinned: bool,
    /// Its setup commands.
    pub setup: String,
    /// What its session was told.
    pub notes: Vec<String>,
    /// Entries of the shared stash made on its branch.
    pub stashed: usize,
}

/// Whether sizes are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// They are: the folders are walked.
    Measured,
    /// They are not.
    Skipped,
}

/// All trees of octo, newest sign of life first, then those that its register has forgotten, then
/// those of `common` that octo did not make.
pub fn all(
    ctx: &Context<'_>,
    common: Option<&AbsPath>,
    sizes: Sizes,
) -> Result<Vec<TreeView>, TreeError> {
    let rows = ctx.registry.rows(common)?;
    let found = Mutex::new(Vec::new());
    let next = Mutex::new(rows.iter());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE.min(rows.len()) {
            scope.spawn(|| {
                loop {
                    let row = next.lock().ok().and_then(|mut rows| rows.next());
                    let Some(row) = row else { break };
                    let view = one(ctx, row, sizes);
                    if let Ok(mut found) = found.lock() {
                        found.push(view);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_default();
    let mut views = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    views.sort_by(|a, b| (a.seen, &a.id).cmp(&(b.seen, &b.id)));
    let mut lost = lost::find(ctx, common)?;
    lost.retain(|l| common.is_none_or(|c| l.common == *c));
    let mut commons: Vec<&AbsPath> = rows.iter().map(|r| &r.common).chain(common).collect();
    commons.extend(lost.iter().map(|l| &l.common));
    commons.sort();
    commons.dedup();
    let mut others: Vec<TreeView> =
        commons.into_iter().flat_map(|common| strangers(common, &rows, sizes)).collect();
    for view in &mut others {
        let forgotten = lost.iter().find(|l| l.path.to_string() == view.path);
        if let Some(forgotten) = forgotten {
            view.session = Some(forgotten.session.to_string());
            "the register has forgotten it".clone_into(&mut view.state);
            view.retry = Some(forgotten.remedy());
            view.kept = vec![view.state.clone()];
        }
    }
    others.sort_by_key(|view| view.retry.is_none());
    views.extend(others);
    Ok(views)
}

/// One tree of octo.
pub fn one(ctx: &Context<'_>, row: &TreeRow, sizes: Sizes) -> Result<TreeView, TreeError> {
    use super::row::State;
    let facts = survey(ctx, row)?;
    let kept = match (row.stands(), judge::fate(&facts, &[])) {
        (true, Fate::Keep(why)) => why,
        (true, Fate::Remove(_) | Fate::GiveUp | Fate::Forget) | (false, _) => Vec::new(),
    };
    let retry = match &row.state {
        State::Waiting { retry, .. } | State::Attention { retry, .. } => Some(retry.clone()),
        State::Preparing
        | State::Ready
        | State::Failed { .. }
        | State::Landed { .. }
        | State::Burying { .. }
        | State::Archived { .. } => None,
    };
    let gone = row.stands() && facts.folder == super::reap::Folder::Gone;
    let state = if gone {
        "folder gone: octo worktree recreate".to_owned()
    } else if matches!(row.state, State::Landed { .. }) && facts.landed.is_none() {
        // It went on after it had landed.
        State::Ready.to_string()
    } else {
        row.state.to_string()
    };
    Ok(TreeView {
        id: row.id.clone(),
        session: Some(row.session.to_string()),
        path: row.path.to_string(),
        main: row.main.to_string(),
        branch: Some(row.branch.clone()),
        target: row.target.clone(),
        base: Some(short(&row.base).to_owned()),
        state,
        retry,
        dirty: facts.changed + facts.untracked,
        ahead: facts.ahead,
        landed: facts.landed.map(|(_, how)| how.to_string()),
        kept,
        users: facts.users,
        size: size(&row.path, sizes),
        age: ctx.now.saturating_sub(row.created),
        seen: ctx.now.saturating_sub(row.seen),
        pinned: row.pin == Pin::Pinned,
        setup: setup(&row.setup),
        notes: row.notes.clone(),
        stashed: facts.stashed,
    })
}

fn setup(setup: &Setup) -> String {
    match setup {
        Setup::None => "none".to_owned(),
        Setup::Pending => "pending".to_owned(),
        Setup::Running { log } => format!("running, log {}", log.display()),
        Setup::Done => "done".to_owned(),
        Setup::Failed { why, log } => format!("failed, usable: {why}, log {}", log.display()),
    }
}

/// Trees of a repository that octo did not make: shown, never touched.
fn strangers(common: &AbsPath, rows: &[TreeRow], sizes: Sizes) -> Vec<TreeView> {
    let main = git::discover::main_of(common).unwrap_or_else(|| common.clone());
    git::worktrees(common)
        .into_iter()
        .filter(|t| t.id.is_some() && !rows.iter().any(|r| r.path == t.path))
        .map(|tree| TreeView {
            id: tree.path.as_path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            session: None,
            path: tree.path.to_string(),
            main: main.to_string(),
            branch: match &tree.head {
                Head::Branch(name) => Some(name.clone()),
                Head::Detached(_) | Head::Unknown => None,
            },
            target: None,
            base: None,
            state: match tree.standing {
                Standing::Whole => "not octo's".to_owned(),
                Standing::Vanished => "not octo's, folder gone".to_owned(),
                Standing::Foreign => "not octo's, folder is another's".to_owned(),
            },
            retry: None,
            dirty: 0,
            ahead: 0,
            landed: None,
            kept: vec!["octo did not make it".to_owned()],
            users: Vec::new(),
            size: size(&tree.path, sizes),
            age: 0,
            seen: 0,
            pinned: false,
            setup: "none".to_owned(),
            notes: Vec::new(),
            stashed: 0,
        })
        .collect()
}

fn size(path: &AbsPath, sizes: Sizes) -> Option<u64> {
    (sizes == Sizes::Measured).then(|| bytes_below(path.as_path()))
}

/// Bytes on the disk of a folder with all below it.
#[must_use]
pub fn bytes_below(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut todo = vec![folder.to_path_buf()];
    let mut bytes = 0;
    while let Some(dir) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            bytes += meta.blocks() * 512;
            if meta.is_dir() {
                todo.push(entry.path());
            }
        }
    }
    bytes
}
