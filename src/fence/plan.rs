//! PURE. What a fence consists of: which paths become read-only, which stay open inside them, which
//! folders are pinned so that they cannot be moved away, and where writing is allowed at all.
//! It must never ask the disk itself: what is there, [`Disk`] answers.

use std::collections::BTreeMap;

use super::gitdir;
use super::{GitWrite, Holds, Level};
use crate::policy::facts::{Basis, Hold, Root};
use crate::policy::lane::AbsPath;

/// What stands at a path, without following a final link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// Nothing.
    Missing,
    /// A file with this many names.
    File {
        /// Names (hard links).
        links: u64,
    },
    /// A directory.
    Dir,
    /// A symbolic link: no mount can stand on it.
    Link,
}

/// What planning must know of the disk.
pub trait Disk {
    /// What stands at a path.
    fn there(&self, path: &AbsPath) -> There;
    /// The file of the branch that a work tree's HEAD stands on.
    fn branch_file(&self, root: &Root) -> Option<AbsPath>;
    /// Everything in a folder.
    fn list(&self, dir: &AbsPath) -> Vec<AbsPath>;
}

/// Why a path is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Somebody's lane.
    Held(Hold),
    /// The git directory of a checkout in which somebody else is at work.
    GitDir {
        /// The checkout.
        root: AbsPath,
        /// Who is at work there.
        hold: Option<Hold>,
    },
    /// Never writable: the table's folder, a shared checkout.
    Closed,
}

/// What a mount does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing at or below it can change.
    ReadOnly,
    /// Open again inside something read-only.
    Open,
    /// Cannot be renamed or removed; open otherwise.
    Pin,
}

/// One mount of a path onto itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The path.
    pub path: AbsPath,
    /// What it does.
    pub mode: Mode,
}

/// A whole fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencePlan {
    /// Mounts in the order they are made: outer before inner.
    pub mounts: Vec<Mount>,
    /// Closed paths with their reasons, also those a closed folder above already covers.
    pub closed: Vec<(AbsPath, Why)>,
    /// Where writing is allowed at all.
    pub write: Vec<AbsPath>,
    /// Held paths that do not exist yet.
    pub absent: Vec<AbsPath>,
    /// Held files with more than one name.
    pub aliased: Vec<AbsPath>,
    /// Held links, on which no mount can stand.
    pub links: Vec<AbsPath>,
    /// The work trees the command may write in.
    pub trees: Vec<AbsPath>,
    /// Where the command starts.
    pub dir: AbsPath,
}

/// What the plan is made for.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// Who holds what, and where writing is allowed.
    pub holds: &'a Holds,
    /// What the reader has proved.
    pub git: GitWrite,
    /// Where the command starts.
    pub dir: &'a AbsPath,
    /// What the kernel will grant: without Landlock all ancestors are pinned.
    pub level: Level,
    /// Temporary and cache folders.
    pub scratch: &'a [AbsPath],
}

/// Turns what is held into a fence.
#[must_use]
pub fn plan(asked: &Asked<'_>, disk: &dyn Disk) -> FencePlan {
    let holds = asked.holds;
    let mut draft = Draft::default();
    let mut out = FencePlan {
        mounts: Vec::new(),
        closed: Vec::new(),
        write: writable(asked),
        absent: Vec::new(),
        aliased: Vec::new(),
        links: Vec::new(),
        trees: holds.trees.iter().map(|t| t.path.clone()).collect(),
        dir: asked.dir.clone(),
    };
    for hold in holds.holds.iter().filter(|h| h.basis == Basis::Lane) {
        out.closed.push((hold.path.clone(), Why::Held(hold.clone())));
        match disk.there(&hold.path) {
            There::Missing => out.absent.push(hold.path.clone()),
            There::Link => out.links.push(hold.path.clone()),
            There::File { links } => {
                if links > 1 {
                    out.aliased.push(hold.path.clone());
                }
                draft.close(&hold.path);
            }
            There::Dir => draft.close(&hold.path),
        }
    }
    for path in &holds.closed {
        out.closed.push((path.clone(), Why::Closed));
        if disk.there(path) != There::Missing {
            draft.close(path);
        }
    }
    gitdir::rules(asked, disk, &mut draft, &mut out.closed);
    for tree in &holds.trees {
        // A work tree is never a path prefix of another: whoever holds the main checkout does
        // not hold the linked worktree inside it.
        let own = holds
            .holds
            .iter()
            .any(|h| h.path == tree.path && h.root.as_ref().is_none_or(|r| *r == tree.path));
        let shut = holds.closed.contains(&tree.path);
        if !own && !shut {
            draft.open(&tree.path);
        }
    }
    out.mounts = draft.finish(&out.write, asked.level);
    out.absent.sort();
    out.absent.dedup();
    out
}

