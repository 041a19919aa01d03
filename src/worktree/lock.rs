//! Owns the locks that order octo's own work on a repository or on one tree.
//! Must never wait without an end: a stopped holder would hang every session.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::{Places, TreeError, io};
use crate::policy::lane::AbsPath;

/// Held until dropped; the kernel lets go when the process dies.
#[derive(Debug)]
#[must_use]
pub struct Lock(#[expect(dead_code, reason = "held for its lock, dropped to let go")] File);

/// Whether a lock could be had.
#[derive(Debug)]
#[must_use]
pub enum Taken {
    /// It is ours.
    Ours(Lock),
    /// Another process has it.
    Theirs,
}

/// Orders changes to a repository's trees (making, removing).
pub fn repository(places: &Places, common: &AbsPath) -> Result<Lock, TreeError> {
    wait(places, &format!("repo-{}", tag(common)), &format!("the worktrees of {common}"), WAIT)
}

/// Orders landings on a repository's branches.
pub fn landing(places: &Places, common: &AbsPath) -> Result<Lock, TreeError> {
    wait(places, &format!("land-{}", tag(common)), &format!("landing in {common}"), TURN)
}

/// Says whether somebody fills or removes this tree right now. Looks for a moment: a process that
/// another thread is just starting holds a copy of a lock that was given back.
pub fn tree(places: &Places, path: &AbsPath) -> Result<Taken, TreeError> {
    let deadline = Instant::now() + MOMENT;
    loop {
        match attempt(places, &format!("tree-{}", tag(path)))? {
            Taken::Theirs if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            taken @ (Taken::Ours(_) | Taken::Theirs) => return Ok(taken),
        }
    }
}

/// Waits for a tree's lock.
pub fn tree_wait(places: &Places, path: &AbsPath, patience: Duration) -> Result<Lock, TreeError> {
    wait(places, &format!("tree-{}", tag(path)), &format!("the tree {path}"), patience)
}

/// Two repositories of one name must not share a lock; sixteen digits of the path's hash do.
#[must_use]
pub fn tag(path: &AbsPath) -> String {
    use std::os::unix::ffi::OsStrExt;
    hex(&Sha256::digest(path.as_path().as_os_str().as_bytes())).chars().take(16).collect()
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Longer than a process takes to begin, shorter than anybody notices.
const MOMENT: Duration = Duration::from_millis(200);

/// How long a turn to land is waited for: eight sessions that land at once on a busy machine take
/// longer than half a minute, and whoever is turned away has to be asked again by somebody.
const TURN: Duration = Duration::from_mins(3);

/// How long octo's own work on a repository is waited for.
pub const WAIT: Duration = Duration::from_secs(30);

fn wait(places: &Places, name: &str, what: &str, patience: Duration) -> Result<Lock, TreeError> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(2);
    loop {
        match attempt(places, name)? {
            Taken::Ours(lock) => return Ok(lock),
            Taken::Theirs if Instant::now() >= deadline => {
                return Err(TreeError::Busy(what.to_owned()));
            }
            Taken::Theirs => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn attempt(places: &Places, name: &str) -> Result<Taken, TreeError> {
    let dir = places.papers.join("locks");
    std::fs::create_dir_all(dir.as_path()).map_err(io(dir.as_path()))?;
    let path = dir.join(name);
    // The file stays: removing a lock file lets a third process in beside the second.
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path.as_path());
    let file = file.map_err(io(path.as_path()))?;
    match file.try_lock() {
        Ok(()) => Ok(Taken::Ours(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(Taken::Theirs),
        Err(TryLockError::Error(error)) => Err(TreeError::Io(path.as_path().into(), error)),
    }
}
