//! `octo-dim`: a tree by hand, for arms and the brain. The session's id is taken before or after
//! the verb; nothing is made up in its place.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::{Screen, Voice, harmless};
use super::tree_door::{Asker, Door};
use crate::git::{Follow, canonical};
use crate::policy::lane::Pid;
use crate::worktree::{Start, State};

/// Gives a session a tree of its own.
#[derive(Debug, Parser)]
#[command(name = "octo-dim", version, disable_help_subcommand = true)]
pub struct Dim {
    /// The session's stable id.
    #[arg(long, global = true, value_name = "ID")]
    pub session_id: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What `octo-dim` does.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Makes the session's tree (or finds the one it has) and prints its path.
    WorktreeInit {
        /// The repository; the brain when left out.
        #[arg(long, value_name = "PATH")]
        repo: Option<PathBuf>,
        /// Start from this revision instead of HEAD.
        #[arg(long, value_name = "REV", conflicts_with = "fresh")]
        base: Option<String>,
        /// Start from the published default branch, fetched first.
        #[arg(long)]
        fresh: bool,
        /// Check out only these folders.
        #[arg(long, value_name = "DIR")]
        sparse: Vec<String>,
        /// Wait until the tree is filled.
        #[arg(long)]
        wait: bool,
    },
    /// Lists the trees of all sessions.
    List,
}

/// Runs `octo-dim ARGS…`; `args` begins after the program's name.
#[must_use]
pub fn start(args: &[OsString]) -> ExitCode {
    let named = std::iter::once(OsString::from("octo-dim")).chain(args.iter().cloned());
    let dim = match Dim::try_parse_from(named) {
        Ok(dim) => dim,
        Err(why) => return super::say(&why),
    };
    match run(&dim) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            Screen::detect(Voice::Normal).fail(&why);
            ExitCode::from(why.code())
        }
    }
}

fn run(dim: &Dim) -> Done {
    let context = Context::here(Voice::Normal)?;
    match &dim.verb {
        Verb::List => {
            let door = Door::open(&context)?;
            for row in door.rows()? {
                let line = format!("{}\t{}\t{}\t{}\n", row.id, row.branch, row.state, row.path);
                context.screen.print(&harmless_line(&line))?;
            }
            Ok(())
        }
        Verb::WorktreeInit { repo, base, fresh, sparse, wait } => {
            let start = match (base, fresh) {
                (Some(rev), _) => Some(Start::Rev(rev.clone())),
                (None, true) => Some(Start::Fresh),
                (None, false) => None,
            };
            init(&context, dim.session_id.as_deref(), repo.as_deref(), start, sparse, *wait)
        }
    }
}

fn harmless_line(line: &str) -> String {
    line.split('\t').map(|f| harmless(f.trim_end_matches('\n'))).collect::<Vec<_>>().join("\t")
        + "\n"
}

fn init(
    context: &Context,
    id: Option<&str>,
    repo: Option<&std::path::Path>,
    start: Option<Start>,
    sparse: &[String],
    wait: bool,
) -> Done {
    let usage = |what: &str| OperatorError::new(Trouble::Usage, what.to_owned());
    let id = id.ok_or_else(|| {
        usage("whose tree? a host name or a process number would put two sessions into one")
            .hint("say it: octo-dim --session-id ID worktree-init")
    })?;
    let session = Pid::new(id).ok_or_else(|| usage("that is no session id"))?;
    let given = repo.map_or_else(|| context.home.join(".claude"), |repo| context.cwd.join(repo));
    let from = canonical(&given, Follow::All).ok_or_else(|| usage("that is no path"))?;
    let project = crate::git::root_of(&from).map(|r| r.path.as_path().to_owned());
    let context = &Context { project: project.unwrap_or(given), ..context.clone() };
    let mut door = Door::open(context)?;
    if let Asker::Session(own) = &door.asker
        && *own != session
    {
        return Err(OperatorError::new(Trouble::Refused, format!("this is session {own}")));
    }
    if !sparse.is_empty() {
        door.engine.prefs_mut().sparse = sparse.to_vec();
    }
    let made = door.engine.init(&session, &from, start)?;
    let row = if wait { door.engine.ready(made.row)? } else { made.row };
    if !made.base.is_empty() {
        context.screen.say(&format!("{} from {}", row.branch, made.base));
    }
    for note in &made.notes {
        context.screen.say(&harmless(note));
    }
    match &row.state {
        State::Preparing => {
            context.screen.say("it is being filled; octo worktree show says when it is ready");
        }
        State::Failed { why } => {
            return Err(OperatorError::new(Trouble::Git, why.clone())
                .hint(format!("the tree is at {}", row.path)));
        }
        State::Ready
        | State::Waiting { .. }
        | State::Attention { .. }
        | State::Landed { .. }
        | State::Burying { .. }
        | State::Archived { .. } => {}
    }
    context.screen.print(&format!("{}\n", row.place()))
}
