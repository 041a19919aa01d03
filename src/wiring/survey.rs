//! What a settings text does to us: which of our entries stand there, what else it wires, and
//! which switches would keep hooks from running. For doctor, and for the hook that judges a
//! settings change. Pure; never edits.

use super::entry::is_ours;
use super::text::{Malformed, Node, parse};

/// One hook entry of anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wired {
    /// The hook event.
    pub event: String,
    /// The tools it is for; empty means all.
    pub matcher: String,
    /// The command line, with its exec-form arguments appended.
    pub command: String,
    /// Seconds until the client gives up, as written; a tiny one would let every call through.
    pub timeout: Option<String>,
    /// Ours or somebody else's.
    pub owner: Owner,
}

/// Whose entry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It runs our program.
    Us,
    /// Another tool's or the user's own.
    Other,
}

/// A switch that keeps hooks from running, as `key = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The key's path.
    pub key: String,
    /// What it does to us.
    pub effect: &'static str,
}

/// Everything of interest in one settings file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// All hook entries in order.
    pub hooks: Vec<Wired>,
    /// Switches that work against hooks.
    pub switches: Vec<Switch>,
    /// Folders the client lets a session work in.
    pub folders: Vec<String>,
    /// The program that runs shell lines.
    pub prefix: Option<String>,
    /// Plugins that are switched on.
    pub plugins: Vec<String>,
}

impl Survey {
    /// Our entries.
    pub fn ours(&self) -> impl Iterator<Item = &Wired> {
        self.hooks.iter().filter(|hook| hook.owner == Owner::Us)
    }

    /// True when everything of ours in `before` still stands here and nothing new works against it.
    #[must_use]
    pub fn keeps(&self, before: &Self) -> bool {
        before.ours().all(|hook| self.hooks.contains(hook))
            && self.switches.iter().all(|switch| before.switches.contains(switch))
            && (before.prefix.is_none() || before.prefix == self.prefix)
    }
}

/// Reads a settings text.
pub fn survey(text: &str) -> Result<Survey, Malformed> {
    let root = parse(text)?;
    let hooks = root.value("hooks").map(|hooks| entries(hooks, text)).unwrap_or_default();
    let env = root.value("env");
    let prefix = env.and_then(|env| env.value(super::merge::PREFIX)).and_then(Node::text);
    let folders = root.value("permissions").and_then(|node| node.value("additionalDirectories"));
    let folders = folders.map(Node::elements).unwrap_or_default();
    Ok(Survey {
        hooks,
        switches: switches(&root, text),
        folders: folders.iter().filter_map(Node::text).map(str::to_owned).collect(),
        prefix: prefix.map(str::to_owned),
        plugins: plugins(&root, text),
    })
}

fn entries(hooks: &Node, text: &str) -> Vec<Wired> {
    let mut found = Vec::new();
    for event in hooks.members() {
        for group in event.value.elements() {
            let matcher = group.value("matcher").and_then(Node::text).unwrap_or_default();
            for handler in group.value("hooks").map(Node::elements).unwrap_or_default() {
                let Some(command) = handler.value("command").and_then(Node::text) else { continue };
                let args = handler.value("args").map(Node::elements).unwrap_or_default();
                let line =
                    args.iter().filter_map(Node::text).fold(command.to_owned(), |line, arg| {
                        format!("{line} {}", shell_words::quote(arg))
                    });
                let timeout = handler.value("timeout").and_then(|n| text.get(n.span.clone()));
                found.push(Wired {
                    event: event.key.clone(),
                    matcher: matcher.to_owned(),
                    owner: if is_ours(&line) { Owner::Us } else { Owner::Other },
                    command: line,
                    timeout: timeout.map(str::to_owned),
                });
            }
        }
    }
    found
}

fn plugins(root: &Node, text: &str) -> Vec<String> {
    let all = root.value("enabledPlugins").map(Node::members).unwrap_or_default();
    let on = all.iter().filter(|plugin| text.get(plugin.value.span.clone()) == Some("true"));
    on.map(|plugin| plugin.key.clone()).collect()
}

fn switches(root: &Node, text: &str) -> Vec<Switch> {
    let rows = [
        ("disableAllHooks", "no hook runs at all"),
        ("allowManagedHooksOnly", "only hooks of managed settings run"),
    ];
    let on = |key| root.value(key).is_some_and(|node| text.get(node.span.clone()) == Some("true"));
    let mut found: Vec<Switch> = rows
        .into_iter()
        .filter(|(key, _)| on(key))
        .map(|(key, effect)| Switch { key: key.to_owned(), effect })
        .collect();
    let env = root.value("env");
    for key in ["CLAUDE_CODE_SIMPLE"] {
        if env.and_then(|env| env.value(key)).is_some() {
            let effect = "the client may start without hooks";
            found.push(Switch { key: format!("env.{key}"), effect });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRED: &str = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "/b/octo-hook PreToolUse || exit 2"},
        {"type": "command", "command": "guard", "args": ["--a b"]}]}]}}"#;

    #[test]
    fn entries_are_told_apart() {
        let seen = survey(WIRED).unwrap();
        assert_eq!(seen.ours().count(), 1);
        assert_eq!(seen.hooks[1].command, "guard '--a b'");
    }

    #[test]
    fn a_change_that_loses_or_disables_us_does_not_keep() {
        let before = survey(WIRED).unwrap();
        assert!(survey(&WIRED.replace("guard", "other")).unwrap().keeps(&before));
        assert!(!survey(&WIRED.replace("octo-hook", "true")).unwrap().keeps(&before));
        assert!(!survey(&WIRED.replace("\"Bash\"", "\"Nothing\"")).unwrap().keeps(&before));
        let off = WIRED.replacen('{', "{\"disableAllHooks\": true, ", 1);
        assert!(!survey(&off).unwrap().keeps(&before));
        let hasty = WIRED.replace("|| exit 2\"", "|| exit 2\", \"timeout\": 0.001");
        assert!(!survey(&hasty).unwrap().keeps(&before));
        assert!(!survey("{}").unwrap().keeps(&before));
    }
}
