//! Owns verbs that move, rename or delete refs: `branch`, `update-ref`, `symbolic-ref`, `fetch`,
//! `reflog`. A ref that HEAD stands on is the work tree's; the stash is everybody's.

use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::{Effect, OperatorUse, StashUse};
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["branch"], "with -d, -D, -f or -m deletes, forces or renames branches", branch)
        .examples(
            &[
                "git branch -D other",
                "git branch -f other main",
                "git branch -m new",
                "git branch --del other",
                "git branch -M other new",
            ],
            &[
                "git branch",
                "git branch new",
                "git branch -a",
                "git branch -rd origin/x",
                "git branch -f main other",
                "git branch --show-current",
            ],
        ),
    verb(&["update-ref"], "moves a ref by hand", update_ref).examples(
        &[
            "git update-ref HEAD other",
            "git update-ref refs/heads/main other",
            "git update-ref -d refs/stash",
            "git update-ref --stdin",
            "git update-ref -d refs/octo/keep/x",
        ],
        &["git update-ref refs/tags/t other", "git update-ref --help"],
    ),
    verb(&["symbolic-ref"], "points HEAD at another branch", symbolic_ref).examples(
        &["git symbolic-ref HEAD refs/heads/other", "git symbolic-ref -d HEAD"],
        &["git symbolic-ref HEAD", "git symbolic-ref --short HEAD"],
    ),
    verb(&["fetch"], "with a forced refspec moves a local branch", fetch).examples(
        &[
            "git fetch origin +main:other",
            "git fetch -u origin main:main",
            "git fetch -f . main:other",
        ],
        &["git fetch", "git fetch --all --prune", "git fetch origin main", "git fetch origin a:b"],
    ),
    verb(&["reflog"], "can drop entries of the stash", reflog).examples(
        &["git reflog delete stash@{0}", "git reflog expire --expire=now refs/stash"],
        &["git reflog", "git reflog expire --all", "git reflog show"],
    ),
];

const BRANCH: &[&str] = &[
    "v,verbose",
    "q,quiet",
    "t,track?",
    "u,set-upstream-to=",
    "unset-upstream",
    "color?",
    "r,remotes",
    "contains?",
    "no-contains?",
    "abbrev?",
    "a,all",
    "d,delete",
    "D",
    "m,move",
    "M",
    "omit-empty",
    "c,copy",
    "C",
    "l,list",
    "show-current",
    "create-reflog",
    "edit-description",
    "f,force",
    "merged?",
    "no-merged?",
    "column?",
    "sort=",
    "points-at=",
    "i,ignore-case",
    "recurse-submodules",
    "format=",
];

fn branch(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(BRANCH);
    if line.idle() || line.any(&["remotes", "all", "list"]) {
        return Vec::new();
    }
    let names: Vec<&str> = line.operands.iter().map(|a| a.exact().unwrap_or("?")).collect();
    let force = line.has("force");
    if line.any(&["delete", "D"]) {
        return names.iter().filter_map(|name| git.branch(name)).collect();
    }
    let (moves, copies) = (line.any(&["move", "M"]), line.any(&["copy", "C"]));
    let replaces = force || line.any(&["M", "C"]);
    match (names.as_slice(), moves) {
        ([_], true) => git.head(),
        ([old, new, ..], true) => {
            let here = git.place.site.head_branch(&git.root);
            let mut out = if here.as_deref() == Some(*old) { git.head() } else { Vec::new() };
            out.extend(git.branch(old));
            out.extend(if replaces { git.branch(new) } else { None });
            out
        }
        ([.., new], false) if copies && replaces => git.branch(new).into_iter().collect(),
        ([name, ..], false) if force && !copies => git.branch(name).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// What moving or deleting one ref means.
fn moved(git: &GitCall<'_>, name: &str) -> Vec<Effect> {
    let here = git.place.site.head_branch(&git.root);
    let short = name.strip_prefix("refs/heads/");
    if matches!(name, "HEAD" | "@") || (short.is_some() && short == here.as_deref()) {
        return git.head();
    }
    if name == "refs/stash" || name == "stash" {
        return stash(git, StashUse::Clear);
    }
    if name.starts_with("refs/octo/") {
        return vec![Effect::Operator(OperatorUse::Verb(git.words.clone()))];
    }
    short.and_then(|short| git.branch(short)).into_iter().collect()
}

fn stash(git: &GitCall<'_>, take: StashUse) -> Vec<Effect> {
    vec![Effect::Stash { root: git.root.path.clone(), take, words: git.words.clone() }]
}

fn update_ref(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(&["m=", "d", "no-deref", "stdin", "z", "create-reflog", "deref"]);
    if line.idle() {
        return Vec::new();
    }
    if line.has("stdin") {
        let Some(text) = git.stdin() else { return git.head() };
        let names = text.lines().filter_map(|l| {
            let mut words = l.split_whitespace();
            let verb = words.next()?;
            matches!(verb, "update" | "create" | "delete" | "symref-update")
                .then(|| words.next())?
        });
        return names.flat_map(|name| moved(git, name)).collect();
    }
    match line.operands.first().map(Arg::exact) {
        Some(Some(name)) => moved(git, name),
        Some(None) => git.head(),
        None => Vec::new(),
    }
}

fn symbolic_ref(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(&["q,quiet", "d,delete", "short", "recurse", "m="]);
    let writes = line.has("delete") || line.operands.len() > 1;
    let name = line.operands.first().and_then(Arg::exact);
    match name {
        Some("HEAD") | None if writes && !line.idle() => git.head(),
        Some(_) | None => Vec::new(),
    }
}

fn fetch(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "f,force",
        "u,update-head-ok",
        "j,jobs=",
        "depth=",
        "deepen=",
        "shallow-since=",
        "shallow-exclude=",
        "upload-pack=",
        "refmap=",
        "o,server-option=",
        "negotiation-tip=",
        "filter=",
        "dry-run",
        "recurse-submodules?",
    ];
    let line = git.line(grammar);
    if line.idle() || line.has("dry-run") {
        return Vec::new();
    }
    let mut out = Vec::new();
    let here = git.place.site.head_branch(&git.root);
    for spec in line.operands.iter().skip(1).filter_map(Arg::exact) {
        let forced = spec.starts_with('+') || line.has("force");
        let Some((_, to)) = spec.split_once(':') else { continue };
        let branch = to.strip_prefix("refs/heads/").unwrap_or(to);
        if here.as_deref() == Some(branch) {
            out.extend(if line.has("update-head-ok") { git.head() } else { Vec::new() });
        } else if forced && (!to.starts_with("refs/") || to != branch) {
            out.extend(git.branch(branch));
        }
    }
    out
}

fn reflog(git: &GitCall<'_>) -> Vec<Effect> {
    let (sub, rest) = git.sub();
    let of_stash = |arg: &&Arg| {
        arg.exact().is_some_and(|t| t.starts_with("stash@") || matches!(t, "stash" | "refs/stash"))
    };
    match (sub, rest.iter().find(of_stash)) {
        (Some("delete"), Some(entry)) => {
            stash(git, StashUse::Take(entry.exact().map(str::to_owned)))
        }
        (Some("expire"), Some(_)) => stash(git, StashUse::Clear),
        _ => Vec::new(),
    }
}
