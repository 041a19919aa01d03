//! Owns the forensics after a collision: loose work held first, then where each file's changes
//! went and whose they are, from reflogs and journals, and the steps back.
//! Must never move a branch, an index or a file: it holds, looks and tells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::keep::snapshot::{self, Extra};
use super::keep::{Bounds, Keep, Kept, Reason};
use super::plan::short;
use super::{Context, TreeError};
use crate::git::discover::Standing;
use crate::git::{self, Git};
use crate::journal;
use crate::kernel::home::Home;
use crate::kernel::log;
use crate::policy::facts::Root;
use crate::policy::verdict::What;

/// Moves of HEAD that are looked at.
const MOVES: &str = "-n40";

/// What was found.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Loose work that was held, by work tree.
    pub held: Vec<(String, Keep)>,
    /// Work trees whose loose work is too much to hold.
    pub too_big: Vec<String>,
    /// Commits that hold files of more than one process.
    pub mixed: Vec<Commit>,
    /// Commits that no branch holds any more.
    pub dropped: Vec<Commit>,
    /// Each file and where its changes are.
    pub files: BTreeMap<PathBuf, Vec<String>>,
    /// What to do, in order.
    pub steps: Vec<String>,
}

/// A commit of the last moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// Its subject.
    pub subject: String,
    /// How HEAD came there.
    pub how: String,
    /// Branches that hold it.
    pub branches: Vec<String>,
    /// Its files and who wrote them, as the journals say.
    pub files: Vec<(PathBuf, Vec<String>)>,
}

/// Holds all loose work of a repository, then reads what happened.
pub fn recover(
    ctx: &Context<'_>,
    home: &Home,
    root: &Root,
    by: &str,
) -> Result<Recovery, TreeError> {
    let mut found = Recovery::default();
    hold_all(ctx, root, by, &mut found)?;
    let writers = writers(home, root);
    let git = Git::new(root.path.as_path());
    for commit in moves(&git, &writers)? {
        let place = match commit.branches.first() {
            Some(branch) => format!("{} on {branch}", short(&commit.id)),
            None => format!("{} on no branch", short(&commit.id)),
        };
        for (path, who) in &commit.files {
            let whose = if who.is_empty() {
                String::new()
            } else {
                format!(", written by {}", who.join(", "))
            };
            let line = format!("{place}: {} ({}){whose}", commit.subject, commit.how);
            found.files.entry(path.clone()).or_default().push(line);
        }
        let everybody: BTreeSet<&String> = commit.files.iter().flat_map(|(_, who)| who).collect();
        if everybody.len() > 1 {
            found.mixed.push(commit.clone());
        }
        if commit.branches.is_empty() {
            found.dropped.push(commit);
        }
    }
    loose(&git, root, &writers, &mut found)?;
    found.steps = steps(&found);
    Ok(found)
}

fn hold_all(
    ctx: &Context<'_>,
    root: &Root,
    by: &str,
    found: &mut Recovery,
) -> Result<(), TreeError> {
    let whole = git::worktrees(&root.common).into_iter().filter(|t| t.standing == Standing::Whole);
    for tree in whole {
        let Some(at) = git::root_of(&tree.path) else { continue };
        let reason = Reason {
            what: "octo recover".to_owned(),
            by: Some(by.to_owned()),
            owner: None,
            at: ctx.now,
        };
        match snapshot::before(&at, &reason, &Extra::default(), Bounds::default())? {
            Kept::Ref(keep) => found.held.push((tree.path.to_string(), keep)),
            Kept::TooBig { .. } => found.too_big.push(tree.path.to_string()),
            Kept::Nothing => {}
        }
    }
    Ok(())
}

