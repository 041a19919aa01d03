//! Owns what touching git's own files by hand means: `rm -rf .git` is no removal of a file, it
//! takes the index and the history of everybody.

use super::Site;
use crate::policy::facts::{Effect, Root, StashUse};
use crate::policy::lane::AbsPath;

/// An effect, and what it means for the repository when it falls into a git directory.
pub(super) fn translate(effect: Effect, site: &dyn Site) -> Vec<Effect> {
    let meant = effect.changed().and_then(|path| meaning(path, site));
    std::iter::once(effect).chain(meant).collect()
}

/// The work tree and the part below its `.git`.
fn inside(path: &AbsPath, site: &dyn Site) -> Option<(Root, String)> {
    let text = path.key();
    let (tree, rest) =
        text.split_once("/.git").filter(|(_, r)| r.is_empty() || r.starts_with('/'))?;
    let root = site.root_of(&AbsPath::new(tree)?)?;
    Some((root, rest.trim_start_matches('/').to_owned()))
}

fn meaning(path: &AbsPath, site: &dyn Site) -> Option<Effect> {
    let (root, rest) = inside(path, site)?;
    let words = path.to_string();
    let tree = root.path.clone();
    if let Some(branch) = rest.strip_prefix("refs/heads/") {
        let here = site.head_branch(&root).as_deref() == Some(branch);
        let branch = branch.to_owned();
        return Some(if here {
            Effect::Head { root: tree, words }
        } else {
            Effect::Branch { root: tree, branch, words }
        });
    }
    if let Some(name) = rest.strip_prefix("worktrees/") {
        let id = name.split('/').next().unwrap_or(name);
        let link = root.common.join("worktrees").join(id).join("gitdir");
        let text = site.read(&link.to_string(), 4096)?;
        let path = AbsPath::new(text.trim())?.parent()?;
        return Some(Effect::Worktree { path, words });
    }
    let operation = match rest.split('/').next().unwrap_or_default() {
        "MERGE_HEAD" | "MERGE_MSG" => Some("merge"),
        "rebase-merge" | "rebase-apply" => Some("rebase"),
        "CHERRY_PICK_HEAD" | "sequencer" => Some("cherry-pick"),
        "REVERT_HEAD" => Some("revert"),
        "BISECT_LOG" | "BISECT_START" => Some("bisect"),
        _ => None,
    };
    if let Some(operation) = operation {
        return Some(Effect::Sequencer { root: tree, operation, words });
    }
    match rest.as_str() {
        "" | "index" | "objects" | "refs" | "refs/heads" | "packed-refs" | "worktrees" => {
            Some(Effect::Tree { root: tree, words })
        }
        "HEAD" => Some(Effect::Head { root: tree, words }),
        "refs/stash" | "logs/refs/stash" => {
            Some(Effect::Stash { root: tree, take: StashUse::Clear, words })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};
    use crate::policy::facts::Effect;

    #[test]
    fn git_s_own_files_stand_for_what_they_hold() {
        let scene = Scene::gate();
        let last = |line: &str| scene.run(line).pop().unwrap();
        assert!(matches!(last("rm -rf .git"), Effect::Tree { .. }));
        assert!(matches!(last("rm .git/index"), Effect::Tree { .. }));
        assert!(matches!(last("cp ../x .git/HEAD"), Effect::Head { .. }));
        assert!(matches!(last("rm -r .git/rebase-merge"), Effect::Sequencer { .. }));
        assert!(matches!(last("rm .git/refs/heads/other"), Effect::Branch { .. }));
        assert!(matches!(last("rm .git/refs/stash"), Effect::Stash { .. }));
        assert!(!reaches(&scene.run("rm -f .git/index.lock"), "lib/core.rs"));
        assert!(!reaches(&scene.run("cp ../x .git/hooks/pre-push"), "lib/core.rs"));
    }
}
