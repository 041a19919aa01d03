//! A payload: what the harness says on standard input. Only what decides is decoded; unknown
//! fields pass, a missing required one is an error.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::applet::Event;
use crate::policy::facts::{Actor, Kind};
use crate::policy::lane::Pid;

/// Longest payload that is read.
pub const LIMIT: u64 = 64 * 1024 * 1024;

/// Why a payload could not be used.
#[derive(Debug)]
pub enum PayloadError {
    /// Nothing came.
    Empty,
    /// More than [`LIMIT`] bytes.
    TooLarge,
    /// Standard input broke.
    Io(io::Error),
    /// Not the JSON we know.
    Json(serde_json::Error),
    /// An event we do not know.
    Event(String),
    /// The argument and the payload name different events.
    Mismatch {
        /// The event of the argument.
        argument: &'static str,
        /// The event of the payload.
        payload: String,
    },
    /// No usable id.
    Id,
    /// A field without which the call can't be judged is not there, or says nothing.
    Missing(&'static str),
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the input is empty"),
            Self::TooLarge => f.write_str("the input is larger than 64 MiB"),
            Self::Io(e) => write!(f, "the input can't be read: {e}"),
            Self::Json(e) => write!(f, "the input is not the JSON of a hook event: {e}"),
            Self::Event(name) => write!(f, "unknown hook event {name:?}"),
            Self::Mismatch { argument, payload } => {
                write!(f, "wired for {argument}, but the input says {payload}")
            }
            Self::Id => f.write_str("the input has no usable session id"),
            Self::Missing(field) => write!(f, "the input has no usable {field}"),
        }
    }
}

impl std::error::Error for PayloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(e) => Some(e),
            Self::Json(e) => Some(e),
            Self::Empty
            | Self::TooLarge
            | Self::Event(_)
            | Self::Mismatch { .. }
            | Self::Id
            | Self::Missing(_) => None,
        }
    }
}

/// A hook event's payload.
#[derive(Debug, Deserialize)]
pub struct Payload<'p> {
    /// The session.
    #[serde(borrow)]
    pub session_id: Cow<'p, str>,
    /// The subagent, inside one.
    #[serde(borrow, default)]
    pub agent_id: Option<Cow<'p, str>>,
    /// Its type.
    #[serde(borrow, default)]
    pub agent_type: Option<Cow<'p, str>>,
    /// The session's transcript.
    #[serde(borrow, default)]
    pub transcript_path: Option<Cow<'p, str>>,
    /// Where the shell stands.
    #[serde(borrow, default)]
    pub cwd: Cow<'p, str>,
    /// Which event.
    #[serde(borrow, default)]
    pub hook_event_name: Option<Cow<'p, str>>,
    /// How calls are approved.
    #[serde(borrow, default)]
    pub permission_mode: Option<Cow<'p, str>>,
    /// The tool.
    #[serde(borrow, default)]
    pub tool_name: Option<Cow<'p, str>>,
    /// The call.
    #[serde(borrow, default)]
    pub tool_use_id: Option<Cow<'p, str>>,
    /// The tool's input, decoded by tool.
    #[serde(borrow, default)]
    pub tool_input: Option<&'p RawValue>,
    /// The tool's answer, decoded by tool.
    #[serde(borrow, default)]
    pub tool_response: Option<&'p RawValue>,
    /// What a failed tool said.
    #[serde(borrow, default)]
    pub error: Option<Cow<'p, str>>,
    /// `startup`, `resume`, `clear`, `compact`.
    #[serde(borrow, default)]
    pub source: Option<Cow<'p, str>>,
    /// Why a session ended.
    #[serde(borrow, default)]
    pub reason: Option<Cow<'p, str>>,
    /// The prompt.
    #[serde(borrow, default)]
    pub prompt: Option<Cow<'p, str>>,
    /// The settings file that changed.
    #[serde(borrow, default)]
    pub file_path: Option<Cow<'p, str>>,
    /// The worktree's name (`WorktreeCreate`).
    #[serde(borrow, default)]
    pub name: Option<Cow<'p, str>>,
    /// The worktree's folder (`WorktreeRemove`).
    #[serde(borrow, default)]
    pub worktree_path: Option<Cow<'p, str>>,
    /// What still runs, where the client says so.
    #[serde(borrow, default)]
    pub background_tasks: Option<&'p RawValue>,
}

