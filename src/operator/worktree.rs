//! `octo worktree`: the trees of all sessions, looked at and laid to rest.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::person::require_person;
use super::screen::{age, harmless};
use super::table::{Column, Lean, lay_out};
use super::tree_door::Door;
use super::worktree_jobs::{self, Work};
use crate::config::Origin;
use crate::git::{self, Follow, canonical};
use crate::policy::lane::Pid;
use crate::worktree::reap::{Fate, Gone, Risk, judge, reclaim, survey};
use crate::worktree::view::{self, Sizes, TreeView};
use crate::worktree::{Pin, TreeError, TreeRow, care, engine};

/// Shows, keeps and lays to rest the trees of sessions.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo worktree list --size\n  octo worktree show 3f2a91c0\n  octo worktree reclaim          say what would go, and why the rest stays\n  octo worktree reclaim --yes    let it go"
)]
pub struct WorktreeArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: Verb,
}

/// What can be done with trees.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Lists all trees with their state of this moment.
    List(ListArgs),
    /// Shows one tree with everything known about it.
    Show {
        /// Which: an id, the beginning of one, a path or a branch.
        #[arg(add = ArgValueCandidates::new(super::completion::trees))]
        tree: Option<String>,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Removes trees that may go; says what it would do unless told to act.
    Reclaim(ReclaimArgs),
    /// Keeps a tree from every clean-up.
    Pin {
        /// Which.
        #[arg(add = ArgValueCandidates::new(super::completion::trees))]
        tree: String,
    },
    /// Lets clean-ups look at it again.
    Unpin {
        /// Which.
        #[arg(add = ArgValueCandidates::new(super::completion::trees))]
        tree: String,
    },
    /// Makes a tree again whose folder is gone.
    Recreate {
        /// Which.
        #[arg(add = ArgValueCandidates::new(super::completion::trees))]
        tree: Option<String>,
    },
    /// Hands a tree to a session, or takes a hand-made one into care.
    Adopt {
        /// Its folder.
        path: std::path::PathBuf,
        /// The session that has it from now on.
        #[arg(long)]
        session: String,
    },
    /// Finds a tree again after it was moved by hand.
    Repair {
        /// Its folder now.
        path: std::path::PathBuf,
    },
    /// Approves the setup commands that this project's file names.
    Approve,
    /// What octo starts in a process of its own.
    #[command(flatten)]
    Job(Work),
}

/// Which trees are listed, and how.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub struct ListArgs {
    /// Measure their sizes.
    #[arg(long)]
    pub size: bool,
    /// Only those of the repository here.
    #[arg(long)]
    pub here: bool,
    /// Also those whose folders were laid to rest.
    #[arg(long)]
    pub all: bool,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// What may go, one flag a risk.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub struct ReclaimArgs {
    /// Which trees; all when none is named.
    #[arg(add = ArgValueCandidates::new(super::completion::trees))]
    pub trees: Vec<String>,
    /// Do it.
    #[arg(long)]
    pub yes: bool,
    /// Say what would go and do nothing, as without --yes.
    #[arg(long, short = 'n', conflicts_with = "yes")]
    pub dry_run: bool,
    /// Also clean trees nobody has been in for a day; their branches stay.
    #[arg(long)]
    pub abandoned: bool,
    /// Also trees whose work has not landed; their branches stay.
    #[arg(long)]
    pub unlanded: bool,
    /// Also trees with uncommitted work; it becomes a commit on the branch.
    #[arg(long)]
    pub dirty: bool,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// Runs `octo worktree`.
pub fn run(args: &WorktreeArgs, context: &Context) -> Done {
    match &args.command {
        Verb::List(args) => list(context, args),
        Verb::Show { tree, json } => show(context, tree.as_deref(), *json),
        Verb::Reclaim(args) => reclaim_all(args, context),
        Verb::Pin { tree } => pin(context, tree, Pin::Pinned),
        Verb::Unpin { tree } => pin(context, tree, Pin::Loose),
        Verb::Recreate { tree } => recreate(context, tree.as_deref()),
        Verb::Adopt { path, session } => adopt(context, path, session),
        Verb::Repair { path } => repair(context, path),
        Verb::Approve => approve(context),
        Verb::Job(work) => worktree_jobs::run(work, context),
    }
}

pub(super) fn engine_only(context: &Context) -> Result<engine::Engine, OperatorError> {
    let home = crate::kernel::home::Home::of(&context.home);
    engine::Engine::new(&home, Some(&context.project)).ok_or_else(|| missing(&context.home))
}

pub(super) fn missing(path: &std::path::Path) -> OperatorError {
    OperatorError::new(Trouble::Missing, format!("{}: no such place", path.display()))
}

