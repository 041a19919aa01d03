//! What the tests share: a machine of their own, a scripted model, the real client. Knows how
//! to stage and to look; never what is right, that is each test's word.

pub(crate) mod api;
pub(crate) mod browser;
pub(crate) mod cases;
pub(crate) mod client;
pub(crate) mod fence;
pub(crate) mod heard;
pub(crate) mod machine;
pub(crate) mod office;
pub(crate) mod place;
pub(crate) mod puppet;
pub(crate) mod reply;
pub(crate) mod repo;
pub(crate) mod script;
pub(crate) mod terminal;
pub(crate) mod tools;
pub(crate) mod yard;

use std::time::{Duration, Instant};

/// Longest that any test waits for another process before it gives up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Looks every few milliseconds until `seen` answers, or fails naming what it waited for.
pub(crate) fn eventually<T>(what: &str, seen: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, seen)
}

/// The same for what takes longer.
pub(crate) fn within<T>(patience: Duration, what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = seen() {
            return found;
        }
        assert!(start.elapsed() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
