//! `octo-dim`: lanes and worktrees by hand, for scripts, arms and agents of clients without hooks.
//! Each verb is the hook event it stands for, so that nothing is judged by other rules here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use serde_json::json;

use super::context::Context as Here;
use super::error::{Done, OperatorError, Trouble};
use super::ps;
use super::release::{self, YieldArgs};
use super::screen::{Screen, Voice};
use super::worktree_init::{self, InitArgs};
use crate::applet::{Event, Role};
use crate::hook;
use crate::kernel::home::Home;
use crate::kernel::life::{Life, life};
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, State};

/// Lanes and worktrees by hand.
#[derive(Debug, Parser)]
#[command(
    name = "octo-dim",
    version,
    after_help = "Examples:\n  octo-dim --session-id ID claim src/lib.rs\n  octo-dim worktree-init --session-id ID --repo ~/arms/alpha\n\nThe id is the session's own, as the client gave it; a host name or a process id is none."
)]
struct Dim {
    /// The session's id; before or after the verb.
    #[arg(long, global = true, value_name = "ID")]
    session_id: Option<String>,
    /// The subagent's id, for a lane of its own.
    #[arg(long, global = true, value_name = "ID")]
    agent_id: Option<String>,
    /// What to do.
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Puts the session into the table.
    Register {
        /// Where it works; here when left out.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// A sign of life.
    Heartbeat,
    /// Shows processes and lanes (as `octo ps`).
    List(ps::PsArgs),
    /// Ends processes whose client is gone or that were silent for a lease.
    Prune {
        /// Shows what would end.
        #[arg(long)]
        dry_run: bool,
    },
    /// Takes lanes, or says who has them.
    Claim {
        /// Files or folders.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Gives lanes up; all when none is named.
    Release {
        /// Files or folders.
        paths: Vec<PathBuf>,
    },
    /// Takes the session out of the table; its uncommitted work stays on record.
    Unregister,
    /// Makes (or finds) the session's own worktree and prints its path.
    WorktreeInit(InitArgs),
}

/// Runs `octo-dim ARGS…`.
#[must_use]
pub fn start(args: &[OsString]) -> u8 {
    let named = std::iter::once(OsString::from("octo-dim")).chain(args.iter().cloned());
    let dim = match Dim::try_parse_from(named) {
        Ok(dim) => dim,
        Err(why) => {
            drop(why.print());
            return u8::try_from(why.exit_code()).unwrap_or(2);
        }
    };
    match run(&dim) {
        Ok(()) => 0,
        Err(why) => {
            Screen::detect(Voice::Normal).fail(&why);
            why.code()
        }
    }
}

fn run(dim: &Dim) -> Done {
    let here = Here::here(Voice::Normal)?;
    match &dim.verb {
        Verb::Register { cwd } => {
            let cwd = cwd.clone().map_or_else(|| here.cwd.clone(), |d| here.cwd.join(d));
            event(dim, &cwd, Event::SessionStart, &json!({"source": "startup"}))
        }
        Verb::Heartbeat => event(dim, &here.cwd, Event::UserPromptSubmit, &json!({})),
        Verb::List(args) => ps::run(args, &here),
        Verb::Prune { dry_run } => prune(*dry_run, &here),
        Verb::Claim { paths } => {
            for path in paths {
                let path = here.cwd.join(path);
                let input = json!({"file_path": path.to_string_lossy()});
                let fields = json!({"tool_name": "Write", "tool_input": input});
                event(dim, &here.cwd, Event::PreToolUse, &fields)?;
                here.screen.print(&format!("{}\n", path.display()))?;
            }
            Ok(())
        }
        Verb::Release { paths } => {
            let pid = Some(pid(dim)?.to_owned());
            release::give_up(&YieldArgs { paths: paths.clone(), pid }, &here)
        }
        Verb::Unregister => {
            event(dim, &here.cwd, Event::SessionEnd, &json!({"reason": "unregister"}))
        }
        Verb::WorktreeInit(args) => {
            let id = stable(dim.session_id.as_deref())?;
            worktree_init::run(args, id, &here)
        }
    }
}

/// The id a verb is for.
fn pid(dim: &Dim) -> Result<&str, OperatorError> {
    match dim.agent_id.as_deref() {
        Some(agent) => stable(Some(agent)),
        None => stable(dim.session_id.as_deref()),
    }
}

/// An id that names one session for its whole life. A host name, a process id or both together
/// once made every fork land in one worktree.
fn stable(id: Option<&str>) -> Result<&str, OperatorError> {
    let refuse = |why: &str| {
        Err(OperatorError::new(Trouble::Usage, why.to_owned())
            .hint("give the session's own id: octo-dim --session-id ID …"))
    };
    let Some(id) = id else { return refuse("no session id") };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let tail = id.strip_prefix(&host).map(|rest| rest.trim_start_matches(['-', '_', ':', '.']));
    let of_host = tail.is_some_and(|t| t.bytes().all(|b| b.is_ascii_digit()));
    if id.is_empty() || of_host || id.bytes().all(|b| b.is_ascii_digit()) {
        return refuse("that is a host name or a process id, not a session's");
    }
    Ok(id)
}

fn event(dim: &Dim, cwd: &std::path::Path, event: Event, fields: &serde_json::Value) -> Done {
    let session = stable(dim.session_id.as_deref().or(dim.agent_id.as_deref()))?;
    let mut body = json!({
        "session_id": session,
        "cwd": cwd.to_string_lossy(),
        "hook_event_name": event.wire().name,
    });
    if let (Some(body), Some(fields)) = (body.as_object_mut(), fields.as_object()) {
        body.extend(fields.clone());
        if let Some(agent) = &dim.agent_id {
            body.insert("agent_id".to_owned(), agent.as_str().into());
        }
    }
    let reply = hook::by_hand(Role::All, body.to_string().as_bytes());
    if reply.code == 0 {
        Ok(())
    } else {
        let text = reply.stderr.trim_end().trim_start_matches("octo: ").to_owned();
        Err(OperatorError::new(Trouble::Refused, text))
    }
}

fn prune(dry_run: bool, here: &Here) -> Done {
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let lease = here.settings.lease_seconds;
    let mut kernel = match Kernel::open(&home, Make::Never, OPERATOR_PATIENCE) {
        Err(crate::kernel::StateError::Absent) => return Ok(()),
        other => other?,
    };
    let gone = kernel.transact(|tx| {
        let mut gone = Vec::new();
        for row in tx.processes()? {
            let over = matches!(life(tx, &row, lease), Life::Dead | Life::Silent { .. });
            if row.state == State::Open && over {
                gone.push(row.pid.clone());
                if !dry_run {
                    hook::lifecycle::exit(tx, row, "pruned", None)?;
                }
            }
        }
        Ok(gone)
    })?;
    let word = if dry_run { "would end" } else { "ended" };
    for pid in &gone {
        here.screen.print(&format!("{word} {pid}\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stands_before_or_after_the_verb() {
        for words in [
            ["octo-dim", "--session-id", "S1", "worktree-init"],
            ["octo-dim", "worktree-init", "--session-id", "S1"],
        ] {
            assert_eq!(Dim::try_parse_from(words).unwrap().session_id.as_deref(), Some("S1"));
        }
    }

    #[test]
    fn a_host_name_or_process_id_is_no_session() {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        for id in ["", "4711", &host, &format!("{host}-4711")] {
            assert!(stable(Some(id)).is_err(), "{id}");
        }
        assert!(stable(None).is_err());
        assert!(stable(Some("fb99b663-9d75-4c5c-8e5c-d7e98fa6cabf")).is_ok());
    }
}
