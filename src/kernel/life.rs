//! Whether a process lives, and for how long it has been silent. Looked up only when two meet.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::StateError;
use super::beat::{self, Flight};
use super::clock::{self, Client, ClientLife, SKEW};
use super::store::{ProcessRow, State, Tx, Vouched};
use crate::policy::facts::Kind;
use crate::policy::lane::Pid;
use crate::policy::verdict::Holder;

/// How much of a transcript's end is searched for the answer to a call.
const TRANSCRIPT: u64 = 512 * 1024;

/// What is known about a process's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It works.
    Live {
        /// Seconds since its last sign of life.
        silent: u64,
    },
    /// Nothing was heard of it for a lease.
    Silent {
        /// For how long, in seconds.
        silent: u64,
    },
    /// Its exit was seen.
    Ended,
    /// Its client is gone.
    Dead,
}

impl Life {
    /// Its lanes stand.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Seconds of silence, as far as they mean anything.
    #[must_use]
    pub fn silent(self) -> u64 {
        match self {
            Self::Live { silent } | Self::Silent { silent } => silent,
            Self::Ended | Self::Dead => 0,
        }
    }
}

/// Looks processes up once per event.
#[derive(Debug, Default)]
pub struct Registry {
    known: HashMap<Pid, Option<(ProcessRow, Life)>>,
    lease: u64,
}

impl Registry {
    /// A registry that uses this lease, in seconds.
    #[must_use]
    pub fn new(lease: u64) -> Self {
        Self { known: HashMap::new(), lease }
    }

    /// A process and its life.
    pub fn get(
        &mut self,
        tx: &Tx<'_>,
        pid: &Pid,
    ) -> Result<Option<&(ProcessRow, Life)>, StateError> {
        if !self.known.contains_key(pid) {
            let found = match tx.process(pid)? {
                Some(row) => {
                    let life = life(tx, &row, self.lease);
                    Some((row, life))
                }
                None => None,
            };
            self.known.insert(pid.clone(), found);
        }
        Ok(self.known.get(pid).and_then(Option::as_ref))
    }

    /// Whether its lanes stand. A holder without a row is judged by its heartbeat alone.
    pub fn is_live(&mut self, tx: &Tx<'_>, pid: &Pid) -> Result<bool, StateError> {
        let lease = self.lease;
        Ok(match self.get(tx, pid)? {
            Some((_, life)) => life.is_live(),
            None => fresh(beat::age(tx.home(), pid, tx.now().unix), lease).is_some(),
        })
    }

