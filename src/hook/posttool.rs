//! After a tool: claims are confirmed or dropped, commits end lanes, others' drifted paths are
//! reported to their owners. Blocks nothing.

use super::context::Context;
use super::observe::{self, Tool};
use super::site::Disk;
use super::{claims, fencing, register, reply};
use crate::applet::Event;
use crate::kernel::StateError;
use crate::kernel::beat::{self, Flight, Seen};
use crate::kernel::store::{Kernel, LaneRow, Make, PATIENCE, SpawnRow, Tx};
use crate::policy::facts::Effect;
use crate::policy::lane::{AbsPath, Pid};
use crate::shield::Reply;

use serde::Deserialize;

/// What the Agent tool answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentAnswer {
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    is_async: Option<bool>,
    #[serde(default)]
    status: Option<String>,
}

/// A tool has run or failed.
pub fn run(context: &Context<'_>) -> Result<Reply, StateError> {
    let tool = Tool::of(context.payload.tool());
    let call = context.payload.call().map(|id| (id, Flight::Over));
    let flying = context
        .payload
        .call()
        .and_then(|id| beat::in_flight(&context.home, &context.actor.pid).get(id).copied());
    let seen = beat::touch(&context.home, &context.actor.pid, call, context.now.unix);
    let first = !matches!(seen, Ok(Seen::Before { .. }));
    let wrote = flying != Some(Flight::Reads);
    let mine = [&context.actor.pid, &context.actor.session];
    let lease = context.settings.lease_seconds;
    let watched =
        tool == Tool::Command && beat::others_about(&context.home, &mine, lease, context.now.unix);
    let fenced = fencing::over(context);
    if !first && !wrote && !watched && !fenced && tool != Tool::Delegate {
        return Ok(reply::pass());
    }
    let mut kernel = match Kernel::open(&context.home, Make::IfAbsent, PATIENCE) {
        Ok(kernel) => kernel,
        Err(StateError::Absent) => return Ok(reply::pass()),
        Err(e) => return Err(e),
    };
    settle(context, &mut kernel, tool)
}

fn settle(context: &Context<'_>, kernel: &mut Kernel, tool: Tool) -> Result<Reply, StateError> {
    let me = context.actor.pid.clone();
    let key = context.payload.call().map(|id| format!("{me}/{id}"));
    let roots = kernel.look(|tx| match &key {
        Some(key) => Ok(tx.call(key)?.map(|c| c.roots).unwrap_or_default()),
        None => Ok(Vec::new()),
    })?;
    let written = written_paths(context, tool);
    let words = kernel.transact(|tx| {
        register::ensure(tx, context, 0)?;
        if tool == Tool::Delegate {
            pair(tx, context)?;
        }
        let lanes = lanes_to_confirm(tx, context, tool, &written)?;
        claims::confirm(tx, context, lanes)?;
        if tool == Tool::Command {
            let mut watched: Vec<AbsPath> = roots.iter().map(|(r, ..)| r.clone()).collect();
            if let Some(root) = &context.root
                && !watched.contains(&root.path)
            {
                watched.push(root.path.clone());
            }
            for root in &watched {
                claims::drift(tx, context, root)?;
            }
        }
        for before in &roots {
            claims::note_made(tx, context, before)?;
        }
        tx.take_notices(&me)
    })?;
    for (root, ..) in &roots {
        claims::sweep_clean(kernel, context, root)?;
    }
    let mut words = words;
    words.extend(fencing::after(context, kernel)?);
    Ok(reply::context(context.event, &words))
}

/// The paths a file tool named.
fn written_paths(context: &Context<'_>, tool: Tool) -> Vec<AbsPath> {
    if !matches!(tool, Tool::Write | Tool::Mcp) {
        return Vec::new();
    }
    let disk = Disk::new(context.home.user(), &context.payload.cwd, context.settings.clone());
    let effects = observe::effects(&context.payload, &disk).unwrap_or_default();
    effects
        .iter()
        .filter_map(|e| match e {
            Effect::Write { path } | Effect::Remove { path } => Some(path.clone()),
            Effect::Check { .. }
            | Effect::Meta { .. }
            | Effect::Stage { .. }
            | Effect::Unstage { .. }
            | Effect::Commit { .. }
            | Effect::Tree { .. }
            | Effect::Pathspec { .. }
            | Effect::Head { .. }
            | Effect::Sequencer { .. }
            | Effect::Stash { .. }
            | Effect::Branch { .. }
            | Effect::Worktree { .. }
            | Effect::Operator(_)
            | Effect::Opaque { .. } => None,
        })
        .collect()
}

/// The caller's lanes this call may have written: the named ones, or after a command all of its
/// own, since a command may write more of them than was read.
fn lanes_to_confirm(
    tx: &Tx<'_>,
    context: &Context<'_>,
    tool: Tool,
    written: &[AbsPath],
) -> Result<Vec<LaneRow>, StateError> {
    let mine = tx.lanes_of(&context.actor.pid)?;
    Ok(match tool {
        Tool::Write | Tool::Mcp => mine.into_iter().filter(|l| written.contains(&l.path)).collect(),
        Tool::Command | Tool::Delegate | Tool::Other => mine,
    })
}

/// The Agent tool names the child it made: parent and background are known from here on.
fn pair(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<(), StateError> {
    let Some(raw) = context.payload.tool_response else { return Ok(()) };
    let Ok(answer) = serde_json::from_str::<AgentAnswer>(raw.get()) else { return Ok(()) };
    let Some(child) = answer.agent_id.as_deref().and_then(Pid::new) else { return Ok(()) };
    let me = context.actor.pid.clone();
    if let Some(call) = context.payload.call() {
        tx.put_spawn(&SpawnRow {
            call: format!("{me}/{call}"),
            session: context.actor.session.clone(),
            spawner: me.clone(),
            at: context.now.tick,
            child: Some(child.clone()),
        })?;
    }
    let background = answer.is_async == Some(true)
        || answer.status.as_deref().is_some_and(|s| s.starts_with("async"));
    if let Some(mut row) = tx.process(&child)? {
        row.parent = Some(me);
        row.background |= background;
        tx.put_process(&row)?;
    }
    Ok(())
}

/// The end of a turn or batch: whatever is still provisional is settled now.
pub fn settle_all(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<(), StateError> {
    let mine = tx.lanes_of(&context.actor.pid)?;
    let open = mine.into_iter().filter(|l| l.written.is_none());
    let open = open.map(|l| LaneRow { call: None, ..l }).collect();
    claims::confirm(tx, context, open)?;
    if context.event == Event::Stop || context.event == Event::SubagentStop {
        tx.drop_calls(&context.actor.pid)?;
    }
    Ok(())
}
