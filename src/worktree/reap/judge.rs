//! Owns the verdict on a tree: may it go, and how.
//! PURE. Must never let anything go that is dirty, unlanded, pinned, locked or in use unless the
//! one risk that covers it was accepted by name; a tree octo did not make never goes.

use crate::git::Tree;
use crate::git::discover::Standing;
use crate::worktree::keep::bury::BranchFate;
use crate::worktree::landing::landed::How;
use crate::worktree::row::Pin;

/// What is true of a tree right now.
#[derive(Debug, Clone)]
pub struct TreeFacts {
    /// Its registration.
    pub registered: Option<Tree>,
    /// Whether the folder is there.
    pub folder: Folder,
    /// Tracked files that differ, staged or not.
    pub changed: usize,
    /// Untracked files that were not copied in.
    pub untracked: usize,
    /// Ignored files of its own, below the root.
    pub ignored: usize,
    /// Why its ignored files are too much to hold.
    pub ignored_too_big: Option<String>,
    /// What git cannot store: nested repositories, submodules with work.
    pub nested: Vec<String>,
    /// An operation that is under way.
    pub under_way: Option<&'static str>,
    /// HEAD is on no branch and no branch holds it.
    pub loose_head: bool,
    /// Whether its work is on a target, where and how.
    pub landed: Option<(String, How)>,
    /// Commits beyond the target.
    pub ahead: u64,
    /// Live processes that refer to it: the register's and the system's.
    pub users: Vec<String>,
    /// The process that locked it is dead, or nobody can be named.
    pub locker: Locker,
    /// Kept from every clean-up.
    pub pin: Pin,
    /// Seconds since anything was heard of its session.
    pub silent: u64,
    /// Entries of the shared stash made on its branch.
    pub stashed: usize,
}

/// Whether a tree's folder is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// It is, and it is a tree.
    There,
    /// It is gone.
    Gone,
    /// Something else is in its place.
    Other,
}

/// Who locked a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locker {
    /// Nobody.
    None,
    /// A process that is dead, or a start that never ended.
    Dead,
    /// Somebody who may live, or who left no name.
    Alive,
}

/// A risk that is accepted by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Risk {
    /// Give up the folder of a clean tree nobody has been in for a day; its branch stays.
    Abandoned,
    /// Give up the folder of a tree whose work has not landed; its branch stays.
    Unlanded,
    /// Give up the folder of a tree with uncommitted work; it becomes a commit on the branch.
    Dirty,
}

/// What becomes of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Fate {
    /// It stays.
    Keep(Vec<String>),
    /// It goes, and this becomes of its branch.
    Remove(BranchFate),
    /// Its uncommitted work becomes a commit, the folder goes, the branch stays.
    GiveUp,
    /// Only its registration is left: that goes.
    Forget,
}

/// The verdict.
pub fn fate(facts: &TreeFacts, risks: &[Risk]) -> Fate {
    let mut why = hard(facts);
    if !why.is_empty() {
        return Fate::Keep(why);
    }
    if facts.folder == Folder::Gone {
        return Fate::Forget;
    }
    let dirty = facts.changed + facts.untracked > 0;
    let has = |risk: Risk| risks.contains(&risk);
    let abandoned = has(Risk::Abandoned) && facts.silent >= super::ABANDONED;
    if dirty && !has(Risk::Dirty) {
        why.push(format!("{} changed and {} untracked files", facts.changed, facts.untracked));
    }
    if facts.landed.is_none() && !abandoned && !has(Risk::Unlanded) {
        why.push(format!("{} commits have not landed", facts.ahead));
    }
    if !why.is_empty() {
        return Fate::Keep(why);
    }
    match (&facts.landed, dirty) {
        (_, true) => Fate::GiveUp,
        (Some(_), false) => Fate::Remove(BranchFate::Delete),
        (None, false) => Fate::Remove(BranchFate::Stays),
    }
}

