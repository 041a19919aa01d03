//! Owns taking a tree's loose work into a commit on its own branch, git hooks honoured.
//! Must never stage what was copied in or a nested repository, and where a hook refuses, leave
//! index and files as they were with the work held.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::SaveRequest;
use crate::git::{self, Git, Head};
use crate::policy::facts::Root;
use crate::worktree::fault::point;
use crate::worktree::keep::snapshot::{self, Extra};
use crate::worktree::keep::{Bounds, Keep, Kept, Reason};
use crate::worktree::{Context, TreeError, TreeRow, io};

/// A pre-commit hook may run a whole test suite.
const HOOKS: Duration = Duration::from_mins(20);
/// Names that fit into a made-up message.
const NAMED: usize = 4;

/// What came of it.
#[derive(Debug)]
#[must_use]
pub enum Gathered {
    /// Nothing was loose.
    Nothing,
    /// It is in this commit.
    Commit(String),
    /// It is not, for this reason; held meanwhile.
    Stopped {
        /// The reason.
        why: String,
        /// The snapshot.
        keep: Option<Keep>,
    },
}

/// Operations that leave a file in the git directory while they are under way.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// The operation that is under way in a tree, if one is.
#[must_use]
pub fn under_way(root: &Root) -> Option<&'static str> {
    let there = |name: &str| std::fs::symlink_metadata(root.git_dir.join(name).as_path()).is_ok();
    UNDER_WAY.iter().find(|(file, _)| there(file)).map(|(_, name)| *name)
}

/// Commits what is loose.
pub fn gather(
    ctx: &Context<'_>,
    row: &TreeRow,
    root: &Root,
    request: &SaveRequest,
    notes: &mut Vec<String>,
) -> Result<Gathered, TreeError> {
    if let Some(what) = under_way(root) {
        let why = format!("a {what} is under way in {}: finish or abort it first", row.path);
        return Ok(Gathered::Stopped { why, keep: None });
    }
    let claims = ctx.registry.claims(&row.path)?;
    if let Some(claim) = claims.iter().find(|c| c.session != row.session) {
        let why = format!("{} in this tree is {}'s", claim.path, claim.session);
        return Ok(Gathered::Stopped { why, keep: None });
    }
    let git = Git::new(row.path.as_path());
    let loose = loose(&git, row)?;
    if !loose.nested.is_empty() {
        let names = loose.nested.join(", ");
        notes.push(format!("nested repositories are not saved with it: {names}"));
    }
    if !loose.any {
        return Ok(Gathered::Nothing);
    }
    if matches!(git::head_branch(&root.git_dir), Head::Detached(_)) {
        let why = "HEAD is on no branch: `git switch -c NAME` in the tree first".to_owned();
        return Ok(Gathered::Stopped { why, keep: None });
    }
    let index = std::fs::read(root.git_dir.join("index").as_path()).ok();
    stage(&git, &loose)?;
    point("save.staged");
    if git.test(&["diff", "--cached", "--quiet"])? {
        return Ok(Gathered::Nothing);
    }
    let message = request.message.clone().unwrap_or_else(|| made_up(&loose));
    let args = ["commit", "--quiet", "--file=-"];
    let out = git.clone().within(HOOKS).input(message).ask(&args)?;
    point("save.committed");
    if out.code == 0 {
        return Ok(Gathered::Commit(git.text(&["rev-parse", "HEAD"])?));
    }
    let keep = hold(ctx, row, root)?;
    put_back(root, index)?;
    let said = if out.stderr.is_empty() { out.text() } else { out.stderr };
    let said: String = said.lines().take(12).collect::<Vec<_>>().join("\n");
    Ok(Gathered::Stopped { why: format!("auto-commit rejected: {said}"), keep })
}

#[derive(Default)]
struct Loose {
    any: bool,
    names: Vec<String>,
    nested: Vec<String>,
    left: Vec<OsString>,
}

/// What is loose, without what was copied in and without nested repositories.
fn loose(git: &Git, row: &TreeRow) -> Result<Loose, TreeError> {
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let out = git.run(&args)?;
    let mut loose = Loose::default();
    for field in out.fields() {
        let bytes = field.as_bytes();
        let (Some(code), Some(path)) = (bytes.get(..2), bytes.get(3..)) else { continue };
        let name = String::from_utf8_lossy(path).into_owned();
        let untracked = code == b"??";
        let copied =
            untracked && row.copied.iter().any(|c| c.path == Path::new(OsStr::from_bytes(path)));
        if untracked && path.ends_with(b"/") {
            loose.left.push(OsStr::from_bytes(path).to_owned());
            loose.nested.push(name);
        } else if copied {
            loose.left.push(OsStr::from_bytes(path).to_owned());
        } else {
            loose.any = true;
            loose.names.push(name);
        }
    }
    Ok(loose)
}

fn stage(git: &Git, loose: &Loose) -> Result<(), TreeError> {
    let mut specs: Vec<u8> = b":/\0".to_vec();
    for path in &loose.left {
        specs.extend_from_slice(b":(top,exclude,literal)");
        specs.extend_from_slice(path.as_bytes().strip_suffix(b"/").unwrap_or(path.as_bytes()));
        specs.push(0);
    }
    let args = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
    drop(git.clone().input(specs).run(&args)?);
    Ok(())
}

fn made_up(loose: &Loose) -> String {
    let some: Vec<&str> = loose.names.iter().take(NAMED).map(String::as_str).collect();
    let rest = loose.names.len().saturating_sub(NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("Save work on {}{more}\n", some.join(", "))
}

fn hold(ctx: &Context<'_>, row: &TreeRow, root: &Root) -> Result<Option<Keep>, TreeError> {
    let reason = Reason {
        what: "a commit that a git hook refused".to_owned(),
        by: None,
        owner: Some(row.session.to_string()),
        at: ctx.now,
    };
    match snapshot::before(root, &reason, &Extra::default(), Bounds::NONE)? {
        Kept::Ref(keep) => Ok(Some(keep)),
        Kept::Nothing | Kept::TooBig { .. } => Ok(None),
    }
}

/// Gives the index back as it was before staging.
fn put_back(root: &Root, index: Option<Vec<u8>>) -> Result<(), TreeError> {
    let Some(bytes) = index else { return Ok(()) };
    let path = root.git_dir.join("index");
    let temp = root.git_dir.join(format!("octo-index-{}", std::process::id()));
    std::fs::write(temp.as_path(), bytes).map_err(io(temp.as_path()))?;
    std::fs::rename(temp.as_path(), path.as_path()).map_err(io(path.as_path()))
}
