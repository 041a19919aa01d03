//! octo: keeps concurrent sessions and their subagents from taking each other's work.

pub mod git;
pub mod journal;
pub mod kernel;
pub mod policy;
