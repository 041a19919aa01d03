//! The vocabulary between reading and deciding: effects (what a call would do) and facts (what
//! is true around it). Plain data; the edge fills it in, the judges read it.

use super::lane::{AbsPath, Pid};
use super::scope::Spec;
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

/// Which part of a root a verb takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything in the root, untracked files included.
    All,
    /// Every tracked path (`-u`, `-a`).
    Tracked,
    /// The named paths and all below them, without the excluded ones.
    Paths {
        /// Taken.
        take: Vec<AbsPath>,
        /// Left out (`:!path`).
        leave: Vec<AbsPath>,
    },
    /// The same with patterns among them.
    Matched {
        /// Taken.
        take: Vec<Spec>,
        /// Left out.
        leave: Vec<Spec>,
    },
}

/// What becomes of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitScope {
    /// Whatever the index holds.
    Index,
    /// All tracked paths (`-a`).
    Tracked,
    /// `commit -- PATHS`: only these.
    Only(Scope),
    /// `commit -i PATHS`: the index and these.
    Include(Scope),
}

/// What a stash verb does to the stack that all worktrees of a repository share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StashUse {
    /// Takes an entry off or throws it away; the entry as written (`stash@{1}`, a number, none).
    Take(Option<String>),
    /// Throws all away.
    Clear,
}

/// Why a piece of a command could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A quote, bracket or here-document never ends.
    Unterminated,
    /// bash would refuse the text, after running what stands before.
    Syntax,
    /// Nested deeper than is followed.
    TooDeep,
    /// Longer than is read.
    TooLong,
    /// The program's name is only known when it runs.
    Program,
    /// An operand is only known when it runs.
    Operand,
    /// Text that is run was produced at run time (`eval "$x"`, `curl … | sh`).
    Generated,
    /// The directory it runs in is only known when it runs.
    Directory,
    /// A verb whose reach depends on state that could not be read.
    State,
}

/// What a hooked process may not do because it is the operator's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorUse {
    /// `octo … ` verbs reserved to a person; the words.
    Verb(String),
    /// A verb that is anybody's for its own id only.
    ForId {
        /// The id it names.
        id: String,
        /// The words.
        words: String,
    },
    /// A payload fed by hand into one of our hooks.
    HookByHand,
}

/// One thing a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Creates, replaces or appends to the content of a file.
    Write {
        /// The file.
        path: AbsPath,
    },
    /// May write a file, as far as can be told (an unknown server's tool names it): checked, never
    /// claimed.
    Check {
        /// The file.
        path: AbsPath,
    },
    /// Removes, moves away or empties a path with all below it.
    Remove {
        /// File or directory.
        path: AbsPath,
    },
    /// Changes mode, owner or times only.
    Meta {
        /// File or directory.
        path: AbsPath,
        /// With all below it.
        deep: bool,
    },
    /// Takes working-tree content into the index.
    Stage {
        /// The work tree.
        root: AbsPath,
        /// What is taken.
        scope: Scope,
        /// The words as written, for the denial.
        words: String,
    },
    /// Sets index entries back or drops them without touching files.
    Unstage {
        /// The work tree.
        root: AbsPath,
        /// What is dropped.
        scope: Scope,
        /// The words as written.
        words: String,
    },
    /// Makes a commit.
    Commit {
        /// The work tree.
        root: AbsPath,
        /// What goes in.
        scope: CommitScope,
        /// Replaces the commit at HEAD.
        amend: bool,
        /// The words as written.
        words: String,
    },
    /// May change any file of the work tree, or moves it to another branch.
    Tree {
        /// The work tree.
        root: AbsPath,
        /// The words as written.
        words: String,
    },
    /// Throws uncommitted content of named paths away (`checkout -- p`, `restore p`).
    Pathspec {
        /// The work tree.
        root: AbsPath,
        /// What is thrown away.
        scope: Scope,
        /// The words as written.
        words: String,
    },
    /// Moves HEAD or rewrites the current branch without touching files.
    Head {
        /// The work tree.
        root: AbsPath,
        /// The words as written.
        words: String,
    },
    /// Goes on with or gives up a merge, rebase, cherry-pick or revert that is under way.
    Sequencer {
        /// The work tree.
        root: AbsPath,
        /// `merge`, `rebase`, `cherry-pick`, `revert`, `am`, `bisect`.
        operation: &'static str,
        /// The words as written.
        words: String,
    },
    /// Uses an entry of the stash.
    Stash {
        /// The work tree it is typed in.
        root: AbsPath,
        /// What it does.
        take: StashUse,
        /// The words as written.
        words: String,
    },
    /// Deletes or force-moves a branch that may be somebody's.
    Branch {
        /// The work tree it is typed in.
        root: AbsPath,
        /// The branch's short name.
        branch: String,
        /// The words as written.
        words: String,
    },
    /// Removes or moves a linked worktree.
    Worktree {
        /// The tree that goes.
        path: AbsPath,
        /// The words as written.
        words: String,
    },
    /// The operator's.
    Operator(OperatorUse),
    /// Could not be read: could be anything in `dir`'s root. With [`Why::Operand`] it is bounded:
    /// it writes or removes something at or below `dir`, and nowhere else.
    Opaque {
        /// Where it would run, when that is known.
        dir: Option<AbsPath>,
        /// What was in the way.
        why: Why,
        /// The words that could not be read.
        words: String,
    },
}

