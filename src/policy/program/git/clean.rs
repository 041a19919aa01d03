//! Owns `clean`: removes what git does not know, and with a second `-f` whole nested work trees.

use super::super::verbs::{Verb, verb};
use super::GitCall;
use crate::policy::facts::{Effect, Scope, Untracked};
use crate::policy::shell::Stdin;

/// The rows.
pub(super) const ROWS: &[Verb] =
    &[verb(&["clean"], "removes untracked files, with -x ignored ones too", clean).examples(
        &["git clean -fd", "git clean --forc", "git clean -xdf", "git clean -f docs"],
        &["git clean -n", "git clean -fn", "git clean -fd --dry-run", "git clean", "git clean -h"],
    )];

const CLEAN: &[&str] =
    &["q,quiet", "n,dry-run", "f,force", "i,interactive", "d", "e,exclude=", "x", "X"];

fn clean(git: &GitCall<'_>) -> Vec<Effect> {
    let line = git.line(CLEAN);
    if line.idle() || line.has("dry-run") {
        return Vec::new();
    }
    let stdin = &git.call.invocation.stdin;
    let asked = line.has("interactive") && *stdin != Stdin::Inherited;
    // Without `-f` git refuses, unless the configuration says otherwise.
    let lax = || {
        let config = git.place.site.git_config(&git.root, "clean.requireForce");
        config.is_some_and(|v| matches!(v.as_str(), "false" | "0" | "no" | "off"))
    };
    if !line.has("force") && !asked && !lax() {
        return Vec::new();
    }
    let scope = git.scope(&line.operands, Scope::All);
    let scope = match (scope, git.place.here()) {
        // From a folder of the tree only that folder is cleaned.
        (Scope::All, Some(here)) if line.operands.is_empty() && here != git.root.path => {
            Scope::Paths { take: vec![here], leave: Vec::new() }
        }
        (scope, _) => scope,
    };
    let mut out = match &scope {
        Scope::All => git.tree(),
        Scope::Tracked | Scope::Paths { .. } | Scope::Matched { .. } => git.pathspec(scope.clone()),
    };
    let which = match (line.has("x"), line.has("X")) {
        (true, _) => Untracked::Both,
        (false, true) => Untracked::Ignored,
        (false, false) => Untracked::Unknown,
    };
    out.push(git.untracked(scope.clone(), which));
    if forced_twice(git) {
        let nested = git.place.site.roots_below(&git.root.path).into_iter().map(|r| r.path);
        let taken = nested.filter(|path| scope.overlaps(&git.root.path, path));
        out.extend(taken.map(|path| Effect::Remove { path }));
    }
    out
}

/// Whether `-f` stands twice, which takes nested repositories too.
fn forced_twice(git: &GitCall<'_>) -> bool {
    let in_word = |text: &str| {
        if text.starts_with("--f") {
            1
        } else if text.starts_with("--") || !text.starts_with('-') {
            0
        } else {
            text.matches('f').count()
        }
    };
    let words = git.args.iter().filter_map(|a| a.exact()).take_while(|t| *t != "--");
    words.map(in_word).sum::<usize>() > 1
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{ROOT, Scene, reaches};

    #[test]
    fn ignored_files_go_with_an_x_only() {
        use crate::policy::facts::{Effect, Scope, Untracked};
        let scene = Scene::gate();
        let taken = |line: &str| {
            scene.run(line).into_iter().find_map(|effect| {
                if let Effect::Untracked { scope, which, .. } = effect {
                    Some((which, scope))
                } else {
                    None
                }
            })
        };
        assert_eq!(taken("git clean -fdx"), Some((Untracked::Both, Scope::All)));
        assert_eq!(taken("git clean -fX"), Some((Untracked::Ignored, Scope::All)));
        let some = taken("git clean -fdx docs");
        assert!(matches!(some, Some((Untracked::Both, Scope::Paths { .. }))));
        assert_eq!(taken("git clean -fd"), Some((Untracked::Unknown, Scope::All)));
        assert_eq!(taken("git clean -ndx"), None);
    }

    #[test]
    fn nested_trees_go_with_a_second_force_only() {
        let mut scene = Scene::gate();
        scene.nested.push(format!("{ROOT}/.claude/worktrees/w1"));
        let held = ".claude/worktrees/w1/lib/core.rs";
        let removed = |line: &str| {
            use crate::policy::facts::Effect;
            scene.run(line).iter().any(|e| matches!(e, Effect::Remove { .. }))
        };
        assert!(removed("git clean -ffdx") && removed("git clean -f -d -f"));
        assert!(!removed("git clean -fdx"));
        assert!(!removed("git clean -ffdx docs"));
        assert!(reaches(&scene.run("git clean -ffdx"), held));
    }
}
