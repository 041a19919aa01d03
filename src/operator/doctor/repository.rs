//! The repository here and the place of its worktrees: a stale lock on the index, a manager of
//! virtual branches, a folder that does not outlive a restart. Names them, never touches them.

use std::path::Path;
use std::time::SystemTime;

use super::Finding;
use crate::config::WorktreePlace;
use crate::git::{self, Follow, Head, canonical};
use crate::kernel::home::Home;
use crate::operator::context::Context;
use crate::operator::screen::{age, harmless};
use crate::policy::facts::Root;
use crate::worktree::engine::expand;
use crate::worktree::procs::{self, Look};

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let mut findings: Vec<Finding> = fleeting(context).into_iter().collect();
    let root = canonical(&context.cwd, Follow::All).as_ref().and_then(git::root_of);
    if let Some(root) = root {
        findings.extend(index_lock(&root));
        findings.extend(virtual_branches(&root));
    }
    findings
}

/// A lock on the index: whose it is, or that nobody's.
fn index_lock(root: &Root) -> Option<Finding> {
    let path = root.git_dir.join("index.lock");
    let meta = std::fs::symlink_metadata(path.as_path()).ok()?;
    let since = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    let since = age(since.unwrap_or_default().as_secs());
    let at_work = procs::inside(root.path.as_path(), Look::Directories);
    if let Some(git) = at_work.iter().find(|process| process.name.starts_with("git")) {
        let text = format!("{path} is held by {} (pid {}), for {since}", git.name, git.pid);
        return Some(Finding::ok("git.lock", harmless(&text)));
    }
    let text = format!("{path} is {since} old and no git is at work here: it is stale");
    let fix = format!("rm {}", shell_words::quote(&path.to_string()));
    Some(Finding::warn("git.lock", harmless(&text), harmless(&fix)))
}

/// A manager that commits whatever lies in the tree to branches of its own.
fn virtual_branches(root: &Root) -> Option<Finding> {
    let workspace = match git::head_branch(&root.git_dir) {
        Head::Branch(name) => name.starts_with("gitbutler/"),
        Head::Detached(_) | Head::Unknown => false,
    };
    let folder = std::fs::symlink_metadata(root.common.join("gitbutler").as_path()).is_ok();
    (workspace || folder).then(|| {
        let text = "GitButler assigns this checkout's changes to branches whoever wrote them";
        let fix = "work on an ordinary branch here: sessions' worktrees and landing need one";
        Finding::warn("git.manager", text, fix)
    })
}

/// Trees in a temporary folder are gone after a restart.
fn fleeting(context: &Context) -> Option<Finding> {
    let WorktreePlace::Folder(folder) = &context.settings.worktree.location else { return None };
    let at = expand(&Home::of(&context.home), folder)?;
    let temporary = [std::env::temp_dir().as_path(), Path::new("/tmp"), Path::new("/var/tmp")]
        .iter()
        .filter_map(|dir| canonical(dir, Follow::All))
        .any(|dir| at.within(&dir));
    temporary.then(|| {
        let text = format!("worktree.location {at} does not outlive a restart");
        Finding::warn("trees.place", harmless(&text), "octo config edit")
    })
}