/// Who wrote which path of the root, by all journals, in order of time.
fn writers(home: &Home, root: &Root) -> BTreeMap<PathBuf, Vec<String>> {
    let mut writers: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut entries = Vec::new();
    for (_, parts) in log::all(home).unwrap_or_default() {
        entries.extend(journal::read_all(&parts, None, 1).entries);
    }
    entries.sort_by_key(|e| e.at);
    for entry in entries {
        if !matches!(entry.kind, What::Confirm) {
            continue;
        }
        let target = entry.note.target.as_deref().map(Path::new);
        let below = target.and_then(|t| t.strip_prefix(root.path.as_path()).ok());
        if let Some(path) = below {
            let who = writers.entry(path.to_owned()).or_default();
            who.retain(|p| *p != entry.pid);
            who.push(entry.pid);
        }
    }
    writers
}

/// The last moves of HEAD: each commit once, newest first.
fn moves(git: &Git, writers: &BTreeMap<PathBuf, Vec<String>>) -> Result<Vec<Commit>, TreeError> {
    let format = "--format=%x01%H%x00%gs%x00%s%x00";
    let out = git.ask(&["log", "-g", MOVES, "-z", "--name-only", format, "HEAD"])?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut commits: Vec<Commit> = Vec::new();
    for record in text.split('\u{1}').skip(1) {
        let mut parts = record.split('\0');
        let (Some(id), Some(how), Some(subject)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if commits.iter().any(|c| c.id == id) {
            continue;
        }
        let names = parts.map(|p| p.trim_matches('\n')).filter(|p| !p.is_empty());
        let files = names.map(|name| {
            let path = PathBuf::from(name);
            let who = writers.get(&path).cloned().unwrap_or_default();
            (path, who)
        });
        let args = ["branch", "--all", "--format=%(refname:short)", "--contains", id];
        let holds = git.text(&args).unwrap_or_default();
        commits.push(Commit {
            id: id.to_owned(),
            subject: subject.to_owned(),
            how: how.to_owned(),
            files: files.collect(),
            branches: holds.lines().filter(|l| !l.starts_with('(')).map(str::to_owned).collect(),
        });
    }
    Ok(commits)
}

/// What still lies uncommitted in the root, and whose it is.
fn loose(
    git: &Git,
    root: &Root,
    writers: &BTreeMap<PathBuf, Vec<String>>,
    found: &mut Recovery,
) -> Result<(), TreeError> {
    let out = git.run(&["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"])?;
    for field in out.fields() {
        let text = field.to_string_lossy();
        let (Some(code), Some(name)) = (text.get(..2), text.get(3..)) else { continue };
        let path = PathBuf::from(name);
        let who = writers
            .get(&path)
            .map_or_else(String::new, |w| format!(", written by {}", w.join(", ")));
        let what = if code.starts_with(' ') || code == "??" { "uncommitted" } else { "staged" };
        found.files.entry(path).or_default().insert(0, format!("{what} in {}{who}", root.path));
    }
    Ok(())
}

fn steps(found: &Recovery) -> Vec<String> {
    let mut steps = vec![
        "Don't add, commit, reset or push in the shared checkout while another session lives there: octo ps".to_owned(),
    ];
    for (root, keep) in &found.held {
        steps.push(format!("the loose work of {root} is held: octo keep show {}", keep.name));
    }
    for commit in &found.dropped {
        steps.push(format!(
            "give a lost commit a branch: git branch rescue/{0} {0}",
            short(&commit.id)
        ));
    }
    for commit in &found.mixed {
        let whose: BTreeSet<&String> = commit.files.iter().flat_map(|(_, who)| who).collect();
        let whose: Vec<&str> = whose.into_iter().map(String::as_str).collect();
        steps.push(format!(
            "{} holds work of {}: git show --stat {0}",
            short(&commit.id),
            whose.join(" and ")
        ));
    }
    steps.push(
        "make a tree of your own: octo-dim --session-id ID worktree-init --repo .".to_owned(),
    );
    steps.push("bring your files there: octo keep restore NAME PATH… --to TREE, or git checkout COMMIT -- PATH".to_owned());
    steps.push("commit there, then: octo save".to_owned());
    steps
}
