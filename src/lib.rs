//! octo: keeps concurrent sessions and their subagents from taking each other's work.

pub mod git;
pub mod policy;
pub mod worktree;
