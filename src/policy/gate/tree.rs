//! Verbs that take a whole tree, an index, a history or something all worktrees share. Judged by
//! lanes and by custody: a finished agent's uncommitted work is no fair game.

use super::{deny, holds_in};
use crate::policy::facts::{Basis, CommitScope, Effect, Facts, Hold, Ownership, Scope};
use crate::policy::lane::AbsPath;
use crate::policy::verdict::{Denial, RuleId};

/// Staging others' paths.
pub const STAGING: RuleId = RuleId("tree.staging");
/// Committing others' staged work.
pub const COMMIT: RuleId = RuleId("tree.commit");
/// Unstaging others' work.
pub const INDEX: RuleId = RuleId("tree.index");
/// Whole-tree verbs.
pub const WHOLE: RuleId = RuleId("tree.whole");
/// Throwing away others' content by name.
pub const PATHSPEC: RuleId = RuleId("tree.pathspec");
/// Replacing others' commits.
pub const HISTORY: RuleId = RuleId("tree.history");
/// The shared stash.
pub const STASH: RuleId = RuleId("tree.stash");
/// Others' operations under way.
pub const OPERATION: RuleId = RuleId("tree.operation");
/// Others' branches and worktrees.
pub const BRANCH: RuleId = RuleId("tree.branch");

fn met<'f>(facts: &'f Facts, root: &'f AbsPath, scope: &Scope) -> Option<&'f Hold> {
    holds_in(facts, root).find(|h| scope.overlaps(root, &h.path))
}

/// Objects to staging others' paths.
pub(in crate::policy) fn staging(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let hit = if let Effect::Stage { root, scope, .. } = effect {
        met(facts, root, scope)
    } else if let Effect::Commit { root, scope, .. } = effect {
        match scope {
            CommitScope::Index => None,
            CommitScope::Tracked => met(facts, root, &Scope::Tracked),
            CommitScope::Only(scope) | CommitScope::Include(scope) => met(facts, root, scope),
        }
    } else {
        None
    };
    hit.map(|hold| deny(effect, None, Some(hold)))
}

/// The first of others' holds that has something staged within `scope`; with an unreadable index,
/// any hold.
fn staged<'f>(facts: &'f Facts, root: &'f AbsPath, scope: &Scope) -> Option<&'f Hold> {
    let index = facts.staged.iter().find(|s| s.root == *root);
    holds_in(facts, root).filter(|h| scope.overlaps(root, &h.path)).find(|h| match index {
        None => false,
        Some(index) => match &index.paths {
            None => true,
            Some(paths) => paths.iter().any(|p| p.overlaps(&h.path) && scope.overlaps(root, p)),
        },
    })
}

/// Objects to a commit that takes others' staged work, or whose hooks sweep the tree.
pub(in crate::policy) fn commit(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Commit { root, scope, .. } = effect else { return None };
    if facts.sweeping.contains(root)
        && let Some(hold) = holds_in(facts, root).next()
    {
        let detail = "a commit hook here stashes and restores the whole tree";
        return Some(Denial { detail: Some(detail.to_owned()), ..deny(effect, None, Some(hold)) });
    }
    match scope {
        CommitScope::Index | CommitScope::Include(_) => {
            staged(facts, root, &Scope::All).map(|hold| Denial {
                detail: Some(format!("{} is staged in the shared index", hold.path)),
                ..deny(effect, None, Some(hold))
            })
        }
        CommitScope::Tracked | CommitScope::Only(_) => None,
    }
}

/// Objects to unstaging others' work.
pub(in crate::policy) fn index(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Unstage { root, scope, .. } = effect else { return None };
    staged(facts, root, scope).map(|hold| deny(effect, None, Some(hold)))
}

/// Objects to whole-tree verbs beside others' work, and to reaching past git for what they change.
pub(in crate::policy) fn whole(effect: &Effect, facts: &Facts) -> Option<Denial> {
    if let Effect::Write { path } | Effect::Remove { path } = effect {
        let root = facts.roots.iter().find(|root| root.keeps_state(path))?;
        let hold = holds_in(facts, &root.path).next()?;
        let detail = "git keeps this checkout's index, HEAD and history there".to_owned();
        return Some(Denial { detail: Some(detail), ..deny(effect, Some(&root.path), Some(hold)) });
    }
    let (Effect::Tree { root, .. } | Effect::Head { root, .. }) = effect else { return None };
    holds_in(facts, root).next().map(|hold| deny(effect, None, Some(hold)))
}

/// Objects to throwing away others' content by name.
pub(in crate::policy) fn pathspec(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Pathspec { root, scope, .. } = effect else { return None };
    met(facts, root, scope).map(|hold| deny(effect, None, Some(hold)))
}

/// Objects to replacing somebody else's commit.
pub(in crate::policy) fn history(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let (Effect::Commit { root, amend: true, .. } | Effect::Head { root, .. }) = effect else {
        return None;
    };
    let (_, owner) = facts.head_owner.iter().find(|(r, _)| r == root)?;
    match owner {
        Ownership::Others(holder) | Ownership::Unknown(holder) => Some(Denial {
            holder: Some((holder.clone(), Basis::Custody)),
            detail: Some("the commit at HEAD is theirs".to_owned()),
            ..deny(effect, Some(root), None)
        }),
        Ownership::Own => None,
    }
}

fn others(effect: &Effect, facts: &Facts, words: &str, why: &str) -> Option<Denial> {
    match facts.ownership(words)? {
        Ownership::Own => None,
        Ownership::Others(holder) | Ownership::Unknown(holder) => Some(Denial {
            holder: Some((holder.clone(), Basis::Custody)),
            detail: Some(why.to_owned()),
            ..deny(effect, effect.root(), None)
        }),
    }
}

/// Objects to taking a stash entry that is not the actor's.
pub(in crate::policy) fn stash(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Stash { words, .. } = effect else { return None };
    others(effect, facts, words, "the entry is not yours, and the stack is shared by all worktrees")
}

/// Objects to ending or continuing somebody else's operation.
pub(in crate::policy) fn operation(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Sequencer { words, .. } = effect else { return None };
    others(effect, facts, words, "somebody else began it")
}

/// Objects to removing a branch or worktree a live session works on.
pub(in crate::policy) fn branch(effect: &Effect, facts: &Facts) -> Option<Denial> {
    if let Effect::Worktree { path, words } = effect {
        let hold = facts.holds.iter().find(|h| h.path.within(path));
        return hold
            .map(|hold| deny(effect, None, Some(hold)))
            .or_else(|| others(effect, facts, words, "a live session works in it"));
    }
    let Effect::Branch { words, .. } = effect else { return None };
    others(effect, facts, words, "a live session works on it")
}
