//! Tickets: `PreToolUse` leaves one for the command it let through, so that the prefix, whose
//! environment names no agent, knows whose command it is and what was proved about it. A ticket
//! only ever narrows what nobody's command gets; a lost or doubtful one costs rights, never gives
//! any. Lives in the table's own folder, which no fenced command can write.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{GitWrite, Level};
use crate::policy::lane::{AbsPath, Pid};

/// An approval may take hours; after a day nobody waits any more.
const LIFE: Duration = Duration::from_hours(24);

/// How the command is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Under the fence.
    Fenced,
    /// One of our own verbs and nothing else: it needs the table and judges for itself.
    Own,
}

/// What `PreToolUse` knows about a command it let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Whose command it is.
    pub pid: Pid,
    /// What was proved about git.
    pub git: GitWrite,
    /// The fence it was let through for: with less it must not run.
    pub need: Level,
    /// Fenced or not.
    pub run: Run,
}

/// What the prefix found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nobody vouches for the command.
    None,
    /// All tickets name the same process; the weakest rights of them.
    One(Ticket),
    /// Several processes asked for the same text.
    Ambiguous {
        /// The strongest fence one of them needs.
        need: Level,
    },
}

/// A ticket on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Paper {
    pid: String,
    git: String,
    need: String,
    run: String,
}

