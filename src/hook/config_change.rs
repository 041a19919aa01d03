//! ConfigChange: a settings change that would lose or disable our entries is blocked, unless the
//! operator uninstalls.

use std::fs;
use std::io;
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
    let before = last_seen(context, file);
    let after = match fs::read_to_string(Path::new(file)) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some("{}".to_owned()),
        Err(_) if before.is_some() => None,
        Err(_) => return reply::pass(),
    };
    // The change has happened: what was there before is known from the last installation alone.
    if floor::loses(before.as_deref(), after.as_deref()) {
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
