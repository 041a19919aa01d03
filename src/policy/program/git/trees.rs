//! Owns verbs about other work trees: `worktree`, `submodule`, `sparse-checkout`. Making a tree
//! always passes: it is the way out.

use super::super::Follow;
use super::super::options::{Style, parse};
use super::super::paths::{Target, base_name};
use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::{Effect, Scope, Why};
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["worktree"], "with remove or move takes a work tree away", worktree).examples(
        &[
            "git worktree remove ../wt",
            "git worktree remove -f -f ../wt",
            "git worktree move ../a ../b",
        ],
        &[
            "git worktree add ../x -b y",
            "git worktree list",
            "git worktree prune",
            "git worktree lock ../wt",
            "git worktree remove --help",
        ],
    ),
    verb(&["submodule"], "checks out or removes submodules", submodule).examples(
        &["git submodule update lib", "git submodule deinit -f lib", "git submodule add ../up sub"],
        &["git submodule status", "git submodule", "git submodule update --init"],
    ),
    verb(&["sparse-checkout"], "adds and removes files of the whole tree", sparse).examples(
        &["git sparse-checkout set docs", "git sparse-checkout disable"],
        &["git sparse-checkout list"],
    ),
    verb(&["lfs"], "with migrate rewrites the tree", lfs)
        .examples(&["git lfs migrate import --include=x"], &["git lfs pull", "git lfs ls-files"]),
];

fn worktree(git: &GitCall<'_>) -> Vec<Effect> {
    let (sub, rest) = git.sub();
    let line = parse(rest, &["f,force", "b=", "B=", "reason="], Style::Git);
    if line.idle() {
        return Vec::new();
    }
    let Some(path) = line.operands.first() else { return Vec::new() };
    match sub {
        Some("remove" | "move") => match git.place.target(path, Follow::All) {
            Target::At(path) => vec![Effect::Worktree { path, words: git.words.clone() }],
            Target::Among(paths) => paths
                .into_iter()
                .map(|path| Effect::Worktree { path, words: git.words.clone() })
                .collect(),
            Target::Below(dir) => {
                vec![super::super::paths::opaque(Some(dir), Why::Operand, &git.words)]
            }
            Target::Nowhere => Vec::new(),
            Target::Unknown(why) => vec![git.place.opaque(why, &git.words)],
        },
        Some("add") if unreadable(path) => vec![git.place.opaque(Why::Operand, &git.words)],
        Some(_) | None => Vec::new(),
    }
}

/// A path with a control character names another directory than it seems to.
fn unreadable(path: &Arg) -> bool {
    path.exact().is_some_and(|text| text.chars().any(char::is_control))
}

/// Bytes of `.gitmodules` that are read.
const MODULES: usize = 1 << 16;

fn submodule(git: &GitCall<'_>) -> Vec<Effect> {
    let (sub, rest) = git.sub();
    let grammar: &[&str] = &[
        "q,quiet",
        "f,force",
        "init",
        "all",
        "remote",
        "N,no-fetch",
        "recursive",
        "checkout",
        "rebase",
        "merge",
        "reference=",
        "depth=",
        "j,jobs=",
        "b,branch=",
        "name=",
        "filter=",
    ];
    let line = parse(rest, grammar, Style::Git);
    if line.idle() {
        return Vec::new();
    }
    match sub {
        Some("update" | "deinit") if line.operands.is_empty() => {
            let take = modules(git);
            let none = take.is_empty();
            if none { Vec::new() } else { git.pathspec(Scope::Paths { take, leave: Vec::new() }) }
        }
        Some("update" | "deinit") => git.pathspec(git.scope(&line.operands, Scope::All)),
        Some("add") => {
            let url = line.operands.first().and_then(Arg::exact).unwrap_or_default();
            let name = base_name(url).trim_end_matches(".git").to_owned();
            let path = line.operands.get(1).cloned().unwrap_or_else(|| Arg::text(name));
            super::staging::stage_named(git, &[Arg::text(":/.gitmodules"), path])
        }
        Some(_) | None => Vec::new(),
    }
}

/// Where the submodules of the tree lie.
fn modules(git: &GitCall<'_>) -> Vec<crate::policy::lane::AbsPath> {
    let file = git.root.path.join(".gitmodules").to_string();
    let text = git.place.site.read(&file, MODULES).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("path"))
        .filter_map(|rest| rest.trim_start().strip_prefix('='))
        .map(|path| git.root.path.join(path.trim()))
        .collect()
}

fn sparse(git: &GitCall<'_>) -> Vec<Effect> {
    match git.sub().0 {
        Some("set" | "add" | "reapply" | "disable" | "init") => git.tree(),
        Some(_) => Vec::new(),
        None if git.args.is_empty() => Vec::new(),
        None => git.tree(),
    }
}

fn lfs(git: &GitCall<'_>) -> Vec<Effect> {
    match git.sub().0 {
        Some("migrate") => git.tree(),
        Some(_) | None => Vec::new(),
    }
}
