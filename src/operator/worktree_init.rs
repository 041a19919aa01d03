//! `octo-dim worktree-init`: a tree by hand, for arms and the brain. Nothing is made up in place of
//! a session's id.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::harmless;
use super::tree_door::{Asker, Door};
use crate::git::{Follow, canonical};
use crate::policy::lane::Pid;
use crate::worktree::{Start, State};

/// A huge checkout on a busy disk takes minutes.
const PATIENCE: Duration = Duration::from_mins(30);

/// Makes the session's tree (or finds the one it has) and prints its path.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The repository; the brain (`~/.claude`) when left out.
    #[arg(long, value_name = "PATH")]
    repo: Option<PathBuf>,
    /// Start from this revision instead of HEAD.
    #[arg(long, value_name = "REV", conflicts_with = "fresh")]
    base: Option<String>,
    /// Start from the published default branch, fetched first.
    #[arg(long)]
    fresh: bool,
    /// Work on this branch, which is there already, instead of one of its own.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["base", "fresh"])]
    branch: Option<String>,
    /// Check out only these folders.
    #[arg(long, value_name = "DIR")]
    sparse: Vec<String>,
    /// Wait until the tree is filled.
    #[arg(long)]
    wait: bool,
}

/// Runs `octo-dim worktree-init` for session `id`.
pub fn run(args: &InitArgs, id: &str, context: &Context) -> Done {
    let usage = |what: &str| OperatorError::new(Trouble::Usage, what.to_owned());
    let start = match (&args.base, args.fresh) {
        (Some(rev), _) => Some(Start::Rev(rev.clone())),
        (None, true) => Some(Start::Fresh),
        (None, false) => None,
    };
    let session = Pid::new(id).ok_or_else(|| usage("that is no session id"))?;
    let repo = args.repo.as_ref();
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
    if !args.sparse.is_empty() {
        door.engine.prefs_mut().sparse.clone_from(&args.sparse);
    }
    let made = door.engine.init(&session, &from, start, args.branch.clone())?;
    let row = if args.wait { door.engine.ready(made.row, PATIENCE)? } else { made.row };
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
