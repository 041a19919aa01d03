//! Owns shell text inside other text: aliases with `!`, `os.system("…")`, `:!…`. It is read like
//! any command, one level deeper; what can't be read is opaque.

use super::{Call, Invocation, Place, effects, paths};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{self, Arg, Dir, HOLE};

/// What a text does that a shell would run in `dir`.
pub(super) fn shell(call: &Call<'_>, text: &str, dir: &Dir) -> Vec<Effect> {
    let place = Place { site: call.site(), dir };
    let start = match dir {
        Dir::At(dir) => dir.as_str(),
        Dir::Unknown | Dir::Fresh => "/",
    };
    let reading = shell::read(text, start, call.site());
    let mut out = Vec::new();
    for inner in reading.invocations {
        let env = call.invocation.env.iter().cloned().chain(inner.env).collect();
        let depth = inner.depth.saturating_add(call.invocation.depth + 1);
        out.extend(effects(&Invocation { env, depth, ..inner }, call.site()));
    }
    for unread in reading.unread {
        let place = Place { dir: &unread.dir, ..place };
        out.push(place.opaque(unread.why, &unread.words));
    }
    match dir {
        Dir::At(_) => out,
        Dir::Fresh => Vec::new(),
        Dir::Unknown if out.is_empty() => out,
        Dir::Unknown => vec![place.opaque(Why::Directory, &call.words())],
    }
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
            None => out.push(HOLE),
        }
    }
    out
}

/// Whether a text begins like a shell command of a program that is read here.
pub(super) fn looks_like_shell(text: &str) -> bool {
    let plain = !text.contains(['(', '=', ';', '\n']);
    let mut words = text.split_whitespace();
    let first = words.next().map(paths::base_name).unwrap_or_default();
    plain && words.next().is_some() && super::verbs().any(|verb| verb.program.contains(&first))
}
