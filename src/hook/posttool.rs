//! After a tool: claims are confirmed or dropped, commits end lanes, others' drifted paths are
//! reported to their owners. Blocks nothing.

use super::context::Context;
use super::observe::{self, Tool};
use super::site::Disk;
use super::{claims, fencing, register, reply};
use crate::applet::Event;
use crate::kernel::StateError;
use crate::kernel::beat::{self, Flight, Seen};
use crate::kernel::store::{Kernel, LaneRow, SpawnRow, Tx};
use crate::policy::facts::Effect;
use crate::policy::lane::{AbsPath, Pid};
use crate::shield::Reply;

use serde::Deserialize;

/// When a call's provisional claims are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// It is over.
    Now,
    /// It goes on in the background: they stand until its turn ends without it.
    Later,
}

/// What is looked at in a tool's input after the call.
#[derive(Deserialize, Default)]
struct Asked {
    #[serde(default)]
    subagent_type: Option<String>,
    #[serde(default)]
    run_in_background: Option<bool>,
}

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
    let flying = context
        .payload
        .call()
        .and_then(|id| beat::in_flight(&context.home, &context.actor.pid).get(id).copied());
    let runs_on = tool == Tool::Command && flying == Some(Flight::Writes) && in_background(context);
    let over = if runs_on { Flight::Behind } else { Flight::Over };
    let call = context.payload.call().map(|id| (id, over));
    let seen = beat::touch(&context.home, &context.actor.pid, call, context.now.unix);
    let first = !matches!(seen, Ok(Seen::Before { .. }));
    let wrote = flying != Some(Flight::Reads);
    let mine = [&context.actor.pid, &context.actor.session];
    let lease = context.settings.lease_seconds;
    let watched =
        tool == Tool::Command && beat::others_about(&context.home, &mine, lease, context.now.unix);
    let fenced = fencing::over(context);
    let told = beat::has_word(&context.home, &context.actor.pid);
    if !first && !wrote && !watched && !fenced && !told && tool != Tool::Delegate {
        return Ok(reply::pass());
    }
    let mut kernel = context.kernel()?;
    settle(context, &mut kernel, tool, if runs_on { When::Later } else { When::Now })
}

/// Whether the command was sent to the background: it goes on after this report.
fn in_background(context: &Context<'_>) -> bool {
    context.event == Event::PostToolUse
        && context
            .payload
            .tool_input
            .and_then(|raw| serde_json::from_str::<Asked>(raw.get()).ok())
            .is_some_and(|asked| asked.run_in_background == Some(true))
}

fn settle(
    context: &Context<'_>,
    kernel: &mut Kernel,
    tool: Tool,
    when: When,
) -> Result<Reply, StateError> {
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
        let mut lanes = lanes_to_confirm(tx, context, tool, &written)?;
        if when == When::Later {
            lanes.retain(|lane| lane.call.as_deref() != context.payload.call());
        }
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
    effects.iter().filter_map(Effect::changed).cloned().collect()
}

/// The caller's lanes this call may have written: the named ones, or after a command all of its
/// own, since a command may write more of them than was read.
fn lanes_to_confirm(
    tx: &Tx<'_>,
    context: &Context<'_>,
    tool: Tool,
    written: &[AbsPath],
) -> Result<Vec<LaneRow>, StateError> {
    let me = &context.actor.pid;
    match tool {
        Tool::Write | Tool::Mcp => {
            let mut named = Vec::new();
            for path in written {
                named.extend(tx.lane_at(path)?.filter(|lane| lane.holder == *me));
            }
            Ok(named)
        }
        Tool::Command => tx.lanes_of(me),
        Tool::Delegate | Tool::Other => Ok(Vec::new()),
    }
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
    // A child that runs in the background may not have sent an event yet. That it is one must be
    // known when it does: the end of its parent's turn is not its end.
    let mut row = match tx.process(&child)? {
        Some(row) => row,
        None if background => register::announce(tx, context, &child, spawned_type(context))?,
        None => return Ok(()),
    };
    row.parent = Some(me);
    row.background |= background;
    tx.put_process(&row)
}

/// The type an agent was asked for with.
fn spawned_type(context: &Context<'_>) -> Option<String> {
    let asked = serde_json::from_str::<Asked>(context.payload.tool_input?.get()).ok()?;
    asked.subagent_type
}

/// The end of a turn or batch: whatever is still provisional is settled now.
pub fn settle_all(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<(), StateError> {
    let mut open = tx.provisional_of(&context.actor.pid)?;
    // A turn that ends without naming running commands has none; a batch says nothing about them.
    if context.event == Event::PostToolBatch || shells_run(context) {
        let flying = beat::in_flight(&context.home, &context.actor.pid);
        let behind = |call: &String| flying.get(call) == Some(&Flight::Behind);
        open.retain(|l| !l.call.as_ref().is_some_and(behind));
    }
    let open = open.into_iter().map(|l| LaneRow { call: None, ..l }).collect();
    claims::confirm(tx, context, open)?;
    if context.event == Event::Stop || context.event == Event::SubagentStop {
        tx.drop_calls(&context.actor.pid)?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Task<'t> {
    id: &'t str,
    #[serde(rename = "type")]
    kind: &'t str,
    status: &'t str,
}

/// What the client says still runs beside the turn that ended, of one kind.
fn running(context: &Context<'_>, kind: &str) -> Vec<String> {
    let tasks = context.payload.background_tasks;
    let tasks = tasks.and_then(|raw| serde_json::from_str::<Vec<Task<'_>>>(raw.get()).ok());
    let tasks = tasks.unwrap_or_default().into_iter();
    tasks.filter(|t| t.kind == kind && t.status == "running").map(|t| t.id.to_owned()).collect()
}

/// Whether commands of the session go on in the background.
#[must_use]
pub fn shells_run(context: &Context<'_>) -> bool {
    !running(context, "shell").is_empty()
}

/// The agents that go on in the background, as far as the client says.
#[must_use]
pub fn agents_running(context: &Context<'_>) -> Vec<Pid> {
    running(context, "subagent").iter().filter_map(|id| Pid::new(id)).collect()
}
