//! ConfigChange: a settings change that would lose or disable our entries is blocked, unless the
//! operator uninstalls.

use std::fs;
use std::path::Path;

use super::context::Context;
use super::{floor, reply};
use crate::kernel::home::Home;
use crate::shield::Reply;

/// The file that says that the operator took us out.
pub fn tombstone(home: &Home) -> std::path::PathBuf {
    home.dir().join("uninstalled")
}

/// A settings file changed.
pub fn run(context: &Context<'_>) -> Reply {
    if tombstone(&context.home).exists() {
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
    let name: String =
        file.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    fs::read_to_string(context.home.dir().join("wired").join(name)).ok()
}
