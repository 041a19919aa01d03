//! Programs that run other programs: what they would run, with the wrapper taken off. What is no
//! wrapper is reported as it is. `ssh`, `docker` and their like run elsewhere: never followed.

mod env;
mod expression;
mod find;
mod git;
mod options;
mod shells;
mod table;
mod text;
mod told;
mod xargs;

pub(super) use find::found;
pub use table::{WRAPPERS, Wrapper};

use super::walk::{Call, Via, Walker};
use super::{Arg, path};

/// What a call does to the shell that makes it.
type Failed = super::walk::Failed;

/// Runs what a call runs.
pub(super) fn unwrap(walker: &mut Walker<'_>, name: &str, call: Call, via: Via) -> Failed {
    match name {
        "env" | "cross-env" => env::env(walker, &call),
        "sudo" | "doas" => env::sudo(walker, name, &call),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "rbash" | "mksh" | "fish" | "csh"
        | "tcsh" | "yash" | "xonsh" | "elvish" | "nu" => {
            shells::shell(walker, name, &call);
        }
        "busybox" | "toybox" => return applet(walker, call),
        "xargs" => xargs::xargs(walker, &call),
        "parallel" => xargs::parallel(walker, &call),
        "find" | "gfind" => find::find(walker, &call),
        "git" | "hub" | "git.exe" => git::git(walker, &call),
        "flock" => text::flock(walker, &call),
        "watch" => text::watch(walker, &call),
        "script" => text::script(walker, &call),
        "su" | "runuser" => text::su(walker, &call),
        "at" | "batch" => text::at(walker, &call),
        "hyperfine" => text::hyperfine(walker, &call),
        "command" | "builtin" | "exec" if via != Via::Program => {
            return table::peel(walker, name, &call, Via::Builtin);
        }
        _ => return table::peel(walker, name, &call, Via::Program),
    }
    None
}

/// Reports a program that is no wrapper.
fn report(walker: &mut Walker<'_>, name: &str, call: &Call) {
    if name == "mkdir" {
        let operands = call.argv.iter().skip(1);
        for operand in operands.filter(|arg| arg.exact().is_none_or(|a| !a.starts_with('-'))) {
            walker.make(operand);
        }
    }
    walker.emit(call);
}

/// `busybox PROGRAM …`.
fn applet(walker: &mut Walker<'_>, call: Call) -> Failed {
    match call.argv.get(1).and_then(Arg::exact) {
        Some(name) if !name.starts_with('-') => {
            let argv = call.argv.get(1..).unwrap_or_default().to_vec();
            walker.dispatch(Call { argv, hops: call.hops + 1, ..call }, Via::Program)
        }
        _ => {
            report(walker, path::base("busybox"), &call);
            None
        }
    }
}

/// The same call for another program.
fn instead(call: &Call, argv: &[Arg]) -> Call {
    // Spelled out: a copy of the whole call would also copy the words that are left behind.
    Call {
        argv: argv.to_vec(),
        env: call.env.clone(),
        input: call.input.clone(),
        stdout: call.stdout.clone(),
        redirects: call.redirects.clone(),
        more: call.more,
        holes: call.holes,
        hops: call.hops + 1,
    }
}
