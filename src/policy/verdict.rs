//! What comes out of a decision: verdict, denial, and the record of it.

use super::lane::{AbsPath, Pid};

/// A rule's stable id, `area.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub &'static str);

/// Who stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: Pid,
    /// The session it belongs to.
    pub session: Pid,
    /// `session` or the agent's type.
    pub kind: String,
    /// Seconds since it claimed (or was first seen here).
    pub age: u64,
    /// Seconds since it was last heard of.
    pub silent: u64,
}
