//! What the scripted model says: scripts of turns, turns of steps. Builds values; the server in
//! `api` plays them.

use std::path::Path;

use serde_json::{Value, json};

/// One step of a turn.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Text of the model.
    Say(String),
    /// A tool call.
    Use {
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
    },
    /// The answer is held back until the test opens the gate of this name.
    Gate(String),
    /// The answer is made from the request, for ids that only the run knows.
    From(fn(&Value) -> Vec<Step>),
}

/// The steps that answer one request.
pub(crate) type Turn = Vec<Step>;

/// A named script: chosen by `SCRIPT:name` in a prompt, one turn a request, then `done`.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) turns: Vec<Turn>,
}

/// A script of the given turns.
pub(crate) fn script(name: &str, turns: impl IntoIterator<Item = Turn>) -> Script {
    Script { name: name.to_owned(), turns: turns.into_iter().collect() }
}

/// The prompt that makes the model follow `script`.
pub(crate) fn prompt(script: &str) -> String {
    format!("SCRIPT:{script} go")
}

/// The model says `text`.
pub(crate) fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// The model waits for the gate `name`.
pub(crate) fn gate(name: &str) -> Step {
    Step::Gate(name.to_owned())
}

/// The model calls `tool`.
pub(crate) fn call(tool: &str, input: Value) -> Step {
    Step::Use { tool: tool.to_owned(), input }
}

/// The model runs a shell command.
pub(crate) fn bash(command: &str) -> Step {
    call("Bash", json!({ "command": command, "description": "step" }))
}

/// The model runs a shell command and goes on beside it.
pub(crate) fn bash_behind(command: &str) -> Step {
    let input = json!({ "command": command, "description": "step", "run_in_background": true });
    call("Bash", input)
}

/// The model reads a file, which the client wants before it lets it be replaced.
pub(crate) fn read(path: impl AsRef<Path>) -> Step {
    call("Read", json!({ "file_path": path.as_ref() }))
}

/// The model writes a whole file.
pub(crate) fn write(path: impl AsRef<Path>, content: &str) -> Step {
    call("Write", json!({ "file_path": path.as_ref(), "content": content }))
}

/// The model replaces one text by another.
pub(crate) fn edit(path: impl AsRef<Path>, old: &str, new: &str) -> Step {
    let path = path.as_ref();
    call("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

/// The model spawns a subagent that follows `script`, as the client runs it by default.
pub(crate) fn agent(script: &str) -> Step {
    call("Agent", spawn(script))
}

/// The same in the foreground, whatever the client's default.
pub(crate) fn agent_waited_for(script: &str) -> Step {
    let mut input = spawn(script);
    input["run_in_background"] = json!(false);
    call("Agent", input)
}

/// The same in the background, whatever the client's default.
pub(crate) fn agent_behind(script: &str) -> Step {
    let mut input = spawn(script);
    input["run_in_background"] = json!(true);
    call("Agent", input)
}

fn spawn(script: &str) -> Value {
    json!({
        "description": format!("child {script}"),
        "prompt": prompt(script),
        "subagent_type": "general-purpose",
    })
}
