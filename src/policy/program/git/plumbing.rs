//! Owns plumbing that writes index or work tree: `read-tree`, `checkout-index`, `update-index`.

use super::super::Follow;
use super::super::verbs::{Verb, verb};
use super::staging::stage_named;
use super::{GitCall, Index};
use crate::policy::facts::{Effect, Scope};
use crate::policy::shell::{Arg, Piece};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["read-tree"], "replaces the index, with -u the work tree", read_tree).examples(
        &["git read-tree --reset -u other", "git read-tree HEAD", "git read-tree --empty"],
        &["git read-tree -n -m HEAD", "GIT_INDEX_FILE=/tmp/i git read-tree other"],
    ),
    verb(&["checkout-index"], "with -f overwrites files from the index", checkout_index).examples(
        &["git checkout-index -f lib/core.rs", "git checkout-index -nfa"],
        &["git checkout-index lib/core.rs", "git checkout-index --help"],
    ),
    verb(&["update-index"], "changes index entries one by one", update_index).examples(
        &[
            "git update-index lib/core.rs",
            "git update-index --force-remove lib/core.rs",
            "git update-index --cacheinfo 100644,abc,lib/core.rs",
            "git update-index --skip-worktree lib/core.rs",
            "git update-index --again",
        ],
        &["git update-index --refresh", "git update-index -q --really-refresh"],
    ),
];

fn read_tree(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "index-output=",
        "empty",
        "v,verbose",
        "m",
        "trivial",
        "aggressive",
        "reset",
        "prefix=",
        "super-prefix=",
        "u",
        "exclude-per-directory=",
        "i",
        "n,dry-run",
        "q,quiet",
    ];
    let line = git.line(grammar);
    if line.idle() || line.has("dry-run") {
        return Vec::new();
    }
    if line.has("u") {
        return git.tree();
    }
    if let Some(file) = line.value("index-output") {
        return git.place.write(file, Follow::All, &git.words);
    }
    let same = |arg: &Arg| matches!(arg.exact(), Some("HEAD" | "@"));
    match git.index {
        Index::Private => Vec::new(),
        Index::Shared if !line.operands.is_empty() && line.operands.iter().all(same) => {
            git.unstage(Scope::All)
        }
        Index::Shared => git.tree(),
    }
}

fn checkout_index(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] =
        &["a,all", "f,force", "q,quiet", "u,index", "stdin", "z", "temp", "prefix=", "stage=", "n"];
    let line = git.line(grammar);
    if line.idle() || line.has("temp") {
        return Vec::new();
    }
    if let Some(prefix) = line.value("prefix") {
        return git.pathspec(git.scope(std::slice::from_ref(prefix), Scope::All));
    }
    if !line.has("force") {
        return Vec::new();
    }
    if line.any(&["all", "stdin"]) {
        return git.pathspec(Scope::Tracked);
    }
    git.pathspec(git.scope(&line.operands, Scope::Paths { take: Vec::new(), leave: Vec::new() }))
}

const UPDATE: &[&str] = &[
    "q",
    "ignore-submodules",
    "add",
    "replace",
    "remove",
    "unmerged",
    "refresh",
    "really-refresh",
    "cacheinfo=",
    "chmod=",
    "assume-unchanged",
    "no-assume-unchanged",
    "skip-worktree",
    "no-skip-worktree",
    "ignore-skip-worktree-entries",
    "info-only",
    "force-remove",
    "z",
    "stdin",
    "index-info",
    "unresolve",
    "g,again",
    "ignore-missing",
    "verbose",
    "clear-resolve-undo",
    "index-version=",
    "show-index-version",
    "split-index",
    "untracked-cache",
    "test-untracked-cache",
    "force-untracked-cache",
    "force-write-index",
    "fsmonitor",
];

fn update_index(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(UPDATE);
    if line.idle() {
        return Vec::new();
    }
    let mut named: Vec<Arg> = line.operands.clone();
    for info in line.values("cacheinfo") {
        // In the old form mode, object and path are words of their own: operands.
        // The object may be made on the way: `100644,$(git hash-object -w f),path`.
        match (info.exact(), info.pieces.last()) {
            (Some(text), _) => named.extend(text.splitn(3, ',').nth(2).map(Arg::text)),
            (None, Some(Piece::Text(text))) if text.starts_with(',') => {
                named.push(Arg::text(text.trim_start_matches(',')));
            }
            (None, _) => named.push(Arg { pieces: vec![Piece::Any], glob: None }),
        }
    }
    if line.has("again") {
        return git.stage(Scope::Tracked);
    }
    if line.any(&["stdin", "index-info"]) {
        let Some(text) = git.stdin() else { return git.stage(Scope::All) };
        let last = |l: &str| l.rsplit('\t').next().map(|p| p.trim().to_owned());
        named.extend(
            text.split(['\n', '\0']).filter_map(last).filter(|l| !l.is_empty()).map(Arg::text),
        );
    }
    stage_named(git, &named)
}
