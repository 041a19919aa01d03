//! Where hook events meet worktrees: the client's own wishes for them, and what a starting session
//! is told and given.

use std::io::Write;
use std::path::PathBuf;

use super::context::Context;
use crate::git::{self, Follow, canonical};
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::policy::telling::plain;
use crate::shield::Reply;
use crate::worktree::engine::Engine;
use crate::worktree::{State, TreeRow};

/// `WorktreeCreate`: prints one path, or fails with the reason and nothing left behind.
#[must_use]
pub fn create(context: &Context<'_>) -> Reply {
    let refuse = |why: &str| Reply {
        stderr: format!("octo: no worktree: {}\n", plain(why)),
        code: 1,
        ..Reply::default()
    };
    let Some(cwd) = &context.cwd else { return refuse("the directory does not exist") };
    let Some(engine) = engine(context) else { return refuse("there is no home directory") };
    let name = context.payload.name.as_deref().unwrap_or("tree");
    let made = match engine.create(&context.actor.session, cwd, name) {
        Ok(made) => made,
        Err(why) => return refuse(&why.to_string()),
    };
    if let State::Failed { why } = &made.row.state {
        return refuse(why);
    }
    let mut words = vec![format!("octo: {} from {}", made.row.branch, made.base)];
    words.extend(made.notes.iter().map(|note| plain(note)));
    Reply {
        stdout: format!("{}\n", made.row.place()),
        stderr: words.join("\n") + "\n",
        ..Reply::default()
    }
}

/// `WorktreeRemove`: what may go goes, the rest is kept and named; never an error.
#[must_use]
pub fn remove(context: &Context<'_>) -> Reply {
    let path = context.payload.worktree_path.as_deref();
    let path = path.and_then(|p| canonical(PathBuf::from(p), Follow::All));
    let said = match (engine(context), path) {
        (Some(engine), Some(path)) => engine
            .remove(&context.actor.session, &path)
            .unwrap_or_else(|why| format!("kept: {why}")),
        (None, _) | (_, None) => "no such worktree".to_owned(),
    };
    Reply { stderr: format!("octo: {}\n", plain(&said)), ..Reply::default() }
}

/// What a starting session is told about its own trees, and what goes into its environment.
#[must_use]
pub fn at_start(context: &Context<'_>) -> Vec<String> {
    let (Some(engine), Some(root)) = (engine(context), &context.root) else { return Vec::new() };
    engine.reap_in_background(Some(&root.common));
    let rows = engine.of_session(&context.actor.session).unwrap_or_default();
    let here: Vec<&TreeRow> =
        rows.iter().filter(|r| r.common == root.common && r.name.is_none()).collect();
    let mut words: Vec<String> =
        engine.cramped().map(|why| format!("octo: {why}")).into_iter().collect();
    let Some(row) = here.first() else {
        words.extend(moved(context, &engine, root));
        return words;
    };
    let row = if standing(row) {
        engine.resumed((*row).clone()).unwrap_or_else(|_| (*row).clone())
    } else if row.stands() {
        match engine.fork(&context.actor.session, &root.path) {
            Ok(made) => {
                words.extend(made.notes.iter().map(|note| format!("octo: {}", plain(note))));
                made.row
            }
            Err(why) => {
                return vec![format!(
                    "octo: your worktree {} is gone and could not be made again: {why}",
                    row.path
                )];
            }
        }
    } else {
        return words;
    };
    words.push(format!("octo: isolated at {} (branch {}, {})", row.place(), row.branch, row.state));
    export(&row);
    words
}

/// What a session is told whose directory went with its tree while it was at work there.
#[must_use]
pub fn lost_ground(context: &Context<'_>) -> Vec<String> {
    let gone = |cwd: &&AbsPath| std::fs::symlink_metadata(cwd.as_path()).is_err();
    let Some(cwd) = context.cwd.as_ref().filter(gone) else { return Vec::new() };
    let rows = engine(context).and_then(|e| e.of_session(&context.actor.session).ok());
    let rows = rows.unwrap_or_default();
    let Some(row) = rows.iter().find(|row| cwd.within(&row.path)) else { return Vec::new() };
    let id = &row.id;
    vec![format!(
        "octo: your worktree {} is gone; its branch {} is kept: octo worktree recreate {id}, run from {}",
        row.path, row.branch, row.main
    )]
}

/// A session whose tree was handed on to other work gets a fresh one when it comes back.
fn moved(context: &Context<'_>, engine: &Engine, root: &Root) -> Vec<String> {
    let session = &context.actor.session;
    let Ok(Some(former)) = engine.handed_on(session, &root.common) else { return Vec::new() };
    match engine.fork(session, &former.main) {
        Ok(made) => {
            export(&made.row);
            let at = format!("you work in {} (branch {}) now", made.row.place(), made.row.branch);
            let notes = made.notes.iter().map(|note| plain(note));
            notes.chain([at]).map(|line| format!("octo: {line}")).collect()
        }
        Err(why) => vec![format!(
            "octo: your worktree {} was handed on to session {} and a fresh one could not be made: {}; start again to try again",
            former.path,
            former.session,
            plain(&why.to_string())
        )],
    }
}

fn standing(row: &TreeRow) -> bool {
    row.stands() && git::root_of(&row.path).is_some_and(|r| r.path == row.path)
}

/// Both names of the session's place, and its ports, for later commands of the session.
fn export(row: &TreeRow) {
    let Some(file) = std::env::var_os("CLAUDE_ENV_FILE") else { return };
    let quote = |path: &AbsPath| shell_words::quote(&path.to_string()).into_owned();
    let mut text = format!(
        "export OCTO_PROJECT={}\nexport OCTO_WORKTREE={}\n",
        quote(&row.main),
        quote(&row.path)
    );
    if row.ports.is_some() {
        for line in crate::worktree::ports::text(row).lines() {
            text.push_str("export ");
            text.push_str(line);
            text.push('\n');
        }
    }
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(file) {
        // A convenience: a session without it works as well.
        drop(file.write_all(text.as_bytes()));
    }
}

fn engine(context: &Context<'_>) -> Option<Engine> {
    Engine::new(&context.home, context.root.as_ref().map(|r| r.path.as_path()))
}
