//! Owns the gathering of what is true around a wish for a tree: git's answers, the register's,
//! the disk's.
//! Must never change anything, except that a `fresh` start fetches the published default.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::plan::{CreateFacts, Request, Tip, Unpublished};
use super::row::{State, TreeRow};
use super::{Context, Layout, Places, Start, TreeError, lock, view};
use crate::git::{self, Git, Head};
use crate::policy::facts::{Root, RootKind};
use crate::policy::lane::AbsPath;

/// A fetch must not hold a session up for longer.
const FETCH: Duration = Duration::from_secs(20);

/// Gathers the facts for a request. Call it under the repository's lock to act on them.
pub fn gather(ctx: &Context<'_>, request: &Request) -> Result<CreateFacts, TreeError> {
    let root = git::root_of(&request.from);
    let Some(root) = root.filter(|r| r.kind != RootKind::Unreadable) else {
        return Ok(without(request, git::root_of(&request.from), bare_at(&request.from)));
    };
    let main = anchor(&root);
    let git = Git::new(main.as_path());
    if request.start == Start::Fresh
        && let Some(remote) = remote_of(&git)
    {
        // Offline is no reason to refuse: the default as last seen is what there is.
        drop(git.clone().within(FETCH).ask(&["fetch", "--quiet", &remote]));
    }
    let head = head_of(&git);
    let default = default_of(&git);
    let rows = ctx.registry.rows(None)?;
    let rev = match &request.start {
        Start::Rev(rev) => commit_of(&git, rev),
        Start::Head | Start::Fresh => None,
    };
    let distance = match (&head, &default) {
        (Some(head), Some(default)) => distance(&git, &default.commit, &head.commit),
        (None, _) | (_, None) => None,
    };
    let folder = folder(ctx.places, &root, &main, &rows);
    Ok(CreateFacts {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        unpublished: unpublished(ctx, request, &main, &git, default.as_ref(), distance)?,
        bare: None,
        head,
        default,
        distance,
        rev,
        wanted: request.branch.as_ref().and_then(|b| commit_of(&git, &format!("refs/heads/{b}"))),
        branches: branches(&git)?,
        trees: git::worktrees(&root.common),
        occupied: names_in(&folder),
        reclaimable: if free_bytes(&folder) < ctx.prefs.floor {
            largest(&rows)
        } else {
            Vec::new()
        },
        free: free_bytes(&folder),
        floor: ctx.prefs.floor,
        folder,
        rows: rows.into_iter().filter(|r| r.common == root.common).collect(),
        root: Some(root),
    })
}

/// The checkout a tree of this repository is made from: the main one, or the bare repository.
#[must_use]
pub fn anchor(root: &Root) -> AbsPath {
    match &root.kind {
        RootKind::Linked { main } => main.clone(),
        RootKind::Main | RootKind::Unreadable => root.path.clone(),
    }
}

/// The published default branch of a repository (`origin/main`) and its commit.
#[must_use]
pub fn default_of(git: &Git) -> Option<Tip> {
    let remote = remote_of(git)?;
    let named =
        git.text(&["symbolic-ref", "-q", "--short", &format!("refs/remotes/{remote}/HEAD")]);
    let guesses = ["main", "master"].map(|name| format!("{remote}/{name}"));
    named.into_iter().chain(guesses).find_map(|branch| {
        let commit = commit_of(git, &format!("refs/remotes/{branch}"))?;
        Some(Tip { branch: Some(branch), commit })
    })
}

/// The remote that counts: `origin`, else the only one there is.
#[must_use]
pub fn remote_of(git: &Git) -> Option<String> {
    let names = git.text(&["remote"]).ok()?;
    let mut names = names.lines();
    let first = names.next()?.to_owned();
    let others: Vec<&str> = names.collect();
    if others.is_empty() {
        Some(first)
    } else if first == "origin" || others.contains(&"origin") {
        Some("origin".to_owned())
    } else {
        None
    }
}

/// The commit a revision names.
#[must_use]
pub fn commit_of(git: &Git, rev: &str) -> Option<String> {
    let spec = format!("{rev}^{{commit}}");
    git.text(&["rev-parse", "-q", "--verify", "--end-of-options", &spec])
        .ok()
        .filter(|c| !c.is_empty())
}

/// Commits of `tip` that `base` lacks, and of `base` that `tip` lacks.
#[must_use]
pub fn distance(git: &Git, base: &str, tip: &str) -> Option<(u64, u64)> {
    let range = format!("{base}...{tip}");
    let text = git.text(&["rev-list", "--left-right", "--count", &range]).ok()?;
    let (behind, ahead) = text.split_once(char::is_whitespace)?;
    Some((ahead.trim().parse().ok()?, behind.trim().parse().ok()?))
}

/// HEAD of the checkout git runs in.
#[must_use]
pub fn head_of(git: &Git) -> Option<Tip> {
    let commit = commit_of(git, "HEAD")?;
    let branch =
        git.text(&["symbolic-ref", "-q", "--short", "HEAD"]).ok().filter(|b| !b.is_empty());
    Some(Tip { branch, commit })
}

