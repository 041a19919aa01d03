//! Owns the decision whether a session gets a tree, which one, where and from what.
//! PURE: facts in, a decision or a refusal out. Must never adopt a branch or a folder that octo
//! did not make for this very session: an old branch of the same name once became a wrong base.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::name::{folder_name, stable};
pub use super::refusal::{Refusal, short};
use super::row::TreeRow;
use super::{Start, State};
use crate::git::discover::{Head, Standing, Tree};
use crate::policy::facts::{Root, RootKind};
use crate::policy::lane::{AbsPath, Pid};

mod base;

use base::base;

/// Branches of session trees start with this.
pub const PREFIX: &str = "dim/";
/// How many suffixed names are tried before giving up.
const TRIES: u32 = 100;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// A person or an agent, by a command.
    Command,
    /// octo itself, for a session that must not write where it is.
    Fork,
}

/// A wish for a tree.
#[derive(Debug, Clone)]
pub struct Request {
    /// For this session.
    pub session: Pid,
    /// A further tree of the session, by the client's name for it.
    pub name: Option<String>,
    /// Where the session is, or the repository it named.
    pub from: AbsPath,
    /// Who asks.
    pub via: Via,
    /// What it should start from.
    pub start: Start,
    /// An existing branch to work on, named by whoever asks; none for a branch of its own.
    pub branch: Option<String>,
}

/// A branch and the commit it points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    /// The branch, short; none for a detached HEAD.
    pub branch: Option<String>,
    /// The commit.
    pub commit: String,
}

/// Whether HEAD holds commits of another live session that nobody has published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpublished {
    /// None, or only the session's own.
    None,
    /// Somebody else's.
    Foreign,
}

/// What is true around a request.
#[derive(Debug, Clone)]
pub struct CreateFacts {
    /// This machine's name: an id made from it is no stable id.
    pub host: String,
    /// The work tree of `Request::from`.
    pub root: Option<Root>,
    /// The bare repository it lies in, when there is no work tree.
    pub bare: Option<AbsPath>,
    /// HEAD of the checkout a tree is made from; none when unborn.
    pub head: Option<Tip>,
    /// The published default branch (`origin/main`) and its commit.
    pub default: Option<Tip>,
    /// Commits of HEAD the default lacks, and the other way round.
    pub distance: Option<(u64, u64)>,
    /// Whose they are.
    pub unpublished: Unpublished,
    /// What `Start::Rev` means.
    pub rev: Option<String>,
    /// The commit of the branch that was asked for.
    pub wanted: Option<String>,
    /// The repository's rows.
    pub rows: Vec<TreeRow>,
    /// The repository's registered trees.
    pub trees: Vec<Tree>,
    /// Branches below `dim/`, and `dim` itself, with their commits.
    pub branches: BTreeMap<String, String>,
    /// The folder that this repository's trees go to.
    pub folder: AbsPath,
    /// Names that exist in that folder.
    pub occupied: BTreeSet<String>,
    /// Free bytes there.
    pub free: u64,
    /// Free bytes that must remain.
    pub floor: u64,
    /// The largest trees that could go, when there is too little room.
    pub reclaimable: Vec<String>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// The session has its tree already.
    Existing(Box<TreeRow>),
    /// Make this one.
    New(Plan),
    /// The session's folder is gone: make it again.
    Again(Plan),
}

/// A tree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its row's id.
    pub id: String,
    /// Its folder.
    pub path: AbsPath,
    /// Its branch, short.
    pub branch: String,
    /// Whether the branch is there already.
    pub from_branch: FromBranch,
    /// The commit it starts from.
    pub commit: String,
    /// What the commit is called, for people.
    pub label: String,
    /// Commits ahead of and behind the published default.
    pub distance: Option<(u64, u64)>,
    /// Where its work goes home to.
    pub target: Option<String>,
    /// The session's folder below the root.
    pub sub: Option<PathBuf>,
    /// What the session should know.
    pub notes: Vec<String>,
}

/// Whether a tree's branch is made with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromBranch {
    /// Made at the base.
    Fresh,
    /// Was kept from an earlier tree of the same session.
    Kept,
}

