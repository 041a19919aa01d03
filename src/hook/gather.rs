//! Facts for a decision: from the table inside the transaction, from the disk beside it. Finds
//! out; judges nothing.

use std::collections::HashSet;

use super::asked::{self, Asked, Cleanliness, Need};
use super::claims::{self, Standing};
use super::context::Context;
use super::site::Disk;
use crate::config::Isolation;
use crate::kernel::StateError;
use crate::kernel::life::{self, Registry};
use crate::kernel::store::{CustodyRow, LaneRow, PresenceRow, Tx};
use crate::policy::facts::{
    Basis, CommitScope, Effect, Facts, Hold, Kind, Left, Neighbour, Root, Staged, Stand, Why,
};
use crate::policy::lane::{AbsPath, Pid, Tick};
use crate::policy::program::Site;
use crate::policy::verdict::Holder;

/// Facts, and what must be asked of git before they can be trusted.
pub struct Gathered {
    /// The facts.
    pub facts: Facts,
    /// Questions that came up; the decision is not final while a denial hangs on one.
    pub needs: Vec<Need>,
    /// Holds that git found clean: they end.
    pub ended: Vec<Hold>,
}

/// One gathering.
pub struct Gather<'g, 'k, 't> {
    /// The transaction.
    pub tx: &'g mut Tx<'t>,
    /// Who lives.
    pub registry: &'g mut Registry,
    /// The event.
    pub context: &'g Context<'k>,
    /// The machine.
    pub disk: &'g Disk,
    /// git's answers so far.
    pub asked: &'g Asked,
}

