//! What the table says about a command's fence: whose holds there are, which trees are its own.
//! The table is read, never judged here; what can't be read makes the fence stricter.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fill;
use super::meter::{self, Spent};
use super::{Company, FenceError, Granted, HoldSource, Holds, Level, Metering, Signals, Who};
use crate::config::load::{Places, load};
use crate::config::{self, Settings};
use crate::git::discover;
use crate::git::paths::{Follow, canonical};
use crate::kernel::home::Home;
use crate::kernel::life::Registry;
use crate::kernel::store::{Kernel, Make, PATIENCE, Tx};
use crate::kernel::{StateError, beat, clock, log};
use crate::policy::facts::{Basis, Hold, Root};
use crate::policy::lane::{AbsPath, Pid};

/// The process table as the fence sees it.
pub struct Table {
    home: Option<Home>,
    used: Used,
    warned: Cell<bool>,
    kernel: RefCell<Option<Opened>>,
}

/// Who takes down what a command used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Used {
    /// The hook after the call, which writes to the table anyway.
    Hook,
    /// This program: no hook will come.
    Here,
}

/// An open table and the process that opened it.
struct Opened {
    by: u32,
    kernel: Kernel,
}

impl Table {
    /// The table of the user this program runs for.
    #[must_use]
    pub fn here() -> Self {
        Self {
            home: Home::discover(),
            used: Used::Here,
            warned: Cell::new(false),
            kernel: RefCell::new(None),
        }
    }

    /// The same for a command of the client, after which its hook comes.
    #[must_use]
    pub fn before_hook() -> Self {
        Self { used: Used::Hook, ..Self::here() }
    }

    /// Asks the table, opened once a process; `None` when there is none.
    fn ask<T>(
        &self,
        question: impl FnOnce(&mut Kernel) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        let Some(home) = &self.home else { return Ok(None) };
        let mut slot = self.kernel.borrow_mut();
        let me = std::process::id();
        // A connection does not survive a fork: the parent's is left alone, not closed.
        if let Some(inherited) = slot.take_if(|opened| opened.by != me) {
            std::mem::forget(inherited);
        }
        if slot.is_none() {
            match Kernel::open(home, Make::Never, PATIENCE) {
                Ok(kernel) => *slot = Some(Opened { by: me, kernel }),
                Err(StateError::Absent) => return Ok(None),
                Err(e) => return Err(e),
            }
        }
        match slot.as_mut() {
            Some(opened) => question(&mut opened.kernel).map(Some),
            None => Ok(None),
        }
    }

    /// Whether nobody else gave a sign of life for so long that the table need not be asked.
    fn deserted(&self, caller: &Caller<'_>, settings: &Settings) -> bool {
        let (Some(home), Some(pid), Some(session)) = (&self.home, caller.pid, caller.session)
        else {
            return false;
        };
        let lease = settings.lease_seconds.max(DAY);
        !beat::others_about(home, &[pid, session], lease, clock::unix_seconds())
    }
}

/// So long a process may work without a sign of life (one command that takes hours).
const DAY: u64 = 24 * 60 * 60;

/// The caller as far as it is known.
struct Caller<'w> {
    pid: Option<&'w Pid>,
    session: Option<&'w Pid>,
}

fn gather(
    tx: &Tx<'_>,
    settings: &Settings,
    caller: &Caller<'_>,
    here: Option<&Root>,
) -> Result<Holds, StateError> {
    let mut registry = Registry::new(settings.lease_seconds);
    let mut holds = Vec::new();
    for lane in tx.lanes()? {
        if caller.pid == Some(&lane.holder) || !registry.is_live(tx, &lane.holder)? {
            continue;
        }
        if let Some(me) = caller.pid
            && lane.family
            && registry.descends(tx, me, &lane.holder)?
        {
            continue;
        }
        let holder = registry.holder(tx, &lane.holder, tx.now().tick.since(lane.claimed))?;
        holds.push(Hold { path: lane.path, root: lane.root, basis: Basis::Lane, holder });
    }
    for kept in tx.custody()? {
        let Some(heir) = registry.heir(tx, &kept.owner)? else { continue };
        let mine = caller.pid == Some(&heir) || caller.pid == Some(&kept.owner);
        let family = match caller.pid {
            Some(me) => kept.family && registry.descends(tx, me, &heir)?,
            None => false,
        };
        if mine || family || holds.iter().any(|h| h.path == kept.path) {
            continue;
        }
        let holder = registry.holder(tx, &heir, tx.now().tick.since(kept.since))?;
        holds.push(Hold { path: kept.path, root: kept.root, basis: Basis::Custody, holder });
    }
    let (trees, closed) = places(tx, caller, here)?;
    // Somebody who only lives in another repository and left nothing uncommitted has nothing that
    // a fence could keep.
    let mut others = false;
    for place in trees.iter().map(|t| &t.path).chain(&closed) {
        for row in tx.presence_in(place)? {
            others |= caller.session != Some(&row.session)
                && row.forked.is_none()
                && registry.is_live(tx, &row.session)?;
        }
    }
    let company = if holds.is_empty() && !others { Company::Alone } else { Company::Others };
    let named: BTreeSet<&AbsPath> = holds.iter().filter_map(|h| h.root.as_ref()).collect();
    let mut roots: Vec<Root> = named.into_iter().filter_map(|at| root_at(at, here)).collect();
    roots.dedup_by(|a, b| a.path == b.path);
    Ok(Holds {
        company,
        holds,
        trees,
        folders: Vec::new(),
        closed,
        roots,
        signals: Signals::default(),
        need: Level::None,
    })
}

