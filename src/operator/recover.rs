//! `octo recover`: after a collision, everything loose is held and what happened is told.

use clap::Args;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::{Tone, harmless};
use super::tree_door::Door;
use crate::git;
use crate::worktree::recover::{Commit, recover};

/// Holds loose work after a collision and shows where each file's changes went.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo recover          hold what is loose, print the way back; changes no file\n  octo recover --json"
)]
pub struct RecoverArgs {
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// Runs `octo recover`.
pub fn run(args: &RecoverArgs, context: &Context) -> Done {
    let door = Door::open(context)?;
    let root = git::root_of(&door.cwd).ok_or_else(|| {
        OperatorError::new(Trouble::Missing, format!("{} is in no repository", door.cwd))
    })?;
    let ctx = door.engine.context();
    let found = recover(&ctx, &door.home, &root, door.asker.pid().as_str())?;
    if args.json {
        let commit = |c: &Commit| json!({ "id": c.id, "subject": c.subject, "how": c.how, "branches": c.branches, "files": c.files });
        let held: Vec<_> =
            found.held.iter().map(|(root, k)| json!({ "root": root, "keep": k.name })).collect();
        let value = json!({
            "held": held, "too_big": found.too_big, "files": found.files, "steps": found.steps,
            "mixed": found.mixed.iter().map(commit).collect::<Vec<_>>(),
            "dropped": found.dropped.iter().map(commit).collect::<Vec<_>>(),
        });
        return context.screen.json("recovery", value);
    }
    let title = |text: &str| context.screen.paint(Tone::Strong, text);
    let mut out = vec![title("Held")];
    for (root, keep) in &found.held {
        out.push(format!("  {} {}", keep.name, harmless(root)));
    }
    for root in &found.too_big {
        out.push(format!("  NOT {}: too much; copy it away by hand first", harmless(root)));
    }
    out.push(title("Where the changes are"));
    for (path, lines) in &found.files {
        out.push(format!("  {}", harmless(&path.display().to_string())));
        for line in lines {
            out.push(format!("    {}", harmless(line)));
        }
    }
    out.push(title("What to do"));
    for (number, step) in found.steps.iter().enumerate() {
        out.push(format!("  {}. {}", number + 1, harmless(step)));
    }
    context.screen.print(&(out.join("\n") + "\n"))
}
