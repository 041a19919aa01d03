//! `octo keep`: what was held before it could be lost, and the way back.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::person::require_person;
use super::screen::{age, harmless};
use super::table::{Column, Lean, lay_out};
use super::tree_door::{Asker, Door};
use crate::git::{self, Follow, canonical};
use crate::kernel::clock;
use crate::policy::facts::Root;
use crate::worktree::TreeError;
use crate::worktree::keep::refs::{self, Back, Named};
use crate::worktree::keep::restore::{self, Into, Layer};
use crate::worktree::keep::shelf::{self, Item, Mode, Retention};
use crate::worktree::keep::{Kept, Reason};
use crate::worktree::plan::short;
use crate::worktree::reap::needed;

/// Shows and brings back what octo held before it could be lost.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo keep list\n  octo keep show 20260301\n  octo keep restore 20260301 src/lib.rs --to /tmp/back"
)]
pub struct KeepArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: Verb,
}

/// What can be done with snapshots.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Lists the snapshots of this repository, newest first.
    List {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Shows the files a snapshot holds.
    Show {
        /// Its name, or the beginning of one.
        name: String,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Writes held files back; what lies there is held first.
    Restore {
        /// Its name, or the beginning of one.
        name: String,
        /// Only these paths, below the root.
        paths: Vec<PathBuf>,
        /// Into this folder instead of the work tree.
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// Lets old snapshots go; says which unless told to act.
    Prune {
        /// Older than this many days.
        #[arg(long, default_value_t = 30)]
        days: u64,
        /// Oldest first while all together hold more than this many MiB.
        #[arg(long, value_name = "MIB", default_value_t = 1024)]
        megabytes: u64,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
}

/// Runs `octo keep`.
pub fn run(args: &KeepArgs, context: &Context) -> Done {
    let door = Door::open(context)?;
    let root = git::root_of(&door.cwd).ok_or_else(|| {
        OperatorError::new(Trouble::Missing, format!("{} is in no repository", door.cwd))
    })?;
    match &args.command {
        Verb::List { json } => list(context, &root, *json),
        Verb::Show { name, json } => show(context, &root, name, *json),
        Verb::Restore { name, paths, to } => {
            put_back(context, &door, &root, name, paths, to.as_deref())
        }
        Verb::Prune { days, megabytes, yes } => {
            let retention = Retention {
                age: days.saturating_mul(86_400),
                bytes: megabytes.saturating_mul(1 << 20),
                ..Retention::default()
            };
            prune(context, &door, &root, retention, *yes)
        }
    }
}

const COLUMNS: &[Column] = &[
    Column { title: "NAME", lean: Lean::Left, least: 19 },
    Column { title: "AGO", lean: Lean::Right, least: 4 },
    Column { title: "BEFORE", lean: Lean::Left, least: 10 },
    Column { title: "BRANCH", lean: Lean::Left, least: 6 },
    Column { title: "BY", lean: Lean::Left, least: 6 },
    Column { title: "WORK OF", lean: Lean::Left, least: 7 },
    Column { title: "ROOT", lean: Lean::Left, least: 8 },
];

fn list(context: &Context, root: &Root, as_json: bool) -> Done {
    let items = shelf::list(&root.common)?;
    let now = clock::unix_seconds();
    if as_json {
        let items: Vec<_> = items
            .iter()
            .map(|i| {
                json!({ "name": i.name, "commit": i.commit, "at": i.at, "before": i.what,
                        "root": i.root, "branch": i.branch, "by": i.by, "owner": i.owner })
            })
            .collect();
        return context.screen.json("keeps", json!({ "keeps": items }));
    }
    if items.is_empty() {
        context.screen.say("nothing is held");
        return Ok(());
    }
    let text = |value: &Option<String>| harmless(value.as_deref().unwrap_or("-"));
    let cells: Vec<Vec<String>> = items
        .iter()
        .map(|i| {
            let ago = age(now.saturating_sub(i.at));
            vec![
                i.name.clone(),
                ago,
                harmless(&i.what),
                text(&i.branch),
                text(&i.by),
                text(&i.owner),
                text(&i.root),
            ]
        })
        .collect();
    context.screen.print(&(lay_out(COLUMNS, &cells, context.screen.width).join("\n") + "\n"))
}

/// The snapshot with this name, or with the one name that begins so.
fn find(root: &Root, word: &str) -> Result<Item, OperatorError> {
    let items = shelf::list(&root.common)?;
    let mut fits: Vec<Item> = items.into_iter().filter(|i| i.name.starts_with(word)).collect();
    match (fits.pop(), fits.is_empty()) {
        (Some(item), true) => Ok(item),
        (Some(_), false) => Err(OperatorError::new(Trouble::Usage, format!("{word} fits several"))),
        (None, _) => Err(OperatorError::new(Trouble::Missing, format!("no snapshot {word}"))
            .hint("octo keep list shows them")),
    }
}

fn show(context: &Context, root: &Root, word: &str, as_json: bool) -> Done {
    let item = find(root, word)?;
    let held = restore::show(&root.common, &item.name)?;
    let names = refs::of(&root.common, &item.name)?;
    if as_json {
        let files: Vec<_> = held
            .iter()
            .map(|h| json!({ "path": h.path, "mode": h.mode, "blob": h.blob, "layer": layer(h.layer) }))
            .collect();
        let refs: Vec<_> = names
            .iter()
            .map(|n| json!({ "name": n.name, "commit": n.commit, "title": n.title }))
            .collect();
        let value = json!({ "name": item.name, "files": files, "refs": refs });
        return context.screen.json("keep", value);
    }
    context.screen.say(&format!("held before {}", harmless(&item.what)));
    let line = |h: &restore::Held| {
        let gone = if h.mode == "000000" { "deleted" } else { layer(h.layer) };
        format!("{gone:8} {}\n", harmless(&h.path.display().to_string()))
    };
    context.screen.print(&held.iter().map(line).collect::<String>())?;
    for named in &names {
        context.screen.print(&format!("{}\n", told(named)))?;
    }
    if names.is_empty() {
        context.screen.say(&format!("git diff {0}^ {0}", item.commit));
    }
    context.screen.say(&format!("octo keep restore {}", item.name));
    Ok(())
}

/// A commit and the name it had.
fn told(named: &Named) -> String {
    let commit = short(&named.commit);
    match named.name.strip_prefix("refs/heads/") {
        Some(branch) => format!("branch   {} {commit}", harmless(branch)),
        None => format!("stash    {} {commit}", harmless(&named.title)),
    }
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Index => "staged",
        Layer::Folder => "file",
    }
}

fn put_back(
    context: &Context,
    door: &Door,
    root: &Root,
    word: &str,
    paths: &[PathBuf],
    to: Option<&std::path::Path>,
) -> Done {
    let item = find(root, word)?;
    let folder = to.and_then(|to| canonical(context.cwd.join(to), Follow::All));
    let into = match &folder {
        Some(folder) => Into::Folder(folder),
        None => Into::Root(root),
    };
    if folder.is_none() {
        unclaimed(door, root, &item, paths)?;
    }
    let reason = Reason {
        what: format!("octo keep restore {}", item.name),
        by: Some(door.asker.pid().to_string()),
        owner: None,
        at: clock::unix_seconds(),
    };
    if folder.is_none() && paths.is_empty() {
        for back in refs::give_back(&root.common, &item.name)? {
            name_back(context, &back)?;
        }
    }
    let done = restore::restore(&root.common, &item.name, paths, into, &reason)?;
    for path in &done.written {
        context.screen.print(&format!("{}\n", harmless(&path.display().to_string())))?;
    }
    if done.same > 0 {
        context.screen.say(&format!("{} files were so already", done.same));
    }
    if let Kept::Ref(keep) = &done.replaced {
        context.screen.say(&format!("what was there before is held: {keep}"));
    }
    Ok(())
}

/// Says what became of a branch or a stash entry.
fn name_back(context: &Context, back: &Back) -> Done {
    match back {
        Back::Given(named) => context.screen.print(&format!("{}\n", told(named))),
        Back::Same(named) => {
            context.screen.say(&format!("{} is there", told(named)));
            Ok(())
        }
        Back::Taken(named) => {
            let branch = named.name.trim_start_matches("refs/heads/");
            let (branch, commit) = (harmless(branch), short(&named.commit));
            let text =
                format!("the name {branch} is used again: git branch {branch}-back {commit}");
            context.screen.say(&text);
            Ok(())
        }
    }
}

/// A path somebody else works on is not written over, not even with its own past.
fn unclaimed(door: &Door, root: &Root, item: &Item, paths: &[PathBuf]) -> Done {
    let claims = door.engine.context().registry.claims(&root.path).map_err(TreeError::from)?;
    let held = restore::show(&root.common, &item.name)?;
    let wanted =
        held.iter().filter(|h| paths.is_empty() || paths.iter().any(|p| h.path.starts_with(p)));
    for file in wanted {
        let full = root.path.join(&file.path);
        let mine = |pid| matches!(&door.asker, Asker::Session(session) if session == pid);
        if let Some(claim) = claims.iter().find(|c| c.path.overlaps(&full) && !mine(&c.session)) {
            let message = format!("{full} is {}'s", claim.pid);
            return Err(OperatorError::new(Trouble::Refused, message)
                .hint("restore into a folder beside: --to DIR"));
        }
    }
    Ok(())
}

fn prune(context: &Context, door: &Door, root: &Root, retention: Retention, yes: bool) -> Done {
    if yes {
        require_person("octo keep prune")?;
    }
    let needed = needed(&door.rows()?);
    let mode = if yes { Mode::Act } else { Mode::DryRun };
    let gone = shelf::prune(&root.common, retention, &needed, clock::unix_seconds(), mode)?;
    let word = if yes { "let go" } else { "would let go" };
    for item in &gone {
        context.screen.print(&format!(
            "{word} {} (before {})\n",
            item.name,
            harmless(&item.what)
        ))?;
    }
    context.screen.say(&format!("{word} {} snapshots", gone.len()));
    Ok(())
}