impl Gather<'_, '_, '_> {
    /// Gathers everything the effects could meet. `still` holds what depends on no transaction.
    pub fn run(&mut self, effects: &[Effect], still: &Facts) -> Result<Gathered, StateError> {
        let mut out = Gathered { facts: still.clone(), needs: Vec::new(), ended: Vec::new() };
        self.holds(effects, &mut out)?;
        let roots: Vec<Root> = out.facts.roots.clone();
        for root in &roots {
            let mine = self.tx.presence_at(&root.path, &self.context.actor.session)?;
            let settled = mine.as_ref().is_some_and(|m| m.wrote && m.forked.is_none());
            let stages = effects.iter().any(|e| {
                let takes = matches!(e, Effect::Stage { .. } | Effect::Commit { .. });
                takes && e.root() == Some(&root.path)
            });
            let away = mine.as_ref().is_some_and(|m| m.forked.is_some());
            let stays = settled || self.context.isolation(self.tx)? == Isolation::Off;
            if !stages && !away && stays {
                continue;
            }
            let others = self.tx.presence_beside(&root.path, &self.context.actor.session)?;
            self.neighbours(root, &others, &mut out.facts)?;
            let stand = self.stand(root, mine.as_ref(), &others, &out.facts)?;
            out.facts.stands.push((root.path.clone(), stand));
        }
        self.index(effects, &mut out);
        self.ownership(effects, &mut out)?;
        Ok(out)
    }

    // --- holds -------------------------------------------------------------------------------

    fn holds(&mut self, effects: &[Effect], out: &mut Gathered) -> Result<(), StateError> {
        let mut lanes: Vec<LaneRow> = Vec::new();
        let mut custody: Vec<CustodyRow> = Vec::new();
        let mut seen: HashSet<AbsPath> = HashSet::new();
        for effect in effects {
            let (area, whole) = self.area(effect, &out.facts);
            let Some(area) = area else { continue };
            if !seen.insert(area.clone()) {
                continue;
            }
            if whole {
                lanes.extend(self.tx.lanes_in(&area)?);
                custody.extend(self.tx.custody_in(&area)?);
            } else {
                lanes.extend(self.tx.lanes_meeting(&area)?);
                custody.extend(self.tx.custody_meeting(&area)?);
            }
        }
        let mut known: HashSet<(AbsPath, Basis)> = HashSet::new();
        for row in lanes {
            if known.insert((row.path.clone(), Basis::Lane))
                && let Some(hold) = self.lane_hold(&row)?
            {
                self.settle(hold, row.written.is_none(), &row.holder, out);
            }
        }
        for row in custody {
            if known.insert((row.path.clone(), Basis::Custody))
                && let Some(hold) = self.custody_hold(&row, &mut out.facts.left)?
            {
                let owner = row.owner.clone();
                self.settle(hold, false, &owner, out);
            }
        }
        Ok(())
    }

    /// Where an effect could meet somebody: a path, or a whole root.
    fn area(&self, effect: &Effect, facts: &Facts) -> (Option<AbsPath>, bool) {
        if let Effect::Opaque { dir, why, .. } = effect {
            let cwd = self.context.cwd.clone();
            let at = dir.clone().or(cwd);
            if *why == Why::Operand {
                return (at, false);
            }
            return match at.as_ref().and_then(|d| facts.root_of(d)) {
                Some(root) => (Some(root.path.clone()), true),
                None => (at, false),
            };
        }
        if let Effect::Write { path } | Effect::Remove { path } = effect
            && let Some(root) = facts.roots.iter().find(|root| root.keeps_state(path))
        {
            return (Some(root.path.clone()), true);
        }
        match effect.root() {
            Some(root) => (Some(root.clone()), true),
            None => (effect.path().cloned(), false),
        }
    }

    fn lane_hold(&mut self, row: &LaneRow) -> Result<Option<Hold>, StateError> {
        match claims::standing(self.tx, self.registry, self.context, row)? {
            Standing::Mine | Standing::Lapsed | Standing::Idle | Standing::Family => {
                return Ok(None);
            }
            Standing::Held => {}
        }
        let age = self.tx.now().tick.since(row.claimed);
        let holder = self.registry.holder(self.tx, &row.holder, age)?;
        Ok(Some(Hold {
            path: row.path.clone(),
            root: row.root.clone(),
            basis: Basis::Lane,
            holder,
        }))
    }

    fn custody_hold(
        &mut self,
        row: &CustodyRow,
        left: &mut Vec<Left>,
    ) -> Result<Option<Hold>, StateError> {
        let me = self.context.actor.pid.clone();
        if row.owner == me {
            return Ok(None);
        }
        // Bytes nobody living answers for are covered by keep snapshots, not by refusals.
        let Some(heir) = self.registry.heir(self.tx, &row.owner)? else { return Ok(None) };
        if heir == me {
            return Ok(None);
        }
        let age = self.tx.now().tick.since(row.since);
        if row.writer != me {
            let writer = self.registry.holder(self.tx, &row.writer, age)?;
            let owner = self.registry.holder(self.tx, &heir, age)?;
            left.push(Left { path: row.path.clone(), root: row.root.clone(), writer, owner });
        }
        if row.family && self.registry.descends(self.tx, &me, &heir)? {
            return Ok(None);
        }
        let holder = self.registry.holder(self.tx, &heir, age)?;
        Ok(Some(Hold {
            path: row.path.clone(),
            root: row.root.clone(),
            basis: Basis::Custody,
            holder,
        }))
    }

    /// A hold that git found clean ends, unless its holder is about to write.
    fn settle(&mut self, hold: Hold, provisional: bool, owner: &Pid, out: &mut Gathered) {
        if provisional || hold.root.is_none() {
            out.facts.holds.push(hold);
            return;
        }
        match self.asked.clean(&hold.path) {
            Some(Cleanliness::Clean) if !life::is_writing(self.tx, owner) => out.ended.push(hold),
            Some(Cleanliness::Clean | Cleanliness::Dirty) => out.facts.holds.push(hold),
            None => {
                if let Some(root) = &hold.root {
                    let known = out.needs.iter_mut().find_map(|n| match n {
                        Need::Clean(r, paths) if r == root => Some(paths),
                        Need::Clean(..) | Need::Staged(_) | Need::Head(_) | Need::Stash(..) => None,
                    });
                    match known {
                        Some(paths) => paths.push(hold.path.clone()),
                        None => {
                            out.needs.push(Need::Clean(root.clone(), vec![hold.path.clone()]));
                        }
                    }
                }
                out.facts.holds.push(hold);
            }
        }
    }

    // --- sessions ----------------------------------------------------------------------------

    fn neighbours(
        &mut self,
        root: &Root,
        others: &[PresenceRow],
        facts: &mut Facts,
    ) -> Result<(), StateError> {
        for row in others {
            if !self.registry.session_lives(self.tx, &row.session)? {
                continue;
            }
            let age = self.tx.now().tick.since(row.since);
            let holder = self.registry.holder(self.tx, &row.session, age)?;
            facts.neighbours.push(Neighbour {
                root: root.path.clone(),
                holder,
                forked: row.forked.is_some(),
            });
        }
        Ok(())
    }

    fn stand(
        &mut self,
        root: &Root,
        mine: Option<&PresenceRow>,
        others: &[PresenceRow],
        facts: &Facts,
    ) -> Result<Stand, StateError> {
        let isolation = self.context.isolation(self.tx)?;
        let session = &self.context.actor.session;
        let forked = mine.and_then(|m| m.forked.clone());
        let live = |session: &Pid| facts.neighbours.iter().find(|n| n.holder.pid == *session);
        let counts = |row: &PresenceRow| {
            let neighbour = live(&row.session)?;
            let left = row.forked.is_none()
                || facts.holds.iter().any(|h| {
                    h.holder.session == row.session && h.root.as_ref() == Some(&root.path)
                });
            left.then_some(neighbour)
        };
        if let Some(tree) = forked {
            let first = match others.iter().find_map(counts) {
                None if self.is_brain(root) => {
                    self.before_in_brain(session, mine.map_or(self.tx.now().tick, |m| m.since))?
                }
                other => other.map(|n| n.holder.clone()),
            };
            return Ok(first.map_or(Stand::Resident, |first| Stand::Sent { tree, first }));
        }
        if isolation == Isolation::Off || mine.is_some_and(|m| m.wrote) {
            return Ok(Stand::Resident);
        }
        if self.is_own_tree(root)? {
            return Ok(Stand::Resident);
        }
        if isolation == Isolation::Always {
            return Ok(Stand::Newcomer { first: None });
        }
        let since = mine.map_or(self.tx.now().tick, |m| m.since);
        let my_turn = self.turn(session)?;
        let mut earlier = Vec::new();
        for row in others {
            if row.wrote || (row.since, self.turn(&row.session)?) < (since, my_turn) {
                earlier.push(row.session.clone());
            }
        }
        let before = |row: &&PresenceRow| earlier.contains(&row.session);
        let first = match others.iter().filter(before).find_map(counts) {
            None if self.is_brain(root) => self.before_in_brain(session, since)?,
            other => other.map(|n| n.holder.clone()),
        };
        Ok(first.map_or(Stand::Resident, |first| Stand::Newcomer { first: Some(first) }))
    }

    /// A tree that was made for this session.
    fn is_own_tree(&mut self, root: &Root) -> Result<bool, StateError> {
        let session = &self.context.actor.session;
        let rows = self.tx.presence_of(session)?;
        Ok(rows.iter().any(|r| r.forked.as_ref() == Some(&root.path)))
    }

    /// The brain's repository is everybody's: `~/.claude` itself.
    fn is_brain(&self, root: &Root) -> bool {
        self.context.home.brain() == root.path.as_path()
    }

    /// A process's place in the order of first sights.
    fn turn(&mut self, pid: &Pid) -> Result<u64, StateError> {
        Ok(self.registry.get(self.tx, pid)?.map_or(u64::MAX, |(row, _)| row.turn))
    }

    /// In the brain any live session that was there before counts, wherever it works.
    fn before_in_brain(
        &mut self,
        session: &Pid,
        since: Tick,
    ) -> Result<Option<Holder>, StateError> {
        let mine = self.tx.process(session)?;
        let mine = mine.map_or((since, u64::MAX), |row| (row.started, row.turn));
        for row in self.tx.processes()? {
            if row.kind == Kind::Session
                && row.pid != *session
                && (row.started, row.turn) < mine
                && self.registry.session_lives(self.tx, &row.pid)?
            {
                let age = self.tx.now().tick.since(row.started);
                return Ok(Some(self.registry.holder(self.tx, &row.pid, age)?));
            }
        }
        Ok(None)
    }

    // --- git's state -------------------------------------------------------------------------

    fn index(&mut self, effects: &[Effect], out: &mut Gathered) {
        for effect in effects {
            let root = match effect {
                Effect::Commit {
                    root,
                    scope: CommitScope::Index | CommitScope::Include(_),
                    ..
                }
                | Effect::Unstage { root, .. } => root,
                Effect::Commit { scope: CommitScope::Tracked | CommitScope::Only(_), .. }
                | Effect::Write { .. }
                | Effect::Check { .. }
                | Effect::Remove { .. }
                | Effect::Meta { .. }
                | Effect::Stage { .. }
                | Effect::Tree { .. }
                | Effect::Pathspec { .. }
                | Effect::Untracked { .. }
                | Effect::Head { .. }
                | Effect::Sequencer { .. }
                | Effect::Stash { .. }
                | Effect::Branch { .. }
                | Effect::Worktree { .. }
                | Effect::Operator(_)
                | Effect::Opaque { .. } => continue,
            };
            let theirs = out.facts.holds.iter().any(|h| h.root.as_ref() == Some(root));
            if !theirs || out.facts.staged.iter().any(|s| s.root == *root) {
                continue;
            }
            let paths = if let Some(paths) = self.asked.staged(root) {
                paths.clone()
            } else {
                out.needs.push(Need::Staged(root.clone()));
                None
            };
            out.facts.staged.push(Staged { root: root.clone(), paths });
            if let Some(root) = out.facts.roots.iter().find(|r| r.path == *root)
                && asked::sweeps(root)
            {
                out.facts.sweeping.push(root.path.clone());
            }
        }
    }
}

/// The roots that effects name or lie in, and the loose paths among them: what needs no table.
pub fn still(effects: &[Effect], context: &Context<'_>, disk: &Disk) -> Facts {
    let mut facts = Facts::about(context.actor.clone());
    let mut add = |root: Option<Root>| {
        if let Some(root) = root
            && !facts.roots.iter().any(|r| r.path == root.path)
        {
            facts.roots.push(root);
        }
    };
    for effect in effects {
        match effect.root().or(effect.path()) {
            Some(path) => add(disk.root_of(path)),
            None => add(context.root.clone()),
        }
    }
    let loose: Vec<AbsPath> =
        effects
            .iter()
            .filter_map(|effect| {
                if let Effect::Check { path } = effect { Some(path) } else { effect.changed() }
            })
            .filter(|path| super::loose::is_loose(path, facts.root_of(path), context.home.user()))
            .cloned()
            .collect();
    facts.loose = loose;
    facts
}
