//! Owns the door for everybody outside: an engine set up from the kernel's home and the settings,
//! and the few things hooks and commands ask of it.
//! Must never block a hook for a checkout: what is big goes on in a detached process.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::apply::{self, Made};
use super::landing::{Aim, Outcome, SaveRequest, Saved, save};
use super::plan::{Refusal, Request, Via};
use super::row::{State, TreeRow};
use super::table::Table;
use super::{
    Context, Job, Jobs, Layout, Places, Prefs, Registry, Start, TreeError, facts, fill, lock, reap,
    seed,
};
use crate::config::load::{self, Loaded};
use crate::config::{Base, Land, Origin, Settings, WorktreePlace};
use crate::git::{self, Follow, canonical};
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::policy::lane::{AbsPath, Pid};

/// The reaper runs no oftener than this.
const REAP_EVERY: Duration = Duration::from_hours(1);
/// The client waits a minute and a half for its worktree; one of a huge repository is handed out
/// before it is full.
const SPAWN: Duration = Duration::from_secs(45);
/// Why a tree waits whose session has ended and whose person wants to be asked.
const ENDED: &str = "its session has ended and nobody was asked yet";
/// The name of the reaper in journals.
pub const REAPER: &str = "octo-reaper";

/// Trees, ready to be asked.
#[derive(Debug)]
pub struct Engine {
    table: Table,
    jobs: Detached,
    places: Places,
    prefs: Prefs,
    home: Home,
    now: u64,
}

impl Engine {
    /// The engine of this kernel under the settings that hold in `project`.
    #[must_use]
    pub fn new(home: &Home, project: Option<&Path>) -> Option<Self> {
        let loaded = load::load(&load::Places::new(home.user(), project));
        let settings = &loaded.settings;
        let papers = AbsPath::new(home.dir())?.join("trees");
        let places = places(home, settings, papers.clone())?;
        Some(Self {
            table: Table::new(home.clone(), settings.lease_seconds),
            jobs: Detached { papers: papers.clone() },
            prefs: prefs(&loaded, &papers, project),
            places,
            home: home.clone(),
            now: clock::unix_seconds(),
        })
    }

    /// The engine under the settings that hold for the tree at this path: those of the checkout it
    /// was made from, wherever the calling process stands.
    #[must_use]
    pub fn of_tree(home: &Home, path: &AbsPath) -> Option<Self> {
        let any = Self::new(home, None)?;
        let main = any.row_at(path).ok().map(|row| row.main);
        main.map_or(Some(any), |main| Self::new(home, Some(main.as_path())))
    }

