//! Words for the shell's completion, asked for while typing: processes and trees of the table. Quiet
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

/// The trees that stand, by their branch, each with its state and folder.
#[must_use]
pub fn trees() -> Vec<CompletionCandidate> {
    let picture = Home::discover().and_then(|home| Snapshot::take(&home, LEASE).ok());
    let processes = picture.map(|picture| picture.processes).unwrap_or_default();
    let trees = processes.into_iter().flat_map(|process| process.trees);
    let candidate = |tree: super::model::Tree| {
        let help = format!("{} {}", tree.state, tree.path);
        CompletionCandidate::new(tree.branch).help(Some(help.into()))
    };
    trees.map(candidate).collect()
}
