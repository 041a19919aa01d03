//! The vocabulary between reading and deciding: effects (what a call would do) and facts (what
//! is true around it). Plain data; the edge fills it in, the judges read it.

pub use super::effect::{CommitScope, Effect, OperatorUse, Scope, StashUse, Untracked, Why};
use super::lane::{AbsPath, Pid};
use super::verdict::Holder;

/// Session or subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A session's main thread.
    Session,
    /// A subagent inside a session.
    Agent,
}

/// Who makes the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// `agent_id`, else `session_id`.
    pub pid: Pid,
    /// The session it belongs to.
    pub session: Pid,
    /// Which of the two it is.
    pub kind: Kind,
    /// The agent's type as the harness calls it.
    pub agent_type: Option<String>,
}

/// What kind of directory a path's root is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootKind {
    /// The checkout that owns its git directory.
    Main,
    /// A linked worktree of `main`.
    Linked {
        /// The main checkout, or the common git directory where there is none.
        main: AbsPath,
    },
    /// A `.git` that could not be read or does not add up: judged as a main checkout.
    Unreadable,
}

/// A git work tree, found from git's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The top of the work tree.
    pub path: AbsPath,
    /// Main checkout, linked worktree or unreadable.
    pub kind: RootKind,
    /// This tree's own git directory (index and HEAD live here).
    pub git_dir: AbsPath,
    /// The git directory shared by all trees of the repository (refs and objects).
    pub common: AbsPath,
}

/// What git itself keeps of a checkout's state, below its git directory. The rest (messages,
/// hooks, excludes, locks) is nobody's work.
const STATE: &[&str] = &["HEAD", "index", "refs", "objects", "packed-refs", "worktrees", "logs"];

impl Root {
    /// True when changing `path` changes the index, HEAD, history or the git directory as a whole.
    #[must_use]
    pub fn keeps_state(&self, path: &AbsPath) -> bool {
        [&self.git_dir, &self.common]
            .into_iter()
            .any(|dir| path == dir || STATE.iter().any(|name| path.within(&dir.join(name))))
    }
}

/// On what ground somebody's claim to a path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// An exclusive lease: somebody is working on it now.
    Lane,
    /// The uncommitted bytes are theirs.
    Custody,
}

/// A live claim of another process that could meet the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The held path.
    pub path: AbsPath,
    /// The work tree it lies in, if any.
    pub root: Option<AbsPath>,
    /// Lane or custody.
    pub basis: Basis,
    /// Who.
    pub holder: Holder,
}

/// Uncommitted bytes of somebody else where the caller may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The path.
    pub path: AbsPath,
    /// The work tree it lies in, if any.
    pub root: Option<AbsPath>,
    /// Who wrote them.
    pub writer: Holder,
    /// Who answers for them now: the writer, or who inherited from it.
    pub owner: Holder,
}

/// Another live session that uses a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The root it uses.
    pub root: AbsPath,
    /// Who.
    pub holder: Holder,
    /// It works in a tree of its own and only left things here.
    pub forked: bool,
}

/// Paths staged in a work tree's index now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// The work tree.
    pub root: AbsPath,
    /// What differs between index and HEAD; none when it could not be read.
    pub paths: Option<Vec<AbsPath>>,
}

/// Where the actor's session stands towards a root that others use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    /// It was there first, or nobody else is, or isolation is off.
    Resident,
    /// Others were there first: its first write sends it to a tree of its own.
    Newcomer {
        /// Who was there; nobody where every session is isolated by setting.
        first: Option<Holder>,
    },
    /// It has a tree of its own; this root is read-only for it while others live.
    Sent {
        /// Its tree for this repository.
        tree: AbsPath,
        /// Who else lives here.
        first: Holder,
    },
}

