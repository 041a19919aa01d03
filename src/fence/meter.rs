//! What finished commands used, on its way into the journal. The prefix only appends a line beside
//! the table; the hook after the call, which writes to the table anyway, takes the lines in. A line
//! that can't be read is dropped: metering must never fail a command or a hook.

use std::fs;
use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::Metering;
use crate::kernel::home::{Home, open_private};
use crate::kernel::store::Tx;
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// Longest text of a command that is kept.
const TEXT: usize = 400;

/// What one command used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pid: String,
    command: String,
    exit: i32,
    cpu_ms: u64,
    peak_kib: u64,
    wall_ms: u64,
}

impl Spent {
    /// In the journal's units.
    #[must_use]
    pub fn new(pid: &Pid, command: &str, used: &Metering) -> Self {
        Self {
            pid: pid.as_str().to_owned(),
            command: command.chars().take(TEXT).collect(),
            exit: used.exit,
            cpu_ms: (used.user_us + used.system_us) / 1000,
            peak_kib: used.peak_kib,
            wall_ms: used.wall_us / 1000,
        }
    }

    /// Puts it into the journal of its process.
    pub fn note(&self, tx: &mut Tx<'_>) {
        let Some(pid) = Pid::new(&self.pid) else { return };
        let note = Note {
            target: Some(crate::policy::telling::plain(&self.command)),
            reason: Some(format!("exit {}", self.exit)),
            cpu_ms: Some(self.cpu_ms),
            peak_kib: Some(self.peak_kib),
            wall_ms: Some(self.wall_ms),
            ..Note::default()
        };
        tx.journal(&pid, What::Tool, note);
    }
}

/// Leaves a line for the session's next hook. One write: lines of several commands don't mix.
pub fn leave(home: &Home, session: &Pid, used: &Spent) -> io::Result<()> {
    let path = home.meter(session);
    let mut line = serde_json::to_vec(used)?;
    line.push(b'\n');
    let mut file = match open_private(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            home.create()?;
            open_private(&path)?
        }
        Err(e) => return Err(e),
    };
    file.write_all(&line)
}

/// Whether a session has lines waiting.
#[must_use]
pub fn is_waiting(home: &Home, session: &Pid) -> bool {
    fs::symlink_metadata(home.meter(session)).is_ok()
}

/// Takes a session's lines away. Renamed first, so that a command that ends now loses none.
#[must_use]
pub fn take(home: &Home, session: &Pid) -> Vec<Spent> {
    let path = home.meter(session);
    let mine = path.with_extension(format!("{}.taken", std::process::id()));
    if fs::rename(&path, &mine).is_err() {
        return Vec::new();
    }
    let text = fs::read_to_string(&mine).unwrap_or_default();
    // Left behind, it would only lie there.
    let _gone = fs::remove_file(&mine);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_session_are_taken_once_and_damaged_ones_are_dropped() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        let (session, pid) = (Pid::new("s").unwrap(), Pid::new("a").unwrap());
        assert!(!is_waiting(&home, &session));
        let used = Metering { user_us: 3000, system_us: 4000, peak_kib: 9, wall_us: 8000, exit: 3 };
        let first = Spent::new(&pid, "make", &used);
        leave(&home, &session, &first).unwrap();
        open_private(&home.meter(&session)).unwrap().write_all(b"{\"pid\":\n").unwrap();
        let second = Spent { exit: 0, ..first.clone() };
        leave(&home, &session, &second).unwrap();
        assert!(is_waiting(&home, &session));
        assert!(take(&home, &Pid::new("other").unwrap()).is_empty());
        assert_eq!(take(&home, &session), [first, second]);
        assert!(take(&home, &session).is_empty() && !is_waiting(&home, &session));
    }
}
