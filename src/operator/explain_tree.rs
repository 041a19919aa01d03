//! The reading of a command as a tree: each program bash would run, below the shell text it was
//! found in, with what it would do, and a mark at the word that decided. Shows; judges nothing.

use super::explain::{Answer, describe};
use super::screen::{Screen, Tone, harmless};
use crate::hook::context::Context as HookContext;
use crate::hook::observe;
use crate::hook::site::Disk;
use crate::policy::facts::Effect;
use crate::policy::verdict::Verdict;

pub(super) use crate::hook::observe::Step;

/// Programs that are shown.
const MOST: usize = 200;

/// What the call's command was read as.
pub(super) fn reading(context: &HookContext<'_>, disk: &Disk) -> Vec<Step> {
    observe::steps(&context.payload, disk)
}

/// Whether the verdict hangs on this effect.
pub(super) fn decides(effect: &Effect, answer: &Answer) -> bool {
    match &answer.outcome.verdict {
        Verdict::Allow => false,
        Verdict::Deny(denial) => {
            let root = denial.root.as_ref();
            effect.describe() == denial.what
                && effect.root().is_none_or(|own| root.is_none_or(|r| r == own))
        }
    }
}

/// The lines of the tree.
pub(super) fn tree(answer: &Answer, screen: &Screen) -> Vec<String> {
    if answer.reading.is_empty() {
        return answer.effects.iter().map(|effect| line(effect, 1, answer, screen)).collect();
    }
    let mut lines = Vec::new();
    for step in answer.reading.iter().take(MOST) {
        let indent = "  ".repeat(usize::from(step.depth) + 1);
        let words = screen.paint(Tone::Dim, &harmless(&step.words));
        lines.push(format!("{indent}{words}"));
        let deeper = usize::from(step.depth) + 2;
        lines.extend(step.effects.iter().map(|effect| line(effect, deeper, answer, screen)));
    }
    if answer.reading.len() > MOST {
        lines.push(format!("  … and {} more", answer.reading.len() - MOST));
    }
    lines
}

fn line(effect: &Effect, depth: usize, answer: &Answer, screen: &Screen) -> String {
    let (what, _) = describe(effect);
    let text = format!("{}→ {}", "  ".repeat(depth), harmless(&what));
    if decides(effect, answer) {
        screen.paint(Tone::Bad, &format!("{text}   ← this decided"))
    } else {
        text
    }
}
