//! Where there is no kernel fence to try.

use super::{Level, Obstacle, Offer, Report};

/// Nothing.
#[must_use]
pub fn offer(_memory: Option<&std::path::Path>) -> Offer {
    let short = Some(Obstacle::Platform.reason().to_owned());
    Offer { level: Level::None, landlock: None, short }
}

/// Nothing, and why.
#[must_use]
pub fn probe() -> Report {
    Report { level: Level::None, landlock: None, obstacles: vec![Obstacle::Platform] }
}
