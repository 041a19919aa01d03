//! The decision: facts in, outcome out. No file system, environment, process, clock or table.

pub mod facts;
pub mod lane;
pub mod program;
pub mod scope;
pub mod shell;
pub mod verdict;
