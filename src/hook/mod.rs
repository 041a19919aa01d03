//! The harness protocol: an event comes in, a reply goes out. Reads stdin, asks the disk and the
//! table, and leaves every verdict to `policy::decide`.
#![expect(clippy::disallowed_methods, reason = "I/O boundary: the harness's events")]

pub mod arms;
pub mod asked;
pub mod claims;
pub mod config_change;
pub mod context;
pub mod delegate;
pub mod fencing;
pub mod floor;
pub mod fork;
pub mod gather;
#[cfg(test)]
mod heirs;
pub mod input;
#[cfg(test)]
mod interleaving;
pub mod keeping;
pub mod lifecycle;
pub mod loose;
mod mcp;
pub mod notify;
pub mod observe;
pub mod off;
pub mod once;
pub mod posttool;
pub mod pretool;
pub mod refuse;
pub mod register;
#[cfg(test)]
mod rehearsal;
pub mod reply;
pub mod site;
pub mod start;
pub mod trace;
pub mod trees;
pub mod whose;

use std::ffi::OsString;

use crate::applet::{Event, OnError, Role};
use crate::kernel::StateError;
use crate::kernel::home::Home;
use crate::kernel::{clock, log};
use crate::policy::rules;
use crate::shield::{self, Reply};
use context::Context;
use input::PayloadError;

/// Says that a plugin's entry called, so that it stands back where settings wire us too.
const PLUGIN: &str = "--plugin";

/// Runs a hook to its end.
#[must_use]
pub fn main(role: Role, args: &[OsString]) -> u8 {
    let words: Vec<&str> = args.iter().filter_map(|a| a.to_str()).collect();
    let argument = words.iter().find(|w| !w.starts_with('-')).and_then(|w| Event::named(w));
    let unknown = words.iter().any(|w| !w.starts_with('-') && Event::named(w).is_none());
    let fallback = match role {
        Role::Isolation => Event::SessionStart,
        Role::All | Role::Dimension | Role::Write | Role::Bash => Event::PreToolUse,
    };
    // Until the payload says otherwise, errors are those of the event it is wired for.
    let wire = argument.unwrap_or(fallback).wire();
    shield::raise(wire.on_error, wire.budget_ms);
    let plugin = words.contains(&PLUGIN);
    shield::seal(move || {
        if unknown {
            return reply::failure(
                fallback,
                "gate.payload",
                "the hook was called with an event it does not know",
                "octo doctor",
            );
        }
        trace::around(wire.name, || run(role, argument, fallback, plugin))
    })
}

/// Handles an event that did not come from a harness: `octo-dim` speaks for clients without hooks.
#[must_use]
pub fn by_hand(role: Role, bytes: &[u8]) -> Reply {
    let Some(home) = Home::discover() else {
        return Reply {
            stderr: "octo: there is no home directory\n".to_owned(),
            code: 2,
            ..Reply::default()
        };
    };
    let context = input::decode(bytes, None)
        .and_then(|(payload, event)| Context::new(payload, event, role, home));
    match context {
        Ok(context) => dispatch(&context),
        Err(e) => Reply { stderr: format!("octo: {e}\n"), code: 2, ..Reply::default() },
    }
}

fn run(role: Role, argument: Option<Event>, fallback: Event, plugin: bool) -> Reply {
    let expected = argument.unwrap_or(fallback);
    let refuse = |e: &PayloadError| {
        let id = if matches!(e, PayloadError::TooLarge) { "gate.size" } else { "gate.payload" };
        let remedy = rules::find(id).map_or("octo doctor", |(_, _, remedy)| remedy);
        reply::failure(expected, id, &e.to_string(), remedy)
    };
    let bytes = match input::read_stdin() {
        Ok(bytes) => bytes,
        Err(e) => return refuse(&e),
    };
    let argument = argument.or(match role {
        Role::All => None,
        Role::Isolation | Role::Dimension | Role::Write | Role::Bash => Some(fallback),
    });
    let (payload, event) = match input::decode(&bytes, argument) {
        Ok(decoded) => decoded,
        Err(e) => return refuse(&e),
    };
    if event.wire().on_error == OnError::Report {
        shield::raise(OnError::Report, event.wire().budget_ms);
    }
    let Some(home) = Home::discover() else {
        return reply::failure(event, "gate.state", "there is no home directory", "set HOME");
    };
    let context = match Context::new(payload, event, role, home) {
        Ok(context) => context,
        Err(e) => return refuse(&e),
    };
    if plugin && off::wired_by_settings(&context) {
        return reply::pass();
    }
    if let Some(reply) = off::stands_back(&context) {
        return reply;
    }
    dispatch(&context)
}

fn dispatch(context: &Context<'_>) -> Reply {
    let only_gates = matches!(context.role, Role::Dimension | Role::Write | Role::Bash);
    let done = match context.event {
        Event::PreToolUse => return pretool::run(context),
        Event::ConfigChange => return config_change::run(context),
        _ if only_gates => Ok(reply::pass()),
        Event::SessionStart => start::run(context),
        Event::PostToolUse | Event::PostToolUseFailure => posttool::run(context),
        Event::SessionEnd
        | Event::UserPromptSubmit
        | Event::PostToolBatch
        | Event::SubagentStart
        | Event::SubagentStop
        | Event::Stop => lifecycle::run(context),
        Event::WorktreeCreate => return trees::create(context),
        Event::WorktreeRemove => return trees::remove(context),
    };
    done.unwrap_or_else(|e: StateError| {
        log::report(&context.home, clock::now(), &format!("{}: {e}", context.event.wire().name));
        let remedy = rules::find("gate.state").map_or("octo doctor", |(_, _, remedy)| remedy);
        reply::failure(context.event, "gate.state", &e.to_string(), remedy)
    })
}
