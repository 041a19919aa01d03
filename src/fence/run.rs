//! The applets `octo-sh` and `octo exec`: whose command it is, which fence it gets, and how its end
//! is passed on. A command is never refused because it is unknown (it gets the strictest fence),
//! only when the fence it needs cannot be had.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use super::prefix::{self, Line};
use super::ticket::{self, Found, Run};
use super::{FenceError, GitWrite, HoldSource, Level, Who};
use crate::policy::lane::Pid;

#[cfg(target_os = "linux")]
#[path = "run_linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "run_other.rs"]
mod system;

/// A command as it will be executed.
#[derive(Debug, Clone)]
struct Command {
    /// The program, looked up in `PATH`.
    program: OsString,
    /// Its arguments, without the name.
    args: Vec<OsString>,
    /// How it is called in records.
    text: String,
}

/// What is known about the command besides what it is.
#[derive(Debug, Clone)]
struct Terms {
    /// Whose it is.
    who: Who,
    /// What was proved about git.
    git: GitWrite,
    /// The least fence it may run under.
    need: Level,
}

/// `octo-sh '<shell line>'`: the client's vehicle for every shell command.
pub fn run_prefix(args: &[OsString], source: &dyn HoldSource) -> u8 {
    match shell_line(args, source) {
        Ok(code) => code,
        Err(error) => report("octo-sh", &error),
    }
}

/// `octo exec [--as PID] -- CMD…`: the same fence for scripts and other clients.
pub fn run_exec(args: &[OsString], source: &dyn HoldSource) -> u8 {
    match exec(args, source) {
        Ok(code) => code,
        Err(error) => report("octo exec", &error),
    }
}

fn report(applet: &str, error: &FenceError) -> u8 {
    // A closed stderr changes nothing: the exit code says it too.
    let _written = writeln!(io::stderr(), "{applet}: {error}");
    error.code()
}

fn shell_line(args: &[OsString], source: &dyn HoldSource) -> Result<u8, FenceError> {
    let [line] = args else {
        return Err(FenceError::Usage("usage: octo-sh '<shell line>'"));
    };
    let read = match line.to_str() {
        Some(text) => prefix::read(text, variable("CLAUDE_PROJECT_DIR").as_deref()),
        None => Line::Unknown,
    };
    let program = prefix::shell(&line.to_string_lossy(), &variable);
    let text = match &read {
        Line::Tool { command } => command.clone(),
        Line::Helper | Line::Unknown => line.to_string_lossy().into_owned(),
    };
    let command = Command { program: program.into(), args: vec!["-c".into(), line.clone()], text };
    let session = variable("CLAUDE_CODE_SESSION_ID").as_deref().and_then(Pid::new);
    match read {
        Line::Helper => system::become_command(&command),
        Line::Unknown => system::fenced(&command, &strictest(session), source),
        Line::Tool { command: text } => {
            let found = session
                .as_ref()
                .map_or(Found::None, |s| ticket::look_up(&source.tickets(), s, &text));
            match (found, session) {
                (Found::One(ticket), Some(_)) if ticket.run == Run::Own => {
                    system::become_command(&command)
                }
                (Found::One(ticket), Some(session)) => {
                    let who = Who::Process { session, pid: ticket.pid };
                    let terms = Terms { who, git: ticket.git, need: ticket.need };
                    system::fenced(&command, &terms, source)
                }
                (Found::Ambiguous { need }, session) => {
                    let terms = Terms { need, ..strictest(session) };
                    system::fenced(&command, &terms, source)
                }
                (Found::None | Found::One(_), session) => {
                    system::fenced(&command, &strictest(session), source)
                }
            }
        }
    }
}

/// What applies when nobody vouches for the command.
fn strictest(session: Option<Pid>) -> Terms {
    Terms { who: Who::Unknown { session }, git: GitWrite::None, need: Level::None }
}

fn exec(args: &[OsString], source: &dyn HoldSource) -> Result<u8, FenceError> {
    const USAGE: FenceError = FenceError::Usage("usage: octo exec [--as PID] -- COMMAND [ARG…]");
    let Some(dashes) = args.iter().position(|a| a == "--") else { return Err(USAGE) };
    let (options, rest) = args.split_at(dashes);
    let who = match options {
        [] => Who::Unknown { session: None },
        [flag, pid] if flag == "--as" => {
            let pid = pid.to_str().and_then(Pid::new).ok_or(USAGE)?;
            Who::Process { session: pid.clone(), pid }
        }
        _ => return Err(USAGE),
    };
    let [_, program, args @ ..] = rest else { return Err(USAGE) };
    let words: Vec<_> = rest.iter().skip(1).map(|w| w.to_string_lossy()).collect();
    let command = Command {
        program: program.clone(),
        args: args.to_vec(),
        text: shell_words::join(words.iter().map(AsRef::as_ref)),
    };
    let terms = Terms { who, git: GitWrite::None, need: Level::None };
    system::fenced(&command, &terms, source)
}

/// A variable of the environment, as text.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(OsStr::new(name)).and_then(|v| v.into_string().ok())
}
