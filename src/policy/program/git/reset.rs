//! Owns `reset`: what it moves depends on its mode and on whether paths are named.

use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::{Effect, Scope};
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] =
    &[verb(&["reset"], "drops staging, moves the branch, with --hard throws changes away", reset)
        .examples(
            &[
                "git reset --hard",
                "git reset --har",
                "git reset -q --merge",
                "git reset --keep other",
                "git reset --soft HEAD~1",
                "git reset",
                "git reset HEAD lib",
                "git reset -- lib",
            ],
            &["git reset --help", "git reset --soft", "git reset --soft HEAD"],
        )];

const RESET: &[&str] = &[
    "q,quiet",
    "no-refresh",
    "mixed",
    "soft",
    "hard",
    "merge",
    "keep",
    "recurse-submodules?",
    "p,patch",
    "N,intent-to-add",
    "pathspec-from-file=",
    "pathspec-file-nul",
    "refresh",
];

fn reset(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(RESET);
    if line.idle() {
        return Vec::new();
    }
    if line.any(&["hard", "merge", "keep"]) {
        return git.tree();
    }
    let (commit, paths) = match line.dashes {
        Some(_) => {
            let (before, behind) = line.split();
            (before.first(), behind)
        }
        None => sides(git, &line.operands),
    };
    if !paths.is_empty() || line.value("pathspec-from-file").is_some() {
        return git.unstage(git.named(&line, paths, Scope::All));
    }
    let mut out = Vec::new();
    if commit.is_some_and(|word| !stays(word)) {
        out.extend(git.head());
    }
    if !line.has("soft") {
        out.extend(git.unstage(Scope::All));
    }
    out
}

/// Whether a commit is where HEAD is anyway.
fn stays(word: &Arg) -> bool {
    matches!(word.exact(), Some("HEAD" | "@" | "HEAD^0" | "HEAD~0"))
}

fn sides<'a>(git: &GitCall<'_>, operands: &'a [Arg]) -> (Option<&'a Arg>, &'a [Arg]) {
    let Some((first, rest)) = operands.split_first() else { return (None, &[]) };
    let path = |word: &str| {
        !git.is_revision(word)
            && (!rest.is_empty()
                || word.contains(['*', '?', '['])
                || git.place.entry(word) != Entry::Missing)
    };
    match first.exact() {
        Some(word) if path(word) => (None, operands),
        Some(_) | None => (Some(first), rest),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::Scene;
    use super::*;

    #[test]
    fn modes_and_paths_decide_what_moves() {
        let scene = Scene::gate();
        let run = |line: &str| scene.run(line);
        assert!(matches!(run("git reset --hard HEAD").as_slice(), [Effect::Tree { .. }]));
        assert!(matches!(run("git reset --soft HEAD~1").as_slice(), [Effect::Head { .. }]));
        assert!(matches!(
            run("git reset HEAD~1").as_slice(),
            [Effect::Head { .. }, Effect::Unstage { scope: Scope::All, .. }]
        ));
        assert!(matches!(
            run("git reset lib").as_slice(),
            [Effect::Unstage { scope: Scope::Paths { .. }, .. }]
        ));
        assert!(matches!(run("git reset").as_slice(), [Effect::Unstage { scope: Scope::All, .. }]));
    }
}
