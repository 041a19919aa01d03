//! The record of a process: one JSON object a line, each sealed with a digest of the line before
//! it. Pure: formats, checks and folds lines; the files belong to `kernel::log`.

mod segments;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::policy::verdict::{Note, What};

pub use segments::{Part, read_all};

/// The reason on lines with which a new segment says again what holds.
pub const CARRIED: &str = "carried over";

/// Bytes of the digest that are written.
const SEAL: usize = 16;
/// What the first line of a segment is chained to.
pub const GENESIS: &str = "00000000000000000000000000000000";

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 1 in each segment of a journal.
    pub seq: u64,
    /// Seconds since 1970.
    pub at: u64,
    /// Seconds of the boot clock.
    pub tick: u64,
    /// The process the journal belongs to.
    pub pid: String,
    /// What happened.
    pub kind: What,
    /// The details.
    #[serde(flatten)]
    pub note: Note,
    /// The seal of the line before.
    pub prev: String,
}

/// Where a journal stands: what the next line is chained to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of the last line.
    pub seq: u64,
    /// Its seal.
    pub seal: String,
    /// Length of the file in bytes up to and with that line.
    pub bytes: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { seq: 0, seal: GENESIS.to_owned(), bytes: 0 }
    }
}

/// Renders an entry as a sealed line, newline included, and gives its seal.
#[must_use]
pub fn seal(entry: &Entry) -> Option<(String, String)> {
    let mut text = serde_json::to_string(entry).ok()?;
    let seal = digest(&text);
    text.pop();
    text.push_str(&end_of_line(&seal));
    Some((text, seal))
}

/// How a line with this seal ends.
#[must_use]
pub fn end_of_line(seal: &str) -> String {
    format!(",\"seal\":\"{seal}\"}}\n")
}

fn digest(text: &str) -> String {
    crate::kernel::home::hex(&Sha256::digest(text.as_bytes()), SEAL)
}

/// A line taken apart: the entry and its seal, when the seal is right.
#[must_use]
pub fn open(line: &str) -> Option<(Entry, String)> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let body = line.strip_suffix("\"}")?;
    let cut = body.len().checked_sub(SEAL * 2)?;
    let seal = body.get(cut..)?;
    let text = body.get(..cut)?.strip_suffix(",\"seal\":\"")?;
    let text = format!("{text}}}");
    (digest(&text) == seal).then_some(())?;
    Some((serde_json::from_str(&text).ok()?, seal.to_owned()))
}

/// What is wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// Line number in the file, from 1.
    pub line: usize,
    /// In words.
    pub what: String,
}

/// A journal read back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// The lines that hold.
    pub entries: Vec<Entry>,
    /// What does not.
    pub flaws: Vec<Flaw>,
    /// Lines at the end that were never acknowledged, whole or torn: a crash, not a forgery.
    pub unsure: usize,
    /// The seal of the last line that holds.
    pub seal: String,
}

/// Reads a journal and checks its chain against what the table acknowledged.
#[must_use]
pub fn read(text: &str, acknowledged: Option<&Head>) -> Read {
    let mut out = Read::default();
    let mut seal = GENESIS.to_owned();
    let mut seq = 0;
    let mut offset = 0_u64;
    let acknowledged_bytes = acknowledged.map_or(u64::MAX, |h| h.bytes);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        let begins = offset;
        offset += line.len() as u64;
        let opened = if line.ends_with('\n') { open(line) } else { None };
        match opened {
            Some((entry, its)) if entry.prev == seal && entry.seq == seq + 1 => {
                seal = its;
                seq = entry.seq;
                out.unsure += usize::from(begins >= acknowledged_bytes);
                out.entries.push(entry);
            }
            Some((entry, its)) => {
                let what = format!("line {} follows line {seq}: missing or moved", entry.seq);
                out.flaws.push(Flaw { line: number, what });
                seal = its;
                seq = entry.seq;
                out.entries.push(entry);
            }
            None if begins >= acknowledged_bytes && !line.ends_with('\n') => {
                out.unsure += 1;
            }
            None => {
                out.flaws.push(Flaw { line: number, what: "edited or not ours".to_owned() });
            }
        }
    }
    out.seal = seal;
    if let Some(head) = acknowledged {
        if offset < head.bytes {
            let what = format!("cut: {} bytes of {} are there", offset, head.bytes);
            out.flaws.push(Flaw { line: text.lines().count() + 1, what });
        } else if seq < head.seq {
            let what = format!("line {} was acknowledged and is missing", head.seq);
            out.flaws.push(Flaw { line: text.lines().count() + 1, what });
        }
    }
    out
}