/// The work tree of a path; the caller's own has been looked at already.
fn root_at(path: &AbsPath, here: Option<&Root>) -> Option<Root> {
    here.filter(|root| root.path == *path).cloned().or_else(|| discover::root_of(path))
}

/// The trees a command may write in, and those its session was sent away from.
fn places(
    tx: &Tx<'_>,
    caller: &Caller<'_>,
    here: Option<&Root>,
) -> Result<(Vec<Root>, Vec<AbsPath>), StateError> {
    let mut trees: Vec<Root> = here.cloned().into_iter().collect();
    let mut closed = Vec::new();
    let Some(session) = caller.session else { return Ok((trees, closed)) };
    for row in tx.presence_of(session)? {
        match &row.forked {
            Some(tree) => {
                closed.push(row.root.clone());
                trees.extend(root_at(tree, here));
            }
            None => trees.extend(root_at(&row.root, here)),
        }
    }
    trees.retain(|t| !closed.contains(&t.path));
    trees.sort_by(|a, b| a.path.cmp(&b.path));
    trees.dedup_by(|a, b| a.path == b.path);
    Ok((trees, closed))
}

/// What holds where there is nothing to keep.
fn nobody_else(root: Option<Root>) -> Holds {
    Holds {
        company: Company::Alone,
        holds: Vec::new(),
        trees: root.into_iter().collect(),
        folders: Vec::new(),
        closed: Vec::new(),
        roots: Vec::new(),
        signals: Signals::default(),
        need: Level::None,
    }
}

impl HoldSource for Table {
    fn holds_for(&self, who: &Who, dir: &AbsPath) -> Result<Holds, FenceError> {
        let caller = match who {
            Who::Process { session, pid } => Caller { pid: Some(pid), session: Some(session) },
            Who::Unknown { session } => Caller { pid: None, session: session.as_ref() },
        };
        let root = discover::root_of(dir);
        let project = root.as_ref().map(|r| r.path.as_path());
        let user = self.home.as_ref().map_or(Path::new("/"), Home::user);
        let settings = load(&Places::new(user, project)).settings;
        if settings.fence == config::Fence::Off || self.deserted(&caller, &settings) {
            return Ok(nobody_else(root));
        }
        let found =
            self.ask(|kernel| kernel.look(|tx| gather(tx, &settings, &caller, root.as_ref())));
        let mut holds = match found {
            Ok(Some(holds)) => holds,
            Ok(None) => nobody_else(root.clone()),
            Err(e) => return Err(FenceError::State(e.to_string())),
        };
        if root.is_none() {
            holds.folders.push(dir.clone());
        }
        let more = settings.fence_write.iter().map(|text| match text.strip_prefix("~/") {
            Some(rest) => user.join(rest),
            None => Path::new(text).to_path_buf(),
        });
        holds.folders.extend(more.filter_map(|path| canonical(path, Follow::All)));
        holds.closed.extend(self.home.as_ref().and_then(|h| canonical(h.dir(), Follow::All)));
        let home = canonical(user, Follow::All);
        holds.closed.extend(home.iter().flat_map(fill::below_home));
        if settings.fence == config::Fence::Require {
            holds.need = Level::Full;
        }
        Ok(holds)
    }

    fn wakes(&self) -> Vec<AbsPath> {
        self.home.iter().filter_map(|h| AbsPath::new(h.table())).collect()
    }

    fn offer_file(&self) -> Option<PathBuf> {
        self.home.as_ref().map(Home::offer)
    }

    fn tickets(&self) -> AbsPath {
        let path = self.home.as_ref().and_then(|h| canonical(h.tickets(), Follow::All));
        path.unwrap_or_else(|| AbsPath::root().join("nonexistent"))
    }

    fn granted(&self, who: &Who, granted: &Granted) {
        let Some(home) = &self.home else { return };
        if let Some(short) = &granted.short
            && !self.warned.replace(true)
        {
            log::report(home, clock::now(), &format!("fence: {}: {short}", granted.level.word()));
        }
        let Who::Process { session, .. } = who else { return };
        // Shown by `octo ps` and doctor; a command never fails for it.
        let word = granted.level.word();
        let path = home.fence(session);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(word) {
            drop(home.create().and_then(|()| std::fs::write(&path, word)));
        }
    }

    fn metered(&self, who: &Who, command: &str, used: &Metering) {
        let Who::Process { session, pid } = who else { return };
        let Some(home) = &self.home else { return };
        let used = Spent::new(pid, command, used);
        let done = match self.used {
            Used::Hook => meter::leave(home, session, &used).map_err(|e| e.to_string()),
            Used::Here => self
                .ask(|kernel| {
                    kernel.transact(|tx| {
                        used.note(tx);
                        Ok(())
                    })
                })
                .map(drop)
                .map_err(|e| e.to_string()),
        };
        if let Err(e) = done {
            log::report(home, clock::now(), &format!("metering: {e}"));
        }
    }
}
