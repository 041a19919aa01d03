//! Owns shell text inside other text: aliases with `!`, `os.system("…")`, `:!…`. It is read like
//! any command, one level deeper; what can't be read is opaque.

use super::{Call, Invocation, Place, effects, paths};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, Dir, Redirect, Stdin};

/// What a text does that a shell would run in `dir`.
pub(super) fn shell(call: &Call<'_>, text: &str, dir: &Dir) -> Vec<Effect> {
    let place = Place { site: call.site(), dir };
    let Some(commands) = plain(text) else {
        return vec![place.opaque(Why::Generated, &call.words())];
    };
    let mut out = Vec::new();
    for (argv, redirects) in commands {
        let inner = Invocation {
            argv,
            dir: dir.clone(),
            env: call.invocation.env.clone(),
            stdin: Stdin::Inherited,
            redirects,
            more: false,
            depth: call.invocation.depth + 1,
        };
        out.extend(effects(&inner, call.site()));
    }
    out
}

/// Another program run in place of a call, with the call's environment and input.
pub(super) fn carried(call: &Call<'_>, argv: Vec<Arg>, dir: &Dir) -> Vec<Effect> {
    if argv.is_empty() {
        return Vec::new();
    }
    let depth = call.invocation.depth + 1;
    let (dir, redirects) = (dir.clone(), Vec::new());
    let inner = Invocation { argv, dir, redirects, depth, ..call.invocation.clone() };
    effects(&inner, call.site())
}

/// A text with arguments put behind it, as git does for an alias.
pub(super) fn with_args(text: &str, args: &[Arg]) -> String {
    let mut out = text.to_owned();
    for arg in args {
        out.push(' ');
        match arg.exact() {
            Some(word) => out.push_str(&shell_words::quote(word)),
            None => out.push_str("\"$?\""),
        }
    }
    out
}

type Simple = (Vec<Arg>, Vec<Redirect>);

/// Simple commands of a text without expansions; `None` where there is more to it.
fn plain(text: &str) -> Option<Vec<Simple>> {
    if text.contains(['$', '`', '(', '{', '*', '?']) {
        return None;
    }
    let spaced = text.replace("&&", "\n").replace("||", "\n").replace([';', '|', '&'], "\n");
    let lines = spaced.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| simple(&shell_words::split(line).ok()?)).collect()
}

fn simple(words: &[String]) -> Option<Simple> {
    let (mut argv, mut redirects) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if let Some(target) =
            word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('>')
        {
            let append = target.starts_with('>');
            let glued = target.trim_start_matches('>');
            let target = if glued.is_empty() { rest.next()?.as_str() } else { glued };
            redirects.push(Redirect { append, target: Arg::text(target) });
        } else {
            argv.push(Arg::text(word.as_str()));
        }
    }
    Some((argv, redirects))
}

/// Whether a text begins like a shell command of a program that is read here.
pub(super) fn looks_like_shell(text: &str) -> bool {
    let plain = !text.contains(['(', '=', ';', '\n']);
    let mut words = text.split_whitespace();
    let first = words.next().map(paths::base_name).unwrap_or_default();
    plain && words.next().is_some() && super::verbs().any(|verb| verb.program.contains(&first))
}
