//! The bytes and commits that are held before an allowed call may throw them away.
//! Must never hold up a call for long, and never let somebody else's bytes go unheld: what is too
//! much is refused when it is another's, and said aloud when it is the caller's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::context::Context;
use crate::git;
use crate::git::entry::{self, Indexed};
use crate::kernel::store::Kernel;
use crate::policy::facts::{Facts, Root, RootKind, StashUse, Untracked};
use crate::policy::lane::AbsPath;
use crate::policy::telling::plain;
use crate::policy::verdict::{Keep, Kept as Threat, Note, Outcome, What};
use crate::worktree::keep::snapshot::{self, Extra, Look};
use crate::worktree::keep::{Bounds, Kept, Reason, refs};
use crate::worktree::{TreeError, seed};

/// What of a tree's ignored files is held: more is a cache or build output, whatever its name.
const IGNORED: Bounds = Bounds { bytes: 32 << 20, files: 2_000, time: Duration::from_secs(3) };

/// Holds what an allowed call is about to overwrite or throw away. Words for the agent, or the
/// refusal when somebody else's bytes are too many to hold.
pub fn keep(
    context: &Context<'_>,
    kernel: &mut Kernel,
    outcome: &Outcome,
) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for keep in &outcome.keeps {
        let root = git::root_of(&keep.root).filter(|r| r.path == keep.root);
        let Some(root) = root else { continue };
        if keep.path.as_ref().is_some_and(|p| p.as_path().iter().any(|c| c == ".git")) {
            continue;
        }
        // A checkout that goes with its repository takes every ref along that could hold it.
        if keep.path.as_ref() == Some(&root.path) && root.kind == RootKind::Main {
            words.push(format!("octo: nothing of {} can be held: its history goes too", root.path));
            continue;
        }
        let reason = Reason {
            what: what(context, keep),
            by: Some(context.actor.pid.to_string()),
            owner: keep.whose.as_ref().map(ToString::to_string),
            at: context.now.unix,
        };
        match hold(&root, keep, &reason) {
            Ok(all) => {
                for kept in all {
                    settle(context, kernel, keep, &reason, kept, &mut words)?;
                }
            }
            Err(why) => too_much(keep, &why.to_string(), &mut words)?,
        }
    }
    Ok(words)
}

/// What is to be held of files that a call writes and nobody is known to have written: those that
/// are there and are not just what the index has.
#[must_use]
pub fn overwritten(paths: &[AbsPath], facts: &Facts) -> Vec<Keep> {
    let own = |path: &&AbsPath| {
        let meta = std::fs::symlink_metadata(path.as_path());
        meta.is_ok_and(|m| m.is_file() && m.len() > 0)
    };
    let keep = |path: &AbsPath| {
        let root = facts.root_of(path)?;
        (entry::compare(root, path) != Indexed::Same).then(|| Keep {
            root: root.path.clone(),
            path: Some(path.clone()),
            what: Threat::Content,
            whose: None,
        })
    };
    paths.iter().filter(own).filter_map(keep).collect()
}

/// Holds one thing; the parts it took.
fn hold(root: &Root, keep: &Keep, reason: &Reason) -> Result<Vec<Kept>, TreeError> {
    let below = keep.path.as_ref().and_then(|p| p.below(&root.path)).map(PathBuf::from);
    let only: Vec<PathBuf> = below.into_iter().filter(|p| !p.as_os_str().is_empty()).collect();
    let whole = keep.path.is_some() && only.is_empty();
    let loose = |extra| snapshot::before(root, reason, &extra, Bounds::default());
    match &keep.what {
        Threat::Loose if whole => work_tree(root, reason),
        Threat::Loose | Threat::Content => Ok(vec![loose(Extra { only, ..Extra::default() })?]),
        Threat::Ignored if only.iter().any(|p| is_built(p)) => Ok(Vec::new()),
        Threat::Untracked(Untracked::Unknown) => {
            Ok(vec![loose(Extra { only, look: Look::Untracked, ..Extra::default() })?])
        }
        Threat::Ignored | Threat::Untracked(Untracked::Ignored) => {
            untracked(root, only, Look::Nowhere, reason)
        }
        Threat::Untracked(Untracked::Both) => untracked(root, only, Look::Untracked, reason),
        Threat::WorkTree => work_tree(root, reason),
        Threat::Branch(name) => Ok(vec![refs::branch(root, name, reason)?]),
        Threat::Stash(StashUse::Take(entry)) => {
            Ok(vec![refs::stash(root, entry.as_deref(), reason)?])
        }
        Threat::Stash(StashUse::Clear) => Ok(vec![refs::stash(root, None, reason)?]),
    }
}

