//! Owns patches: which files a patch names, and the `patch` program.

use super::options::{Parsed, Style, parse};
use super::paths::{Place, base_name, join, opaque};
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, Dir, Stdin};

/// The rows.
pub(super) const ROWS: &[Verb] = &[program(
    &["patch", "gpatch"],
    "writes the files its patch names",
    patch,
)
.examples(
    &["patch -p1 -i ../p.diff", "patch lib/core.rs ../x", "patch -p1", "patch -o lib/x notes.md"],
    &["patch --dry-run -p1 -i ../p.diff", "patch --help"],
)];

/// How many leading directories are taken off a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strip {
    /// That many.
    Parts(usize),
    /// All of them.
    All,
}

/// Longest patch that is read.
const PATCH: usize = 1 << 20;

/// The files a patch text changes, makes or removes.
pub(super) fn files(text: &str, strip: Strip) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.lines() {
        let name = match line.split_once(' ') {
            Some(("+++" | "---", rest)) => rest.split('\t').next().unwrap_or(rest).trim_end(),
            Some(("Index:", rest)) => rest.trim(),
            Some(("rename" | "copy", rest)) => match rest.split_once(' ') {
                // These lines carry no `a/` to take off.
                Some(("from" | "to", path)) => {
                    push(&mut out, path, Strip::Parts(0));
                    continue;
                }
                _ => continue,
            },
            Some(("diff", rest)) if rest.starts_with("--git ") => {
                let names = rest.trim_start_matches("--git ");
                let (old, new) = names.split_once(" b/").unwrap_or((names, ""));
                push(&mut out, old, strip);
                if !new.is_empty() {
                    push(&mut out, &format!("b/{new}"), strip);
                }
                continue;
            }
            _ => continue,
        };
        push(&mut out, name, strip);
    }
    out
}

fn push(out: &mut Vec<String>, name: &str, strip: Strip) {
    let name = name.trim_matches('"');
    let rest = match strip {
        Strip::All => Some(base_name(name)),
        Strip::Parts(0) => Some(name),
        Strip::Parts(n) => name.splitn(n + 1, '/').nth(n),
    };
    let Some(rest) = rest.filter(|r| !r.is_empty() && name != "/dev/null") else { return };
    if !out.iter().any(|seen| seen == rest) {
        out.push(rest.to_owned());
    }
}

const GRAMMAR: &[&str] = &[
    "b,backup",
    "B,prefix=",
    "c",
    "C,dry-run",
    "check",
    "d,directory=",
    "D,ifdef=",
    "e",
    "E",
    "f",
    "F,fuzz=",
    "g,get=",
    "i,input=",
    "l",
    "n",
    "N",
    "o,output=",
    "p,strip=",
    "r,reject-file=",
    "R,reverse",
    "s",
    "t",
    "T",
    "u",
    "v",
    "V,version-control=",
    "x=",
    "Y=",
    "z,suffix=",
    "Z",
    "merge?",
    "binary",
];

fn patch(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, GRAMMAR, Style::Gnu);
    if line.idle() || line.any(&["dry-run", "check"]) {
        return Vec::new();
    }
    let words = call.words();
    let moved = line.value("directory").map(|dir| match dir.exact() {
        Some(text) => call.place.absolute(text).map_or(Dir::Unknown, Dir::At),
        None => Dir::Unknown,
    });
    let place = Place { dir: moved.as_ref().unwrap_or(call.place.dir), ..call.place };
    let write = |arg: &Arg| place.write(arg, Follow::Parents, &words);
    if let Some(out) = line.value("output") {
        return write(out);
    }
    if let Some(file) = line.operands.first() {
        return write(file);
    }
    let Some(text) = text(call, &line, &place) else {
        return vec![opaque(place.here(), Why::Operand, &words)];
    };
    let strip = match line.value("strip").map(|n| n.exact().and_then(|n| n.parse().ok())) {
        Some(Some(parts)) => Strip::Parts(parts),
        Some(None) => return vec![opaque(place.here(), Why::Operand, &words)],
        None => Strip::All,
    };
    files(&text, strip).iter().flat_map(|name| write(&Arg::text(join(".", name)))).collect()
}

fn text(call: &Call<'_>, line: &Parsed, place: &Place<'_>) -> Option<String> {
    if let Some(file) = line.value("input").filter(|file| file.exact() != Some("-")) {
        return place.read(file, PATCH);
    }
    match &call.invocation.stdin {
        Stdin::Text(text) => Some(text.clone()),
        Stdin::File(file) => call.place.read(file, PATCH),
        Stdin::Inherited | Stdin::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};
    use super::*;

    #[test]
    fn names_are_found_in_every_header() {
        let git = "diff --git a/lib/a b/lib/b\nrename from lib/a\nrename to lib/b\n";
        assert_eq!(files(git, Strip::Parts(1)), ["lib/a", "lib/b"]);
        let made = "--- /dev/null\n+++ b/new file\t2020\n";
        assert_eq!(files(made, Strip::Parts(1)), ["new file"]);
        assert_eq!(files("--- x/y/z\n+++ x/y/z\n", Strip::All), ["z"]);
    }

    #[test]
    fn the_patch_program_finds_its_text() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("patch -p1 -i ../p.diff"), "lib/core.rs"));
        assert!(!reaches(&scene.run("patch -p1 -i ../p.diff"), "lib/util.rs"));
        let fed = scene.feed("patch -p1", "--- a/docs/a.md\n+++ b/docs/a.md\n");
        assert!(!reaches(&fed, "lib/core.rs") && reaches(&fed, "docs/a.md"));
        assert!(reaches(&scene.run("patch -p1"), "lib/core.rs"));
        assert!(!reaches(&scene.run("patch -d docs -p1"), "lib/core.rs"));
    }
}
