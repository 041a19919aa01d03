//! Owns `stash`: one stack for all work trees of a repository, filled from everybody's changes.

use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::{Effect, Scope, StashUse};
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] =
    &[verb(&["stash"], "takes changes off the tree, or an entry off the shared stack", stash)
        .examples(
            &[
                "git stash",
                "git stash -u",
                "git stash save x",
                "git stash push docs",
                "git stash pop",
                "git stash drop stash@{1}",
                "git stash clear",
                "git stash branch nb",
                "git stash apply",
                "git stash push --staged",
            ],
            &[
                "git stash list",
                "git stash show -p",
                "git stash create",
                "git stash --help",
                "git stash push --help",
                "git stash apply 0123456789abcdef",
            ],
        )];

const PUSH: &[&str] = &[
    "k,keep-index",
    "S,staged",
    "p,patch",
    "q,quiet",
    "u,include-untracked",
    "a,all",
    "m,message=",
    "pathspec-from-file=",
    "pathspec-file-nul",
];

const TAKE: &[&str] = &["q,quiet", "index"];

fn stash(git: &GitCall<'_>) -> Vec<Effect> {
    let (sub, rest) = git.sub();
    match sub {
        Some("list" | "show" | "create" | "store") => Vec::new(),
        Some("push") => push(git, rest),
        Some("save") => {
            let line = super::parse(rest, PUSH, super::Style::Git);
            if line.idle() { Vec::new() } else { git.tree() }
        }
        Some("pop" | "drop") => take(git, rest),
        Some("apply") => apply(git, rest),
        Some("clear") => used(git, StashUse::Clear),
        Some("branch") => {
            let mut out = take(git, rest.get(1..).unwrap_or_default());
            out.extend(git.tree());
            out
        }
        // Without a verb of its own `stash` means `push`, whose options it takes.
        None if git.args.is_empty() => git.tree(),
        Some(word) if word.starts_with('-') => push(git, git.args),
        Some(_) => Vec::new(),
        None => git.tree(),
    }
}

fn push(git: &GitCall<'_>, args: &[Arg]) -> Vec<Effect> {
    let line = super::parse(args, PUSH, super::Style::Git);
    if line.idle() {
        return Vec::new();
    }
    if line.has("staged") {
        return git.unstage(Scope::All);
    }
    let listed = line.value("pathspec-from-file").is_some();
    if line.operands.is_empty() && !listed {
        return git.tree();
    }
    match git.named(&line, &line.operands, Scope::All) {
        Scope::All => git.tree(),
        scope @ (Scope::Tracked | Scope::Paths { .. } | Scope::Matched { .. }) => {
            git.pathspec(scope)
        }
    }
}

fn used(git: &GitCall<'_>, take: StashUse) -> Vec<Effect> {
    vec![Effect::Stash { root: git.root.path.clone(), take, words: git.words.clone() }]
}

fn take(git: &GitCall<'_>, args: &[Arg]) -> Vec<Effect> {
    let line = super::parse(args, TAKE, super::Style::Git);
    if line.idle() {
        return Vec::new();
    }
    let entry = line.operands.first().map(|arg| arg.exact().unwrap_or("?").to_owned());
    used(git, StashUse::Take(entry))
}

/// An entry named by its hash is meant; a place in the stack may be somebody else's by now.
fn apply(git: &GitCall<'_>, args: &[Arg]) -> Vec<Effect> {
    let line = super::parse(args, TAKE, super::Style::Git);
    let hash = |text: &str| text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if line.operands.first().and_then(Arg::exact).is_some_and(hash) {
        return Vec::new();
    }
    take(git, args)
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Scene, reaches};
    use super::*;

    #[test]
    fn pushing_paths_takes_only_them() {
        let scene = Scene::gate();
        assert!(!reaches(&scene.run("git stash push docs"), "lib/core.rs"));
        assert!(!reaches(&scene.run("git stash -- docs"), "lib/core.rs"));
        assert!(reaches(&scene.run("git stash push -m x"), "lib/core.rs"));
        assert!(reaches(&scene.run("git stash -k"), "lib/core.rs"));
        assert!(reaches(&scene.run("git stash push -- ."), "lib/core.rs"));
    }

    #[test]
    fn the_entry_is_kept_as_written() {
        let Some(Effect::Stash { take, .. }) = Scene::gate().run("git stash pop stash@{2}").pop()
        else {
            panic!("pop uses an entry")
        };
        assert_eq!(take, StashUse::Take(Some("stash@{2}".to_owned())));
    }
}
