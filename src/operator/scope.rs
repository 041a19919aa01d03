//! `octo scope`: which project a path in a session's tree stands for, and back.

use clap::Args;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::tree_door::{Asker, Door};
use crate::git::{Follow, canonical};
use crate::policy::lane::Pid;
use crate::worktree::scope::{logical, physical};

/// Maps a path in a session's tree to the project it stands for.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo scope src/lib.rs\n  octo scope ~/app/src/lib.rs --physical --session 3f2a91c0"
)]
pub struct ScopeArgs {
    /// The path.
    pub path: std::path::PathBuf,
    /// The other way: from the project into the session's tree.
    #[arg(long)]
    pub physical: bool,
    /// Whose tree; the own session's, or the one around this directory.
    #[arg(long, requires = "physical")]
    pub session: Option<String>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// Runs `octo scope`.
pub fn run(args: &ScopeArgs, context: &Context) -> Done {
    let door = Door::open(context)?;
    let path = canonical(context.cwd.join(&args.path), Follow::All);
    let path = path.ok_or_else(|| OperatorError::new(Trouble::Usage, "that is no path"))?;
    let rows = door.rows()?;
    let mapped = if args.physical {
        let named = args.session.as_deref().and_then(Pid::new);
        let around = || rows.iter().find(|r| door.cwd.within(&r.path)).map(|r| r.session.clone());
        let own = match &door.asker {
            Asker::Session(session) => Some(session.clone()),
            Asker::Person(_) => None,
        };
        let session = named.or(own).or_else(around).ok_or_else(|| {
            OperatorError::new(Trouble::Usage, "whose tree?").hint("say it: --session ID")
        })?;
        physical(&rows, &session, &path)
    } else {
        logical(&rows, &path)
    };
    if args.json {
        let value = json!({ "path": path.to_string(), "mapped": mapped.to_string() });
        return context.screen.json("scope", value);
    }
    context.screen.print(&format!("{mapped}\n"))
}
