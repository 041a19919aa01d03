//! What a person types: one file a command, one error with hints and an exit code. Reads the
//! kernel, asks the judges, edits the client's settings; decides nothing about a hook event.
#![expect(
    clippy::disallowed_methods,
    reason = "I/O boundary: settings, receipts, the installed program, terminals"
)]

pub mod caller;
pub mod cli;
pub mod completion;
pub mod config_cmd;
pub mod context;
pub mod diff;
pub mod dim;
pub mod doctor;
pub mod error;
pub mod explain;
mod explain_tree;
pub mod install;
pub mod keep;
pub mod manual;
pub mod model;
pub mod page;
pub mod pause;
pub mod person;
pub mod place;
pub mod prune;
pub mod ps;
pub mod receipt;
pub mod recover;
pub mod reference;
pub mod release;
pub mod replay;
pub mod save;
pub mod scope;
pub mod screen;
pub mod settings_file;
pub mod statusline;
pub mod table;
pub mod top;
pub mod tree_door;
pub mod uninstall;
pub mod used;
pub mod worktree;
pub mod worktree_init;
pub mod worktree_jobs;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use cli::Cli;
use screen::{Screen, Voice};

/// Runs `octo ARGS…` and gives its exit code. `args` begins with the program's name.
#[must_use]
pub fn start(args: Vec<OsString>) -> u8 {
    let dir = std::env::current_dir().ok();
    let completed = clap_complete::CompleteEnv::with_factory(Cli::command)
        .try_complete(args.clone(), dir.as_deref());
    match completed {
        Ok(true) => return 0,
        Ok(false) => {}
        Err(why) => return say(&why),
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(why) => return say(&why),
    };
    match cli::run(&cli) {
        Ok(()) => 0,
        Err(why) => {
            Screen::detect(Voice::Normal).fail(&why);
            why.code()
        }
    }
}

/// Help goes to stdout with 0, a wrong command line to stderr with 2.
fn say(why: &clap::Error) -> u8 {
    drop(why.print());
    u8::try_from(why.exit_code()).unwrap_or(2)
}
