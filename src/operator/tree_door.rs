//! What the commands about worktrees share: the engine, the tree a person means, and who asks.
//! An agent may ask for its own session's trees only; the gates say so first, this is the second
//! lock.

use super::caller::caller;
use super::context::Context;
use super::error::{OperatorError, Trouble};
use super::model::{Snapshot, Standing};
use super::person::{ancestors, name, require_person};
use crate::git::{self, Follow, canonical};
use crate::kernel::home::Home;
use crate::policy::lane::{AbsPath, Pid};
use crate::worktree::engine::Engine;
use crate::worktree::{Refusal, RegistryError, TreeError, TreeRow};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// A person at a terminal.
    Person(Pid),
    /// An agent of this session.
    Session(Pid),
}

impl Asker {
    /// The id for journals.
    #[must_use]
    pub fn pid(&self) -> &Pid {
        match self {
            Self::Person(pid) | Self::Session(pid) => pid,
        }
    }
}

/// Everything a command about trees starts from.
pub struct Door {
    /// The engine, under the settings of the directory.
    pub engine: Engine,
    /// Who asks.
    pub asker: Asker,
    /// The directory, canonical.
    pub cwd: AbsPath,
    /// The kernel.
    pub home: Home,
}

impl Door {
    /// Opens it.
    pub fn open(context: &Context) -> Result<Self, OperatorError> {
        let missing = |what: &str| OperatorError::new(Trouble::Missing, what.to_owned());
        let home = Home::of(&context.home);
        let cwd = canonical(&context.cwd, Follow::All).ok_or_else(|| missing("no directory"))?;
        let engine = Engine::new(&home, Some(&context.project))
            .ok_or_else(|| missing("there is no home directory"))?;
        let rows = engine.context().registry.rows(None).map_err(TreeError::from)?;
        let around: Vec<&Pid> =
            rows.iter().filter(|r| cwd.within(&r.path)).map(|r| &r.session).collect();
        let asker = asker(&home, context, &around)?;
        Ok(Self { engine, asker, cwd, home })
    }

    /// The rows of all trees.
    pub fn rows(&self) -> Result<Vec<TreeRow>, OperatorError> {
        Ok(self.engine.context().registry.rows(None).map_err(TreeError::from)?)
    }

    /// The tree a person names (an id, the beginning of one, a path, a branch), or the one around
    /// the directory, or the session's own.
    pub fn tree(&self, word: Option<&str>) -> Result<TreeRow, OperatorError> {
        let rows = self.rows()?;
        let found: Vec<&TreeRow> = match word {
            Some(word) => self.named(&rows, word),
            None => self.here(&rows),
        };
        let row = match found.as_slice() {
            [one] => (*one).clone(),
            [] => {
                let what = word.map_or_else(
                    || "no tree of octo here".to_owned(),
                    |word| format!("no tree of octo is called {word}"),
                );
                return Err(OperatorError::new(Trouble::Missing, what)
                    .hint("octo worktree list shows them"));
            }
            several => {
                let names: Vec<String> = several.iter().map(|r| r.path.to_string()).collect();
                return Err(OperatorError::new(Trouble::Usage, "several trees fit")
                    .hint(format!("name one: {}", names.join(" | "))));
            }
        };
        self.own(&row)?;
        Ok(row)
    }

    /// Refuses an agent what is another session's.
    pub fn own(&self, row: &TreeRow) -> Result<(), OperatorError> {
        match &self.asker {
            Asker::Session(session) if *session != row.session => Err(OperatorError::new(
                Trouble::Refused,
                format!("{} is session {}'s", row.path, row.session),
            )
            .hint("an agent asks for its own session's trees only")),
            Asker::Session(_) | Asker::Person(_) => Ok(()),
        }
    }

    fn named<'r>(&self, rows: &'r [TreeRow], word: &str) -> Vec<&'r TreeRow> {
        let path = canonical(self.cwd.as_path().join(word), Follow::All);
        let exact =
            |r: &&TreeRow| r.id == word || r.branch == word || path.as_ref() == Some(&r.path);
        let common = git::root_of(&self.cwd).map(|r| r.common);
        let mut found: Vec<&TreeRow> = rows.iter().filter(exact).collect();
        if found.is_empty() {
            found = rows.iter().filter(|r| r.id.starts_with(word)).collect();
        }
        if found.len() > 1 && found.iter().any(|r| Some(&r.common) == common.as_ref()) {
            found.retain(|r| Some(&r.common) == common.as_ref());
        }
        found
    }

    fn here<'r>(&self, rows: &'r [TreeRow]) -> Vec<&'r TreeRow> {
        let inside: Vec<&TreeRow> = rows.iter().filter(|r| self.cwd.within(&r.path)).collect();
        let common = git::root_of(&self.cwd).map(|r| r.common);
        match &self.asker {
            Asker::Session(session) if inside.is_empty() => rows
                .iter()
                .filter(|r| r.session == *session && r.name.is_none())
                .filter(|r| Some(&r.common) == common.as_ref())
                .collect(),
            Asker::Session(_) | Asker::Person(_) => inside,
        }
    }
}

/// A person, or the one session whose client is above us. Where several share a client, the one
/// whose tree this is; where no hook knows any, there is no session to be told from a person.
fn asker(home: &Home, context: &Context, around: &[&Pid]) -> Result<Asker, OperatorError> {
    let person = || {
        let id = format!("operator-{}", name());
        let pid = Pid::new(&id).or_else(|| Pid::new("operator"));
        pid.map(Asker::Person).ok_or_else(nobody)
    };
    if require_person("").is_ok() {
        return person();
    }
    let picture = Snapshot::take(home, context.settings.lease_seconds)?;
    let above = ancestors();
    let mut sessions: Vec<&str> = picture
        .processes
        .iter()
        .filter(|p| p.state == Standing::Live && p.client.is_some_and(|c| above.contains(&c)))
        .map(|p| p.session.as_str())
        .collect();
    sessions.sort_unstable();
    sessions.dedup();
    let here = |s: &&&str| around.iter().any(|a| a.as_str() == **s);
    match sessions.as_slice() {
        [] => person(),
        [one] => Pid::new(one).map(Asker::Session).ok_or_else(nobody),
        several => {
            // One client may carry several sessions: the command in flight tells which asks.
            if let Some(one) = caller(home, &picture).ok().and_then(|p| Pid::new(&p.session)) {
                return Ok(Asker::Session(one));
            }
            let mut fits = several.iter().filter(here);
            match (fits.next(), fits.next()) {
                (Some(one), None) => Pid::new(one).map(Asker::Session).ok_or_else(nobody),
                (_, _) => Err(nobody()),
            }
        }
    }
}

fn nobody() -> OperatorError {
    OperatorError::new(Trouble::Refused, "an agent runs this, but it is not clear of which session")
        .hint("run it from a session that octo's hooks know, or in a terminal of your own")
}

impl From<TreeError> for OperatorError {
    fn from(error: TreeError) -> Self {
        let kind = match &error {
            TreeError::Refused(Refusal::Id(..)) => Trouble::Usage,
            TreeError::Refused(Refusal::Unknown(_)) => Trouble::Missing,
            TreeError::Refused(_) | TreeError::Busy(_) | TreeError::Unverified(_) => {
                Trouble::Refused
            }
            TreeError::Git(_) => Trouble::Git,
            TreeError::Io(..) => Trouble::File,
            TreeError::Registry(RegistryError(_)) => Trouble::State,
        };
        Self::new(kind, error.to_string())
    }
}