/// Ignored files at and below the paths, and what else is looked for.
fn untracked(
    root: &Root,
    only: Vec<PathBuf>,
    look: Look,
    reason: &Reason,
) -> Result<Vec<Kept>, TreeError> {
    let own = seed::ignored_files(root, &root.path, &only, IGNORED, &|_| false)?;
    let extra = Extra { ignored: own.files, only, look };
    let mut kept = vec![snapshot::before(root, reason, &extra, Bounds::default())?];
    kept.extend(own.too_many.map(|(bytes, files)| Kept::TooBig { bytes, files }));
    Ok(kept)
}

/// A linked work tree that goes: its files, ignored ones too, and what only its reflog names.
fn work_tree(root: &Root, reason: &Reason) -> Result<Vec<Kept>, TreeError> {
    let mut kept = untracked(root, Vec::new(), Look::default(), reason)?;
    // Before what may be too much: that is the end of it.
    let named = snapshot::unreached(root, reason)?.map(Kept::Ref);
    kept.splice(1..1, named);
    Ok(kept)
}

/// Below a folder that tools make and can make again.
fn is_built(path: &Path) -> bool {
    let built = |part: &OsStr| part.to_str().is_some_and(|name| seed::BUILT.contains(&name));
    path.iter().any(built)
}

fn settle(
    context: &Context<'_>,
    kernel: &mut Kernel,
    keep: &Keep,
    reason: &Reason,
    kept: Kept,
    words: &mut Vec<String>,
) -> Result<(), String> {
    match kept {
        Kept::Nothing => Ok(()),
        Kept::TooBig { bytes, files } => {
            too_much(keep, &format!("{files} files, {} MiB", bytes >> 20), words)
        }
        Kept::Ref(held) => {
            let note = Note {
                root: Some(keep.root.to_string()),
                target: keep.path.as_ref().map(ToString::to_string),
                restore: Some(held.to_string()),
                reason: Some(reason.what.clone()),
                ..Note::default()
            };
            let pid = context.actor.pid.clone();
            drop(kernel.transact(|tx| {
                tx.journal(&pid, What::Keep, note.clone());
                Ok(())
            }));
            if keep.whose.is_some() {
                words.push(format!("octo: they come back with: {held}"));
            }
            Ok(())
        }
    }
}

fn too_much(keep: &Keep, what: &str, words: &mut Vec<String>) -> Result<(), String> {
    if let Some(whose) = &keep.whose {
        return Err(format!(
            "octo: denied [keep.bounds] uncommitted work of {whose} in {} could not be held first ({})\nwhat to do: commit or copy it, then try again",
            keep.root,
            plain(what)
        ));
    }
    let which = match keep.what {
        Threat::Ignored | Threat::Untracked(_) => "untracked files",
        Threat::Loose
        | Threat::Content
        | Threat::WorkTree
        | Threat::Branch(_)
        | Threat::Stash(_) => "uncommitted work",
    };
    let place = keep.path.as_ref().unwrap_or(&keep.root);
    words.push(format!("octo: {which} in {place} not held first ({})", plain(what)));
    Ok(())
}

/// What is about to happen, as a person would say it.
fn what(context: &Context<'_>, keep: &Keep) -> String {
    let tool = context.payload.tool();
    match (&keep.what, &keep.path) {
        (Threat::Branch(name), _) => format!("{tool} on branch {name}"),
        (Threat::Stash(_), _) => format!("{tool} on the stash"),
        (
            Threat::Loose
            | Threat::Content
            | Threat::Ignored
            | Threat::Untracked(_)
            | Threat::WorkTree,
            path,
        ) => match path {
            Some(path) => format!("{tool} on {path}"),
            None => format!("{tool} in {}", keep.root),
        },
    }
}