/// Reasons no risk covers.
fn hard(facts: &TreeFacts) -> Vec<String> {
    let mut why = Vec::new();
    if facts.pin == Pin::Pinned {
        why.push("it is pinned".to_owned());
    }
    if facts.folder == Folder::Other {
        why.push("something else is in its place".to_owned());
    }
    if facts.registered.as_ref().is_some_and(|t| t.standing == Standing::Foreign) {
        why.push("its folder belongs to another registration".to_owned());
    }
    if facts.locker == Locker::Alive {
        why.push("it is locked".to_owned());
    }
    if !facts.users.is_empty() {
        why.push(format!("in use by {}", facts.users.join(", ")));
    }
    if let Some(what) = facts.under_way {
        why.push(format!("a {what} is under way"));
    }
    if facts.loose_head {
        why.push("HEAD is on a commit that no branch holds".to_owned());
    }
    if !facts.nested.is_empty() {
        why.push(format!("work git cannot store with it: {}", facts.nested.join(", ")));
    }
    why.extend(facts.ignored_too_big.clone());
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree::reap::ABANDONED;

    fn clean() -> TreeFacts {
        TreeFacts {
            registered: None,
            folder: Folder::There,
            changed: 0,
            untracked: 0,
            ignored: 0,
            ignored_too_big: None,
            nested: Vec::new(),
            under_way: None,
            loose_head: false,
            landed: Some(("refs/heads/main".into(), How::History)),
            ahead: 0,
            users: Vec::new(),
            locker: Locker::None,
            pin: Pin::Loose,
            silent: 0,
            stashed: 0,
        }
    }

    #[test]
    fn only_landed_and_clean_goes_by_itself() {
        assert_eq!(fate(&clean(), &[]), Fate::Remove(BranchFate::Delete));
        let unlanded = TreeFacts { landed: None, ahead: 2, ..clean() };
        assert!(matches!(fate(&unlanded, &[]), Fate::Keep(_)));
        assert_eq!(fate(&unlanded, &[Risk::Unlanded]), Fate::Remove(BranchFate::Stays));
        let dirty = TreeFacts { changed: 1, ..clean() };
        assert!(matches!(fate(&dirty, &[Risk::Unlanded]), Fate::Keep(_)));
        assert_eq!(fate(&dirty, &[Risk::Dirty]), Fate::GiveUp);
    }

    #[test]
    fn abandoned_means_a_day_of_silence() {
        let left = TreeFacts { landed: None, silent: ABANDONED, ..clean() };
        assert_eq!(fate(&left, &[Risk::Abandoned]), Fate::Remove(BranchFate::Stays));
        let dirty = TreeFacts { changed: 1, ..left.clone() };
        assert!(matches!(fate(&dirty, &[Risk::Abandoned]), Fate::Keep(_)));
        assert_eq!(fate(&dirty, &[Risk::Abandoned, Risk::Dirty]), Fate::GiveUp);
        let recent = TreeFacts { silent: ABANDONED - 1, ..left };
        assert!(matches!(fate(&recent, &[Risk::Abandoned]), Fate::Keep(_)));
    }

    #[test]
    fn no_risk_covers_what_is_in_use_or_cannot_be_held() {
        let all = [Risk::Abandoned, Risk::Unlanded, Risk::Dirty];
        let old = TreeFacts { silent: u64::MAX, ..clean() };
        for kept in [
            TreeFacts { pin: Pin::Pinned, ..old.clone() },
            TreeFacts { locker: Locker::Alive, ..old.clone() },
            TreeFacts { users: vec!["s-1".into()], ..old.clone() },
            TreeFacts { under_way: Some("rebase"), ..old.clone() },
            TreeFacts { loose_head: true, ..old.clone() },
            TreeFacts { nested: vec!["sub".into()], ..old.clone() },
            TreeFacts { folder: Folder::Other, ..old.clone() },
            TreeFacts { ignored_too_big: Some("big".into()), ..old.clone() },
        ] {
            assert!(matches!(fate(&kept, &all), Fate::Keep(_)), "{kept:?}");
        }
        assert_eq!(fate(&TreeFacts { folder: Folder::Gone, ..old }, &[]), Fate::Forget);
    }
}
