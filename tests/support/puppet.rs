//! A process played without the client: fires the events a session or subagent would, in the
//! client's order, and does to the disk what the tool would have done if it passed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::machine::Machine;
use super::reply::Reply;

/// One session, or one subagent of a session.
#[derive(Clone)]
pub(crate) struct Puppet<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) session: String,
    pub(crate) agent: Option<String>,
    pub(crate) agent_type: String,
    pub(crate) cwd: PathBuf,
}

/// What became of a shell command.
#[must_use]
#[derive(Debug)]
pub(crate) enum Ran {
    /// The hook let it run, and this is how it ended.
    Done(Output),
    /// The hook refused it.
    Denied(Reply),
}

impl<'m> Puppet<'m> {
    /// A session's main thread.
    pub(crate) fn session(machine: &'m Machine, id: &str, cwd: &Path) -> Self {
        let session = id.to_owned();
        let agent_type = "general-purpose".to_owned();
        Self { machine, session, agent: None, agent_type, cwd: cwd.to_path_buf() }
    }

    /// A subagent of the same session, not yet seen by anybody.
    pub(crate) fn subagent(&self, id: &str) -> Self {
        Self { agent: Some(id.to_owned()), ..self.clone() }
    }

    /// A subagent of the same session that this process spawns, as the newer client reports it:
    /// launched, and going on beside its parent.
    pub(crate) fn spawn(&self, id: &str) -> Self {
        let input = json!({ "description": "child", "prompt": "go", "subagent_type": "builder" });
        let child = Self { agent_type: "builder".to_owned(), ..self.subagent(id) };
        let asked = self.tool("Agent", &input);
        assert!(!self.fire("PreToolUse", asked.clone()).denied());
        child.start();
        let response = json!({ "isAsync": true, "status": "async_launched", "agentId": id });
        self.fire("PostToolUse", with(asked, "tool_response", response));
        child
    }

    /// The id its lanes are kept under.
    pub(crate) fn pid(&self) -> &str {
        self.agent.as_deref().unwrap_or(&self.session)
    }

    /// The payload of an event, with what is special to it.
    pub(crate) fn payload(&self, event: &str, more: Value) -> Value {
        let transcript = format!(".claude/projects/x/{}.jsonl", self.session);
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": self.machine.home.join(transcript),
            "cwd": self.cwd,
            "permission_mode": "bypassPermissions",
            "hook_event_name": event,
        });
        if let Some(agent) = &self.agent {
            payload["agent_id"] = json!(agent);
            payload["agent_type"] = json!(self.agent_type);
        }
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        payload
    }

    /// Fires an event.
    pub(crate) fn fire(&self, event: &str, more: Value) -> Reply {
        self.machine.hook(event, &self.payload(event, more))
    }

    /// `SessionStart`, or `SubagentStart`.
    pub(crate) fn start(&self) -> Reply {
        match self.agent {
            Some(_) => self.fire("SubagentStart", json!({})),
            None => self.fire("SessionStart", json!({ "source": "startup" })),
        }
    }

    /// `SessionEnd`, or `SubagentStop`.
    pub(crate) fn end(&self) -> Reply {
        match self.agent {
            Some(_) => self.fire("SubagentStop", json!({ "stop_hook_active": false })),
            None => self.fire("SessionEnd", json!({ "reason": "other" })),
        }
    }

    /// `PreToolUse` alone: the question without the deed.
    pub(crate) fn ask(&self, tool: &str, input: &Value) -> Reply {
        self.fire("PreToolUse", self.tool(tool, input))
    }

    /// The payload of that question, for a hook process the test starts itself.
    pub(crate) fn question(&self, tool: &str, input: &Value) -> Value {
        self.payload("PreToolUse", self.tool(tool, input))
    }

    /// A whole call of a tool that touches no file: asked, and reported when it passes.
    pub(crate) fn call(&self, tool: &str, input: &Value, response: Value) -> Reply {
        let call = self.tool(tool, input);
        let reply = self.fire("PreToolUse", call.clone());
        if !reply.denied() {
            self.fire("PostToolUse", with(call, "tool_response", response));
        }
        reply
    }

    /// A Write as the client does it: asked, done when it passes, reported.
    pub(crate) fn write(&self, path: &Path, content: &str) -> Reply {
        let call = self.tool("Write", &json!({ "file_path": path, "content": content }));
        let reply = self.fire("PreToolUse", call.clone());
        if !reply.denied() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
            let response = json!({ "filePath": path, "type": "update" });
            self.fire("PostToolUse", with(call, "tool_response", response));
        }
        reply
    }

    /// A Bash call as the client does it.
    pub(crate) fn bash(&self, command: &str) -> Ran {
        let call = self.tool("Bash", &json!({ "command": command, "description": "step" }));
        let reply = self.fire("PreToolUse", call.clone());
        if reply.denied() {
            return Ran::Denied(reply);
        }
        let mut shell = self.machine.command("bash");
        let shell = shell.args(["-c", command]).current_dir(&self.cwd).stdin(Stdio::null());
        let output = shell.output().unwrap();
        if output.status.success() {
            let response = json!({ "stdout": "", "stderr": "", "interrupted": false });
            self.fire("PostToolUse", with(call, "tool_response", response));
        } else {
            self.fire("PostToolUseFailure", with(call, "error", json!("Exit code 1")));
        }
        Ran::Done(output)
    }

    /// Takes a lane on a path by writing to it; the test fails when that is refused. A folder is
    /// taken by asking alone: no tool of the client's could write it.
    #[track_caller]
    pub(crate) fn holds(&self, path: &Path, content: &str) {
        if path.is_dir() {
            let input = json!({ "file_path": path, "content": content });
            assert!(!self.ask("Write", &input).denied());
            return;
        }
        let reply = self.write(path, content);
        assert!(!reply.denied(), "the set-up was refused: {reply:?}");
    }

    fn tool(&self, tool: &str, input: &Value) -> Value {
        let number = self.machine.number();
        json!({ "tool_name": tool, "tool_input": input, "tool_use_id": format!("toolu_{number}") })
    }
}

/// The same fields and one more.
fn with(mut fields: Value, name: &str, value: Value) -> Value {
    fields[name] = value;
    fields
}

impl Ran {
    /// It ran, and ended well.
    #[track_caller]
    pub(crate) fn well(self) {
        match self {
            Self::Done(output) => assert!(output.status.success(), "{output:?}"),
            Self::Denied(reply) => panic!("refused: {reply:?}"),
        }
    }
}
