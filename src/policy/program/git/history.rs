//! Owns verbs that make, replay or rewrite commits in the work tree, and those that go on with
//! or give up such an operation.

use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    verb(&["merge"], "merges into the branch and its work tree", merge).examples(
        &["git merge other", "git merge --abort", "git merge --ff-only origin/main"],
        &["git merge --help"],
    ),
    verb(&["rebase"], "replays the branch in the work tree", rebase).examples(
        &["git rebase main", "git rebase -i HEAD~2", "git rebase --cont", "git rebase"],
        &["git rebase --show-current-patch", "git rebase --help"],
    ),
    verb(&["cherry-pick", "revert"], "replays commits in the work tree", pick).examples(
        &["git cherry-pick other", "git revert HEAD", "git revert --abort", "git cherry-pick -n x"],
        &["git cherry-pick --help"],
    ),
    verb(&["pull"], "moves branch and work tree to what was fetched", pull)
        .examples(&["git pull", "git pull --rebase"], &["git pull --dry-run", "git pull --help"]),
    verb(&["am"], "applies mails as commits", am).examples(
        &["git am ../p.diff", "git am --abort"],
        &["git am --show-current-patch", "git am --help"],
    ),
    verb(&["bisect"], "moves the work tree through history", bisect).examples(
        &["git bisect start HEAD main", "git bisect good", "git bisect reset"],
        &["git bisect log", "git bisect view", "git bisect"],
    ),
    verb(
        &["merge-recursive", "merge-index", "merge-ours", "merge-subtree", "mergetool"],
        "merges into the work tree",
        rewrite,
    )
    .examples(&["git merge-recursive a -- b c", "git mergetool -y"], &["git mergetool --help"]),
    verb(
        &["subtree", "svn", "p4", "flow", "town", "absorb", "branchless", "machete"],
        "is another program's, with a word that moves branch or work tree",
        foreign,
    )
    .examples(
        &["git subtree pull --prefix=x up main", "git svn rebase", "git town sync"],
        &["git subtree split --prefix=x", "git svn info", "git flow version", "git absorb --help"],
    ),
    verb(&["filter-branch", "filter-repo", "fast-import", "history"], "rewrites history", rewrite)
        .examples(
            &["git filter-branch -f --tree-filter true", "git filter-repo --path lib"],
            &["git filter-repo --help", "git filter-branch -h"],
        ),
];

/// Words with which programs beside git only tell or publish.
const TELLING: &[&str] =
    &["split", "push", "info", "log", "version", "config", "help", "status", "smartlog", "init"];

fn foreign(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(&[]);
    let first = line.operands.first().and_then(Arg::exact);
    let tells = first.map_or(git.verb != "absorb", |word| TELLING.contains(&word));
    if line.idle() || tells { Vec::new() } else { git.tree() }
}

fn merge(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "n",
        "stat",
        "summary",
        "log?",
        "squash",
        "commit",
        "e,edit",
        "cleanup=",
        "ff",
        "ff-only",
        "rerere-autoupdate",
        "verify-signatures",
        "s,strategy=",
        "X,strategy-option=",
        "m,message=",
        "F,file=",
        "into-name=",
        "v,verbose",
        "q,quiet",
        "abort",
        "quit",
        "continue",
        "allow-unrelated-histories",
        "progress",
        "S,gpg-sign?",
        "autostash",
        "overwrite-ignore",
        "signoff",
        "verify",
    ];
    let line = git.line(grammar);
    if line.idle() {
        Vec::new()
    } else if line.any(&["abort", "quit", "continue"]) {
        git.sequencer("merge")
    } else {
        git.tree()
    }
}

fn rebase(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "onto=",
        "keep-base",
        "q,quiet",
        "v,verbose",
        "n,no-stat",
        "signoff",
        "committer-date-is-author-date",
        "reset-author-date",
        "ignore-date",
        "C=",
        "ignore-whitespace",
        "whitespace=",
        "f,force-rebase",
        "no-ff",
        "continue",
        "skip",
        "abort",
        "quit",
        "edit-todo",
        "show-current-patch",
        "apply",
        "m,merge",
        "i,interactive",
        "rerere-autoupdate",
        "empty=",
        "k,keep-empty",
        "autosquash",
        "update-refs",
        "S,gpg-sign?",
        "autostash",
        "x,exec=",
        "r,rebase-merges?",
        "fork-point",
        "s,strategy=",
        "X,strategy-option=",
        "root",
        "reschedule-failed-exec",
        "reapply-cherry-picks",
    ];
    let line = git.line(grammar);
    if line.idle() || line.any(&["show-current-patch"]) {
        Vec::new()
    } else if line.any(&["abort", "quit", "continue", "skip", "edit-todo"]) {
        git.sequencer("rebase")
    } else {
        git.tree()
    }
}

fn pick(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "quit",
        "continue",
        "abort",
        "skip",
        "cleanup=",
        "n,no-commit",
        "e,edit",
        "r",
        "x",
        "s,signoff",
        "m,mainline=",
        "rerere-autoupdate",
        "strategy=",
        "X,strategy-option=",
        "S,gpg-sign?",
        "ff",
        "allow-empty",
        "allow-empty-message",
        "keep-redundant-commits",
        "empty=",
        "reference",
        "commit",
    ];
    let line = git.line(grammar);
    if line.idle() {
        Vec::new()
    } else if line.any(&["quit", "continue", "abort", "skip"]) {
        git.sequencer(if git.verb == "revert" { "revert" } else { "cherry-pick" })
    } else {
        git.tree()
    }
}

fn pull(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &["dry-run", "r,rebase?", "s,strategy=", "X,strategy-option="];
    let line = git.line(grammar);
    if line.idle() || line.has("dry-run") { Vec::new() } else { git.tree() }
}

fn am(git: &GitCall<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "continue",
        "r,resolved",
        "skip",
        "abort",
        "quit",
        "show-current-patch?",
        "retry",
        "allow-empty",
        "p=",
        "C=",
        "directory=",
        "exclude=",
        "include=",
        "patch-format=",
        "whitespace=",
        "quoted-cr=",
        "empty=",
        "S,gpg-sign?",
    ];
    let line = git.line(grammar);
    if line.idle() || line.has("show-current-patch") {
        Vec::new()
    } else if line.any(&["continue", "resolved", "skip", "abort", "quit", "retry", "allow-empty"]) {
        git.sequencer("am")
    } else {
        git.tree()
    }
}

fn bisect(git: &GitCall<'_>) -> Vec<Effect> {
    match git.sub().0 {
        Some("start" | "run" | "replay") => git.tree(),
        Some("reset" | "good" | "bad" | "new" | "old" | "skip" | "next") => git.sequencer("bisect"),
        Some(_) => Vec::new(),
        None if git.args.is_empty() => Vec::new(),
        None => git.tree(),
    }
}

fn rewrite(git: &GitCall<'_>) -> Vec<Effect> {
    if git.line(&["f,force"]).idle() { Vec::new() } else { git.tree() }
}
