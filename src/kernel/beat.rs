//! Signs of life without the table: one small file per process. Its time is the heartbeat, its
//! lines are the tools in flight (`+id` begun, `*id` begun and may write, `&id` goes on in the
//! background, `!id` runs a program of ours, `-id` over).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::home::{Home, open_private, open_seen};
use super::reserve;
use crate::policy::lane::Pid;

/// Read at most this much of the file's end.
const TAIL: u64 = 16 * 1024;
/// A file that grew past this is cut at the next turn.
const CUT: u64 = 64 * 1024;

/// What a tool call is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flight {
    /// Begun; reads only, as far as could be read.
    Reads,
    /// Begun; may write.
    Writes,
    /// Reported, and goes on in the background; may write.
    Behind,
    /// Begun; runs one of our own programs.
    Ours,
    /// Over.
    Over,
}

/// Whether the process had been seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Its heartbeat file was made just now.
    First,
    /// Known; seconds since the last sign of life before this one.
    Before {
        /// Seconds of silence that ended now.
        silent: u64,
    },
}

/// Notes a sign of life. Makes the file (and the folders) when absent.
pub fn touch(home: &Home, pid: &Pid, call: Option<(&str, Flight)>, unix: u64) -> io::Result<Seen> {
    let path = home.beat(pid);
    let (mut file, meta) = match open_seen(&path) {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            home.create()?;
            open_seen(&path)?
        }
        Err(e) if is_full(&e) => {
            reserve::give_up(home);
            open_seen(&path)?
        }
        Err(e) => return Err(e),
    };
    let first = meta.len() == 0;
    let silent = unix.saturating_sub(u64::try_from(meta.mtime()).unwrap_or(0));
    let line = match call {
        Some((id, flight)) => {
            let sign = match flight {
                Flight::Reads => '+',
                Flight::Writes => '*',
                Flight::Behind => '&',
                Flight::Ours => '!',
                Flight::Over => '-',
            };
            format!("{sign}{id}\n")
        }
        None if first => ".\n".to_owned(),
        None => String::new(),
    };
    if line.is_empty() {
        rustix::fs::futimens(
            &file,
            &rustix::fs::Timestamps {
                last_access: rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
                last_modification: rustix::fs::Timespec {
                    tv_sec: 0,
                    tv_nsec: rustix::fs::UTIME_NOW,
                },
            },
        )?;
    } else if let Err(e) = file.write_all(line.as_bytes()) {
        // A live process must not fall silent because the disk is full.
        if !is_full(&e) {
            return Err(e);
        }
        reserve::give_up(home);
        file.write_all(format!("\n{line}").as_bytes())?;
    }
    Ok(if first { Seen::First } else { Seen::Before { silent } })
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A turn is over: nothing is in flight any more.
pub fn land(home: &Home, pid: &Pid) -> io::Result<()> {
    let file = open_private(&home.beat(pid))?;
    file.set_len(0)?;
    (&file).write_all(b".\n")
}

