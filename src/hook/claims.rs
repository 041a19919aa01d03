//! Lanes and custody as a call lives: provisional before it, confirmed or dropped after it, ended
//! when the path is committed or clean again.

use super::asked::{self, Asked, Cleanliness, Need};
use super::context::Context;
use crate::git::discover;
use crate::kernel::StateError;
use crate::kernel::life::{self, Registry};
use crate::kernel::store::{CustodyRow, Identity, Kernel, LaneRow, PresenceRow, Tx};
use crate::policy::facts::{Basis, Effect, Facts, Hold, Root};
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::{Note, Outcome, What};

/// Most paths of others that are looked at for drift after one command.
const MOST_DRIFT: usize = 2000;

/// What a lane means to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The caller's own.
    Mine,
    /// Its holder is silent, gone or has ended.
    Lapsed,
    /// Its holder lives and has not written to it for longer than the setting allows.
    Idle,
    /// Handed to the holder's children, of whom the caller is one.
    Family,
    /// Somebody else works there.
    Held,
}

/// What a lane means to the caller. The judge and the claim ask this one question.
pub fn standing(
    tx: &Tx<'_>,
    registry: &mut Registry,
    context: &Context<'_>,
    lane: &LaneRow,
) -> Result<Standing, StateError> {
    let me = &context.actor.pid;
    if lane.holder == *me {
        return Ok(Standing::Mine);
    }
    if !registry.is_live(tx, &lane.holder)? {
        return Ok(Standing::Lapsed);
    }
    if lane.family && registry.descends(tx, me, &lane.holder)? {
        return Ok(Standing::Family);
    }
    // The boot clock of another machine says nothing here.
    let here = registry.get(tx, &lane.holder)?.is_none_or(|(row, _)| row.place == *tx.place());
    if let Some(idle) = context.settings.lane_idle_seconds
        && here
        && tx.now().tick.since(lane.written.unwrap_or(lane.claimed)) >= idle
        && !life::is_writing(tx, &lane.holder)
    {
        return Ok(Standing::Idle);
    }
    Ok(Standing::Held)
}

/// Takes the lanes an allowed call needs. Returns those of them whose content, if there is any,
/// nobody is known to have written.
pub fn take(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    registry: &mut Registry,
    facts: &Facts,
    effects: &[Effect],
    outcome: &Outcome,
) -> Result<Vec<AbsPath>, StateError> {
    let mut unowned = Vec::new();
    for path in &outcome.claims {
        let mine = tx.lane_at(path)?.is_some_and(|lane| lane.holder == context.actor.pid);
        if !mine && tx.custody_at(path)?.is_none() {
            unowned.push(path.clone());
        }
        take_one(tx, context, registry, facts.root_of(path), path)?;
    }
    // What the session changes in a root makes it live there, and no newcomer any more.
    for effect in effects {
        let root = match (effect.root(), effect) {
            (Some(root), _) => Some(root.clone()),
            (None, Effect::Write { path } | Effect::Remove { path }) => {
                facts.root_of(path).map(|r| r.path.clone())
            }
            (None, _) => None,
        };
        if let Some(root) = root {
            wrote(tx, &context.actor.session, &root)?;
        }
        if let Effect::Tree { root, words } = effect
            && let Some(root) = facts.roots.iter().find(|r| r.path == *root)
        {
            begin_operation(tx, context, root, words)?;
        }
    }
    Ok(unowned)
}

fn wrote(tx: &mut Tx<'_>, session: &Pid, root: &AbsPath) -> Result<(), StateError> {
    match tx.presence_at(root, session)? {
        Some(row) if row.wrote || row.forked.is_some() => Ok(()),
        Some(row) => tx.put_presence(&PresenceRow { wrote: true, ..row }),
        None => tx.put_presence(&PresenceRow {
            root: root.clone(),
            session: session.clone(),
            since: tx.now().tick,
            wrote: true,
            forked: None,
        }),
    }
}

fn begin_operation(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    root: &Root,
    words: &str,
) -> Result<(), StateError> {
    let operations = ["merge", "rebase", "cherry-pick", "revert", "am", "bisect"];
    let named =
        |o: &&&str| words.split_whitespace().any(|w| w == **o || w == "pull" && **o == "merge");
    if let Some(operation) = operations.iter().find(named)
        && !asked::under_way(&root.git_dir, operation)
    {
        tx.put_operation(&root.git_dir, operation, &context.actor.pid)?;
    }
    Ok(())
}