/// What the journals of all processes say is held; a superset of the table after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replay {
    /// Path and holder to the claim. A holder's lanes follow from its own journal alone, so that the
    /// order of two journals within a second does not matter.
    pub lanes: BTreeMap<(String, String), Claimed>,
    /// Path to (owner, root, since).
    pub custody: BTreeMap<String, Claimed>,
    /// Process to (parent, session, type, ended).
    pub processes: BTreeMap<String, Life>,
    /// Claims from before their process said again what it holds, until it says them again.
    earlier: BTreeMap<(String, String), Claimed>,
}

/// A claim as the journals tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Holder or owner.
    pub pid: String,
    /// Who wrote it; the owner may have inherited it.
    pub writer: String,
    /// The work tree.
    pub root: Option<String>,
    /// Boot clock.
    pub tick: u64,
    /// Since 1970.
    pub at: u64,
    /// Handed to the holder's children.
    pub family: bool,
}

/// A process as the journals tell it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Life {
    /// The parent.
    pub parent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The agent's type.
    pub agent_type: Option<String>,
    /// Its last word was an exit.
    pub ended: bool,
    /// First seen, since 1970.
    pub at: u64,
}

/// Whether a line says again what an earlier segment may say better.
fn is_carried(entry: &Entry) -> bool {
    entry.note.reason.as_deref() == Some(CARRIED)
}

impl Replay {
    /// Folds one entry in. Entries of several journals must come in order of time.
    pub fn fold(&mut self, entry: &Entry) {
        let life = self.processes.entry(entry.pid.clone()).or_default();
        if life.at == 0 {
            life.at = entry.at;
        }
        let target = entry.note.target.clone();
        let claimed = Claimed {
            pid: entry.pid.clone(),
            writer: entry.pid.clone(),
            root: entry.note.root.clone(),
            tick: entry.tick,
            at: entry.at,
            family: false,
        };
        match entry.kind {
            What::Start => {
                if is_carried(entry) {
                    // What is not said again was a killed hook's, and never held.
                    let mine = |key: &(String, String), _: &mut Claimed| key.1 == entry.pid;
                    self.earlier = self.lanes.extract_if(.., mine).collect();
                }
                life.ended = false;
                life.parent.clone_from(&entry.note.parent);
                life.session.clone_from(&entry.note.session);
                life.agent_type.clone_from(&entry.note.agent_type);
            }
            What::Claim => {
                life.ended = false;
                if let Some(path) = target {
                    let key = (path, entry.pid.clone());
                    let known = self.earlier.remove(&key).filter(|_| is_carried(entry));
                    self.lanes.insert(key, known.unwrap_or(claimed));
                }
            }
            What::Confirm => {
                if let Some(path) = target {
                    let known = self.custody.remove(&path);
                    let known = known.filter(|c| is_carried(entry) && c.pid == entry.pid);
                    self.custody.insert(path, known.unwrap_or(claimed));
                }
            }
            What::Release | What::Expire => self.release(&entry.pid, target.as_deref(), entry),
            What::Clean => {
                if let Some(path) = target {
                    self.custody.remove(&path);
                    self.lanes.remove(&(path, entry.pid.clone()));
                }
            }
            What::Exit => {
                life.ended = true;
                self.lanes.retain(|_, l| l.pid != entry.pid);
                if let Some(heir) = &entry.note.heir {
                    for kept in self.custody.values_mut().filter(|c| c.pid == entry.pid) {
                        kept.pid.clone_from(heir);
                    }
                }
            }
            What::Tool
            | What::Deny
            | What::Override
            | What::Drift
            | What::Keep
            | What::Fork
            | What::Notice => {}
        }
    }

