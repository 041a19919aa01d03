//! Owns verbs that write, move or remove named files: `rm`, `mv`, `apply`, and options that send
//! output to a file.

use super::super::options::{Parsed, Style, parse};
use super::super::paths::{base_name, opaque};
use super::super::verbs::{Verb, verb};
use super::super::{Follow, copy, patch};
use super::{GitCall, Index};
use crate::policy::facts::{Effect, RootKind, Scope, Why};
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["rm"], "removes its paths from tree and index, with --cached from the index", rm)
        .examples(
            &["git rm lib/core.rs", "git rm -rf lib", "git rm --cached notes.md", "git rm '*.rs'"],
            &["git rm -n lib/core.rs", "git rm --dry-run -r lib", "git rm", "git rm --help"],
        ),
    verb(&["mv"], "moves its sources", mv).examples(
        &["git mv lib l2", "git mv notes.md docs/"],
        &["git mv -n lib l2", "git mv --help"],
    ),
    verb(&["apply"], "writes the files its patch names", apply).examples(
        &["git apply ../p.diff", "git apply --index ../p.diff", "git apply --cached ../p.diff"],
        &["git apply --check ../p.diff", "git apply --stat ../p.diff", "git apply --help"],
    ),
    verb(&["merge-file"], "writes its first operand", merge_file).examples(
        &["git merge-file lib/core.rs a b"],
        &["git merge-file -p lib/core.rs a b", "git merge-file --help"],
    ),
    verb(
        &["diff", "log", "show", "format-patch", "archive", "bundle", "config", "difftool"],
        "writes where an option sends its output",
        output,
    )
    .examples(
        &[
            "git diff --output=lib/core.rs",
            "git log --output lib/core.rs",
            "git archive -o lib/core.rs HEAD",
            "git bundle create lib/core.rs main",
            "git config --file lib/core.rs a.b c",
        ],
        &[
            "git diff lib/core.rs",
            "git log --oneline -5",
            "git archive HEAD",
            "git config alias.z 'add -A'",
            "git config --get user.name",
        ],
    ),
];

fn rm(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "n,dry-run",
        "q,quiet",
        "cached",
        "f,force",
        "r",
        "ignore-unmatch",
        "sparse",
        "pathspec-from-file=",
        "pathspec-file-nul",
    ];
    let line = git.line(grammar);
    let named = !line.operands.is_empty() || line.value("pathspec-from-file").is_some();
    if line.idle() || line.has("dry-run") || !named {
        return Vec::new();
    }
    let scope = git.named(&line, &line.operands, Scope::All);
    if line.has("cached") { git.stage(scope) } else { git.pathspec(scope) }
}

fn mv(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(&["v,verbose", "n,dry-run", "f,force", "k", "sparse"]);
    let Some((dest, sources)) = line.operands.split_last() else { return Vec::new() };
    if line.idle() || line.has("dry-run") {
        return Vec::new();
    }
    let inside = git.place.kind(dest) == Entry::Dir || sources.len() > 1;
    let mut out = Vec::new();
    for source in sources {
        out.extend(git.place.remove(source, &git.words));
        let name = source.exact().map(base_name);
        let place = if inside { copy::inside(dest, name) } else { dest.clone() };
        out.extend(git.place.write(&place, Follow::Parents, &git.words));
    }
    out
}

const APPLY: &[&str] = &[
    "exclude=",
    "include=",
    "p=",
    "no-add",
    "stat",
    "allow-binary-replacement",
    "binary",
    "numstat",
    "summary",
    "check",
    "index",
    "N,intent-to-add",
    "cached",
    "unsafe-paths",
    "apply",
    "3,3way",
    "ours",
    "theirs",
    "union",
    "build-fake-ancestor=",
    "z",
    "C=",
    "whitespace=",
    "ignore-space-change",
    "ignore-whitespace",
    "R,reverse",
    "unidiff-zero",
    "reject",
    "allow-overlap",
    "v,verbose",
    "q,quiet",
    "inaccurate-eof",
    "recount",
    "directory=",
    "allow-empty",
    "add",
];

fn apply(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(APPLY);
    let only_looks = line.any(&["stat", "numstat", "summary", "check"]) && !line.has("apply");
    if line.idle() || only_looks {
        return Vec::new();
    }
    let Some(files) = patched(git, &line) else { return unknown_patch(git) };
    // Paths of a patch are relative to the top of the work tree.
    let top = match git.root.kind {
        RootKind::Unreadable => git.place.here(),
        RootKind::Main | RootKind::Linked { .. } => Some(git.root.path.clone()),
    };
    let Some(top) = top else { return unknown_patch(git) };
    let paths = files.iter().map(|file| top.join(file)).collect::<Vec<_>>();
    if line.has("cached") {
        return git.stage(Scope::Paths { take: paths, leave: Vec::new() });
    }
    let mut out: Vec<Effect> =
        paths.iter().map(|path| Effect::Write { path: path.clone() }).collect();
    if line.any(&["index", "3way"]) && git.index == Index::Shared {
        out.extend(git.stage(Scope::Paths { take: paths, leave: Vec::new() }));
    }
    out
}

