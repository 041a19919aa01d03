//! Programs that hand a text to a shell: `flock -c`, `watch`, `script -c`, `su -c`, `at`,
//! `hyperfine`.

use super::options::{Spec, scan, without};
use super::{instead, report};
use crate::policy::facts::Why;
use crate::policy::shell::Arg;
use crate::policy::shell::text::Text;
use crate::policy::shell::walk::{Call, Holes, Input, Via, Walker};

/// Runs a text in a shell of its own.
pub(super) fn by_shell(walker: &mut Walker<'_>, call: &Call, text: &Text) {
    walker.child(call, Text::known("sh"), Some(Vec::new()), |walker| walker.run(text, call.holes));
}

/// Runs the values of options that hold a command.
pub(super) fn values(walker: &mut Walker<'_>, args: &[Arg], names: &[&str], call: &Call) {
    for (at, arg) in args.iter().enumerate() {
        let word = arg.prefix();
        let attached = names.iter().find_map(|name| {
            let long = name.starts_with("--");
            let rest = word.strip_prefix(name)?;
            let rest = if long { rest.strip_prefix('=')? } else { rest };
            (!rest.is_empty()).then(|| without(arg, word.len() - rest.len()))
        });
        let separate = names.contains(&word).then(|| args.get(at + 1).cloned()).flatten();
        if let Some(text) = attached.or(separate) {
            by_shell(walker, call, &Text::of(&text));
        }
    }
}

/// Words joined by blanks.
pub(super) fn line(words: &[Arg]) -> Text {
    let mut text = Text::default();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push(" ");
        }
        text.append(&Text::of(word));
    }
    text
}

fn rest(call: &Call) -> &[Arg] {
    call.argv.get(1..).unwrap_or_default()
}

/// `flock FILE command…`, `flock FILE -c text`, `flock -c text FILE`.
pub(super) fn flock(walker: &mut Walker<'_>, call: &Call) {
    let spec = Spec {
        short: "wEc",
        attached: "",
        long: &["timeout", "wait", "conflict-exit-code", "command"],
    };
    let found = scan(rest(call), spec);
    let operands = found.rest.get(1..).unwrap_or_default();
    if let Some(text) = found.value(&["-c", "--command"]) {
        by_shell(walker, call, &Text::of(text));
        return;
    }
    match operands {
        [] => report(walker, "flock", call),
        [flag, text, ..] if matches!(flag.exact(), Some("-c" | "--command")) => {
            by_shell(walker, call, &Text::of(text));
        }
        command => drop(walker.dispatch(instead(call, command), Via::Program)),
    }
}

/// `watch command…`: joined and run by a shell, unless `-x`.
pub(super) fn watch(walker: &mut Walker<'_>, call: &Call) {
    let spec = Spec { short: "nq", attached: "d", long: &["interval", "equexit"] };
    let found = scan(rest(call), spec);
    if found.rest.is_empty() {
        report(walker, "watch", call);
    } else if found.has(&["-x", "--exec"]) {
        drop(walker.dispatch(instead(call, found.rest), Via::Program));
    } else {
        by_shell(walker, call, &line(found.rest));
    }
}

/// `script -c text FILE`, and `script FILE command…` as BSD has it.
pub(super) fn script(walker: &mut Walker<'_>, call: &Call) {
    let spec = Spec {
        short: "cEIOBTomtF",
        attached: "",
        long: &["command", "log-in", "log-out", "log-io", "log-timing", "output-limit"],
    };
    let found = scan(rest(call), spec);
    let file = found.rest.first().cloned().unwrap_or_else(|| Arg::text("typescript"));
    walker.emit(&Call { argv: vec![Arg::text("tee"), file], ..Call::default() });
    let behind = scan(found.rest.get(1..).unwrap_or_default(), spec);
    let texts = ["-c", "--command"];
    if let Some(text) = found.value(&texts).or_else(|| behind.value(&texts)) {
        by_shell(walker, call, &Text::of(text));
    } else if let Some(command @ [_, ..]) = found.rest.get(1..) {
        drop(walker.dispatch(instead(call, command), Via::Program));
    }
}

/// `su USER -c text`, `runuser -u USER -- command…`.
pub(super) fn su(walker: &mut Walker<'_>, call: &Call) {
    let args = rest(call);
    let at = args.iter().position(|arg| {
        matches!(arg.exact(), Some("-c" | "--command" | "--session-command" | "-lc"))
    });
    if let Some(text) = at.and_then(|at| args.get(at + 1)) {
        by_shell(walker, call, &Text::of(text));
        return;
    }
    let spec = Spec { short: "ugGsw", attached: "", long: &["user", "group", "shell"] };
    let found = scan(args, spec);
    if found.has(&["-u", "--user"]) && !found.rest.is_empty() {
        drop(walker.dispatch(instead(call, found.rest), Via::Program));
    } else {
        report(walker, "su", call);
    }
}

/// `at` and `batch` run what they read.
pub(super) fn at(walker: &mut Walker<'_>, call: &Call) {
    match &call.input {
        Input::Text(text) => by_shell(walker, call, text),
        Input::Unknown => walker.unread(Why::Generated, "at"),
        Input::Inherited | Input::File(_) => walker.emit(call),
    }
}

/// `hyperfine 'text' …`: every operand, and the texts around them.
pub(super) fn hyperfine(walker: &mut Walker<'_>, call: &Call) {
    let spec = Spec {
        short: "wrmMpscSnLPuD",
        attached: "",
        long: &[
            "warmup",
            "runs",
            "min-runs",
            "max-runs",
            "prepare",
            "setup",
            "cleanup",
            "conclude",
            "shell",
            "command-name",
            "export-json",
            "export-markdown",
            "export-csv",
            "style",
            "parameter-list",
        ],
    };
    let mut args = rest(call);
    while !args.is_empty() {
        let found = scan(args, spec);
        for (name, value) in &found.options {
            let runs =
                matches!(name.as_str(), "-p" | "--prepare" | "-s" | "--setup" | "-c" | "--cleanup");
            if let (true, Some(text)) = (runs, value) {
                by_shell(walker, call, &Text::of(text));
            }
        }
        let Some((text, tail)) = found.rest.split_first() else { break };
        by_shell(walker, &Call { holes: Holes::Code, ..call.clone() }, &Text::of(text));
        args = tail;
    }
    walker.emit(call);
}
