//! Owns the register of trees in the kernel's table, and the answers about who uses a tree.
//! Must never keep the table open between two questions: git runs in between.

use super::row::{Ports, Record, TreeRow};
use super::{Claim, Registry, RegistryError, User, ports};
use crate::kernel::StateError;
use crate::kernel::beat;
use crate::kernel::clock::{self, ClientLife};
use crate::kernel::home::Home;
use crate::kernel::life;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, PresenceRow, State, Tx};
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::{Note, What};

/// The kernel's table as a register of trees.
#[derive(Debug, Clone)]
pub struct Table {
    home: Home,
    lease: u64,
}

impl From<StateError> for RegistryError {
    fn from(error: StateError) -> Self {
        Self(error.to_string())
    }
}

impl Table {
    /// The register of this kernel; processes silent for `lease` seconds do not count.
    #[must_use]
    pub fn new(home: Home, lease: u64) -> Self {
        Self { home, lease }
    }

    /// Looks; an absent table has nothing in it.
    fn look<T: Default>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError>,
    ) -> Result<T, RegistryError> {
        match Kernel::open(&self.home, Make::Never, OPERATOR_PATIENCE) {
            Ok(mut kernel) => Ok(kernel.look(work)?),
            Err(StateError::Absent) => Ok(T::default()),
            Err(error) => Err(error.into()),
        }
    }

    fn change<T>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StateError>,
    ) -> Result<T, RegistryError> {
        let mut kernel = Kernel::open(&self.home, Make::IfAbsent, OPERATOR_PATIENCE)?;
        Ok(kernel.transact(work)?)
    }
}

impl Registry for Table {
    fn rows(&self, common: Option<&AbsPath>) -> Result<Vec<TreeRow>, RegistryError> {
        self.look(|tx| rows(tx, common))
    }

    fn put(&self, row: &TreeRow) -> Result<(), RegistryError> {
        self.change(|tx| put(tx, row))
    }

    fn forget(&self, path: &AbsPath) -> Result<(), RegistryError> {
        self.change(|tx| tx.drop_tree_record(path))
    }

    fn ports(
        &self,
        path: &AbsPath,
        count: u16,
        free: &dyn Fn(u16) -> bool,
    ) -> Result<Option<Ports>, RegistryError> {
        self.change(|tx| {
            let all = rows(tx, None)?;
            let mine = all.iter().find(|r| r.path == *path);
            if let Some(known) = mine.and_then(|r| r.ports).filter(|p| p.count == count) {
                return Ok(Some(known));
            }
            let taken: Vec<Ports> =
                all.iter().filter(|r| r.path != *path).filter_map(|r| r.ports).collect();
            let block = ports::block(&taken, count, free);
            if let Some(row) = mine {
                put(tx, &TreeRow { ports: block, ..row.clone() })?;
            }
            Ok(block)
        })
    }

    fn users(&self, root: &AbsPath) -> Result<Vec<User>, RegistryError> {
        self.look(|tx| users(tx, root, self.lease))
    }

    fn heard(&self, session: &Pid) -> Result<Option<u64>, RegistryError> {
        self.look(|tx| {
            let unix = tx.now().unix;
            let mut pids: Vec<Pid> = tx.agents_of(session)?.into_iter().map(|a| a.pid).collect();
            pids.push(session.clone());
            let ages = pids.iter().filter_map(|p| beat::age(tx.home(), p, unix));
            let youngest = ages.min().map(|age| u64::try_from(age).unwrap_or(0));
            Ok(youngest.map(|age| unix.saturating_sub(age)))
        })
    }

    fn claims(&self, root: &AbsPath) -> Result<Vec<Claim>, RegistryError> {
        self.look(|tx| claims(tx, root, self.lease))
    }

    fn sent(&self, session: &Pid, from: &AbsPath, tree: &AbsPath) -> Result<(), RegistryError> {
        self.change(|tx| {
            let known = tx.presence_of(session)?.into_iter().find(|p| p.root == *from);
            let now = tx.now().tick;
            let fresh = || PresenceRow {
                root: from.clone(),
                session: session.clone(),
                since: now,
                wrote: false,
                forked: None,
            };
            let row = known.unwrap_or_else(fresh);
            tx.put_presence(&PresenceRow { forked: Some(tree.clone()), ..row })
        })
    }

