//! `octo prune`: records of processes that are over, oldest first, as the retention settings say.
//! What holds a lane or uncommitted work is never pruned; a dry run shows the rest.

use std::fs;
use std::os::unix::fs::MetadataExt;

use clap::Args;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::model::{Process, Snapshot, Standing};
use super::person::{name, require_person};
use super::screen::{age, harmless};
use crate::config::Retention;
use crate::journal::Entry;
use crate::kernel::StateError;
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::segment;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, Tx};
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// The operator's own journal.
const OPERATOR: &str = "operator";
/// How the line begins that says that a segment was let go.
const LET_GO: &str = "segment pruned";
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

/// A record that may go: all of a process that is over, or one old segment of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Old {
    /// The process.
    pub pid: String,
    /// The segment; none for the whole record.
    pub segment: Option<u64>,
    /// Seconds since it was last heard of.
    pub idle: u64,
    /// Bytes of its journal.
    pub bytes: u64,
}

/// Which records go: too old, or the oldest while all together are too large. Of the segments of
/// one journal the first always go first.
#[must_use]
pub fn choose(mut over: Vec<Old>, total: u64, retention: Retention) -> Vec<Old> {
    over.sort_by_key(|old| (std::cmp::Reverse(old.idle), old.segment));
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
    let (over, total) = candidates(&home, &picture);
    let chosen = choose(over, total, context.settings.retention);
    if !args.dry_run {
        remove(&home, &chosen, &picture)?;
    }
    if args.json {
        let items: Vec<_> = chosen
            .iter()
            .map(|old| {
                json!({
                    "pid": old.pid, "segment": old.segment,
                    "idle_seconds": old.idle, "bytes": old.bytes,
                })
            })
            .collect();
        return context.screen.json("prune", json!({"pruned": items, "dry_run": args.dry_run}));
    }
    let verb = if args.dry_run { "would prune" } else { "pruned" };
    for old in &chosen {
        let (pid, kib) = (harmless(&old.pid), old.bytes / 1024);
        let which = old.segment.map_or(String::new(), |n| format!(" segment {n}"));
        let idle = age(old.idle);
        context.screen.print(&format!("{verb} {pid}{which}, {kib} KiB, idle {idle}\n"))?;
    }
    context.screen.say(&format!("{verb} {} of {} records", chosen.len(), picture.processes.len()));
    Ok(())
}

/// What may go, and the bytes of everything.
fn candidates(home: &Home, picture: &Snapshot) -> (Vec<Old>, u64) {
    let now = clock::unix_seconds();
    let (mut over, mut total) = (Vec::new(), 0);
    for process in &picture.processes {
        let Some(pid) = Pid::new(&process.pid) else { continue };
        let file = |path| fs::metadata(path).ok();
        let segments = segment::numbers(home, &pid).into_iter().filter_map(|number| {
            let meta = file(segment::path(home, &pid, number))?;
            let written = u64::try_from(meta.mtime()).unwrap_or(0);
            let (pid, idle) = (process.pid.clone(), now.saturating_sub(written));
            Some(Old { pid, segment: Some(number), idle, bytes: meta.len() })
        });
        let segments: Vec<Old> = segments.collect();
        let live = file(home.journal(&pid)).map_or(0, |meta| meta.len());
        let bytes = live + segments.iter().map(|old| old.bytes).sum::<u64>();
        total += bytes;
        if is_over(process) {
            let (pid, idle) = (process.pid.clone(), process.seen);
            over.push(Old { pid, segment: None, idle, bytes });
        } else {
            over.extend(segments);
        }
    }
    (over, total)
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
    let whole = |old: &&Old| old.segment.is_none();
    let pids: Vec<Pid> = chosen.iter().filter(whole).filter_map(|old| Pid::new(&old.pid)).collect();
    let segment = |old: &Old| Some((Pid::new(&old.pid)?, old.segment?));
    let segments: Vec<(Pid, u64)> = chosen.iter().filter_map(segment).collect();
    let gone = kernel.transact(|tx| {
        for (pid, number) in &segments {
            tx.put_kept(pid, number + 1)?;
            note(tx, Some(format!("{pid} {number}")), &format!("{LET_GO}, {}", name()));
        }
        forget(tx, &pids, picture)
    })?;
    let mut files: Vec<_> =
        segments.iter().map(|(pid, number)| segment::path(home, pid, *number)).collect();
    for pid in gone {
        let numbers = segment::numbers(home, &pid);
        files.extend(numbers.into_iter().map(|number| segment::path(home, &pid, number)));
        files.extend([home.journal(&pid), home.beat(&pid)]);
    }
    for path in files {
        match fs::remove_file(&path) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                return Err(OperatorError::file(&path, &why));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// The journal and the oldest segment left of it, where a line of the operator's says that one
/// was let go.
#[must_use]
pub fn let_go(entry: &Entry) -> Option<(Pid, u64)> {
    let said = entry.note.reason.as_deref().is_some_and(|reason| reason.starts_with(LET_GO));
    let (pid, number) = entry.note.target.as_deref()?.rsplit_once(' ')?;
    let said = said && entry.pid == OPERATOR && entry.kind == What::Notice;
    said.then_some(())?;
    Some((Pid::new(pid)?, number.parse::<u64>().ok()?.checked_add(1)?))
}

fn note(tx: &mut Tx<'_>, target: Option<String>, reason: &str) {
    if let Some(operator) = Pid::new(OPERATOR) {
        let reason = Some(reason.to_owned());
        tx.journal(&operator, What::Notice, Note { target, reason, ..Note::default() });
    }
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
    note(tx, None, &format!("pruned {} records, {}", gone.len(), name()));
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(pid: &str, days: u64, megabytes: u64) -> Old {
        Old { pid: pid.to_owned(), segment: None, idle: days * DAY, bytes: megabytes << 20 }
    }

    #[test]
    fn the_old_go_and_the_oldest_while_there_is_too_much() {
        let retention = Retention { days: 30, megabytes: 100, journal_kilobytes: 4096 };
        let pids = |chosen: Vec<Old>| chosen.into_iter().map(|o| o.pid).collect::<Vec<_>>();
        let few = vec![old("a", 31, 1), old("b", 29, 1)];
        assert_eq!(pids(choose(few, 2 << 20, retention)), ["a"]);
        let many = vec![old("new", 1, 60), old("mid", 2, 60), old("far", 3, 60)];
        assert_eq!(pids(choose(many, 180 << 20, retention)), ["far", "mid"]);
    }
}
