//! A newcomer's first write: its tree is made, and the denial says where. Isolation that fails is
//! said, and the gates go on guarding the shared checkout.

use super::context::Context;
use super::pretool::Settled;
use super::reply;
use crate::kernel::StateError;
use crate::kernel::store::{Kernel, PresenceRow};
use crate::policy::lane::AbsPath;
use crate::policy::telling;
use crate::policy::verdict::{Denial, Note, Verdict, What};
use crate::shield::Reply;
use crate::worktree::engine::Engine;
use crate::worktree::{State, TreeRow};

/// What came of sending a session away.
pub enum Sent {
    /// It has a tree; this is the refusal that says so.
    Told(Reply),
    /// It could not get one and may go on here: judge again, and say these words.
    Stays(String),
}

/// Makes the session's tree and tells it where to work.
pub fn send(
    context: &Context<'_>,
    kernel: &mut Kernel,
    settled: &Settled,
    root: &AbsPath,
) -> Result<Sent, StateError> {
    let Verdict::Deny(denial) = &settled.outcome.verdict else {
        return Ok(Sent::Told(reply::pass()));
    };
    let engine = Engine::new(&context.home, Some(root.as_path()));
    let made = match &engine {
        Some(engine) => {
            engine.fork(&context.actor.session, root).map_err(|e| telling::plain(&e.to_string()))
        }
        None => Err("the worktrees' folder has no usable path".to_owned()),
    };
    match made {
        Ok(made) => {
            let text = told(denial, settled, root, &made.row, &made.base, &made.notes);
            Ok(Sent::Told(reply::deny(&text)))
        }
        Err(why) => stay(context, kernel, settled, denial, root, &why),
    }
}

fn told(
    denial: &Denial,
    settled: &Settled,
    root: &AbsPath,
    row: &TreeRow,
    base: &str,
    notes: &[String],
) -> String {
    let place = row.place();
    let mut lines = vec![telling::head(denial, &settled.facts)];
    let from = if base.is_empty() { String::new() } else { format!(", from {base}") };
    lines.push(format!("you have a worktree of your own: {place} (branch {}{from})", row.branch));
    let asked = denial.target.as_ref().and_then(|t| t.below(root)).map(|rest| row.path.join(rest));
    lines.push(match asked {
        Some(path) => format!("do this there: {path}"),
        None => format!("do this there: cd {place}"),
    });
    lines.push(format!(
        "edit, build and commit in it; {root} is read-only for you while others work there"
    ));
    if row.state == State::Preparing {
        lines.push(
            "its files are still being checked out: octo worktree show tells when it is ready"
                .to_owned(),
        );
    }
    lines.extend(notes.iter().map(|n| telling::plain(n)));
    lines.join("\n")
}

/// No tree could be made: stop where isolation is required, else go on here, said aloud.
fn stay(
    context: &Context<'_>,
    kernel: &mut Kernel,
    settled: &Settled,
    denial: &Denial,
    root: &AbsPath,
    why: &str,
) -> Result<Sent, StateError> {
    let session = &context.actor.session;
    kernel.transact(|tx| {
        let note = Note {
            reason: Some(format!("not isolated: {why}")),
            root: Some(root.to_string()),
            ..Note::default()
        };
        tx.journal(session, What::Fork, note);
        if !context.settings.require {
            let known = tx.presence_in(root)?.into_iter().find(|p| p.session == *session);
            let since = tx.now().tick;
            let fresh = || PresenceRow {
                root: root.clone(),
                session: session.clone(),
                since,
                wrote: false,
                forked: None,
            };
            let row = known.unwrap_or_else(fresh);
            tx.put_presence(&PresenceRow { wrote: true, ..row })?;
        }
        Ok(())
    })?;
    if context.settings.require {
        let text = format!(
            "{}\nNOT isolated: {why}\nisolation is required here, so nothing is written; mend that, or a person sets require = false",
            telling::head(denial, &settled.facts)
        );
        return Ok(Sent::Told(reply::deny(&text)));
    }
    Ok(Sent::Stays(format!(
        "octo: NOT isolated: {why}; you share {root} with others, and the gates guard their work"
    )))
}
