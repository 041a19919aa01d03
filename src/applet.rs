//! The names this binary answers to and the hook events it is wired for: one row each. The
//! wiring (`hooks/hooks.json`, `octo install`) and the deadlines are made from these tables.

/// What happens when a gate itself fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The call is denied: an error is never an allow.
    Deny,
    /// The error is reported and the event goes on: this event must never block by accident.
    Report,
}

/// A hook event of the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A session begins, resumes, was cleared or compacted.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A prompt arrives, from a person or a background agent's report.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// A tool has failed.
    PostToolUseFailure,
    /// All tools of a turn have run.
    PostToolBatch,
    /// A subagent begins.
    SubagentStart,
    /// A subagent has finished.
    SubagentStop,
    /// The main thread has finished its turn.
    Stop,
    /// A settings file changed.
    ConfigChange,
    /// The client wants a worktree.
    WorktreeCreate,
    /// The client is done with a worktree.
    WorktreeRemove,
}

/// One row of wiring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// The event.
    pub event: Event,
    /// Its name in settings and payloads.
    pub name: &'static str,
    /// Which tools it is wired for; empty where the event has no matcher.
    pub matcher: &'static str,
    /// What an error does.
    pub on_error: OnError,
    /// How long a hook of ours may take before it gives up by itself, in milliseconds.
    pub budget_ms: u32,
    /// When the harness gives up on it, in seconds; far above the budget.
    pub timeout_s: u32,
    /// Wired by default; the others when a setting asks for them or the client knows them.
    pub always: Always,
}

/// Whether an event is wired in every installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Always {
    /// Always.
    Yes,
    /// Only where the client knows the event.
    NewClients,
    /// Only when octo is the client's worktree engine.
    Engine,
}

/// Tools that write, run something or delegate.
const WRITERS: &str =
    "Bash|Monitor|PowerShell|Write|Edit|MultiEdit|NotebookEdit|Agent|Task|mcp__.*";

/// The wiring, one row an event.
pub static WIRES: &[Wire] = &[
    Wire {
        event: Event::SessionStart,
        name: "SessionStart",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::SessionEnd,
        name: "SessionEnd",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::UserPromptSubmit,
        name: "UserPromptSubmit",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::PreToolUse,
        name: "PreToolUse",
        matcher: WRITERS,
        on_error: OnError::Deny,
        budget_ms: 9000,
        timeout_s: 30,
        always: Always::Yes,
    },
    Wire {
        event: Event::PostToolUse,
        name: "PostToolUse",
        matcher: WRITERS,
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::PostToolUseFailure,
        name: "PostToolUseFailure",
        matcher: WRITERS,
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::PostToolBatch,
        name: "PostToolBatch",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::NewClients,
    },
    Wire {
        event: Event::SubagentStart,
        name: "SubagentStart",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::SubagentStop,
        name: "SubagentStop",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::Stop,
        name: "Stop",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::ConfigChange,
        name: "ConfigChange",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 5000,
        timeout_s: 20,
        always: Always::Yes,
    },
    Wire {
        event: Event::WorktreeCreate,
        name: "WorktreeCreate",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 60_000,
        timeout_s: 90,
        always: Always::Engine,
    },
    Wire {
        event: Event::WorktreeRemove,
        name: "WorktreeRemove",
        matcher: "",
        on_error: OnError::Report,
        budget_ms: 60_000,
        timeout_s: 90,
        always: Always::Engine,
    },
];

impl Event {
    /// The event's row.
    #[must_use]
    pub fn wire(self) -> &'static Wire {
        const FALLBACK: Wire = Wire {
            event: Event::PreToolUse,
            name: "PreToolUse",
            matcher: WRITERS,
            on_error: OnError::Deny,
            budget_ms: 9000,
            timeout_s: 30,
            always: Always::Yes,
        };
        WIRES.iter().find(|w| w.event == self).unwrap_or(&FALLBACK)
    }

    /// The event with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        WIRES.iter().find(|w| w.name == name).map(|w| w.event)
    }
}

/// Which part of a hook event a name runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything that applies.
    All,
    /// The session's own tree only.
    Isolation,
    /// The dimension gate only.
    Dimension,
    /// The write gates only.
    Write,
    /// The bash gates only.
    Bash,
}

/// What a name does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// A hook.
    Hook(Role),
    /// What a person types.
    Operator,
    /// Lanes and worktrees by hand.
    Dim,
    /// The shell prefix of the kernel fence.
    Shell,
}

/// A name the binary answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applet {
    /// The exact name.
    pub name: &'static str,
    /// What it does.
    pub run: Run,
    /// In a few words.
    pub summary: &'static str,
}

/// All names. `octo NAME …` is the same as a link called NAME.
pub static APPLETS: &[Applet] = &[
    Applet {
        name: "octo-hook",
        run: Run::Hook(Role::All),
        summary: "one entry for every hook event",
    },
    Applet {
        name: "session-isolation-hook",
        run: Run::Hook(Role::Isolation),
        summary: "SessionStart: tells a newcomer who else works here",
    },
    Applet {
        name: "dimension-awareness-hook",
        run: Run::Hook(Role::Dimension),
        summary: "PreToolUse: broad staging beside another session",
    },
    Applet {
        name: "pretool-write-tree-owner",
        run: Run::Hook(Role::Write),
        summary: "PreToolUse: writes to lanes of others",
    },
    Applet {
        name: "pretool-bash-tree-owner",
        run: Run::Hook(Role::Bash),
        summary: "PreToolUse: commands against trees and lanes of others",
    },
    Applet {
        name: "octo-dim",
        run: Run::Dim,
        summary: "register, heartbeat, list, prune, claim, release, unregister, worktree-init",
    },
    Applet {
        name: "octo-sh",
        run: Run::Shell,
        summary: "the shell prefix that runs a command inside the kernel fence",
    },
    Applet { name: "octo", run: Run::Operator, summary: "the operator's commands" },
];

/// The applet with exactly this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Applet> {
    APPLETS.iter().find(|a| a.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pretooluse_fails_closed_and_every_budget_is_under_its_timeout() {
        for wire in WIRES {
            assert_eq!(wire.on_error == OnError::Deny, wire.event == Event::PreToolUse);
            assert!(wire.budget_ms < wire.timeout_s * 1000 / 2 + 20_000, "{}", wire.name);
            assert_eq!(wire.event.wire(), wire);
        }
    }

    #[test]
    fn names_match_exactly() {
        assert!(find("octo").is_some() && find("xocto").is_none() && find("octo-hook2").is_none());
    }
}
