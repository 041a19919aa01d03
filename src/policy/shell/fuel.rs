//! The allowance that keeps reading linear: every step of parsing and walking spends some, and a
//! text that uses it up is reported as unread instead of being read for ever.

/// Steps that any text may take.
const BASE: u64 = 60_000;
/// Steps for every byte of the text.
const PER_BYTE: u64 = 6;
/// Steps for a text of any length: no shell can be started with one that needs more, and it
/// bounds the time. What is data (a here-document, a quoted word) takes next to none.
const MOST: u64 = 300_000;

/// What is left of the allowance.
#[derive(Debug)]
pub(super) struct Fuel {
    left: u64,
}

impl Fuel {
    /// The allowance of a text of this length.
    pub(super) fn of(text: &str) -> Self {
        Self { left: MOST.min(BASE + PER_BYTE * text.len() as u64) }
    }

    /// Spends steps; false when there are not enough left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let steps = steps as u64;
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        enough
    }

    /// Splits off the allowance of a text that is read on the side: never more than half of what
    /// is left, so that it can't starve what follows.
    pub(super) fn aside(&mut self, text: &str) -> Self {
        let part = Self::of(text).left.min(self.left / 2);
        self.left -= part;
        Self { left: part }
    }

    /// Takes back what was left of it.
    pub(super) fn take_back(&mut self, rest: &Self) {
        self.left += rest.left;
    }

    /// True when nothing is left.
    pub(super) fn empty(&self) -> bool {
        self.left == 0
    }

    /// What is left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}
