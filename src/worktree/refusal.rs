//! Owns the reasons for which a wish about a tree is refused, each with its words.
//! PURE. Must always name who or what stands in the way, so that a person can go there.

use std::fmt;

use crate::policy::lane::AbsPath;

/// Why there is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The id cannot name a session for long; the reason.
    Id(String, &'static str),
    /// No git there.
    NotARepository(AbsPath),
    /// No work tree there.
    Bare(AbsPath),
    /// `.git` does not add up.
    Unreadable(AbsPath),
    /// Inside a linked worktree.
    Linked {
        /// Where it was asked for.
        at: AbsPath,
        /// Where to ask instead.
        main: AbsPath,
    },
    /// No commit yet.
    Unborn(AbsPath),
    /// The revision names no commit.
    NoSuchRev(String),
    /// A branch is checked out elsewhere.
    Held {
        /// The branch.
        branch: String,
        /// The tree that has it.
        holder: AbsPath,
    },
    /// A branch named `dim` leaves no room for `dim/…`.
    Prefix(String),
    /// No free name was found.
    NoName(AbsPath),
    /// The disk is nearly full.
    Space {
        /// Free bytes.
        free: u64,
        /// The floor.
        floor: u64,
        /// Trees that could go, largest first.
        reclaimable: Vec<String>,
    },
    /// The main checkout, or the default branch, is nobody's to remove.
    Main(AbsPath),
    /// octo did not make it.
    Foreign(AbsPath),
    /// There is no such tree.
    Unknown(String),
    /// A tree that must be kept, and why.
    Kept(String, Vec<String>),
    /// Somebody else has work there.
    Occupied(AbsPath, Vec<String>),
    /// Not now, for this reason.
    NotNow(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id, why) => write!(f, "`{}` is no session id: {why}", id.escape_debug()),
            Self::NotARepository(at) => write!(f, "{at} is not in a git repository"),
            Self::Bare(at) => write!(f, "{at} is a bare repository: there is no checkout to copy"),
            Self::Unreadable(at) => {
                write!(f, "{at}: its .git does not name a repository that names it back")
            }
            Self::Linked { at, main } => {
                write!(
                    f,
                    "{at} is a linked worktree itself; ask from the main checkout: --repo {main}"
                )
            }
            Self::Unborn(at) => write!(f, "{at} has no commit yet: make one first"),
            Self::NoSuchRev(rev) => write!(f, "`{rev}` names no commit"),
            Self::Held { branch, holder } => {
                write!(f, "branch {branch} is checked out in {holder}")
            }
            Self::Prefix(commit) => {
                write!(
                    f,
                    "a branch named `dim` ({}) leaves no room for dim/…: rename it",
                    short(commit)
                )
            }
            Self::NoName(folder) => write!(f, "no free name in {folder}"),
            Self::Space { free, floor, reclaimable } => {
                write!(f, "{} MiB free, {} must remain", free >> 20, floor >> 20)?;
                if !reclaimable.is_empty() {
                    write!(f, "; reclaimable: {}", reclaimable.join(", "))?;
                }
                Ok(())
            }
            Self::Main(at) => write!(f, "{at} is the main checkout: octo never removes it"),
            Self::Foreign(at) => write!(f, "{at} was not made by octo: octo never removes it"),
            Self::Unknown(what) => write!(f, "no tree of octo is called {what}"),
            Self::Kept(id, why) => write!(f, "{id} is kept: {}", why.join("; ")),
            Self::Occupied(at, who) => write!(f, "{at} is in use by {}", who.join(", ")),
            Self::NotNow(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

/// The first digits of a commit id, as people read them.
#[must_use]
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
