//! octo: keeps concurrent sessions and their subagents from taking each other's work.

pub mod applet;
pub mod config;
pub mod git;
pub mod journal;
pub mod kernel;
pub mod operator;
pub mod policy;
pub mod shield;
pub mod wiring;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the applet that `args` name.
#[must_use]
pub fn start(args: Vec<OsString>) -> ExitCode {
    operator::start(args)
}
