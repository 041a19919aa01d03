//! Rows of processes.

use rusqlite::{OptionalExtension as _, Row, params};

use super::super::StateError;
use super::super::clock::{Client, Place};
use super::{Tx, number, size};
use crate::policy::facts::Kind;
use crate::policy::lane::{AbsPath, Pid, Tick};

/// Whether a process is thought to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It began and nobody said it ended.
    Open,
    /// Its exit was seen.
    Ended,
}

/// Whether a client process is known to outlive a single event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vouched {
    /// Seen once: it may be a helper that only carried one event.
    No,
    /// It is the client.
    Yes,
}

/// A process of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// `agent_id`, else `session_id`.
    pub pid: Pid,
    /// Who spawned it, as far as known.
    pub parent: Option<Pid>,
    /// The session it belongs to.
    pub session: Pid,
    /// Session or agent.
    pub kind: Kind,
    /// The agent's type.
    pub agent_type: Option<String>,
    /// Where it was last seen working.
    pub cwd: Option<String>,
    /// The work tree of that directory.
    pub root: Option<AbsPath>,
    /// Its transcript file: growth is a sign of life.
    pub transcript: Option<String>,
    /// The client process it runs in.
    pub client: Option<Client>,
    /// That client was seen twice, or is one by name: its end is the end of the process.
    pub vouched: Vouched,
    /// Machine, boot and pid namespace of that client.
    pub place: Place,
    /// Open or ended.
    pub state: State,
    /// Why it ended.
    pub reason: Option<String>,
    /// Who took over when it ended (`/clear`, an agent's parent).
    pub heir: Option<Pid>,
    /// The client's permission mode, when an event carried it.
    pub mode: Option<String>,
    /// First seen.
    pub started: Tick,
    /// First seen, since 1970.
    pub started_unix: u64,
    /// Last written here.
    pub seen: Tick,
    /// Known to run in the background of its parent.
    pub background: bool,
    /// Refusals so far.
    pub denials: u64,
    /// The last refusal's key.
    pub last_denied: Option<String>,
    /// How often that one came in a row.
    pub in_a_row: u64,
    /// The last call that was judged or journaled.
    pub last_call: Option<String>,
    /// Whom its last refusal made it wait for.
    pub waits_for: Option<Pid>,
    /// Its place in the order of first sights, for those of one second; 0 until it has a row.
    pub turn: u64,
}

impl ProcessRow {
    /// A process that begins now, here, and of which nothing more is known.
    #[must_use]
    pub fn begun(tx: &Tx<'_>, pid: Pid, session: Pid) -> Self {
        let now = tx.now();
        Self {
            kind: if pid == session { Kind::Session } else { Kind::Agent },
            pid,
            parent: None,
            session,
            agent_type: None,
            cwd: None,
            root: None,
            transcript: None,
            client: None,
            vouched: Vouched::No,
            place: tx.place().clone(),
            state: State::Open,
            reason: None,
            heir: None,
            mode: None,
            started: now.tick,
            started_unix: now.unix,
            seen: now.tick,
            background: false,
            denials: 0,
            last_denied: None,
            in_a_row: 0,
            last_call: None,
            waits_for: None,
            turn: 0,
        }
    }
}

const COLUMNS: &str = "pid, parent, session, kind, type, cwd, root, transcript, client_pid, \
     client_start, machine, boot, namespace, state, reason, heir, mode, started, started_unix, \
     seen, background, denials, last_denied, in_a_row, last_call, vouched, waits_for, turn";

