//! Rows that are neither processes nor claims: who uses which root, who spawned whom, what was
//! judged, what is still to be said, whose stash entries and operations there are.

use rusqlite::{OptionalExtension as _, Row, params};

use super::super::{StateError, beat};
use super::{Tx, number, size};
use crate::policy::lane::{AbsPath, Pid, Tick};

/// A session's use of a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresenceRow {
    /// The work tree.
    pub root: AbsPath,
    /// The session.
    pub session: Pid,
    /// Since when, without a lapse.
    pub since: Tick,
    /// It wrote there.
    pub wrote: bool,
    /// The tree it was sent to from here.
    pub forked: Option<AbsPath>,
}

/// A call of the Agent tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnRow {
    /// The call's id.
    pub call: String,
    /// The session it happened in.
    pub session: Pid,
    /// Who called.
    pub spawner: Pid,
    /// When.
    pub at: Tick,
    /// The agent that came of it, once known.
    pub child: Option<Pid>,
}

/// A call that was judged and touches something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// The call's id.
    pub id: String,
    /// Who called.
    pub pid: Pid,
    /// When.
    pub at: Tick,
    /// The denial as it was printed; none when allowed.
    pub verdict: Option<String>,
    /// Work trees whose state may have changed, with what HEAD and the stash pointed at before.
    pub roots: Vec<(AbsPath, String, String)>,
}

fn presence(row: &Row<'_>) -> rusqlite::Result<Option<PresenceRow>> {
    let root = AbsPath::new(row.get::<_, String>(0)?);
    let session = Pid::new(&row.get::<_, String>(1)?);
    let (Some(root), Some(session)) = (root, session) else { return Ok(None) };
    Ok(Some(PresenceRow {
        root,
        session,
        since: Tick(size(row.get(2)?)),
        wrote: row.get::<_, i64>(3)? != 0,
        forked: row.get::<_, Option<String>>(4)?.and_then(AbsPath::new),
    }))
}