    /// The engine as its parts want it.
    #[must_use]
    pub fn context(&self) -> Context<'_> {
        Context {
            registry: &self.table,
            jobs: &self.jobs,
            places: &self.places,
            prefs: &self.prefs,
            now: self.now,
        }
    }

    /// The settings, to be changed by flags.
    pub fn prefs_mut(&mut self) -> &mut Prefs {
        &mut self.prefs
    }

    /// A tree for a session that must not write where it is (`from`: the shared checkout or any
    /// path in it). Also what resume, compact and `/clear` call: the tree it has is the answer.
    pub fn fork(&self, session: &Pid, from: &AbsPath) -> Result<Made, TreeError> {
        apply::create(&self.context(), &self.request(session, None, from, Via::Fork))
    }

    /// A tree by command. Never asks twice, never two for one session.
    pub fn init(
        &self,
        session: &Pid,
        from: &AbsPath,
        start: Option<Start>,
        branch: Option<String>,
    ) -> Result<Made, TreeError> {
        let mut request = self.request(session, None, from, Via::Command);
        request.branch = branch;
        request.start = start.unwrap_or(request.start);
        apply::create(&self.context(), &request)
    }

    /// A tree for the client (`WorktreeCreate`): the session's own when it has none yet, else a
    /// further one. Filled when this returns where that can be waited for.
    pub fn create(&self, session: &Pid, cwd: &AbsPath, name: &str) -> Result<Made, TreeError> {
        let ctx = self.context();
        let rows = self.table.rows(None)?;
        let main = git::root_of(cwd).map(|r| r.common);
        let own = rows.iter().find(|r| {
            r.session == *session && r.name.is_none() && Some(&r.common) == main.as_ref()
        });
        // Agents bring names of their own and never take the session's place.
        let agent = name.starts_with("agent-");
        let first = !agent && own.is_none_or(|r| r.alias.as_deref() == Some(name));
        let mut request = self.request(session, Some(name), cwd, Via::Fork);
        if first {
            request.name = None;
        }
        let mut made = apply::create(&ctx, &request)?;
        if first && made.row.alias.is_none() {
            made.row.alias = Some(name.to_owned());
            ctx.registry.put(&made.row)?;
        }
        made.row = self.ready(made.row, SPAWN)?;
        Ok(made)
    }

    /// The client is done with a tree (`WorktreeRemove`): it goes if that is safe, else it stays
    /// and the words say why. A path octo does not know is nobody's error.
    pub fn remove(&self, by: &Pid, path: &AbsPath) -> Result<String, TreeError> {
        let Some(row) = self.table.rows(None)?.into_iter().find(|r| r.path == *path) else {
            return Ok(format!("{path} is no tree of octo: left alone"));
        };
        Ok(match reap::reclaim(&self.context(), &row, by, &[])? {
            reap::Gone::Buried { restore, .. } => format!("removed {path}; back with: {restore}"),
            reap::Gone::Kept(why) => format!("{path} is kept: {}", why.join("; ")),
        })
    }

    /// Waits for a tree that is filled elsewhere, or fills it here. After `patience` its row is
    /// returned as it stands: still being filled.
    pub fn ready(&self, row: TreeRow, patience: Duration) -> Result<TreeRow, TreeError> {
        if row.state != State::Preparing {
            return Ok(row);
        }
        let path = row.path.clone();
        let row = fill::fill(&self.context(), row)?;
        if row.state != State::Preparing {
            return Ok(row);
        }
        match lock::tree_wait(&self.places, &path, patience) {
            Ok(lock) => drop(lock),
            Err(TreeError::Busy(_)) => return Ok(row),
            Err(error) => return Err(error),
        }
        let rows = self.table.rows(Some(&row.common))?;
        Ok(rows.into_iter().find(|r| r.path == path).unwrap_or(row))
    }

    /// The trees of a session: what a starting session is told, and what is exported.
    pub fn of_session(&self, session: &Pid) -> Result<Vec<TreeRow>, TreeError> {
        let rows = self.table.rows(None)?;
        Ok(rows.into_iter().filter(|r| r.session == *session).collect())
    }

    /// Starts the reaper in a process of its own unless it ran within the hour for the repository
    /// that the session is in.
    pub fn reap_in_background(&self, here: Option<&AbsPath>) {
        let name = here.map_or_else(|| "reaped".to_owned(), |c| format!("reaped-{}", lock::tag(c)));
        let stamp = self.places.papers.join(name);
        let recent = std::fs::metadata(stamp.as_path())
            .and_then(|m| m.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age < REAP_EVERY));
        if !recent && std::fs::write(stamp.as_path(), "").is_ok() {
            self.jobs.detach(Job::Reap(here));
        }
    }

    /// A session has ended: its trees are brought home as the setting says, in processes of their
    /// own. Nothing is ever removed here but what the reaper would remove.
    pub fn session_ended(&self, session: &Pid, land: Land) {
        if land == Land::Never {
            return;
        }
        let own = self.of_session(session).unwrap_or_default();
        for row in own.iter().filter(|r| r.stands()) {
            self.jobs.detach(Job::Land(&row.path, land));
        }
    }

    /// What a detached process does for `Job::Land`.
    pub fn land(&self, path: &AbsPath, land: Land) -> Result<Saved, TreeError> {
        let row = self.row_at(path)?;
        let aim = match land {
            Land::Auto => Aim::Land,
            Land::Pr => Aim::Publish,
            Land::Ask => return self.offer(&row),
            Land::Never => Aim::CommitOnly,
        };
        let by = row.session.clone();
        save(&self.context(), &row, &SaveRequest { by, message: None, onto: None, aim })
    }

    /// Work that nobody was asked about yet stays a state, so that it is not forgotten.
    fn offer(&self, row: &TreeRow) -> Result<Saved, TreeError> {
        // Whoever removes it meanwhile has the lock, and the last word on its state.
        let _lock = lock::tree_wait(&self.places, &row.path, lock::WAIT)?;
        let mut row = self.row_at(&row.path)?;
        if !row.stands() {
            return Ok(Saved { committed: None, outcome: Outcome::OnBranch, notes: Vec::new() });
        }
        let found = reap::survey(&self.context(), &row)?;
        let loose = found.changed + found.untracked > 0;
        let why = ENDED.to_owned();
        let mut outcome = Outcome::OnBranch;
        if loose || found.landed.is_none() {
            outcome = Outcome::Waiting { why: why.clone() };
            if !matches!(row.state, State::Waiting { .. } | State::Attention { .. }) {
                row.state = State::Waiting { why, retry: format!("octo save {}", row.id) };
                self.table.put(&row)?;
            }
        }
        Ok(Saved { committed: None, outcome, notes: Vec::new() })
    }

    /// The session of a tree that was offered goes on: its work is its own business again.
    pub fn resumed(&self, mut row: TreeRow) -> Result<TreeRow, TreeError> {
        if matches!(&row.state, State::Waiting { why, .. } if why == ENDED) {
            row.state = State::Ready;
            self.table.put(&row)?;
        }
        Ok(row)
    }

    /// The tree of this session in this repository that another session has now, when it has none
    /// of its own any more.
    pub fn handed_on(&self, session: &Pid, common: &AbsPath) -> Result<Option<TreeRow>, TreeError> {
        let rows = self.table.rows(Some(common))?;
        if rows.iter().any(|r| r.session == *session && r.name.is_none()) {
            return Ok(None);
        }
        Ok(rows.into_iter().find(|r| r.id == session.as_str()))
    }

    /// Why no tree could be made right now, when the disk is too full for one.
    #[must_use]
    pub fn cramped(&self) -> Option<String> {
        let free = facts::free_bytes(&self.places.trees);
        let floor = self.prefs.floor;
        (free < floor).then(|| {
            format!(
                "{} MiB free where worktrees go, {} must remain: octo worktree reclaim",
                free >> 20,
                floor >> 20
            )
        })
    }

    /// A plain copy of a checkout's files in a folder of the session's own, where isolation
    /// failed and a setting names a place.
    pub fn fall_back(&self, session: &Pid, root: &AbsPath, to: &str) -> Result<AbsPath, TreeError> {
        let folder = expand(&self.home, to).ok_or_else(|| Refusal::Unknown(to.to_owned()))?;
        let copy = folder.join(session.as_str());
        seed::plain_copy(root, &copy)?;
        self.table.sent(session, root, &copy)?;
        Ok(copy)
    }

    /// What a detached process does for `Job::Prepare`.
    pub fn prepare(&self, path: &AbsPath) -> Result<TreeRow, TreeError> {
        let row = self.row_at(path)?;
        let row = fill::fill(&self.context(), row)?;
        fill::set_up(&self.context(), row)
    }

    fn row_at(&self, path: &AbsPath) -> Result<TreeRow, TreeError> {
        let row = self.table.rows(None)?.into_iter().find(|r| r.path == *path);
        Ok(row.ok_or_else(|| Refusal::Unknown(path.to_string()))?)
    }

    fn request(&self, session: &Pid, name: Option<&str>, from: &AbsPath, via: Via) -> Request {
        Request {
            session: session.clone(),
            name: name.map(str::to_owned),
            from: from.clone(),
            via,
            start: self.prefs.start.clone(),
            branch: None,
        }
    }
}

