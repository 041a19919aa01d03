//! State under `~/.claude/.cache/kernel`: who runs, who holds what, and the record of it.
//! Decides nothing; offers one transaction in which the decision is taken.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "I/O boundary: the process table, journals and heartbeats"
)]

pub mod beat;
pub mod clock;
pub mod home;
pub mod life;
pub mod links;
pub mod log;
pub mod off;
pub mod reserve;
pub mod schema;
pub mod segment;
pub mod store;

use std::fmt;
use std::io;
use std::path::PathBuf;

/// SQLite's extended code for a write that the system refused.
const IOERR_WRITE: i32 = 778;

/// Why the kernel's state could not be used.
#[derive(Debug)]
pub enum StateError {
    /// There is no table yet.
    Absent,
    /// The lock was not to be had in time.
    Locked(PathBuf),
    /// The table was made by a newer version that says older readers must not touch it.
    Newer {
        /// What it needs.
        needs: u32,
    },
    /// The file is no table, or damaged.
    Damaged(String),
    /// The disk is full or the quota is reached.
    Full(PathBuf),
    /// Anything else about a file.
    Io(PathBuf, io::Error),
    /// The database said no.
    Table(String),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("there is no process table yet"),
            Self::Locked(path) => write!(f, "{} is locked by another process", path.display()),
            Self::Newer { needs } => {
                write!(f, "the process table needs octo schema {needs} or newer: upgrade octo")
            }
            Self::Damaged(why) => write!(f, "the process table is damaged ({why})"),
            Self::Full(path) => write!(f, "no space left for {}", path.display()),
            Self::Io(path, e) => write!(f, "{}: {e}", path.display()),
            Self::Table(why) => write!(f, "the process table: {why}"),
        }
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, e) => Some(e),
            Self::Absent
            | Self::Locked(_)
            | Self::Newer { .. }
            | Self::Damaged(_)
            | Self::Full(_)
            | Self::Table(_) => None,
        }
    }
}

impl StateError {
    /// An I/O error at a path.
    #[must_use]
    pub fn io(path: impl Into<PathBuf>, error: io::Error) -> Self {
        let path = path.into();
        let kind = error.kind();
        if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            Self::Full(path)
        } else {
            Self::Io(path, error)
        }
    }
}

impl From<rusqlite::Error> for StateError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked(PathBuf::from("table.sqlite"))
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            // A write that fails for another reason than room is out of a quota, in practice.
            _ if error.sqlite_error().is_some_and(|e| e.extended_code == IOERR_WRITE) => {
                Self::Full(PathBuf::from("table.sqlite"))
            }
            Some(ErrorCode::DiskFull) => Self::Full(PathBuf::from("table.sqlite")),
            Some(_) | None => Self::Table(error.to_string()),
        }
    }
}
