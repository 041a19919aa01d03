//! The only user of SQLite. A short lock in front of the table, one immediate transaction behind
//! it; journal lines are appended just before the commit, so that a crash leaves a line without a
//! claim and never a claim without a line.

mod claims;
pub(crate) mod fault;
mod journals;
mod process;
mod records;
mod trees;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

pub use claims::{Claim, CustodyRow, Identity, LaneRow};
pub use process::{ProcessRow, State, Vouched};
pub use records::{CallRow, PresenceRow, SpawnRow};
pub use trees::Unmet;

use super::clock::{self, Now, Place};
use super::home::{Home, open_private};
use super::{StateError, links, reserve, schema, segment};
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// How long a hook waits for the lock before it gives up and fails closed.
pub const PATIENCE: Duration = Duration::from_millis(2500);
/// How long an operator's command waits.
pub const OPERATOR_PATIENCE: Duration = Duration::from_secs(10);
/// How long a writer waits for readers that opened the table and are not let run.
const READERS: Duration = Duration::from_secs(2);
/// Longest pause between two tries for the lock.
const LONGEST_PAUSE: Duration = Duration::from_micros(1500);

/// Whether opening may make the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// Made when absent.
    IfAbsent,
    /// Never made: `StateError::Absent`.
    Never,
}

/// The kernel of one user.
#[derive(Debug)]
pub struct Kernel {
    home: Home,
    conn: Connection,
    place: Place,
    patience: Duration,
    known: Known,
    segments: u64,
}

/// Whether the table's shape was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Not since it was opened.
    No,
    /// It is ours.
    Yes,
}

impl Kernel {
    /// Opens the table.
    pub fn open(home: &Home, make: Make, patience: Duration) -> Result<Self, StateError> {
        let path = home.table();
        let present = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() && meta.len() > 0 => true,
            Ok(meta) if meta.is_file() => {
                // SQLite takes an empty file for a new database; a table that was emptied must
                // not look like "nobody holds anything".
                if has_journals(home) {
                    return Err(StateError::Damaged("the file is empty".into()));
                }
                false
            }
            Ok(_) => return Err(StateError::Damaged("not a regular file".into())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if has_journals(home) && make == Make::IfAbsent {
                    return Err(StateError::Damaged(
                        "the file is gone, its journals are not".into(),
                    ));
                }
                false
            }
            Err(e) => return Err(StateError::io(path, e)),
        };
        if !present && make == Make::Never {
            return Err(StateError::Absent);
        }
        if !present {
            create(home, patience)?;
        }
        Self::at(home, patience, Known::No)
    }

    /// Makes the table from scratch, whatever the journals say (for `doctor --repair`).
    pub fn rebuild(home: &Home, patience: Duration) -> Result<Self, StateError> {
        create(home, patience)?;
        Self::at(home, patience, Known::Yes)
    }

    /// The table that is there.
    fn at(home: &Home, patience: Duration, known: Known) -> Result<Self, StateError> {
        let conn = connect(&home.table(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (home, place, segments) = (home.clone(), clock::place(), segment::LIMIT);
        Ok(Self { home, conn, place, patience, known, segments })
    }

    /// The same, with journals that go on in a new segment after so many kilobytes.
    #[must_use]
    pub fn with_segments(self, kilobytes: u64) -> Self {
        Self { segments: kilobytes.saturating_mul(1024), ..self }
    }

    /// Where the kernel lives.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Where this process runs.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Runs `work` alone: nobody else reads to decide or writes meanwhile. On a full disk it runs
    /// a second time, in the room that was kept back for that.
    pub fn transact<T>(
        &mut self,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        match self.attempt(&mut work) {
            Err(StateError::Full(_)) => {
                reserve::give_up(&self.home);
                self.attempt(&mut work)
            }
            done => done,
        }
    }

    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&mut Tx<'_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let guard = lock(&self.home.lock(), self.patience)?;
        let tx = self.conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Looked at here and not on opening: another round of locks costs as much as a claim.
        if self.known == Known::No && shape(&tx, &self.home)? == Shape::Older {
            run_steps(&tx)?;
        }
        self.known = Known::Yes;
        let mut tx = Tx {
            inner: tx,
            home: &self.home,
            place: &self.place,
            now: clock::now(),
            segments: self.segments,
            lines: Vec::new(),
        };
        let out = work(&mut tx)?;
        tx.write_journals()?;
        fault::strike()?;
        tx.inner.commit()?;
        drop(guard);
        Ok(out)
    }

    /// Reads without deciding: what is shown to a person.
    pub fn look<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        if self.known == Known::No && shape(&self.conn, &self.home)? == Shape::Older {
            // Done by a writer's transaction, which does nothing else.
            self.transact(|_| Ok(()))?;
        }
        self.known = Known::Yes;
        let tx = self.conn.transaction_with_behavior(rusqlite::TransactionBehavior::Deferred)?;
        let mut tx = Tx {
            inner: tx,
            home: &self.home,
            place: &self.place,
            now: clock::now(),
            segments: self.segments,
            lines: Vec::new(),
        };
        work(&mut tx)
    }

    /// Gives the kernel's files that have a second name somewhere bytes of their own. To be called
    /// before anything else is done: this opening may hold a file that is replaced.
    pub fn part_links(self) -> Result<(), StateError> {
        let _guard = lock(&self.home.lock(), self.patience)?;
        for path in links::shared(&self.home) {
            links::part(&path).map_err(|e| StateError::io(path, e))?;
        }
        Ok(())
    }

    /// Ends without closing: a hook's process ends next, and the system closes faster.
    pub fn abandon(self) {
        std::mem::forget(self);
    }

    /// SQLite's own opinion of the file, and ours of its shape.
    pub fn check(&self) -> Result<(), StateError> {
        let verdict: String = self.conn.query_row("PRAGMA quick_check(1)", [], |r| r.get(0))?;
        if verdict == "ok" { Ok(()) } else { Err(StateError::Damaged(verdict)) }
    }
}

