//! The journal files: appended under the table's lock, one write for all lines of a transaction.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use super::StateError;
use super::clock::Now;
use super::home::{Home, open_private};
use crate::journal::{self, Entry, Head};
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// How much of an unacknowledged tail is looked at.
const TAIL: u64 = 256 * 1024;

/// Appends lines to a process's journal and gives its new head.
pub fn append<'n>(
    home: &Home,
    pid: &Pid,
    head: &Head,
    now: Now,
    lines: impl Iterator<Item = (What, &'n Note)>,
) -> Result<Head, StateError> {
    let path = home.journal(pid);
    let at = |e| StateError::io(&path, e);
    let mut file = open_private(&path).map_err(at)?;
    let len = file.metadata().map_err(at)?.len();
    let (mut head, ends) = match len.cmp(&head.bytes) {
        Ordering::Equal => (head.clone(), Ends::OnALine),
        Ordering::Greater => adopt(&mut file, head, len).map_err(at)?,
        // Cut: the gap in the numbers will tell.
        Ordering::Less => (Head { bytes: len, ..head.clone() }, Ends::Anywhere),
    };
    let mut text = String::new();
    if ends == Ends::Anywhere && head.bytes > 0 {
        text.push('\n');
        head.bytes += 1;
    }
    for (kind, note) in lines {
        let entry = Entry {
            seq: head.seq + 1,
            at: now.unix,
            tick: now.tick.0,
            pid: pid.to_string(),
            kind,
            note: note.clone(),
            prev: head.seal.clone(),
        };
        let Some((line, seal)) = journal::seal(&entry) else { continue };
        head = Head { seq: entry.seq, seal, bytes: head.bytes + line.len() as u64 };
        text.push_str(&line);
    }
    // One write: a line is there whole or, when the disk fills up, torn and never acknowledged.
    file.write_all(text.as_bytes()).map_err(at)?;
    Ok(head)
}

/// Where a journal that is to be continued ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// With a whole line.
    OnALine,
    /// Somebody cut or filled it: the next line must begin on its own.
    Anywhere,
}

/// Lines beyond what the table acknowledged: a crash between append and commit, or somebody
/// else's. Good ones are taken over, a torn end is cut off, anything else stays as evidence.
fn adopt(file: &mut File, head: &Head, len: u64) -> std::io::Result<(Head, Ends)> {
    let mut head = head.clone();
    let begin = head.bytes;
    file.seek(SeekFrom::Start(begin))?;
    let mut tail = Vec::new();
    Read::by_ref(file).take(TAIL).read_to_end(&mut tail)?;
    let mut end = begin;
    for line in tail.split_inclusive(|b| *b == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        end += line.len() as u64;
        if let Ok(line) = std::str::from_utf8(line)
            && let Some((entry, seal)) = journal::open(line)
            && entry.prev == head.seal
        {
            head = Head { seq: entry.seq, seal, bytes: end };
        }
    }
    if end < len && len - begin > TAIL {
        return Ok((Head { bytes: len, ..head }, Ends::Anywhere));
    }
    if end < len {
        file.set_len(end)?;
    }
    Ok((Head { bytes: end, ..head }, Ends::OnALine))
}

/// A journal's text.
pub fn text(home: &Home, pid: &Pid) -> Result<String, StateError> {
    let path = home.journal(pid);
    let bytes = std::fs::read(&path).map_err(|e| StateError::io(&path, e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The texts of all journals in the folder, whatever the table knows of them.
pub fn all(home: &Home) -> Result<Vec<(String, String)>, StateError> {
    let dir = home.journals();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StateError::io(dir, e)),
    };
    let mut out = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "jsonl")
            && entry.file_type().is_ok_and(|t| t.is_file())
        {
            let bytes = std::fs::read(&path).map_err(|e| StateError::io(&path, e))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            out.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    out.sort();
    Ok(out)
}

/// Notes a failure that blocked nobody, for doctor. Best effort: a full disk must not turn a
/// report into a failure.
pub fn report(home: &Home, now: Now, text: &str) {
    const LIMIT: u64 = 256 * 1024;
    let Ok(mut file) = open_private(&home.report()) else { return };
    if file.metadata().is_ok_and(|m| m.len() > LIMIT) {
        drop(file.set_len(0));
    }
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    drop(file.write_all(format!("{} {text}\n", now.unix).as_bytes()));
}
