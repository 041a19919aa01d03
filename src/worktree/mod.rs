//! Owns a session's copy of a repository, from birth to burial: the types all its parts share,
//! and the register they keep their rows in.
//! Must never lose a byte: every part that takes something away goes through `keep`.
#![expect(clippy::disallowed_methods, reason = "I/O boundary: makes, fills and buries worktrees")]

use std::fmt;
use std::path::PathBuf;

use crate::config::Land;
use crate::git::GitError;
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::What;

pub mod apply;
pub mod care;
pub mod engine;
pub mod facts;
pub mod fault;
pub mod fill;
pub mod keep;
pub mod landing;
pub mod lock;
pub mod lost;
pub mod name;
pub mod plan;
pub mod ports;
pub mod procs;
pub mod reap;
pub mod recover;
pub mod refusal;
pub mod row;
pub mod scope;
pub mod seed;
pub mod submodules;
pub mod table;
pub mod view;

#[cfg(test)]
mod tests;

pub use refusal::Refusal;
pub use row::{Copied, Pin, Ports, Setup, State, TreeRow};

/// Where trees and their papers live on this machine.
#[derive(Debug, Clone)]
pub struct Places {
    /// The folder of all trees, `~/.octorato` unless a setting says otherwise.
    pub trees: AbsPath,
    /// The brain repository's checkout, `~/.claude`.
    pub brain: AbsPath,
    /// Locks and logs, inside the kernel's own folder.
    pub papers: AbsPath,
    /// How a tree's folder is named.
    pub layout: Layout,
}

/// Which folder a repository's trees go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// `dim/<id>` for the brain, `arm/<name>/<id>` for others, below `Places::trees`.
    Home,
    /// `<repository>-worktrees/<id>` beside the checkout.
    Sibling,
    /// `<folder>/<name>/<id>`.
    Folder(AbsPath),
}

/// What a new tree starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// HEAD of the checkout it is made from, as section "base" of the decisions says.
    Head,
    /// The published default branch, fetched first.
    Fresh,
    /// This revision.
    Rev(String),
}

/// The settings that shape a tree.
#[derive(Debug, Clone)]
pub struct Prefs {
    /// What it starts from.
    pub start: Start,
    /// How many ports each tree gets.
    pub ports: u16,
    /// Approved setup commands, run in the background.
    pub setup: Vec<String>,
    /// A project's setup commands that no person has approved yet.
    pub waiting: Vec<String>,
    /// More patterns of ignored files to bring along, in `.gitignore` syntax.
    pub copy: Vec<String>,
    /// Folders to check out (cone); empty: as the checkout it is made from.
    pub sparse: Vec<String>,
    /// Free bytes that must remain.
    pub floor: u64,
    /// Bytes of untracked files that are brought along at most.
    pub copy_limit: u64,
    /// The command that settles a conflict.
    pub resolver: Option<String>,
    /// Checkouts with more files than this are filled in the background.
    pub foreground_files: u32,
}

impl Default for Prefs {
    fn default() -> Self {
        Self {
            start: Start::Head,
            ports: 0,
            setup: Vec::new(),
            waiting: Vec::new(),
            copy: Vec::new(),
            sparse: Vec::new(),
            floor: 512 << 20,
            copy_limit: 256 << 20,
            resolver: None,
            foreground_files: 4_000,
        }
    }
}

/// A live process that refers to a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The process.
    pub pid: Pid,
    /// Its session.
    pub session: Pid,
    /// Unix seconds at which it was first seen.
    pub since: u64,
}

/// Somebody's live lane or custody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The path.
    pub path: AbsPath,
    /// Whose it is.
    pub pid: Pid,
    /// The owner's session.
    pub session: Pid,
}

/// The register could not answer.
#[derive(Debug, Clone)]
pub struct RegistryError(pub String);