    fn recalled(&self, session: &Pid, tree: &AbsPath) -> Result<(), RegistryError> {
        self.change(|tx| {
            for row in tx.presence_of(session)? {
                if row.forked.as_ref() == Some(tree) {
                    tx.put_presence(&PresenceRow { forked: None, ..row })?;
                } else if row.root == *tree {
                    tx.drop_presence(tree, session)?;
                }
            }
            Ok(())
        })
    }

    fn tell(&self, session: &Pid, text: &str) {
        // A word that can't be left is in the register's state all the same.
        drop(self.change(|tx| tx.notify(session, text)));
    }

    fn note(&self, session: &Pid, what: What, text: &str) {
        let note = Note { reason: Some(text.to_owned()), ..Note::default() };
        // A record that can't be written must not undo what was done.
        drop(self.change(|tx| {
            tx.journal(session, what, note.clone());
            Ok(())
        }));
    }
}

/// Moves a session's trees to the id that goes on in its place (`/clear`, `--fork-session`),
/// inside the transaction that moves everything else of it.
pub fn inherit(tx: &mut Tx<'_>, old: &Pid, heir: &Pid) -> Result<(), StateError> {
    for row in rows(tx, None)?.into_iter().filter(|r| r.session == *old) {
        put(tx, &TreeRow { session: heir.clone(), ..row })?;
    }
    Ok(())
}

fn rows(tx: &Tx<'_>, common: Option<&AbsPath>) -> Result<Vec<TreeRow>, StateError> {
    let record = |text: &String| {
        let read = serde_json::from_str::<Record>(text).ok().and_then(Record::row);
        read.ok_or_else(|| StateError::Damaged("a worktree's record cannot be read".into()))
    };
    tx.tree_records(common)?.iter().map(record).collect()
}

fn put(tx: &mut Tx<'_>, row: &TreeRow) -> Result<(), StateError> {
    let text = serde_json::to_string(&Record::from(row));
    let text = text.map_err(|e| StateError::Table(e.to_string()))?;
    tx.put_tree_record(&row.path, &row.common, &text)
}

/// Live processes that work in `root`, or whose session was sent there. A session whose client
/// still runs counts however long it has been silent: a person may be asleep in front of it.
fn users(tx: &Tx<'_>, root: &AbsPath, lease: u64) -> Result<Vec<User>, StateError> {
    let mut sessions: Vec<Pid> = tx.presence_in(root)?.into_iter().map(|p| p.session).collect();
    let mut users = Vec::new();
    for row in rows(tx, None)?.into_iter().filter(|r| r.path == *root) {
        sessions.push(row.session);
    }
    for row in tx.processes()? {
        let sent = || {
            tx.presence_of(&row.session)
                .is_ok_and(|p| p.iter().any(|p| p.forked.as_ref() == Some(root)))
        };
        let here = row.root.as_ref() == Some(root) || sessions.contains(&row.session) || sent();
        let runs = row.state != State::Ended
            && row.place == *tx.place()
            && row.client.is_some_and(|c| clock::client_life(c) == ClientLife::Runs);
        if here && (runs || life::life(tx, &row, lease).is_live()) {
            users.push(User { pid: row.pid, session: row.session, since: row.started_unix });
        }
    }
    Ok(users)
}

fn claims(tx: &Tx<'_>, root: &AbsPath, lease: u64) -> Result<Vec<Claim>, StateError> {
    let mut registry = life::Registry::new(lease);
    let mut claims = Vec::new();
    for lane in tx.lanes_in(root)? {
        if registry.is_live(tx, &lane.holder)? {
            claims.push((lane.path, lane.holder));
        }
    }
    for kept in tx.custody_in(root)? {
        if let Some(heir) = registry.heir(tx, &kept.owner)? {
            claims.push((kept.path, heir));
        }
    }
    let with_session = |(path, pid): (AbsPath, Pid)| {
        let session = tx.process(&pid)?.map_or_else(|| pid.clone(), |p| p.session);
        Ok(Claim { path, pid, session })
    };
    claims.into_iter().map(with_session).collect()
}
