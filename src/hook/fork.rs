//! A newcomer's first write: its tree is made, and the denial says where. Isolation that fails is
//! said, and the gates go on guarding the shared checkout.

use super::context::Context;
use super::pretool::Settled;
use super::{notify, reply};
use crate::kernel::StateError;
use crate::kernel::store::{Kernel, PresenceRow, Unmet};
use crate::policy::facts::Kind;
use crate::policy::lane::AbsPath;
use crate::policy::telling;
use crate::policy::verdict::{Denial, Note, Verdict, What};
use crate::shield::Reply;
use crate::worktree::apply::Made;
use crate::worktree::engine::Engine;
use crate::worktree::{State, TreeError};

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
    match make(context, root) {
        Ok(made) => {
            let session = &context.actor.session;
            if kernel.look(|tx| tx.unmet(session))?.is_some() {
                kernel.transact(|tx| tx.put_unmet(session, None))?;
            }
            let mut lines = vec![telling::head(denial, &settled.facts)];
            lines.extend(ready(context, &made, denial, root));
            Ok(Sent::Told(reply::deny(&lines.join("\n"))))
        }
        Err(why) => match fall_back(context, root) {
            Some(copy) => Ok(Sent::Told(reply::deny(&format!(
                "{}\nNOT isolated: {}\na plain copy without git is at {copy}: work there",
                telling::head(denial, &settled.facts),
                telling::plain(&why)
            )))),
            None => stay(context, kernel, settled, denial, root, &telling::plain(&why)),
        },
    }
}

fn make(context: &Context<'_>, root: &AbsPath) -> Result<Made, String> {
    let engine = Engine::new(&context.home, Some(root.as_path()));
    let engine = engine.ok_or("there is no home directory")?;
    let inside = context.cwd.as_ref().filter(|cwd| cwd.within(root));
    let made = engine.fork(&context.actor.session, inside.unwrap_or(root));
    made.map_err(|e: TreeError| e.to_string())
}

/// A plain copy, where a setting names a folder for it.
fn fall_back(context: &Context<'_>, root: &AbsPath) -> Option<AbsPath> {
    let folder = context.settings.fallback.as_deref()?;
    let engine = Engine::new(&context.home, Some(root.as_path()))?;
    engine.fall_back(&context.actor.session, root, folder).ok()
}

/// Whether the client enters a tree of ours at once: elsewhere it asks a person first (measured).
fn enters(context: &Context<'_>) -> bool {
    let bypass = context.payload.permission_mode.as_deref() == Some("bypassPermissions");
    bypass && context.actor.kind == Kind::Session
}

fn ready(context: &Context<'_>, made: &Made, denial: &Denial, root: &AbsPath) -> Vec<String> {
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
    if enters(context) && matches!(row.state, State::Ready) {
        lines.push(format!(
            "the EnterWorktree tool with the path {} takes the whole session there",
            row.path
        ));
    }
    lines.extend(made.notes.iter().take(8).map(|note| telling::plain(note)));
    lines
}

/// A prompt of a session that lacks required isolation: one more try, then the prompt stops.
pub fn at_prompt(context: &Context<'_>, kernel: &mut Kernel) -> Result<Option<Reply>, StateError> {
    if !context.settings.require {
        return Ok(None);
    }
    let session = &context.actor.session;
    let Some(unmet) = kernel.look(|tx| tx.unmet(session))? else { return Ok(None) };
    match make(context, &unmet.root) {
        Ok(_) => {
            kernel.transact(|tx| tx.put_unmet(session, None))?;
            Ok(None)
        }
        Err(why) => Ok(Some(reply::block(&format!(
            "octo: NOT isolated: {}\nisolation is required here; mend that, or set require = false (octo config edit)",
            telling::plain(&why)
        )))),
    }
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
        let unmet = Unmet { root: root.clone(), why: why.to_owned() };
        tx.put_unmet(session, Some(&unmet))?;
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
    notify::person(
        &context.settings,
        &format!("session {session} is NOT isolated in {root}: {why}"),
    );
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