/// Leaves a ticket for `command`. `call` is the harness's id of the tool call.
pub fn leave(
    folder: &AbsPath,
    session: &Pid,
    command: &str,
    call: &str,
    ticket: &Ticket,
) -> io::Result<()> {
    let pile = pile(folder, session, command);
    let text = serde_json::to_string(&Paper::from(ticket))?;
    let name = digest(&[call]);
    let draft = pile.join(format!("{name}.{}.new", std::process::id()));
    // A sibling's `retire` may take the empty folder away between the two steps.
    for _attempt in 0..3 {
        fs::create_dir_all(&pile)?;
        match fs::write(&draft, &text).and_then(|()| fs::rename(&draft, pile.join(&name))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}

/// Takes a ticket back, when the call has ended or was refused.
pub fn retire(folder: &AbsPath, session: &Pid, command: &str, call: &str) {
    let pile = pile(folder, session, command);
    // Both may be gone already; a folder with a sibling's ticket in it stays.
    let _gone = fs::remove_file(pile.join(digest(&[call])));
    let _empty = fs::remove_dir(pile);
}

/// What is known about `command`.
#[must_use]
pub fn look_up(folder: &AbsPath, session: &Pid, command: &str) -> Found {
    let Ok(entries) = fs::read_dir(pile(folder, session, command)) else { return Found::None };
    let papers = entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_none());
    fold(papers.filter(|p| fresh(p)).map(|p| read(&p)))
}

/// Deletes tickets nobody will come for. Called now and then, not on the hot path.
pub fn sweep(folder: &AbsPath) {
    let Ok(piles) = fs::read_dir(folder.as_path()) else { return };
    for pile in piles.flatten().map(|e| e.path()) {
        let Ok(papers) = fs::read_dir(&pile) else { continue };
        for paper in papers.flatten().map(|e| e.path()).filter(|p| !fresh(p)) {
            let _gone = fs::remove_file(paper);
        }
        let _empty = fs::remove_dir(pile);
    }
}

/// One verdict of all tickets. An unreadable one speaks for an unknown process.
fn fold(papers: impl Iterator<Item = Option<Ticket>>) -> Found {
    let mut found = Found::None;
    for paper in papers {
        found = match (found, paper) {
            (Found::None, Some(ticket)) => Found::One(ticket),
            (Found::None, None) => Found::Ambiguous { need: Level::None },
            (Found::One(a), Some(b)) if a.pid == b.pid => Found::One(Ticket {
                git: a.git.min(b.git),
                need: a.need.max(b.need),
                run: if a.run == b.run { a.run } else { Run::Fenced },
                pid: a.pid,
            }),
            (Found::One(a), Some(b)) => Found::Ambiguous { need: a.need.max(b.need) },
            (Found::One(a), None) => Found::Ambiguous { need: a.need },
            (Found::Ambiguous { need }, other) => {
                Found::Ambiguous { need: need.max(other.map_or(Level::None, |t| t.need)) }
            }
        };
    }
    found
}

fn fresh(paper: &Path) -> bool {
    fs::metadata(paper)
        .and_then(|m| m.modified())
        .is_ok_and(|at| at.elapsed().map_or(true, |age| age < LIFE))
}

fn read(paper: &Path) -> Option<Ticket> {
    serde_json::from_str::<Paper>(&fs::read_to_string(paper).ok()?).ok()?.ticket()
}

/// The folder of all tickets for one text of one session.
fn pile(folder: &AbsPath, session: &Pid, command: &str) -> PathBuf {
    folder.as_path().join(digest(&[session.as_str(), command]))
}

fn digest(parts: &[&str]) -> String {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update(part.as_bytes());
        sum.update([0]);
    }
    sum.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

const GIT: [(&str, GitWrite); 3] =
    [("none", GitWrite::None), ("own-index", GitWrite::OwnIndex), ("full", GitWrite::Full)];
const LEVEL: [Level; 4] = [Level::None, Level::Landlock, Level::Mounts, Level::Full];

impl From<&Ticket> for Paper {
    fn from(ticket: &Ticket) -> Self {
        let git = GIT.iter().find(|(_, git)| *git == ticket.git).map_or("none", |(word, _)| word);
        let run = match ticket.run {
            Run::Fenced => "fenced",
            Run::Own => "own",
        };
        Self {
            pid: ticket.pid.to_string(),
            git: git.to_owned(),
            need: ticket.need.word().to_owned(),
            run: run.to_owned(),
        }
    }
}

impl Paper {
    fn ticket(&self) -> Option<Ticket> {
        Some(Ticket {
            pid: Pid::new(&self.pid)?,
            git: GIT.iter().find(|(word, _)| *word == self.git).map(|(_, git)| *git)?,
            need: LEVEL.into_iter().find(|level| level.word() == self.need)?,
            run: match self.run.as_str() {
                "fenced" => Run::Fenced,
                "own" => Run::Own,
                _ => return None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, AbsPath, Pid) {
        let dir = tempfile::tempdir().unwrap();
        let path = AbsPath::new(dir.path()).unwrap();
        (dir, path, Pid::new("s-1").unwrap())
    }

    fn ticket(pid: &str, git: GitWrite) -> Ticket {
        Ticket { pid: Pid::new(pid).unwrap(), git, need: Level::None, run: Run::Fenced }
    }

    #[test]
    fn a_ticket_is_found_by_session_and_text_until_it_is_retired() {
        let (_keep, folder, session) = place();
        let left = Ticket { need: Level::Full, ..ticket("a-1", GitWrite::OwnIndex) };
        leave(&folder, &session, "make", "toolu_1", &left).unwrap();
        assert_eq!(look_up(&folder, &session, "make"), Found::One(left));
        assert_eq!(look_up(&folder, &session, "make "), Found::None);
        assert_eq!(look_up(&folder, &Pid::new("s-2").unwrap(), "make"), Found::None);
        retire(&folder, &session, "make", "toolu_1");
        assert_eq!(look_up(&folder, &session, "make"), Found::None);
        assert_eq!(fs::read_dir(folder.as_path()).unwrap().count(), 0);
    }

    #[test]
    fn two_askers_are_ambiguous_and_the_same_asker_gets_the_less_of_both() {
        let (_keep, folder, session) = place();
        leave(&folder, &session, "make", "toolu_1", &ticket("a-1", GitWrite::OwnIndex)).unwrap();
        leave(&folder, &session, "make", "toolu_2", &ticket("a-1", GitWrite::None)).unwrap();
        assert_eq!(look_up(&folder, &session, "make"), Found::One(ticket("a-1", GitWrite::None)));
        let strict = Ticket { need: Level::Full, ..ticket("a-2", GitWrite::Full) };
        leave(&folder, &session, "make", "toolu_3", &strict).unwrap();
        let found = look_up(&folder, &session, "make");
        assert_eq!(found, Found::Ambiguous { need: Level::Full });
    }

    #[test]
    fn a_damaged_ticket_takes_rights_away_instead_of_giving_any() {
        let (_keep, folder, session) = place();
        leave(&folder, &session, "make", "toolu_1", &ticket("a-1", GitWrite::Full)).unwrap();
        let pile = fs::read_dir(folder.as_path()).unwrap().next().unwrap().unwrap().path();
        fs::write(pile.join("00"), "{\"pid\":\"a-1\",\"git\":\"everything\"").unwrap();
        let found = look_up(&folder, &session, "make");
        assert_eq!(found, Found::Ambiguous { need: Level::None });
    }

    #[test]
    fn an_old_ticket_is_nobodys_and_is_swept() {
        let (_keep, folder, session) = place();
        leave(&folder, &session, "make", "toolu_1", &ticket("a-1", GitWrite::None)).unwrap();
        let pile = fs::read_dir(folder.as_path()).unwrap().next().unwrap().unwrap().path();
        let paper = fs::read_dir(pile).unwrap().next().unwrap().unwrap().path();
        let file = fs::File::options().write(true).open(paper).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(look_up(&folder, &session, "make"), Found::None);
        sweep(&folder);
        assert_eq!(fs::read_dir(folder.as_path()).unwrap().count(), 0);
    }
}
