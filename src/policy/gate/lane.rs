//! Paths somebody else works on: by equality or prefix, the parent not privileged.

use super::deny;
use crate::policy::facts::{Basis, Effect, Facts};
use crate::policy::verdict::{Denial, RuleId};

/// A write to a held path.
pub const HELD: RuleId = RuleId("lane.held");
/// Removal of a held path.
pub const TAKEN: RuleId = RuleId("lane.taken");

/// Objects to a write on somebody else's lane. Custody alone does not stop a write.
pub(in crate::policy) fn held(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let (Effect::Write { path } | Effect::Check { path }) = effect else { return None };
    let hold = facts.holds.iter().find(|h| h.basis == Basis::Lane && h.path.overlaps(path))?;
    Some(deny(effect, None, Some(hold)))
}

/// Objects to removing what holds somebody else's lane or uncommitted bytes.
pub(in crate::policy) fn taken(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Remove { path } = effect else { return None };
    let hold = facts.holds.iter().find(|h| h.path.overlaps(path))?;
    Some(deny(effect, None, Some(hold)))
}
