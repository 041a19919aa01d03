//! Segments of a journal. One that has grown past its bound is set aside under a number and goes
//! on in a new file, whose first line names the end of the old one and whose next lines say again
//! what the process holds: each segment can be read, checked and let go without the others, and a
//! program that knows no segments goes on writing the newest. Never removes one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::StateError;
use super::clock::Now;
use super::home::{self, Home, open_private};
use super::log::{self, Line};
use crate::journal::{self, Head};
use crate::policy::lane::Pid;
use crate::policy::verdict::{After, Note, What};

/// Bytes after which a journal goes on in a new segment, where no setting says otherwise.
pub const LIMIT: u64 = 4 * 1024 * 1024;
/// A segment must be this many times longer than what the next one has to say again, or a process
/// with very many lanes would begin one at every call.
const WORTH: u64 = 4;
/// The end of every journal's name.
const SUFFIX: &str = ".jsonl";

/// When a journal goes on in a new segment, and what that one says again.
pub struct Growth<'g> {
    /// Bytes.
    pub limit: u64,
    /// The lines that say what holds, asked only when a segment begins.
    pub held: &'g dyn Fn() -> Result<Vec<(What, Note)>, StateError>,
}

/// The file of a numbered segment.
#[must_use]
pub fn path(home: &Home, pid: &Pid, number: u64) -> PathBuf {
    home.journals().join(format!("{}{SUFFIX}.{number}", home::file_name(pid)))
}

/// A journal's name and the segment's number (none for the one being written), from a file name.
#[must_use]
pub fn named(file: &OsStr) -> Option<(String, Option<u64>)> {
    let file = file.to_str()?;
    if let Some(name) = file.strip_suffix(SUFFIX) {
        return Some((name.to_owned(), None));
    }
    let (name, number) = file.rsplit_once('.')?;
    let name = name.strip_suffix(SUFFIX)?;
    Some((name.to_owned(), Some(number.parse().ok()?)))
}

/// The numbers of a journal's segments, in order, but for the one being written.
#[must_use]
pub fn numbers(home: &Home, pid: &Pid) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(home.journals()) else { return Vec::new() };
    let own = home::file_name(pid);
    let number = |(name, number): (String, Option<u64>)| number.filter(|_| name == own);
    let found = entries.flatten().filter_map(|e| named(&e.file_name()).and_then(number));
    let mut found: Vec<u64> = found.collect();
    found.sort_unstable();
    found
}

