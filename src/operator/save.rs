//! `octo save` and `octo archive`: a session's work becomes commits on its branch and comes home.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::harmless;
use super::tree_door::Door;
use crate::worktree::landing::merge::Conflict;
use crate::worktree::landing::resolve::{Resolution, resolve};
use crate::worktree::landing::{Aim, Outcome, SaveRequest, Saved, save};
use crate::worktree::reap::{Gone, reclaim};
use crate::worktree::{State, TreeRow};

/// Commits what is uncommitted in a session's tree and lands its branch.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
#[command(
    after_help = "Examples:\n  octo save                     the tree around this directory\n  octo save -m 'Fix the parser'\n  octo save --resolve           settle a conflict, then land"
)]
pub struct SaveArgs {
    /// Which tree: an id, the beginning of one, a path or a branch.
    #[arg(add = ArgValueCandidates::new(super::completion::trees))]
    pub tree: Option<String>,
    /// The commit's message.
    #[arg(long, short)]
    pub message: Option<String>,
    /// Land on this branch instead of the recorded one.
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// Commit only; the branch stays where it is.
    #[arg(long, conflicts_with_all = ["pr", "resolve", "onto"])]
    pub no_land: bool,
    /// Push the branch for a request instead of merging it.
    #[arg(long, conflicts_with_all = ["resolve", "onto"])]
    pub pr: bool,
    /// On a conflict, prepare a tree to settle it in, or run the configured resolver there.
    #[arg(long)]
    pub resolve: bool,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// Runs `octo save`.
pub fn run(args: &SaveArgs, context: &Context) -> Done {
    let door = Door::open(context)?;
    let row = door.tree(args.tree.as_deref())?;
    let saved = bring_home(args, context, &door, &row)?;
    match saved {
        Some(saved) => report(args, context, &row, &saved),
        None => Ok(()),
    }
}

/// Runs `octo archive`.
pub fn archive(args: &SaveArgs, context: &Context) -> Done {
    let door = Door::open(context)?;
    let row = door.tree(args.tree.as_deref())?;
    let Some(saved) = bring_home(args, context, &door, &row)? else { return Ok(()) };
    report(args, context, &row, &saved)?;
    if !matches!(saved.outcome, Outcome::Landed { .. } | Outcome::Already { .. }) {
        context.screen.say(&format!("{} stays until its work has landed", row.path));
        return Ok(());
    }
    let ctx = door.engine.context();
    let row = door.tree(Some(row.path.to_string().as_str()))?;
    match reclaim(&ctx, &row, door.asker.pid(), &[])? {
        Gone::Buried { restore, left, .. } => {
            context.screen.say(&format!("laid to rest; back with: {restore}"));
            left.map_or(Ok(()), |left| Err(OperatorError::new(Trouble::File, left)))
        }
        Gone::Kept(why) => {
            context.screen.say(&format!("{} stays for now: {}", row.path, why.join("; ")));
            Ok(())
        }
    }
}

fn bring_home(
    args: &SaveArgs,
    context: &Context,
    door: &Door,
    row: &TreeRow,
) -> Result<Option<Saved>, OperatorError> {
    let request = SaveRequest {
        by: door.asker.pid().clone(),
        message: args.message.clone(),
        onto: args.onto.clone(),
        aim: match (args.no_land, args.pr) {
            (true, _) => Aim::CommitOnly,
            (false, true) => Aim::Publish,
            (false, false) => Aim::Land,
        },
    };
    let ctx = door.engine.context();
    if row.state == State::Preparing {
        return Err(OperatorError::new(Trouble::Refused, "the tree is still being filled")
            .hint("octo worktree show says when it is ready"));
    }
    if !args.resolve {
        return Ok(Some(save(&ctx, row, &request)?));
    }
    match resolve(&ctx, row, &request)? {
        Resolution::Saved(saved) => Ok(Some(saved)),
        Resolution::Prepared { tree, brief, why } => {
            context.screen.print(&format!("{}\n", tree.display()))?;
            Err(OperatorError::new(Trouble::Refused, format!("not landed: {why}"))
                .hint(format!("the conflict stands open in {}", tree.display()))
                .hint(format!("what to do is in {}", brief.display()))
                .hint(format!("then: octo save {} --resolve", row.id)))
        }
        Resolution::Again(files) => {
            Err(conflict("it conflicts again after the resolution", &files)
                .hint("a person should look: nothing was changed"))
        }
    }
}

fn report(args: &SaveArgs, context: &Context, row: &TreeRow, saved: &Saved) -> Done {
    if let Some(commit) = &saved.committed {
        context.screen.say(&format!("committed {commit} on {}", row.branch));
    }
    for note in &saved.notes {
        context.screen.say(&harmless(note));
    }
    let line = harmless(&saved.outcome.to_string());
    if args.json {
        let value = json!({
            "tree": row.id, "branch": row.branch, "committed": saved.committed,
            "outcome": word(&saved.outcome), "text": line, "notes": saved.notes,
        });
        context.screen.json("save", value)?;
    }
    let refused = || OperatorError::new(Trouble::Refused, line.clone());
    let retry = format!("again with: octo save {}", row.id);
    match &saved.outcome {
        Outcome::Landed { .. }
        | Outcome::Already { .. }
        | Outcome::OnBranch
        | Outcome::Published { .. } => {
            if args.json {
                Ok(())
            } else {
                context.screen.print(&format!("{line}\n"))
            }
        }
        Outcome::Waiting { .. } => Err(refused().hint(retry)),
        Outcome::Stopped { .. } => {
            Err(refused().hint("nothing was removed, nothing else was done").hint(retry))
        }
        Outcome::Conflict { files, .. } => Err(conflict(&line, files)
            .hint(format!("nothing was touched; {} is intact", row.branch))
            .hint(format!("settle it with: octo save {} --resolve", row.id))),
    }
}

fn conflict(line: &str, files: &[Conflict]) -> OperatorError {
    let mut error = OperatorError::new(Trouble::Refused, line.to_owned());
    for file in files {
        let name = file.path.display().to_string();
        error = error.hint(format!("{}: {}", harmless(&name), harmless(&file.why)));
        for (first, hunk) in &file.hunks {
            let hunk = hunk.replace('\n', "\n    ");
            error = error.hint(format!("  line {first}:\n    {hunk}"));
        }
    }
    error
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Landed { .. } => "landed",
        Outcome::Already { .. } => "already",
        Outcome::OnBranch => "on-branch",
        Outcome::Published { .. } => "published",
        Outcome::Waiting { .. } => "waiting",
        Outcome::Conflict { .. } => "conflict",
        Outcome::Stopped { .. } => "stopped",
    }
}
