//! Broad staging in a shared main checkout while another session lives there. Lanes play no part:
//! the other session may have written what no hook saw.

use super::deny;
use crate::policy::facts::{Basis, CommitScope, Effect, Facts, RootKind, Scope};
use crate::policy::verdict::{Denial, RuleId};

/// Broad staging beside another session.
pub const STAGING: RuleId = RuleId("dimension.staging");

/// Objects to broad staging beside another session.
pub(in crate::policy) fn staging(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let (root, scope) = match effect {
        Effect::Stage { root, scope, .. }
        | Effect::Commit {
            root,
            scope: CommitScope::Only(scope) | CommitScope::Include(scope),
            ..
        } => (root, scope),
        Effect::Commit { root, scope: CommitScope::Tracked, .. } => (root, &Scope::Tracked),
        Effect::Commit { scope: CommitScope::Index, .. }
        | Effect::Write { .. }
        | Effect::Check { .. }
        | Effect::Remove { .. }
        | Effect::Meta { .. }
        | Effect::Unstage { .. }
        | Effect::Tree { .. }
        | Effect::Pathspec { .. }
        | Effect::Untracked { .. }
        | Effect::Head { .. }
        | Effect::Sequencer { .. }
        | Effect::Stash { .. }
        | Effect::Branch { .. }
        | Effect::Worktree { .. }
        | Effect::Operator(_)
        | Effect::Opaque { .. } => return None,
    };
    // Naming the root itself is the broad form in other words.
    let whole = scope.broad(root);
    let linked =
        facts.roots.iter().any(|r| r.path == *root && matches!(r.kind, RootKind::Linked { .. }));
    if !whole || linked {
        return None;
    }
    let neighbour = facts.neighbours.iter().find(|n| n.root == *root && !n.forked)?;
    let holder = (neighbour.holder.clone(), Basis::Lane);
    Some(Denial {
        holder: Some(holder),
        detail: Some("a live session uses this checkout".to_owned()),
        ..deny(effect, Some(root), None)
    })
}
