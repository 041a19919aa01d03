//! WorktreeCreate and WorktreeRemove: the client's own worktrees are made and laid to rest by ours.
//! Creating prints exactly one path or fails on purpose; removing never fails the client.

use super::context::Context;
use crate::policy::lane::AbsPath;
use crate::policy::telling;
use crate::shield::Reply;
use crate::worktree::engine::Engine;

/// The client wants a worktree.
#[must_use]
pub fn create(context: &Context<'_>) -> Reply {
    let project = context.root.as_ref().map(|r| r.path.as_path());
    let made = match (Engine::new(&context.home, project), &context.cwd) {
        (Some(engine), Some(cwd)) => {
            let name = context.payload.name.as_deref().unwrap_or("worktree");
            engine.create(&context.actor.session, cwd, name).map_err(|e| e.to_string())
        }
        (None, _) => Err("the worktrees' folder has no usable path".to_owned()),
        (_, None) => Err(format!("{} is no usable directory", context.payload.cwd)),
    };
    match made {
        Ok(made) => Reply {
            stdout: format!("{}\n", made.row.place()),
            stderr: made.notes.iter().map(|n| format!("octo: {}\n", telling::plain(n))).collect(),
            code: 0,
        },
        Err(why) => {
            Reply { stderr: format!("octo: no worktree: {why}\n"), code: 1, ..Reply::default() }
        }
    }
}

/// The client is done with a worktree.
#[must_use]
pub fn remove(context: &Context<'_>) -> Reply {
    let said = context.payload.worktree_path.as_deref().unwrap_or(&context.payload.cwd);
    let project = context.root.as_ref().map(|r| r.path.as_path());
    let words = match (Engine::new(&context.home, project), AbsPath::new(said)) {
        (Some(engine), Some(path)) => engine
            .remove(&context.actor.session, &path)
            .unwrap_or_else(|e| format!("{path} is kept: {e}")),
        _ => format!("{said} is no tree of octo: left alone"),
    };
    Reply { stderr: format!("octo: {}\n", telling::plain(&words)), ..Reply::default() }
}
