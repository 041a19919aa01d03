//! Rows of lanes and custody. A path has one lane and one custodian at most; overlap is judged
//! by the caller inside the same transaction.

use std::path::Path;

use rusqlite::{OptionalExtension as _, Row, params};

use super::super::StateError;
use super::{Tx, number, size};
use crate::policy::lane::{AbsPath, Pid, Tick};

/// Inode, size and times of a file: changed means written. Text, so that a person can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity(String);

impl Identity {
    /// The identity of what is at a path now, not following a final link.
    #[must_use]
    pub fn of(path: &AbsPath) -> Self {
        use std::os::unix::fs::MetadataExt;
        match std::fs::symlink_metadata(path.as_path()) {
            Ok(m) => Self(format!(
                "{}:{}:{}.{}:{}.{}",
                m.ino(),
                m.size(),
                m.mtime(),
                m.mtime_nsec(),
                m.ctime(),
                m.ctime_nsec()
            )),
            Err(_) => Self("-".to_owned()),
        }
    }

    /// True when nothing was there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.0 == "-"
    }
}

/// An exclusive lease on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneRow {
    /// The path.
    pub path: AbsPath,
    /// The work tree it lies in.
    pub root: Option<AbsPath>,
    /// Who holds it.
    pub holder: Pid,
    /// Since when.
    pub claimed: Tick,
    /// Last really written; none while provisional.
    pub written: Option<Tick>,
    /// What was there when it was last looked at.
    pub identity: Option<Identity>,
    /// The call that claimed it last.
    pub call: Option<String>,
    /// Handed to the holder's children: they may take it.
    pub family: bool,
}

/// Whose uncommitted bytes a path has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustodyRow {
    /// The path.
    pub path: AbsPath,
    /// The work tree it lies in.
    pub root: Option<AbsPath>,
    /// Whose.
    pub owner: Pid,
    /// Since when.
    pub since: Tick,
    /// What was there when it was last looked at.
    pub identity: Option<Identity>,
    /// The owner's children may take it.
    pub family: bool,
    /// Who wrote the bytes: the owner itself, or one it inherited from.
    pub writer: Pid,
}

/// Lane or custody, for whoever does not care which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// A lane.
    Lane(LaneRow),
    /// Custody.
    Custody(CustodyRow),
}

const LANE: &str = "path, root, holder, claimed, written, identity, call, family";
const CUSTODY: &str = "path, root, owner, since, identity, family, writer";

fn lane(row: &Row<'_>) -> rusqlite::Result<Option<LaneRow>> {
    let path = AbsPath::new(row.get::<_, String>(0)?);
    let holder = Pid::new(&row.get::<_, String>(2)?);
    let (Some(path), Some(holder)) = (path, holder) else { return Ok(None) };
    Ok(Some(LaneRow {
        path,
        root: row.get::<_, Option<String>>(1)?.and_then(AbsPath::new),
        holder,
        claimed: Tick(size(row.get(3)?)),
        written: row.get::<_, Option<i64>>(4)?.map(|t| Tick(size(t))),
        identity: row.get::<_, Option<String>>(5)?.map(Identity),
        call: row.get(6)?,
        family: row.get::<_, i64>(7)? != 0,
    }))
}

fn custody(row: &Row<'_>) -> rusqlite::Result<Option<CustodyRow>> {
    let path = AbsPath::new(row.get::<_, String>(0)?);
    let owner = Pid::new(&row.get::<_, String>(2)?);
    let (Some(path), Some(owner)) = (path, owner) else { return Ok(None) };
    Ok(Some(CustodyRow {
        path,
        root: row.get::<_, Option<String>>(1)?.and_then(AbsPath::new),
        since: Tick(size(row.get(3)?)),
        identity: row.get::<_, Option<String>>(4)?.map(Identity),
        family: row.get::<_, i64>(5)? != 0,
        writer: row
            .get::<_, Option<String>>(6)?
            .and_then(|w| Pid::new(&w))
            .unwrap_or(owner.clone()),
        owner,
    }))
}