    fn release(&mut self, pid: &str, target: Option<&str>, entry: &Entry) {
        let delegated = entry.note.reason.as_deref() == Some("delegate");
        let mine =
            |(path, holder): &(String, String)| holder == pid && target.is_none_or(|t| t == path);
        if delegated {
            for (_, lane) in self.lanes.iter_mut().filter(|(key, _)| mine(key)) {
                lane.family = true;
            }
        } else {
            self.lanes.retain(|key, _| !mine(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(head: &mut Head, kind: What, target: &str) -> String {
        let entry = Entry {
            seq: head.seq + 1,
            at: 100 + head.seq,
            tick: head.seq,
            pid: "p".into(),
            kind,
            note: Note { target: Some(target.into()), ..Note::default() },
            prev: head.seal.clone(),
        };
        let (text, seal) = seal(&entry).unwrap();
        *head = Head { seq: entry.seq, seal, bytes: head.bytes + text.len() as u64 };
        text
    }

    #[test]
    fn an_edited_missing_or_cut_line_is_found() {
        let mut head = Head::default();
        let lines: Vec<String> =
            ["/a", "/b", "/c"].iter().map(|t| line(&mut head, What::Claim, t)).collect();
        let whole = lines.concat();
        assert!(read(&whole, Some(&head)).flaws.is_empty());
        assert_eq!(read(&whole.replace("/b", "/x"), Some(&head)).flaws.first().unwrap().line, 2);
        let missing = format!("{}{}", lines[0], lines[2]);
        assert!(!read(&missing, Some(&head)).flaws.is_empty());
        let cut = lines[..2].concat();
        assert!(!read(&cut, Some(&head)).flaws.is_empty());
    }

    #[test]
    fn a_torn_last_line_is_a_crash_not_a_forgery() {
        let mut head = Head::default();
        let first = line(&mut head, What::Claim, "/a");
        let acknowledged = head.clone();
        let second = line(&mut head, What::Claim, "/b");
        let torn = format!("{first}{}", &second[..second.len() / 2]);
        let read = read(&torn, Some(&acknowledged));
        assert!(read.flaws.is_empty() && read.unsure == 1);
    }

    #[test]
    fn what_is_said_again_keeps_its_time_and_what_is_not_was_never_held() {
        let mut replay = Replay::default();
        let mut say = |seq, kind, target: Option<&str>, again: bool| {
            let reason = again.then(|| CARRIED.to_owned());
            let target = target.map(str::to_owned);
            replay.fold(&Entry {
                seq,
                at: 100 + seq,
                tick: seq,
                pid: "p".into(),
                kind,
                note: Note { target, reason, ..Note::default() },
                prev: String::new(),
            });
            replay.lanes.iter().map(|(key, lane)| (key.0.clone(), lane.at)).collect::<Vec<_>>()
        };
        say(1, What::Claim, Some("/held"), false);
        // Of a hook that was killed before the table heard of it.
        say(2, What::Claim, Some("/phantom"), false);
        say(3, What::Release, Some("/held"), false);
        say(4, What::Start, None, true);
        let again = say(5, What::Claim, Some("/held"), true);
        assert_eq!(again, [("/held".to_owned(), 105)]);
        say(6, What::Start, None, true);
        assert_eq!(say(7, What::Claim, Some("/held"), true), [("/held".to_owned(), 105)]);
    }

    #[test]
    fn a_forged_exit_is_a_flaw_and_frees_nothing() {
        let mut head = Head::default();
        let text = line(&mut head, What::Claim, "/a") + "{\"kind\":\"exit\"}\n";
        let back = read(&text, Some(&head));
        assert_eq!(back.flaws.len(), 1);
        let mut replay = Replay::default();
        back.entries.iter().for_each(|e| replay.fold(e));
        assert!(replay.lanes.contains_key(&("/a".to_owned(), "p".to_owned())));
    }
}
