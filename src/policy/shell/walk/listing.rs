//! What commands print that list names: exactly, or bounded by the folder they were asked about.
//! A name that may be missing from the list does no harm, one that is not in it would.

use super::Walker;
use super::call::{Call, Input};
use crate::policy::shell::text::Text;
use crate::policy::shell::{Arg, Entry, Piece, path};

/// Bytes that `sed` may put in front of lines.
const PREFIXES: usize = 256 * 1024;
/// Names of a folder that are spelled out.
const NAMES: usize = 256;

/// What a list of names looks like; `None` when that is not known.
pub(super) fn listed(walker: &Walker<'_>, name: &str, call: &Call) -> Option<Text> {
    let args: Option<Vec<&str>> = call.argv.iter().skip(1).map(Arg::exact).collect();
    match (name, args?.as_slice()) {
        ("ls", args) => folder(walker, args),
        ("git", ["ls-files", args @ ..]) => {
            let (flags, paths) = split(args);
            let plain = |flag: &&str| {
                let letters = flag.trim_start_matches('-');
                !flag.starts_with("--") && letters.chars().all(|c| "zmocd".contains(c))
                    || matches!(letters, "modified" | "others" | "cached" | "deleted")
                    || letters == "exclude-standard"
            };
            flags.iter().all(plain).then(|| below(walker, &paths, ends(&flags)))?
        }
        ("git", ["diff", args @ ..]) if args.contains(&"--name-only") => {
            let at = args.iter().position(|arg| *arg == "--")?;
            // Its names begin at the top of the work tree.
            let top = path::join(walker.state.path()?, ".git");
            let here = walker.world.entry(&top) != Entry::Missing;
            here.then(|| below(walker, args.get(at + 1..)?, ends(args)))?
        }
        ("grep" | "rg", args) | ("git", ["grep", args @ ..]) => matching(walker, args),
        ("head" | "tail" | "sort" | "uniq" | "tac", _) => passed(&call.input),
        ("sed", [script]) => prefixed(script, &call.input),
        _ => None,
    }
}

fn split<'a>(args: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    args.iter().filter(|arg| **arg != "--").partition(|arg| arg.starts_with('-'))
}

/// What stands behind each name.
fn ends(flags: &[&str]) -> &'static str {
    let zero = |flag: &&str| !flag.starts_with("--") && flag.starts_with('-') && flag.contains('z');
    if flags.iter().any(zero) { "\0" } else { "\n" }
}

/// `ls`, without the forms that print more than names.
fn folder(walker: &Walker<'_>, args: &[&str]) -> Option<Text> {
    let (flags, paths) = split(args);
    let letters =
        |flag: &&str| flag.trim_start_matches('-').chars().all(|c| "1AatrScUv".contains(c));
    if !flags.iter().all(|flag| !flag.starts_with("--") && letters(flag)) {
        return None;
    }
    let hidden = flags.iter().any(|flag| flag.contains(['a', 'A']));
    let kind = |text: &str| Some(walker.world.target(&walker.absolute(&Arg::text(text))?));
    let mut out = String::new();
    match paths.as_slice() {
        [] | [_] if paths.first().is_none_or(|one| kind(one) == Some(Entry::Dir)) => {
            let dir = walker.absolute(&Arg::text(paths.first().copied().unwrap_or(".")))?;
            for name in walker.world.list(&dir, NAMES)? {
                if hidden || !name.starts_with('.') {
                    out.extend([name.as_str(), "\n"]);
                }
            }
        }
        files => {
            for file in files {
                if kind(file) != Some(Entry::File) {
                    return None;
                }
                out.extend([file, "\n"]);
            }
        }
    }
    Some(Text::known(&out))
}

/// Names at or below paths that are spelled out.
fn below(walker: &Walker<'_>, paths: &[&str], end: &str) -> Option<Text> {
    if paths.is_empty() {
        return None;
    }
    let mut out = Text::default();
    for one in paths {
        let climbs = one.split('/').any(|part| matches!(part, "." | ".." | ""));
        if climbs || one.contains(['*', '?', '[', ':', '\\']) {
            return None;
        }
        out.push(one);
        match walker.world.entry(&walker.absolute(&Arg::text(*one))?) {
            Entry::File => {}
            Entry::Dir => {
                out.push("/");
                out.add(Piece::Any);
            }
            Entry::Link | Entry::Other | Entry::Missing => return None,
        }
        out.push(end);
    }
    Some(out)
}

/// `grep -l` and its like: files at or below what is searched.
fn matching(walker: &Walker<'_>, args: &[&str]) -> Option<Text> {
    let (flags, operands) = split(args);
    let names = |flag: &&str| {
        matches!(*flag, "--files-with-matches" | "--name-only")
            || !flag.starts_with("--") && flag.contains('l')
    };
    // Options with a value in a word of its own would be taken for paths.
    let valued = |flag: &&str| {
        flag.starts_with("--") && !flag.contains('=') && !names(flag)
            || !flag.starts_with("--")
                && flag.contains(['e', 'f', 'A', 'B', 'C', 'm', 'g', 't', 'd'])
    };
    if !flags.iter().any(names) || flags.iter().any(valued) {
        return None;
    }
    let zero = flags.iter().any(|flag| !flag.starts_with("--") && flag.contains(['Z', 'z', '0']));
    let paths: Vec<&str> = operands.iter().skip(1).map(|path| path.trim_end_matches('/')).collect();
    below(walker, &paths, if zero { "\0" } else { "\n" })
}

/// Lines that are let through or not, when one line stands for all.
fn passed(input: &Input) -> Option<Text> {
    let Input::Text(text) = input else { return None };
    (text.holed().trim_end_matches(['\n', '\0']).lines().count() <= 1).then(|| text.clone())
}

/// `sed 's|^|docs/|'`.
fn prefixed(script: &str, input: &Input) -> Option<Text> {
    let Input::Text(text) = input else { return None };
    let mark = script.strip_prefix('s')?.chars().next()?;
    let mut parts = script.strip_prefix('s')?.split(mark).skip(1);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    if from != "^" || !flags.is_empty() || parts.next().is_some() || to.contains(['&', '\\']) {
        return None;
    }
    let holed = text.holed();
    let lines = holed.lines().count();
    if lines.saturating_mul(to.len()) > PREFIXES {
        return None;
    }
    let prefixed: Vec<&str> = holed.lines().flat_map(|line| [to, line, "\n"]).collect();
    Some(Text::known(&prefixed.concat()))
}