impl Tx<'_> {
    /// Who uses a work tree.
    pub fn presence_in(&self, root: &AbsPath) -> Result<Vec<PresenceRow>, StateError> {
        self.presence_where("root=?1 ORDER BY since, session", &root.key())
    }

    /// Who else uses a work tree and has not been seen to end.
    pub fn presence_beside(
        &self,
        root: &AbsPath,
        session: &Pid,
    ) -> Result<Vec<PresenceRow>, StateError> {
        let mut statement = self.inner.prepare_cached(
            "SELECT root, session, since, wrote, forked FROM presence p \
             WHERE root=?1 AND session<>?2 AND NOT EXISTS \
             (SELECT 1 FROM process WHERE pid=p.session AND state=1) ORDER BY since, session",
        )?;
        let rows = statement.query_map(params![root.key(), session.as_str()], presence)?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// A session's use of a work tree.
    pub fn presence_at(
        &self,
        root: &AbsPath,
        session: &Pid,
    ) -> Result<Option<PresenceRow>, StateError> {
        let row = self
            .inner
            .prepare_cached(
                "SELECT root, session, since, wrote, forked FROM presence \
                 WHERE root=?1 AND session=?2",
            )?
            .query_row(params![root.key(), session.as_str()], presence)
            .optional()?;
        Ok(row.flatten())
    }

    /// Which work trees a session uses.
    pub fn presence_of(&self, session: &Pid) -> Result<Vec<PresenceRow>, StateError> {
        self.presence_where("session=?1 ORDER BY since, root", session.as_str())
    }

    fn presence_where(&self, clause: &str, value: &str) -> Result<Vec<PresenceRow>, StateError> {
        let sql =
            format!("SELECT root, session, since, wrote, forked FROM presence WHERE {clause}");
        let mut statement = self.inner.prepare_cached(&sql)?;
        let rows = statement.query_map([value], presence)?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Writes a presence row.
    pub fn put_presence(&mut self, row: &PresenceRow) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT OR REPLACE INTO presence(root, session, since, wrote, forked) \
                 VALUES(?1,?2,?3,?4,?5)",
            )?
            .execute(params![
                row.root.key(),
                row.session.as_str(),
                number(row.since.0),
                i64::from(row.wrote),
                row.forked.as_ref().map(|p| p.key().into_owned()),
            ])?;
        Ok(())
    }

    /// Forgets that a session uses a work tree.
    pub fn drop_presence(&mut self, root: &AbsPath, session: &Pid) -> Result<(), StateError> {
        self.inner
            .prepare_cached("DELETE FROM presence WHERE root=?1 AND session=?2")?
            .execute(params![root.key(), session.as_str()])?;
        Ok(())
    }

    /// Agent calls of a session, oldest first.
    pub fn spawns(&self, session: &Pid) -> Result<Vec<SpawnRow>, StateError> {
        let mut statement = self.inner.prepare_cached(
            "SELECT call, session, spawner, at, child FROM spawn WHERE session=?1 ORDER BY at, call",
        )?;
        let rows = statement.query_map([session.as_str()], |r| {
            Ok((
                r.get::<_, String>(0)?,
                Pid::new(&r.get::<_, String>(1)?),
                Pid::new(&r.get::<_, String>(2)?),
                Tick(size(r.get(3)?)),
                r.get::<_, Option<String>>(4)?.and_then(|c| Pid::new(&c)),
            ))
        })?;
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let row = |(call, session, spawner, at, child)| {
            Some(SpawnRow { call, session: session?, spawner: spawner?, at, child })
        };
        Ok(rows.into_iter().filter_map(row).collect())
    }

    /// Writes an Agent call.
    pub fn put_spawn(&mut self, row: &SpawnRow) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT OR REPLACE INTO spawn(call, session, spawner, at, child) VALUES(?1,?2,?3,?4,?5)",
            )?
            .execute(params![
                row.call,
                row.session.as_str(),
                row.spawner.as_str(),
                number(row.at.0),
                row.child.as_ref().map(Pid::as_str),
            ])?;
        Ok(())
    }

    /// A judged call.
    pub fn call(&self, id: &str) -> Result<Option<CallRow>, StateError> {
        let row = self
            .inner
            .prepare_cached("SELECT id, pid, at, verdict, roots FROM call WHERE id=?1")?
            .query_row([id], |r| {
                Ok((
                    r.get::<_, String>(0)?,
                    Pid::new(&r.get::<_, String>(1)?),
                    Tick(size(r.get(2)?)),
                    r.get::<_, Option<String>>(3)?,
                    r.get::<_, Option<String>>(4)?,
                ))
            })
            .optional()?;
        let row = row.and_then(|(id, pid, at, verdict, roots)| {
            let roots = roots.unwrap_or_default();
            let roots = roots.lines().filter_map(|line| {
                let mut parts = line.splitn(3, ' ');
                let (head, stash) = (parts.next()?, parts.next()?);
                Some((AbsPath::new(parts.next()?)?, head.to_owned(), stash.to_owned()))
            });
            let roots = roots.collect();
            Some(CallRow { id, pid: pid?, at, verdict, roots })
        });
        Ok(row)
    }

    /// Notes a judged call.
    pub fn put_call(&mut self, row: &CallRow) -> Result<(), StateError> {
        let line = |(root, head, stash): &(AbsPath, String, String)| {
            format!("{head} {stash} {}", root.key())
        };
        let roots: Vec<_> = row.roots.iter().map(line).collect();
        self.inner
            .prepare_cached(
                "INSERT OR REPLACE INTO call(id, pid, at, verdict, roots) VALUES(?1,?2,?3,?4,?5)",
            )?
            .execute(params![
                row.id,
                row.pid.as_str(),
                number(row.at.0),
                row.verdict,
                (!roots.is_empty()).then(|| roots.join("\n")),
            ])?;
        Ok(())
    }

    /// Forgets the calls of a process (its turn is over).
    pub fn drop_calls(&mut self, pid: &Pid) -> Result<(), StateError> {
        self.inner.prepare_cached("DELETE FROM call WHERE pid=?1")?.execute([pid.as_str()])?;
        Ok(())
    }

    /// Leaves a word for a process, told at its next event. The same word is left once.
    pub fn notify(&mut self, pid: &Pid, text: &str) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT INTO notice(pid, at, text) SELECT ?1, ?2, ?3 WHERE NOT EXISTS \
                 (SELECT 1 FROM notice WHERE pid=?1 AND text=?3)",
            )?
            .execute(params![pid.as_str(), number(self.now().tick.0), text])?;
        beat::leave_word(self.home(), pid);
        Ok(())
    }

    /// Takes the words left for a process.
    pub fn take_notices(&mut self, pid: &Pid) -> Result<Vec<String>, StateError> {
        if !beat::has_word(self.home(), pid) {
            return Ok(Vec::new());
        }
        let texts = {
            let mut statement =
                self.inner.prepare_cached("SELECT text FROM notice WHERE pid=?1 ORDER BY id")?;
            let rows = statement.query_map([pid.as_str()], |r| r.get::<_, String>(0))?;
            rows.collect::<Result<Vec<_>, _>>()?
        };
        beat::word_taken(self.home(), pid);
        if !texts.is_empty() {
            self.inner
                .prepare_cached("DELETE FROM notice WHERE pid=?1")?
                .execute([pid.as_str()])?;
        }
        Ok(texts)
    }

    /// Who pushed a stash entry, by its commit.
    pub fn stash_owner(&self, common: &AbsPath, sha: &str) -> Result<Option<Pid>, StateError> {
        self.owner("SELECT owner FROM stash WHERE common=?1 AND sha=?2", &[&common.key(), sha])
    }

    /// Notes who pushed a stash entry.
    pub fn put_stash(
        &mut self,
        common: &AbsPath,
        sha: &str,
        owner: &Pid,
    ) -> Result<(), StateError> {
        self.inner
            .prepare_cached("INSERT OR REPLACE INTO stash(common, sha, owner) VALUES(?1,?2,?3)")?
            .execute(params![common.key(), sha, owner.as_str()])?;
        Ok(())
    }

    /// Who began the operation under way in a git directory.
    pub fn operation_owner(
        &self,
        git_dir: &AbsPath,
        name: &str,
    ) -> Result<Option<Pid>, StateError> {
        self.owner(
            "SELECT owner FROM operation WHERE git_dir=?1 AND name=?2",
            &[&git_dir.key(), name],
        )
    }

    /// Notes who began an operation.
    pub fn put_operation(
        &mut self,
        git_dir: &AbsPath,
        name: &str,
        owner: &Pid,
    ) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT OR REPLACE INTO operation(git_dir, name, owner) VALUES(?1,?2,?3)",
            )?
            .execute(params![git_dir.key(), name, owner.as_str()])?;
        Ok(())
    }

    /// Who made a commit, as far as a hook saw it.
    pub fn commit_owner(&self, common: &AbsPath, sha: &str) -> Result<Option<Pid>, StateError> {
        self.owner("SELECT owner FROM commits WHERE common=?1 AND sha=?2", &[&common.key(), sha])
    }

    /// Notes who made a commit.
    pub fn put_commit(
        &mut self,
        common: &AbsPath,
        sha: &str,
        owner: &Pid,
    ) -> Result<(), StateError> {
        self.inner
            .prepare_cached(
                "INSERT OR IGNORE INTO commits(common, sha, owner, at) VALUES(?1,?2,?3,?4)",
            )?
            .execute(params![common.key(), sha, owner.as_str(), number(self.now().unix)])?;
        Ok(())
    }

    fn owner(&self, sql: &str, keys: &[&str]) -> Result<Option<Pid>, StateError> {
        let text: Option<String> = self
            .inner
            .prepare_cached(sql)?
            .query_row(rusqlite::params_from_iter(keys), |r| r.get(0))
            .optional()?;
        Ok(text.and_then(|t| Pid::new(&t)))
    }
}
