//! Owns the removal of a tree: hold, mark, rename, look again, deregister, delete.
//! Must never use force on a tree that stands, and at every step leave what the next call can
//! finish or undo: the row says `Burying` and where the renamed folder lies.
#![expect(clippy::disallowed_methods, reason = "this folder is the one that deletes")]

use std::path::{Path, PathBuf};

use super::snapshot::{self, Extra};
use super::{Bounds, Keep, Kept, Reason};
use crate::git::{self, Git};
use crate::policy::facts::{Root, RootKind};
use crate::policy::lane::AbsPath;
use crate::worktree::fault::point;
use crate::worktree::plan::Refusal;
use crate::worktree::procs::{self, Look};
use crate::worktree::{Context, State, TreeError, TreeRow, io, seed};

/// What becomes of the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchFate {
    /// `git branch -d`, which refuses what is not merged.
    Delete,
    /// It stays.
    Stays,
}

/// A tree that was laid to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Burial {
    /// Loose work that was held, if there was any.
    pub work: Option<Keep>,
    /// The tip that was held.
    pub tip: Option<Keep>,
    /// What became of the branch.
    pub branch: BranchFate,
    /// What could not be removed, and why.
    pub left: Option<String>,
}

/// Takes a tree away. The caller holds the repository's and the tree's lock and has decided.
pub fn bury(
    ctx: &Context<'_>,
    row: &TreeRow,
    root: &Root,
    reason: &Reason,
    fate: BranchFate,
) -> Result<Burial, TreeError> {
    if root.path != row.path || !matches!(root.kind, RootKind::Linked { .. }) {
        return Err(Refusal::Main(root.path.clone()).into());
    }
    let work = hold(row, root, &root.path, reason)?;
    let tip = snapshot::tip(root, reason)?;
    point("bury.held");
    let trash = trash_name(&row.path, ctx.now)?;
    let mut marked = row.clone();
    marked.state = State::Burying { trash: trash.as_path().to_owned() };
    ctx.registry.put(&marked)?;
    point("bury.marked");
    if let Err(error) = std::fs::rename(row.path.as_path(), trash.as_path()) {
        ctx.registry.put(row)?;
        return Err(TreeError::Io(row.path.as_path().into(), error));
    }
    point("bury.renamed");
    let users = procs::inside(trash.as_path(), Look::Files);
    if !users.is_empty() {
        return Err(undo(ctx, row, &trash, users)?);
    }
    let late = hold(row, root, &trash, reason)?;
    let work = late.or(work);
    deregister(&row.common, &row.path)?;
    point("bury.deregistered");
    let mut burial = Burial { work, tip, branch: BranchFate::Stays, left: None };
    if fate == BranchFate::Delete {
        burial.branch = delete_branch(row);
    }
    settle(ctx, marked, &mut burial, &trash)?;
    Ok(burial)
}

/// Goes on with a burial that was cut short: undone when nothing was moved, else finished.
pub fn finish(ctx: &Context<'_>, row: &TreeRow, reason: &Reason) -> Result<State, TreeError> {
    let State::Burying { trash } = &row.state else { return Ok(row.state.clone()) };
    let trash = AbsPath::new(trash).ok_or_else(|| Refusal::Unknown(row.id.clone()))?;
    let registered = git::worktrees(&row.common).into_iter().find(|t| t.path == row.path);
    if !present(trash.as_path()) && present(row.path.as_path()) && registered.is_some() {
        let mut row = row.clone();
        row.state = State::Ready;
        ctx.registry.put(&row)?;
        return Ok(row.state);
    }
    let mut burial = Burial { work: None, tip: None, branch: BranchFate::Stays, left: None };
    if let Some(tree) = registered {
        let root = Root {
            path: row.path.clone(),
            kind: RootKind::Linked { main: row.main.clone() },
            git_dir: tree.git_dir,
            common: row.common.clone(),
        };
        if present(trash.as_path()) {
            burial.work = hold(row, &root, &trash, reason)?;
        }
        burial.tip = snapshot::tip(&root, reason)?;
        deregister(&row.common, &row.path)?;
    }
    settle(ctx, row.clone(), &mut burial, &trash)?;
    Ok(State::Archived { keep: name_of(&burial) })
}

