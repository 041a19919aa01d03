//! Owns looking at one tree: what git, the register and the system say of it at this moment.
//! Must never change anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::judge::{Folder, Locker, TreeFacts};
use crate::git::{self, Git, Head, Tree};
use crate::policy::facts::Root;
use crate::worktree::landing::{commit, landed};
use crate::worktree::procs::{self, Look};
use crate::worktree::{Context, TreeError, TreeRow, apply, facts, seed, submodules};

/// A start that has said "initializing" for this long was killed.
const STARTING: Duration = Duration::from_hours(1);

/// Looks at a tree.
pub fn survey(ctx: &Context<'_>, row: &TreeRow) -> Result<TreeFacts, TreeError> {
    let registered = git::worktrees(&row.common).into_iter().find(|t| t.path == row.path);
    let root = apply::root(row);
    let folder = match (&root, std::fs::symlink_metadata(row.path.as_path())) {
        (Some(_), _) => Folder::There,
        (None, Err(_)) => Folder::Gone,
        (None, Ok(_)) => Folder::Other,
    };
    let mut facts = TreeFacts {
        folder,
        changed: 0,
        untracked: 0,
        ignored: 0,
        ignored_too_big: None,
        nested: Vec::new(),
        under_way: None,
        loose_head: false,
        landed: None,
        ahead: 0,
        users: users(ctx, row)?,
        locker: registered.as_ref().map_or(Locker::None, locker),
        pin: row.pin,
        silent: silent(ctx, row)?,
        stashed: 0,
        registered,
    };
    if let Some(root) = &root {
        look(row, root, &mut facts)?;
    } else if let Some(tree) = facts.registered.clone() {
        facts.loose_head = loose(&Git::new(row.main.as_path()), &tree.head);
    }
    Ok(facts)
}

/// Since the row's last change or its session's last sign of life, whichever is younger.
fn silent(ctx: &Context<'_>, row: &TreeRow) -> Result<u64, TreeError> {
    let heard = ctx.registry.heard(&row.session)?.unwrap_or(0);
    Ok(ctx.now.saturating_sub(heard.max(row.seen)))
}

fn look(row: &TreeRow, root: &Root, facts: &mut TreeFacts) -> Result<(), TreeError> {
    let git = Git::new(row.path.as_path());
    count(&git, row, facts)?;
    let own = seed::own_ignored(root, &row.path, &row.copied)?;
    facts.ignored = own.files.len();
    facts.ignored_too_big = own.too_big;
    facts.nested.extend(submodules::with_work(root));
    facts.under_way = commit::under_way(root);
    facts.loose_head = loose(&git, &git::head_branch(&root.git_dir));
    let Some(tip) = facts::commit_of(&git, "HEAD") else { return Ok(()) };
    facts.landed = landed::anywhere(&git, &tip, &row.base, row.target.as_deref())?;
    let base = row.target.as_ref().map_or_else(|| row.base.clone(), |t| format!("refs/heads/{t}"));
    facts.ahead = facts::distance(&git, &base, &tip).map_or(0, |(ahead, _)| ahead);
    let stash = git.text(&["stash", "list", "--format=%gs"]).unwrap_or_default();
    let on = format!("on {}:", row.branch);
    facts.stashed = stash.lines().filter(|l| l.to_lowercase().contains(&on.to_lowercase())).count();
    Ok(())
}

fn count(git: &Git, row: &TreeRow, facts: &mut TreeFacts) -> Result<(), TreeError> {
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    for field in git.run(&args)?.fields() {
        let bytes = field.as_bytes();
        let path = bytes.get(3..).unwrap_or_default();
        if !bytes.starts_with(b"??") {
            facts.changed += 1;
        } else if path.ends_with(b"/") {
            facts.nested.push(String::from_utf8_lossy(path).into_owned());
        } else if !copied_unchanged(row, Path::new(OsStr::from_bytes(path))) {
            facts.untracked += 1;
        }
    }
    Ok(())
}

/// A file that was brought along and is as it was needs no keeping.
fn copied_unchanged(row: &TreeRow, path: &Path) -> bool {
    let found = row.copied.iter().find(|c| c.path == path);
    found.is_some_and(|c| seed::hash(&row.path.as_path().join(path)).as_ref() == Some(&c.hash))
}

/// A detached HEAD whose commit no branch, tag or remote holds.
fn loose(git: &Git, head: &Head) -> bool {
    let Head::Detached(commit) = head else { return false };
    let args = ["rev-list", "-n1", commit, "--not", "--branches", "--remotes", "--tags"];
    git.text(&args).map_or(true, |found| !found.is_empty())
}

fn users(ctx: &Context<'_>, row: &TreeRow) -> Result<Vec<String>, TreeError> {
    let mut users: Vec<String> =
        ctx.registry.users(&row.path)?.into_iter().map(|u| u.pid.to_string()).collect();
    let inside = procs::inside(row.path.as_path(), Look::Directories);
    users.extend(inside.into_iter().map(|p| format!("{} (pid {})", p.name, p.pid)));
    Ok(users)
}

/// A lock's reason may name its process; a dead one's lock binds nobody.
fn locker(tree: &Tree) -> Locker {
    let Some(reason) = &tree.locked else { return Locker::None };
    if reason == "initializing" {
        let lock = tree.git_dir.join("locked");
        let age = std::fs::metadata(lock.as_path()).ok().and_then(|m| m.modified().ok());
        let age = age.and_then(|m| SystemTime::now().duration_since(m).ok());
        let old = age.is_some_and(|a| a > STARTING);
        return if old { Locker::Dead } else { Locker::Alive };
    }
    let named = reason
        .split("pid ")
        .nth(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let pid = named.and_then(|n| n.parse::<u32>().ok());
    if pid.is_some_and(|pid| !procs::alive(pid)) { Locker::Dead } else { Locker::Alive }
}
