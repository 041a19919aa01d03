//! Words for the shell's completion, asked for while typing: process ids from the table. Quiet
//! and quick; a table that can't be read completes nothing.

use clap_complete::engine::CompletionCandidate;

use super::model::Snapshot;
use crate::kernel::home::Home;
use crate::policy::lane::LEASE;

/// The processes, each with what it is and where.
#[must_use]
pub fn pids() -> Vec<CompletionCandidate> {
    let picture = Home::discover().and_then(|home| Snapshot::take(&home, LEASE).ok());
    let processes = picture.map(|picture| picture.processes).unwrap_or_default();
    let candidate = |process: super::model::Process| {
        let root = process.root.unwrap_or_default();
        let help = format!("{} {} {root}", process.kind, process.state.word());
        CompletionCandidate::new(process.short).help(Some(help.into()))
    };
    processes.into_iter().map(candidate).collect()
}
