//! From one declared arm into another. The brain may write into an arm; an arm may not write into
//! another arm. No file declares no boundary.

use super::deny;
use crate::policy::facts::{Arms, Effect, Facts};
use crate::policy::lane::AbsPath;
use crate::policy::verdict::{Denial, RuleId};

/// Arm to arm.
pub const CROSS: RuleId = RuleId("arm.cross");
/// The boundary file can't be read.
pub const UNREADABLE: RuleId = RuleId("arm.unreadable");

/// Where an effect writes.
fn place(effect: &Effect) -> Option<&AbsPath> {
    match effect {
        Effect::Write { path }
        | Effect::Check { path }
        | Effect::Remove { path }
        | Effect::Meta { path, .. }
        | Effect::Worktree { path, .. } => Some(path),
        Effect::Stage { root, .. }
        | Effect::Unstage { root, .. }
        | Effect::Commit { root, .. }
        | Effect::Tree { root, .. }
        | Effect::Pathspec { root, .. }
        | Effect::Untracked { root, .. }
        | Effect::Head { root, .. }
        | Effect::Sequencer { root, .. }
        | Effect::Stash { root, .. }
        | Effect::Branch { root, .. } => Some(root),
        Effect::Opaque { dir, .. } => dir.as_ref(),
        Effect::Operator(_) => None,
    }
}

/// Objects to a write from one arm into another.
pub(in crate::policy) fn cross(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Arms::Declared { arms, own } = &facts.arms else { return None };
    if own.is_empty() {
        return None;
    }
    let path = place(effect)?;
    // Removing something above an arm takes the arm with it.
    let meets = |folder: &AbsPath| match effect {
        Effect::Remove { .. } => path.overlaps(folder),
        Effect::Write { .. }
        | Effect::Check { .. }
        | Effect::Meta { .. }
        | Effect::Stage { .. }
        | Effect::Unstage { .. }
        | Effect::Commit { .. }
        | Effect::Tree { .. }
        | Effect::Pathspec { .. }
        | Effect::Untracked { .. }
        | Effect::Head { .. }
        | Effect::Sequencer { .. }
        | Effect::Stash { .. }
        | Effect::Branch { .. }
        | Effect::Worktree { .. }
        | Effect::Operator(_)
        | Effect::Opaque { .. } => path.within(folder),
    };
    if arms.iter().any(|(name, at)| own.contains(name) && at.iter().any(|f| path.within(f))) {
        return None;
    }
    let (name, _) = arms.iter().find(|(name, at)| !own.contains(name) && at.iter().any(meets))?;
    let from = own.join(", ");
    Some(Denial {
        detail: Some(format!("this session works in arm {from}; the path belongs to arm {name}")),
        ..deny(effect, None, None)
    })
}

/// Objects to leaving the session's own repository while the boundary can't be read.
pub(in crate::policy) fn unreadable(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Arms::Unreadable { error, own } = &facts.arms else { return None };
    let path = place(effect)?;
    if own.iter().any(|o| path.within(o)) || facts.loose.contains(path) {
        return None;
    }
    Some(Denial { detail: Some(error.clone()), ..deny(effect, None, None) })
}
