//! argv → applet → exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    octo::start(std::env::args_os().collect())
}
