//! Where there is no kernel fence: the command runs as it is, unless more was demanded.

use std::os::unix::process::CommandExt;

use super::{Command, Terms};
use crate::fence::{FenceError, Granted, HoldSource, Level};
use crate::policy::lane::AbsPath;

/// Replaces this process by the command.
pub(super) fn become_command(command: &Command) -> Result<u8, FenceError> {
    let source = std::process::Command::new(&command.program).args(&command.args).exec();
    Err(FenceError::Start { program: command.program.to_string_lossy().into_owned(), source })
}

/// Says that there is no fence and runs the command, or refuses where one is demanded.
pub(super) fn fenced(
    command: &Command,
    terms: &Terms,
    source: &dyn HoldSource,
) -> Result<u8, FenceError> {
    const WHY: &str = "no kernel fence on this system yet";
    let dir = std::env::current_dir()
        .ok()
        .and_then(AbsPath::new)
        .ok_or(FenceError::Usage("the working directory is gone"))?;
    let holds = source.holds_for(&terms.who, &dir)?;
    let need = holds.need.max(terms.need);
    if need > Level::None {
        return Err(FenceError::TooWeak { need, have: Level::None, why: WHY.to_owned() });
    }
    let none = Granted {
        level: Level::None,
        short: Some(WHY.to_owned()),
        aliased: Vec::new(),
        absent: Vec::new(),
    };
    source.granted(&terms.who, &none);
    become_command(command)
}