fn places(home: &Home, settings: &Settings, papers: AbsPath) -> Option<Places> {
    let layout = match &settings.worktree.location {
        WorktreePlace::Home => Layout::Home,
        WorktreePlace::Sibling => Layout::Sibling,
        WorktreePlace::Folder(folder) => Layout::Folder(expand(home, folder)?),
    };
    Some(Places {
        trees: canonical(home.user().join(".octorato"), Follow::All)?,
        brain: canonical(home.user().join(".claude"), Follow::All)?,
        papers,
        layout,
    })
}

/// A folder of a setting: a leading `~` is the home directory.
#[must_use]
pub fn expand(home: &Home, folder: &str) -> Option<AbsPath> {
    let path = match folder.strip_prefix('~') {
        Some(rest) => home.user().join(rest.trim_start_matches('/')),
        None => PathBuf::from(folder),
    };
    canonical(path, Follow::All)
}

fn prefs(loaded: &Loaded, papers: &AbsPath, project: Option<&Path>) -> Prefs {
    let settings = &loaded.settings.worktree;
    let from_project =
        loaded.resolved.get("worktree.setup").is_some_and(|(o, _)| *o == Origin::Project);
    let trusted = !from_project || is_approved(papers, project, &settings.setup);
    Prefs {
        start: match &settings.base {
            Base::Head => Start::Head,
            Base::Fresh => Start::Fresh,
            Base::Ref(name) => Start::Rev(name.clone()),
        },
        ports: settings.ports,
        setup: if trusted { settings.setup.clone() } else { Vec::new() },
        waiting: if trusted { Vec::new() } else { settings.setup.clone() },
        copy: settings.copy.clone(),
        floor: settings.min_free_mb << 20,
        resolver: loaded.settings.resolver.clone(),
        ..Prefs::default()
    }
}

