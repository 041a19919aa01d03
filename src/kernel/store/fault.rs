//! A death between the journal's line and the commit, which only a test can order: what a kill
//! leaves behind must be shown to be harmless. In the shipped program nothing ever dies here.

use super::super::StateError;

/// Where a transaction would die.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "a test's order makes it fail")]
pub(super) const fn strike() -> Result<(), StateError> {
    Ok(())
}

#[cfg(test)]
pub(super) use ordered::strike;
#[cfg(test)]
pub(crate) use ordered::{Struck, arm, disarm};

#[cfg(test)]
mod ordered {
    use std::cell::Cell;
    use std::path::PathBuf;

    use super::StateError;

    thread_local! {
        static DUE: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether the order was carried out.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Struck {
        /// It was.
        Yes,
        /// No transaction came so far.
        No,
    }

    /// The next transaction of this thread dies when its lines are written.
    pub(crate) fn arm() {
        DUE.set(true);
    }

    /// Takes the order back.
    pub(crate) fn disarm() -> Struck {
        if DUE.take() { Struck::No } else { Struck::Yes }
    }

    pub(in crate::kernel::store) fn strike() -> Result<(), StateError> {
        if DUE.take() { Err(StateError::Locked(PathBuf::from("killed"))) } else { Ok(()) }
    }
}
