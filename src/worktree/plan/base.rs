//! Owns the decision what a new tree starts from and where its work goes home to.
//! PURE. Must never start from commits that another live session has not published.

use std::path::PathBuf;

use super::{CreateFacts, FromBranch, Plan, Refusal, Request, Tip, Unpublished};
use crate::policy::facts::Root;
use crate::worktree::Start;

/// A start, and what is said of it.
pub(super) struct Base {
    commit: String,
    label: String,
    distance: Option<(u64, u64)>,
    target: Option<String>,
    note: Option<String>,
}

impl Base {
    /// The plan of a tree that starts here, on a branch of its own.
    pub(super) fn plan(
        self,
        id: String,
        branch: String,
        sub: Option<PathBuf>,
        facts: &CreateFacts,
        mut notes: Vec<String>,
    ) -> Plan {
        notes.extend(self.note);
        Plan {
            path: facts.folder.join(&id),
            id,
            branch,
            from_branch: FromBranch::Fresh,
            commit: self.commit,
            label: self.label,
            distance: self.distance,
            target: self.target,
            sub,
            notes,
        }
    }
}

/// Decides what a tree starts from.
pub(super) fn base(request: &Request, root: &Root, facts: &CreateFacts) -> Result<Base, Refusal> {
    let head = facts.head.as_ref().ok_or_else(|| Refusal::Unborn(root.path.clone()))?;
    let local = facts.default.as_ref().and_then(local_name);
    let from_head = |note| Base {
        commit: head.commit.clone(),
        label: head.branch.clone().unwrap_or_else(|| "a detached HEAD".to_owned()),
        distance: facts.distance,
        target: head.branch.clone(),
        note,
    };
    let published = |tip: &Tip, note| Base {
        commit: tip.commit.clone(),
        label: tip.branch.clone().unwrap_or_default(),
        distance: Some((0, 0)),
        target: local.clone().or_else(|| head.branch.clone()),
        note,
    };
    Ok(match (&request.start, &facts.default) {
        (Start::Rev(rev), _) => Base {
            commit: facts.rev.clone().ok_or_else(|| Refusal::NoSuchRev(rev.clone()))?,
            label: rev.clone(),
            distance: None,
            target: head.branch.clone(),
            note: None,
        },
        (Start::Fresh, Some(tip)) => published(tip, None),
        (Start::Fresh, None) => {
            from_head(Some("there is no published default branch: made from HEAD".to_owned()))
        }
        (Start::Head, Some(tip)) if facts.unpublished == Unpublished::Foreign => {
            let why = "HEAD holds unpublished commits of another live session";
            published(
                tip,
                Some(format!(
                    "{why}: made from {}",
                    tip.branch.as_deref().unwrap_or("the default")
                )),
            )
        }
        (Start::Head, _) => from_head(None),
    })
}

/// `origin/main` as the local branch `main`.
fn local_name(tip: &Tip) -> Option<String> {
    tip.branch.as_deref()?.split_once('/').map(|(_, name)| name.to_owned())
}
