//! What a program would do: one [`Invocation`] in, [`Effect`]s out.

use super::facts::{Effect, Root};
use super::lane::AbsPath;
use super::shell::{Invocation, World};

/// Whether the last component of a path is followed when it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// As `open` does: all links.
    All,
    /// As `unlink` and `rename` do: all but the last.
    Parents,
}

/// What git verbs and writing programs must know besides [`World`].
pub trait Site: World {
    /// One canonical form of an absolute path (existing links resolved).
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath>;
    /// The work tree that encloses a path, from git's own files.
    fn root_of(&self, path: &AbsPath) -> Option<Root>;
    /// The work trees registered below a path (nested linked worktrees, embedded repositories
    /// are not searched for).
    fn roots_below(&self, path: &AbsPath) -> Vec<Root>;
    /// A value of the repository's or the user's git configuration (`alias.co`).
    fn git_config(&self, root: &Root, key: &str) -> Option<String>;
    /// Whether `name` is a branch, tag or other revision of the repository.
    fn is_revision(&self, root: &Root, name: &str) -> bool;
    /// The branch HEAD stands on, when it stands on one.
    fn head_branch(&self, root: &Root) -> Option<String>;
    /// Commands the user declared to stage broadly inside (`ai-push`).
    fn stages_broadly(&self, program: &str) -> bool;
}

/// Everything one invocation would do. `site` answers; nothing is executed.
#[must_use]
pub fn effects(_invocation: &Invocation, _site: &dyn Site) -> Vec<Effect> {
    Vec::new()
}