/// The register of trees, and what it knows of who uses them.
pub trait Registry: Sync {
    /// All rows, or those of one repository.
    fn rows(&self, common: Option<&AbsPath>) -> Result<Vec<TreeRow>, RegistryError>;
    /// Stores a row under its path, replacing an older one.
    fn put(&self, row: &TreeRow) -> Result<(), RegistryError>;
    /// Forgets a row.
    fn forget(&self, path: &AbsPath) -> Result<(), RegistryError>;
    /// Gives a tree a block of `count` ports nobody else has, or the one it has; `free` says
    /// whether a port is free of strangers. One transaction.
    fn ports(
        &self,
        path: &AbsPath,
        count: u16,
        free: &dyn Fn(u16) -> bool,
    ) -> Result<Option<Ports>, RegistryError>;
    /// Live processes whose directory or work is in this root.
    fn users(&self, root: &AbsPath) -> Result<Vec<User>, RegistryError>;
    /// Unix seconds of a session's last sign of life, its agents' included.
    fn heard(&self, session: &Pid) -> Result<Option<u64>, RegistryError>;
    /// Live lanes, and custody whoever holds it, in this root.
    fn claims(&self, root: &AbsPath) -> Result<Vec<Claim>, RegistryError>;
    /// A session's work for the checkout `from` is done in `tree` from now on.
    fn sent(&self, session: &Pid, from: &AbsPath, tree: &AbsPath) -> Result<(), RegistryError>;
    /// Nobody is sent to `tree` any more: it is gone.
    fn recalled(&self, session: &Pid, tree: &AbsPath) -> Result<(), RegistryError>;
    /// Leaves a word that the session hears at its next event.
    fn tell(&self, session: &Pid, text: &str);
    /// Writes a line into the journal.
    fn note(&self, session: &Pid, what: What, text: &str);
}

/// Starts work that outlives the caller.
pub trait Jobs: Sync {
    /// Starts the job in a detached process; false when none could be started.
    fn detach(&self, job: Job<'_>) -> bool;
}

/// Work for a detached process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job<'a> {
    /// Fill the tree that is registered at this path, run its setup commands.
    Prepare(&'a AbsPath),
    /// Bring the work in the tree at this path home as the setting says: its session has ended.
    Land(&'a AbsPath, Land),
    /// Remove what is landed and clean, delete what was put aside for deletion, and let old
    /// snapshots go, those of this repository too.
    Reap(Option<&'a AbsPath>),
}

/// What every operation stands on.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The register.
    pub registry: &'a dyn Registry,
    /// Detached work.
    pub jobs: &'a dyn Jobs,
    /// Where things live.
    pub places: &'a Places,
    /// What was asked for in settings.
    pub prefs: &'a Prefs,
    /// Unix seconds.
    pub now: u64,
}

/// Why an operation on a tree did not happen.
#[derive(Debug)]
pub enum TreeError {
    /// It would have been wrong.
    Refused(Refusal),
    /// git said no.
    Git(GitError),
    /// The file system said no.
    Io(PathBuf, std::io::Error),
    /// The register said no.
    Registry(RegistryError),
    /// Another process works on the same thing and did not finish in time.
    Busy(String),
    /// It was done, but looking again shows something else.
    Unverified(String),
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => why.fmt(f),
            Self::Git(error) => error.fmt(f),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Registry(RegistryError(why)) => write!(f, "the process table: {why}"),
            Self::Busy(what) => write!(f, "another process is busy with {what}; try again"),
            Self::Unverified(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for TreeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Git(error) => Some(error),
            Self::Io(_, error) => Some(error),
            Self::Refused(_) | Self::Registry(_) | Self::Busy(_) | Self::Unverified(_) => None,
        }
    }
}

impl From<GitError> for TreeError {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl From<RegistryError> for TreeError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

impl From<Refusal> for TreeError {
    fn from(why: Refusal) -> Self {
        Self::Refused(why)
    }
}

/// Names the path in a file system error.
pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> TreeError {
    let path = path.into();
    move |error| TreeError::Io(path, error)
}
