//! The settings of the person's client, moved into the home of a proof: our entries, the fence's
//! prefix and all permissions, with folders of the person's home made folders of that home. No
//! entry of another tool comes along: a proof runs nothing that is not ours.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::super::scene::Scene;
use crate::applet::{Always, WIRES};
use crate::config::WorktreePlace;
use crate::operator::context::Context;
use crate::operator::install::trees_of;
use crate::wiring::entry::{Entry, hooks_of, is_ours};
use crate::wiring::files::{Scope, path};
use crate::wiring::merge::PREFIX;

/// A scene that is furnished as the person's home is.
pub(super) struct House {
    /// The scene.
    pub(super) scene: Scene,
    /// A session's tree, where this person's settings put trees.
    pub(super) tree: PathBuf,
}

impl House {
    /// Furnishes a scene.
    pub(super) fn furnish(context: &Context, scene: Scene) -> Result<Self, String> {
        let told = |why: std::io::Error| why.to_string();
        let folder = match context.settings.worktree.location {
            WorktreePlace::Sibling => scene.top.join("repo-worktrees"),
            WorktreePlace::Home | WorktreePlace::Folder(_) => {
                moved(&trees_of(context), context, &scene)
            }
        };
        let tree = folder.join("arm/repo/proof");
        if let Some(above) = tree.parent() {
            fs::create_dir_all(above).map_err(told)?;
        }
        let author = ["-c", "user.name=octo", "-c", "user.email=octo@localhost"];
        let commit = ["commit", "-q", "--allow-empty", "--no-verify", "-m", "begin"];
        scene.git(&[&author[..], &commit[..]].concat())?;
        scene.git(&["worktree", "add", "-q", &tree.display().to_string()])?;
        let client = scene.home.join(".claude");
        fs::create_dir_all(&client).map_err(told)?;
        let settings = furniture(context, &scene).to_string();
        fs::write(client.join("settings.json"), settings).map_err(told)?;
        Ok(Self { scene, tree })
    }
}

/// What of the person's settings comes along.
fn furniture(context: &Context, scene: &Scene) -> Value {
    let mut hooks = Map::new();
    let mut permissions = Map::new();
    let mut env = Map::new();
    let mut plugin = false;
    for scope in [Scope::User, Scope::Local] {
        let file = path(scope, &context.home, &context.project);
        let text = fs::read_to_string(file).unwrap_or_default();
        let all: Value = serde_json::from_str(&text).unwrap_or_default();
        for (event, groups) in members(&all, "hooks") {
            let ours = groups.as_array().into_iter().flatten().filter_map(our_part);
            extend(&mut hooks, event, &Value::Array(ours.collect()));
        }
        for (key, value) in members(&all, "permissions") {
            extend(&mut permissions, key, value);
        }
        let fence = members(&all, "env").filter(|(key, _)| *key == PREFIX);
        let ours = |value: &Value| value.as_str().is_some_and(|set| set.ends_with("/octo-sh"));
        env.extend(fence.filter(|(_, v)| ours(v)).map(|(key, v)| (key.clone(), v.clone())));
        let mut plugins = members(&all, "enabledPlugins");
        plugin |= plugins.any(|(name, on)| name.starts_with("octo@") && *on == Value::Bool(true));
    }
    hooks.retain(|_, groups| groups != &json!([]));
    if let Some(Value::Array(folders)) = permissions.get_mut("additionalDirectories") {
        for folder in folders {
            if let Some(named) = folder.as_str() {
                *folder = json!(moved(Path::new(named), context, scene));
            }
        }
    }
    let hooks = if hooks.is_empty() && plugin {
        let wires = WIRES.iter().filter(|wire| wire.always != Always::Engine);
        hooks_of(&wires.map(Entry::plugin).collect::<Vec<_>>())
    } else {
        Value::Object(hooks)
    };
    json!({ "hooks": hooks, "permissions": permissions, "env": env })
}

/// A group of hooks without what is not ours; none when nothing is left.
fn our_part(group: &Value) -> Option<Value> {
    let command = |handler: &Value| handler.get("command").and_then(Value::as_str).map(is_ours);
    let handlers = group.get("hooks")?.as_array()?.iter();
    let ours: Vec<Value> = handlers.filter(|h| command(h) == Some(true)).cloned().collect();
    let mut group = group.as_object()?.clone();
    let found = !ours.is_empty();
    group.insert("hooks".to_owned(), Value::Array(ours));
    found.then_some(Value::Object(group))
}

/// The members of a setting that is an object.
fn members<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// Adds a setting of a stronger file: lists grow, anything else is replaced.
fn extend(map: &mut Map<String, Value>, key: &str, value: &Value) {
    match (map.get_mut(key), value) {
        (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
        _ => drop(map.insert(key.to_owned(), value.clone())),
    }
}

/// Where a folder of the person's stands in the scene. Nothing outside it may be written.
fn moved(folder: &Path, context: &Context, scene: &Scene) -> PathBuf {
    let whole = match folder.strip_prefix("~") {
        Ok(rest) => context.home.join(rest),
        Err(_) => folder.to_path_buf(),
    };
    if let Ok(rest) = whole.strip_prefix(&context.home) {
        return scene.home.join(rest);
    }
    match whole.strip_prefix("/") {
        Ok(rest) => scene.top.join("elsewhere").join(rest),
        Err(_) => whole,
    }
}
