//! Rows as the benches fill a table with: processes that live, lanes that they hold.

use octo::kernel::store::{LaneRow, ProcessRow, State, Tx, Vouched};
use octo::policy::facts::Kind;
use octo::policy::lane::{AbsPath, Pid};

/// A session that began now and has done nothing yet.
pub(crate) fn session(tx: &Tx<'_>, pid: &Pid) -> ProcessRow {
    let now = tx.now();
    ProcessRow {
        pid: pid.clone(),
        parent: None,
        session: pid.clone(),
        kind: Kind::Session,
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

/// A file in a work tree that a process holds since now.
pub(crate) fn lane(tx: &Tx<'_>, root: &AbsPath, file: &str, holder: &Pid) -> LaneRow {
    LaneRow {
        path: root.join(file),
        root: Some(root.clone()),
        holder: holder.clone(),
        claimed: tx.now().tick,
        written: None,
        identity: None,
        call: None,
        family: false,
    }
}