/// The boundaries between arms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Arms {
    /// No file: no boundary.
    #[default]
    Undeclared,
    /// A file that could not be read: what leaves the session's own repository is denied.
    Unreadable {
        /// Why.
        error: String,
        /// The session's own repository.
        own: Vec<AbsPath>,
    },
    /// Names and folders.
    Declared {
        /// Folders of each arm, linked worktrees of its repository included.
        arms: Vec<(String, Vec<AbsPath>)>,
        /// The arms the session works in.
        own: Vec<String>,
    },
}

/// Paths that are nobody's but the operator's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FloorFacts {
    /// The kernel's folder.
    pub state: Vec<AbsPath>,
    /// Our wiring: binary, links, plugin, the user's configuration.
    pub wiring: Vec<AbsPath>,
    /// Settings files whose result would lose or disable our entries.
    pub unhooked: Vec<AbsPath>,
}

/// What the stash, a branch or an operation under way means to the actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// Made by the actor, or by nobody who lives.
    Own,
    /// Made or used by somebody else who lives.
    Others(Holder),
    /// Made by nobody we saw, while others live.
    Unknown(Holder),
}

/// Everything a decision may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Who calls.
    pub actor: Actor,
    /// Live lanes and custody of others that could meet the effects.
    pub holds: Vec<Hold>,
    /// Uncommitted bytes of others below the paths the effects name, in whosever custody.
    pub left: Vec<Left>,
    /// Other live sessions in the roots the effects name.
    pub neighbours: Vec<Neighbour>,
    /// The roots the effects name.
    pub roots: Vec<Root>,
    /// What is staged, where a verb depends on it.
    pub staged: Vec<Staged>,
    /// Where the session stands in each root.
    pub stands: Vec<(AbsPath, Stand)>,
    /// Paths that git ignores, or that are scratch, devices or build output: never a lane.
    pub loose: Vec<AbsPath>,
    /// Whose the stash entry, branch, operation or worktree is, by the effect's words.
    pub ownership: Vec<(String, Ownership)>,
    /// Whose the commit at HEAD is, where an effect replaces it.
    pub head_owner: Vec<(AbsPath, Ownership)>,
    /// Roots in which a commit stashes and restores the whole tree (a stashing hook framework).
    pub sweeping: Vec<AbsPath>,
    /// The actor's own uncommitted paths, for remedies.
    pub own: Vec<AbsPath>,
    /// Arms.
    pub arms: Arms,
    /// The floor.
    pub floor: FloorFacts,
    /// How `octo-dim` is called from the actor's shell.
    pub dim: String,
    /// The fence stands, whole: what can't be read runs fenced instead of being refused.
    pub fenced: Fenced,
}

/// Whether the call will run under the whole fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fenced {
    /// It will not, or nobody knows.
    #[default]
    No,
    /// It will.
    Whole,
}

impl Facts {
    /// Facts about an actor of whom nothing else is known.
    #[must_use]
    pub fn about(actor: Actor) -> Self {
        Self {
            actor,
            holds: Vec::new(),
            left: Vec::new(),
            neighbours: Vec::new(),
            roots: Vec::new(),
            staged: Vec::new(),
            stands: Vec::new(),
            loose: Vec::new(),
            ownership: Vec::new(),
            head_owner: Vec::new(),
            sweeping: Vec::new(),
            own: Vec::new(),
            arms: Arms::Undeclared,
            floor: FloorFacts::default(),
            dim: "octo-dim".to_owned(),
            fenced: Fenced::No,
        }
    }

    /// The root a path lies in, among those the effects name.
    #[must_use]
    pub fn root_of(&self, path: &AbsPath) -> Option<&Root> {
        self.roots
            .iter()
            .filter(|r| path.within(&r.path))
            .max_by_key(|r| r.path.as_path().as_os_str().len())
    }

    /// Whose something is, by the words of the effect.
    #[must_use]
    pub fn ownership(&self, words: &str) -> Option<&Ownership> {
        self.ownership.iter().find(|(w, _)| w == words).map(|(_, o)| o)
    }
}