/// The files all patches of a line name; none when one of them cannot be read.
fn patched(git: &GitCall<'_>, line: &Parsed) -> Option<Vec<String>> {
    let strip = line.value("p").map_or(Some(1), |n| n.exact()?.parse().ok())?;
    let directory = line.value("directory").map_or(Some(""), Arg::exact)?;
    let texts: Vec<String> = if line.operands.is_empty() {
        vec![git.stdin()?]
    } else {
        line.operands.iter().map(|file| git.list(file)).collect::<Option<_>>()?
    };
    let names = texts.iter().flat_map(|text| patch::files(text, patch::Strip::Parts(strip)));
    Some(names.map(|name| super::super::paths::join(directory, &name)).collect())
}

fn unknown_patch(git: &GitCall<'_>) -> Vec<Effect> {
    match git.root.kind {
        RootKind::Unreadable => vec![opaque(git.place.here(), Why::Operand, &git.words)],
        RootKind::Main | RootKind::Linked { .. } => git.tree(),
    }
}

fn merge_file(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "p,stdout",
        "object-id",
        "L=",
        "marker-size=",
        "diff-algorithm=",
        "diff3",
        "ours",
        "theirs",
        "union",
        "q,quiet",
    ];
    let line = git.line(grammar);
    if line.idle() || line.any(&["stdout", "object-id"]) {
        return Vec::new();
    }
    let file = line.operands.first();
    file.map_or_else(Vec::new, |arg| git.place.write(arg, Follow::All, &git.words))
}

fn output(git: &GitCall<'_>) -> Vec<Effect> {
    let long = ["output=", "no-index"];
    let file = match git.verb {
        "archive" => value(git, &["o,output=", "format=", "prefix="], "output"),
        "bundle" => bundle(git),
        "config" => config(git),
        _ => value(git, &long, "output"),
    };
    file.map_or_else(Vec::new, |arg| git.place.write(&arg, Follow::All, &git.words))
}

fn value(git: &GitCall<'_>, grammar: &[&'static str], name: &str) -> Option<Arg> {
    let line = parse(git.args, grammar, Style::Gnu);
    if line.idle() { None } else { line.value(name).cloned() }
}

fn bundle(git: &GitCall<'_>) -> Option<Arg> {
    let (sub, rest) = git.sub();
    let line = parse(rest, &["q,quiet", "progress", "version="], Style::Git);
    line.operands.into_iter().next().filter(|_| sub == Some("create"))
}

/// A configuration file that is named and written.
fn config(git: &GitCall<'_>) -> Option<Arg> {
    let grammar: &[&str] = &[
        "f,file=",
        "global",
        "system",
        "local",
        "worktree",
        "blob=",
        "get",
        "get-all",
        "get-regexp",
        "l,list",
        "unset",
        "unset-all",
        "add",
        "replace-all",
        "rename-section",
        "remove-section",
        "type=",
        "default=",
    ];
    let line = git.line(grammar);
    let reads = line.any(&["get", "get-all", "get-regexp", "list"]);
    let writes = line.operands.len() > 1 || line.any(&["unset", "unset-all"]);
    line.value("file").filter(|_| writes && !reads).cloned()
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Scene, at, reaches};
    use super::*;

    #[test]
    fn a_patch_is_read_to_know_its_files() {
        let mut scene = Scene::gate();
        let write = vec![Effect::Write { path: at("lib/core.rs") }];
        assert_eq!(scene.run("git apply ../p.diff"), write);
        scene.file("/tmp/d.diff", "--- a/docs/a.md\n+++ b/docs/a.md\n");
        assert!(!reaches(&scene.run("git apply /tmp/d.diff"), "lib/core.rs"));
        assert!(reaches(&scene.run("git apply /tmp/gone.diff"), "lib/core.rs"));
        let fed = scene.feed("git apply -p0", "--- lib/core.rs\n+++ lib/core.rs\n");
        assert_eq!(fed, write);
    }

    #[test]
    fn moving_takes_source_and_destination() {
        let scene = Scene::gate();
        assert_eq!(
            scene.run("git mv notes.md docs"),
            [Effect::Remove { path: at("notes.md") }, Effect::Write { path: at("docs/notes.md") }]
        );
    }
}
