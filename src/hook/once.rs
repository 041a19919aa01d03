//! One call, seen under several of our names: judged by each, but refused, journaled and held once.
//! Never lets a call pass because another name let it.

use super::context::Context;
use super::pretool;
use crate::kernel::StateError;
use crate::kernel::store::{CallRow, Tx};
use crate::policy::rules::Gate;
use crate::policy::verdict::Outcome;

/// A call seen again within this many seconds is the same call under another name.
const SAME_CALL: u64 = 120;

/// A call's key in the table. Ids are unique in a client, not on a machine.
#[must_use]
pub fn key(context: &Context<'_>) -> Option<String> {
    context.payload.call().map(|id| format!("{}/{id}", context.actor.pid))
}

/// What was said about this very call under another name: the words of its refusal, or nothing
/// when it passed all gates.
pub fn said(
    tx: &Tx<'_>,
    context: &Context<'_>,
    key: Option<&str>,
) -> Result<Option<String>, StateError> {
    let Some(key) = key else { return Ok(None) };
    let row = tx.call(key)?.filter(|row| context.now.tick.since(row.at) <= SAME_CALL);
    Ok(row.and_then(|row| row.verdict))
}

/// Whether this name of ours is the one that holds the bytes an allowed call is about to take:
/// one that judges lanes, and the first of them to see the call.
pub fn keeps(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    call: Option<&str>,
    outcome: &Outcome,
) -> Result<bool, StateError> {
    if outcome.keeps.is_empty() {
        return Ok(true);
    }
    if !pretool::gates(context.role).contains(&Gate::Lane) {
        return Ok(false);
    }
    let Some(id) = call.map(|call| format!("{call}#kept")) else { return Ok(true) };
    let now = context.now.tick;
    if tx.call(&id)?.is_some_and(|row| now.since(row.at) <= SAME_CALL) {
        return Ok(false);
    }
    let pid = context.actor.pid.clone();
    tx.put_call(&CallRow { id, pid, at: now, verdict: None, roots: Vec::new() })?;
    Ok(true)
}
