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

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use applet::Run;

/// Runs the applet that `args` name: by the name the program was called under, else by its first
/// argument.
#[must_use]
pub fn start(args: Vec<OsString>) -> ExitCode {
    let name = args.first().map(Path::new).and_then(Path::file_name).and_then(|n| n.to_str());
    let called = name.and_then(applet::find);
    let named = args.get(1).and_then(|a| a.to_str()).and_then(applet::find);
    let (applet, rest) = match (called, named) {
        (Some(called), _) if called.run != Run::Operator => (Some(called), 1),
        (_, Some(named)) => (Some(named), 2),
        (called, None) => (called, 1),
    };
    if named.is_none() && args.get(1).is_some_and(|a| a == "exec") {
        let rest = args.get(2..).unwrap_or_default();
        return fence::run_exec(rest, &fence::table::Table::here());
    }
    let rest = args.get(rest..).unwrap_or_default().to_vec();
    match applet.map(|a| a.run) {
        Some(Run::Hook(role)) => hook::main(role, &rest),
        Some(Run::Dim) => operator::dim::start(&rest),
        Some(Run::Shell) => fence::run_prefix(&rest, &fence::table::Table::here()),
        Some(Run::Operator) | None => operator::start(args),
    }
}
