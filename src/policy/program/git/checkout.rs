//! Owns verbs that bring files or branches into the work tree: `checkout`, `switch`, `restore`.
//! Where a word may be branch or path, the site is asked, and the wider reading wins.

use super::super::options::Parsed;
use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::{Effect, Scope};
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["checkout"], "switches branches, or throws changes of its paths away", checkout)
        .examples(
            &[
                "git checkout main",
                "git checkout -b new",
                "git checkout -- lib",
                "git checkout HEAD~1 lib/core.rs",
                "git checkout .",
                "git checkout --forc",
                "git checkout -",
                "git checkout --detach",
                "git checkout -p lib",
                "git checkout lib/core.rs",
            ],
            &["git checkout", "git checkout -q", "git checkout --help", "git checkout --"],
        ),
    verb(&["switch"], "moves the work tree to another branch", switch).examples(
        &["git switch other", "git switch -c new", "git switch -", "git switch --det main"],
        &["git switch", "git switch --list", "git switch --help"],
    ),
    verb(&["restore"], "throws changes of its paths away, with --staged their staging", restore)
        .examples(
            &[
                "git restore lib",
                "git restore --staged .",
                "git restore -SW lib/core.rs",
                "git restore -s other -- docs",
                "git restore --sta lib",
            ],
            &["git restore", "git restore --help", "git restore --staged"],
        ),
];

const CHECKOUT: &[&str] = &[
    "b=",
    "B=",
    "l",
    "guess",
    "overlay",
    "q,quiet",
    "recurse-submodules?",
    "progress",
    "m,merge",
    "conflict=",
    "d,detach",
    "t,track?",
    "f,force",
    "orphan=",
    "overwrite-ignore",
    "ignore-other-worktrees",
    "2,ours",
    "3,theirs",
    "p,patch",
    "ignore-skip-worktree-bits",
    "pathspec-from-file=",
    "pathspec-file-nul",
];

fn checkout(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(CHECKOUT);
    if line.idle() {
        return Vec::new();
    }
    if line.any(&["b", "B", "orphan", "detach", "track"]) {
        return git.tree();
    }
    let (tree_ish, paths) = sides(git, &line);
    let listed = line.value("pathspec-from-file").is_some();
    if !paths.is_empty() || listed || line.has("patch") {
        return git.pathspec(git.named(&line, paths, Scope::All));
    }
    // With `-f` and nothing else every local change is thrown away.
    if tree_ish || line.any(&["force", "merge"]) { git.tree() } else { Vec::new() }
}

/// Whether a branch or commit is named, and the paths.
fn sides<'a>(git: &GitCall<'_>, line: &'a Parsed) -> (bool, &'a [Arg]) {
    if line.dashes.is_some() {
        let (before, behind) = line.split();
        // `checkout -- a` may come before further operands; words before `--` name one tree.
        return (!before.is_empty(), behind);
    }
    let Some((first, rest)) = line.operands.split_first() else { return (false, &[]) };
    let Some(word) = first.exact() else { return (true, &line.operands) };
    if git.is_revision(word) {
        return (true, rest);
    }
    if !rest.is_empty() || is_path(git, first, word) {
        return (false, &line.operands);
    }
    // Not there: a branch the line itself makes, or one of a remote that git makes on the way.
    (true, rest)
}

fn is_path(git: &GitCall<'_>, arg: &Arg, word: &str) -> bool {
    let pattern = arg.glob.is_some() || word.contains(['*', '?', '[']) || word.starts_with(':');
    pattern || git.place.entry(word) != Entry::Missing
}

const SWITCH: &[&str] = &[
    "c,create=",
    "C,force-create=",
    "guess",
    "discard-changes",
    "q,quiet",
    "recurse-submodules?",
    "progress",
    "m,merge",
    "conflict=",
    "d,detach",
    "t,track?",
    "f,force",
    "orphan=",
    "overwrite-ignore",
    "ignore-other-worktrees",
];

fn switch(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(SWITCH);
    let named = !line.operands.is_empty()
        || line.any(&["create", "force-create", "orphan", "detach", "track"]);
    if line.idle() || !named { Vec::new() } else { git.tree() }
}

const RESTORE: &[&str] = &[
    "s,source=",
    "S,staged",
    "W,worktree",
    "ignore-unmerged",
    "overlay",
    "q,quiet",
    "recurse-submodules?",
    "progress",
    "m,merge",
    "conflict=",
    "2,ours",
    "3,theirs",
    "p,patch",
    "ignore-skip-worktree-bits",
    "pathspec-from-file=",
    "pathspec-file-nul",
];

fn restore(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(RESTORE);
    let named = !line.operands.is_empty()
        || line.value("pathspec-from-file").is_some()
        || line.has("patch");
    if line.idle() || !named {
        return Vec::new();
    }
    let scope = git.named(&line, &line.operands, Scope::All);
    let staged = line.has("staged");
    let mut out = Vec::new();
    if line.has("worktree") || !staged {
        out.extend(git.pathspec(scope.clone()));
    }
    if staged {
        out.extend(git.unstage(scope));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Scene, reaches};
    use super::*;

    #[test]
    fn a_word_is_branch_or_path_as_git_reads_it() {
        let scene = Scene::gate();
        let tree = |line: &str| matches!(scene.run(line).first(), Some(Effect::Tree { .. }));
        assert!(tree("git checkout other") && tree("git checkout made-later"));
        assert!(tree("git checkout HEAD~2") && tree("git checkout @{-1}"));
        assert!(!tree("git checkout notes.md") && !tree("git checkout other docs/a.md"));
        assert!(tree("git checkout -f") && tree("git checkout main --"));
        assert!(!reaches(&scene.run("git checkout other docs/a.md"), "lib/core.rs"));
        assert!(reaches(&scene.run("git checkout --ours ."), "lib/core.rs"));
        assert!(reaches(&scene.run("git checkout HEAD lib/core.rs"), "lib/core.rs"));
    }

    #[test]
    fn restoring_the_index_leaves_files_alone() {
        let scene = Scene::gate();
        let kinds = |line: &str| {
            scene.run(line).iter().map(|e| matches!(e, Effect::Unstage { .. })).collect::<Vec<_>>()
        };
        assert_eq!(kinds("git restore --staged lib"), [true]);
        assert_eq!(kinds("git restore --staged --worktree lib"), [false, true]);
        assert_eq!(kinds("git restore lib"), [false]);
    }
}
