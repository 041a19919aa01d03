//! Owns what a person asks for when a tree went astray: make it again, hand it on, find it after
//! a move.
//! Must never take a tree another live session works in, nor one that does not verify.

use super::apply::{self, Made};
use super::plan::{PREFIX, Refusal, Request, Via};
use super::row::{Setup, State, TreeRow};
use super::{Context, Pin, Start, TreeError, facts, lock, seed};
use crate::git::{self, Git};
use crate::policy::facts::RootKind;
use crate::policy::lane::{AbsPath, Pid};

/// Makes a tree again whose folder is gone: from its branch, or from HEAD when that is gone too.
pub fn recreate(ctx: &Context<'_>, row: &TreeRow) -> Result<Made, TreeError> {
    let request = Request {
        session: row.session.clone(),
        name: row.name.clone(),
        from: row.main.clone(),
        via: Via::Fork,
        start: Start::Head,
        branch: None,
    };
    apply::create(ctx, &request)
}

/// Hands a tree to a session. One octo did not make is taken into care as it is; the session it
/// had, if any, gets a fresh one when it comes back.
pub fn adopt(ctx: &Context<'_>, path: &AbsPath, session: &Pid) -> Result<TreeRow, TreeError> {
    let root = git::root_of(path).filter(|r| r.path == *path);
    let root = root.ok_or_else(|| Refusal::Unknown(path.to_string()))?;
    let RootKind::Linked { main } = &root.kind else {
        return Err(Refusal::Main(path.clone()).into());
    };
    let _lock = lock::repository(ctx.places, &root.common)?;
    let others: Vec<String> = ctx
        .registry
        .users(path)?
        .into_iter()
        .filter(|u| u.session != *session)
        .map(|u| u.pid.to_string())
        .collect();
    if !others.is_empty() {
        return Err(Refusal::Occupied(path.clone(), others).into());
    }
    let branch = facts::branch_of(&root.git_dir)
        .ok_or_else(|| Refusal::NotNow(format!("{path} is on no branch")))?;
    let known = ctx.registry.rows(Some(&root.common))?.into_iter().find(|r| r.path == *path);
    let git = Git::new(path.as_path());
    let row = if let Some(row) = known {
        ctx.registry.recalled(&row.session, path)?;
        TreeRow { session: session.clone(), branch, seen: ctx.now, ..row }
    } else {
        let target = facts::head_of(&Git::new(main.as_path())).and_then(|h| h.branch);
        let base = match &target {
            Some(target) => git.text(&["merge-base", "HEAD", &format!("refs/heads/{target}")])?,
            None => git.text(&["rev-parse", "HEAD"])?,
        };
        let id = branch.strip_prefix(PREFIX).unwrap_or(&branch).replace('/', "-");
        let further = id.strip_prefix(session.as_str()).and_then(|rest| rest.strip_prefix('.'));
        TreeRow {
            name: further.map(str::to_owned),
            id,
            session: session.clone(),
            alias: None,
            common: root.common.clone(),
            main: main.clone(),
            path: path.clone(),
            branch,
            target,
            base,
            state: State::Ready,
            created: ctx.now,
            seen: ctx.now,
            pin: Pin::Loose,
            ports: None,
            setup: Setup::None,
            copied: seed::recognise(main, &root, &ctx.prefs.copy)?,
            sub: None,
            notes: vec!["taken into care by a person".to_owned()],
        }
    };
    ctx.registry.put(&row)?;
    if row.name.is_none() {
        ctx.registry.sent(session, &row.main, path)?;
    }
    Ok(row)
}

/// Finds a tree again that was moved by hand: git is told, then the row.
pub fn repair(ctx: &Context<'_>, path: &AbsPath) -> Result<TreeRow, TreeError> {
    let pointer = std::fs::read_to_string(path.join(".git").as_path()).unwrap_or_default();
    let admin = pointer.strip_prefix("gitdir:").map(|p| path.as_path().join(p.trim()));
    let admin = admin.and_then(|p| git::canonical(p, git::Follow::All));
    let common = admin.as_ref().and_then(AbsPath::parent).and_then(|p| p.parent());
    let (Some(admin), Some(common)) = (admin, common) else {
        return Err(Refusal::Unknown(path.to_string()).into());
    };
    let old = git::worktrees(&common).into_iter().find(|t| t.git_dir == admin);
    let old = old.ok_or_else(|| Refusal::Foreign(path.clone()))?;
    let known = ctx.registry.rows(Some(&common))?.into_iter().find(|r| r.path == old.path);
    let row = known.ok_or_else(|| Refusal::Foreign(path.clone()))?;
    let _lock = lock::repository(ctx.places, &common)?;
    drop(Git::new(row.main.as_path()).run(&["worktree", "repair", &path.to_string()])?);
    let moved = TreeRow { path: path.clone(), ..row.clone() };
    apply::verify(&moved)?;
    ctx.registry.put(&moved)?;
    if row.path != moved.path {
        ctx.registry.forget(&row.path)?;
        ctx.registry.recalled(&row.session, &row.path)?;
    }
    ctx.registry.sent(&moved.session, &moved.main, path)?;
    Ok(moved)
}