const COLUMNS: &[Column] = &[
    Column { title: "TREE", lean: Lean::Left, least: 8 },
    Column { title: "BRANCH", lean: Lean::Left, least: 8 },
    Column { title: "BASE", lean: Lean::Left, least: 7 },
    Column { title: "STATE", lean: Lean::Left, least: 8 },
    Column { title: "DIRTY", lean: Lean::Right, least: 5 },
    Column { title: "AHEAD", lean: Lean::Right, least: 5 },
    Column { title: "LANDED", lean: Lean::Left, least: 6 },
    Column { title: "SIZE", lean: Lean::Right, least: 4 },
    Column { title: "AGE", lean: Lean::Right, least: 4 },
    Column { title: "SEEN", lean: Lean::Right, least: 4 },
    Column { title: "USED BY", lean: Lean::Left, least: 7 },
];

fn list(context: &Context, args: &ListArgs) -> Done {
    let engine = engine_only(context)?;
    let cwd = canonical(&context.cwd, Follow::All);
    let common = cwd.as_ref().and_then(git::root_of).map(|r| r.common);
    let sizes = if args.size { Sizes::Measured } else { Sizes::Skipped };
    let mut views = view::all(&engine.context(), common.as_ref().filter(|_| args.here), sizes)?;
    views.retain(|v| args.all || v.state != "archived");
    if args.json {
        return context.screen.json("worktrees", json!({ "trees": views }));
    }
    if views.is_empty() {
        context.screen.say("no trees");
        return Ok(());
    }
    let cells: Vec<Vec<String>> = views.iter().map(row_of).collect();
    let lines = lay_out(COLUMNS, &cells, context.screen.width);
    context.screen.print(&(lines.join("\n") + "\n"))?;
    for view in views.iter().filter(|v| v.retry.is_some()) {
        let retry = view.retry.as_deref().unwrap_or_default();
        context.screen.say(&format!("{}: {} -> {retry}", view.id, harmless(&view.state)));
    }
    Ok(())
}

fn row_of(view: &TreeView) -> Vec<String> {
    let text = |value: &Option<String>| harmless(value.as_deref().unwrap_or("-"));
    let own = view.session.is_some();
    let when = |seconds: u64| if own { age(seconds) } else { "-".to_owned() };
    vec![
        harmless(&view.id),
        text(&view.branch),
        text(&view.base),
        harmless(&if view.pinned { format!("pinned, {}", view.state) } else { view.state.clone() }),
        view.dirty.to_string(),
        view.ahead.to_string(),
        text(&view.landed),
        view.size.map_or_else(|| "-".to_owned(), |bytes| format!("{}M", bytes >> 20)),
        when(view.age),
        when(view.seen),
        if view.users.is_empty() { "-".to_owned() } else { harmless(&view.users.join(", ")) },
    ]
}

fn show(context: &Context, word: Option<&str>, as_json: bool) -> Done {
    let door = Door::open(context)?;
    let row = door.tree(word)?;
    let view = view::one(&door.engine.context(), &row, Sizes::Measured)?;
    if as_json {
        return context.screen.json("worktree", json!({ "tree": view }));
    }
    let mut lines = vec![
        format!("tree     {}", view.id),
        format!("folder   {}", view.path),
        format!("project  {}", view.main),
        format!("branch   {}", view.branch.unwrap_or_default()),
        format!("target   {}", view.target.unwrap_or_else(|| "none: name one with --onto".into())),
        format!("base     {}", view.base.unwrap_or_default()),
        format!("state    {}", view.state),
        format!("work     {} dirty, {} ahead", view.dirty, view.ahead),
        format!("landed   {}", view.landed.unwrap_or_else(|| "no".into())),
        format!("setup    {}", view.setup),
        format!("size     {} MiB", view.size.unwrap_or_default() >> 20),
        format!("age      {}, seen {} ago", age(view.age), age(view.seen)),
    ];
    if let Some(ports) = row.ports {
        lines.push(format!("ports    {} from {}", ports.count, ports.first));
    }
    if view.stashed > 0 {
        lines.push(format!("stash    {} entries of the shared stash", view.stashed));
    }
    let more = [
        ("retry", view.retry.into_iter().collect()),
        ("kept", view.kept),
        ("used by", view.users),
        ("note", view.notes),
    ];
    for (title, values) in more {
        let values: Vec<String> = values;
        lines.extend(values.iter().map(|value| format!("{title:8} {value}")));
    }
    let lines: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
    context.screen.print(&(lines.join("\n") + "\n"))
}

