//! Owns what stands between a byte and its loss: snapshots under `refs/octo/keep/`, their way
//! back, and all deleting that octo does.
//! Must never delete what a ref (or a folder put aside) does not hold first, and never touch a
//! tree's own index while it looks.

use std::fmt;
use std::time::Duration;

use crate::git::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;

pub mod bury;
pub mod refs;
pub mod restore;
pub mod shelf;
pub mod snapshot;

pub use shelf::{list, prune};
pub use snapshot::{before, tip};

/// All snapshots live below this.
pub const REFS: &str = "refs/octo/keep/";

/// Why something is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What was about to happen, as a person would say it (`git reset --hard`).
    pub what: String,
    /// The process that was about to do it, if one did.
    pub by: Option<String>,
    /// Whose work it is, when somebody is known.
    pub owner: Option<String>,
    /// Unix seconds.
    pub at: u64,
}

/// How much a snapshot may take in.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of changed and untracked files.
    pub bytes: u64,
    /// Files.
    pub files: usize,
    /// Each of the few git calls it takes.
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 256 << 20, files: 20_000, time: Duration::from_secs(3) }
    }
}

impl Bounds {
    /// Whatever it takes: nothing goes without it.
    pub const NONE: Self =
        Self { bytes: u64::MAX, files: usize::MAX, time: Duration::from_mins(10) };
}

/// What came of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Kept {
    /// Nothing there that git does not already hold.
    Nothing,
    /// It is held.
    Ref(Keep),
    /// More than the bounds allow: nothing was taken.
    TooBig {
        /// Bytes found until then.
        bytes: u64,
        /// Files found.
        files: usize,
    },
}

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Its name below `refs/octo/keep/`.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// Paths it could not hold (nested repositories, unreadable files), below the root.
    pub missed: Vec<String>,
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octo keep restore {}", self.name)
    }
}

/// Who made a snapshot's commit.
const SIGNED: &str = "octo keep <octo@localhost>";

/// The identity snapshots carry: a person's own may be missing, and is not what made them.
fn signed(git: Git, at: u64) -> Git {
    let date = format!("@{at} +0000");
    git.env("GIT_AUTHOR_NAME", "octo keep")
        .env("GIT_AUTHOR_EMAIL", "octo@localhost")
        .env("GIT_COMMITTER_NAME", "octo keep")
        .env("GIT_COMMITTER_EMAIL", "octo@localhost")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date)
}

/// git on a tree whose folder may have another name than its registration says.
fn git_on(root: &Root, folder: &AbsPath) -> Git {
    Git::new(folder.as_path())
        .env("GIT_DIR", root.git_dir.as_path())
        .env("GIT_WORK_TREE", folder.as_path())
}
