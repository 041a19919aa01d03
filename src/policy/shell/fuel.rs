//! The allowance that keeps reading linear: every step of parsing and walking spends some, and a
//! text that uses it up is reported as unread instead of being read for ever.

/// Steps that any text may take.
const BASE: u64 = 60_000;
/// Steps for every byte of the text.
const PER_BYTE: u64 = 6;

/// What is left of the allowance.
#[derive(Debug)]
pub(super) struct Fuel {
    left: u64,
}

impl Fuel {
    /// The allowance of a text of this length.
    pub(super) fn of(text: &str) -> Self {
        Self { left: BASE + PER_BYTE * text.len() as u64 }
    }

    /// Spends steps; false when there are not enough left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let steps = steps as u64;
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        enough
    }

    /// True when nothing is left.
    pub(super) fn empty(&self) -> bool {
        self.left == 0
    }

    /// What is left, for tests of linearity.
    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}
