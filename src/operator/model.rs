//! The processes as a person looks at them: read from the table in one go, plain data after that.
//! Creates nothing and decides nothing; a missing table is nobody.

use serde::Serialize;

use super::error::OperatorError;
use super::replay::Journal;
use super::used::Used;
use crate::kernel::StateError;
use crate::kernel::beat;
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::life::{Life, life};
use crate::kernel::off::{Pause, pauses};
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, Tx};
use crate::policy::facts::Kind;
use crate::policy::lane::Pid;
use crate::worktree::table::Table;
use crate::worktree::{Registry, Setup, State, TreeRow};

/// Shortest form of an id that is shown.
const SHORTEST: usize = 8;

/// How a process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It works.
    Live,
    /// Not heard of for a lease; its lanes have ended.
    Silent,
    /// It said goodbye.
    Ended,
    /// Its client is gone.
    Dead,
}

impl Standing {
    /// One word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Silent => "silent",
            Self::Ended => "ended",
            Self::Dead => "dead",
        }
    }
}

/// A path that is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The path.
    pub path: String,
    /// The work tree it lies in.
    pub root: Option<String>,
    /// Seconds since it was claimed.
    pub age: u64,
    /// Seconds since it was last written; none while provisional, or for custody.
    pub written: Option<u64>,
    /// The holder's children may take it.
    pub family: bool,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// `agent_id`, else `session_id`.
    pub pid: String,
    /// The shortest form that names it alone.
    pub short: String,
    /// Who spawned it.
    pub parent: Option<String>,
    /// Its session.
    pub session: String,
    /// `session`, or the agent's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it stands.
    pub state: Standing,
    /// Why it ended.
    pub reason: Option<String>,
    /// The work tree it was last seen in.
    pub root: Option<String>,
    /// The directory it was last seen in.
    pub cwd: Option<String>,
    /// Seconds since it was first seen.
    pub age: u64,
    /// First seen, in seconds since 1970; names one life of an id.
    pub generation: u64,
    /// Seconds since its last sign of life.
    pub seen: u64,
    /// Paths it works on.
    pub lanes: Vec<Held>,
    /// Paths whose uncommitted bytes are its.
    pub custody: Vec<Held>,
    /// Refusals so far.
    pub denials: u64,
    /// How often the last refusal came in a row.
    pub in_a_row: u64,
    /// The client's process id.
    pub client: Option<u32>,
    /// The client's permission mode.
    pub mode: Option<String>,
    /// Work trees made for it.
    pub trees: Vec<Tree>,
    /// The fence the kernel granted to the session's last command; none before the first.
    pub fence: Option<String>,
    /// What its commands used behind the fence; looked up only where it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// Why it has none although it should, when that failed.
    pub not_isolated: Option<String>,
}

/// A work tree of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// Its folder.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// Where it stands, in words.
    pub state: String,
    /// The command that brings it further, where a person or the session must act.
    pub retry: Option<String>,
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Snapshot {
    /// Seconds since 1970.
    pub at: u64,
    /// Seconds of silence that end lanes.
    pub lease_seconds: u64,
    /// Sessions, oldest first, each followed by its agents.
    pub processes: Vec<Process>,
    /// Where and until when the operator switched the gates off.
    pub off: Vec<Pause>,
}

impl Snapshot {
    /// Looks at the table. No table is an empty picture.
    pub fn take(home: &Home, lease: u64) -> Result<Self, OperatorError> {
        let unix = clock::unix_seconds();
        let empty =
            Self { at: unix, lease_seconds: lease, off: pauses(home, unix), ..Self::default() };
        match Kernel::open(home, Make::Never, OPERATOR_PATIENCE) {
            Err(StateError::Absent) => Ok(empty),
            Err(why) => Err(why.into()),
            Ok(mut kernel) => {
                let mut processes = kernel.look(|tx| read(tx, lease))?;
                drop(kernel);
                plant(&mut processes, home, lease);
                shorten(&mut processes);
                Ok(Self { processes: family_order(processes), ..empty })
            }
        }
    }

    /// Leaves out what is over and has left nothing; a session stays while one of its agents does.
    pub fn narrow(&mut self) {
        let stays = |process: &Process| {
            process.state == Standing::Live
                || !process.lanes.is_empty()
                || !process.custody.is_empty()
                || process.trees.iter().any(|tree| tree.retry.is_some())
        };
        let sessions: Vec<String> = self
            .processes
            .iter()
            .filter(|process| stays(process))
            .map(|process| process.session.clone())
            .collect();
        self.processes.retain(|process| stays(process) || sessions.contains(&process.pid));
    }

