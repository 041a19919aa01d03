//! Whose something is that no path tells: stash entries, branches, operations under way, the commit
//! at HEAD, a worktree. Finds out; judges nothing.

use super::asked::{self, Need};
use super::gather::{Gather, Gathered};
use crate::git::discover;
use crate::kernel::StateError;
use crate::kernel::store::Tx;
use crate::policy::facts::{Effect, Facts, Ownership, Root};
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::Holder;

impl Gather<'_, '_, '_> {
    pub(super) fn ownership(
        &mut self,
        effects: &[Effect],
        out: &mut Gathered,
    ) -> Result<(), StateError> {
        for effect in effects {
            let (words, root) = match (effect, effect.root()) {
                (
                    Effect::Stash { words, .. }
                    | Effect::Sequencer { words, .. }
                    | Effect::Branch { words, .. }
                    | Effect::Head { words, .. }
                    | Effect::Commit { words, amend: true, .. },
                    Some(root),
                ) => (words, root),
                (Effect::Worktree { path, words }, _) => {
                    let used = self.used_by_others(path)?;
                    let owner = used.map_or(Ownership::Own, Ownership::Others);
                    out.facts.ownership.push((words.clone(), owner));
                    continue;
                }
                _ => continue,
            };
            let found = out.facts.roots.iter().find(|r| r.path == *root).cloned();
            let Some(root) = found else { continue };
            let Some(other) = self.anybody_in(&root, &out.facts)? else { continue };
            self.whose(effect, words, &root, other, out)?;
        }
        Ok(())
    }

    fn whose(
        &mut self,
        effect: &Effect,
        words: &str,
        root: &Root,
        other: Holder,
        out: &mut Gathered,
    ) -> Result<(), StateError> {
        let owner = if let Effect::Stash { take, .. } = effect {
            match self.asked.stash(&root.path, take) {
                None => {
                    out.needs.push(Need::Stash(root.path.clone(), take.clone()));
                    Ownership::Unknown(other)
                }
                // What is pushed until the verb runs may be anybody's.
                Some([]) => Ownership::Unknown(other),
                Some(entries) => self.stash_entries(entries, root, &other)?,
            }
        } else if let Effect::Sequencer { operation, .. } = effect {
            if asked::under_way(&root.git_dir, operation) {
                let owner = self.tx.operation_owner(&root.git_dir, operation)?;
                let nobody = if out.facts.holds.iter().any(|h| h.root.as_ref() == Some(&root.path))
                {
                    Ownership::Unknown(other)
                } else {
                    Ownership::Own
                };
                self.relation(owner, nobody)?
            } else {
                Ownership::Own
            }
        } else if let Effect::Branch { branch, .. } = effect {
            self.branch_user(root, branch)?.map_or(Ownership::Own, Ownership::Others)
        } else {
            match self.asked.head(&root.path) {
                // Until git has told, it counts as theirs: only a refusal is looked into.
                None => {
                    out.needs.push(Need::Head(root.path.clone()));
                    out.facts.head_owner.push((root.path.clone(), Ownership::Unknown(other)));
                    return Ok(());
                }
                Some(sha) => {
                    let owner = match sha {
                        Some(sha) => self.tx.commit_owner(&root.common, sha)?,
                        None => None,
                    };
                    let whose = self.relation(owner, Ownership::Own)?;
                    out.facts.head_owner.push((root.path.clone(), whose));
                    return Ok(());
                }
            }
        };
        out.facts.ownership.push((words.to_owned(), owner));
        Ok(())
    }

    /// Whose stash entries are: the actor's only when all of them are.
    fn stash_entries(
        &mut self,
        entries: &[String],
        root: &Root,
        other: &Holder,
    ) -> Result<Ownership, StateError> {
        for sha in entries {
            let owner = self.tx.stash_owner(&root.common, sha)?;
            match self.relation(owner, Ownership::Unknown(other.clone()))? {
                Ownership::Own => {}
                theirs @ (Ownership::Others(_) | Ownership::Unknown(_)) => return Ok(theirs),
            }
        }
        Ok(Ownership::Own)
    }

    fn relation(&mut self, owner: Option<Pid>, nobody: Ownership) -> Result<Ownership, StateError> {
        let me = self.context.actor.pid.clone();
        let Some(owner) = owner else { return Ok(nobody) };
        if owner == me {
            return Ok(Ownership::Own);
        }
        match self.registry.heir(self.tx, &owner)? {
            None => Ok(Ownership::Own),
            Some(heir) if heir == me => Ok(Ownership::Own),
            Some(heir) => Ok(Ownership::Others(self.registry.holder(self.tx, &heir, 0)?)),
        }
    }

    /// Somebody else who lives in any tree of the repository.
    fn anybody_in(&mut self, root: &Root, facts: &Facts) -> Result<Option<Holder>, StateError> {
        if let Some(hold) = facts.holds.iter().find(|h| h.root.as_ref() == Some(&root.path)) {
            return Ok(Some(hold.holder.clone()));
        }
        for tree in discover::worktrees(&root.common) {
            if let Some(holder) = self.used_by_others(&tree.path)? {
                return Ok(Some(holder));
            }
        }
        self.used_by_others(&root.path)
    }

    /// A live session other than the actor's that uses a tree.
    fn used_by_others(&mut self, tree: &AbsPath) -> Result<Option<Holder>, StateError> {
        for row in self.tx.presence_beside(tree, &self.context.actor.session)? {
            if row.forked.is_none() && self.registry.session_lives(self.tx, &row.session)? {
                let age = self.tx.now().tick.since(row.since);
                return Ok(Some(self.registry.holder(self.tx, &row.session, age)?));
            }
        }
        for lane in self.tx.lanes_in(tree)? {
            if lane.holder != self.context.actor.pid
                && self.registry.is_live(self.tx, &lane.holder)?
            {
                return Ok(Some(self.registry.holder(self.tx, &lane.holder, 0)?));
            }
        }
        Ok(None)
    }

    /// A live session that works on a branch, in whichever tree has it checked out.
    fn branch_user(&mut self, root: &Root, branch: &str) -> Result<Option<Holder>, StateError> {
        for tree in discover::worktrees(&root.common) {
            if tree.head == discover::Head::Branch(branch.to_owned())
                && tree.path != root.path
                && let Some(holder) = self.used_by_others(&tree.path)?
            {
                return Ok(Some(holder));
            }
        }
        if let Some(id) = branch.strip_prefix("dim/").and_then(Pid::new)
            && id != self.context.actor.session
            && self.registry.is_live(self.tx, &id)?
        {
            return Ok(Some(self.registry.holder(self.tx, &id, 0)?));
        }
        Ok(None)
    }
}

/// The paths a process holds or has uncommitted bytes in.
pub fn own(tx: &Tx<'_>, me: &Pid) -> Result<Vec<AbsPath>, StateError> {
    let custody = tx.custody_of(me)?.into_iter().map(|c| c.path);
    let mut own: Vec<AbsPath> =
        custody.chain(tx.lanes_of(me)?.into_iter().map(|l| l.path)).collect();
    own.sort();
    own.dedup();
    Ok(own)
}