fn take_one(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    registry: &mut Registry,
    root: Option<&Root>,
    path: &AbsPath,
) -> Result<(), StateError> {
    let me = &context.actor.pid;
    let call = context.payload.call().map(str::to_owned);
    let known = tx.lanes_meeting(path)?;
    if let Some(mine) = known.iter().find(|l| l.path == *path && l.holder == *me) {
        if mine.family {
            // Handed to the children and not taken by one: it is the holder's alone again.
            tx.put_lane(&LaneRow { family: false, ..mine.clone() })?;
            tx.journal(me, What::Claim, about(context, path, root.map(|r| &r.path)));
        }
        return Ok(());
    }
    let now = tx.now().tick;
    for old in &known {
        let (what, reason) = match standing(tx, registry, context, old)? {
            Standing::Mine => continue,
            Standing::Lapsed => (What::Expire, "lapsed"),
            Standing::Idle => (What::Expire, "idle"),
            Standing::Family => (What::Release, "handed on"),
            // The judges saw this lane, or the claim is none: never two holders.
            Standing::Held => {
                return Err(StateError::Table(format!("{} is held by {}", old.path, old.holder)));
            }
        };
        tx.drop_lane(&old.path)?;
        let note = Note {
            target: Some(old.path.to_string()),
            reason: Some(reason.to_owned()),
            ..Note::default()
        };
        tx.journal(&old.holder, what, note);
        if what == What::Expire {
            let text = format!("octo: your lane on {} lapsed; {me} has it now", old.path);
            tx.notify(&old.holder, &text)?;
        }
    }
    tx.put_lane(&LaneRow {
        path: path.clone(),
        root: root.map(|r| r.path.clone()),
        holder: me.clone(),
        claimed: now,
        written: None,
        identity: Some(Identity::of(path)),
        call,
        family: false,
    })?;
    tx.journal(me, What::Claim, about(context, path, root.map(|r| &r.path)));
    Ok(())
}

fn about(context: &Context<'_>, path: &AbsPath, root: Option<&AbsPath>) -> Note {
    Note {
        target: Some(path.to_string()),
        root: root.map(ToString::to_string),
        tool: Some(context.payload.tool().to_owned()).filter(|t| !t.is_empty()),
        call: context.payload.call().map(str::to_owned),
        ..Note::default()
    }
}

/// Whether what a call did must be looked up after it by its id.
#[must_use]
pub fn needs_call(effects: &[Effect]) -> bool {
    effects.iter().any(|e| e.root().is_some())
}

/// Where HEAD and the stash of the effects' roots stand before the call.
#[must_use]
pub fn tips_before(effects: &[Effect], facts: &Facts) -> Vec<(AbsPath, String, String)> {
    let named = |root: &&Root| effects.iter().any(|e| e.root() == Some(&root.path));
    let line = |root: &Root| {
        let tips = asked::tips(root);
        let text = |tip: Option<String>| tip.unwrap_or_else(|| "-".to_owned());
        (root.path.clone(), text(tips.head), text(tips.stash))
    };
    facts.roots.iter().filter(named).map(line).collect()
}

/// Ends a lane or custody whose path git found clean.
pub fn end_clean(tx: &mut Tx<'_>, hold: &Hold) -> Result<(), StateError> {
    let owner = match hold.basis {
        Basis::Lane => tx.lane_at(&hold.path)?.map(|l| l.holder),
        Basis::Custody => tx.custody_at(&hold.path)?.map(|c| c.owner),
    };
    tx.drop_lane(&hold.path)?;
    tx.drop_custody(&hold.path)?;
    if let Some(owner) = owner {
        let note = Note { target: Some(hold.path.to_string()), ..Note::default() };
        tx.journal(&owner, What::Clean, note);
    }
    Ok(())
}

/// After a call that was to write `paths`: what changed is confirmed, what did not is dropped.
pub fn confirm(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    lanes: Vec<LaneRow>,
) -> Result<(), StateError> {
    let me = context.actor.pid.clone();
    let now = tx.now().tick;
    for lane in lanes {
        let identity = Identity::of(&lane.path);
        if lane.identity.as_ref() == Some(&identity) {
            let other = lane.call.as_deref().is_some_and(|c| Some(c) != context.payload.call());
            if lane.written.is_none() && !other {
                // Refused by the user, failed, or wrote the same bytes: no phantom is left.
                tx.drop_lane(&lane.path)?;
                let note = Note {
                    reason: Some("unwritten".to_owned()),
                    ..about(context, &lane.path, lane.root.as_ref())
                };
                tx.journal(&me, What::Release, note);
            }
            continue;
        }
        let root = lane.root.clone();
        tx.put_lane(&LaneRow {
            written: Some(now),
            identity: Some(identity.clone()),
            call: None,
            ..lane.clone()
        })?;
        if lane.written.is_none() || tx.custody_at(&lane.path)?.is_none_or(|c| c.owner != me) {
            tx.journal(&me, What::Confirm, about(context, &lane.path, root.as_ref()));
        }
        tx.put_custody(&CustodyRow {
            path: lane.path.clone(),
            root,
            owner: me.clone(),
            since: now,
            identity: Some(identity),
            family: false,
            writer: me.clone(),
        })?;
    }
    Ok(())
}