    /// Adds what the journals say that commands used.
    pub fn measure(&mut self, journals: &[Journal]) {
        for process in &mut self.processes {
            let journal = journals.iter().find(|journal| journal.pid == process.pid);
            process.used = journal.and_then(|journal| Used::of_all(&journal.entries));
        }
    }

    /// The process a person means: the whole id, or a beginning that names one alone.
    #[must_use]
    pub fn named(&self, word: &str) -> Vec<&Process> {
        if let Some(exact) = self.processes.iter().find(|process| process.pid == word) {
            return vec![exact];
        }
        let begins = |process: &&Process| word.len() >= 4 && process.pid.starts_with(word);
        self.processes.iter().filter(begins).collect()
    }
}

fn read(tx: &Tx<'_>, lease: u64) -> Result<Vec<Process>, StateError> {
    let now = tx.now();
    let mut all = Vec::new();
    for row in tx.processes()? {
        let standing = life(tx, &row, lease);
        let lanes = tx.lanes_of(&row.pid)?.into_iter().map(|lane| Held {
            path: lane.path.to_string(),
            root: lane.root.map(|root| root.to_string()),
            age: now.tick.since(lane.claimed),
            written: lane.written.map(|tick| now.tick.since(tick)),
            family: lane.family,
        });
        let custody = tx.custody_of(&row.pid)?.into_iter().map(|kept| Held {
            path: kept.path.to_string(),
            root: kept.root.map(|root| root.to_string()),
            age: now.tick.since(kept.since),
            written: None,
            family: kept.family,
        });
        all.push(Process {
            short: String::new(),
            parent: row.parent.as_ref().map(Pid::to_string),
            session: row.session.to_string(),
            kind: match row.kind {
                Kind::Session => "session".to_owned(),
                Kind::Agent => row.agent_type.clone().unwrap_or_else(|| "agent".to_owned()),
            },
            state: match standing {
                Life::Live { .. } => Standing::Live,
                Life::Silent { .. } => Standing::Silent,
                Life::Ended => Standing::Ended,
                Life::Dead => Standing::Dead,
            },
            reason: row.reason.clone(),
            root: row.root.as_ref().map(ToString::to_string),
            cwd: row.cwd.clone(),
            age: now.unix.saturating_sub(row.started_unix),
            generation: row.started_unix,
            seen: match standing {
                Life::Live { silent } | Life::Silent { silent } => silent,
                Life::Ended | Life::Dead => {
                    // Who ended has no heartbeat; its journal's last line is its end.
                    let beat = beat::age(tx.home(), &row.pid, now.unix);
                    let last = || beat::file_age(&tx.home().journal(&row.pid), now.unix);
                    let age = beat.or_else(last).and_then(|age| u64::try_from(age).ok());
                    age.unwrap_or_default()
                }
            },
            lanes: lanes.collect(),
            custody: custody.collect(),
            denials: row.denials,
            in_a_row: row.in_a_row,
            client: row.client.map(|client| client.pid),
            mode: row.mode.clone(),
            trees: Vec::new(),
            fence: std::fs::read_to_string(tx.home().fence(&row.session)).ok(),
            used: None,
            not_isolated: tx.unmet(&row.pid)?.map(|unmet| unmet.why),
            pid: row.pid.to_string(),
        });
    }
    Ok(all)
}

/// Gives each session its trees. A register that can't be read has none: the table was readable
/// a moment ago, and a picture without trees is better than none.
fn plant(processes: &mut [Process], home: &Home, lease: u64) {
    let rows = Table::new(home.clone(), lease).rows(None).unwrap_or_default();
    for row in rows.into_iter().filter(TreeRow::stands) {
        let retry = match &row.state {
            State::Waiting { retry, .. } | State::Attention { retry, .. } => Some(retry.clone()),
            State::Preparing
            | State::Ready
            | State::Failed { .. }
            | State::Landed { .. }
            | State::Burying { .. }
            | State::Archived { .. } => None,
        };
        let owner = processes.iter_mut().find(|process| process.pid == row.session.as_str());
        if let Some(process) = owner {
            process.trees.push(Tree {
                path: row.path.to_string(),
                branch: row.branch.clone(),
                state: format!("{}{}", row.state, progress(&row.setup)),
                retry,
            });
        }
    }
}