/// Takes away the half of a registration that a killed `worktree add` left: nothing was ever
/// filled in there, or what was is held first.
pub fn half_made(row: &TreeRow, reason: &Reason) -> Result<(), TreeError> {
    let registered = git::worktrees(&row.common).into_iter().find(|t| t.path == row.path);
    let only_pointer = std::fs::read_dir(row.path.as_path())
        .is_ok_and(|mut entries| entries.all(|e| e.is_ok_and(|e| e.file_name() == ".git")));
    if let Some(tree) = registered {
        let root = Root {
            path: row.path.clone(),
            kind: RootKind::Linked { main: row.main.clone() },
            git_dir: tree.git_dir.clone(),
            common: row.common.clone(),
        };
        // Staged blobs and commits of a vanished folder are named by nothing else.
        drop(snapshot::tip(&root, reason));
        if tree.locked.as_deref() == Some("initializing") {
            drop(std::fs::remove_file(tree.git_dir.join("locked").as_path()));
        }
        if only_pointer {
            discard_pointer(row);
        }
        deregister(&row.common, &row.path)
    } else {
        discard_half(&row.common, &row.path);
        if only_pointer {
            discard_pointer(row);
        }
        Ok(())
    }
}

fn discard_pointer(row: &TreeRow) {
    drop(std::fs::remove_file(row.path.join(".git").as_path()));
    drop(std::fs::remove_dir(row.path.as_path()));
}

/// A lock on the index of a tree that octo was filling when it was killed.
pub fn stale_index_lock(git_dir: &AbsPath, folder: &AbsPath) {
    let lock = git_dir.join("index.lock");
    if present(lock.as_path()) && procs::inside(folder.as_path(), Look::Directories).is_empty() {
        drop(std::fs::remove_file(lock.as_path()));
    }
}

/// Unlocks a registration whose folder is gone and whose locker is dead, and lets it go.
pub fn orphan(common: &AbsPath, tree: &git::Tree, reason: &Reason) -> Result<(), TreeError> {
    let root = Root {
        path: tree.path.clone(),
        kind: RootKind::Linked { main: common.clone() },
        git_dir: tree.git_dir.clone(),
        common: common.clone(),
    };
    drop(snapshot::tip(&root, reason)?);
    if tree.locked.is_some() {
        let git = at_common(common);
        drop(git.ask(&["worktree", "unlock", &tree.path.to_string()])?);
    }
    deregister(common, &tree.path)
}

/// Deletes what earlier burials put aside and could not delete then.
#[must_use]
pub fn sweep(folder: &AbsPath, rows: &[TreeRow]) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.as_path()) else { return Vec::new() };
    let mine = |path: &Path| {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((of, at)) = name.strip_prefix('.').and_then(|n| n.split_once(TRASH)) else {
            return false;
        };
        let known = rows.iter().find(|r| r.path.as_path() == folder.as_path().join(of));
        // A row that says so, not the name alone: a folder of that name may be a person's.
        at.parse::<u64>().is_ok()
            && known.is_some_and(|r| matches!(r.state, State::Archived { .. }))
    };
    let trash = entries.flatten().map(|e| e.path()).filter(|p| mine(p));
    trash.filter_map(|path| delete(&path)).collect()
}

const TRASH: &str = ".octo-trash-";

fn trash_name(path: &AbsPath, now: u64) -> Result<AbsPath, TreeError> {
    let parent = path.parent().ok_or_else(|| Refusal::Main(path.clone()))?;
    let name = path.as_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let named = |at| parent.join(format!(".{name}{TRASH}{at}"));
    let free = (now..now.saturating_add(1_000)).map(named).find(|t| !present(t.as_path()));
    free.ok_or_else(|| Refusal::NoName(parent).into())
}

