//! First sight and return of processes: any event may be the first of an id.

use super::context::Context;
use crate::applet::Event;
use crate::kernel::StateError;
use crate::kernel::beat;
use crate::kernel::clock::{self, Client, ClientLife};
use crate::kernel::store::{PresenceRow, ProcessRow, State, Tx, Vouched};
use crate::policy::facts::Kind;
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::{Note, What};
use crate::worktree::table;

/// Mark of a session whose start was seen and nothing else yet: what follows under another id is
/// a fork of it.
const RESUMED: &str = "resume";

/// Makes sure that the caller and its session are in the table, and gives the caller's row.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    silent: u64,
) -> Result<ProcessRow, StateError> {
    let actor = &context.actor;
    let session = ensure_one(tx, context, None, silent)?;
    let (row, silent) = if actor.kind == Kind::Agent {
        let row = ensure_one(tx, context, Some(&session), silent)?;
        // An agent that comes back says nothing about how long its session was away.
        (row, if silent < context.settings.lease_seconds { 0 } else { away(tx, &session) })
    } else {
        (session, silent)
    };
    if let Some(root) = &context.root {
        present(tx, &actor.session, &root.path, silent, context.settings.lease_seconds)?;
    }
    Ok(row)
}

/// Seconds a session has been silent, by its heartbeat.
fn away(tx: &Tx<'_>, session: &ProcessRow) -> u64 {
    let age = beat::age(tx.home(), &session.pid, tx.now().unix);
    age.and_then(|age| u64::try_from(age).ok()).unwrap_or(0)
}

/// The session itself, or the calling agent inside `session`.
fn ensure_one(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    session: Option<&ProcessRow>,
    silent: u64,
) -> Result<ProcessRow, StateError> {
    let pid = if session.is_some() { &context.actor.pid } else { &context.actor.session };
    if let Some(row) = tx.process(pid)? {
        return refresh(tx, context, row, session, silent);
    }
    let parent = match session {
        Some(session) => Some(adopt(tx, pid, &session.pid)?),
        None => None,
    };
    let agent_type = context.actor.agent_type.clone().filter(|_| session.is_some());
    begin(tx, context, pid, session, parent, agent_type)
}

/// An agent that its parent's client named before any event of its own came.
pub fn announce(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    child: &Pid,
    agent_type: Option<String>,
) -> Result<ProcessRow, StateError> {
    let session = ensure_one(tx, context, None, 0)?;
    let parent = Some(context.actor.pid.clone());
    begin(tx, context, child, Some(&session), parent, agent_type)
}

fn begin(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    pid: &Pid,
    session: Option<&ProcessRow>,
    parent: Option<Pid>,
    agent_type: Option<String>,
) -> Result<ProcessRow, StateError> {
    let actor = &context.actor;
    let (client, vouched) = client_of(session);
    let kind = if session.is_some() { Kind::Agent } else { Kind::Session };
    let row = ProcessRow {
        kind,
        parent,
        agent_type,
        cwd: context.cwd.as_ref().map(|c| c.key().into_owned()),
        root: context.root.as_ref().map(|r| r.path.clone()),
        transcript: context.payload.transcript_path.as_deref().map(str::to_owned),
        client,
        vouched,
        mode: context.payload.permission_mode.as_deref().map(str::to_owned),
        started: context.now.tick,
        started_unix: context.now.unix,
        seen: context.now.tick,
        ..ProcessRow::begun(tx, pid.clone(), actor.session.clone())
    };
    tx.put_process(&row)?;
    journal_start(tx, &row);
    if kind == Kind::Session {
        context.bind_isolation(tx)?;
    }
    if session.is_none() && context.event != Event::SessionStart {
        fork_of(tx, &row)?;
    }
    Ok(row)
}

/// The client an event came from. An agent's client is its session's.
fn client_of(session: Option<&ProcessRow>) -> (Option<Client>, Vouched) {
    if let Some(session) = session {
        return (session.client, session.vouched);
    }
    match clock::client() {
        Some((client, true)) => (Some(client), Vouched::Yes),
        Some((client, false)) => (Some(client), Vouched::No),
        None => (None, Vouched::No),
    }
}

/// A client that is gone can't have sent this event: the conversation goes on in another one.
fn moved(row: &ProcessRow) -> bool {
    row.client.is_some_and(|client| clock::client_life(client) == ClientLife::Gone)
}

/// The same client a second time is no helper that carried one event.
fn vouch(row: &mut ProcessRow) {
    match clock::client() {
        Some((client, _)) if row.client == Some(client) => row.vouched = Vouched::Yes,
        Some((client, _)) => row.client = Some(client),
        None => {}
    }
}

fn journal_start(tx: &mut Tx<'_>, row: &ProcessRow) {
    let note = Note {
        parent: row.parent.as_ref().map(ToString::to_string),
        session: Some(row.session.to_string()),
        agent_type: row.agent_type.clone(),
        root: row.root.as_ref().map(ToString::to_string),
        ..Note::default()
    };
    tx.journal(&row.pid, What::Start, note);
}

/// Who spawned an agent that is seen for the first time: the one spawner with an Agent call that
/// has no child yet; the session when there are several, or none.
fn adopt(tx: &mut Tx<'_>, child: &Pid, session: &Pid) -> Result<Pid, StateError> {
    let open: Vec<_> = tx.spawns(session)?.into_iter().filter(|s| s.child.is_none()).collect();
    let Some(first) = open.first() else { return Ok(session.clone()) };
    if open.iter().any(|s| s.spawner != first.spawner) {
        return Ok(session.clone());
    }
    let mut row = first.clone();
    row.child = Some(child.clone());
    tx.put_spawn(&row)?;
    Ok(row.spawner)
}

