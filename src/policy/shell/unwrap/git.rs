//! The places where git runs a command it was given. Everything else about git belongs to the
//! programs layer, so git itself is always reported too.

use super::options::{Spec, scan};
use super::text::{by_shell, line, values};
use super::{instead, told};
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
    if verb == "config" {
        told::learn(walker, args);
        return;
    }
    let told = told::settings(walker, call, &found);
    let alias = format!("alias.{}", verb.to_lowercase());
    let bidden = told.iter().rev().find(|(key, _)| *key == alias);
    walker.inside(dir, |walker| {
        if let Some(text) = bidden.map(|(_, text)| text.holed())
            && let Some(text) = text.trim_start().strip_prefix('!')
        {
            let mut text = Text::known(text);
            text.push(" ");
            text.append(&line(args));
            by_shell(walker, call, &text);
        }
        verbs(walker, verb, args, call);
        told::run(walker, call, &told, verb, args);
    });
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