/// Reads standard input, bounded.
pub fn read_stdin() -> Result<Vec<u8>, PayloadError> {
    let mut bytes = Vec::with_capacity(8 * 1024);
    let stdin = io::stdin();
    stdin.lock().take(LIMIT + 1).read_to_end(&mut bytes).map_err(PayloadError::Io)?;
    if bytes.len() as u64 > LIMIT {
        return Err(PayloadError::TooLarge);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(PayloadError::Empty);
    }
    Ok(bytes)
}

/// Decodes a payload and settles which event it is.
pub fn decode(bytes: &[u8], argument: Option<Event>) -> Result<(Payload<'_>, Event), PayloadError> {
    let payload: Payload<'_> = serde_json::from_slice(bytes).map_err(PayloadError::Json)?;
    let said = payload.hook_event_name.as_deref();
    let event = match (argument, said) {
        (Some(event), Some(name)) if event.wire().name != name => {
            return Err(PayloadError::Mismatch {
                argument: event.wire().name,
                payload: name.to_owned(),
            });
        }
        (Some(event), _) => event,
        (None, Some(name)) => {
            Event::named(name).ok_or_else(|| PayloadError::Event(name.to_owned()))?
        }
        (None, None) => Event::PreToolUse,
    };
    if event == Event::PreToolUse {
        if payload.tool().is_empty() {
            return Err(PayloadError::Missing("tool_name"));
        }
        if !payload.cwd.starts_with('/') {
            return Err(PayloadError::Missing("cwd"));
        }
    }
    Ok((payload, event))
}

impl Payload<'_> {
    /// Who makes the call.
    pub fn actor(&self) -> Result<Actor, PayloadError> {
        let session = Pid::new(&self.session_id).ok_or(PayloadError::Id)?;
        let agent = match self.agent_id.as_deref() {
            None | Some("") => None,
            Some(id) => Some(Pid::new(id).ok_or(PayloadError::Id)?),
        };
        let agent_type = self.agent_type.as_deref().filter(|t| !t.is_empty()).map(str::to_owned);
        Ok(match agent {
            Some(pid) if pid != session => Actor { pid, session, kind: Kind::Agent, agent_type },
            Some(_) | None => {
                Actor { pid: session.clone(), session, kind: Kind::Session, agent_type: None }
            }
        })
    }

    /// The tool's name, or nothing.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.tool_name.as_deref().unwrap_or("")
    }

    /// The call's id, when it has one.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        self.tool_use_id.as_deref().filter(|id| {
            !id.is_empty() && id.len() <= 128 && id.bytes().all(|b| b.is_ascii_graphic())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_its_own_process_and_a_session_another() {
        let text = br#"{"session_id":"s","agent_id":"a","agent_type":"builder","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash"}"#;
        let (payload, event) = decode(text, None).unwrap();
        let actor = payload.actor().unwrap();
        assert_eq!((actor.pid.as_str(), actor.session.as_str()), ("a", "s"));
        assert_eq!(event, Event::PreToolUse);
    }

    #[test]
    fn argument_and_payload_must_agree() {
        let text = br#"{"session_id":"s","hook_event_name":"Stop"}"#;
        assert!(matches!(
            decode(text, Some(Event::PreToolUse)),
            Err(PayloadError::Mismatch { .. })
        ));
        assert_eq!(decode(text, None).unwrap().1, Event::Stop);
        let bare = br#"{"session_id":"s","tool_name":"Bash","cwd":"/w"}"#;
        assert_eq!(decode(bare, None).unwrap().1, Event::PreToolUse);
    }

    #[test]
    fn rubbish_is_an_error() {
        for text in [
            "",
            "[1,2]",
            "{",
            "null",
            "{\"session_id\":1}",
            "{}",
            "{\"session_id\":\"s\",\"cwd\":\"/w\"}",
            "{\"session_id\":\"s\",\"tool_name\":\"Bash\"}",
            "{\"session_id\":\"s\",\"tool_name\":\"Bash\",\"cwd\":\"w\"}",
        ] {
            assert!(decode(text.as_bytes(), None).is_err(), "{text}");
        }
    }

    #[test]
    fn every_captured_payload_decodes_and_every_cut_of_it_does_not() {
        for text in [
            include_str!("../../fixtures/payloads/claude-code-2.1.332/PreToolUse.Write.json"),
            include_str!("../../fixtures/payloads/claude-code-2.1.197/PreToolUse.Bash-stage.json"),
        ] {
            let text = text.trim_end();
            assert!(decode(text.as_bytes(), Some(Event::PreToolUse)).is_ok());
            for cut in 0..text.len() {
                assert!(decode(&text.as_bytes()[..cut], Some(Event::PreToolUse)).is_err(), "{cut}");
            }
        }
    }
}
