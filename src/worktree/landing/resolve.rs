//! Owns a conflict's way out: a tree of its own in which the merge stands open, a brief, the
//! configured resolver, and the landing after it. One further conflict ends it.
//! Must never settle a conflict itself, nor touch the session's tree before the merge is whole.

use std::path::PathBuf;
use std::process::Command;

use super::merge::Conflict;
use super::{Outcome, SaveRequest, Saved, save};
use crate::git::{self, Git};
use crate::policy::facts::Root;
use crate::worktree::plan::{Request, Via, short};
use crate::worktree::{Context, Start, TreeError, TreeRow, apply, facts, io};

/// The client's name for a resolver's tree.
const NAME: &str = "resolve";

/// Where a resolution stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Resolution {
    /// There was nothing to resolve, or it is resolved and this came of saving.
    Saved(Saved),
    /// A tree waits for somebody to settle it.
    Prepared {
        /// Its folder.
        tree: PathBuf,
        /// What to do, in a file.
        brief: PathBuf,
        /// Why it is not settled yet.
        why: String,
    },
    /// It conflicts again: over to a person.
    Again(Vec<Conflict>),
}

/// Saves; where that conflicts, resolves and saves again.
pub fn resolve(
    ctx: &Context<'_>,
    row: &TreeRow,
    request: &SaveRequest,
) -> Result<Resolution, TreeError> {
    let saved = save(ctx, row, request)?;
    let Outcome::Conflict { target, files } = &saved.outcome else {
        return Ok(Resolution::Saved(saved));
    };
    let tip = Git::new(row.path.as_path()).text(&["rev-parse", "HEAD"])?;
    let tree = resolver_tree(ctx, row, &tip)?;
    let Some(root) = apply::root(&tree) else {
        return Err(TreeError::Unverified(format!("{} vanished", tree.path)));
    };
    let git = Git::new(tree.path.as_path());
    if !holds(&git, &tip, target)? {
        open_merge(&git, &tip, target)?;
        let brief = write_brief(row, &root, target, files)?;
        if let Some(why) = settle(ctx, &git, &root, &brief)? {
            return Ok(Resolution::Prepared { tree: tree.path.as_path().into(), brief, why });
        }
    }
    let whole = git.text(&["rev-parse", "HEAD"])?;
    let session = Git::new(row.path.as_path());
    drop(session.run(&["merge", "--ff-only", "--no-autostash", "--quiet", &whole])?);
    let saved = save(ctx, row, request)?;
    if let Outcome::Conflict { files, .. } = saved.outcome {
        return Ok(Resolution::Again(files));
    }
    Ok(Resolution::Saved(saved))
}

fn resolver_tree(ctx: &Context<'_>, row: &TreeRow, tip: &str) -> Result<TreeRow, TreeError> {
    let request = Request {
        session: row.session.clone(),
        name: Some(NAME.to_owned()),
        from: row.main.clone(),
        via: Via::Fork,
        start: Start::Rev(tip.to_owned()),
        branch: None,
    };
    Ok(apply::create(ctx, &request)?.row)
}

/// A resolution of an earlier call: the tip and the target are both in its history.
fn holds(git: &Git, tip: &str, target: &str) -> Result<bool, TreeError> {
    let both = [tip, &format!("refs/heads/{target}")]
        .iter()
        .all(|c| super::target::is_ancestor(git, c, "HEAD"));
    Ok(both && git.text(&["status", "--porcelain", "--untracked-files=no"])?.is_empty())
}

/// Puts the merge into the resolver's tree, open where it conflicts. What an earlier call left
/// open there stays: somebody may be in the middle of it.
fn open_merge(git: &Git, tip: &str, target: &str) -> Result<(), TreeError> {
    let head = git.text(&["rev-parse", "HEAD"])?;
    if facts::commit_of(git, "MERGE_HEAD").is_some() {
        return Ok(());
    }
    if head != tip && super::target::is_ancestor(git, &head, tip) {
        drop(git.run(&["merge", "--ff-only", "--quiet", tip])?);
    }
    // Ends with 1 because it conflicts: that is what the tree is for.
    drop(git.ask(&[
        "merge",
        "--no-ff",
        "--no-commit",
        "--quiet",
        &format!("refs/heads/{target}"),
    ])?);
    Ok(())
}

fn write_brief(
    row: &TreeRow,
    root: &Root,
    target: &str,
    files: &[Conflict],
) -> Result<PathBuf, TreeError> {
    let mut lines = vec![
        format!("# Conflict: {} into {target}", row.branch),
        String::new(),
        format!(
            "A merge of {target} stands open in {}. Settle these files, keep both sides'",
            root.path
        ),
        "intent, run the tests, `git add` them and `git commit`.".to_owned(),
        format!("Then: octo save {} --resolve", row.id),
    ];
    for file in files {
        lines.extend([String::new(), format!("## {}", file.path.display()), file.why.clone()]);
        for (number, hunk) in &file.hunks {
            lines.extend([
                format!("from line {number}:"),
                "```".into(),
                hunk.clone(),
                "```".into(),
            ]);
        }
    }
    let path = root.git_dir.join("octo-brief.md");
    std::fs::write(path.as_path(), lines.join("\n") + "\n").map_err(io(path.as_path()))?;
    Ok(path.as_path().to_owned())
}

/// Runs the configured resolver; none when the merge is whole afterwards, else why not.
fn settle(
    ctx: &Context<'_>,
    git: &Git,
    root: &Root,
    brief: &std::path::Path,
) -> Result<Option<String>, TreeError> {
    let open = |git: &Git| -> Result<bool, TreeError> {
        Ok(!git.text(&["ls-files", "--unmerged"])?.is_empty())
    };
    if let Some(command) = &ctx.prefs.resolver
        && (open(git)? || facts::commit_of(git, "MERGE_HEAD").is_some())
    {
        let status = Command::new("sh")
            .args(["-c", command])
            .current_dir(root.path.as_path())
            .env("OCTO_BRIEF", brief)
            .status()
            .map_err(io(root.path.as_path()))?;
        if !status.success() {
            return Ok(Some(format!("the resolver ended with {status}")));
        }
    }
    if open(git)? {
        return Ok(Some("files are still in conflict".to_owned()));
    }
    if facts::commit_of(git, "MERGE_HEAD").is_some() {
        if ctx.prefs.resolver.is_none() {
            return Ok(Some("the merge waits for its commit".to_owned()));
        }
        if !git.test(&["diff", "--check", "--quiet", "HEAD"]).unwrap_or(true) && markers(git)? {
            return Ok(Some("conflict markers are left".to_owned()));
        }
        drop(git.run(&["commit", "--quiet", "--no-edit"])?);
    }
    let head = git.text(&["rev-parse", "HEAD"])?;
    match git::root_of(&root.path) {
        Some(_) => Ok(None),
        None => Ok(Some(format!("{} vanished at {}", root.path, short(&head)))),
    }
}

fn markers(git: &Git) -> Result<bool, TreeError> {
    let out = git.ask(&["grep", "-q", "-e", "^<<<<<<< ", "-e", "^>>>>>>> ", "--", ":/"])?;
    Ok(out.code == 0)
}
