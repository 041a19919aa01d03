//! `octo doctor --repair`: a new table from the journals. What lived before lives after: every
//! lane of a process that has not ended is taken over, and nothing a forged line says counts. The
//! old table is moved aside, never deleted.

use std::fs;

use crate::git::{self, Follow, canonical};
use crate::journal::{self, Entry, Head, Life, Part, Replay};
use crate::kernel::StateError;
use crate::kernel::clock::{self, Now};
use crate::kernel::home::Home;
use crate::kernel::log;
use crate::kernel::store::{
    CustodyRow, Identity, Kernel, LaneRow, OPERATOR_PATIENCE, ProcessRow, State, Tx,
};
use crate::operator::context::Context;
use crate::operator::error::{Done, OperatorError, Trouble};
use crate::operator::person::name;
use crate::operator::prune;
use crate::policy::lane::{AbsPath, Pid, Tick};
use crate::policy::verdict::{Note, What};
use crate::worktree::engine::Engine;
use crate::worktree::table::Table;
use crate::worktree::{Registry, TreeError, TreeRow, lost};

/// The files of the table that go aside together.
const PARTS: &[&str] = &["", "-journal", "-wal", "-shm"];

pub(super) fn rebuild(context: &Context) -> Done {
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let (entries, heads) = record(&home)?;
    home.create().map_err(|why| OperatorError::file(home.dir(), &why))?;
    // The journals tell of lanes, not of worktrees: rows that can still be read are taken along.
    let trees = Table::new(home.clone(), context.settings.lease_seconds).rows(None);
    let aside = set_aside(&home)?;
    let mut kernel = Kernel::rebuild(&home, OPERATOR_PATIENCE)?;
    let now = clock::now();
    let by = name();
    let (lanes, custody) = kernel.transact(|tx| restore(tx, &entries, &heads, now, &by))?;
    if let Some(aside) = aside {
        context.screen.say(&format!("the old table is {aside}"));
    }
    context.screen.say(&format!(
        "rebuilt from {} journals: {lanes} lanes, {custody} uncommitted paths",
        heads.len()
    ));
    drop(kernel);
    take_back(context, &home, &trees.unwrap_or_default())
}

/// Gives the new table its worktrees: the rows that were read, then those that stand without one.
fn take_back(context: &Context, home: &Home, rows: &[TreeRow]) -> Done {
    let Some(engine) = Engine::new(home, Some(&context.project)) else { return Ok(()) };
    let ctx = engine.context();
    for row in rows {
        ctx.registry.put(row).map_err(TreeError::from)?;
        if row.stands() && row.name.is_none() {
            ctx.registry.sent(&row.session, &row.main, &row.path).map_err(TreeError::from)?;
        }
    }
    let common = canonical(&context.project, Follow::All).as_ref().and_then(git::root_of);
    for found in lost::find(&ctx, common.map(|root| root.common).as_ref())? {
        match lost::take_back(&ctx, &found) {
            Ok(row) => {
                context.screen.say(&format!("{} is session {}'s again", row.path, row.session));
            }
            Err(why) => context.screen.say(&format!("{} stays without a row: {why}", found.path)),
        }
    }
    Ok(())
}

type Heads = Vec<(Pid, Head)>;

/// Every line that holds, in order of time, and where each journal stands.
fn record(home: &Home) -> Result<(Vec<Entry>, Heads), OperatorError> {
    let mut entries = Vec::new();
    let mut heads = Vec::new();
    let parts = log::all(home)?.into_iter().flat_map(|(_, parts)| parts);
    for Part { number, text } in parts {
        let mut head = Head::default();
        let mut pid = None;
        let mut bytes = 0;
        for line in text.split_inclusive('\n') {
            bytes += line.len() as u64;
            let Some((entry, seal)) = journal::open(line) else { continue };
            // A line that does not follow is evidence for `replay --verify`, not a fact.
            if entry.prev != head.seal {
                continue;
            }
            head = Head { seq: entry.seq, seal, bytes };
            pid = pid.or_else(|| Pid::new(&entry.pid));
            entries.push(entry);
        }
        if number.is_none() {
            heads.extend(pid.map(|pid| (pid, Head { bytes, ..head })));
        }
    }
    entries.sort_by_key(|entry| (entry.at, entry.tick));
    Ok((entries, heads))
}

fn set_aside(home: &Home) -> Result<Option<String>, OperatorError> {
    let table = home.table();
    let stamp = clock::unix_seconds();
    let mut moved = None;
    for part in PARTS {
        let mut from = table.clone().into_os_string();
        from.push(part);
        let mut to = table.clone().into_os_string();
        to.push(format!(".broken-{stamp}{part}"));
        if fs::symlink_metadata(&from).is_err() {
            continue;
        }
        fs::rename(&from, &to).map_err(|why| OperatorError::file(from.as_ref(), &why))?;
        moved.get_or_insert_with(|| to.to_string_lossy().into_owned());
    }
    Ok(moved)
}

