//! ConfigChange: a settings change that would lose or disable our entries is blocked, unless the
//! operator uninstalls.

use std::fs;
use std::path::Path;

use super::context::Context;
use super::{floor, reply};
use crate::shield::Reply;

/// A settings file changed.
#[must_use]
pub fn run(context: &Context<'_>) -> Reply {
    if context.home.tombstone().exists() {
        return reply::pass();
    }
    let Some(file) = context.payload.file_path.as_deref() else { return reply::pass() };
    let Ok(after) = fs::read_to_string(Path::new(file)) else { return reply::pass() };
    // Only what is there now can be seen: a switch against hooks, or a file that had entries of
    // ours by its last backup.
    if floor::loses(last_seen(context, file).as_deref(), Some(&after)) {
        return reply::block(
            "octo: denied [floor.wiring] this settings change would disable the hooks\nwhat to do: a person runs `octo uninstall`, or `octo off --for 10m` for a while",
        );
    }
    reply::pass()
}

/// The settings text as we last installed it.
fn last_seen(context: &Context<'_>, file: &str) -> Option<String> {
    fs::read_to_string(context.home.wired(file)).ok()
}
