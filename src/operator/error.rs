//! Why a person's command could not be done: who must act, what happened, what to do next. The
//! exit codes of the whole command line are one table here.

use std::fmt;

use crate::kernel::StateError;

/// What kind of trouble it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The command line is wrong.
    Usage,
    /// It may not be done, or not here.
    Refused,
    /// What was named does not exist.
    Missing,
    /// The kernel's state could not be used.
    State,
    /// git said no.
    Git,
    /// A settings or configuration file is in the way.
    Settings,
    /// A file could not be read or written.
    File,
    /// Doctor found sessions unguarded.
    Unguarded,
}

/// Exit codes and what they mean, as `octo help` prints them.
pub const CODES: &[(u8, &str)] = &[
    (0, "done; doctor: all well"),
    (1, "refused, missing, or a file, state or git in the way; doctor: warnings"),
    (2, "wrong usage; a hook: denied; doctor: not guarded"),
    (70, "an error of octo itself"),
];

/// A command that was not done.
#[derive(Debug)]
pub struct OperatorError {
    /// What kind.
    pub kind: Trouble,
    /// What happened, in a sentence.
    pub message: String,
    /// What to do, a line each.
    pub hints: Vec<String>,
}

impl OperatorError {
    /// Trouble in a sentence.
    #[must_use]
    pub fn new(kind: Trouble, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A file that could not be read or written.
    #[must_use]
    pub fn file(path: &std::path::Path, why: &std::io::Error) -> Self {
        Self::new(Trouble::File, format!("{}: {why}", path.display()))
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self.kind {
            Trouble::Usage | Trouble::Unguarded => 2,
            Trouble::Refused
            | Trouble::Missing
            | Trouble::State
            | Trouble::Git
            | Trouble::Settings
            | Trouble::File => 1,
        }
    }

    /// The word for `--json`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.kind {
            Trouble::Usage => "usage",
            Trouble::Refused => "refused",
            Trouble::Missing => "missing",
            Trouble::State => "state",
            Trouble::Git => "git",
            Trouble::Settings => "settings",
            Trouble::File => "file",
            Trouble::Unguarded => "unguarded",
        }
    }
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octo: {}", self.message)?;
        for hint in &self.hints {
            write!(f, "\n  {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OperatorError {}

impl From<StateError> for OperatorError {
    fn from(why: StateError) -> Self {
        let hint = match &why {
            StateError::Absent => "no hook has run yet: octo doctor",
            StateError::Locked(_) => "try again; if it stays, octo doctor names who holds it",
            StateError::Newer { .. } => "install the newer octo again",
            StateError::Damaged(_) | StateError::Table(_) => "octo doctor --repair",
            StateError::Full(_) => "free some space: octo prune",
            StateError::Io(..) => "octo doctor",
        };
        Self::new(Trouble::State, why.to_string()).hint(hint)
    }
}

/// What every command returns.
pub type Done = Result<(), OperatorError>;
