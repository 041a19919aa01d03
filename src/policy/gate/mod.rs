//! The judges: one file a boundary. Each looks at one effect and the facts, and objects or not.

pub mod arm;
pub mod dimension;
pub mod floor;
pub mod lane;
pub mod opaque;
pub mod shared;
pub mod tree;

use super::facts::{Effect, Facts, Hold};
use super::lane::AbsPath;
use super::verdict::{Denial, RuleId};

/// A denial of an effect; the rule's id is put in by `decide`.
pub(super) fn deny(effect: &Effect, root: Option<&AbsPath>, hold: Option<&Hold>) -> Denial {
    Denial {
        rule: RuleId(""),
        what: effect.describe(),
        target: hold.map(|h| h.path.clone()).or_else(|| effect.path().cloned()),
        root: root.or(effect.root()).cloned().or_else(|| hold.and_then(|h| h.root.clone())),
        holder: hold.map(|h| (h.holder.clone(), h.basis)),
        detail: None,
    }
}

/// Others' holds inside one work tree. A path is a root's only when it is not a nested root's.
pub(super) fn holds_in<'f>(
    facts: &'f Facts,
    root: &'f AbsPath,
) -> impl Iterator<Item = &'f Hold> + 'f {
    facts.holds.iter().filter(move |h| match &h.root {
        Some(its) => its == root,
        None => h.path.within(root),
    })
}
