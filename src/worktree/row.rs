//! Owns what the register remembers of one tree, and its written form.
//! Must never be the ground for a removal: what git says at that moment is.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::policy::lane::{AbsPath, Pid};

/// A tree octo made (or was asked to look after).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    /// The session's id, or `<session>.<name>` for further trees of one session.
    pub id: String,
    /// Whose it is.
    pub session: Pid,
    /// The client's name for a further tree of the session; none for the session's own.
    pub name: Option<String>,
    /// The client's name for the session's own tree, if it gave one.
    pub alias: Option<String>,
    /// The repository's shared git directory.
    pub common: AbsPath,
    /// The checkout it was made from.
    pub main: AbsPath,
    /// Its folder.
    pub path: AbsPath,
    /// Its branch, short.
    pub branch: String,
    /// The branch its work goes home to, short; none when made from a detached HEAD.
    pub target: Option<String>,
    /// The commit it started from.
    pub base: String,
    /// Where it stands.
    pub state: State,
    /// Unix seconds.
    pub created: u64,
    /// Unix seconds of the last sign of its session.
    pub seen: u64,
    /// Kept from every clean-up.
    pub pin: Pin,
    /// Its ports.
    pub ports: Option<Ports>,
    /// Its setup commands.
    pub setup: Setup,
    /// Untracked files that were brought along.
    pub copied: Vec<Copied>,
    /// The session's folder below the root.
    pub sub: Option<PathBuf>,
    /// What the session should be told about how it was filled.
    pub notes: Vec<String>,
}

/// Where a tree stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum State {
    /// Registered, being filled.
    Preparing,
    /// Filled.
    Ready,
    /// Could not be filled; the words say why.
    Failed {
        /// git's words.
        why: String,
    },
    /// Its work is computed and waits for the target's checkout.
    Waiting {
        /// What is in the way.
        why: String,
        /// The command that lands it.
        retry: String,
    },
    /// Its work could not land.
    Attention {
        /// What happened.
        why: String,
        /// The command that tries again.
        retry: String,
    },
    /// Its work is on the target.
    Landed {
        /// The target's commit that holds it.
        commit: String,
    },
    /// The folder is being removed; what is left of it lies there.
    Burying {
        /// The renamed folder.
        trash: PathBuf,
    },
    /// No folder any more; the branch may be left.
    Archived {
        /// The ref that brings everything back.
        keep: String,
    },
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preparing => f.write_str("preparing"),
            Self::Ready => f.write_str("ready"),
            Self::Failed { why } => write!(f, "failed: {why}"),
            Self::Waiting { why, .. } => write!(f, "ready to land: {why}"),
            Self::Attention { why, .. } => write!(f, "needs attention: {why}"),
            Self::Landed { .. } => f.write_str("landed"),
            Self::Burying { .. } => f.write_str("being removed"),
            Self::Archived { .. } => f.write_str("archived"),
        }
    }
}

/// Whether clean-ups may look at a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// They may.
    Loose,
    /// They may not.
    Pinned,
}

/// A block of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// How many.
    pub count: u16,
}

/// Where the setup commands stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "setup")]
pub enum Setup {
    /// There are none.
    None,
    /// Not started yet.
    Pending,
    /// Running; the log tells how far.
    Running {
        /// The log file.
        log: PathBuf,
    },
    /// All succeeded.
    Done,
    /// One failed; the tree is usable.
    Failed {
        /// The command and its code.
        why: String,
        /// The log file.
        log: PathBuf,
    },
}

/// An untracked file that was brought along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Below the root.
    pub path: PathBuf,
    /// SHA-256 of its content then.
    pub hash: String,
}

impl TreeRow {
    /// The folder its session works in.
    #[must_use]
    pub fn place(&self) -> AbsPath {
        self.sub.as_ref().map_or_else(|| self.path.clone(), |sub| self.path.join(sub))
    }

    /// Whether there is (or is about to be) a folder to work in.
    #[must_use]
    pub fn stands(&self) -> bool {
        match self.state {
            State::Preparing
            | State::Ready
            | State::Failed { .. }
            | State::Waiting { .. }
            | State::Attention { .. }
            | State::Landed { .. } => true,
            State::Burying { .. } | State::Archived { .. } => false,
        }
    }
}

/// A row as it is written down.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    id: String,
    session: String,
    name: Option<String>,
    #[serde(default)]
    alias: Option<String>,
    common: PathBuf,
    main: PathBuf,
    path: PathBuf,
    branch: String,
    target: Option<String>,
    base: String,
    state: State,
    created: u64,
    seen: u64,
    pin: Pin,
    ports: Option<Ports>,
    setup: Setup,
    #[serde(default)]
    copied: Vec<Copied>,
    sub: Option<PathBuf>,
    #[serde(default)]
    notes: Vec<String>,
}

impl From<&TreeRow> for Record {
    fn from(row: &TreeRow) -> Self {
        let row = row.clone();
        Self {
            id: row.id,
            session: row.session.to_string(),
            name: row.name,
            alias: row.alias,
            common: row.common.as_path().to_owned(),
            main: row.main.as_path().to_owned(),
            path: row.path.as_path().to_owned(),
            branch: row.branch,
            target: row.target,
            base: row.base,
            state: row.state,
            created: row.created,
            seen: row.seen,
            pin: row.pin,
            ports: row.ports,
            setup: row.setup,
            copied: row.copied,
            sub: row.sub,
            notes: row.notes,
        }
    }
}

impl Record {
    /// The tree's folder: the key of the row.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The row's ports.
    #[must_use]
    pub fn ports(&self) -> Option<Ports> {
        self.ports
    }

    /// Gives the row a block of ports.
    pub fn give(&mut self, ports: Ports) {
        self.ports = Some(ports);
    }

    /// The row, when the paths and the id in it are good ones.
    #[must_use]
    pub fn row(self) -> Option<TreeRow> {
        Some(TreeRow {
            session: Pid::new(&self.session)?,
            common: AbsPath::new(self.common)?,
            main: AbsPath::new(self.main)?,
            path: AbsPath::new(self.path)?,
            id: self.id,
            name: self.name,
            alias: self.alias,
            branch: self.branch,
            target: self.target,
            base: self.base,
            state: self.state,
            created: self.created,
            seen: self.seen,
            pin: self.pin,
            ports: self.ports,
            setup: self.setup,
            copied: self.copied,
            sub: self.sub,
            notes: self.notes,
        })
    }
}
