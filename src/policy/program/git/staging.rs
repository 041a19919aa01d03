//! Owns what goes into the index and from there into a commit: `add`, `commit`. Must never take
//! a dry run for the deed.

use super::super::verbs::{Verb, verb};
use super::{GitCall, Index};
use crate::policy::facts::{CommitScope, Effect, Scope};
use crate::policy::shell::{Arg, Entry, Stdin};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["add", "stage"], "stages what its pathspecs name, with -A or -u everything", add)
        .examples(
            &[
                "git add -A",
                "git add --al",
                "git add -vA",
                "git add lib",
                "git add --update",
                "git stage .",
                "git add -N new.rs",
                "git add --pathspec-from-file=../list",
            ],
            &[
                "git add",
                "git add -n .",
                "git add --dry-run -A",
                "git add -i",
                "git add -p lib",
                "git add --refresh .",
                "git add --help",
                "GIT_INDEX_FILE=/tmp/idx git add -A",
            ],
        ),
    verb(&["commit"], "commits the index, with -a or paths what those name", commit).examples(
        &[
            "git commit -m x",
            "git commit -qam x",
            "git commit --amend --no-edit",
            "git commit -m x -- lib",
            "git commit -F ../x -i lib/util.rs",
            "git commit --inc docs -m x",
        ],
        &[
            "git commit --al -m x",
            "git commit -a --dry-run",
            "git commit --porcelain",
            "git commit --short -a",
            "git commit --help",
        ],
    ),
];

const ADD: &[&str] = &[
    "n,dry-run",
    "v,verbose",
    "i,interactive",
    "p,patch",
    "e,edit",
    "f,force",
    "u,update",
    "renormalize",
    "N,intent-to-add",
    "A,all",
    "ignore-removal",
    "refresh",
    "ignore-errors",
    "ignore-missing",
    "sparse",
    "chmod=",
    "warn-embedded-repo",
    "pathspec-from-file=",
    "pathspec-file-nul",
];

/// Whether anybody answers the questions of an interactive verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// Text is fed to it.
    Fed,
    /// A call of an agent has no terminal: the first question ends it.
    None,
}

fn answers(git: &GitCall<'_>) -> Answers {
    match &git.call.invocation.stdin {
        Stdin::Inherited => Answers::None,
        Stdin::Text(text) if text.is_empty() => Answers::None,
        Stdin::File(file) if file.exact() == Some("/dev/null") => Answers::None,
        Stdin::Text(_) | Stdin::File(_) | Stdin::Unknown => Answers::Fed,
    }
}

fn add(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(ADD);
    if line.idle() || line.any(&["dry-run", "refresh"]) {
        return Vec::new();
    }
    if line.any(&["interactive", "patch"]) {
        return match answers(git) {
            Answers::None => Vec::new(),
            Answers::Fed => git.stage(git.named(&line, &line.operands, Scope::All)),
        };
    }
    let none = if line.has("all") {
        Scope::All
    } else if line.any(&["update", "renormalize", "edit"]) {
        Scope::Tracked
    } else {
        Scope::Paths { take: Vec::new(), leave: Vec::new() }
    };
    match git.named(&line, &line.operands, none) {
        Scope::Paths { take, .. } if take.is_empty() => Vec::new(),
        Scope::All if line.has("update") => git.stage(Scope::Tracked),
        scope @ (Scope::All | Scope::Tracked | Scope::Paths { .. } | Scope::Matched { .. }) => {
            git.stage(scope)
        }
    }
}

const COMMIT: &[&str] = &[
    "q,quiet",
    "v,verbose",
    "F,file=",
    "author=",
    "date=",
    "m,message=",
    "c,reedit-message=",
    "C,reuse-message=",
    "fixup=",
    "squash=",
    "reset-author",
    "trailer=",
    "s,signoff",
    "t,template=",
    "e,edit",
    "cleanup=",
    "status",
    "S,gpg-sign?",
    "a,all",
    "i,include",
    "interactive",
    "p,patch",
    "o,only",
    "n,no-verify",
    "dry-run",
    "short",
    "branch",
    "ahead-behind",
    "porcelain",
    "long",
    "z,null",
    "amend",
    "no-post-rewrite",
    "u,untracked-files?",
    "pathspec-from-file=",
    "pathspec-file-nul",
    "allow-empty",
    "allow-empty-message",
    "verify",
    "post-rewrite",
];