/// The facts where there is no repository: enough to refuse with the right words.
fn without(request: &Request, root: Option<Root>, bare: Option<AbsPath>) -> CreateFacts {
    CreateFacts {
        host: String::new(),
        root,
        bare,
        head: None,
        default: None,
        distance: None,
        unpublished: Unpublished::None,
        rev: None,
        wanted: None,
        rows: Vec::new(),
        trees: Vec::new(),
        branches: BTreeMap::new(),
        folder: request.from.clone(),
        occupied: BTreeSet::new(),
        free: 0,
        floor: 0,
        reclaimable: Vec::new(),
    }
}

/// A bare repository that `at` lies in: git would answer, but there is nothing to copy.
fn bare_at(at: &AbsPath) -> Option<AbsPath> {
    let git = Git::new(at.as_path());
    if git.text(&["rev-parse", "--is-bare-repository"]).ok()? != "true" {
        return None;
    }
    AbsPath::new(git.text(&["rev-parse", "--absolute-git-dir"]).ok()?)
}

fn branches(git: &Git) -> Result<BTreeMap<String, String>, TreeError> {
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    let out = git.text(&["for-each-ref", format, "refs/heads/dim", "refs/heads/dim/**"])?;
    let pairs = out.lines().filter_map(|l| l.split_once(' '));
    Ok(pairs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect())
}

/// HEAD is somebody else's when a live neighbour has been here since before one of the commits
/// that nobody has published was made.
fn unpublished(
    ctx: &Context<'_>,
    request: &Request,
    main: &AbsPath,
    git: &Git,
    default: Option<&Tip>,
    distance: Option<(u64, u64)>,
) -> Result<Unpublished, TreeError> {
    let (Some(default), Some((1.., _))) = (default, distance) else { return Ok(Unpublished::None) };
    let others = ctx.registry.users(main)?;
    let Some(since) = others.iter().filter(|u| u.session != request.session).map(|u| u.since).min()
    else {
        return Ok(Unpublished::None);
    };
    let range = format!("{}..HEAD", default.commit);
    let newest = git.text(&["log", "-1", "--format=%ct", &range])?;
    let newest: u64 = newest.trim().parse().unwrap_or(u64::MAX);
    Ok(if newest >= since { Unpublished::Foreign } else { Unpublished::None })
}

/// The folder of this repository's trees. Two repositories of one name get two folders.
fn folder(places: &Places, root: &Root, main: &AbsPath, rows: &[TreeRow]) -> AbsPath {
    let name = main.as_path().file_name().map_or_else(
        || "repository".to_owned(),
        |n| n.to_string_lossy().trim_end_matches(".git").to_owned(),
    );
    let parent = match &places.layout {
        Layout::Home if *main == places.brain => return places.trees.join("dim"),
        Layout::Home => places.trees.join("arm"),
        Layout::Folder(folder) => folder.clone(),
        Layout::Sibling => match main.parent() {
            Some(parent) => return parent.join(format!("{name}-worktrees")),
            None => places.trees.join("arm"),
        },
    };
    let plain = parent.join(&name);
    if taken_by_another(&plain, &root.common, rows) {
        parent.join(format!("{name}-{}", lock::tag(&root.common)))
    } else {
        plain
    }
}

fn taken_by_another(folder: &AbsPath, common: &AbsPath, rows: &[TreeRow]) -> bool {
    let below = |r: &&TreeRow| r.path.parent().as_ref() == Some(folder);
    let owners: Vec<&TreeRow> = rows.iter().filter(below).collect();
    if owners.iter().any(|r| r.common == *common) {
        return false;
    }
    // Also trees whose rows were lost: their own pointers say whose they are.
    let strangers = || {
        names_in(folder).iter().any(|name| {
            let tree = folder.join(name);
            git::root_of(&tree).is_some_and(|r| r.path == tree && r.common != *common)
        })
    };
    !owners.is_empty() || strangers()
}

/// The two largest landed trees with their sizes: what a person would look at first.
fn largest(rows: &[TreeRow]) -> Vec<String> {
    let landed = rows.iter().filter(|r| matches!(r.state, State::Landed { .. }));
    let mut sized: Vec<(u64, &TreeRow)> =
        landed.map(|r| (view::bytes_below(r.path.as_path()), r)).collect();
    sized.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let named = |(bytes, row): &(u64, &TreeRow)| format!("{} ({} MiB)", row.path, bytes >> 20);
    sized.iter().take(2).map(named).collect()
}

fn names_in(folder: &AbsPath) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder.as_path()) else { return BTreeSet::new() };
    entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

/// Free bytes for a user where a path is or will be; plenty when nobody can say.
#[must_use]
pub fn free_bytes(path: &AbsPath) -> u64 {
    let known = path.as_path().ancestors().find_map(|dir| rustix::fs::statvfs(dir).ok());
    known.map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether this tree's HEAD is on a branch, by reading alone.
#[must_use]
pub fn branch_of(git_dir: &AbsPath) -> Option<String> {
    match git::head_branch(git_dir) {
        Head::Branch(name) => Some(name),
        Head::Detached(_) | Head::Unknown => None,
    }
}