impl Effect {
    /// The work tree a git verb is about.
    #[must_use]
    pub fn root(&self) -> Option<&AbsPath> {
        match self {
            Self::Stage { root, .. }
            | Self::Unstage { root, .. }
            | Self::Commit { root, .. }
            | Self::Tree { root, .. }
            | Self::Pathspec { root, .. }
            | Self::Head { root, .. }
            | Self::Sequencer { root, .. }
            | Self::Stash { root, .. }
            | Self::Branch { root, .. } => Some(root),
            Self::Write { .. }
            | Self::Check { .. }
            | Self::Remove { .. }
            | Self::Meta { .. }
            | Self::Worktree { .. }
            | Self::Operator(_)
            | Self::Opaque { .. } => None,
        }
    }

    /// The single path it is about.
    #[must_use]
    pub fn path(&self) -> Option<&AbsPath> {
        match self {
            Self::Write { path }
            | Self::Check { path }
            | Self::Remove { path }
            | Self::Meta { path, .. }
            | Self::Worktree { path, .. } => Some(path),
            Self::Opaque { dir, .. } => dir.as_ref(),
            Self::Stage { .. }
            | Self::Unstage { .. }
            | Self::Commit { .. }
            | Self::Tree { .. }
            | Self::Pathspec { .. }
            | Self::Head { .. }
            | Self::Sequencer { .. }
            | Self::Stash { .. }
            | Self::Branch { .. }
            | Self::Operator(_) => None,
        }
    }

    /// The effect in a few words, for denials and the journal.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Write { path } => format!("write to {path}"),
            Self::Check { path } => format!("possible write to {path}"),
            Self::Remove { path } => format!("removal of {path}"),
            Self::Meta { path, .. } => format!("change of mode, owner or times of {path}"),
            Self::Stage { words, .. }
            | Self::Unstage { words, .. }
            | Self::Commit { words, .. }
            | Self::Tree { words, .. }
            | Self::Pathspec { words, .. }
            | Self::Head { words, .. }
            | Self::Sequencer { words, .. }
            | Self::Stash { words, .. }
            | Self::Branch { words, .. }
            | Self::Worktree { words, .. }
            | Self::Opaque { words, .. } => words.clone(),
            Self::Operator(OperatorUse::Verb(words) | OperatorUse::ForId { words, .. }) => {
                words.clone()
            }
            Self::Operator(OperatorUse::HookByHand) => "a payload fed to a hook by hand".to_owned(),
        }
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