fn refresh(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    mut row: ProcessRow,
    session: Option<&ProcessRow>,
    silent: u64,
) -> Result<ProcessRow, StateError> {
    let before = row.clone();
    let is_actor = row.pid == context.actor.pid;
    let returned =
        row.state == State::Ended || (is_actor && silent >= context.settings.lease_seconds);
    if row.state == State::Ended {
        row.state = State::Open;
        row.reason = None;
        row.heir = None;
        row.started = context.now.tick;
    }
    let elsewhere = row.place != *tx.place();
    if let Some(session) = session {
        row.place = tx.place().clone();
        (row.client, row.vouched) = client_of(Some(session));
        if row.agent_type.is_none() {
            row.agent_type.clone_from(&context.actor.agent_type);
        }
    } else if elsewhere || returned || moved(&row) {
        row.place = tx.place().clone();
        (row.client, row.vouched) = client_of(None);
    } else if row.vouched == Vouched::No {
        vouch(&mut row);
    }
    if is_actor {
        let cwd = context.cwd.as_ref().map(|c| c.key().into_owned());
        if row.cwd != cwd {
            leave_root(tx, &row, context)?;
            row.cwd = cwd;
            row.root = context.root.as_ref().map(|r| r.path.clone());
        }
        if row.reason.as_deref() == Some(RESUMED) && context.event != Event::SessionStart {
            row.reason = None;
        }
    }
    if let Some(mode) = context.payload.permission_mode.as_deref()
        && row.mode.as_deref() != Some(mode)
        && row.kind == Kind::Session
    {
        row.mode = Some(mode.to_owned());
    }
    if row.kind == Kind::Session
        && let Some(transcript) = context.payload.transcript_path.as_deref()
        && row.transcript.as_deref() != Some(transcript)
    {
        row.transcript = Some(transcript.to_owned());
    }
    if row != before {
        row.seen = context.now.tick;
        tx.put_process(&row)?;
        if before.state == State::Ended {
            journal_start(tx, &row);
        }
    }
    Ok(row)
}

/// A session that moved on without having written leaves no presence behind.
fn leave_root(tx: &mut Tx<'_>, row: &ProcessRow, context: &Context<'_>) -> Result<(), StateError> {
    let Some(old) = &row.root else { return Ok(()) };
    if row.kind != Kind::Session || context.root.as_ref().is_some_and(|r| r.path == *old) {
        return Ok(());
    }
    let presence = tx.presence_at(old, &row.session)?;
    if presence.is_some_and(|p| !p.wrote && p.forked.is_none()) {
        tx.drop_presence(old, &row.session)?;
    }
    Ok(())
}

/// Notes that a session uses a root. After a lapse it counts as having come anew.
pub fn present(
    tx: &mut Tx<'_>,
    session: &Pid,
    root: &AbsPath,
    silent: u64,
    lease: u64,
) -> Result<PresenceRow, StateError> {
    let now = tx.now().tick;
    let row = match tx.presence_at(root, session)? {
        // A later moment than now is one of another boot, whose clock ran further.
        Some(row) if silent < lease && row.since <= now => return Ok(row),
        Some(row) if silent < lease => PresenceRow { since: now, ..row },
        Some(row) => PresenceRow { since: now, wrote: false, ..row },
        None => PresenceRow {
            root: root.clone(),
            session: session.clone(),
            since: now,
            wrote: false,
            forked: None,
        },
    };
    tx.put_presence(&row)?;
    Ok(row)
}

/// A session id that never had a start: the conversation of the session whose start this client
/// just showed goes on under it (`--fork-session`).
fn fork_of(tx: &mut Tx<'_>, row: &ProcessRow) -> Result<(), StateError> {
    let Some(client) = row.client else { return Ok(()) };
    let candidates: Vec<ProcessRow> = tx
        .processes()?
        .into_iter()
        .filter(|p| {
            p.kind == Kind::Session
                && p.pid != row.pid
                && p.client == Some(client)
                && p.reason.as_deref() == Some(RESUMED)
        })
        .collect();
    let [old] = candidates.as_slice() else { return Ok(()) };
    succeed(tx, old, &row.pid, "fork")
}

/// `heir` goes on where `old` stopped: custody, presence and tree are its own from now on; lanes
/// end with the old id, as its conversation no longer writes under it.
pub fn succeed(
    tx: &mut Tx<'_>,
    old: &ProcessRow,
    heir: &Pid,
    reason: &str,
) -> Result<(), StateError> {
    for lane in tx.lanes_of(&old.pid)? {
        tx.drop_lane(&lane.path)?;
    }
    for mut kept in tx.custody_of(&old.pid)? {
        kept.owner = heir.clone();
        tx.put_custody(&kept)?;
    }
    for presence in tx.presence_of(&old.pid)? {
        tx.drop_presence(&presence.root, &old.pid)?;
        tx.put_presence(&PresenceRow { session: heir.clone(), ..presence })?;
    }
    table::inherit(tx, &old.pid, heir)?;
    let mut row = old.clone();
    row.state = State::Ended;
    row.reason = Some(reason.to_owned());
    row.heir = Some(heir.clone());
    tx.put_process(&row)?;
    let note =
        Note { reason: Some(reason.to_owned()), heir: Some(heir.to_string()), ..Note::default() };
    tx.journal(&old.pid, What::Exit, note);
    Ok(())
}

/// Marks a session as just resumed.
pub fn mark_resumed(tx: &mut Tx<'_>, row: &mut ProcessRow) -> Result<(), StateError> {
    row.reason = Some(RESUMED.to_owned());
    tx.put_process(row)
}
