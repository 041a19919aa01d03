//! Starts, stops and prompts: who begins, who ended, who inherits. Blocks nothing, except a prompt
//! under `require`.

use super::context::Context;
use super::{fork, posttool, register, reply};
use crate::applet::Event;
use crate::kernel::StateError;
use crate::kernel::beat::{self, Seen};
use crate::kernel::store::{ProcessRow, State, Tx};
use crate::policy::facts::Kind;
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};
use crate::shield::Reply;
use crate::worktree::engine::Engine;

/// How the client words a prompt that no person typed.
const REPORTS: &[&str] = &["<task-notification", "<system-reminder", "<background-task"];

/// Any event that only moves a process's life.
pub fn run(context: &Context<'_>) -> Result<Reply, StateError> {
    let seen = beat::touch(&context.home, &context.actor.pid, None, context.now.unix);
    let silent = match seen {
        Ok(Seen::Before { silent }) => silent,
        Ok(Seen::First) | Err(_) => 0,
    };
    let mut kernel = context.kernel()?;
    let words = kernel.transact(|tx| step(tx, context, silent))?;
    if context.event == Event::UserPromptSubmit
        && let Some(stopped) = fork::at_prompt(context, &mut kernel)?
    {
        return Ok(stopped);
    }
    if context.event == Event::SessionEnd
        && let Some(engine) = Engine::new(&context.home, None)
    {
        // `/clear` ends an id, not the conversation: its trees go on with the next one.
        if context.payload.reason.as_deref() != Some("clear") {
            engine.session_ended(&context.actor.session, context.settings.land);
        }
        engine.reap_in_background(context.root.as_ref().map(|root| &root.common));
    }
    let me = &context.actor.pid;
    let landed = match context.event {
        // Who has ended gives no signs of life: beside a broken table it must not look alive.
        Event::SubagentStop | Event::SessionEnd => beat::end(&context.home, me),
        // Nothing of this process is in flight any more; an Escape ends a call without a word.
        Event::Stop if !posttool::shells_run(context) => beat::land(&context.home, me),
        Event::UserPromptSubmit if is_person(context) => beat::land(&context.home, me),
        Event::Stop
        | Event::UserPromptSubmit
        | Event::SessionStart
        | Event::SubagentStart
        | Event::PreToolUse
        | Event::PostToolUse
        | Event::PostToolUseFailure
        | Event::PostToolBatch
        | Event::ConfigChange
        | Event::WorktreeCreate
        | Event::WorktreeRemove => Ok(()),
    };
    landed.map_err(|e| StateError::io(context.home.beat(me), e))?;
    Ok(match context.event {
        Event::UserPromptSubmit | Event::SessionStart | Event::SubagentStart => {
            reply::context(context.event, &words)
        }
        Event::SessionEnd
        | Event::PreToolUse
        | Event::PostToolUse
        | Event::PostToolUseFailure
        | Event::PostToolBatch
        | Event::SubagentStop
        | Event::Stop
        | Event::ConfigChange
        | Event::WorktreeCreate
        | Event::WorktreeRemove => reply::pass(),
    })
}

fn step(tx: &mut Tx<'_>, context: &Context<'_>, silent: u64) -> Result<Vec<String>, StateError> {
    let row = register::ensure(tx, context, silent)?;
    match context.event {
        Event::UserPromptSubmit => {
            if is_person(context) {
                end_interrupted(tx, context)?;
            }
            posttool::settle_all(tx, context)?;
            tx.take_notices(&context.actor.pid)
        }
        Event::Stop => {
            posttool::settle_all(tx, context)?;
            for pid in posttool::agents_running(context) {
                if let Some(agent) = tx.process(&pid)?.filter(|agent| !agent.background) {
                    tx.put_process(&ProcessRow { background: true, ..agent })?;
                }
            }
            end_interrupted(tx, context)?;
            Ok(Vec::new())
        }
        Event::SubagentStop => {
            posttool::settle_all(tx, context)?;
            let heir = row.parent.clone().unwrap_or_else(|| row.session.clone());
            exit(tx, row, "stop", Some(heir))?;
            Ok(Vec::new())
        }
        Event::SessionEnd => {
            posttool::settle_all(tx, context)?;
            let reason = context.payload.reason.as_deref().unwrap_or("end").to_owned();
            for agent in tx.agents_of(&row.pid)? {
                if agent.state == State::Open {
                    let heir = Some(row.pid.clone());
                    exit(tx, agent, "session ended", heir)?;
                }
            }
            exit(tx, row, &reason, None)?;
            Ok(Vec::new())
        }
        Event::PostToolBatch => {
            posttool::settle_all(tx, context)?;
            Ok(Vec::new())
        }
        Event::SessionStart
        | Event::SubagentStart
        | Event::PreToolUse
        | Event::PostToolUse
        | Event::PostToolUseFailure
        | Event::ConfigChange
        | Event::WorktreeCreate
        | Event::WorktreeRemove => Ok(Vec::new()),
    }
}

/// Whether a person typed this prompt; a background agent's report comes as a prompt too.
fn is_person(context: &Context<'_>) -> bool {
    let prompt = context.payload.prompt.as_deref().unwrap_or("").trim_start();
    !REPORTS.iter().any(|mark| prompt.starts_with(mark))
}

/// Foreground children of the main thread can't be running while it is at its prompt: an Escape
/// ends them without a word.
fn end_interrupted(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<(), StateError> {
    if context.actor.kind == Kind::Agent {
        return Ok(());
    }
    let session = context.actor.session.clone();
    for agent in tx.agents_of(&session)? {
        if agent.state == State::Open && !in_background(tx, &agent)? {
            let heir = agent.parent.clone().unwrap_or_else(|| session.clone());
            exit(tx, agent, "interrupted", Some(heir))?;
        }
    }
    Ok(())
}

/// Known to run beside its parent, itself or an ancestor.
fn in_background(tx: &Tx<'_>, agent: &ProcessRow) -> Result<bool, StateError> {
    let mut at = agent.clone();
    for _ in 0..16 {
        if at.background {
            return Ok(true);
        }
        match at.parent.clone() {
            Some(parent) if parent != at.pid => match tx.process(&parent)? {
                Some(row) if row.kind == Kind::Agent => at = row,
                Some(_) | None => return Ok(false),
            },
            Some(_) | None => return Ok(false),
        }
    }
    Ok(false)
}

/// A process ends: its lanes end, custody passes to the heir or stays on record.
pub fn exit(
    tx: &mut Tx<'_>,
    mut row: ProcessRow,
    reason: &str,
    heir: Option<Pid>,
) -> Result<(), StateError> {
    for lane in tx.lanes_of(&row.pid)? {
        tx.drop_lane(&lane.path)?;
    }
    if let Some(heir) = &heir {
        for mut kept in tx.custody_of(&row.pid)? {
            kept.owner = heir.clone();
            kept.family = false;
            tx.put_custody(&kept)?;
        }
    }
    row.state = State::Ended;
    row.reason = Some(reason.to_owned());
    row.heir.clone_from(&heir);
    row.waits_for = None;
    row.seen = tx.now().tick;
    tx.put_process(&row)?;
    let note = Note {
        reason: Some(reason.to_owned()),
        heir: heir.map(|h| h.to_string()),
        ..Note::default()
    };
    tx.journal(&row.pid, What::Exit, note);
    Ok(())
}
