//! octo: keeps concurrent sessions and their subagents from taking each other's work.

pub mod applet;
pub mod config;
pub mod fence;
pub mod git;
pub mod hook;
pub mod journal;
pub mod kernel;
pub mod operator;
pub mod policy;
pub mod shield;
pub mod wiring;
pub mod worktree;
