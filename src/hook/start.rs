//! SessionStart: tells a newcomer who else works here and what its first write will do; follows a
//! conversation over resume, `/clear` and compaction.

use std::fs::OpenOptions;
use std::io::Write;

use super::context::Context;
use super::{register, reply};
use crate::applet::Event;
use crate::config::Isolation;
use crate::kernel::StateError;
use crate::kernel::beat::{self, Seen};
use crate::kernel::clock::{self, ClientLife};
use crate::kernel::life::Registry;
use crate::kernel::store::{Kernel, Make, PATIENCE, ProcessRow, State, Tx, Vouched};
use crate::policy::facts::Kind;
use crate::policy::telling;
use crate::shield::Reply;
use crate::worktree::engine::Engine;
use crate::worktree::{State as TreeState, TreeRow, scope};

/// A session begins.
pub fn run(context: &Context<'_>) -> Result<Reply, StateError> {
    let seen = beat::touch(&context.home, &context.actor.pid, None, context.now.unix);
    let silent = match seen {
        Ok(Seen::Before { silent }) => silent,
        Ok(Seen::First) | Err(_) => 0,
    };
    let mut kernel = Kernel::open(&context.home, Make::IfAbsent, PATIENCE)?;
    let mut words = kernel.transact(|tx| begin(tx, context, silent))?;
    words.extend(context.faults.iter().map(|f| format!("octo: settings: {f}")));
    let project = context.root.as_ref().map(|r| r.path.as_path());
    if let Some(engine) = Engine::new(&context.home, project) {
        words.extend(own_trees(context, &engine));
        engine.reap_in_background();
    }
    Ok(reply::context(Event::SessionStart, &words))
}

fn begin(tx: &mut Tx<'_>, context: &Context<'_>, silent: u64) -> Result<Vec<String>, StateError> {
    let known = tx.process(&context.actor.pid)?;
    let twin = known.as_ref().is_some_and(is_twin);
    let mut row = register::ensure(tx, context, silent)?;
    let mut words = Vec::new();
    match context.payload.source.as_deref().unwrap_or("startup") {
        "clear" => after_clear(tx, &row)?,
        "resume" if twin => words.push(format!(
            "octo: session {} already runs in another client; what both write is judged as one process, so use `--fork-session` for the second",
            row.pid
        )),
        "resume" => {
            if row.client.is_none_or(|c| clock::client_life(c) != ClientLife::Runs) {
                set_client(&mut row);
            }
            register::mark_resumed(tx, &mut row)?;
        }
        _ => {}
    }
    words.extend(tx.take_notices(&context.actor.pid)?);
    words.extend(neighbours(tx, context)?);
    Ok(words)
}

/// The session's trees, checked and told; where its project really lies goes into the environment
/// of its commands, for tools that key what they remember by folder.
fn own_trees(context: &Context<'_>, engine: &Engine) -> Vec<String> {
    let rows = engine.of_session(&context.actor.session).unwrap_or_default();
    let mut words = Vec::new();
    for row in rows.iter().filter(|r| r.name.is_none() && r.stands()) {
        let here = context.root.as_ref().is_some_and(|r| r.path == row.main || r.path == row.path);
        if !here {
            continue;
        }
        if !row.path.as_path().is_dir() {
            words.push(format!(
                "octo: your worktree {} is gone from disk; its branch {} is kept. Bring it back: octo worktree recreate {}",
                row.path, row.branch, row.id
            ));
        } else if row.state == TreeState::Preparing {
            words.push(format!("octo: your worktree {} is still being filled", row.path));
        }
    }
    words.extend(export(context, &rows));
    words
}

