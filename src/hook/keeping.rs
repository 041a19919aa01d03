//! Before a loss: what a verb that passes would overwrite or throw away is kept first, silently,
//! with one command to bring it back.

use super::asked;
use super::context::Context;
use super::pretool::Settled;
use crate::git::discover;
use crate::kernel::store::Kernel;
use crate::kernel::{clock, log};
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::policy::telling;
use crate::policy::verdict::{Keep, Note, What};
use crate::worktree::keep::snapshot::Extra;
use crate::worktree::keep::{self, Bounds, Kept, Reason};

/// Keeps what the outcome names. Words for the caller, or the refusal when somebody else's bytes
/// could not be kept.
pub fn before(
    context: &Context<'_>,
    kernel: &mut Kernel,
    settled: &Settled,
) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut done: Vec<AbsPath> = Vec::new();
    for wanted in &settled.outcome.keeps {
        if done.contains(&wanted.root) {
            continue;
        }
        let Some(root) = discover::root_of(&wanted.root).filter(|r| r.path == wanted.root) else {
            continue;
        };
        if let Some(path) = &wanted.path
            && !is_at_stake(&root, path)
        {
            continue;
        }
        done.push(root.path.clone());
        if let Some(word) = one(context, kernel, settled, wanted, &root)? {
            words.push(word);
        }
    }
    Ok(words)
}

/// Whether anything at or below a path is not in a commit. What can't be told is.
fn is_at_stake(root: &Root, path: &AbsPath) -> bool {
    std::fs::symlink_metadata(path.as_path()).is_ok()
        && asked::dirty(&root.path, std::slice::from_ref(path)).is_none_or(|d| !d.is_empty())
}

fn one(
    context: &Context<'_>,
    kernel: &mut Kernel,
    settled: &Settled,
    wanted: &Keep,
    root: &Root,
) -> Result<Option<String>, String> {
    let reason = Reason {
        what: what(context),
        by: Some(context.actor.pid.to_string()),
        owner: wanted.whose.as_ref().map(ToString::to_string),
        at: context.now.unix,
    };
    let theirs = wanted.whose.is_some()
        || settled.facts.holds.iter().any(|h| h.root.as_ref() == Some(&root.path));
    match keep::before(root, &reason, &Extra::default(), Bounds::default()) {
        Ok(Kept::Nothing) => Ok(None),
        Ok(Kept::Ref(kept)) => {
            let restore = kept.to_string();
            let note = Note {
                target: Some(wanted.path.as_ref().unwrap_or(&root.path).to_string()),
                root: Some(root.path.to_string()),
                restore: Some(restore.clone()),
                reason: Some(reason.what),
                call: context.payload.call().map(str::to_owned),
                ..Note::default()
            };
            let me = context.actor.pid.clone();
            let written = kernel.transact(|tx| {
                tx.journal(&me, What::Keep, note);
                Ok(())
            });
            if let Err(e) = written {
                log::report(&context.home, clock::now(), &format!("keep {restore}: {e}"));
            }
            let word = format!("octo: the bytes you replace were kept: {restore}");
            Ok(wanted.whose.is_some().then_some(word))
        }
        Ok(Kept::TooBig { bytes, files }) => {
            let size = format!("{files} files, {} MB", bytes >> 20);
            too_much(context, root, theirs, &size)
        }
        Err(e) => too_much(context, root, theirs, &e.to_string()),
    }
}

fn what(context: &Context<'_>) -> String {
    let text = context.payload.tool_input.map_or("", |raw| raw.get());
    let command: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let command = command.as_ref().and_then(|v| v.get("command")).and_then(|c| c.as_str());
    match command {
        Some(command) => telling::plain(command),
        None => context.payload.tool().to_owned(),
    }
}

fn too_much(
    context: &Context<'_>,
    root: &Root,
    theirs: bool,
    why: &str,
) -> Result<Option<String>, String> {
    if theirs {
        return Err(format!(
            "octo: denied [tree.whole] uncommitted work of others in {} can't be kept first ({})\nwhat to do: wait until they have committed, or work in your own worktree",
            root.path,
            telling::plain(why)
        ));
    }
    log::report(&context.home, context.now, &format!("not kept in {}: {why}", root.path));
    Ok(Some(format!("octo: uncommitted work in {} was not kept first ({why})", root.path)))
}