fn restore(
    tx: &mut Tx<'_>,
    entries: &[Entry],
    heads: &Heads,
    now: Now,
    by: &str,
) -> Result<(usize, usize), StateError> {
    let mut replay = Replay::default();
    for entry in entries {
        replay.fold(entry);
    }
    // Ticks of an earlier boot mean nothing now; who still lives says its heartbeat.
    let boot = now.unix.saturating_sub(now.tick.0);
    let tick = |at: u64, tick: u64| if at >= boot { Tick(tick) } else { Tick(0) };
    for (pid, life) in &replay.processes {
        let started = tick(life.at, now.tick.0.saturating_sub(now.unix.saturating_sub(life.at)));
        if let Some(row) = process(tx, pid, life, started) {
            tx.put_process(&row)?;
        }
    }
    let mut counts = (0, 0);
    // Of two claims to one path the later was judged with the earlier one in sight.
    let mut lanes: Vec<_> = replay.lanes.iter().collect();
    lanes.sort_by_key(|(_, claim)| (claim.at, claim.tick));
    for ((path, _), claim) in lanes {
        let (Some(path), Some(holder)) = (AbsPath::new(path), Pid::new(&claim.pid)) else {
            continue;
        };
        let lane = LaneRow {
            root: claim.root.as_deref().and_then(AbsPath::new),
            holder,
            claimed: tick(claim.at, claim.tick),
            written: Some(tick(claim.at, claim.tick)),
            identity: Some(Identity::of(&path)),
            call: None,
            family: claim.family,
            path,
        };
        tx.put_lane(&lane)?;
        counts.0 += 1;
    }
    for (path, claim) in &replay.custody {
        let (Some(path), Some(owner)) = (AbsPath::new(path), Pid::new(&claim.pid)) else {
            continue;
        };
        let row = CustodyRow {
            root: claim.root.as_deref().and_then(AbsPath::new),
            since: tick(claim.at, claim.tick),
            identity: Some(Identity::of(&path)),
            family: claim.family,
            writer: Pid::new(&claim.writer).unwrap_or_else(|| owner.clone()),
            owner,
            path,
        };
        tx.put_custody(&row)?;
        counts.1 += 1;
    }
    for (pid, head) in heads {
        tx.put_head(pid, head)?;
    }
    for (pid, kept) in entries.iter().filter_map(prune::let_go) {
        tx.put_kept(&pid, kept)?;
    }
    if let Some(operator) = Pid::new("operator") {
        let note = Note { reason: Some(format!("table rebuilt, {by}")), ..Note::default() };
        tx.journal(&operator, What::Override, note);
    }
    Ok(counts)
}

/// A process as the journals tell it. Where its client is they do not say.
fn process(tx: &Tx<'_>, pid: &str, life: &Life, started: Tick) -> Option<ProcessRow> {
    let pid = Pid::new(pid)?;
    let session = life.session.as_deref().and_then(Pid::new).unwrap_or_else(|| pid.clone());
    Some(ProcessRow {
        parent: life.parent.as_deref().and_then(Pid::new),
        agent_type: life.agent_type.clone(),
        state: if life.ended { State::Ended } else { State::Open },
        started,
        started_unix: life.at,
        ..ProcessRow::begun(tx, pid, session)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::store::Make;

    fn claim(tx: &mut Tx<'_>, pid: &Pid, path: &str) {
        let target = Some(path.to_owned());
        tx.journal(pid, What::Claim, Note { target, root: Some("/w".into()), ..Note::default() });
    }

    #[test]
    fn a_live_lane_survives_the_loss_of_the_table_and_a_forged_release_frees_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        let (live, gone) = (Pid::new("live").unwrap(), Pid::new("gone").unwrap());
        let mut kernel = Kernel::open(&home, Make::IfAbsent, OPERATOR_PATIENCE).unwrap();
        kernel
            .transact(|tx| {
                claim(tx, &live, "/w/a");
                claim(tx, &gone, "/w/b");
                tx.journal(&gone, What::Exit, Note::default());
                Ok(())
            })
            .unwrap();
        drop(kernel);
        let forged = "{\"seq\":2,\"kind\":\"release\",\"target\":\"/w/a\"}\n";
        let journal = home.journal(&live);
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, text + forged).unwrap();
        fs::write(home.table(), "garbage").unwrap();

        let (entries, heads) = record(&home).unwrap();
        set_aside(&home).unwrap().unwrap();
        let mut kernel = Kernel::rebuild(&home, OPERATOR_PATIENCE).unwrap();
        let counts =
            kernel.transact(|tx| restore(tx, &entries, &heads, clock::now(), "dev")).unwrap();
        assert_eq!(counts, (1, 0));
        let lanes = kernel.look(|tx| tx.lanes()).unwrap();
        assert_eq!(lanes[0].holder, live);
        assert_eq!(kernel.look(|tx| tx.head(&gone)).unwrap().unwrap().seq, 2);
    }
}
