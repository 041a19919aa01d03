//! The places where git runs a command it was given. Everything else about git belongs to the
//! programs layer, so git itself is always reported too.

use super::instead;
use super::options::{Spec, scan};
use super::text::{by_shell, line, values};
use crate::policy::shell::text::Text;
use crate::policy::shell::walk::{Call, Via, Walker};
use crate::policy::shell::{Arg, Dir, path};

const GLOBAL: Spec = Spec {
    short: "Cc",
    attached: "",
    long: &["git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"],
};

/// Reports git and what it runs.
pub(super) fn git(walker: &mut Walker<'_>, call: &Call) {
    walker.emit(call);
    let found = scan(call.argv.get(1..).unwrap_or_default(), GLOBAL);
    let Some((verb, args)) = found.rest.split_first() else { return };
    let Some(verb) = verb.exact() else { return };
    let dirs = found.options.iter().filter(|(name, _)| name == "-C");
    let mut dir = walker.state_dir();
    for (_, value) in dirs {
        let Some(value) = value else { continue };
        dir = walker.inside(dir, |walker| walker.directory(value));
    }
    for (_, value) in found.options.iter().filter(|(name, _)| name == "-c") {
        let Some((name, text)) = value.as_ref().and_then(|v| v.prefix().split_once('=')) else {
            continue;
        };
        if name.strip_prefix("alias.") == Some(verb)
            && let Some(text) = text.strip_prefix('!')
        {
            let mut text = Text::known(text);
            text.push(" ");
            text.append(&line(args));
            walker.inside(dir.clone(), |walker| by_shell(walker, call, &text));
        }
    }
    walker.inside(dir, |walker| verbs(walker, verb, args, call));
}

fn verbs(walker: &mut Walker<'_>, verb: &str, args: &[Arg], call: &Call) {
    match verb {
        "submodule" => {
            let each = args.iter().position(|arg| arg.exact() == Some("foreach"));
            let Some(args) = each.and_then(|at| args.get(at + 1..)) else { return };
            let command = scan(args, Spec::default()).rest;
            walker.inside(Dir::Unknown, |walker| match command {
                [] => {}
                [text] => by_shell(walker, call, &Text::of(text)),
                command => drop(walker.dispatch(instead(call, command), Via::Program)),
            });
        }
        "bisect" if args.first().and_then(Arg::exact) == Some("run") => {
            let command = args.get(1..).unwrap_or_default();
            if !command.is_empty() {
                drop(walker.dispatch(instead(call, command), Via::Program));
            }
        }
        "rebase" => values(walker, args, &["-x", "--exec"], call),
        "filter-branch" => {
            let filters = [
                "--tree-filter",
                "--index-filter",
                "--env-filter",
                "--msg-filter",
                "--parent-filter",
                "--commit-filter",
                "--tag-name-filter",
                "--setup",
            ];
            walker.inside(Dir::Fresh, |walker| values(walker, args, &filters, call));
        }
        "clone" => cloned(walker, args),
        "worktree" if args.first().and_then(Arg::exact) == Some("add") => {
            for arg in args.iter().skip(1).filter(|arg| !arg.prefix().starts_with('-')) {
                walker.make(arg);
            }
        }
        _ => {}
    }
}

/// Notes the folder a clone makes.
fn cloned(walker: &mut Walker<'_>, args: &[Arg]) {
    let Some(last) = args.last() else { return };
    let Some(text) = last.exact() else { return };
    if text.contains(':') || text.strip_suffix(".git").is_some() {
        let name = path::base(text.rsplit(':').next().unwrap_or(text));
        walker.make(&Arg::text(name.strip_suffix(".git").unwrap_or(name)));
    } else {
        walker.make(last);
    }
}
