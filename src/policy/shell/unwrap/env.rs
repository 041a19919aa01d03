//! `env`, `sudo`, `doas`: wrappers that also change the environment or the directory.

use super::options::{Scan, Spec, scan, words};
use super::{instead, report};
use crate::policy::shell::walk::{Call, Via, Walker};
use crate::policy::shell::{Arg, Dir};

const ENV: Spec = Spec { short: "uCSP", attached: "", long: &["unset", "chdir", "split-string"] };
const SUDO: Spec = Spec {
    short: "ugpCrtThDRUa",
    attached: "",
    long: &[
        "user",
        "group",
        "prompt",
        "close-from",
        "role",
        "type",
        "command-timeout",
        "host",
        "chdir",
        "chroot",
        "other-user",
    ],
};

/// `env`.
pub(super) fn env(walker: &mut Walker<'_>, call: &Call) {
    let mut args: Vec<Arg> = call.argv.get(1..).unwrap_or_default().to_vec();
    let mut unset = Vec::new();
    let mut dir = None;
    // `-S` puts its words in front of the rest, options among them.
    for _ in 0..4 {
        let found = scan(&args, ENV);
        unset.extend(values(&found, &["-u", "--unset"]));
        dir = found.value(&["-C", "--chdir"]).map(|arg| walker.directory(arg)).or(dir);
        let split = found.value(&["-S", "--split-string"]).cloned();
        let rest = found.rest.to_vec();
        let Some(split) = split else {
            args = rest;
            break;
        };
        args = match split.exact() {
            Some(text) => words(text).into_iter().map(Arg::text).collect(),
            None => vec![split],
        };
        args.extend(rest);
    }
    if args.first().and_then(Arg::exact) == Some("-") {
        args.remove(0);
    }
    let (env, command) = assignments(&args);
    if command.is_empty() {
        report(walker, "env", call);
        return;
    }
    let mut inner = instead(call, command);
    inner.env.retain(|(name, _)| !unset.contains(name));
    inner.env.extend(env);
    walker.without(&unset, |walker| in_dir(walker, dir, inner));
}

/// `sudo` and `doas`.
pub(super) fn sudo(walker: &mut Walker<'_>, name: &str, call: &Call) {
    let args = call.argv.get(1..).unwrap_or_default();
    let found = scan(args, SUDO);
    let (env, command) = assignments(found.rest);
    let edits = found.has(&["-e", "--edit", "-l", "--list"]);
    if command.is_empty() || edits {
        report(walker, name, call);
        return;
    }
    let dir = found.value(&["-D", "--chdir"]).map(|arg| walker.directory(arg));
    // A login shell begins in the target user's home.
    let login = found.has(&["-i", "--login"]).then_some(Dir::Unknown);
    let mut inner = instead(call, command);
    inner.env.extend(env);
    in_dir(walker, dir.or(login), inner);
}

fn in_dir(walker: &mut Walker<'_>, dir: Option<Dir>, call: Call) {
    match dir {
        Some(dir) => walker.inside(dir, |walker| drop(walker.dispatch(call, Via::Program))),
        None => drop(walker.dispatch(call, Via::Program)),
    }
}

fn values(scan: &Scan<'_>, names: &[&str]) -> Vec<String> {
    let given = scan.options.iter().filter(|(name, _)| names.contains(&name.as_str()));
    given.filter_map(|(_, value)| value.as_ref()?.exact().map(str::to_owned)).collect()
}

/// Assignments at the front, and the command behind them.
fn assignments(args: &[Arg]) -> (Vec<(String, Arg)>, &[Arg]) {
    let mut env = Vec::new();
    let mut rest = args;
    while let [first, tail @ ..] = rest
        && let Some((name, _)) = first.prefix().split_once('=')
    {
        env.push((name.to_owned(), super::options::without(first, name.len() + 1)));
        rest = tail;
    }
    (env, rest)
}
