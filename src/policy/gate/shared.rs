//! A session that came second: its first write sends it to a tree of its own, and from then on
//! the shared checkout is read-only for it while others live there.

use super::deny;
use crate::policy::facts::{Basis, Effect, Facts, Stand};
use crate::policy::lane::AbsPath;
use crate::policy::stand;
use crate::policy::verdict::{Denial, RuleId};

/// The first write of a newcomer.
pub const FORK: RuleId = RuleId("shared.fork");
/// Later writes of a session that was sent away.
pub const READ_ONLY: RuleId = RuleId("shared.readonly");

/// The root an effect would change, when it changes one in earnest.
fn changes<'f>(effect: &'f Effect, facts: &'f Facts) -> Option<&'f AbsPath> {
    match effect {
        Effect::Write { path } | Effect::Remove { path } if !facts.loose.contains(path) => {
            facts.root_of(path).map(|r| &r.path)
        }
        Effect::Stage { root, .. }
        | Effect::Unstage { root, .. }
        | Effect::Commit { root, .. }
        | Effect::Tree { root, .. }
        | Effect::Pathspec { root, .. }
        | Effect::Untracked { root, .. }
        | Effect::Head { root, .. }
        | Effect::Sequencer { root, .. } => Some(root),
        Effect::Write { .. }
        | Effect::Remove { .. }
        | Effect::Check { .. }
        | Effect::Meta { .. }
        | Effect::Stash { .. }
        | Effect::Branch { .. }
        | Effect::Worktree { .. }
        | Effect::Operator(_)
        | Effect::Opaque { .. } => None,
    }
}

/// Objects to the first write of a newcomer; the edge makes its tree.
pub(in crate::policy) fn fork(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let root = changes(effect, facts)?;
    match stand(facts, root) {
        Stand::Newcomer { first } => Some(Denial {
            holder: first.clone().map(|first| (first, Basis::Lane)),
            ..deny(effect, Some(root), None)
        }),
        Stand::Resident | Stand::Sent { .. } => None,
    }
}

/// Objects to a write into the checkout a session was sent away from.
pub(in crate::policy) fn read_only(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let root = changes(effect, facts)?;
    match stand(facts, root) {
        Stand::Sent { tree, first } => {
            let mapped = effect.path().and_then(|p| p.below(root)).map(|rest| tree.join(rest));
            Some(Denial {
                holder: Some((first.clone(), Basis::Lane)),
                target: mapped.or_else(|| Some(tree.clone())),
                ..deny(effect, Some(root), None)
            })
        }
        Stand::Resident | Stand::Newcomer { .. } => None,
    }
}