/// Whether a person approved exactly these setup commands of exactly this project.
fn is_approved(papers: &AbsPath, project: Option<&Path>, setup: &[String]) -> bool {
    project.is_some_and(|p| std::fs::metadata(approval(papers, p, setup).as_path()).is_ok())
}

/// Remembers that a person approved a project's setup commands.
pub fn approve(home: &Home, project: &Path, setup: &[String]) -> Result<(), TreeError> {
    let papers = AbsPath::new(home.dir()).map(|d| d.join("trees"));
    let papers = papers.ok_or_else(|| Refusal::Unknown(home.dir().display().to_string()))?;
    let file = approval(&papers, project, setup);
    let dir = papers.join("approved");
    std::fs::create_dir_all(dir.as_path()).map_err(super::io(dir.as_path()))?;
    std::fs::write(file.as_path(), setup.join("\n")).map_err(super::io(file.as_path()))
}

fn approval(papers: &AbsPath, project: &Path, setup: &[String]) -> AbsPath {
    use sha2::{Digest, Sha256};
    // Worktrees of a project share its approval: the repository is what was looked at.
    let common = AbsPath::new(project).and_then(|p| git::root_of(&p)).map(|r| r.common);
    let whose = common.map_or_else(|| project.display().to_string(), |c| c.to_string());
    let text = format!("{whose}\0{}", setup.join("\0"));
    papers.join("approved").join(lock::hex(&Sha256::digest(text.as_bytes())))
}

/// Work in processes of their own.
#[derive(Debug)]
struct Detached {
    papers: AbsPath,
}

impl Jobs for Detached {
    fn detach(&self, job: Job<'_>) -> bool {
        let Ok(program) = std::env::current_exe() else { return false };
        let mut command = Command::new(program);
        // The applet is chosen by name, and the file may be called anything.
        command.arg0("octo").args(["worktree"]);
        match job {
            Job::Prepare(path) => command.arg("prepare").arg(path.as_path()),
            Job::Land(path, land) => {
                command.arg("land").arg(path.as_path()).args(["--as", land.word()])
            }
            Job::Reap(here) => command.arg("reap").args(here.map(AbsPath::as_path)),
        };
        let log = self.papers.join("jobs.log");
        let open = || {
            std::fs::create_dir_all(self.papers.as_path()).ok()?;
            std::fs::OpenOptions::new().create(true).append(true).open(log.as_path()).ok()
        };
        let (Some(out), Some(err)) = (open(), open()) else { return false };
        command.current_dir("/").stdin(Stdio::null()).stdout(out).stderr(err);
        // A group of its own: the client ends a hook's group when the hook ends.
        command.process_group(0).spawn().is_ok()
    }
}
