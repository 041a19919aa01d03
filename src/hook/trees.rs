//! Where hook events meet worktrees: the client's own wishes for them, what a starting session is
//! told and given, and the bytes that are held before a call may throw them away.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;

use super::context::Context;
use crate::git::{self, Follow, canonical};
use crate::kernel::store::Kernel;
use crate::policy::lane::AbsPath;
use crate::policy::telling::plain;
use crate::policy::verdict::{Keep, Note, Outcome, What};
use crate::shield::Reply;
use crate::worktree::engine::Engine;
use crate::worktree::keep::snapshot::{self, Extra};
use crate::worktree::keep::{Bounds, Kept, Reason};
use crate::worktree::{State, TreeRow};

/// `WorktreeCreate`: prints one path, or fails with the reason and nothing left behind.
#[must_use]
pub fn create(context: &Context<'_>) -> Reply {
    let refuse = |why: &str| Reply {
        stderr: format!("octo: no worktree: {}\n", plain(why)),
        code: 1,
        ..Reply::default()
    };
    let Some(cwd) = &context.cwd else { return refuse("the directory does not exist") };
    let Some(engine) = engine(context) else { return refuse("there is no home directory") };
    let name = context.payload.name.as_deref().unwrap_or("tree");
    let made = match engine.create(&context.actor.session, cwd, name) {
        Ok(made) => made,
        Err(why) => return refuse(&why.to_string()),
    };
    if let State::Failed { why } = &made.row.state {
        return refuse(why);
    }
    let mut words = vec![format!("octo: {} from {}", made.row.branch, made.base)];
    words.extend(made.notes.iter().map(|note| plain(note)));
    Reply {
        stdout: format!("{}\n", made.row.place()),
        stderr: words.join("\n") + "\n",
        ..Reply::default()
    }
}

/// `WorktreeRemove`: what may go goes, the rest is kept and named; never an error.
#[must_use]
pub fn remove(context: &Context<'_>) -> Reply {
    let path = context.payload.worktree_path.as_deref();
    let path = path.and_then(|p| canonical(PathBuf::from(p), Follow::All));
    let said = match (engine(context), path) {
        (Some(engine), Some(path)) => engine
            .remove(&context.actor.session, &path)
            .unwrap_or_else(|why| format!("kept: {why}")),
        (None, _) | (_, None) => "no such worktree".to_owned(),
    };
    Reply { stderr: format!("octo: {}\n", plain(&said)), ..Reply::default() }
}

/// What a starting session is told about its own trees, and what goes into its environment.
#[must_use]
pub fn at_start(context: &Context<'_>) -> Vec<String> {
    let (Some(engine), Some(root)) = (engine(context), &context.root) else { return Vec::new() };
    engine.reap_in_background();
    let rows = engine.of_session(&context.actor.session).unwrap_or_default();
    let here: Vec<&TreeRow> =
        rows.iter().filter(|r| r.common == root.common && r.name.is_none()).collect();
    let Some(row) = here.first() else { return Vec::new() };
    let mut words = Vec::new();
    let row = if standing(row) {
        (*row).clone()
    } else if row.stands() {
        match engine.fork(&context.actor.session, &root.path) {
            Ok(made) => {
                words.extend(made.notes.iter().map(|note| format!("octo: {}", plain(note))));
                made.row
            }
            Err(why) => {
                return vec![format!(
                    "octo: your worktree {} is gone and could not be made again: {why}",
                    row.path
                )];
            }
        }
    } else {
        return Vec::new();
    };
    words.push(format!("octo: isolated at {} (branch {}, {})", row.place(), row.branch, row.state));
    export(&row);
    words
}

fn standing(row: &TreeRow) -> bool {
    row.stands() && git::root_of(&row.path).is_some_and(|r| r.path == row.path)
}

/// Both names of the session's place, and its ports, for later commands of the session.
fn export(row: &TreeRow) {
    let Some(file) = std::env::var_os("CLAUDE_ENV_FILE") else { return };
    let quote = |path: &AbsPath| shell_words::quote(&path.to_string()).into_owned();
    let mut text = format!(
        "export OCTO_PROJECT={}\nexport OCTO_WORKTREE={}\n",
        quote(&row.main),
        quote(&row.path)
    );
    if row.ports.is_some() {
        for line in crate::worktree::ports::text(row).lines() {
            text.push_str("export ");
            text.push_str(line);
            text.push('\n');
        }
    }
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(file) {
        // A convenience: a session without it works as well.
        drop(file.write_all(text.as_bytes()));
    }
}

fn engine(context: &Context<'_>) -> Option<Engine> {
    Engine::new(&context.home, context.root.as_ref().map(|r| r.path.as_path()))
}

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
        let only: Vec<PathBuf> =
            keep.path.iter().filter_map(|p| p.below(&root.path)).map(PathBuf::from).collect();
        if only.iter().any(|p| p.components().any(|c| c.as_os_str() == OsStr::new(".git"))) {
            continue;
        }
        let reason = Reason {
            what: what(context, keep),
            by: Some(context.actor.pid.to_string()),
            owner: keep.whose.as_ref().map(ToString::to_string),
            at: context.now.unix,
        };
        let extra = Extra { only, ..Extra::default() };
        match snapshot::before(&root, &reason, &extra, Bounds::default()) {
            Ok(Kept::Nothing) => {}
            Ok(Kept::Ref(held)) => {
                let note = Note {
                    root: Some(root.path.to_string()),
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
            }
            Ok(Kept::TooBig { bytes, files }) => {
                let size = format!("{files} files, {} MiB", bytes >> 20);
                too_big(keep, &size, &mut words)?;
            }
            Err(why) => too_big(keep, &why.to_string(), &mut words)?,
        }
    }
    Ok(words)
}

fn too_big(keep: &Keep, what: &str, words: &mut Vec<String>) -> Result<(), String> {
    if let Some(whose) = &keep.whose {
        return Err(format!(
            "octo: denied [keep.bounds] uncommitted work of {whose} in {} could not be held first ({})\nwhat to do: commit or copy it, then try again",
            keep.root,
            plain(what)
        ));
    }
    words.push(format!(
        "octo: uncommitted work in {} was not held first ({})",
        keep.root,
        plain(what)
    ));
    Ok(())
}

fn what(context: &Context<'_>, keep: &Keep) -> String {
    let tool = context.payload.tool();
    match &keep.path {
        Some(path) => format!("{tool} on {path}"),
        None => format!("{tool} in {}", keep.root),
    }
}