/// Writes the session's variables into the file the client reads before each command.
fn export(context: &Context<'_>, rows: &[TreeRow]) -> Option<String> {
    let file = std::env::var_os("CLAUDE_ENV_FILE")?;
    let cwd = context.cwd.as_ref()?;
    let logical = scope::logical(rows, cwd);
    let physical = scope::physical(rows, &context.actor.session, &logical);
    let text = format!(
        "export OCTO_SESSION_ID={}\nexport OCTO_PROJECT={}\nexport OCTO_TREE={}\n",
        shell_words::quote(context.actor.session.as_str()),
        shell_words::quote(&logical.to_string()),
        shell_words::quote(&physical.to_string())
    );
    let file = OpenOptions::new().append(true).create(true).open(file);
    let written = file.and_then(|mut f| f.write_all(text.as_bytes()));
    let e = written.err()?;
    Some(format!("octo: the session's environment file can't be written: {e}"))
}

/// The id runs in another client that is alive.
fn is_twin(row: &ProcessRow) -> bool {
    let here = clock::client().map(|(client, _)| client);
    row.state == State::Open
        && row.vouched == Vouched::Yes
        && row.client.is_some()
        && row.client != here
        && row.client.is_some_and(|c| clock::client_life(c) == ClientLife::Runs)
}

fn set_client(row: &mut ProcessRow) {
    if let Some((client, by_name)) = clock::client() {
        row.client = Some(client);
        row.vouched = if by_name { Vouched::Yes } else { Vouched::No };
    }
}

/// `/clear` ends one id and begins another in the same client: the new one inherits.
fn after_clear(tx: &mut Tx<'_>, row: &ProcessRow) -> Result<(), StateError> {
    let Some(client) = row.client else { return Ok(()) };
    let mut cleared: Vec<ProcessRow> = tx
        .processes()?
        .into_iter()
        .filter(|p| {
            p.kind == Kind::Session
                && p.pid != row.pid
                && p.client == Some(client)
                && p.state == State::Ended
                && p.reason.as_deref() == Some("clear")
                && p.heir.is_none()
                && p.cwd == row.cwd
        })
        .collect();
    cleared.sort_by_key(|p| p.seen);
    match cleared.pop() {
        Some(old) => register::succeed(tx, &old, &row.pid, "clear"),
        None => Ok(()),
    }
}

/// Who else works here, and what will happen.
fn neighbours(tx: &mut Tx<'_>, context: &Context<'_>) -> Result<Vec<String>, StateError> {
    let Some(root) = &context.root else { return Ok(Vec::new()) };
    let mut registry = Registry::new(context.settings.lease_seconds);
    let mut others = Vec::new();
    let rows = tx.presence_in(&root.path)?;
    let mine = rows.iter().find(|r| r.session == context.actor.session);
    for row in rows.iter().filter(|r| r.session != context.actor.session) {
        if registry.is_live(tx, &row.session)? {
            let age = tx.now().tick.since(row.since);
            let card = registry.holder(tx, &row.session, age)?;
            let lanes = tx.claim_count(&row.session)?.0;
            let place = row.forked.as_ref().map_or(String::new(), |t| format!(", in its tree {t}"));
            others.push(format!(
                "  session {} (here for {}, last heard of {} ago, {lanes} lanes{place})",
                card.pid,
                telling::span(card.age),
                telling::span(card.silent)
            ));
        }
    }
    let tree = mine.and_then(|m| m.forked.clone());
    if others.is_empty() && tree.is_none() {
        return Ok(Vec::new());
    }
    let mut words = Vec::new();
    if !others.is_empty() {
        words.push(format!("octo: other live sessions use {}:", root.path));
        words.extend(others);
    }
    let own = format!(
        "octo-dim --session-id {} worktree-init --repo {}",
        context.actor.session, root.path
    );
    words.push(match (tree, context.isolation()) {
        (Some(tree), _) => {
            format!("octo: your work for this repository is in your own worktree: {tree}")
        }
        (None, Isolation::Off) => format!(
            "octo: you share this checkout with them (isolation is off). Stage explicit paths; to work apart: {own}"
        ),
        (None, Isolation::Auto | Isolation::Always) => format!(
            "octo: reading here is free. Your first write makes a worktree of your own and tells you its path; or make it now: {own}"
        ),
    });
    Ok(words)
}