/// Decides what a request gets.
pub fn create(request: &Request, facts: &CreateFacts) -> Result<Decision, Refusal> {
    let session = request.session.as_str();
    stable(session, &facts.host)?;
    let root = repository(request, facts)?;
    let label = request.name.as_deref().map(folder_name);
    let id = match &label {
        Some(name) => format!("{session}.{name}"),
        None => session.to_owned(),
    };
    if let Some(row) = own_row(request, facts) {
        return returning(row, request, root, facts);
    }
    if request.via == Via::Command
        && let RootKind::Linked { main } = &root.kind
    {
        return Err(Refusal::Linked { at: root.path.clone(), main: main.clone() });
    }
    if let Some(commit) = facts.branches.get("dim") {
        return Err(Refusal::Prefix(commit.clone()));
    }
    space(facts)?;
    if let Some(branch) = &request.branch {
        return asked_for(branch, &id, request, root, facts);
    }
    let base = base(request, root, facts)?;
    let handed_on = facts.rows.iter().find(|r| r.id == id && r.session != request.session);
    let (name, mut notes) = free_name(&id, facts)?;
    let Some(former) = handed_on else {
        let branch = format!("{PREFIX}{name}");
        return Ok(Decision::New(base.plan(name, branch, sub(request, root), facts, notes)));
    };
    notes.retain(|note| !note.contains("left alone"));
    notes.push(format!(
        "your former tree {} was handed on to session {}: this is a fresh one",
        former.path, former.session
    ));
    if let Some(commit) = own_branch(former, facts) {
        return Ok(Decision::New(Plan {
            path: facts.folder.join(&name),
            id: name,
            branch: former.branch.clone(),
            from_branch: FromBranch::Kept,
            commit,
            label: former.branch.clone(),
            distance: None,
            target: former.target.clone(),
            sub: sub(request, root),
            notes,
        }));
    }
    let branch = format!("{PREFIX}{name}");
    Ok(Decision::New(base.plan(name, branch, sub(request, root), facts, notes)))
}

/// A tree on a branch that is there already, because somebody named it.
fn asked_for(
    branch: &str,
    id: &str,
    request: &Request,
    root: &Root,
    facts: &CreateFacts,
) -> Result<Decision, Refusal> {
    let commit = facts.wanted.clone().ok_or_else(|| Refusal::NoSuchRev(branch.to_owned()))?;
    let holds =
        |t: &&Tree| t.head == Head::Branch(branch.to_owned()) && t.standing != Standing::Vanished;
    if let Some(tree) = facts.trees.iter().find(holds) {
        return Err(Refusal::Held { branch: branch.to_owned(), holder: tree.path.clone() });
    }
    let (id, notes) = free_name(id, facts)?;
    Ok(Decision::New(Plan {
        path: facts.folder.join(&id),
        id,
        branch: branch.to_owned(),
        from_branch: FromBranch::Kept,
        commit,
        label: branch.to_owned(),
        distance: None,
        target: facts.head.as_ref().and_then(|h| h.branch.clone()),
        sub: sub(request, root),
        notes,
    }))
}

/// The branch of a tree that was handed on, when no work tree has it any more.
fn own_branch(former: &TreeRow, facts: &CreateFacts) -> Option<String> {
    let own = former.branch == format!("{PREFIX}{}", former.id);
    let held = facts.trees.iter().any(|t| t.head == Head::Branch(former.branch.clone()));
    facts.branches.get(&former.branch).filter(|_| own && !held).cloned()
}

fn repository<'a>(request: &Request, facts: &'a CreateFacts) -> Result<&'a Root, Refusal> {
    let Some(root) = &facts.root else {
        return Err(match &facts.bare {
            Some(bare) => Refusal::Bare(bare.clone()),
            None => Refusal::NotARepository(request.from.clone()),
        });
    };
    match root.kind {
        RootKind::Unreadable => Err(Refusal::Unreadable(root.path.clone())),
        RootKind::Main | RootKind::Linked { .. } => Ok(root),
    }
}

/// The session's row for this request: its own tree, or the further one of that name. Found by
/// session and name, as the id may be that of a session it followed. One whose folder stands goes
/// before one that had to be replaced.
fn own_row<'a>(request: &Request, facts: &'a CreateFacts) -> Option<&'a TreeRow> {
    let mine = |r: &&TreeRow| r.session == request.session && r.name == request.name;
    let mine: Vec<&TreeRow> = facts.rows.iter().filter(mine).collect();
    mine.iter().copied().find(|r| whole(r, facts)).or_else(|| mine.first().copied())
}

