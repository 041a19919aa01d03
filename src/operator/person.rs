//! Tells a person at a terminal from an agent. What loosens a guard is a person's to do; the
//! gates deny it to hooked processes, and this is the second lock: environment, ancestry and a
//! real terminal. Decides nothing else.

use std::io::IsTerminal;

use super::error::{Done, OperatorError, Trouble};
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};

/// Variables that agent clients set for the commands they run.
const MARKS: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "AI_AGENT"];

/// Longest chain of parents that is looked at.
const ANCESTORS: usize = 64;

/// Refuses when an agent (or something it started) asks for what only a person may do.
pub fn require_person(what: &str) -> Done {
    match agent_mark() {
        None => Ok(()),
        Some(mark) => Err(OperatorError::new(
            Trouble::Refused,
            format!("{what} is the operator's, and this runs inside an agent ({mark})"),
        )
        .hint("open a terminal of your own and run it there")),
    }
}

/// The same, and both ends must be a terminal: no pipe answers for a person.
pub fn require_terminal(what: &str) -> Done {
    require_person(what)?;
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(OperatorError::new(Trouble::Refused, format!("{what} wants a person at a terminal")))
}

/// Who the operator is, for the journal.
#[must_use]
pub fn name() -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|key| std::env::var(key).ok());
    named
        .filter(|name| !name.is_empty() && !name.chars().any(char::is_control))
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

fn agent_mark() -> Option<String> {
    let variable = MARKS
        .iter()
        .find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0"));
    if let Some(name) = variable {
        return Some(format!("{name} is set"));
    }
    client_above().map(|pid| format!("process {pid} above it is a client's"))
}

/// A client the table knows among our ancestors: `env -u` does not hide a family.
fn client_above() -> Option<u32> {
    let home = Home::discover()?;
    let mut kernel = Kernel::open(&home, Make::Never, OPERATOR_PATIENCE).ok()?;
    let clients: Vec<clock::Client> = kernel
        .look(|tx| tx.processes())
        .ok()?
        .into_iter()
        .filter(|row| row.place.boot == clock::place().boot)
        .filter_map(|row| row.client)
        .collect();
    let mine = ancestors();
    let hit = clients.into_iter().find(|client| {
        mine.contains(&client.pid) && clock::client_life(*client) == clock::ClientLife::Runs
    });
    hit.map(|client| client.pid)
}

#[cfg(target_os = "linux")]
pub(super) fn ancestors() -> Vec<u32> {
    let mut chain = Vec::new();
    let mut pid = std::os::unix::process::parent_id();
    while pid > 1 && chain.len() < ANCESTORS {
        chain.push(pid);
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rfind(')').and_then(|end| stat.get(end + 1..)).unwrap_or_default();
        let parent = rest.split_whitespace().nth(1).and_then(|field| field.parse().ok());
        pid = parent.unwrap_or(0);
    }
    chain
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ancestors() -> Vec<u32> {
    let parent = std::os::unix::process::parent_id();
    [parent].into_iter().take(ANCESTORS).collect()
}
