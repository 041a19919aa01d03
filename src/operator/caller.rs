//! Which process runs this command, when an agent runs it: the one under the client above us that
//! has a tool in flight. Guesses nothing: two candidates are an error that names them.

use super::error::{OperatorError, Trouble};
use super::model::{Process, Snapshot, Standing};
use super::person::ancestors;
use crate::kernel::beat::{self, Flight};
use crate::kernel::home::Home;
use crate::policy::lane::Pid;

/// The process that runs this command.
pub fn caller<'p>(home: &Home, picture: &'p Snapshot) -> Result<&'p Process, OperatorError> {
    let above = ancestors();
    let family: Vec<&Process> = picture
        .processes
        .iter()
        .filter(|process| process.state == Standing::Live)
        .filter(|process| process.client.is_some_and(|client| above.contains(&client)))
        .collect();
    let busy = |process: &&&Process| {
        Pid::new(&process.pid).is_some_and(|pid| !beat::in_flight(home, &pid).is_empty())
    };
    let busy: Vec<&Process> = family.iter().filter(busy).copied().collect();
    // Of several that are busy, this program was named in the command of one.
    let asks = |process: &&&Process| {
        Pid::new(&process.pid).is_some_and(|pid| {
            beat::in_flight(home, &pid).values().any(|flight| *flight == Flight::Ours)
        })
    };
    let naming: Vec<&Process> = busy.iter().filter(asks).copied().collect();
    let candidates = if naming.is_empty() { busy } else { naming };
    match (candidates.as_slice(), family.as_slice()) {
        ([one], _) | ([], [one]) => Ok(one),
        ([], []) => Err(OperatorError::new(Trouble::Usage, "whose? no session runs this command")
            .hint("say it: --as PID (octo ps lists them)")),
        (several, all) => {
            let several = if several.is_empty() { all } else { several };
            let names: Vec<_> = several.iter().map(|process| process.pid.as_str()).collect();
            let message = "whose? several processes could be running this command";
            Err(OperatorError::new(Trouble::Usage, message)
                .hint(format!("say it: --as {}", names.join(" | --as "))))
        }
    }
}
