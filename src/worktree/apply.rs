//! Owns the making of a tree: under the repository's lock, in steps that the next call can
//! finish or undo, verified by looking at what git then has.
//! Must never hand out a path that does not verify, nor leave half a tree when a step fails.

use super::fault::point;
use super::keep::{Reason, bury};
use super::plan::{self, Decision, FromBranch, Plan, Refusal, Request};
use super::row::{Setup, State, TreeRow};
use super::{Context, Job, Pin, TreeError, facts, fill, io, lock};
use crate::git::{self, Git};
use crate::policy::facts::{Root, RootKind};
use crate::policy::lane::AbsPath;
use crate::policy::verdict::What;

/// A tree that is there.
#[derive(Debug, Clone)]
#[must_use]
pub struct Made {
    /// Its row; `State::Preparing` while it is filled in the background.
    pub row: TreeRow,
    /// Whether this call made it.
    pub news: News,
    /// What it starts from, for people; empty for one that was there.
    pub base: String,
    /// What the session should know.
    pub notes: Vec<String>,
}

/// Whether a tree is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It was there.
    Known,
    /// It was made.
    New,
    /// It had been there, was gone and is there again.
    Again,
}

/// Gives a session its tree: the one it has, or a new one.
pub fn create(ctx: &Context<'_>, request: &Request) -> Result<Made, TreeError> {
    let common = git::root_of(&request.from).map_or_else(|| request.from.clone(), |r| r.common);
    let lock = lock::repository(ctx.places, &common)?;
    finish_burials(ctx, request, &common)?;
    let facts = facts::gather(ctx, request)?;
    let (plan, news) = match plan::create(request, &facts)? {
        Decision::Existing(row) => {
            drop(lock);
            return known(ctx, request, *row);
        }
        Decision::New(plan) => (plan, News::New),
        Decision::Again(plan) => (plan, News::Again),
    };
    let root = facts.root.ok_or_else(|| Refusal::NotARepository(request.from.clone()))?;
    let main = facts::anchor(&root);
    let before = facts.rows.into_iter().find(|r| r.path == plan.path);
    let row = new_row(ctx, request, &plan, &root, main, before.as_ref());
    ctx.registry.put(&row)?;
    point("create.marked");
    if let Err(error) = register(ctx, &row, &plan) {
        undo(ctx, &row, &plan, before.as_ref());
        return Err(error);
    }
    point("create.registered");
    drop(lock);
    send(ctx, request, &row)?;
    let row = filled(ctx, row)?;
    let made = Made { base: base_line(&plan), notes: told(&plan, &row), news, row };
    let text = format!("worktree {} on {} from {}", made.row.path, made.row.branch, made.base);
    ctx.registry.note(&request.session, What::Fork, &text);
    Ok(made)
}

/// Goes on with a tree that was registered: fills it here, or in the background when it is big.
fn filled(ctx: &Context<'_>, row: TreeRow) -> Result<TreeRow, TreeError> {
    let big = fill::size(&row) > ctx.prefs.foreground_files;
    if big && ctx.jobs.detach(Job::Prepare(&row.path)) {
        return Ok(row);
    }
    let row = fill::fill(ctx, row)?;
    if row.setup == Setup::Pending {
        ctx.jobs.detach(Job::Prepare(&row.path));
    }
    Ok(row)
}

/// The session's tree as it stands; one whose maker died is filled by this call.
fn known(ctx: &Context<'_>, request: &Request, mut row: TreeRow) -> Result<Made, TreeError> {
    row.seen = ctx.now;
    ctx.registry.put(&row)?;
    send(ctx, request, &row)?;
    if row.state == State::Preparing {
        row = filled(ctx, row)?;
    } else if matches!(row.setup, Setup::Pending | Setup::Running { .. }) {
        // Whoever was to do it may have been killed; one that is at it holds the tree's lock.
        ctx.jobs.detach(Job::Prepare(&row.path));
    }
    let notes = row.notes.clone();
    Ok(Made { row, news: News::Known, base: String::new(), notes })
}

/// From now on the session's work for the checkout it came from is done in its tree.
fn send(ctx: &Context<'_>, request: &Request, row: &TreeRow) -> Result<(), TreeError> {
    if row.name.is_some() {
        // A further tree is some agent's; the session itself stays where it is.
        return Ok(());
    }
    ctx.registry.sent(&row.session, &row.main, &row.path)?;
    let from = git::root_of(&request.from).map(|r| r.path);
    if let Some(from) = from.filter(|f| *f != row.main && *f != row.path) {
        ctx.registry.sent(&row.session, &from, &row.path)?;
    }
    Ok(())
}

fn finish_burials(ctx: &Context<'_>, request: &Request, common: &AbsPath) -> Result<(), TreeError> {
    let reason = reason(ctx, "the rest of an interrupted removal", request);
    for row in ctx.registry.rows(Some(common))? {
        let cut_short = matches!(row.state, State::Burying { .. });
        if row.session == request.session && cut_short {
            let _lock = lock::tree_wait(ctx.places, &row.path, lock::WAIT)?;
            bury::finish(ctx, &row, &reason)?;
        }
    }
    Ok(())
}

