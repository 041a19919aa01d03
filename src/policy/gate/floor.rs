//! The floor: kernel state, wiring and operator's verbs are nobody's lane. Holds for every hooked
//! process, alone or not, and no setting takes it away.

use super::deny;
use crate::policy::facts::{Effect, Facts, OperatorUse};
use crate::policy::lane::AbsPath;
use crate::policy::verdict::{Denial, RuleId};

/// Kernel state.
pub const STATE: RuleId = RuleId("floor.state");
/// The hooks' own wiring.
pub const WIRING: RuleId = RuleId("floor.wiring");
/// Operator's verbs.
pub const OPERATOR: RuleId = RuleId("floor.operator");

/// Whether an effect changes `place`, something in it, or takes it away with something above it.
fn reaches(effect: &Effect, place: &AbsPath) -> bool {
    match effect {
        // A write onto an ancestor is no write bash could do, but a client that replaced a
        // directory by a file would take all below it along.
        Effect::Write { path } | Effect::Check { path } | Effect::Remove { path } => {
            path.overlaps(place)
        }
        Effect::Meta { path, deep } => path.within(place) || (*deep && place.within(path)),
        Effect::Worktree { path, .. } => place.within(path),
        Effect::Pathspec { root, scope, .. } => {
            place.within(root) && scope.overlaps(root, place) && !scope.broad(root)
        }
        Effect::Stage { .. }
        | Effect::Unstage { .. }
        | Effect::Commit { .. }
        | Effect::Tree { .. }
        | Effect::Untracked { .. }
        | Effect::Head { .. }
        | Effect::Sequencer { .. }
        | Effect::Stash { .. }
        | Effect::Branch { .. }
        | Effect::Operator(_)
        | Effect::Opaque { .. } => false,
    }
}

fn reach_of<'f>(effect: &Effect, places: &'f [AbsPath]) -> Option<&'f AbsPath> {
    places.iter().find(|place| reaches(effect, place))
}

/// Objects to a change of the kernel's state.
pub(in crate::policy) fn state(effect: &Effect, facts: &Facts) -> Option<Denial> {
    // An unread operand below the kernel's folder could be any file in it.
    if let Effect::Opaque { dir: Some(dir), .. } = effect
        && facts.floor.state.iter().any(|place| dir.within(place))
    {
        return Some(deny(effect, None, None));
    }
    reach_of(effect, &facts.floor.state)
        .map(|place| Denial { target: Some(place.clone()), ..deny(effect, None, None) })
}

/// Objects to a change that would unhook us.
pub(in crate::policy) fn wiring(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let place = reach_of(effect, &facts.floor.wiring)
        .or_else(|| reach_of(effect, &facts.floor.unhooked))?;
    Some(Denial { target: Some(place.clone()), ..deny(effect, None, None) })
}

/// Objects to the operator's verbs, and to verbs for somebody else's id.
pub(in crate::policy) fn operator(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Operator(used) = effect else { return None };
    match used {
        OperatorUse::ForId { id, .. }
            if id == facts.actor.pid.as_str() || id == facts.actor.session.as_str() =>
        {
            None
        }
        OperatorUse::ForId { .. } | OperatorUse::Verb(_) | OperatorUse::HookByHand => {
            Some(deny(effect, None, None))
        }
    }
}
