//! Rows of journals: what the table acknowledges of each, and the lines of a transaction on their
//! way into the files.

use rusqlite::OptionalExtension as _;

use super::super::segment::Growth;
use super::super::{StateError, log};
use super::{State, Tx, number, size};
use crate::journal::Head;
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

impl Tx<'_> {
    pub(super) fn write_journals(&mut self) -> Result<(), StateError> {
        let lines = std::mem::take(&mut self.lines);
        let mut order: Vec<&Pid> = Vec::new();
        for (pid, ..) in &lines {
            if !order.contains(&pid) {
                order.push(pid);
            }
        }
        for pid in order {
            let head = self.head(pid)?.unwrap_or_default();
            let mine = lines.iter().filter(|(p, ..)| p == pid).map(|(_, what, note)| (*what, note));
            let mine: Vec<log::Line<'_>> = mine.collect();
            let again = || self.held(pid);
            let growth = Growth { limit: self.segments, held: &again };
            let head = log::append(self.home, pid, &head, self.now, &growth, &mine)?;
            self.put_head(pid, &head)?;
        }
        Ok(())
    }

    /// What holds of a process, as the lines that would have said so.
    fn held(&self, pid: &Pid) -> Result<Vec<(What, Note)>, StateError> {
        let Some(row) = self.process(pid)? else { return Ok(Vec::new()) };
        let start = Note {
            parent: row.parent.as_ref().map(ToString::to_string),
            session: Some(row.session.to_string()),
            agent_type: row.agent_type.clone(),
            root: row.root.as_ref().map(ToString::to_string),
            ..Note::default()
        };
        let mut lines = vec![(What::Start, start)];
        for lane in self.lanes_of(pid)? {
            let target = Some(lane.path.to_string());
            let root = lane.root.as_ref().map(ToString::to_string);
            lines.push((What::Claim, Note { target: target.clone(), root, ..Note::default() }));
            if lane.family {
                let reason = Some("delegate".to_owned());
                lines.push((What::Release, Note { target, reason, ..Note::default() }));
            }
        }
        for kept in self.custody_of(pid)? {
            let target = Some(kept.path.to_string());
            let root = kept.root.as_ref().map(ToString::to_string);
            lines.push((What::Confirm, Note { target, root, ..Note::default() }));
        }
        if row.state == State::Ended {
            let heir = row.heir.as_ref().map(ToString::to_string);
            lines.push((What::Exit, Note { heir, ..Note::default() }));
        }
        Ok(lines)
    }

    /// What the table acknowledged of a journal.
    pub fn head(&self, pid: &Pid) -> Result<Option<Head>, StateError> {
        Ok(self
            .inner
            .prepare_cached("SELECT seq, seal, bytes FROM journal WHERE pid=?1")?
            .query_row([pid.as_str()], |r| {
                Ok(Head { seq: size(r.get(0)?), seal: r.get(1)?, bytes: size(r.get(2)?) })
            })
            .optional()?)
    }

    /// Sets what the table acknowledges of a journal.
    pub fn put_head(&mut self, pid: &Pid, head: &Head) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT INTO journal(pid, seq, seal, bytes) VALUES(?1,?2,?3,?4)
                 ON CONFLICT(pid) DO UPDATE SET seq=?2, seal=?3, bytes=?4",
            )?
            .execute(rusqlite::params![
                pid.as_str(),
                number(head.seq),
                head.seal,
                number(head.bytes)
            ])?;
        Ok(())
    }

    /// The oldest segment of a journal that was not let go on purpose.
    pub fn kept(&self, pid: &Pid) -> Result<u64, StateError> {
        let kept: Option<i64> = self
            .inner
            .prepare_cached("SELECT kept FROM journal WHERE pid=?1")?
            .query_row([pid.as_str()], |r| r.get(0))
            .optional()?;
        Ok(kept.map_or(1, size))
    }

    /// Notes that all segments of a journal before this one were let go.
    pub fn put_kept(&mut self, pid: &Pid, segment: u64) -> Result<(), StateError> {
        self.inner
            .prepare_cached("UPDATE journal SET kept=?2 WHERE pid=?1 AND kept<?2")?
            .execute(rusqlite::params![pid.as_str(), number(segment)])?;
        Ok(())
    }

    /// Forgets a journal that was removed on purpose.
    pub fn drop_head(&mut self, pid: &Pid) -> Result<(), StateError> {
        self.inner.prepare_cached("DELETE FROM journal WHERE pid=?1")?.execute([pid.as_str()])?;
        Ok(())
    }

    /// The processes that have a journal.
    pub fn journaled(&self) -> Result<Vec<Pid>, StateError> {
        let mut statement = self.inner.prepare_cached("SELECT pid FROM journal ORDER BY pid")?;
        let pids = statement.query_map([], |r| r.get::<_, String>(0))?;
        let pids = pids.collect::<Result<Vec<_>, _>>()?;
        Ok(pids.iter().filter_map(|p| Pid::new(p)).collect())
    }
}
