//! Where a client keeps its settings, and what stands in them of ours. Reads only.
#![expect(clippy::disallowed_methods, reason = "I/O boundary: reads the client's settings files")]

use std::fmt;
use std::path::{Path, PathBuf};

use super::survey::{Survey, survey};

/// Whose settings a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The person's, for all projects.
    User,
    /// The project's, committed.
    Project,
    /// The project's, for this person alone.
    Local,
    /// The administrator's.
    Managed,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Managed => "managed",
        })
    }
}

/// The client's folder of a person: where `CLAUDE_CONFIG_DIR` moved it, else `~/.claude`.
#[must_use]
pub fn client_folder(home: &Path) -> PathBuf {
    let moved = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    moved.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(".claude"))
}

/// The settings file of a scope; `project` is the top of the project.
#[must_use]
pub fn path(scope: Scope, home: &Path, project: &Path) -> PathBuf {
    match scope {
        Scope::User => client_folder(home).join("settings.json"),
        Scope::Project => project.join(".claude/settings.json"),
        Scope::Local => project.join(".claude/settings.local.json"),
        Scope::Managed if cfg!(target_os = "macos") => {
            PathBuf::from("/Library/Application Support/ClaudeCode/managed-settings.json")
        }
        Scope::Managed => PathBuf::from("/etc/claude-code/managed-settings.json"),
    }
}

/// A settings file that is there.
#[derive(Debug, Clone)]
pub struct Found {
    /// Whose.
    pub scope: Scope,
    /// Where.
    pub path: PathBuf,
    /// What stands in it, or why it can't be read.
    pub content: Result<Survey, String>,
}

/// The settings files that are there, weakest first.
#[must_use]
pub fn found(home: &Path, project: &Path) -> Vec<Found> {
    let mut files: Vec<Found> = Vec::new();
    for scope in [Scope::User, Scope::Project, Scope::Local, Scope::Managed] {
        let path = path(scope, home, project);
        if files.iter().any(|file| file.path == path) {
            continue;
        }
        let content = match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => Ok(Survey::default()),
            Ok(text) => survey(&text).map_err(|why| why.to_string()),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => continue,
            Err(why) => Err(why.to_string()),
        };
        files.push(Found { scope, path, content });
    }
    files
}

/// True when settings wire us for an event, so that a plugin's entry for it must stand back.
#[must_use]
pub fn settings_wire(event: &str, home: &Path, project: &Path) -> bool {
    found(home, project).iter().any(|file| {
        let survey = file.content.as_ref();
        survey.is_ok_and(|survey| survey.ours().any(|hook| hook.event == event))
    })
}
