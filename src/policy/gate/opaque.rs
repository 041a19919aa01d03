//! What could not be read: judged by who else has work at stake, or run fenced.

use super::{deny, holds_in};
use crate::policy::facts::{Effect, Facts, Fenced, Why};
use crate::policy::verdict::{Denial, RuleId};

/// A command that could not be read.
pub const OPAQUE: RuleId = RuleId("shell.opaque");

/// Objects to an unread command where somebody else has work at stake.
pub(in crate::policy) fn opaque(effect: &Effect, facts: &Facts) -> Option<Denial> {
    let Effect::Opaque { dir, why, .. } = effect else { return None };
    if facts.fenced == Fenced::Whole {
        return None;
    }
    let hold = match (dir, why) {
        // Bounded: something at or below this directory, nowhere else.
        (Some(dir), Why::Operand) => facts.holds.iter().find(|h| h.path.overlaps(dir)),
        (Some(dir), _) => match facts.root_of(dir) {
            Some(root) => holds_in(facts, &root.path).next(),
            None => facts.holds.iter().find(|h| h.path.within(dir)),
        },
        (None, _) => facts.holds.first(),
    }?;
    Some(Denial { detail: Some(reason(*why).to_owned()), ..deny(effect, None, Some(hold)) })
}

/// Why, in words.
#[must_use]
pub fn reason(why: Why) -> &'static str {
    match why {
        Why::Unterminated => "a quote, bracket or here-document in it never ends",
        Why::Syntax => "bash would stop in the middle of it",
        Why::TooDeep => "it is nested deeper than is followed",
        Why::TooLong => "it is longer, or runs more, than is read",
        Why::Program => "which program it runs is only known when it runs",
        Why::Operand => "which file it changes is only known when it runs",
        Why::Generated => "it runs text that is only known when it runs",
        Why::Directory => "the directory it works in is only known when it runs",
        Why::State => "what it would reach could not be found out",
    }
}