/// Everything writing is allowed in: trees, their git directories, folders, scratch.
fn writable(asked: &Asked<'_>) -> Vec<AbsPath> {
    let mut all: Vec<AbsPath> = Vec::new();
    for tree in &asked.holds.trees {
        all.extend([tree.path.clone(), tree.git_dir.clone(), tree.common.clone()]);
    }
    all.extend(asked.holds.folders.iter().cloned());
    all.extend(asked.scratch.iter().cloned());
    outermost(all)
}

/// Sorted, without paths that lie below another.
#[must_use]
pub(super) fn outermost(mut all: Vec<AbsPath>) -> Vec<AbsPath> {
    all.sort();
    let mut kept: Vec<AbsPath> = Vec::new();
    for path in all {
        if !kept.last().is_some_and(|k| path.within(k)) {
            kept.push(path);
        }
    }
    kept
}

/// Closed and reopened paths while they are gathered.
#[derive(Debug, Default)]
pub(super) struct Draft {
    marks: BTreeMap<AbsPath, Mode>,
}

impl Draft {
    /// Makes a path read-only; wins over everything else said about the same path.
    pub(super) fn close(&mut self, path: &AbsPath) {
        self.marks.insert(path.clone(), Mode::ReadOnly);
    }

    /// Opens a path again, unless it was closed itself.
    pub(super) fn open(&mut self, path: &AbsPath) {
        self.marks.entry(path.clone()).or_insert(Mode::Open);
    }

    /// Drops what is redundant and adds the pins. A `BTreeMap` of paths yields parents first.
    fn finish(self, write: &[AbsPath], level: Level) -> Vec<Mount> {
        let mut kept: BTreeMap<AbsPath, Mode> = BTreeMap::new();
        for (path, mode) in self.marks {
            let shut = nearest(&kept, &path) == Some(Mode::ReadOnly);
            let needed = match mode {
                Mode::ReadOnly => !shut,
                Mode::Open => shut,
                Mode::Pin => false,
            };
            if needed {
                kept.insert(path, mode);
            }
        }
        let mut all = kept.clone();
        for path in kept.keys() {
            let mut at = path.parent();
            while let Some(dir) = at {
                at = dir.parent();
                let Some(above) = &at else { break };
                if all.contains_key(&dir) {
                    continue;
                }
                let movable = level == Level::Mounts || write.iter().any(|w| above.within(w));
                if movable && nearest(&kept, &dir) != Some(Mode::ReadOnly) {
                    all.insert(dir, Mode::Pin);
                }
            }
        }
        all.into_iter().map(|(path, mode)| Mount { path, mode }).collect()
    }
}

/// What the closest marked folder above a path says.
fn nearest(kept: &BTreeMap<AbsPath, Mode>, path: &AbsPath) -> Option<Mode> {
    let mut at = path.parent();
    while let Some(dir) = at {
        if let Some(mode) = kept.get(&dir) {
            return Some(*mode);
        }
        at = dir.parent();
    }
    None
}