/// After a command: paths of others that changed without having been read. Told to the owner,
/// never claimed.
pub fn drift(tx: &mut Tx<'_>, context: &Context<'_>, root: &AbsPath) -> Result<(), StateError> {
    let me = context.actor.pid.clone();
    for lane in tx.lanes_beside(root, &me, MOST_DRIFT)? {
        let identity = Identity::of(&lane.path);
        if lane.identity.as_ref().is_some_and(|i| *i != identity)
            && !life::is_writing(tx, &lane.holder)
        {
            tell_drift(tx, context, &lane.holder, &lane.path, root)?;
            tx.put_lane(&LaneRow { identity: Some(identity), ..lane })?;
        }
    }
    for kept in tx.custody_beside(root, &me, MOST_DRIFT)? {
        let identity = Identity::of(&kept.path);
        if kept.identity.as_ref().is_some_and(|i| *i != identity)
            && !life::is_writing(tx, &kept.owner)
        {
            tell_drift(tx, context, &kept.owner, &kept.path, root)?;
            tx.put_custody(&CustodyRow { identity: Some(identity), ..kept })?;
        }
    }
    Ok(())
}

fn tell_drift(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    owner: &Pid,
    path: &AbsPath,
    root: &AbsPath,
) -> Result<(), StateError> {
    let me = &context.actor.pid;
    tx.journal(me, What::Drift, about(context, path, Some(root)));
    let text = format!(
        "octo: {path}, which is yours, changed while {me} ran a command that did not name it; look at it before you go on"
    );
    tx.notify(owner, &text)
}

/// Paths of the caller in a root that git finds clean after a commit or the like: lanes and
/// custody there end.
pub fn sweep_clean(
    kernel: &mut Kernel,
    context: &Context<'_>,
    root: &AbsPath,
) -> Result<(), StateError> {
    let me = context.actor.pid.clone();
    let (lanes, custody) = kernel.look(|tx| Ok((tx.lanes_in(root)?, tx.custody_in(root)?)))?;
    let mut paths: Vec<AbsPath> = lanes
        .iter()
        .filter(|l| l.holder == me)
        .map(|l| l.path.clone())
        .chain(custody.iter().map(|c| c.path.clone()))
        .collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Ok(());
    }
    let mut asked = Asked::default();
    asked.ask(&Need::Clean(root.clone(), paths.clone()));
    kernel.transact(|tx| {
        for path in &paths {
            if asked.clean(path) != Some(Cleanliness::Clean) {
                continue;
            }
            let lane = tx.lane_at(path)?;
            let kept = tx.custody_at(path)?;
            let foreign = lane.as_ref().is_some_and(|l| l.holder != me);
            if foreign || lane.as_ref().is_some_and(|l| l.written.is_none()) {
                continue;
            }
            let Some(owner) = lane.map(|l| l.holder).or(kept.map(|c| c.owner)) else { continue };
            tx.drop_lane(path)?;
            tx.drop_custody(path)?;
            let note = Note { target: Some(path.to_string()), ..Note::default() };
            tx.journal(&owner, What::Clean, note);
        }
        Ok(())
    })
}

/// Notes whose the commit at HEAD and the entry on top of the stash are, where the call made them.
pub fn note_made(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    before: &(AbsPath, String, String),
) -> Result<(), StateError> {
    let (root, head, stash) = before;
    let Some(found) = discover::root_of(root) else { return Ok(()) };
    let me = &context.actor.pid;
    let tips = asked::tips(&found);
    if let Some(sha) = tips.head.filter(|sha| sha != head) {
        tx.put_commit(&found.common, &sha, me)?;
    }
    if let Some(sha) = tips.stash.filter(|sha| sha != stash)
        && tx.stash_owner(&found.common, &sha)?.is_none()
    {
        tx.put_stash(&found.common, &sha, me)?;
    }
    Ok(())
}