fn whole(row: &TreeRow, facts: &CreateFacts) -> bool {
    let standing = |t: &&Tree| t.path == row.path && t.standing == Standing::Whole;
    row.stands() && facts.trees.iter().any(|t| standing(&t))
}

/// A session that has (or had) a tree comes back.
fn returning(
    row: &TreeRow,
    request: &Request,
    root: &Root,
    facts: &CreateFacts,
) -> Result<Decision, Refusal> {
    if whole(row, facts) {
        return Ok(Decision::Existing(Box::new(row.clone())));
    }
    let registered = facts.trees.iter().find(|t| t.path == row.path);
    space(facts)?;
    let interrupted = row.state == State::Preparing;
    let mut notes = Vec::new();
    if !interrupted {
        notes.push(format!("the folder {} was gone and is made again", row.path));
    }
    let name = row.path.as_path().file_name().map(|n| n.to_string_lossy().into_owned());
    let in_the_way = !interrupted
        && name.is_some_and(|n| facts.occupied.contains(&n))
        && registered.is_none_or(|t| t.standing == Standing::Foreign);
    let mut id = row.id.clone();
    if in_the_way {
        notes = vec![format!(
            "{} is there but is no worktree of this repository: left alone",
            row.path
        )];
        id = free_name(&row.id, facts)?.0;
    }
    let path = if id == row.id { row.path.clone() } else { facts.folder.join(&id) };
    let kept = facts.branches.get(&row.branch);
    let held = facts.trees.iter().find(|t| {
        t.head == Head::Branch(row.branch.clone())
            && t.path != row.path
            && t.standing != Standing::Vanished
    });
    if let (Some(commit), None) = (kept, held) {
        return Ok(Decision::Again(Plan {
            id,
            path,
            branch: row.branch.clone(),
            from_branch: FromBranch::Kept,
            commit: commit.clone(),
            label: row.branch.clone(),
            distance: None,
            target: row.target.clone(),
            sub: row.sub.clone().or_else(|| sub(request, root)),
            notes,
        }));
    }
    let base = base(request, root, facts)?;
    match held {
        Some(tree) => notes.push(format!("its branch is now used in {}", tree.path)),
        None => notes.push(format!("its branch {} was gone too", row.branch)),
    }
    let branch = if held.is_some() {
        format!("{PREFIX}{}", free_name(&row.id, facts)?.0)
    } else {
        row.branch.clone()
    };
    Ok(Decision::Again(base.plan(id, branch, row.sub.clone(), facts, notes).at(path)))
}

impl Plan {
    fn at(mut self, path: AbsPath) -> Self {
        self.path = path;
        self
    }
}

fn sub(request: &Request, root: &Root) -> Option<PathBuf> {
    let below = request.from.below(&root.path)?;
    (!below.as_os_str().is_empty()).then(|| below.to_owned())
}

fn space(facts: &CreateFacts) -> Result<(), Refusal> {
    if facts.free >= facts.floor {
        return Ok(());
    }
    let reclaimable = facts.reclaimable.clone();
    Err(Refusal::Space { free: facts.free, floor: facts.floor, reclaimable })
}

