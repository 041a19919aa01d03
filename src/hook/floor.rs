//! Which places are the operator's, and which settings a call would turn against us.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::context::Context;
use super::observe::Tool;
use crate::applet;
use crate::git::paths::{self, Follow};
use crate::kernel::links;
use crate::policy::facts::{Effect, FloorFacts};
use crate::policy::lane::AbsPath;
use crate::wiring::survey::survey;

/// Names of settings files the client reads.
const SETTINGS: &[&str] = &["settings.json", "settings.local.json", "managed-settings.json"];

/// The floor as it stands for these effects.
#[must_use]
pub fn facts(effects: &[Effect], context: &Context<'_>) -> FloorFacts {
    let canonical = |path: &Path| context.links.canonical(path, Follow::All);
    let mut floor = FloorFacts::default();
    floor.state.extend(AbsPath::new(context.home.dir()));
    let program = std::env::current_exe().ok().and_then(|p| canonical(&p));
    floor.wiring.extend(program.clone());
    let user = context.home.user();
    for (variable, usual) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
    ] {
        let base = std::env::var_os(variable).map_or_else(|| user.join(usual), Into::into);
        floor.wiring.extend(canonical(&base.join("octo")));
    }
    let changed = effects.iter().filter(|e| {
        matches!(
            e,
            Effect::Write { .. }
                | Effect::Remove { .. }
                | Effect::Check { .. }
                | Effect::Meta { .. }
        )
    });
    for path in changed.filter_map(Effect::path) {
        if is_link_of_ours(path, program.as_ref()) || is_plugin_of_ours(path, user) {
            floor.wiring.push(path.clone());
        }
        if links::is_ours(&context.home, path.as_path()) {
            floor.state.push(path.clone());
        }
    }
    settings(effects, context, &mut floor);
    floor
}

/// A link or copy under one of our names that leads to this program.
fn is_link_of_ours(path: &AbsPath, program: Option<&AbsPath>) -> bool {
    let name = path.as_path().file_name().and_then(|n| n.to_str());
    name.is_some_and(|n| applet::find(n).is_some())
        && paths::canonical(path.as_path(), Follow::All).as_ref() == program
}

fn is_plugin_of_ours(path: &AbsPath, user: &Path) -> bool {
    path.as_path()
        .strip_prefix(user.join(".claude/plugins"))
        .is_ok_and(|rest| rest.iter().any(|part| part.to_string_lossy().starts_with("octo")))
}

/// The settings files an effect reaches: by name, or with the folder they lie in.
fn settings(effects: &[Effect], context: &Context<'_>, floor: &mut FloorFacts) {
    let user = context.home.user();
    let client = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(|p| PathBuf::from(p).join(".claude"));
    let root = context.root.as_ref().map(|r| r.path.as_path().join(".claude"));
    let folders = [Some(user.join(".claude")), client, project, root];
    let files: Vec<AbsPath> = folders
        .iter()
        .flatten()
        .flat_map(|folder| SETTINGS.iter().map(|name| folder.join(name)))
        .filter_map(|file| context.links.canonical(file, Follow::All))
        .collect();
    for effect in effects {
        match effect {
            Effect::Write { path } if is_settings(path) || files.contains(path) => {
                let before = text_of(path);
                let known = result_of(context, path, before.as_deref());
                if loses(before.as_deref(), known.as_deref()) {
                    floor.unhooked.push(path.clone());
                }
            }
            Effect::Remove { path } => {
                let lost = files.iter().filter(|f| f.within(path) && has_ours(f));
                floor.unhooked.extend(lost.cloned());
            }
            // A file the client can't read wires nothing.
            Effect::Meta { path, deep } => {
                let lost = files.iter().filter(|f| *f == path || *deep && f.within(path));
                floor.unhooked.extend(lost.filter(|f| has_ours(f)).cloned());
            }
            Effect::Pathspec { root, scope, .. } => {
                let lost = files.iter().filter(|f| scope.overlaps(root, f) && has_ours(f));
                floor.unhooked.extend(lost.cloned());
            }
            Effect::Write { .. }
            | Effect::Check { .. }
            | Effect::Stage { .. }
            | Effect::Unstage { .. }
            | Effect::Commit { .. }
            | Effect::Tree { .. }
            | Effect::Untracked { .. }
            | Effect::Head { .. }
            | Effect::Sequencer { .. }
            | Effect::Stash { .. }
            | Effect::Branch { .. }
            | Effect::Worktree { .. }
            | Effect::Operator(_)
            | Effect::Opaque { .. } => {}
        }
    }
}

fn is_settings(path: &AbsPath) -> bool {
    let path = path.as_path();
    let name = path.file_name().and_then(|n| n.to_str());
    let folder = path.parent().and_then(Path::file_name).and_then(|n| n.to_str());
    name.is_some_and(|n| SETTINGS.contains(&n))
        && (folder == Some(".claude") || name == Some("managed-settings.json"))
}

fn text_of(path: &AbsPath) -> Option<String> {
    fs::read_to_string(path.as_path()).ok()
}

fn has_ours(path: &AbsPath) -> bool {
    text_of(path).is_some_and(|t| survey(&t).map_or(t.contains("octo"), |s| s.ours().count() > 0))
}

/// Whether a settings text that becomes `after` loses our entries or gains a switch against them.
/// What can't be foreseen, or can't be read, counts as lost.
#[must_use]
pub fn loses(before: Option<&str>, after: Option<&str>) -> bool {
    let Some(after) = after else { return true };
    let old = before.and_then(|t| survey(t).ok()).unwrap_or_default();
    match survey(after) {
        Ok(new) => !new.keeps(&old),
        Err(_) => old.ours().count() > 0,
    }
}

#[derive(Deserialize)]
struct WriteInput {
    content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    edits: Option<Vec<OneEdit>>,
}

#[derive(Deserialize)]
struct OneEdit {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// What a settings file will hold after the call, when the call says so.
fn result_of(context: &Context<'_>, path: &AbsPath, before: Option<&str>) -> Option<String> {
    let _ = path;
    if Tool::of(context.payload.tool()) != Tool::Write {
        return None;
    }
    let input: WriteInput = serde_json::from_str(context.payload.tool_input?.get()).ok()?;
    if let Some(content) = input.content {
        return Some(content);
    }
    let mut text = before.unwrap_or("").to_owned();
    let mut edits = input.edits.unwrap_or_default();
    if let (Some(old_string), Some(new_string)) = (input.old_string, input.new_string) {
        edits.push(OneEdit { old_string, new_string, replace_all: input.replace_all });
    }
    for edit in edits {
        text = if edit.old_string.is_empty() {
            edit.new_string
        } else if edit.replace_all {
            text.replace(&edit.old_string, &edit.new_string)
        } else {
            text.replacen(&edit.old_string, &edit.new_string, 1)
        };
    }
    Some(text)
}
