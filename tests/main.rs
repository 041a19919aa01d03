//! Everything that is proved through real processes. One module a capability; helpers in `support`.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "tests do I/O")]

mod fence_attacks;
mod fence_reach;
mod fence_work;
mod support;
