//! Owns everything octo asks of git: reading `.git` by hand where it must be fast, spawning git
//! where something is written. The only folder that does either.
//! Must never decide: it reports what is there, the callers judge.
#![expect(clippy::disallowed_methods, reason = "I/O boundary: reads .git and spawns git")]

mod dir;
pub mod discover;
pub mod entry;
pub mod paths;
pub mod run;

pub use discover::{Head, Tree, head_branch, root_of, roots_below, worktrees};
pub use paths::{Follow, canonical};
pub use run::{Git, GitError};
