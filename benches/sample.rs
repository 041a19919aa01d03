//! Rows as the benches fill a table with: processes that live, lanes that they hold.

use octo::kernel::store::{LaneRow, ProcessRow, Tx};
use octo::policy::lane::{AbsPath, Pid};

/// A session that began now and has done nothing yet.
pub(crate) fn session(tx: &Tx<'_>, pid: &Pid) -> ProcessRow {
    ProcessRow::begun(tx, pid.clone(), pid.clone())
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