/// The id itself, or with a number behind it when its folder or branch is somebody else's.
fn free_name(id: &str, facts: &CreateFacts) -> Result<(String, Vec<String>), Refusal> {
    let free = |name: &str| {
        let branch = format!("{PREFIX}{name}");
        !facts.occupied.contains(name)
            && !facts.branches.contains_key(&branch)
            && !facts.rows.iter().any(|r| r.id == name || r.branch == branch)
            && !facts.trees.iter().any(|t| t.head == Head::Branch(branch.clone()))
    };
    if free(id) {
        return Ok((id.to_owned(), Vec::new()));
    }
    let stale = facts.branches.get(&format!("{PREFIX}{id}"));
    let note =
        stale.map(|c| format!("branch {PREFIX}{id} ({}) is there already: left alone", short(c)));
    (2..TRIES)
        .map(|n| format!("{id}-{n}"))
        .find(|name| free(name))
        .map(|name| (name, note.into_iter().collect()))
        .ok_or_else(|| Refusal::NoName(facts.folder.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn facts() -> CreateFacts {
        let root = Root {
            path: at("/w/app"),
            kind: RootKind::Main,
            git_dir: at("/w/app/.git"),
            common: at("/w/app/.git"),
        };
        let tip = |branch: &str, commit: &str| {
            Some(Tip { branch: Some(branch.into()), commit: commit.into() })
        };
        CreateFacts {
            host: "host".into(),
            root: Some(root),
            bare: None,
            head: tip("topic", "c2"),
            default: tip("origin/main", "c1"),
            distance: Some((1, 0)),
            unpublished: Unpublished::None,
            rev: None,
            wanted: None,
            rows: Vec::new(),
            trees: Vec::new(),
            branches: BTreeMap::new(),
            folder: at("/t/app"),
            occupied: BTreeSet::new(),
            free: 100,
            floor: 10,
            reclaimable: Vec::new(),
        }
    }

    fn request(start: Start) -> Request {
        let session = Pid::new("s-1").unwrap();
        Request {
            session,
            name: None,
            from: at("/w/app/lib"),
            via: Via::Command,
            start,
            branch: None,
        }
    }

    fn planned(start: Start, facts: &CreateFacts) -> Plan {
        let decision = create(&request(start), facts).unwrap();
        let Decision::New(plan) = decision else { panic!("{decision:?}") };
        plan
    }

    #[test]
    fn the_base_is_head_unless_a_neighbour_or_a_setting_says_otherwise() {
        let base = |start, facts: &CreateFacts| {
            let plan = planned(start, facts);
            (plan.commit, plan.target)
        };
        let pair = |commit: &str, target: &str| (commit.to_owned(), Some(target.to_owned()));
        assert_eq!(base(Start::Head, &facts()), pair("c2", "topic"));
        assert_eq!(base(Start::Fresh, &facts()), pair("c1", "main"));
        let beside = CreateFacts { unpublished: Unpublished::Foreign, ..facts() };
        assert_eq!(base(Start::Head, &beside), pair("c1", "main"));
        let local = CreateFacts { default: None, ..beside };
        assert_eq!(base(Start::Head, &local), pair("c2", "topic"));
        let named = CreateFacts { rev: Some("c9".into()), ..facts() };
        assert_eq!(base(Start::Rev("v1".into()), &named), pair("c9", "topic"));
        let unknown = create(&request(Start::Rev("v1".into())), &facts());
        assert_eq!(unknown, Err(Refusal::NoSuchRev("v1".into())));
    }

    #[test]
    fn what_is_taken_is_never_adopted() {
        let mut facts = facts();
        assert_eq!(planned(Start::Head, &facts).path, at("/t/app/s-1"));
        facts.occupied.insert("s-1".into());
        facts.branches.insert("dim/s-1-2".into(), "old".into());
        let plan = planned(Start::Head, &facts);
        assert_eq!((plan.path, plan.branch.as_str()), (at("/t/app/s-1-3"), "dim/s-1-3"));
        facts.branches.insert("dim".into(), "old".into());
        assert!(matches!(create(&request(Start::Head), &facts), Err(Refusal::Prefix(_))));
        assert_eq!(plan.sub, Some(PathBuf::from("lib")));
    }

    #[test]
    fn a_branch_is_taken_by_name_only_and_from_nobody() {
        let mut wish = request(Start::Head);
        wish.branch = Some("topic".into());
        let holder = Tree {
            id: None,
            path: at("/w/app"),
            git_dir: at("/w/app/.git"),
            head: Head::Branch("topic".into()),
            locked: None,
            standing: Standing::Whole,
        };
        let mut facts = CreateFacts { wanted: Some("c7".into()), ..facts() };
        facts.trees.push(holder);
        let held = Refusal::Held { branch: "topic".into(), holder: at("/w/app") };
        assert_eq!(create(&wish, &facts), Err(held));
        facts.trees.clear();
        let Ok(Decision::New(plan)) = create(&wish, &facts) else { panic!("it is free") };
        assert_eq!((plan.branch.as_str(), plan.commit.as_str()), ("topic", "c7"));
        facts.wanted = None;
        assert_eq!(create(&wish, &facts), Err(Refusal::NoSuchRev("topic".into())));
    }

    #[test]
    fn a_full_disk_and_an_unborn_branch_are_refused() {
        let full = CreateFacts { free: 9, ..facts() };
        assert!(matches!(create(&request(Start::Head), &full), Err(Refusal::Space { .. })));
        let unborn = CreateFacts { head: None, ..facts() };
        assert!(matches!(create(&request(Start::Head), &unborn), Err(Refusal::Unborn(_))));
    }
}
