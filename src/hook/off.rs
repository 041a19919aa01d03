//! When the hooks stand back: the operator switched them off for a while, took them out under a
//! live session, or the same event is wired twice.

use std::fs;
use std::path::Path;

use super::context::Context;
use super::reply;
use crate::applet::Event;
use crate::kernel::{log, off};
use crate::shield::Reply;
use crate::wiring::survey::survey;

/// A reply when the hooks have nothing to do here by the operator's will.
#[must_use]
pub fn stands_back(context: &Context<'_>) -> Option<Reply> {
    if context.home.tombstone().exists() && !is_wired(context) {
        return Some(reply::pass());
    }
    if context.event != Event::PreToolUse {
        return None;
    }
    let pauses = off::pauses(&context.home, context.now.unix);
    let cwd = context.cwd.as_ref().map_or(Path::new(""), |cwd| cwd.as_path());
    let off = pauses.iter().find(|pause| pause.covers(cwd, context.now.unix))?;
    log::report(
        &context.home,
        context.now,
        &format!(
            "override: {} passed {} (off by {})",
            context.actor.pid,
            context.payload.tool(),
            off.by
        ),
    );
    Some(reply::pass())
}

/// Whether any settings file of this session still names us.
fn is_wired(context: &Context<'_>) -> bool {
    settings_texts(context)
        .iter()
        .any(|text| survey(text).map_or(text.contains("octo-hook"), |s| s.ours().count() > 0))
}

/// Whether settings wire this very event, so that the plugin's entry would do it twice.
#[must_use]
pub fn wired_by_settings(context: &Context<'_>) -> bool {
    let name = context.event.wire().name;
    settings_texts(context)
        .iter()
        .filter_map(|text| survey(text).ok())
        .any(|s| s.ours().any(|hook| hook.event == name))
}

fn settings_texts(context: &Context<'_>) -> Vec<String> {
    let user = context.home.user();
    let client =
        std::env::var_os("CLAUDE_CONFIG_DIR").map_or_else(|| user.join(".claude"), Into::into);
    let mut files = vec![client.join("settings.json")];
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(std::path::PathBuf::from);
    let root = context.root.as_ref().map(|r| r.path.as_path().to_path_buf());
    for base in [project, root].into_iter().flatten() {
        files.push(base.join(".claude/settings.json"));
        files.push(base.join(".claude/settings.local.json"));
    }
    files.iter().filter_map(|f| fs::read_to_string(f).ok()).collect()
}