fn commit(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(COMMIT);
    if line.idle() || line.any(&["dry-run", "short", "porcelain", "long"]) {
        return Vec::new();
    }
    let nothing = Scope::Paths { take: Vec::new(), leave: Vec::new() };
    let paths = !line.operands.is_empty() || line.value("pathspec-from-file").is_some();
    let named = || git.named(&line, &line.operands, nothing.clone());
    let scope = if line.has("all") {
        CommitScope::Tracked
    } else if line.any(&["patch", "interactive"]) {
        match answers(git) {
            // Nothing is picked, but what the index holds already is committed all the same.
            Answers::None => CommitScope::Index,
            Answers::Fed => CommitScope::Include(git.named(&line, &line.operands, Scope::Tracked)),
        }
    } else if line.has("include") {
        CommitScope::Include(named())
    } else if paths || line.has("only") {
        CommitScope::Only(named())
    } else {
        CommitScope::Index
    };
    let mut out = concludes(git);
    // An index of its own is stale as soon as somebody else commits, and its next commit then
    // silently takes their commit back.
    if git.index == Index::Private || (!line.has("no-verify") && sweeps(git)) {
        out.extend(git.tree());
    }
    out.push(Effect::Commit {
        root: git.root.path.clone(),
        scope,
        amend: line.has("amend"),
        words: git.words.clone(),
    });
    out
}

/// A commit while a merge or the like is under way ends it, and that is for who began it.
fn concludes(git: &GitCall<'_>) -> Vec<Effect> {
    let under_way = |file: &str| {
        git.place.site.entry(&git.root.git_dir.join(file).to_string()) != Entry::Missing
    };
    let operations =
        [("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")];
    let begun = operations.into_iter().filter(|(file, _)| under_way(file));
    begun.flat_map(|(_, operation)| git.sequencer(operation)).collect()
}

/// Bytes of a configuration file that are looked at.
const CONFIG: usize = 1 << 16;
/// Bytes of a commit hook that are looked at.
const HOOK: usize = 1 << 14;

/// Whether the repository's commit hook is of a framework that stashes unstaged work of
/// everybody while it runs.
fn sweeps(git: &GitCall<'_>) -> bool {
    let site = git.place.site;
    let own = git.root.common.join("hooks").to_string();
    let configured =
        says_hooks(git).then(|| site.git_config(&git.root, "core.hooksPath")).flatten();
    let husky = git.root.path.join(".husky").to_string();
    let dirs = [configured.and_then(|dir| git.place.absolute(&dir)), Some(own), Some(husky)];
    dirs.iter().flatten().any(|dir| {
        let text = site.read(&format!("{dir}/pre-commit"), HOOK).unwrap_or_default();
        ["lint-staged", "pre_commit", "pre-commit.com", "pre-commit run", "pre-commit hook-impl"]
            .iter()
            .any(|name| text.contains(name))
    })
}

/// Whether any configuration file moves the hooks; asking git costs more than looking.
fn says_hooks(git: &GitCall<'_>) -> bool {
    let site = git.place.site;
    let home = site.home().unwrap_or_default();
    let files = [
        git.root.common.join("config").to_string(),
        git.root.git_dir.join("config.worktree").to_string(),
        format!("{home}/.gitconfig"),
        format!("{home}/.config/git/config"),
    ];
    files.iter().any(|file| {
        let text = site.read(file, CONFIG).unwrap_or_default();
        text.to_lowercase().contains("hookspath") || text.contains("[include")
    })
}

/// Pathspecs a plain `Arg` list names, for verbs that stage what they are given.
pub(super) fn stage_named(git: &GitCall<'_>, specs: &[Arg]) -> Vec<Effect> {
    if specs.is_empty() {
        return Vec::new();
    }
    git.stage(git.scope(specs, Scope::All))
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{ROOT, Scene, reaches};
    use super::*;

    fn scope_of(line: &str) -> CommitScope {
        let Some(Effect::Commit { scope, .. }) = Scene::gate().run(line).pop() else {
            panic!("{line} commits")
        };
        scope
    }

    #[test]
    fn commit_scopes_follow_the_options() {
        assert_eq!(scope_of("git commit -m lib"), CommitScope::Index);
        assert_eq!(scope_of("git commit -amx"), CommitScope::Tracked);
        assert!(matches!(scope_of("git commit -m x docs/a.md"), CommitScope::Only(_)));
        assert!(matches!(scope_of("git commit -i docs -m x"), CommitScope::Include(_)));
        assert_eq!(scope_of("git commit --amend"), CommitScope::Index);
        assert_eq!(scope_of("git commit -m 'git add -A; rm -rf lib'"), CommitScope::Index);
        assert_eq!(scope_of("git commit -m x ."), CommitScope::Only(Scope::All));
    }

    #[test]
    fn a_private_index_hides_staging_but_not_its_commit() {
        let effects = Scene::gate().run("GIT_INDEX_FILE=/tmp/idx git commit -m x");
        assert!(matches!(effects.first(), Some(Effect::Tree { .. })));
    }

    #[test]
    fn a_commit_hook_that_stashes_counts_for_the_whole_tree() {
        let mut scene = Scene::gate();
        scene.file(&format!("{ROOT}/.git/hooks/pre-commit"), "exec python -mpre_commit hook-impl");
        assert!(reaches(&scene.run("git commit -m x -- notes.md"), "lib/core.rs"));
        assert!(!reaches(&scene.run("git commit -n -m x -- notes.md"), "lib/core.rs"));
    }

    #[test]
    fn answers_fed_to_an_interactive_add_count() {
        let fed = Scene::gate().feed("git add -p", "y\n");
        assert!(reaches(&fed, "lib/core.rs"));
    }
}
