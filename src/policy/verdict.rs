//! What comes out of a decision: verdict, denial, claims, and the words of the record.

use serde::{Deserialize, Serialize};

use super::facts::{Basis, StashUse, Untracked};
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

/// A refusal, ready to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The rule that refused.
    pub rule: RuleId,
    /// What was refused, in a few words (`write to lib/core.rs`, `git add -A`).
    pub what: String,
    /// The path or root it is about.
    pub target: Option<AbsPath>,
    /// The work tree it is about.
    pub root: Option<AbsPath>,
    /// Who stands in the way, and on what ground.
    pub holder: Option<(Holder, Basis)>,
    /// What is in the way beyond a holder: the error, the unread words.
    pub detail: Option<String>,
}

/// Allow or deny; there is no third and no default.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing stands against it.
    Allow,
    /// Refused.
    Deny(Box<Denial>),
}

/// What a journal line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// First sight of a process, or its return.
    Start,
    /// A tool call that touches something.
    Tool,
    /// A lane was taken.
    Claim,
    /// The claimed path was really written: custody began.
    Confirm,
    /// A lane was given up, handed on or taken by the operator.
    Release,
    /// A lane lapsed.
    Expire,
    /// The path was committed or is clean again: lane and custody ended.
    Clean,
    /// A refusal.
    Deny,
    /// The operator or a setting let something pass.
    Override,
    /// A path somebody else owns changed without having been read.
    Drift,
    /// Bytes were kept before they were replaced.
    Keep,
    /// A worktree was made for the session, or could not be.
    Fork,
    /// A word to the operator or the session.
    Notice,
    /// The process ended.
    Exit,
}

impl What {
    /// Every kind, in the order above.
    pub const ALL: &[Self] = &[
        Self::Start,
        Self::Tool,
        Self::Claim,
        Self::Confirm,
        Self::Release,
        Self::Expire,
        Self::Clean,
        Self::Deny,
        Self::Override,
        Self::Drift,
        Self::Keep,
        Self::Fork,
        Self::Notice,
        Self::Exit,
    ];
}

/// The details of a journal line; absent ones are not written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Note {
    /// The rule.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
    /// The gate the rule belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<String>,
    /// The path or the words it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
    /// The work tree.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root: Option<String>,
    /// The other party.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holder: Option<Party>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The call's id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<String>,
    /// Why (`delegate`, `exit`, `lapsed`, `operator`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The parent, on a start line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// The session, on a start line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The agent's type, on a start line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_type: Option<String>,
    /// Who inherits custody, on an exit line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub heir: Option<String>,
    /// What the journal's segment before this one ended with, on the first line of a segment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<After>,
    /// How to get bytes back, on a keep line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub restore: Option<String>,
    /// CPU milliseconds, on an exit or tool line under the fence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_ms: Option<u64>,
    /// Peak memory in KiB.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peak_kib: Option<u64>,
    /// Wall milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wall_ms: Option<u64>,
}

/// The end of a segment of a journal, as the next one names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// The segment's number.
    pub segment: u64,
    /// Its last line.
    pub seq: u64,
    /// The seal of that line.
    pub seal: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The other party of a journal line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// Its pid.
    pub pid: String,
    /// `session` or the agent's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Seconds since it claimed.
    pub age: u64,
    /// Seconds since it was last heard of.
    pub silent: u64,
}

impl From<&Holder> for Party {
    fn from(holder: &Holder) -> Self {
        Self {
            pid: holder.pid.to_string(),
            kind: holder.kind.clone(),
            age: holder.age,
            silent: holder.silent,
        }
    }
}

/// What a decision asks the edge to do.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Allow or deny.
    pub verdict: Verdict,
    /// Paths the actor takes a lane on, when allowed.
    pub claims: Vec<AbsPath>,
    /// Roots whose uncommitted bytes are kept before the call may run.
    pub keeps: Vec<Keep>,
    /// Words for the agent that are no refusal.
    pub notices: Vec<String>,
    /// The session must get a tree of its own before it writes in this root.
    pub fork: Option<AbsPath>,
}

/// What is about to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Index, changed and untracked files.
    Loose,
    /// The content of a file that nobody is known to have written: a person's, as a rule.
    Content,
    /// A path git ignores, unless a tool built it.
    Ignored,
    /// What git does not track, of these kinds.
    Untracked(Untracked),
    /// All of it, and what only this work tree's own records name: it goes as a whole.
    WorkTree,
    /// The commits that only this branch names.
    Branch(String),
    /// Entries of the stash: the one written so, or all.
    Stash(StashUse),
}

/// What to keep before something is overwritten or thrown away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The work tree.
    pub root: AbsPath,
    /// Only this path; the whole tree when absent.
    pub path: Option<AbsPath>,
    /// What of it.
    pub what: Kept,
    /// Whose bytes they are, as far as known.
    pub whose: Option<Pid>,
}