fn reason(ctx: &Context<'_>, what: &str, request: &Request) -> Reason {
    Reason {
        what: what.to_owned(),
        by: Some(request.session.to_string()),
        owner: Some(request.session.to_string()),
        at: ctx.now,
    }
}

fn new_row(
    ctx: &Context<'_>,
    request: &Request,
    plan: &Plan,
    root: &Root,
    main: AbsPath,
    before: Option<&TreeRow>,
) -> TreeRow {
    TreeRow {
        id: plan.id.clone(),
        session: request.session.clone(),
        name: request.name.clone(),
        alias: before.and_then(|b| b.alias.clone()),
        common: root.common.clone(),
        main,
        path: plan.path.clone(),
        branch: plan.branch.clone(),
        target: plan.target.clone(),
        base: plan.commit.clone(),
        state: State::Preparing,
        created: ctx.now,
        seen: ctx.now,
        pin: before.map_or(Pin::Loose, |b| b.pin),
        ports: before.and_then(|b| b.ports),
        setup: if ctx.prefs.setup.is_empty() { Setup::None } else { Setup::Pending },
        copied: Vec::new(),
        sub: plan.sub.clone(),
        notes: plan.notes.clone(),
    }
}

fn register(ctx: &Context<'_>, row: &TreeRow, plan: &Plan) -> Result<(), TreeError> {
    let what = "the rest of an interrupted start".to_owned();
    let owner = Some(row.session.to_string());
    bury::half_made(row, &Reason { what, by: None, owner, at: ctx.now })?;
    if let Some(parent) = row.path.parent() {
        std::fs::create_dir_all(parent.as_path()).map_err(io(parent.as_path()))?;
    }
    let git = Git::new(row.main.as_path());
    let path = row.path.to_string();
    let mut args = vec!["worktree", "add", "--quiet", "--no-checkout", "--no-track"];
    match plan.from_branch {
        FromBranch::Fresh => args.extend(["-b", &plan.branch, &path, &plan.commit]),
        FromBranch::Kept => {
            args.retain(|a| *a != "--no-track");
            args.extend([path.as_str(), &plan.branch]);
        }
    }
    drop(git.run(&args)?);
    verify(row)?;
    if !ctx.prefs.sparse.is_empty() {
        // Here and not when it is filled: a detached process knows no flags of this call.
        let mut args = vec!["sparse-checkout", "set", "--cone"];
        args.extend(ctx.prefs.sparse.iter().map(String::as_str));
        drop(Git::new(row.path.as_path()).run(&args)?);
    }
    Ok(())
}

/// Folder and registration must name each other, on the branch that was asked for.
pub fn verify(row: &TreeRow) -> Result<(), TreeError> {
    let wrong = |what: &str| Err(TreeError::Unverified(format!("{}: {what}", row.path)));
    let Some(root) = root(row) else { return wrong("git does not find the tree it just made") };
    if root.common != row.common {
        return wrong("it belongs to another repository");
    }
    if facts::branch_of(&root.git_dir).as_ref() != Some(&row.branch) {
        return wrong("it is not on its branch");
    }
    Ok(())
}

/// Whether a folder holds a work tree's pointer or repository.
#[must_use]
pub fn is_there(path: &AbsPath) -> bool {
    std::fs::symlink_metadata(path.join(".git").as_path()).is_ok()
}

/// The row's work tree as git's files show it.
#[must_use]
pub fn root(row: &TreeRow) -> Option<Root> {
    let linked = |r: &Root| r.path == row.path && matches!(r.kind, RootKind::Linked { .. });
    git::root_of(&row.path).filter(linked)
}

/// Takes back what a failed start left; what was there before stays there.
fn undo(ctx: &Context<'_>, row: &TreeRow, plan: &Plan, before: Option<&TreeRow>) {
    let what = "taking a failed start back".to_owned();
    let reason = Reason { what, by: None, owner: Some(row.session.to_string()), at: ctx.now };
    drop(bury::half_made(row, &reason));
    if plan.from_branch == FromBranch::Fresh {
        // Only while it still points at the base: then nothing is on it.
        let name = format!("refs/heads/{}", row.branch);
        drop(Git::new(row.main.as_path()).ask(&["update-ref", "-d", &name, &row.base]));
    }
    drop(match before {
        Some(before) => ctx.registry.put(before),
        None => ctx.registry.forget(&row.path),
    });
}

/// `main 1a2b3c4d5e, 2 ahead and 0 behind the published default`.
#[must_use]
pub fn base_line(plan: &Plan) -> String {
    let start = format!("{} {}", plan.label, plan::short(&plan.commit));
    match plan.distance {
        Some((0, 0)) => format!("{start}, level with the published default"),
        Some((ahead, behind)) => {
            format!("{start}, {ahead} ahead of and {behind} behind the published default")
        }
        None => start,
    }
}

fn told(plan: &Plan, row: &TreeRow) -> Vec<String> {
    let mut notes = plan.notes.clone();
    notes.extend(row.notes.iter().filter(|n| !plan.notes.contains(n)).cloned());
    notes
}
