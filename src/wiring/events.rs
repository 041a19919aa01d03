//! The hook events a client is asked to send us: for which tools, with how much time, and what a
//! failure means. An accidental block traps a session anywhere but at PreToolUse, so only that
//! one closes by error. Unknown events are ignored by the oldest supported client (measured).

/// What becomes of a call when the entry itself fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The call is blocked: missing, crashed and late all close.
    Block,
    /// The failure is shown and the session goes on.
    Report,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// Its name.
    pub event: &'static str,
    /// The tools it is for; none for events without tools.
    pub matcher: Option<&'static str>,
    /// Seconds until the client gives up; longer than our own deadline.
    pub timeout: u64,
    /// What a failure does.
    pub on_failure: OnFailure,
}

/// Every tool that can write, start an agent that can, or run a command.
pub const TOOLS: &str =
    "Bash|Monitor|PowerShell|Write|Edit|MultiEdit|NotebookEdit|Agent|Task|mcp__.*";

/// Seconds for an event that only looks and records.
const BRIEF: u64 = 10;
/// Seconds for an event that may make a worktree or bring one home.
const LONG: u64 = 120;

const fn report(event: &'static str, matcher: Option<&'static str>, timeout: u64) -> EventRow {
    EventRow { event, matcher, timeout, on_failure: OnFailure::Report }
}

/// All events, in the order of a session's life.
pub const EVENTS: &[EventRow] = &[
    report("SessionStart", None, BRIEF),
    report("UserPromptSubmit", None, BRIEF),
    EventRow {
        event: "PreToolUse",
        matcher: Some(TOOLS),
        timeout: BRIEF,
        on_failure: OnFailure::Block,
    },
    report("PostToolUse", Some(TOOLS), BRIEF),
    report("PostToolUseFailure", Some(TOOLS), BRIEF),
    report("PostToolBatch", None, BRIEF),
    report("SubagentStart", None, BRIEF),
    report("SubagentStop", None, BRIEF),
    report("Stop", None, BRIEF),
    report("SessionEnd", None, LONG),
    report("ConfigChange", None, BRIEF),
    report("WorktreeCreate", None, LONG),
    report("WorktreeRemove", None, LONG),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pre_tool_use_closes_by_error() {
        for row in EVENTS {
            let closes = row.on_failure == OnFailure::Block;
            assert_eq!(closes, row.event == "PreToolUse", "{}", row.event);
        }
    }
}
