//! `octo-dim worktree-init`: the session's own worktree by hand, for arms and the brain. Prints
//! the path alone; everything else is narration.

use std::path::PathBuf;

use clap::Args;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::harmless;
use super::tree_door::{Asker, Door};
use crate::git::{self, Follow, canonical};
use crate::policy::lane::Pid;
use crate::worktree::{Start, State};

/// Makes (or finds) the session's own worktree and prints its path.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The repository; the brain (`~/.claude`) when left out.
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// Start from this revision instead of HEAD.
    #[arg(long, value_name = "REV", conflicts_with = "fresh")]
    pub base: Option<String>,
    /// Start from the published default branch, fetched first.
    #[arg(long)]
    pub fresh: bool,
    /// Check out only these folders.
    #[arg(long, value_name = "DIR")]
    pub sparse: Vec<String>,
    /// Wait until the tree is filled.
    #[arg(long)]
    pub wait: bool,
}

/// Makes (or finds) the worktree of session `id` for a repository and prints its path.
pub fn run(id: &str, args: &InitArgs, context: &Context) -> Done {
    let usage = |what: &str| OperatorError::new(Trouble::Usage, what.to_owned());
    let session = Pid::new(id).ok_or_else(|| usage("that is no session id"))?;
    let brain = || context.home.join(".claude");
    let given = args.repo.as_ref().map_or_else(brain, |repo| context.cwd.join(repo));
    let from = canonical(&given, Follow::All).ok_or_else(|| usage("that is no path"))?;
    let project = git::root_of(&from).map(|r| r.path.as_path().to_owned());
    let mut door = Door::open(&Context { project: project.unwrap_or(given), ..context.clone() })?;
    if let Asker::Session(own) = &door.asker
        && *own != session
    {
        return Err(OperatorError::new(Trouble::Refused, format!("this is session {own}")));
    }
    if !args.sparse.is_empty() {
        door.engine.prefs_mut().sparse.clone_from(&args.sparse);
    }
    let start = match &args.base {
        Some(rev) => Some(Start::Rev(rev.clone())),
        None => args.fresh.then_some(Start::Fresh),
    };
    let made = door.engine.init(&session, &from, start)?;
    let row = if args.wait { door.engine.ready(made.row)? } else { made.row };
    if !made.base.is_empty() {
        context.screen.say(&format!("{} from {}", row.branch, made.base));
    }
    for note in &made.notes {
        context.screen.say(&harmless(note));
    }
    if let State::Failed { why } = &row.state {
        return Err(OperatorError::new(Trouble::Git, why.clone())
            .hint(format!("the tree is at {}", row.path)));
    }
    if row.state == State::Preparing {
        context.screen.say("it is being filled; octo worktree show says when it is ready");
    }
    context.screen.print(&format!("{}\n", row.place()))
}