/// One transaction.
pub struct Tx<'k> {
    pub(in crate::kernel) inner: rusqlite::Transaction<'k>,
    home: &'k Home,
    place: &'k Place,
    now: Now,
    segments: u64,
    lines: Vec<(Pid, What, Note)>,
}

impl Tx<'_> {
    /// The time of this transaction.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    /// Where the kernel lives.
    #[must_use]
    pub fn home(&self) -> &Home {
        self.home
    }

    /// Where this process runs.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.place
    }

    /// Adds a line to a process's journal, written when the transaction commits.
    pub fn journal(&mut self, pid: &Pid, what: What, note: Note) {
        self.lines.push((pid.clone(), what, note));
    }

    /// A value of the table's own settings.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StateError> {
        Ok(self
            .inner
            .prepare_cached("SELECT v FROM meta WHERE k=?1")?
            .query_row([key], |r| r.get(0))
            .optional()?)
    }

    /// Sets a value of the table's own settings.
    pub fn set_meta(&mut self, key: &str, value: &str) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT INTO meta(k,v) VALUES(?1,?2) ON CONFLICT(k) DO UPDATE SET v=?2",
            )?
            .execute([key, value])?;
        Ok(())
    }
}

/// SQLite has signed integers only.
pub(in crate::kernel) fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// And back.
pub(in crate::kernel) fn size(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// Whether processes were recorded here before. A folder that can't be read may hold some.
fn has_journals(home: &Home) -> bool {
    match fs::read_dir(home.journals()) {
        Ok(mut entries) => entries.next().is_some(),
        Err(e) => e.kind() != io::ErrorKind::NotFound,
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StateError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(READERS)?;
    conn.execute_batch(
        "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;
         PRAGMA cell_size_check=ON;",
    )?;
    Ok(conn)
}

fn create(home: &Home, patience: Duration) -> Result<(), StateError> {
    home.create().map_err(|e| StateError::io(home.dir(), e))?;
    let _guard = lock(&home.lock(), patience)?;
    let path = home.table();
    drop(open_private(&path).map_err(|e| StateError::io(&path, e))?);
    let conn = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    run_steps(&conn)?;
    conn.execute_batch("COMMIT")?;
    // Best effort: without it a full disk is no worse than it was.
    drop(reserve::keep(home));
    Ok(())
}

fn version(conn: &Connection) -> Result<usize, StateError> {
    let version: i64 = conn.query_row("PRAGMA user_version", [], |r| r.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

/// Whether a table has the shape this program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It has, or a newer one that we may read.
    Ours,
    /// Steps are missing.
    Older,
}

fn shape(conn: &Connection, home: &Home) -> Result<Shape, StateError> {
    let at = version(conn)?;
    if at == schema::STEPS.len() {
        return Ok(Shape::Ours);
    }
    if at > schema::STEPS.len() {
        let needs: Option<String> =
            conn.query_row("SELECT v FROM meta WHERE k='reader'", [], |r| r.get(0)).optional()?;
        let needs = needs.and_then(|n| n.parse().ok()).unwrap_or(u32::MAX);
        return if usize::try_from(needs).unwrap_or(usize::MAX) <= schema::STEPS.len() {
            Ok(Shape::Ours)
        } else {
            Err(StateError::Newer { needs })
        };
    }
    if at == 0 && has_journals(home) {
        return Err(StateError::Damaged("no tables in it".into()));
    }
    Ok(Shape::Older)
}

/// Runs the missing steps, inside a transaction.
fn run_steps(conn: &Connection) -> Result<(), StateError> {
    let at = version(conn)?;
    for (index, step) in schema::STEPS.iter().enumerate().skip(at) {
        conn.execute_batch(step)?;
        conn.execute_batch(&format!("PRAGMA user_version={}", index + 1))?;
    }
    Ok(())
}

/// Takes the lock or gives up; never waits for ever, since a stopped holder would hang everybody.
fn lock(path: &Path, patience: Duration) -> Result<File, StateError> {
    let file = open_private(path).map_err(|e| StateError::io(path, e))?;
    let began = Instant::now();
    let mut pause = Duration::from_micros(60);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(e)) => return Err(StateError::io(path, e)),
        }
        if began.elapsed() >= patience {
            return Err(StateError::Locked(path.to_path_buf()));
        }
        thread::sleep(pause);
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}
