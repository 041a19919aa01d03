//! One entry of ours in a client's settings: its event, matcher, command line and what a failure
//! means; and how an entry of ours is told from anybody else's. The command's form is what was
//! measured on old and new clients: only exit 2 blocks on the old ones, and a missing program
//! is a 127 that lets the call through. Never reads or writes a file.

use serde_json::{Map, Value};

use crate::applet::{OnError, Wire};

/// The program every entry calls.
pub const PROGRAM: &str = "octo-hook";

/// Said by a plugin's entry, so that the program can stand back where settings wire it too.
pub const PLUGIN: &str = "--plugin";

/// One hook entry as it should stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The hook event.
    pub event: &'static str,
    /// The tools it is for; none for events without tools.
    pub matcher: Option<&'static str>,
    /// A shell line, or a program when there are arguments.
    pub command: String,
    /// Arguments of the form that starts no shell; both measured clients know it.
    pub args: Vec<String>,
    /// Seconds until the client gives up; longer than our own deadline.
    pub timeout: u64,
    /// What a failure of the entry does.
    pub on_error: OnError,
}

impl Entry {
    fn new(row: &Wire, command: String) -> Self {
        Self {
            event: row.name,
            matcher: Some(row.matcher).filter(|matcher| !matcher.is_empty()),
            command,
            args: Vec::new(),
            timeout: row.timeout_s.into(),
            on_error: row.on_error,
        }
    }

    /// The entry for installed settings, which call the program by its absolute path.
    #[must_use]
    pub fn installed(row: &Wire, program: &str) -> Self {
        let event = row.name;
        match row.on_error {
            OnError::Report => {
                Self { args: vec![event.to_owned()], ..Self::new(row, program.to_owned()) }
            }
            OnError::Deny => {
                let (program, text) = (shell_words::quote(program), shell_words::quote(REPAIR));
                // 2 is a denial that has said its reason; anything else is ours to explain.
                Self::new(
                    row,
                    format!("{program} {event} || {{ [ $? -eq 2 ] || echo {text} >&2; exit 2; }}"),
                )
            }
        }
    }

    /// The entry for the plugin, which finds the program on PATH and is inert without it.
    #[must_use]
    pub fn plugin(row: &Wire) -> Self {
        let event = row.name;
        let call = match row.on_error {
            OnError::Report => format!("{PROGRAM} {event} {PLUGIN}"),
            OnError::Deny => format!("{PROGRAM} {event} {PLUGIN} || exit 2"),
        };
        let missing = match event {
            "SessionStart" => format!("echo \"{ABSENT}\""),
            _ => "exit 0".to_owned(),
        };
        Self::new(
            row,
            format!("if command -v {PROGRAM} >/dev/null 2>&1; then {call}; else {missing}; fi"),
        )
    }

    /// The handler object inside a group's `hooks` list.
    #[must_use]
    pub fn handler(&self) -> Value {
        let mut map = Map::new();
        map.insert("type".to_owned(), "command".into());
        map.insert("command".to_owned(), self.command.as_str().into());
        if !self.args.is_empty() {
            map.insert("args".to_owned(), self.args.clone().into());
        }
        map.insert("timeout".to_owned(), self.timeout.into());
        if self.on_error == OnError::Deny {
            map.insert("onFailure".to_owned(), "block".into());
        }
        Value::Object(map)
    }

    /// The group that goes into the event's list.
    #[must_use]
    pub fn group(&self) -> Value {
        let mut map = Map::new();
        if let Some(matcher) = self.matcher {
            map.insert("matcher".to_owned(), matcher.into());
        }
        map.insert("hooks".to_owned(), Value::Array(vec![self.handler()]));
        Value::Object(map)
    }
}

/// A plugin's `PreToolUse` entry without its test for the program: what doctor fires.
pub const OURS_ON_PATH: &str = "octo-hook PreToolUse --plugin || exit 2";

/// Said by the wiring itself when the program is gone or has crashed.
const REPAIR: &str = "octo: its program is missing or crashed, so this call is blocked. \
In a terminal: octo doctor --fix (repair) or octo uninstall (remove).";

/// Said by the plugin once a session when its program is not installed: the plugin is the source.
/// By name it could be anybody's program.
const ABSENT: &str = "octo: plugin present, program absent: nothing is guarded. Get it with: \
cargo install --locked --path '${CLAUDE_PLUGIN_ROOT:-SOURCE}' && octo doctor --fix";

/// Entries as the `hooks` object of a settings file or of a plugin's hooks file.
#[must_use]
pub fn hooks_of(entries: &[Entry]) -> Value {
    let events =
        entries.iter().map(|entry| (entry.event.to_owned(), Value::Array(vec![entry.group()])));
    Value::Object(events.collect())
}

/// True when a hook's command line runs our program, in whatever spelling we ever wrote it.
#[must_use]
pub fn is_ours(command: &str) -> bool {
    let breaks = |c: char| c.is_whitespace() || "'\"`;&|(){}".contains(c);
    command.split(breaks).any(|word| word.rsplit('/').next() == Some(PROGRAM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applet::Event;

    #[test]
    fn ours_is_told_by_the_program_not_by_a_resemblance() {
        let close = Entry::installed(Event::PreToolUse.wire(), "/home/a b/bin/octo-hook");
        assert!(is_ours(&close.command) && close.command.starts_with("'/home/a b/bin/octo-hook' "));
        assert!(is_ours(&Entry::plugin(Event::Stop.wire()).command));
        assert!(is_ours("/x/octo-hook"));
        for other in ["octo-hooks Stop", "my-octo-hook.sh", "echo octo", "/octo-hook/run.sh"] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn only_a_blocking_entry_needs_a_shell_and_says_so_to_new_clients() {
        let close = Entry::installed(Event::PreToolUse.wire(), "/b/octo-hook");
        assert_eq!(close.handler()["onFailure"], "block");
        assert!(close.handler().get("args").is_none());
        let open = Entry::installed(Event::Stop.wire(), "/b/octo-hook");
        assert_eq!(open.handler()["command"], "/b/octo-hook");
        assert_eq!(open.handler()["args"][0], "Stop");
        assert!(open.handler().get("onFailure").is_none());
    }
}