    /// Whether a session lives, itself or in one of its agents: beside a background agent the main
    /// thread may be silent for hours.
    pub fn session_lives(&mut self, tx: &Tx<'_>, session: &Pid) -> Result<bool, StateError> {
        if self.is_live(tx, session)? {
            return Ok(true);
        }
        for agent in tx.agents_of(session)? {
            if agent.state == State::Open && life(tx, &agent, self.lease).is_live() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether somebody lives who answers for bytes `pid` left: itself, the heir of its exit, or
    /// its session.
    pub fn heir(&mut self, tx: &Tx<'_>, pid: &Pid) -> Result<Option<Pid>, StateError> {
        let mut at = pid.clone();
        for _ in 0..8 {
            if self.is_live(tx, &at)? {
                return Ok(Some(at));
            }
            let Some((row, _)) = self.get(tx, &at)? else { return Ok(None) };
            let next = row.heir.clone().or_else(|| match row.kind {
                Kind::Agent => row.parent.clone().or_else(|| Some(row.session.clone())),
                Kind::Session => None,
            });
            match next {
                Some(next) if next != at => at = next,
                Some(_) | None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The holder's card, for denials and listings.
    pub fn holder(&mut self, tx: &Tx<'_>, pid: &Pid, age: u64) -> Result<Holder, StateError> {
        let card = match self.get(tx, pid)? {
            Some((row, life)) => Holder {
                pid: pid.clone(),
                session: row.session.clone(),
                kind: match row.kind {
                    Kind::Session => "session".to_owned(),
                    Kind::Agent => row.agent_type.clone().unwrap_or_else(|| "agent".to_owned()),
                },
                age,
                silent: life.silent(),
            },
            None => Holder {
                pid: pid.clone(),
                session: pid.clone(),
                kind: "process".to_owned(),
                age,
                silent: 0,
            },
        };
        Ok(card)
    }

    /// Whether `child` descends from `ancestor`.
    pub fn descends(
        &mut self,
        tx: &Tx<'_>,
        child: &Pid,
        ancestor: &Pid,
    ) -> Result<bool, StateError> {
        let mut at = child.clone();
        for _ in 0..16 {
            let Some((row, _)) = self.get(tx, &at)? else { return Ok(false) };
            let parent = match row.kind {
                Kind::Session => None,
                Kind::Agent => row.parent.clone().or_else(|| Some(row.session.clone())),
            };
            match parent {
                Some(parent) if parent == *ancestor => return Ok(true),
                Some(parent) if parent != at => at = parent,
                Some(_) | None => return Ok(false),
            }
        }
        Ok(false)
    }
}

/// An age that counts as life, as seconds of silence.
fn fresh(age: Option<i64>, lease: u64) -> Option<u64> {
    let age = age?;
    let skew = i64::try_from(SKEW).unwrap_or(0);
    if age < -skew {
        return None;
    }
    let silent = u64::try_from(age).unwrap_or(0);
    (silent < lease).then_some(silent)
}

/// The life of a process, from its row, its heartbeat, its transcript and its client.
#[must_use]
pub fn life(tx: &Tx<'_>, row: &ProcessRow, lease: u64) -> Life {
    if row.state == State::Ended {
        return Life::Ended;
    }
    // A row of another machine, boot or pid namespace says nothing of its client that could be
    // looked up here: two machines made from one image have one id and share a home folder.
    let client = client_of(tx, row);
    if client == ClientLife::Gone {
        return Life::Dead;
    }
    let unix = tx.now().unix;
    let beat = beat::age(tx.home(), &row.pid, unix);
    if let Some(silent) = fresh(beat, lease) {
        return Life::Live { silent };
    }
    // Older clients write an agent's words into the session's file: then it says nothing of the
    // agent, whose own file is not there.
    let transcript = transcript_of(row).and_then(|t| beat::file_age(&t, unix));
    if let Some(silent) = fresh(transcript, lease) {
        return Life::Live { silent };
    }
    let silent = beat.and_then(|a| u64::try_from(a).ok()).unwrap_or(lease);
    if client == ClientLife::Runs && is_busy(tx, row) {
        return Life::Live { silent };
    }
    Life::Silent { silent }
}

/// Whether a tool call is under way that its transcript does not show as answered: an Escape ends
/// a call without any event, and is written down there.
fn is_busy(tx: &Tx<'_>, row: &ProcessRow) -> bool {
    let flying = beat::in_flight(tx.home(), &row.pid);
    if flying.is_empty() {
        return false;
    }
    let said = transcript_of(row).and_then(|path| beat::read_tail(&path, TRANSCRIPT).ok());
    let said = said.unwrap_or_default();
    let answered = |id: &str| said.lines().any(|l| l.contains("tool_result") && l.contains(id));
    flying.keys().any(|id| !answered(id))
}

/// Where a process's own words are written: an agent's beside its session's.
fn transcript_of(row: &ProcessRow) -> Option<PathBuf> {
    let session = Path::new(row.transcript.as_deref()?);
    Some(match row.kind {
        Kind::Session => session.to_path_buf(),
        Kind::Agent => {
            session.with_extension("").join("subagents").join(format!("agent-{}.jsonl", row.pid))
        }
    })
}

/// The client's life, where it can be told: same machine, same boot, same pid namespace.
fn client_of(tx: &Tx<'_>, row: &ProcessRow) -> ClientLife {
    match row.client {
        Some(Client { pid, start }) if row.place == *tx.place() && row.vouched == Vouched::Yes => {
            clock::client_life(Client { pid, start })
        }
        Some(_) | None => ClientLife::Unknown,
    }
}

/// Whether a writing tool of the process is in flight.
#[must_use]
pub fn is_writing(tx: &Tx<'_>, pid: &Pid) -> bool {
    beat::in_flight(tx.home(), pid).values().any(|f| *f != Flight::Reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_beat_is_skew_up_to_two_minutes() {
        assert_eq!(fresh(Some(-100), 900), Some(0));
        assert_eq!(fresh(Some(-300), 900), None);
        assert_eq!(fresh(Some(890), 900), Some(890));
        assert_eq!(fresh(Some(900), 900), None);
    }
}
