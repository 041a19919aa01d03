//! The verbs of `octo worktree` that octo starts itself, in processes that outlive a hook. Each
//! looks up the settings of the repository it works for: such a process stands in no repository.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::harmless;
use super::worktree::missing;
use crate::config::Land;
use crate::git::{Follow, canonical};
use crate::kernel::home::Home;
use crate::policy::lane::{AbsPath, Pid};
use crate::worktree::engine::{Engine, REAPER};
use crate::worktree::reap::reap;

/// Work for a detached process.
#[derive(Debug, Subcommand)]
pub enum Work {
    /// Fills a registered tree and sets it up.
    #[command(hide = true)]
    Prepare {
        /// Its folder.
        path: PathBuf,
    },
    /// Brings a tree's work home after its session has ended.
    #[command(hide = true)]
    Land {
        /// Its folder.
        path: PathBuf,
        /// How, as the ended session's settings said.
        #[arg(long = "as", value_name = "LAND")]
        how: String,
    },
    /// The safe part of a clean-up.
    #[command(hide = true)]
    Reap {
        /// The git directory of the repository a session is in.
        here: Option<PathBuf>,
    },
}

/// Runs one.
pub fn run(work: &Work, context: &Context) -> Done {
    let home = Home::of(&context.home);
    let of_tree = |path: &AbsPath| {
        Engine::of_tree(&home, path).ok_or_else(|| missing(context.home.as_path()))
    };
    match work {
        Work::Prepare { path } => {
            let path = full(path)?;
            of_tree(&path)?.prepare(&path)?;
            Ok(())
        }
        Work::Land { path, how } => {
            let path = full(path)?;
            let land = Land::named(how).ok_or_else(|| {
                OperatorError::new(Trouble::Usage, format!("no way to land: {how}"))
            })?;
            let saved = of_tree(&path)?.land(&path, land)?;
            context.screen.say(&harmless(&saved.outcome.to_string()));
            Ok(())
        }
        Work::Reap { here } => {
            let engine = Engine::new(&home, None).ok_or_else(|| missing(&context.home))?;
            let by = Pid::new(REAPER).ok_or_else(|| missing(&context.home))?;
            let here = here.as_ref().and_then(AbsPath::new);
            for line in reap(&engine.context(), &by, here.as_ref())? {
                context.screen.say(&line);
            }
            Ok(())
        }
    }
}

fn full(path: &Path) -> Result<AbsPath, OperatorError> {
    canonical(path, Follow::All).ok_or_else(|| missing(path))
}