/// Text ranges, from and up to, of a path, of each one above it, and of all below it.
fn family_of(path: &AbsPath) -> Vec<(String, String)> {
    // Only a NUL, which no path has, would sort before this end and after the path.
    let alone = |path: &Path| {
        let text = path.to_string_lossy();
        (text.clone().into_owned(), format!("{text}\u{1}"))
    };
    let mut ranges: Vec<_> = path.as_path().ancestors().map(alone).collect();
    let base = path.key();
    let base = base.trim_end_matches('/');
    ranges.push((format!("{base}/"), format!("{base}0")));
    ranges
}

impl Tx<'_> {
    fn meeting<T>(
        &self,
        table: &str,
        columns: &str,
        path: &AbsPath,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> Result<Vec<T>, StateError> {
        // One plain statement asked several times: reading a long one costs more than asking.
        let sql = format!("SELECT {columns} FROM {table} WHERE path >= ?1 AND path < ?2");
        let mut statement = self.inner.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for range in family_of(path) {
            for row in statement.query_map(<[String; 2]>::from(range), &read)? {
                found.extend(row?);
            }
        }
        Ok(found)
    }

    /// Lanes equal to, above or below a path.
    pub fn lanes_meeting(&self, path: &AbsPath) -> Result<Vec<LaneRow>, StateError> {
        self.meeting("lane", LANE, path, lane)
    }

    /// Custody equal to, above or below a path.
    pub fn custody_meeting(&self, path: &AbsPath) -> Result<Vec<CustodyRow>, StateError> {
        self.meeting("custody", CUSTODY, path, custody)
    }

    fn lanes_where(&self, clause: &str, value: &str) -> Result<Vec<LaneRow>, StateError> {
        let mut statement = self
            .inner
            .prepare_cached(&format!("SELECT {LANE} FROM lane WHERE {clause} ORDER BY path"))?;
        let rows = statement.query_map([value], lane)?.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    fn custody_where(&self, clause: &str, value: &str) -> Result<Vec<CustodyRow>, StateError> {
        let sql = format!("SELECT {CUSTODY} FROM custody WHERE {clause} ORDER BY path");
        let mut statement = self.inner.prepare_cached(&sql)?;
        let rows = statement.query_map([value], custody)?.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Lanes in a work tree that are not `me`'s.
    pub fn lanes_in(&self, root: &AbsPath) -> Result<Vec<LaneRow>, StateError> {
        self.lanes_where("root=?1", &root.key())
    }

    /// Custody in a work tree.
    pub fn custody_in(&self, root: &AbsPath) -> Result<Vec<CustodyRow>, StateError> {
        self.custody_where("root=?1", &root.key())
    }

    /// Written lanes of others in a work tree, at most so many.
    pub fn lanes_beside(
        &self,
        root: &AbsPath,
        me: &Pid,
        most: usize,
    ) -> Result<Vec<LaneRow>, StateError> {
        let sql = format!(
            "SELECT {LANE} FROM lane WHERE root=?1 AND holder<>?2 AND written IS NOT NULL LIMIT ?3"
        );
        let mut statement = self.inner.prepare_cached(&sql)?;
        let rows =
            statement.query_map(params![root.key(), me.as_str(), number(most as u64)], lane)?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Custody of others in a work tree where no lane lies on the path, at most so many.
    pub fn custody_beside(
        &self,
        root: &AbsPath,
        me: &Pid,
        most: usize,
    ) -> Result<Vec<CustodyRow>, StateError> {
        let sql = format!(
            "SELECT {CUSTODY} FROM custody WHERE root=?1 AND owner<>?2 \
             AND NOT EXISTS (SELECT 1 FROM lane WHERE lane.path=custody.path) LIMIT ?3"
        );
        let mut statement = self.inner.prepare_cached(&sql)?;
        let rows =
            statement.query_map(params![root.key(), me.as_str(), number(most as u64)], custody)?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Lanes of a process that were claimed and not yet seen written.
    pub fn provisional_of(&self, pid: &Pid) -> Result<Vec<LaneRow>, StateError> {
        self.lanes_where("holder=?1 AND written IS NULL", pid.as_str())
    }

    /// Lanes of a process.
    pub fn lanes_of(&self, pid: &Pid) -> Result<Vec<LaneRow>, StateError> {
        self.lanes_where("holder=?1", pid.as_str())
    }

    /// Custody of a process.
    pub fn custody_of(&self, pid: &Pid) -> Result<Vec<CustodyRow>, StateError> {
        self.custody_where("owner=?1", pid.as_str())
    }

    /// The lane on exactly this path.
    pub fn lane_at(&self, path: &AbsPath) -> Result<Option<LaneRow>, StateError> {
        Ok(self.lanes_where("path=?1", &path.key())?.into_iter().next())
    }

    /// Custody of exactly this path.
    pub fn custody_at(&self, path: &AbsPath) -> Result<Option<CustodyRow>, StateError> {
        Ok(self.custody_where("path=?1", &path.key())?.into_iter().next())
    }

    /// All lanes.
    pub fn lanes(&self) -> Result<Vec<LaneRow>, StateError> {
        self.lanes_where("?1=?1", "")
    }

    /// All custody.
    pub fn custody(&self) -> Result<Vec<CustodyRow>, StateError> {
        self.custody_where("?1=?1", "")
    }

    /// Lanes and custody counted per process.
    pub fn claim_count(&self, pid: &Pid) -> Result<(u64, u64), StateError> {
        let count = |sql: &str| -> Result<u64, StateError> {
            let n: Option<i64> = self
                .inner
                .prepare_cached(sql)?
                .query_row([pid.as_str()], |r| r.get(0))
                .optional()?;
            Ok(size(n.unwrap_or(0)))
        };
        Ok((
            count("SELECT COUNT(*) FROM lane WHERE holder=?1")?,
            count("SELECT COUNT(*) FROM custody WHERE owner=?1")?,
        ))
    }

    /// Writes a lane, replacing the one on that path.
    pub fn put_lane(&mut self, row: &LaneRow) -> Result<(), StateError> {
        let sql = format!("INSERT OR REPLACE INTO lane({LANE}) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)");
        self.inner.prepare_cached(&sql)?.execute(params![
            row.path.key(),
            row.root.as_ref().map(|r| r.key().into_owned()),
            row.holder.as_str(),
            number(row.claimed.0),
            row.written.map(|t| number(t.0)),
            row.identity.as_ref().map(|i| i.0.clone()),
            row.call,
            i64::from(row.family),
        ])?;
        Ok(())
    }

    /// Ends a lane.
    pub fn drop_lane(&mut self, path: &AbsPath) -> Result<(), StateError> {
        self.inner.prepare_cached("DELETE FROM lane WHERE path=?1")?.execute([path.key()])?;
        Ok(())
    }

    /// Writes custody, replacing what was on that path.
    pub fn put_custody(&mut self, row: &CustodyRow) -> Result<(), StateError> {
        let sql = format!("INSERT OR REPLACE INTO custody({CUSTODY}) VALUES(?1,?2,?3,?4,?5,?6,?7)");
        self.inner.prepare_cached(&sql)?.execute(params![
            row.path.key(),
            row.root.as_ref().map(|r| r.key().into_owned()),
            row.owner.as_str(),
            number(row.since.0),
            row.identity.as_ref().map(|i| i.0.clone()),
            i64::from(row.family),
            row.writer.as_str(),
        ])?;
        Ok(())
    }

    /// Ends custody of a path.
    pub fn drop_custody(&mut self, path: &AbsPath) -> Result<(), StateError> {
        self.inner.prepare_cached("DELETE FROM custody WHERE path=?1")?.execute([path.key()])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_what_lies_above_and_below_and_no_neighbour() {
        let ranges = family_of(&AbsPath::new("/w/app").unwrap());
        let meets =
            |path: &str| ranges.iter().any(|(a, b)| a.as_str() <= path && path < b.as_str());
        for path in ["/", "/w", "/w/app", "/w/app/x", "/w/app/\u{1}", "/w/app/x/y"] {
            assert!(meets(path), "{path:?}");
        }
        for path in ["/w/ap", "/w/app0", "/w/app!", "/w/app-x/y", "/w/app\u{1}", "/x", "/v/app"] {
            assert!(!meets(path), "{path:?}");
        }
    }
}
