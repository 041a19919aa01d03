//! octo: keeps concurrent sessions and their subagents from taking each other's work.

pub mod config;
pub mod policy;
pub mod wiring;
