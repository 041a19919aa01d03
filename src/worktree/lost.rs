//! Owns the finding of trees that stand although the register has forgotten them, as after a lost
//! table: by their place, their branch and git's own registration.
//! Must never take one back by itself: that is a person's word, given with `adopt` or `--repair`.

use super::plan::PREFIX;
use super::row::TreeRow;
use super::{Context, Layout, TreeError, apply, care, facts};
use crate::git;
use crate::policy::facts::RootKind;
use crate::policy::lane::{AbsPath, Pid};

/// Digits and dashes of a client's session id.
const ID: usize = 36;

/// A tree of octo without a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Its folder.
    pub path: AbsPath,
    /// The repository's shared git directory.
    pub common: AbsPath,
    /// Its branch.
    pub branch: String,
    /// Whose it was, as its branch says.
    pub session: Pid,
}

impl Lost {
    /// The command that takes it back.
    #[must_use]
    pub fn remedy(&self) -> String {
        let path = self.path.to_string();
        format!("octo worktree adopt {} --session {}", shell_words::quote(&path), self.session)
    }
}

/// All of them: in the folders where trees lie, and in the repositories that are known or named.
pub fn find(ctx: &Context<'_>, named: Option<&AbsPath>) -> Result<Vec<Lost>, TreeError> {
    let rows = ctx.registry.rows(None)?;
    let mut paths = in_folders(ctx);
    let mut commons: Vec<&AbsPath> = rows.iter().map(|r| &r.common).chain(named).collect();
    commons.sort();
    commons.dedup();
    paths.extend(commons.into_iter().flat_map(git::worktrees).map(|tree| tree.path));
    paths.sort();
    paths.dedup();
    Ok(paths.into_iter().filter_map(|path| lost(&rows, path)).collect())
}

/// Takes one back into the register.
pub fn take_back(ctx: &Context<'_>, lost: &Lost) -> Result<TreeRow, TreeError> {
    care::adopt(ctx, &lost.path, &lost.session)
}

fn lost(rows: &[TreeRow], path: AbsPath) -> Option<Lost> {
    if rows.iter().any(|r| r.path == path) {
        return None;
    }
    let root = git::root_of(&path).filter(|r| r.path == path)?;
    if !matches!(root.kind, RootKind::Linked { .. }) {
        return None;
    }
    let branch = facts::branch_of(&root.git_dir)?;
    let session = session_of(branch.strip_prefix(PREFIX)?)?;
    Some(Lost { path, common: root.common, branch, session })
}

/// The session in a tree's id: what stands before the further tree's name or the number that was
/// put behind it. Only a client's own ids have a length that says where they end.
fn session_of(id: &str) -> Option<Pid> {
    let whole = |id: &&str| id.len() == ID && id.matches('-').count() == 4;
    let own = id.get(..ID).filter(whole).unwrap_or(id);
    Pid::new(own.split_once('.').map_or(own, |(session, _)| session))
}

/// Whatever lies where trees are put.
fn in_folders(ctx: &Context<'_>) -> Vec<AbsPath> {
    let below = |folder: &AbsPath| -> Vec<AbsPath> {
        let entries = std::fs::read_dir(folder.as_path());
        let names = entries.into_iter().flatten().flatten().map(|e| e.file_name());
        names.map(|name| folder.join(name)).collect()
    };
    let grandchildren = |folder: &AbsPath| below(folder).iter().flat_map(below).collect();
    let mut paths = below(&ctx.places.trees.join("dim"));
    paths.extend::<Vec<AbsPath>>(grandchildren(&ctx.places.trees.join("arm")));
    if let Layout::Folder(folder) = &ctx.places.layout {
        paths.extend::<Vec<AbsPath>>(grandchildren(folder));
    }
    paths.retain(apply::is_there);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trees_id_tells_its_session() {
        let of = |id: &str| session_of(id).unwrap().to_string();
        let uuid = "634c7e8c-12bc-45f7-9b49-090bd838430f";
        assert_eq!(of(uuid), uuid);
        assert_eq!(of(&format!("{uuid}.agent-a1")), uuid);
        assert_eq!(of(&format!("{uuid}-2")), uuid);
        assert_eq!(of("s-1.agent-a1"), "s-1");
        assert_eq!(of("s-1"), "s-1");
    }
}
