//! PURE. Which parts of git directories are closed. Content alone is not enough: `checkout -f`
//! moves HEAD and `commit -a` swallows a held file although nobody could write it, so the whole
//! directory is closed while somebody else is at work in the checkout, and lifted only for what
//! the reader has proved.

use super::GitWrite;
use super::plan::{Asked, Disk, Draft, There, Why};
use crate::policy::facts::{Hold, Root, RootKind};
use crate::policy::lane::AbsPath;

/// What a proved form has no business in: code git runs, and what says where it is from.
const ALWAYS_CLOSED: [&str; 4] = ["hooks", "config", "config.worktree", "info"];
/// What belongs to the main checkout and not to a linked worktree of it.
const MAIN_ONLY: [&str; 3] = ["HEAD", "index", "modules"];

/// Closes and opens git directories in `draft`, with the reasons in `closed`.
pub(super) fn rules(
    asked: &Asked<'_>,
    disk: &dyn Disk,
    draft: &mut Draft,
    closed: &mut Vec<(AbsPath, Why)>,
) {
    let holds = asked.holds;
    let mut shut = |path: AbsPath, root: &Root, hold: Option<&Hold>| {
        let here = disk.there(&path);
        if here == There::Missing || here == There::Link {
            return;
        }
        draft.close(&path);
        closed.push((path, Why::GitDir { root: root.path.clone(), hold: hold.cloned() }));
    };
    for root in &holds.roots {
        let Some(hold) = at_work(asked, root) else { continue };
        let own = holds.trees.iter().any(|t| t.path == root.path);
        let lifted = own && asked.git > GitWrite::None;
        if !lifted {
            // A linked worktree of ours lives in this very directory and needs `packed-refs.lock`
            // there: its parts are closed one by one below.
            let shared = !own && holds.trees.iter().any(|t| t.common == root.git_dir);
            if !shared {
                shut(root.git_dir.clone(), root, Some(hold));
            }
            // The branch could be moved under it from the shared part.
            if own {
                shut(root.common.clone(), root, Some(hold));
            } else if let Some(branch) = disk.branch_file(root) {
                shut(branch, root, Some(hold));
            }
            // The pointer of a linked worktree, by which another index could be slid in.
            if matches!(root.kind, RootKind::Linked { .. }) {
                shut(root.path.join(".git"), root, Some(hold));
            }
        } else if asked.git == GitWrite::OwnIndex {
            for name in ALWAYS_CLOSED {
                shut(root.common.join(name), root, Some(hold));
            }
        }
    }
    for tree in &holds.trees {
        let main_too = holds.trees.iter().any(|t| t.git_dir == tree.common);
        if tree.git_dir == tree.common || main_too {
            continue;
        }
        for name in ALWAYS_CLOSED.iter().chain(&MAIN_ONLY).chain(&["worktrees"]) {
            shut(tree.common.join(name), tree, None);
        }
    }
    for tree in holds.trees.iter().filter(|t| t.git_dir != t.common) {
        if at_work(asked, tree).is_some() && asked.git == GitWrite::None {
            continue;
        }
        // The common directory may lie inside a closed checkout, the shared one of a forked session.
        draft.open(&tree.common);
        draft.open(&tree.git_dir);
        for name in ["objects", "refs", "logs"] {
            let part = tree.common.join(name);
            if disk.there(&part) == There::Dir {
                draft.open(&part);
            }
        }
    }
}

/// The first lane or custody of somebody else in a work tree. Custody counts: a whole-tree verb
/// throws a finished agent's uncommitted work away as well.
fn at_work<'a>(asked: &'a Asked<'_>, root: &Root) -> Option<&'a Hold> {
    asked.holds.holds.iter().find(|h| match &h.root {
        Some(at) => *at == root.path,
        None => h.path.within(&root.path),
    })
}

#[cfg(test)]
mod tests {
    use crate::fence::plan::tests::{Paper, held, hold, linked_root, main_root, planned, shown};
    use crate::fence::{GitWrite, Level};
    use crate::policy::facts::Basis;

    fn disk() -> Paper {
        let there = vec![
            "/w/a.rs",
            "/t/b.rs",
            "/t/.git",
            "/o/c.rs",
            "/o/.git",
            "/w/.git/HEAD",
            "/w/.git/index",
            "/w/.git/config",
            "/w/.git/hooks/x",
            "/w/.git/info/exclude",
            "/w/.git/objects/00",
            "/w/.git/refs/heads/main",
            "/w/.git/logs/HEAD",
            "/w/.git/worktrees/t/HEAD",
            "/w/.git/worktrees/o/HEAD",
        ];
        Paper { there, branch: Some("/w/.git/refs/heads/main"), ..Paper::default() }
    }

    #[test]
    fn a_proved_form_opens_index_and_refs_and_leaves_hooks_and_configuration_closed() {
        let lane = vec![hold("/w/a.rs", "/w", Basis::Lane)];
        let holds = held(lane, vec![main_root("/w")], vec![main_root("/w")]);
        let plan = planned(&holds, GitWrite::OwnIndex, Level::Full, &disk());
        let want = [
            "pin /w/.git",
            "ro /w/.git/config",
            "ro /w/.git/hooks",
            "ro /w/.git/info",
            "ro /w/a.rs",
        ];
        assert_eq!(shown(&plan), want);
        let plan = planned(&holds, GitWrite::Full, Level::Full, &disk());
        assert_eq!(shown(&plan), ["ro /w/a.rs"]);
    }

    #[test]
    fn a_linked_worktree_gets_its_own_part_and_nobody_elses() {
        let lanes = vec![hold("/w/a.rs", "/w", Basis::Lane), hold("/o/c.rs", "/o", Basis::Lane)];
        let mine = linked_root("/t", "/w", "t");
        let roots = vec![main_root("/w"), linked_root("/o", "/w", "o")];
        let holds = held(lanes, vec![mine], roots);
        let mounts = shown(&planned(&holds, GitWrite::None, Level::Full, &disk()));
        for closed in ["HEAD", "index", "config", "hooks", "info", "worktrees", "refs/heads/main"] {
            assert!(mounts.contains(&format!("ro /w/.git/{closed}")), "{closed}: {mounts:?}");
        }
        assert!(mounts.contains(&"open /w/.git/worktrees/t".to_owned()), "{mounts:?}");
        assert!(!mounts.contains(&"ro /w/.git".to_owned()), "packed-refs.lock: {mounts:?}");
    }

    #[test]
    fn somebody_elses_work_in_our_own_worktree_closes_all_of_the_git_directory() {
        let mine = linked_root("/t", "/w", "t");
        let lane = vec![hold("/t/b.rs", "/t", Basis::Lane)];
        let holds = held(lane, vec![mine.clone()], vec![mine]);
        let mounts = shown(&planned(&holds, GitWrite::None, Level::Full, &disk()));
        assert_eq!(mounts, ["ro /t/.git", "ro /t/b.rs", "ro /w/.git"]);
        let mounts = shown(&planned(&holds, GitWrite::OwnIndex, Level::Full, &disk()));
        assert!(mounts.contains(&"open /w/.git/worktrees/t".to_owned()), "{mounts:?}");
        assert!(mounts.contains(&"ro /w/.git/index".to_owned()), "the main checkout's: {mounts:?}");
    }

    #[test]
    fn without_anybody_else_at_work_the_git_directory_is_ones_own() {
        let holds = held(vec![], vec![main_root("/w")], vec![]);
        assert!(shown(&planned(&holds, GitWrite::None, Level::Full, &disk())).is_empty());
    }
}