fn read(row: &Row<'_>) -> rusqlite::Result<Option<ProcessRow>> {
    let text = |i: usize| row.get::<_, Option<String>>(i);
    let (Some(pid), Some(session)) =
        (text(0)?.and_then(|p| Pid::new(&p)), text(2)?.and_then(|p| Pid::new(&p)))
    else {
        return Ok(None);
    };
    let client = match (row.get::<_, Option<i64>>(8)?, row.get::<_, Option<i64>>(9)?) {
        (Some(pid), Some(start)) => {
            u32::try_from(pid).ok().map(|pid| Client { pid, start: size(start) })
        }
        _ => None,
    };
    Ok(Some(ProcessRow {
        pid,
        parent: text(1)?.and_then(|p| Pid::new(&p)),
        session,
        kind: if row.get::<_, i64>(3)? == 0 { Kind::Session } else { Kind::Agent },
        agent_type: text(4)?,
        cwd: text(5)?,
        root: text(6)?.and_then(AbsPath::new),
        transcript: text(7)?,
        client,
        place: Place { machine: row.get(10)?, boot: row.get(11)?, namespace: size(row.get(12)?) },
        state: if row.get::<_, i64>(13)? == 0 { State::Open } else { State::Ended },
        reason: text(14)?,
        heir: text(15)?.and_then(|p| Pid::new(&p)),
        mode: text(16)?,
        started: Tick(size(row.get(17)?)),
        started_unix: size(row.get(18)?),
        seen: Tick(size(row.get(19)?)),
        background: row.get::<_, i64>(20)? != 0,
        denials: size(row.get(21)?),
        last_denied: text(22)?,
        in_a_row: size(row.get(23)?),
        last_call: text(24)?,
        vouched: if row.get::<_, i64>(25)? == 0 { Vouched::No } else { Vouched::Yes },
        waits_for: text(26)?.and_then(|p| Pid::new(&p)),
        turn: size(row.get(27)?),
    }))
}

impl Tx<'_> {
    /// A process by its id.
    pub fn process(&self, pid: &Pid) -> Result<Option<ProcessRow>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM process WHERE pid=?1");
        let row = self.inner.prepare_cached(&sql)?.query_row([pid.as_str()], read).optional()?;
        Ok(row.flatten())
    }

    /// All processes, oldest first.
    pub fn processes(&self) -> Result<Vec<ProcessRow>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM process ORDER BY started_unix, pid");
        let mut statement = self.inner.prepare_cached(&sql)?;
        let rows = statement.query_map([], read)?.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The agents of a session.
    pub fn agents_of(&self, session: &Pid) -> Result<Vec<ProcessRow>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM process WHERE session=?1 AND kind=1");
        let mut statement = self.inner.prepare_cached(&sql)?;
        let rows = statement.query_map([session.as_str()], read)?.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Writes a process's row, replacing what was there.
    pub fn put_process(&mut self, row: &ProcessRow) -> Result<(), StateError> {
        let sql = format!(
            "INSERT OR REPLACE INTO process({COLUMNS}) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,\
             ?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27, CASE WHEN ?28=0 THEN \
             (SELECT COALESCE(MAX(turn), 0) + 1 FROM process) ELSE ?28 END)"
        );
        self.inner.prepare_cached(&sql)?.execute(params![
            row.pid.as_str(),
            row.parent.as_ref().map(Pid::as_str),
            row.session.as_str(),
            match row.kind {
                Kind::Session => 0,
                Kind::Agent => 1,
            },
            row.agent_type,
            row.cwd,
            row.root.as_ref().map(|r| r.key().into_owned()),
            row.transcript,
            row.client.map(|c| i64::from(c.pid)),
            row.client.map(|c| number(c.start)),
            row.place.machine,
            row.place.boot,
            number(row.place.namespace),
            match row.state {
                State::Open => 0,
                State::Ended => 1,
            },
            row.reason,
            row.heir.as_ref().map(Pid::as_str),
            row.mode,
            number(row.started.0),
            number(row.started_unix),
            number(row.seen.0),
            i64::from(row.background),
            number(row.denials),
            row.last_denied,
            number(row.in_a_row),
            row.last_call,
            i64::from(row.vouched == Vouched::Yes),
            row.waits_for.as_ref().map(Pid::as_str),
            number(row.turn),
        ])?;
        Ok(())
    }

    /// Forgets a process.
    pub fn drop_process(&mut self, pid: &Pid) -> Result<(), StateError> {
        for table in ["process", "presence", "call", "notice"] {
            let column = if table == "presence" { "session" } else { "pid" };
            self.inner
                .prepare_cached(&format!("DELETE FROM {table} WHERE {column}=?1"))?
                .execute([pid.as_str()])?;
        }
        Ok(())
    }
}
