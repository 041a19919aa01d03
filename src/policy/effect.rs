//! What a call would do, as effects: the words between reading a command and judging it. Plain data.

use super::lane::AbsPath;
use super::scope::Spec;

/// Which part of a root a verb takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StashUse {
    /// Takes an entry off or throws it away; the entry as written (`stash@{1}`, a number, none).
    Take(Option<String>),
    /// Throws all away.
    Clear,
}

/// Why a piece of a command could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

/// Which untracked files a verb takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Untracked {
    /// Those that git would offer to add.
    Unknown,
    /// Those that git ignores.
    Ignored,
    /// Both.
    Both,
}

/// One thing a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// Throws away what git does not track, besides being a [`Effect::Tree`] or
    /// [`Effect::Pathspec`] of the same words.
    Untracked {
        /// The work tree.
        root: AbsPath,
        /// What is looked through.
        scope: Scope,
        /// Which of it.
        which: Untracked,
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
            | Self::Untracked { root, .. }
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

    /// The file or folder whose content it replaces or takes away.
    #[must_use]
    pub fn changed(&self) -> Option<&AbsPath> {
        match self {
            Self::Write { path } | Self::Remove { path } => Some(path),
            Self::Check { .. }
            | Self::Meta { .. }
            | Self::Stage { .. }
            | Self::Unstage { .. }
            | Self::Commit { .. }
            | Self::Tree { .. }
            | Self::Pathspec { .. }
            | Self::Untracked { .. }
            | Self::Head { .. }
            | Self::Sequencer { .. }
            | Self::Stash { .. }
            | Self::Branch { .. }
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
            | Self::Untracked { .. }
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
            | Self::Untracked { words, .. }
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