/// Sets the journal aside and goes on in a new one with these lines. None when it is not worth it
/// or could not be done: then it grows on, which harms nobody.
pub(super) fn rotate(
    home: &Home,
    pid: &Pid,
    head: &Head,
    now: Now,
    growth: &Growth<'_>,
    lines: &[Line<'_>],
) -> Result<Option<Head>, StateError> {
    let number = numbers(home, pid).last().map_or(1, |last| last + 1);
    let after =
        After { segment: number, seq: head.seq, seal: head.seal.clone(), bytes: head.bytes };
    let (text, fresh, again) = first_lines(pid, after, now, growth, lines)?;
    if again.saturating_mul(WORTH) > growth.limit.max(head.bytes) {
        return Ok(None);
    }
    let (live, aside) = (home.journal(pid), path(home, pid, number));
    let begun = begin_file(home, pid, &text).and_then(|new| {
        fs::rename(&live, &aside)?;
        fs::rename(&new, &live).inspect_err(|_| drop(fs::rename(&aside, &live)))
    });
    Ok(begun.ok().map(|()| fresh))
}

/// Begins the segment after one that was set aside by somebody who was killed then.
pub(super) fn begin(
    home: &Home,
    pid: &Pid,
    after: After,
    now: Now,
    growth: &Growth<'_>,
    lines: &[Line<'_>],
) -> Result<Head, StateError> {
    let (text, fresh, _) = first_lines(pid, after, now, growth, lines)?;
    let live = home.journal(pid);
    let begun = begin_file(home, pid, &text).and_then(|new| fs::rename(new, &live));
    begun.map(|()| fresh).map_err(|e| StateError::io(live, e))
}

/// The text a segment begins with, where it stands then, and how many bytes say again what holds.
fn first_lines(
    pid: &Pid,
    after: After,
    now: Now,
    growth: &Growth<'_>,
    lines: &[Line<'_>],
) -> Result<(String, Head, u64), StateError> {
    let (mut text, mut head) = (String::new(), Head::default());
    let again = again(growth, Some(after))?;
    let again: Vec<Line<'_>> = again.iter().map(|(what, note)| (*what, note)).collect();
    log::write_lines(&mut text, &mut head, pid, now, &again);
    let bytes = head.bytes;
    log::write_lines(&mut text, &mut head, pid, now, lines);
    Ok((text, head, bytes))
}

/// Says again what holds, behind lines that may say otherwise.
pub(super) fn say_again(
    text: &mut String,
    head: &mut Head,
    pid: &Pid,
    now: Now,
    growth: &Growth<'_>,
) -> Result<(), StateError> {
    let again = again(growth, None)?;
    let again: Vec<Line<'_>> = again.iter().map(|(what, note)| (*what, note)).collect();
    log::write_lines(text, head, pid, now, &again);
    Ok(())
}

/// What holds, as lines that say that they say it again.
fn again(growth: &Growth<'_>, after: Option<After>) -> Result<Vec<(What, Note)>, StateError> {
    let mut again = (growth.held)()?;
    if again.is_empty() && after.is_some() {
        again.push((What::Notice, Note::default()));
    }
    if let Some((_, first)) = again.first_mut() {
        first.after = after;
    }
    for (_, note) in &mut again {
        note.reason.get_or_insert_with(|| journal::CARRIED.to_owned());
    }
    Ok(again)
}

/// Writes a segment's first lines under a name nobody reads.
fn begin_file(home: &Home, pid: &Pid, text: &str) -> io::Result<PathBuf> {
    let new = home.journals().join(format!("{}.new", home::file_name(pid)));
    drop(fs::remove_file(&new));
    let mut file = open_private(&new)?;
    file.write_all(text.as_bytes())?;
    Ok(new)
}

/// Whether the file being written was begun without the table having heard of it: it does not
/// hold the line the table acknowledged last, and the segment before it does. Gives that one's end.
pub(super) fn begun(home: &Home, pid: &Pid, live: &mut File, head: &Head) -> Option<After> {
    if head.bytes == 0 || ends_with(live, head) {
        return None;
    }
    let number = *numbers(home, pid).last()?;
    let before = fs::read(path(home, pid, number)).ok()?;
    let file = File::open(path(home, pid, number)).ok()?;
    if !ends_with(&file, head) {
        return None;
    }
    // Lines that were never acknowledged may follow the one the table knows.
    let mut end = After {
        segment: number,
        seq: head.seq,
        seal: head.seal.clone(),
        bytes: before.len() as u64,
    };
    let rest = before.get(usize::try_from(head.bytes).ok()?..)?;
    for line in String::from_utf8_lossy(rest).split_inclusive('\n') {
        if let Some((entry, seal)) = journal::open(line) {
            (end.seq, end.seal) = (entry.seq, seal);
        }
    }
    Some(end).filter(|end| first_of(live).is_none_or(|named| named == *end))
}

/// Whether the line that ends at the head's length is the head's.
fn ends_with(file: &File, head: &Head) -> bool {
    let end = journal::end_of_line(&head.seal);
    let mut there = vec![0; end.len()];
    let at = head.bytes.checked_sub(end.len() as u64);
    at.is_some_and(|at| file.read_exact_at(&mut there, at).is_ok()) && there == end.as_bytes()
}

/// What the first line of a segment says it follows.
fn first_of(file: &mut File) -> Option<After> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    Read::by_ref(file).take(64 * 1024).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.split_inclusive('\n').next()?;
    journal::open(line)?.0.note.after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_segments_are_told_from_names_of_journals() {
        let told = |name: &str| named(OsStr::new(name));
        assert_eq!(told("a.jsonl"), Some(("a".into(), None)));
        assert_eq!(told("a.jsonl.12"), Some(("a".into(), Some(12))));
        assert_eq!(told("a.jsonl.3.jsonl"), Some(("a.jsonl.3".into(), None)));
        assert_eq!(told("a.jsonl.x"), None);
        assert_eq!(told("a.new"), None);
    }
}