/// The process has ended: no file, no sign of life.
pub fn end(home: &Home, pid: &Pid) -> io::Result<()> {
    gone(fs::remove_file(home.beat(pid)))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Marks that words for a process wait in the table, so that its next event looks there even when
/// it has nothing to decide. Best effort: they are told at the latest when it has.
pub fn leave_word(home: &Home, pid: &Pid) {
    let path = home.word(pid);
    if open_private(&path).is_err() {
        drop(path.parent().map(fs::create_dir_all));
        drop(open_private(&path));
    }
}

/// Whether words for a process wait in the table.
#[must_use]
pub fn has_word(home: &Home, pid: &Pid) -> bool {
    fs::symlink_metadata(home.word(pid)).is_ok()
}

/// The words were taken.
pub fn word_taken(home: &Home, pid: &Pid) {
    drop(fs::remove_file(home.word(pid)));
}

/// The tools in flight of a process, with what they may do.
#[must_use]
pub fn in_flight(home: &Home, pid: &Pid) -> BTreeMap<String, Flight> {
    let mut flying = BTreeMap::new();
    for line in tail(&home.beat(pid)).unwrap_or_default().lines() {
        let Some(id) = line.get(1..) else { continue };
        match line.as_bytes().first() {
            Some(b'+') => {
                flying.insert(id.to_owned(), Flight::Reads);
            }
            Some(b'*') => {
                flying.insert(id.to_owned(), Flight::Writes);
            }
            Some(b'!') => {
                flying.insert(id.to_owned(), Flight::Ours);
            }
            Some(b'&') => {
                flying.insert(id.to_owned(), Flight::Behind);
            }
            Some(b'-') => {
                flying.remove(id);
            }
            Some(_) | None => {}
        }
    }
    flying
}

fn tail(path: &Path) -> io::Result<String> {
    read_tail(path, TAIL)
}

/// The end of a regular file; a pipe in its place is an error, not a wait.
pub fn read_tail(path: &Path, most: u64) -> io::Result<String> {
    use std::os::unix::fs::OpenOptionsExt;
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut file = fs::OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if meta.len() > most {
        file.seek(SeekFrom::Start(meta.len() - most))?;
    }
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the file has grown enough to be cut at the end of a turn.
#[must_use]
pub fn is_long(home: &Home, pid: &Pid) -> bool {
    fs::metadata(home.beat(pid)).is_ok_and(|m| m.len() > CUT)
}

/// Seconds since the last sign of life of a process; negative when the time lies ahead. What can't
/// be read may have been written just now.
#[must_use]
pub fn age(home: &Home, pid: &Pid, unix: u64) -> Option<i64> {
    match fs::metadata(home.beat(pid)) {
        Ok(meta) => i64::try_from(unix).ok().map(|now| now - meta.mtime()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(0),
    }
}

/// Seconds since a file changed; negative when the time lies ahead.
#[must_use]
pub fn file_age(path: &Path, unix: u64) -> Option<i64> {
    let meta = fs::metadata(path).ok()?;
    i64::try_from(unix).ok().map(|now| now - meta.mtime())
}

/// Whether anybody but `me` and those of `mine` gave a sign of life within `lease` seconds; an
/// unreadable folder counts as somebody.
#[must_use]
pub fn others_about(home: &Home, mine: &[&Pid], lease: u64, unix: u64) -> bool {
    let own: Vec<String> = mine.iter().map(|p| super::home::file_name(p)).collect();
    let entries = match fs::read_dir(home.beats()) {
        Ok(entries) => entries,
        Err(e) => return e.kind() != io::ErrorKind::NotFound,
    };
    let now = i64::try_from(unix).unwrap_or(i64::MAX);
    let lease = i64::try_from(lease).unwrap_or(i64::MAX);
    let skew = i64::try_from(super::clock::SKEW).unwrap_or(0);
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        if own.iter().any(|o| name.as_os_str() == o.as_str()) {
            return false;
        }
        entry.metadata().is_ok_and(|m| {
            let age = now - m.mtime();
            age >= -skew && age < lease
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_tells_what_is_in_flight() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        let pid = Pid::new("s").unwrap();
        assert_eq!(touch(&home, &pid, Some(("a", Flight::Writes)), 0).unwrap(), Seen::First);
        touch(&home, &pid, Some(("b", Flight::Reads)), 0).unwrap();
        touch(&home, &pid, Some(("a", Flight::Over)), 0).unwrap();
        let flying = in_flight(&home, &pid);
        assert_eq!(flying.len(), 1);
        assert_eq!(flying.get("b"), Some(&Flight::Reads));
        land(&home, &pid).unwrap();
        assert!(in_flight(&home, &pid).is_empty());
    }

    #[test]
    fn a_pipe_in_place_of_the_file_is_an_error_not_a_hang() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        home.create().unwrap();
        let pid = Pid::new("s").unwrap();
        let path = home.beat(&pid);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(touch(&home, &pid, None, 0).is_err());
    }

    #[test]
    fn only_somebody_elses_fresh_file_counts() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        let (me, other) = (Pid::new("me").unwrap(), Pid::new("other").unwrap());
        let unix = super::super::clock::unix_seconds();
        touch(&home, &me, None, unix).unwrap();
        assert!(!others_about(&home, &[&me], 900, unix));
        touch(&home, &other, None, unix).unwrap();
        assert!(others_about(&home, &[&me], 900, unix));
        assert!(!others_about(&home, &[&me], 900, unix + 901));
    }
}
