//! A newcomer's first write: its tree is made, and the denial says where.

use super::context::Context;
use super::pretool::Settled;
use super::reply;
use crate::kernel::store::Kernel;
use crate::policy::lane::AbsPath;
use crate::policy::telling;
use crate::policy::verdict::{Denial, Note, Verdict, What};
use crate::shield::Reply;
use crate::worktree::apply::Made;
use crate::worktree::engine::Engine;
use crate::worktree::{State, TreeError};

/// Makes the session's tree and tells it where to work.
pub fn send(
    context: &Context<'_>,
    kernel: &mut Kernel,
    settled: &Settled,
    root: &AbsPath,
) -> Reply {
    let Verdict::Deny(denial) = &settled.outcome.verdict else { return reply::pass() };
    let mut lines = vec![telling::tell(denial, &settled.facts)];
    match make(context, root) {
        Ok(made) => lines.extend(ready(&made, denial, root)),
        Err(why) => lines.extend(failed(context, kernel, root, &why)),
    }
    reply::deny(&lines.join("\n"))
}

fn make(context: &Context<'_>, root: &AbsPath) -> Result<Made, String> {
    let engine = Engine::new(&context.home, Some(root.as_path()));
    let engine = engine.ok_or("there is no home directory")?;
    let inside = context.cwd.as_ref().filter(|cwd| cwd.within(root));
    let made = engine.fork(&context.actor.session, inside.unwrap_or(root));
    made.map_err(|e: TreeError| e.to_string())
}

fn ready(made: &Made, denial: &Denial, root: &AbsPath) -> Vec<String> {
    let row = &made.row;
    let mut lines = vec![match &row.state {
        State::Failed { why } => {
            format!("your own worktree {} could not be filled: {why}", row.path)
        }
        State::Preparing => format!(
            "your own worktree is {} (branch {}); it is being filled: wait with `octo worktree show {}` until it says ready",
            row.place(),
            row.branch,
            row.id
        ),
        State::Ready
        | State::Waiting { .. }
        | State::Attention { .. }
        | State::Landed { .. }
        | State::Burying { .. }
        | State::Archived { .. } => {
            format!("your own worktree is {} (branch {})", row.place(), row.branch)
        }
    }];
    if !made.base.is_empty() {
        lines.push(format!("it starts from {}", made.base));
    }
    let target = denial.target.as_ref().and_then(|p| p.below(root));
    if let Some(rest) = target.filter(|rest| !rest.as_os_str().is_empty()) {
        lines.push(format!("this path there: {}", row.path.join(rest)));
    }
    lines.push(format!("cd {} and go on there; bring the work home with: octo save", row.place()));
    lines.extend(made.notes.iter().take(8).map(|note| telling::plain(note)));
    lines
}

/// The session is told, the journal has it, and the gates go on guarding the shared checkout: it
/// works there like one that came first, unless a setting requires isolation.
fn failed(context: &Context<'_>, kernel: &mut Kernel, root: &AbsPath, why: &str) -> Vec<String> {
    let session = &context.actor.session;
    let require = context.settings.require;
    let text = format!("NOT isolated: {why}");
    let note = Note { root: Some(root.to_string()), reason: Some(text.clone()), ..Note::default() };
    drop(kernel.transact(|tx| {
        if !require {
            for row in tx.presence_of(session)?.into_iter().filter(|p| p.root == *root) {
                tx.put_presence(&crate::kernel::store::PresenceRow { wrote: true, ..row })?;
            }
        }
        tx.journal(session, What::Fork, note);
        Ok(())
    }));
    let next = if require {
        "settings require a worktree of your own: tell the person, then try again"
    } else {
        "you share this checkout from now on and its gates hold for you; repeat the call"
    };
    vec![telling::plain(&text), next.to_owned()]
}
