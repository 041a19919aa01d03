//! SessionStart: tells a newcomer who else works here and what its first write will do; follows a
//! conversation over resume, `/clear` and compaction.

use super::context::Context;
use super::{lifecycle, register, reply, trees};
use crate::applet::Event;
use crate::config::Isolation;
use crate::kernel::StateError;
use crate::kernel::beat::{self, Seen};
use crate::kernel::clock::{self, ClientLife};
use crate::kernel::life::{Life, Registry};
use crate::kernel::reserve;
use crate::kernel::store::{ProcessRow, State, Tx, Vouched};
use crate::policy::facts::Kind;
use crate::policy::lane::Pid;
use crate::policy::telling;
use crate::shield::Reply;

/// Seconds after its end in which a cleared session can find its heir.
const CLEARED: u64 = 120;
/// Silence after which a session whose client can't be looked up counts as ended, in seconds. Its
/// lanes lapsed long before; this keeps the list of neighbours short.
const FORGOTTEN: u64 = 86_400;

/// A session begins.
pub fn run(context: &Context<'_>) -> Result<Reply, StateError> {
    let seen = beat::touch(&context.home, &context.actor.pid, None, context.now.unix);
    let silent = match seen {
        Ok(Seen::Before { silent }) => silent,
        Ok(Seen::First) | Err(_) => 0,
    };
    let mut kernel = context.kernel()?;
    let mut words = kernel.transact(|tx| begin(tx, context, silent))?;
    // Best effort: it is only for a day on which nothing else helps.
    drop(reserve::keep(&context.home));
    words.extend(trees::at_start(context));
    words.extend(context.faults.iter().map(|f| format!("octo: settings: {f}")));
    Ok(reply::context(Event::SessionStart, &words))
}

fn begin(tx: &mut Tx<'_>, context: &Context<'_>, silent: u64) -> Result<Vec<String>, StateError> {
    let known = tx.process(&context.actor.pid)?;
    let twin = known.as_ref().is_some_and(is_twin);
    let mut row = register::ensure(tx, context, silent)?;
    context.bind_isolation(tx)?;
    let mut words = Vec::new();
    match context.payload.source.as_deref().unwrap_or("startup") {
        "clear" => after_clear(tx, &row)?,
        "resume" if twin => words.push(format!(
            "octo: session {} already runs in another client; what both write is judged as one process, so use `--fork-session` for the second",
            row.pid
        )),
        "resume" => {
            if row.client.is_none_or(|c| clock::client_life(c) != ClientLife::Runs) {
                set_client(&mut row);
            }
            register::mark_resumed(tx, &mut row)?;
        }
        _ => {}
    }
    if let Some(unmet) = tx.unmet(&context.actor.pid)? {
        words.push(format!("octo: NOT isolated in {}: {}", unmet.root, telling::plain(&unmet.why)));
    }
    words.extend(tx.take_notices(&context.actor.pid)?);
    words.extend(neighbours(tx, context)?);
    Ok(words)
}

/// The id runs in another client that is alive.
fn is_twin(row: &ProcessRow) -> bool {
    let here = clock::client().map(|(client, _)| client);
    row.state == State::Open
        && row.vouched == Vouched::Yes
        && row.client.is_some()
        && row.client != here
        && row.client.is_some_and(|c| clock::client_life(c) == ClientLife::Runs)
}

fn set_client(row: &mut ProcessRow) {
    if let Some((client, by_name)) = clock::client() {
        row.client = Some(client);
        row.vouched = if by_name { Vouched::Yes } else { Vouched::No };
    }
}

/// `/clear` ends one id and begins another in the same client: the new one inherits.
fn after_clear(tx: &mut Tx<'_>, row: &ProcessRow) -> Result<(), StateError> {
    let now = tx.now().tick;
    let mut cleared: Vec<ProcessRow> = tx
        .processes()?
        .into_iter()
        .filter(|p| {
            p.kind == Kind::Session
                && p.pid != row.pid
                && p.client == row.client
                && p.place == row.place
                && p.state == State::Ended
                && p.reason.as_deref() == Some("clear")
                && p.heir.is_none()
                && now.since(p.seen) <= CLEARED
        })
        .collect();
    // Several sessions may share a client: the directory tells them apart, unless there is but
    // one. The shell may have stood elsewhere than the new session begins.
    if cleared.len() > 1 {
        cleared.retain(|p| p.cwd == row.cwd);
    }
    cleared.sort_by_key(|p| p.seen);
    match cleared.pop() {
        Some(old) => register::succeed(tx, &old, &row.pid, "clear"),
        None => Ok(()),
    }
}

/// A session that died without a word has ended: nobody looks it up again.
fn bury(tx: &mut Tx<'_>, registry: &mut Registry, session: &Pid) -> Result<(), StateError> {
    let Some((row, life)) = registry.get(tx, session)?.cloned() else { return Ok(()) };
    let reason = match life {
        Life::Dead => "client gone",
        Life::Silent { silent } if silent >= FORGOTTEN => "forgotten",
        Life::Silent { .. } | Life::Live { .. } | Life::Ended => return Ok(()),
    };
    lifecycle::exit(tx, row, reason, None)
}

/// Who else works here, and what will happen.
fn neighbours(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<Vec<String>, StateError> {
    let Some(root) = &context.root else { return Ok(Vec::new()) };
    let mut registry = Registry::new(context.settings.lease_seconds);
    let mut others = Vec::new();
    let mine = tx.presence_at(&root.path, &context.actor.session)?;
    for row in tx.presence_beside(&root.path, &context.actor.session)? {
        if registry.session_lives(tx, &row.session)? {
            let age = tx.now().tick.since(row.since);
            let card = registry.holder(tx, &row.session, age)?;
            let lanes = tx.claim_count(&row.session)?.0;
            let place = row.forked.as_ref().map_or(String::new(), |t| format!(", in its tree {t}"));
            if context.payload.source.as_deref().is_none_or(|source| source == "startup") {
                let text = format!(
                    "octo: session {} began beside you in {}; octo ps shows who holds what",
                    context.actor.session, root.path
                );
                tx.notify(&row.session, &text)?;
            }
            others.push(format!(
                "  session {} (here for {}, last heard of {} ago, {lanes} lanes{place})",
                card.pid,
                telling::span(card.age),
                telling::span(card.silent)
            ));
        } else {
            bury(tx, &mut registry, &row.session)?;
        }
    }
    let tree = mine.and_then(|m| m.forked.clone());
    if others.is_empty() && tree.is_none() {
        return Ok(Vec::new());
    }
    let mut words = Vec::new();
    if !others.is_empty() {
        words.push(format!("octo: other live sessions use {}:", root.path));
        words.extend(others);
    }
    let own = format!(
        "octo-dim --session-id {} worktree-init --repo {}",
        context.actor.session, root.path
    );
    words.push(match (tree, context.isolation(tx)?) {
        (Some(tree), _) => {
            format!("octo: your work for this repository is in your own worktree: {tree}")
        }
        (None, Isolation::Off) => format!(
            "octo: you share this checkout with them (isolation is off). Stage explicit paths; to work apart: {own}"
        ),
        (None, Isolation::Auto | Isolation::Always) => format!(
            "octo: reading here is free. Your first write makes a worktree of your own and tells you its path; or make it now: {own}"
        ),
    });
    Ok(words)
}