/// How far a tree's setup commands are, with the last line of their log while they run.
fn progress(setup: &Setup) -> String {
    match setup {
        Setup::None | Setup::Done => String::new(),
        Setup::Pending => ", its setup waits".to_owned(),
        Setup::Running { log } => {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            format!(", setup runs: {}", last.chars().take(80).collect::<String>())
        }
        Setup::Failed { why, .. } => format!(", usable, its setup failed: {why}"),
    }
}

/// Gives each process the shortest id that no other begins with.
fn shorten(processes: &mut [Process]) {
    let pids: Vec<String> = processes.iter().map(|process| process.pid.clone()).collect();
    for process in processes {
        let shared = pids
            .iter()
            .filter(|pid| **pid != process.pid)
            .map(|pid| pid.chars().zip(process.pid.chars()).take_while(|(a, b)| a == b).count())
            .max()
            .unwrap_or(0);
        process.short = process.pid.chars().take((shared + 1).max(SHORTEST)).collect();
    }
}

/// Sessions in order, each followed by its agents; agents of unknown sessions last.
fn family_order(processes: Vec<Process>) -> Vec<Process> {
    let (sessions, mut agents): (Vec<_>, Vec<_>) =
        processes.into_iter().partition(|process| process.kind == "session");
    let mut ordered = Vec::new();
    for session in sessions {
        let (mine, others): (Vec<_>, Vec<_>) =
            agents.into_iter().partition(|agent| agent.session == session.pid);
        agents = others;
        ordered.push(session);
        ordered.extend(mine);
    }
    ordered.extend(agents);
    ordered
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A process of a picture, for tests of what is drawn from it.
    pub(crate) fn process(pid: &str, session: &str, kind: &str) -> Process {
        Process {
            pid: pid.to_owned(),
            short: pid.chars().take(SHORTEST).collect(),
            parent: (kind != "session").then(|| session.to_owned()),
            session: session.to_owned(),
            kind: kind.to_owned(),
            state: Standing::Live,
            reason: None,
            root: Some("/w/app".to_owned()),
            cwd: Some("/w/app".to_owned()),
            age: 720,
            generation: 1_000,
            seen: 41,
            lanes: Vec::new(),
            custody: Vec::new(),
            denials: 0,
            in_a_row: 0,
            client: Some(42),
            mode: None,
            trees: Vec::new(),
            fence: None,
            used: None,
            not_isolated: None,
        }
    }

    /// A claim of a picture.
    pub(crate) fn held(path: &str) -> Held {
        Held {
            path: path.to_owned(),
            root: Some("/w/app".to_owned()),
            age: 30,
            written: Some(20),
            family: false,
        }
    }

    #[test]
    fn short_ids_name_one_process_alone() {
        let mut all = vec![
            process("aaaaaaaa-1111", "aaaaaaaa-1111", "session"),
            process("aaaaaaaa-1122", "aaaaaaaa-1122", "session"),
            process("b", "b", "session"),
        ];
        shorten(&mut all);
        let shorts: Vec<_> = all.iter().map(|process| process.short.as_str()).collect();
        assert_eq!(shorts, ["aaaaaaaa-111", "aaaaaaaa-112", "b"]);
        let picture = Snapshot { processes: all, ..Snapshot::default() };
        assert_eq!(picture.named("aaaaaaaa-112").len(), 1);
        assert_eq!(picture.named("aaaaaaaa").len(), 2);
        assert_eq!(picture.named("aaa").len(), 0, "too short to be meant");
        assert_eq!(picture.named("b").len(), 1);
    }

    #[test]
    fn agents_stand_below_their_session() {
        let all = vec![
            process("s1", "s1", "session"),
            process("s2", "s2", "session"),
            process("a1", "s1", "builder"),
            process("x", "gone", "builder"),
        ];
        let order: Vec<_> = family_order(all).into_iter().map(|process| process.pid).collect();
        assert_eq!(order, ["s1", "a1", "s2", "x"]);
    }

    #[test]
    fn a_silent_session_is_shown_while_its_agent_works() {
        let mut all = vec![
            process("s1", "s1", "session"),
            process("a1", "s1", "builder"),
            process("s2", "s2", "session"),
        ];
        all[0].state = Standing::Silent;
        all[2].state = Standing::Ended;
        let mut picture = Snapshot { processes: all, ..Snapshot::default() };
        picture.narrow();
        let pids: Vec<_> = picture.processes.iter().map(|process| process.pid.as_str()).collect();
        assert_eq!(pids, ["s1", "a1"]);
    }

    #[test]
    fn no_table_is_nobody_and_makes_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        assert!(Snapshot::take(&home, 900).unwrap().processes.is_empty());
        assert!(!home.dir().exists());
    }
}
