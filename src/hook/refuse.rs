//! A refusal on record and in words: the journal's line, the counters, the word left for the
//! holder, and who gives way where processes wait for each other. Decides no verdict.

use super::context::Context;
use super::notify;
use crate::kernel::StateError;
use crate::kernel::store::{ProcessRow, Tx};
use crate::policy::facts::Facts;
use crate::policy::lane::Pid;
use crate::policy::verdict::{Denial, Note, Party, What};
use crate::policy::{rules, telling};

/// Most processes of a circle of waiting that are followed.
const LONGEST_RING: usize = 9;

/// How a shell calls one of our names: plainly where it is on PATH, else by its whole path.
#[must_use]
pub fn callable(name: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join(name).is_file()) {
        return name.to_owned();
    }
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(std::path::Path::parent).map(|dir| dir.join(name));
    beside
        .filter(|path| path.is_file())
        .map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// Puts a denial on record and leaves the holder a word. Gives advice where processes wait for
/// each other.
pub fn record(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    denial: &Denial,
    row: &mut ProcessRow,
) -> Result<Option<String>, StateError> {
    let gate = rules::find(denial.rule.0).map(|(gate, ..)| gate.to_owned());
    let note = Note {
        rule: Some(denial.rule.0.to_owned()),
        gate,
        target: Some(
            denial
                .target
                .as_ref()
                .map_or_else(|| telling::plain(&denial.what), ToString::to_string),
        ),
        root: denial.root.as_ref().map(ToString::to_string),
        holder: denial.holder.as_ref().map(|(h, _)| Party::from(h)),
        tool: Some(context.payload.tool().to_owned()),
        call: context.payload.call().map(str::to_owned),
        ..Note::default()
    };
    tx.journal(&row.pid, What::Deny, note);
    let key = format!("{} {}", denial.rule.0, denial.what);
    row.in_a_row = if row.last_denied.as_deref() == Some(&key) { row.in_a_row + 1 } else { 1 };
    row.last_denied = Some(key);
    row.denials += 1;
    row.seen = context.now.tick;
    row.waits_for = denial.holder.as_ref().map(|(h, _)| h.pid.clone());
    tx.put_process(row)?;
    if let Some((holder, _)) = &denial.holder
        && denial.rule.0.starts_with("lane.")
        && row.in_a_row == 1
    {
        let text = format!(
            "octo: {} was refused {} because you hold it; if you are done with it: octo yield {}",
            row.pid,
            telling::plain(&denial.what),
            denial.target.as_ref().map_or(String::new(), ToString::to_string)
        );
        tx.notify(&holder.pid, &text)?;
    }
    match &denial.holder {
        Some((holder, _)) => circle(tx, row, &holder.pid),
        None => Ok(None),
    }
}

/// The words of a denial, with what only the table knows: repetition and waiting in a circle.
#[must_use]
pub fn told(denial: &Denial, facts: &Facts, row: &ProcessRow) -> String {
    let mut text = telling::tell(denial, facts);
    if row.in_a_row >= notify::PATIENCE {
        text = format!(
            "the same command was refused {}x; repeating it won't help. A person can look: octo ps{}\n{text}",
            row.in_a_row,
            denial
                .holder
                .as_ref()
                .map_or(String::new(), |(h, _)| format!("; octo ps --release {}", h.pid)),
        );
    }
    text
}

/// Processes that wait for each other in a circle: the one that began last gives way, and is told
/// so at its next event when it is not the caller.
fn circle(tx: &mut Tx<'_>, me: &ProcessRow, holder: &Pid) -> Result<Option<String>, StateError> {
    let mut ring = vec![me.clone()];
    let mut at = holder.clone();
    while at != me.pid {
        let row = tx.process(&at)?.filter(|_| ring.len() < LONGEST_RING);
        let Some(row) = row else { return Ok(None) };
        let next = row.waits_for.clone();
        ring.push(row);
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    let last = ring.into_iter().max_by(|a, b| (a.started, a.turn).cmp(&(b.started, b.turn)));
    let Some(last) = last else { return Ok(None) };
    if last.pid == me.pid {
        return Ok(Some(format!(
            "{holder} waits for you as well; you began later, so give way: octo yield, then go on when it is done"
        )));
    }
    let word = format!(
        "octo: {} waits for what you hold, as you wait for others; you began later, so give way: octo yield",
        me.pid
    );
    tx.notify(&last.pid, &word)?;
    Ok(Some(format!(
        "{holder} waits for you as well; {} began later and is told to give way",
        last.pid
    )))
}
