//! How a verdict is said to the harness. The only file that knows the wire forms: JSON deny, the
//! same reason on stderr, exit 2; words for the model as additional context; never "allow".

use serde_json::json;

use crate::applet::{Event, OnError};
use crate::shield::Reply;

/// Longest reason that is sent; the harness cuts what is longer.
const LONGEST: usize = 9_000;

fn short(text: &str) -> &str {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Nothing to say: the call goes its usual way.
#[must_use]
pub fn pass() -> Reply {
    Reply::default()
}

/// A denial of a tool call.
#[must_use]
pub fn deny(reason: &str) -> Reply {
    let reason = short(reason);
    let body = json!({
        "hookSpecificOutput": {
            "hookEventName": Event::PreToolUse.wire().name,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    });
    Reply { stdout: format!("{body}\n"), stderr: format!("{reason}\n"), code: 2 }
}

/// Words for the model, no decision.
#[must_use]
pub fn context(event: Event, words: &[String]) -> Reply {
    if words.is_empty() {
        return pass();
    }
    let text = words.join("\n");
    let body = json!({
        "hookSpecificOutput": {
            "hookEventName": event.wire().name,
            "additionalContext": short(&text),
        }
    });
    Reply { stdout: format!("{body}\n"), ..Reply::default() }
}

/// A tool's input with fields changed, and words for the model; no decision.
#[must_use]
pub fn updated_input(input: &serde_json::Value, words: &[String]) -> Reply {
    let mut said = json!({
        "hookEventName": Event::PreToolUse.wire().name,
        "updatedInput": input,
    });
    if !words.is_empty()
        && let Some(said) = said.as_object_mut()
    {
        said.insert("additionalContext".to_owned(), short(&words.join("\n")).into());
    }
    let body = json!({ "hookSpecificOutput": said });
    Reply { stdout: format!("{body}\n"), ..Reply::default() }
}

/// Blocks an event on purpose (a prompt under `require`, a change that would unhook us).
#[must_use]
pub fn block(reason: &str) -> Reply {
    let reason = short(reason);
    let body = json!({ "decision": "block", "reason": reason });
    Reply { stdout: format!("{body}\n"), stderr: format!("{reason}\n"), code: 2 }
}

/// The gate itself failed: a denial where errors deny, a report elsewhere.
#[must_use]
pub fn failure(event: Event, rule: &str, what: &str, remedy: &str) -> Reply {
    let text = format!("octo: denied [{rule}] {what}\nwhat to do: {remedy}");
    match event.wire().on_error {
        OnError::Deny => deny(&text),
        OnError::Report => {
            Reply { stderr: format!("octo: {what} (nothing was blocked)\n"), ..Reply::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_one_line_of_json_the_reason_on_stderr_and_exit_two() {
        let reply = deny("octo: denied [lane.held] write to a\nheld by b");
        assert_eq!(reply.code, 2);
        assert_eq!(reply.stdout.matches('\n').count(), 1);
        let body: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap();
        let inner = &body["hookSpecificOutput"];
        assert_eq!(inner["hookEventName"], "PreToolUse");
        assert_eq!(inner["permissionDecision"], "deny");
        assert_eq!(reply.stderr.trim_end(), inner["permissionDecisionReason"].as_str().unwrap());
    }

    #[test]
    fn other_events_never_block_by_error() {
        for wire in crate::applet::WIRES {
            let reply = failure(wire.event, "gate.state", "x", "y");
            assert_eq!(reply.code == 2, wire.event == Event::PreToolUse, "{}", wire.name);
        }
    }

    #[test]
    fn a_reason_stays_under_ten_thousand_characters() {
        assert!(deny(&"é".repeat(50_000)).stdout.chars().count() < 10_000);
    }
}
