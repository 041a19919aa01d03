//! Handing work to a subagent: what the spawner held becomes its family's, so that it never holds
//! its own children hostage; and a tree of its own for the child, where a setting asks for it.

use serde_json::Value;

use super::context::Context;
use super::observe::Tool;
use super::reply;
use crate::config::Subagents;
use crate::kernel::StateError;
use crate::kernel::store::{CustodyRow, LaneRow, SpawnRow, Tx};
use crate::policy::verdict::{Note, What};
use crate::shield::Reply;

/// The spawner's lanes and custody, as of now, become the family's.
pub fn hand_over(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<(), StateError> {
    let me = context.actor.pid.clone();
    if let Some(call) = context.payload.call() {
        let call = format!("{me}/{call}");
        if !tx.spawns(&context.actor.session)?.iter().any(|s| s.call == call) {
            tx.put_spawn(&SpawnRow {
                call,
                session: context.actor.session.clone(),
                spawner: me.clone(),
                at: context.now.tick,
                child: None,
            })?;
        }
    }
    for lane in tx.lanes_of(&me)?.into_iter().filter(|l| !l.family) {
        let note = Note {
            target: Some(lane.path.to_string()),
            root: lane.root.as_ref().map(ToString::to_string),
            reason: Some("delegate".to_owned()),
            ..Note::default()
        };
        tx.put_lane(&LaneRow { family: true, ..lane })?;
        tx.journal(&me, What::Release, note);
    }
    for kept in tx.custody_of(&me)?.into_iter().filter(|c| !c.family) {
        tx.put_custody(&CustodyRow { family: true, ..kept })?;
    }
    Ok(())
}

/// The Agent call with `isolation: "worktree"` added and every other field as it was, and what is
/// to be said besides.
#[must_use]
pub fn isolate(context: &Context<'_>, words: &[String]) -> Option<Reply> {
    if Tool::of(context.payload.tool()) != Tool::Delegate
        || context.settings.subagents != Subagents::Worktree
        || context.root.is_none()
    {
        return None;
    }
    let mut input: Value = serde_json::from_str(context.payload.tool_input?.get()).ok()?;
    let fields = input.as_object_mut()?;
    if fields.contains_key("isolation") {
        return None;
    }
    fields.insert("isolation".to_owned(), "worktree".into());
    Some(reply::updated_input(&input, words))
}
