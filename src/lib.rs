//! octo keeps concurrent sessions and their subagents from taking each other's work.
//!
//! A hook event comes in, a verdict goes out; between them is one pure function,
//! [`policy::decide`]. Everything that touches standard input, the table, git, the clock or the
//! disk lives in named folders around it.
//!
//! # Layers
//!
//! | folder | may do I/O | what it owns |
//! |---|---|---|
//! | [`policy`] | no | effects, facts, rules, judges; [`policy::shell`] reads bash, [`policy::program`] knows what programs and git do |
//! | [`journal`] | no | the line format of the record, its chain, its folding |
//! | [`kernel`] | yes | the process table, journals, heartbeats, who lives |
//! | [`git`] | yes | the only place that starts git or reads `.git` |
//! | [`hook`] | yes | the harness's events: read, gather facts, decide, reply |
//! | [`worktree`] | yes | a session's own copy, from birth to burial; the only code that deletes |
//! | [`fence`] | yes | the kernel fence around commands; `unsafe` in `fence::apply` only |
//! | [`wiring`] | little | how a client's settings name us, as minimal text edits |
//! | [`config`] | little | settings: one row each |
//! | [`operator`] | yes | what a person types |
//! | [`shield`] | yes | the fail-closed envelope; the other place with `unsafe` |
//! | [`applet`] | no | the names this program answers to, the events it is wired for |
//!
//! Arrows point downward only: `hook` and `operator` use everything else, `kernel` uses
//! `policy::lane`, `policy::facts`, `policy::verdict` and `journal`, `policy` uses nothing of ours.
//! A test reads every `use crate::` and holds the table to it; clippy's `disallowed_methods` keeps
//! I/O out of the pure folders, and each edge folder says so in one `expect` at its door.
//!
//! # Three flows
//!
//! **A tool call.** [`shield`] goes up first: from there on a panic, a crash, a deadline or a
//! stray exit is a denial (PreToolUse) or a report (everything else). `hook::input` decodes what
//! decides; `hook::observe` turns the call into [`policy::facts::Effect`]s: a file tool names its
//! path, a command is read by [`policy::shell`] (what bash would execute) and
//! [`policy::program`] (what that would do). Nothing to do: a heartbeat and out, the table stays
//! shut. Else `hook::pretool` opens one immediate transaction: `hook::gather` collects the facts,
//! [`policy::decide`] judges, claims and journal lines are written. What only git can tell (is
//! that path still dirty, what is staged) is asked outside the transaction and the decision taken
//! again, so that git never runs under the lock.
//!
//! **After it.** `hook::posttool` confirms claims by inode, size and times, ends lanes of what was
//! committed, and reports paths of others that changed without having been read.
//!
//! **A person's command.** `operator` parses, asks the same judges, prints; it never decides
//! about a hook event.
//!
//! # Two claims, never mixed up
//!
//! A *lane* is an exclusive lease on a path: somebody works on it now. *Custody* answers whose
//! uncommitted bytes these are. A write is stopped by lanes; verbs that take a tree, an index or
//! a history are stopped by both. Only what a living process answers for counts.
//!
//! # Where this differs from the plan it grew from
//!
//! * `Effect` describes what a call would do to paths, index, HEAD, stash, branches and worktrees,
//!   not what it is called; scopes carry git's own patterns ([`policy::scope`]).
//! * Facts are gathered in two halves: what needs no table before the transaction, the rest inside.
//! * A client process counts as proof of life or death only once it was seen twice or is a client
//!   by name: helpers that carry one event must not end a session by exiting.
//! * The floor covers what settings would become, not that they are touched: a permission rule may
//!   be added, our entries may not go.
//! * A restart ends nothing by itself: rows of another boot, machine or pid namespace are honoured
//!   until they lapse, because two machines made from one image look alike.
//! * A journal is a row of segments, and each begins with what its process holds: old ones can go
//!   while the session lives, and a program that knows no segments still reads and repairs.
//! * The program is entered as C enters it (`program!` in [`shield`]): Rust's own start prepares
//!   what the shield prepares better, and every hook would pay for both.
//! * A journal goes on in segments, each of which says again what is held, so that old ones can be
//!   let go while a session lives.
//! * A person's bytes under an agent's first write are kept like an agent's.
//! * Paths are compared as text in the table; bytes that are no UTF-8 fold together, which can
//!   only make a verdict stricter.

pub mod applet;
pub mod config;
pub mod fence;
pub mod git;
pub mod hook;
pub mod journal;
pub mod kernel;
pub mod operator;
pub mod policy;
pub mod shield;
pub mod wiring;
pub mod worktree;

use std::ffi::OsString;
use std::path::Path;

use applet::Run;

/// Runs the applet that `args` name: by the name the program was called under, else by its first
/// argument.
#[must_use]
pub fn start(args: Vec<OsString>) -> u8 {
    let name = args.first().map(Path::new).and_then(Path::file_name).and_then(|n| n.to_str());
    let called = name.and_then(applet::find);
    let named = args.get(1).and_then(|a| a.to_str()).and_then(applet::find);
    let (applet, rest) = match (called, named) {
        (Some(called), _) if called.run != Run::Operator => (Some(called), 1),
        (_, Some(named)) => (Some(named), 2),
        (called, None) => (called, 1),
    };
    if named.is_none() && args.get(1).is_some_and(|a| a == "exec") {
        let rest = args.get(2..).unwrap_or_default();
        return fence::run_exec(rest, &fence::table::Table::here());
    }
    let rest = args.get(rest..).unwrap_or_default().to_vec();
    match applet.map(|a| a.run) {
        Some(Run::Hook(role)) => hook::main(role, &rest),
        Some(Run::Dim) => operator::dim::start(&rest),
        Some(Run::Shell) => fence::run_prefix(&rest, &fence::table::Table::before_hook()),
        Some(Run::Operator) | None => operator::start(args),
    }
}
