//! The kernel fence: runs a command so that it cannot change what other processes hold, whatever
//! it does. Door and vocabulary; the work is in the files below. It must never widen what the
//! caller may do, and never claim a protection the kernel did not grant.
#![expect(clippy::disallowed_methods, reason = "I/O boundary: mounts, Landlock, child processes")]

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::policy::facts::{Hold, Root};
use crate::policy::lane::{AbsPath, Pid};

#[cfg(target_os = "linux")]
mod apply;
pub mod explain;
#[cfg(target_os = "linux")]
mod fds;
pub mod fill;
mod gitdir;
#[cfg(target_os = "linux")]
mod live;
pub mod look;
pub mod meter;
mod narrow;
#[cfg(target_os = "linux")]
mod outer;
pub mod plan;
pub mod prefix;
pub mod probe;
pub mod proof;
#[cfg(target_os = "linux")]
mod rights;
mod run;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod supervise;
pub mod table;
pub mod ticket;
pub mod twice;

pub use run::{run_exec, run_prefix};

/// What the kernel grants, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing: the command runs as it would without us.
    None,
    /// Write rights only; held paths are closed by leaving them out, which is coarse.
    Landlock,
    /// Read-only mounts over held paths; no limit on the rest.
    Mounts,
    /// Both.
    Full,
}

impl Level {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock-only",
            Self::Mounts => "mounts-only",
            Self::Full => "full",
        }
    }
}

/// What the reader of the command has proved about its use of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GitWrite {
    /// Nothing: a git directory in which somebody else is at work stays read-only.
    None,
    /// Only own paths enter index and commit: index, refs and objects open, hooks and
    /// configuration closed.
    OwnIndex,
    /// Any use is fine (the operator's word, or nobody else's work is at stake).
    Full,
}

/// Whose command it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A known process of the table.
    Process {
        /// The session it belongs to.
        session: Pid,
        /// Agent or session.
        pid: Pid,
    },
    /// Not known: everybody's holds apply, its own session's too.
    Unknown {
        /// The session, when the environment names one.
        session: Option<Pid>,
    },
}

/// Whether anybody else is around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Company {
    /// No other live process and nobody's uncommitted work: no fence, only metering.
    Alone,
    /// Somebody else's work is at stake.
    Others,
}

/// How far signals of a fenced command reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signals {
    /// To what the same command started.
    Inside,
    /// To everything of the user: a session stops in one call what it started in an earlier one,
    /// and the two share no fence.
    #[default]
    Anywhere,
}

/// Everything the table knows that decides a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holds {
    /// Alone or not.
    pub company: Company,
    /// Lanes and custody of others.
    pub holds: Vec<Hold>,
    /// Work trees the command may write in.
    pub trees: Vec<Root>,
    /// Plain folders it may write in besides (a project outside git, caches, settings).
    pub folders: Vec<AbsPath>,
    /// Never writable, although a tree or folder contains it: the table's own folder, the shared
    /// checkout of a forked session.
    pub closed: Vec<AbsPath>,
    /// The work trees in which `holds` lie.
    pub roots: Vec<Root>,
    /// How far signals reach.
    pub signals: Signals,
    /// Below this the command is refused instead of run.
    pub need: Level,
}

/// What a finished command used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metering {
    /// Wall time in microseconds.
    pub wall_us: u64,
    /// CPU time in user mode, in microseconds, of the command and all it waited for.
    pub user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub system_us: u64,
    /// The largest resident memory of one process, in KiB.
    pub peak_kib: u64,
    /// Exit code, or 128 and the signal.
    pub exit: i32,
}

/// What was really done around a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// The level in force.
    pub level: Level,
    /// Why it is not the full one, in one line.
    pub short: Option<String>,
    /// Held files with a second name (hard link) through which they can be changed.
    pub aliased: Vec<AbsPath>,
    /// Held paths that do not exist yet and are guarded from the moment they do.
    pub absent: Vec<AbsPath>,
}

/// Where the fence learns who holds what, and tells what it did.
pub trait HoldSource {
    /// Everything that decides the fence around a command of `who` started in `dir`.
    fn holds_for(&self, who: &Who, dir: &AbsPath) -> Result<Holds, FenceError>;
    /// Files or folders that change whenever a claim is made; watched while a command runs.
    fn wakes(&self) -> Vec<AbsPath>;
    /// Where what this kernel grants is remembered, if anywhere.
    fn offer_file(&self) -> Option<PathBuf>;
    /// The folder of the tickets.
    fn tickets(&self) -> AbsPath;
    /// Told once, as the command starts.
    fn granted(&self, who: &Who, granted: &Granted);
    /// Told once, when the command has ended.
    fn metered(&self, who: &Who, command: &str, used: &Metering);
}

/// Why a command was not run. `Display` is one line that names what to do.
#[derive(Debug)]
pub enum FenceError {
    /// The table could not be read.
    State(String),
    /// A step of building the fence failed half-way.
    Step {
        /// The step.
        step: &'static str,
        /// The path it was about, if any.
        path: Option<AbsPath>,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel grants less than this command needs.
    TooWeak {
        /// What it needs.
        need: Level,
        /// What there is.
        have: Level,
        /// Why.
        why: String,
    },
    /// The program could not be started.
    Start {
        /// Its name.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Wrong arguments.
    Usage(&'static str),
}

impl FenceError {
    /// The exit code a shell would give.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::State(_) | Self::Step { .. } | Self::TooWeak { .. } | Self::Start { .. } => 126,
        }
    }
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(why) => write!(f, "who holds what can't be read ({why}); not run"),
            Self::Step { step, path: Some(path), source } => {
                write!(f, "the fence could not be built: {step} {path}: {source}; not run")
            }
            Self::Step { step, path: None, source } => {
                write!(f, "the fence could not be built: {step}: {source}; not run")
            }
            Self::TooWeak { need, have, why } => write!(
                f,
                "this command needs the {} fence, here there is {} ({why}); not run. `octo doctor` \
                 says what to do",
                need.word(),
                have.word()
            ),
            Self::Start { program, source } => write!(f, "{program}: {source}"),
            Self::Usage(line) => f.write_str(line),
        }
    }
}

impl std::error::Error for FenceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Step { source, .. } | Self::Start { source, .. } => Some(source),
            Self::State(_) | Self::TooWeak { .. } | Self::Usage(_) => None,
        }
    }
}