fn hold(
    row: &TreeRow,
    root: &Root,
    folder: &AbsPath,
    reason: &Reason,
) -> Result<Option<Keep>, TreeError> {
    let ignored = seed::own_ignored(root, folder, &row.copied)?;
    if let Some(huge) = ignored.too_big {
        return Err(Refusal::Kept(row.id.clone(), vec![huge]).into());
    }
    let extra = Extra { ignored: ignored.files, ..Extra::default() };
    match snapshot::in_folder(root, folder, reason, &extra, Bounds::NONE)? {
        Kept::Ref(keep) if !keep.missed.is_empty() => {
            let what = format!("it holds what git cannot store: {}", keep.missed.join(", "));
            Err(Refusal::Kept(row.id.clone(), vec![what]).into())
        }
        Kept::Ref(keep) => Ok(Some(keep)),
        Kept::Nothing | Kept::TooBig { .. } => Ok(None),
    }
}

fn undo(
    ctx: &Context<'_>,
    row: &TreeRow,
    trash: &AbsPath,
    users: Vec<procs::Inside>,
) -> Result<TreeError, TreeError> {
    std::fs::rename(trash.as_path(), row.path.as_path()).map_err(io(trash.as_path()))?;
    ctx.registry.put(row)?;
    let names = users.into_iter().map(|u| format!("{} ({})", u.name, u.pid)).collect();
    Ok(Refusal::Occupied(row.path.clone(), names).into())
}

fn settle(
    ctx: &Context<'_>,
    mut row: TreeRow,
    burial: &mut Burial,
    trash: &AbsPath,
) -> Result<(), TreeError> {
    row.state = State::Archived { keep: name_of(burial) };
    row.ports = None;
    ctx.registry.put(&row)?;
    ctx.registry.recalled(&row.session, &row.path)?;
    point("bury.archived");
    burial.left = delete(trash.as_path());
    if present(row.path.as_path()) {
        burial.left = Some(format!("{} is still there", row.path));
    }
    Ok(())
}

fn name_of(burial: &Burial) -> String {
    let keep = burial.work.as_ref().or(burial.tip.as_ref());
    keep.map(|k| k.name.clone()).unwrap_or_default()
}

fn at_common(common: &AbsPath) -> Git {
    Git::new(common.as_path()).env("GIT_DIR", common.as_path())
}

/// git itself forgets a registration whose folder is gone, and only that one.
fn deregister(common: &AbsPath, path: &AbsPath) -> Result<(), TreeError> {
    let out = at_common(common).ask(&["worktree", "remove", &path.to_string()])?;
    let still = git::worktrees(common).into_iter().any(|t| t.path == *path);
    if still { Err(TreeError::Unverified(format!("{path}: {}", out.stderr))) } else { Ok(()) }
}

/// A registration folder that was never completed names no tree: git does not list it either.
fn discard_half(common: &AbsPath, path: &AbsPath) {
    let Some(name) = path.as_path().file_name() else { return };
    let admin = common.join("worktrees").join(name);
    let whole = present(admin.join("gitdir").as_path()) && present(admin.join("HEAD").as_path());
    if !whole && present(admin.as_path()) {
        drop(std::fs::remove_dir_all(admin.as_path()));
    }
}

fn delete_branch(row: &TreeRow) -> BranchFate {
    let git = Git::new(row.main.as_path());
    match git.ask(&["branch", "-d", "--", &row.branch]) {
        Ok(out) if out.code == 0 => BranchFate::Delete,
        Ok(_) | Err(_) => BranchFate::Stays,
    }
}

fn delete(path: &Path) -> Option<String> {
    match std::fs::remove_dir_all(path) {
        Ok(()) => None,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(first) => {
            // Folders without the write bit (module caches) resist; their owner may open them.
            open_up(path);
            let again = std::fs::remove_dir_all(path);
            again.err().map(|_| format!("{} will not go: {first}", path.display()))
        }
    }
}

fn open_up(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut todo: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(dir) = todo.pop() {
        drop(std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)));
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        let folders = entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
        todo.extend(folders.map(|e| e.path()));
    }
}

fn present(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}
