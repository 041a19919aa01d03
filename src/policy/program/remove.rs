//! Owns programs that take files away. Must never call a plain `rm DIR` a removal: it fails.

use super::options::{Style, parse};
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["rm"], "removes files, with -r whole directories", rm).examples(
        &["rm lib/core.rs", "rm -rf lib", "rm -- -x", "rm -r lib/", "rm -f \"$X\""],
        &["rm --help", "rm --version", "rm lib", "rm -f /dev/null"],
    ),
    program(&["unlink"], "removes one file", unlink)
        .examples(&["unlink lib/core.rs"], &["unlink --help"]),
    program(&["shred"], "overwrites files, with -u removes them", shred)
        .examples(&["shred -u lib/core.rs", "shred -n 3 lib/core.rs"], &["shred --help"]),
    program(
        &[
            "trash",
            "trash-put",
            "gio",
            "rimraf",
            "del-cli",
            "rmtrash",
            "rip",
            "safe-rm",
            "srm",
            "wipe",
        ],
        "removes files",
        trash,
    )
    .examples(
        &["trash lib/core.rs", "gio trash lib", "rimraf lib"],
        &["gio open lib", "trash --help"],
    ),
];

const RM: &[&str] = &[
    "r,R,recursive",
    "f,force",
    "i",
    "I",
    "v,verbose",
    "d,dir",
    "interactive?",
    "one-file-system",
    "preserve-root?",
    "no-preserve-root",
];

fn rm(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, RM, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let deep = line.has("recursive");
    let taken = line.operands.iter().filter(|a| deep || !plain_directory(call, a));
    call.removes(taken)
}

/// A directory, which `rm` without `-r` refuses.
fn plain_directory(call: &Call<'_>, arg: &Arg) -> bool {
    arg.exact().is_some_and(|text| call.place.entry(text) == Entry::Dir)
}

fn unlink(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &[], Style::Gnu);
    if line.idle() { Vec::new() } else { call.removes(&line.operands) }
}

fn shred(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &["f,force", "n,iterations=", "random-source=", "s,size=", "u", "remove?", "z"];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    if line.any(&["u", "remove"]) {
        let words = call.words();
        let at = |a| {
            call.place
                .effect(call.place.target(a, Follow::All), &words, |path| Effect::Remove { path })
        };
        return line.operands.iter().flat_map(at).collect();
    }
    call.writes(&line.operands)
}

fn trash(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["f", "v", "r", "g,glob"], Style::Gnu);
    let operands = match (call.name.as_str(), line.operands.split_first()) {
        ("gio", Some((verb, rest))) if matches!(verb.exact(), Some("trash" | "remove")) => rest,
        ("gio", _) => return Vec::new(),
        _ => line.operands.as_slice(),
    };
    if line.idle() { Vec::new() } else { call.removes(operands) }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, at, reaches};
    use crate::policy::facts::Effect;

    #[test]
    fn links_are_removed_themselves_and_followed_on_the_way() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("rm /home/u/ln/core.rs"), "lib/core.rs"));
        assert!(!reaches(&scene.run("rm -rf /home/u/ln"), "lib/core.rs"));
        assert!(reaches(&scene.run("rm ./lib/../lib/core.rs"), "lib/core.rs"));
        assert_eq!(scene.run("rm lib/core.rs"), [Effect::Remove { path: at("lib/core.rs") }]);
    }

    #[test]
    fn unknown_names_are_bounded_by_their_directory() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("rm -f docs/$X"), "docs/a.md"));
        assert!(!reaches(&scene.run("rm -f docs/$X"), "lib/core.rs"));
        assert!(reaches(&scene.run("rm -f $X"), "lib/core.rs"));
        assert!(scene.run("rm -f /tmp/$X").is_empty());
        assert!(reaches(&scene.run("rm \"lib/..\r/x\""), "lib/core.rs"));
    }
}
