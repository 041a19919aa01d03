//! octo: keeps concurrent sessions and their subagents from taking each other's work.

pub mod fence;
pub mod policy;
