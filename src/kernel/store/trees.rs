//! Worktrees as the table keeps them: a key, what they are looked up by, and the record that
//! `worktree` writes and reads.

use rusqlite::params;

use super::Tx;
use crate::kernel::StateError;
use crate::policy::lane::{AbsPath, Pid};

/// Isolation that a session should have and has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The checkout it shares meanwhile.
    pub root: AbsPath,
    /// Why.
    pub why: String,
}

impl Tx<'_> {
    /// Why a session is not isolated although it should be.
    pub fn unmet(&self, session: &Pid) -> Result<Option<Unmet>, StateError> {
        let noted = self.meta(&format!("unmet/{session}"))?;
        let parts = noted.as_deref().and_then(|noted| noted.split_once('\n'));
        Ok(parts
            .and_then(|(root, why)| Some(Unmet { root: AbsPath::new(root)?, why: why.to_owned() })))
    }

    /// Notes that, or that it is no longer so.
    pub fn put_unmet(&mut self, session: &Pid, unmet: Option<&Unmet>) -> Result<(), StateError> {
        let noted = unmet.map_or(String::new(), |u| format!("{}\n{}", u.root, u.why));
        self.set_meta(&format!("unmet/{session}"), &noted)
    }

    /// The records of all worktrees, or of one repository's.
    pub fn tree_records(&self, common: Option<&AbsPath>) -> Result<Vec<String>, StateError> {
        let sql = "SELECT record FROM tree WHERE ?1 IS NULL OR common=?1 ORDER BY path";
        let mut statement = self.inner.prepare_cached(sql)?;
        let rows = statement.query_map([common.map(AbsPath::key)], |r| r.get(0))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    }

    /// Writes a worktree's record.
    pub fn put_tree_record(
        &mut self,
        path: &AbsPath,
        common: &AbsPath,
        record: &str,
    ) -> Result<(), StateError> {
        self.inner
            .prepare_cached("INSERT OR REPLACE INTO tree(path, common, record) VALUES(?1,?2,?3)")?
            .execute(params![path.key(), common.key(), record])?;
        Ok(())
    }

    /// Forgets a worktree.
    pub fn drop_tree_record(&mut self, path: &AbsPath) -> Result<(), StateError> {
        self.inner.prepare_cached("DELETE FROM tree WHERE path=?1")?.execute([path.key()])?;
        Ok(())
    }
}
