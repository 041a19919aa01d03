//! `octo prune`: records of processes that are over, oldest first, as the retention settings say.
//! What holds a lane or uncommitted work is never pruned; a dry run shows the rest.

use std::fs;

use clap::Args;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::model::{Process, Snapshot, Standing};
use super::person::{name, require_person};
use super::screen::{age, harmless};
use crate::config::Retention;
use crate::kernel::StateError;
use crate::kernel::home::Home;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, Tx};
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Removes records that retention lets go.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo prune --dry-run    what would go\n  octo prune              retention.days and retention.megabytes decide"
)]
pub struct PruneArgs {
    /// Show what would go and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// A record that may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Old {
    /// The process.
    pub pid: String,
    /// Seconds since it was last heard of.
    pub idle: u64,
    /// Bytes of its journal.
    pub bytes: u64,
}

/// Which records go: too old, or the oldest while all together are too large.
#[must_use]
pub fn choose(mut over: Vec<Old>, total: u64, retention: Retention) -> Vec<Old> {
    over.sort_by_key(|old| std::cmp::Reverse(old.idle));
    let mut left = total;
    let limit = retention.megabytes.saturating_mul(1 << 20);
    over.into_iter()
        .filter(|old| {
            let goes = old.idle > retention.days.saturating_mul(DAY) || left > limit;
            if goes {
                left = left.saturating_sub(old.bytes);
            }
            goes
        })
        .collect()
}

/// Runs `octo prune`.
pub fn run(args: &PruneArgs, context: &Context) -> Done {
    if !args.dry_run {
        require_person("octo prune")?;
    }
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let picture = Snapshot::take(&home, context.settings.lease_seconds)?;
    let bytes = |pid: &str| {
        let path = Pid::new(pid).map(|pid| home.journal(&pid));
        path.and_then(|path| fs::metadata(path).ok()).map_or(0, |meta| meta.len())
    };
    let total = picture.processes.iter().map(|process| bytes(&process.pid)).sum();
    let over = picture.processes.iter().filter(|process| is_over(process)).map(|process| Old {
        pid: process.pid.clone(),
        idle: process.seen,
        bytes: bytes(&process.pid),
    });
    let chosen = choose(over.collect(), total, context.settings.retention);
    if !args.dry_run {
        remove(&home, &chosen, &picture)?;
    }
    if args.json {
        let items: Vec<_> = chosen
            .iter()
            .map(|old| json!({"pid": old.pid, "idle_seconds": old.idle, "bytes": old.bytes}))
            .collect();
        return context.screen.json("prune", json!({"pruned": items, "dry_run": args.dry_run}));
    }
    let verb = if args.dry_run { "would prune" } else { "pruned" };
    for old in &chosen {
        let (pid, kib) = (harmless(&old.pid), old.bytes / 1024);
        context.screen.print(&format!("{verb} {pid}, {kib} KiB, idle {}\n", age(old.idle)))?;
    }
    context.screen.say(&format!("{verb} {} of {} records", chosen.len(), picture.processes.len()));
    Ok(())
}

/// Over: not alive, and nothing left that is its.
fn is_over(process: &Process) -> bool {
    process.state != Standing::Live && process.lanes.is_empty() && process.custody.is_empty()
}

fn remove(home: &Home, chosen: &[Old], picture: &Snapshot) -> Done {
    if chosen.is_empty() {
        return Ok(());
    }
    let mut kernel = Kernel::open(home, Make::Never, OPERATOR_PATIENCE)?;
    let pids: Vec<Pid> = chosen.iter().filter_map(|old| Pid::new(&old.pid)).collect();
    let gone = kernel.transact(|tx| forget(tx, &pids, picture))?;
    for pid in gone {
        for path in [home.journal(&pid), home.beat(&pid)] {
            match fs::remove_file(&path) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                    return Err(OperatorError::file(&path, &why));
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Forgets processes that are still as the picture shows them; one that came back stays.
fn forget(tx: &mut Tx<'_>, pids: &[Pid], picture: &Snapshot) -> Result<Vec<Pid>, StateError> {
    let mut gone = Vec::new();
    for pid in pids {
        let known = picture.processes.iter().find(|process| process.pid == pid.as_str());
        let row = tx.process(pid)?;
        let same = row.zip(known).is_some_and(|(row, known)| row.started_unix == known.generation);
        let free = tx.lanes_of(pid)?.is_empty() && tx.custody_of(pid)?.is_empty();
        let heard = crate::kernel::beat::age(tx.home(), pid, tx.now().unix);
        let idle = known.map_or(0, |known| known.seen);
        let quiet = heard.is_none_or(|age| u64::try_from(age).unwrap_or(0) >= idle);
        if same && free && quiet {
            tx.drop_process(pid)?;
            tx.drop_head(pid)?;
            gone.push(pid.clone());
        }
    }
    if let Some(operator) = Pid::new("operator") {
        let reason = Some(format!("pruned {} records, {}", gone.len(), name()));
        tx.journal(&operator, What::Notice, Note { reason, ..Note::default() });
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(pid: &str, days: u64, megabytes: u64) -> Old {
        Old { pid: pid.to_owned(), idle: days * DAY, bytes: megabytes << 20 }
    }

    #[test]
    fn the_old_go_and_the_oldest_while_there_is_too_much() {
        let retention = Retention { days: 30, megabytes: 100 };
        let pids = |chosen: Vec<Old>| chosen.into_iter().map(|o| o.pid).collect::<Vec<_>>();
        let few = vec![old("a", 31, 1), old("b", 29, 1)];
        assert_eq!(pids(choose(few, 2 << 20, retention)), ["a"]);
        let many = vec![old("new", 1, 60), old("mid", 2, 60), old("far", 3, 60)];
        assert_eq!(pids(choose(many, 180 << 20, retention)), ["far", "mid"]);
    }
}
