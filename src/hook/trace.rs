//! `OCTO_LOG=FILE`: a line a hook call, with its event, answer and time, for finding out what a
//! client really asks. Set by whoever starts the client; costs a look at the environment otherwise.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use crate::kernel::clock;
use crate::kernel::home::open_private;
use crate::policy::telling::plain;
use crate::shield::Reply;

/// The variable that names the file.
const VARIABLE: &str = "OCTO_LOG";

/// Answers an event, and writes down what was answered where that is asked for.
pub fn around(event: &str, answer: impl FnOnce() -> Reply) -> Reply {
    let file = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|file| file.is_absolute());
    let Some(file) = file else { return answer() };
    let began = Instant::now();
    let reply = answer();
    let micros = began.elapsed().as_micros();
    let said = plain(reply.stderr.lines().next().unwrap_or_default());
    let line = format!("{} {event} {} {micros} us {said}\n", clock::unix_seconds(), reply.code);
    // A trace that can't be written must not change a verdict.
    drop(open_private(&file).and_then(|mut open| open.write_all(line.as_bytes())));
    reply
}