fn reclaim_all(args: &ReclaimArgs, context: &Context) -> Done {
    if args.yes {
        require_person("octo worktree reclaim --yes")?;
    }
    let door = Door::open(context)?;
    let flags = [
        (args.abandoned, Risk::Abandoned),
        (args.unlanded, Risk::Unlanded),
        (args.dirty, Risk::Dirty),
    ];
    let risks: Vec<Risk> = flags.into_iter().filter(|(on, _)| *on).map(|(_, r)| r).collect();
    let rows: Vec<TreeRow> = if args.trees.is_empty() {
        door.rows()?.into_iter().filter(TreeRow::stands).collect()
    } else {
        args.trees.iter().map(|word| door.tree(Some(word))).collect::<Result<_, _>>()?
    };
    let ctx = door.engine.context();
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    for row in &rows {
        let line = if args.yes {
            match reclaim(&ctx, row, door.asker.pid(), &risks) {
                Ok(Gone::Buried { restore, left: None, .. }) => {
                    format!("removed {}; back with: {restore}", row.id)
                }
                Ok(Gone::Buried { left: Some(left), .. }) => {
                    failed.push(left.clone());
                    format!("removed {} but: {left}", row.id)
                }
                Ok(Gone::Kept(why)) => {
                    if !args.trees.is_empty() {
                        failed.push(format!("{} is kept", row.id));
                    }
                    format!("kept {}: {}", row.id, why.join("; "))
                }
                Err(error) => {
                    failed.push(error.to_string());
                    format!("kept {}: {error}", row.id)
                }
            }
        } else {
            match judge::fate(&survey(&ctx, row)?, &risks) {
                Fate::Keep(why) => format!("keeps {}: {}", row.id, why.join("; ")),
                Fate::Remove(_) => format!("would remove {} ({})", row.id, row.path),
                Fate::GiveUp => format!("would commit and remove {} ({})", row.id, row.path),
                Fate::Forget => format!("would forget {}: its folder is gone", row.id),
            }
        };
        lines.push(harmless(&line));
    }
    if args.json {
        context.screen.json("reclaim", json!({ "acted": args.yes, "lines": lines }))?;
    } else {
        context.screen.print(&(lines.join("\n") + "\n"))?;
    }
    if !args.yes {
        context.screen.say("nothing was done; with --yes it is");
    }
    match failed.first() {
        Some(first) => Err(OperatorError::new(Trouble::Refused, first.clone())
            .hint("octo worktree show says more; one flag a risk: --abandoned --unlanded --dirty")),
        None => Ok(()),
    }
}

fn pin(context: &Context, word: &str, pin: Pin) -> Done {
    require_person("octo worktree pin")?;
    let door = Door::open(context)?;
    let row = door.tree(Some(word))?;
    let row = TreeRow { pin, ..row };
    door.engine.context().registry.put(&row).map_err(TreeError::from)?;
    let word = if pin == Pin::Pinned { "pinned" } else { "unpinned" };
    context.screen.print(&format!("{word} {}\n", row.id))
}

fn recreate(context: &Context, word: Option<&str>) -> Done {
    let door = Door::open(context)?;
    let row = door.tree(word)?;
    let made = care::recreate(&door.engine.context(), &row)?;
    for note in &made.notes {
        context.screen.say(&harmless(note));
    }
    context.screen.print(&format!("{}\n", made.row.path))
}

fn adopt(context: &Context, path: &std::path::Path, session: &str) -> Done {
    require_person("octo worktree adopt")?;
    let door = Door::open(context)?;
    let full = canonical(context.cwd.join(path), Follow::All).ok_or_else(|| missing(path))?;
    let session = Pid::new(session)
        .ok_or_else(|| OperatorError::new(Trouble::Usage, "that is no session id"))?;
    let row = care::adopt(&door.engine.context(), &full, &session)?;
    context.screen.print(&format!("{} is session {}'s\n", row.path, row.session))
}

fn repair(context: &Context, path: &std::path::Path) -> Done {
    require_person("octo worktree repair")?;
    let door = Door::open(context)?;
    let full = canonical(context.cwd.join(path), Follow::All).ok_or_else(|| missing(path))?;
    let row = care::repair(&door.engine.context(), &full)?;
    context.screen.print(&format!("{} is {}\n", row.id, row.path))
}

/// Shows the text and remembers that a person agreed to exactly it.
fn approve(context: &Context) -> Done {
    require_person("octo worktree approve")?;
    let setup = &context.settings.worktree.setup;
    let known = context.loaded.resolved.get("worktree.setup");
    if setup.is_empty() || known.is_none_or(|(origin, _)| *origin != Origin::Project) {
        context.screen.say("this project's file names no setup commands");
        return Ok(());
    }
    for command in setup {
        context.screen.print(&format!("approved: {}\n", harmless(command)))?;
    }
    let home = crate::kernel::home::Home::of(&context.home);
    Ok(engine::approve(&home, &context.project, setup)?)
}
