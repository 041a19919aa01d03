//! The journal files: appended under the table's lock, one write for all lines of a transaction.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use super::StateError;
use super::clock::Now;
use super::home::{Home, open_private, open_seen};
use super::segment::{self, Growth};
use crate::journal::{self, Entry, Head, Part};
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// How much of an unacknowledged tail is looked at.
const TAIL: u64 = 8 * 1024 * 1024;

/// A line to be written.
pub type Line<'n> = (What, &'n Note);

/// Appends lines to a process's journal and gives its new head.
pub fn append(
    home: &Home,
    pid: &Pid,
    known: &Head,
    now: Now,
    growth: &Growth<'_>,
    lines: &[Line<'_>],
) -> Result<Head, StateError> {
    let path = home.journal(pid);
    let at = |e| StateError::io(&path, e);
    let (mut file, meta) = open_seen(&path).map_err(at)?;
    let len = meta.len();
    let (mut head, ends) = match len.cmp(&known.bytes) {
        Ordering::Equal => (known.clone(), Ends::OnALine),
        Ordering::Greater | Ordering::Less => match segment::begun(home, pid, &mut file, known) {
            // Killed between two segments: the table still speaks of the one before.
            Some(after) if len == 0 => return segment::begin(home, pid, after, now, growth, lines),
            Some(_) => adopt(&mut file, &Head::default(), len).map_err(at)?,
            None if len > known.bytes => adopt(&mut file, known, len).map_err(at)?,
            // Cut: the gap in the numbers will tell.
            None => (Head { bytes: len, ..known.clone() }, Ends::Anywhere),
        },
    };
    let taken_over = head.seq != known.seq && len > 0;
    if ends == Ends::OnALine && head.bytes >= growth.limit {
        drop(file);
        if let Some(fresh) = segment::rotate(home, pid, &head, now, growth, lines)? {
            return Ok(fresh);
        }
        file = open_private(&path).map_err(at)?;
    }
    let mut text = String::new();
    if ends == Ends::Anywhere && head.bytes > 0 {
        text.push('\n');
        head.bytes += 1;
    }
    if taken_over {
        // A killed hook may have written that lanes ended which did not.
        segment::say_again(&mut text, &mut head, pid, now, growth)?;
    }
    write_lines(&mut text, &mut head, pid, now, lines);
    // One write: a line is there whole or, when the disk fills up, torn and never acknowledged.
    file.write_all(text.as_bytes()).map_err(at)?;
    Ok(head)
}

/// Renders lines that follow `head`, which moves on.
pub(super) fn write_lines(
    text: &mut String,
    head: &mut Head,
    pid: &Pid,
    now: Now,
    lines: &[Line<'_>],
) {
    for (kind, note) in lines {
        let entry = Entry {
            seq: head.seq + 1,
            at: now.unix,
            tick: now.tick.0,
            pid: pid.to_string(),
            kind: *kind,
            note: (*note).clone(),
            prev: head.seal.clone(),
        };
        let Some((line, seal)) = journal::seal(&entry) else { continue };
        *head = Head { seq: entry.seq, seal, bytes: head.bytes + line.len() as u64 };
        text.push_str(&line);
    }
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

/// The texts of all journals in the folder, whatever the table knows of them: the name of each,
/// and its segments, the oldest first.
pub fn all(home: &Home) -> Result<Vec<(String, Vec<Part>)>, StateError> {
    let dir = home.journals();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StateError::io(dir, e)),
    };
    let mut out: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    for entry in entries.flatten() {
        let Some((name, number)) = segment::named(&entry.file_name()) else { continue };
        if !entry.file_type().is_ok_and(|t| t.is_file()) {
            continue;
        }
        let path = entry.path();
        let bytes = std::fs::read(&path).map_err(|e| StateError::io(&path, e))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        out.entry(name).or_default().push(Part { number, text });
    }
    for parts in out.values_mut() {
        parts.sort_by_key(|part| part.number.unwrap_or(u64::MAX));
    }
    Ok(out.into_iter().collect())
}

/// The last lines of a process's journal, from `most` bytes or a little more: where a new segment
/// has just begun, those before it too.
#[must_use]
pub fn tail(home: &Home, pid: &Pid, most: u64) -> String {
    let live = super::beat::read_tail(&home.journal(pid), most).unwrap_or_default();
    let before = segment::numbers(home, pid).last().copied().filter(|_| (live.len() as u64) < most);
    let before = before.map(|number| segment::path(home, pid, number));
    let before = before.and_then(|path| super::beat::read_tail(&path, most).ok());
    before.unwrap_or_default() + &live
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
