//! Owns commits that only a branch or the stash names: held before that name goes, and given their
//! name back.
//! Must never move a name that is there.

use super::snapshot::{commit, letter, one_line, publish};
use super::{Kept, REFS, Reason};
use crate::git::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::worktree::{TreeError, facts};

/// The line of a snapshot's letter that says which name a commit had.
const LINE: &str = "Octo-Ref: ";
const STASH: &str = "refs/stash";

/// A commit and the name it had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The commit.
    pub commit: String,
    /// `refs/heads/x`, or `refs/stash` for an entry of the stash.
    pub name: String,
    /// What the stash's entry was called; empty for a branch.
    pub title: String,
}

/// What came of giving a name back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Back {
    /// The name is there again.
    Given(Named),
    /// It was there, with this commit.
    Same(Named),
    /// It names another commit now.
    Taken(Named),
}

/// Holds the commits that only this branch names.
pub fn branch(root: &Root, name: &str, reason: &Reason) -> Result<Kept, TreeError> {
    let git = Git::new(root.path.as_path());
    let full = format!("refs/heads/{name}");
    let Some(tip) = facts::commit_of(&git, &full) else { return Ok(Kept::Nothing) };
    let except = format!("--exclude={name}");
    let kept = format!("--glob={REFS}*");
    let args =
        ["rev-list", "-n1", &tip, "--not", &except, "--branches", "--remotes", "--tags", &kept];
    if git.text(&args)?.is_empty() {
        return Ok(Kept::Nothing);
    }
    hold(&git, root, &[Named { commit: tip, name: full, title: String::new() }], reason)
}

/// Holds entries of the stash that no snapshot holds yet: the one written so, or all.
pub fn stash(root: &Root, entry: Option<&str>, reason: &Reason) -> Result<Kept, TreeError> {
    let git = Git::new(root.path.as_path());
    let mut found = entries(&git)?;
    if let Some(at) = entry.and_then(place) {
        found = found.into_iter().nth(at).into_iter().collect();
    }
    if found.is_empty() {
        return Ok(Kept::Nothing);
    }
    let kept = format!("--glob={REFS}*");
    let mut args = vec!["rev-list"];
    args.extend(found.iter().map(|n| n.commit.as_str()));
    args.extend(["--not", "--branches", "--remotes", "--tags", &kept]);
    let fresh = git.text(&args)?;
    found.retain(|n| fresh.lines().any(|line| line == n.commit));
    if found.is_empty() { Ok(Kept::Nothing) } else { hold(&git, root, &found, reason) }
}

fn entries(git: &Git) -> Result<Vec<Named>, TreeError> {
    let text = git.text(&["stash", "list", "--format=%H %gs"])?;
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let named = |(commit, title): (&str, &str)| Named {
        commit: commit.to_owned(),
        name: STASH.to_owned(),
        title: title.to_owned(),
    };
    Ok(pairs.map(named).collect())
}

/// `stash@{2}` or `2` as a place in the stack.
fn place(entry: &str) -> Option<usize> {
    let digits = entry.strip_prefix("stash@{").and_then(|rest| rest.strip_suffix('}'));
    digits.unwrap_or(entry).parse().ok()
}

fn hold(git: &Git, root: &Root, all: &[Named], reason: &Reason) -> Result<Kept, TreeError> {
    let Some(first) = all.first() else { return Ok(Kept::Nothing) };
    let tree = git.text(&["rev-parse", &format!("{}^{{tree}}", first.commit)])?;
    let parents: Vec<String> = all.iter().map(|n| n.commit.clone()).collect();
    let mut text = letter(root, reason);
    for named in all {
        let Named { commit, name, title } = named;
        text.push_str(format!("{LINE}{commit} {name} {}", one_line(title)).trim_end());
        text.push('\n');
    }
    let commit = commit(git, &tree, &parents, &text, reason)?;
    Ok(Kept::Ref(publish(git, &commit, reason, Vec::new())?))
}

/// The names a snapshot holds commits of.
pub fn of(common: &AbsPath, name: &str) -> Result<Vec<Named>, TreeError> {
    let git = at(common);
    let text = git.text(&["log", "-1", "--format=%B", &format!("{REFS}{name}"), "--"])?;
    let named = |line: &str| {
        let mut words = line.strip_prefix(LINE)?.splitn(3, ' ');
        Some(Named {
            commit: words.next()?.to_owned(),
            name: words.next()?.to_owned(),
            title: words.next().unwrap_or_default().to_owned(),
        })
    };
    Ok(text.lines().filter_map(named).collect())
}

/// Gives the commits of a snapshot their names back where those are free.
pub fn give_back(common: &AbsPath, name: &str) -> Result<Vec<Back>, TreeError> {
    let git = at(common);
    // The oldest entry goes onto the stack first: it lay below the others.
    of(common, name)?.into_iter().rev().map(|named| give(&git, named)).collect()
}

fn give(git: &Git, named: Named) -> Result<Back, TreeError> {
    if named.name == STASH {
        if entries(git)?.iter().any(|e| e.commit == named.commit) {
            return Ok(Back::Same(named));
        }
        drop(git.run(&["stash", "store", "-m", &named.title, &named.commit])?);
        return Ok(Back::Given(named));
    }
    match facts::commit_of(git, &named.name) {
        Some(now) if now == named.commit => Ok(Back::Same(named)),
        Some(_) => Ok(Back::Taken(named)),
        None => {
            // The empty old value: only where there is none.
            let args = ["update-ref", "-m", "octo keep restore", &named.name, &named.commit, ""];
            drop(git.run(&args)?);
            Ok(Back::Given(named))
        }
    }
}

fn at(common: &AbsPath) -> Git {
    Git::new(common.as_path()).env("GIT_DIR", common.as_path())
}
