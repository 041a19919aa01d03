//! Owns the reading of `.git` by hand: which work tree a path lies in, what kind it is, which
//! trees a repository has, which branch they are on. 0.1 ms where a git process takes 2.
//! Must never believe a pointer that is not returned: a `.git` file that claims to be a linked
//! worktree counts only when the repository names that very file back. Never writes.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::dir::{Config, GitDir, Opened, common_of, is_git_dir, named, opened};
use super::paths::{Follow, canonical};
use crate::policy::facts::{Root, RootKind};
use crate::policy::lane::AbsPath;

/// What a tree's HEAD says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// On this branch (short name), born or not.
    Branch(String),
    /// On this commit, on no branch.
    Detached(String),
    /// Not readable by hand (missing, damaged, or a reftable repository).
    Unknown,
}

/// A registered work tree of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Name of its folder under `worktrees/`; `None` for the main checkout.
    pub id: Option<String>,
    /// Where the repository says it is.
    pub path: AbsPath,
    /// Its own git directory.
    pub git_dir: AbsPath,
    /// What it has checked out.
    pub head: Head,
    /// The reason, when it is locked (may be empty).
    pub locked: Option<String>,
    /// Whether the folder still names this registration.
    pub standing: Standing,
}

/// Whether a registered tree's folder is what the registration says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Folder and registration name each other.
    Whole,
    /// The folder or its `.git` file is gone.
    Vanished,
    /// The folder belongs to another registration or repository.
    Foreign,
}

/// What a walk below a folder found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Below {
    /// Work trees below the folder, itself not counted.
    pub roots: Vec<Root>,
    /// False when the walk ran into its bound: there may be more.
    pub complete: bool,
}

/// What stands at `<dir>/.git`.
enum Mark {
    /// Nothing that git would stop at.
    None,
    /// A git directory, named in place or by a pointer.
    GitDir(GitDir),
    /// A bare repository's pointer: git stops here, but there is no work tree.
    Bare,
    /// Something that git would refuse.
    Broken,
}

/// The work tree a path lies in. The path must be canonical; it need not exist.
#[must_use]
pub fn root_of(path: &AbsPath) -> Option<Root> {
    for dir in path.as_path().ancestors() {
        match mark(dir) {
            Mark::None => {}
            Mark::Bare => return None,
            Mark::Broken => return Some(unreadable(&AbsPath::new(dir)?)),
            Mark::GitDir(git_dir) => return Some(root_from(AbsPath::new(dir)?, git_dir)),
        }
    }
    None
}

/// As [`root_of`], where one root is known already: the walk up ends there.
#[must_use]
pub fn root_beside(path: &AbsPath, known: &Root) -> Option<Root> {
    for dir in path.as_path().ancestors() {
        if dir == known.path.as_path() {
            return Some(known.clone());
        }
        if !matches!(mark(dir), Mark::None) {
            break;
        }
    }
    root_of(path)
}

/// The work tree named by `--git-dir` and `--work-tree` (or their variables): nothing vouches
/// for such a pair, so only the plain one of the tree itself is more than unreadable.
#[must_use]
pub fn root_with(git_dir: &AbsPath, work_tree: &AbsPath) -> Root {
    match root_of(work_tree) {
        Some(root) if root.path == *work_tree && root.git_dir == *git_dir => root,
        Some(_) | None => Root {
            path: work_tree.clone(),
            kind: RootKind::Unreadable,
            git_dir: git_dir.clone(),
            common: common_of(git_dir).unwrap_or_else(|| git_dir.clone()),
        },
    }
}

/// Work trees below a folder (nested repositories, submodules, linked worktrees), looking into
/// at most `limit` directories. Symbolic links are not followed, git directories not entered.
pub fn roots_below(dir: &AbsPath, limit: usize) -> Below {
    let mut roots = Vec::new();
    let mut todo = VecDeque::from([dir.as_path().to_path_buf()]);
    let mut seen = 0;
    while let Some(next) = todo.pop_front() {
        if seen == limit {
            return Below { roots, complete: false };
        }
        seen += 1;
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == ".git" && next != dir.as_path() {
                let found = AbsPath::new(&next).and_then(|d| root_of(&d));
                roots.extend(found.filter(|r| r.path.as_path() == next));
            } else if name != ".git" && entry.file_type().is_ok_and(|t| t.is_dir()) {
                todo.push_back(entry.path());
            }
        }
    }
    Below { roots, complete: true }
}

/// The repository's work trees by its own register: the main checkout first, if it has one.
#[must_use]
pub fn worktrees(common: &AbsPath) -> Vec<Tree> {
    let mut trees: Vec<Tree> = main_of(common)
        .map(|path| Tree {
            id: None,
            path,
            git_dir: common.clone(),
            head: head_branch(common),
            locked: None,
            standing: Standing::Whole,
        })
        .into_iter()
        .collect();
    let Ok(entries) = std::fs::read_dir(common.join("worktrees").as_path()) else { return trees };
    let mut linked: Vec<Tree> =
        entries.flatten().filter_map(|e| registered(common, &e.file_name())).collect();
    linked.sort_by(|a, b| a.id.cmp(&b.id));
    trees.append(&mut linked);
    trees
}

/// What the tree with this git directory has checked out.
#[must_use]
pub fn head_branch(git_dir: &AbsPath) -> Head {
    let file = git_dir.join("HEAD");
    // Very old repositories keep HEAD as a symbolic link.
    if let Ok(target) = std::fs::read_link(file.as_path()) {
        let name = target.to_string_lossy();
        return name.strip_prefix("refs/heads/").map_or(Head::Unknown, |b| Head::Branch(b.into()));
    }
    let Ok(text) = std::fs::read_to_string(file.as_path()) else { return Head::Unknown };
    let text = text.trim();
    match text.strip_prefix("ref:").map(str::trim) {
        // Reftable repositories park this name in the file and keep the real one in the table.
        Some("refs/heads/.invalid") => Head::Unknown,
        Some(name) => {
            name.strip_prefix("refs/heads/").map_or(Head::Unknown, |b| Head::Branch(b.to_owned()))
        }
        None if is_object_id(text) => Head::Detached(text.to_owned()),
        None => Head::Unknown,
    }
}

/// The main checkout of a repository, when it has one.
#[must_use]
pub fn main_of(common: &AbsPath) -> Option<AbsPath> {
    let config = Config::of(common);
    if config.bare {
        return None;
    }
    if let Some(tree) = config.worktree {
        return canonical(common.as_path().join(tree), Follow::All);
    }
    let parent = common.parent()?;
    match mark(parent.as_path()) {
        Mark::GitDir(dir) if dir.path == *common => Some(parent),
        Mark::GitDir(_) | Mark::None | Mark::Bare | Mark::Broken => None,
    }
}

fn root_from(path: AbsPath, dir: GitDir) -> Root {
    let git_dir = dir.path;
    if dir.linked {
        return linked(path, git_dir);
    }
    let kind = match dir.config.worktree {
        // Its files live elsewhere (`core.worktree`): what is here cannot be judged by this git.
        Some(tree)
            if canonical(git_dir.as_path().join(&tree), Follow::All).as_ref() != Some(&path) =>
        {
            RootKind::Unreadable
        }
        Some(_) | None => RootKind::Main,
    };
    Root { path, kind, common: git_dir.clone(), git_dir }
}

fn linked(path: AbsPath, git_dir: AbsPath) -> Root {
    let Some(common) = common_of(&git_dir) else { return unreadable(&path) };
    let placed = git_dir.parent() == Some(common.join("worktrees"));
    let named = back_pointer(&git_dir) == Some(path.join(".git"));
    let kind = if placed && named && is_git_dir(&common) {
        RootKind::Linked { main: main_of(&common).unwrap_or_else(|| common.clone()) }
    } else {
        RootKind::Unreadable
    };
    Root { path, kind, git_dir, common }
}

fn unreadable(path: &AbsPath) -> Root {
    let git_dir = path.join(".git");
    Root { path: path.clone(), kind: RootKind::Unreadable, common: git_dir.clone(), git_dir }
}

fn registered(common: &AbsPath, id: &OsStr) -> Option<Tree> {
    let git_dir = common.join("worktrees").join(id);
    let pointer = back_pointer(&git_dir)?;
    let path = pointer.parent()?;
    let standing = match mark(path.as_path()) {
        Mark::None => Standing::Vanished,
        Mark::GitDir(dir) if dir.path == git_dir => Standing::Whole,
        Mark::GitDir(_) | Mark::Bare | Mark::Broken => Standing::Foreign,
    };
    let locked = std::fs::read_to_string(git_dir.join("locked").as_path()).ok();
    Some(Tree {
        id: Some(id.to_string_lossy().into_owned()),
        path,
        head: head_branch(&git_dir),
        git_dir,
        locked: locked.map(|reason| reason.trim().to_owned()),
        standing,
    })
}

/// The `.git` file a registration names; relative names start at the registration.
fn back_pointer(git_dir: &AbsPath) -> Option<AbsPath> {
    let bytes = std::fs::read(git_dir.join("gitdir").as_path()).ok()?;
    canonical(git_dir.as_path().join(named(&bytes)?), Follow::Parents)
}

/// What stands at `.git` in a directory, whose own path must be canonical.
fn mark(dir: &Path) -> Mark {
    let dot = dir.join(".git");
    let found = match std::fs::symlink_metadata(&dot) {
        Ok(meta) if meta.is_symlink() => {
            std::fs::metadata(&dot).map(|m| (m, canonical(&dot, Follow::All)))
        }
        Ok(meta) => Ok((meta, AbsPath::new(&dot))),
        Err(e) => Err(e),
    };
    let (meta, place) = match found {
        Ok(found) => found,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Mark::None;
        }
        Err(_) => return Mark::Broken,
    };
    if meta.is_dir() {
        // git passes over a `.git` folder that is no repository, but stops at a pointer to one.
        return match place.map(opened) {
            Some(Opened::GitDir(dir)) => stands(dir),
            Some(Opened::NoGitDir) => Mark::None,
            Some(Opened::Closed) | None => Mark::Broken,
        };
    }
    let Ok(bytes) = std::fs::read(&dot) else { return Mark::Broken };
    let Some(rest) = bytes.strip_prefix(b"gitdir:") else { return Mark::Broken };
    let target = dir.join(OsStr::from_bytes(rest.trim_ascii()));
    match canonical(&target, Follow::All).map(opened) {
        Some(Opened::GitDir(dir)) => stands(dir),
        Some(Opened::NoGitDir | Opened::Closed) | None => Mark::Broken,
    }
}

fn stands(dir: GitDir) -> Mark {
    if !dir.linked && dir.config.bare { Mark::Bare } else { Mark::GitDir(dir) }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::git::Git;

    fn at(path: &Path) -> AbsPath {
        canonical(path, Follow::All).unwrap()
    }

    fn git(dir: &Path, args: &[&str]) {
        drop(
            Git::new(dir)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_AUTHOR_NAME", "a")
                .env("GIT_AUTHOR_EMAIL", "a@x")
                .env("GIT_COMMITTER_NAME", "a")
                .env("GIT_COMMITTER_EMAIL", "a@x")
                .run(args)
                .unwrap(),
        );
    }

    /// A temporary folder with a repository `main` that has one commit.
    fn repo() -> (tempfile::TempDir, PathBuf) {
        let tmp = tempfile::tempdir().unwrap();
        let top = tmp.path().canonicalize().unwrap();
        git(&top, &["init", "-q", "-b", "main", "main"]);
        git(&top.join("main"), &["commit", "-q", "--allow-empty", "-m", "one"]);
        (tmp, top)
    }

    fn kind(path: &Path) -> Option<RootKind> {
        root_of(&at(path)).map(|r| r.kind)
    }

    #[test]
    fn main_and_linked_trees_with_absolute_and_relative_pointers() {
        let (_tmp, top) = repo();
        let main = top.join("main");
        git(&main, &["worktree", "add", "-q", "../abs"]);
        git(&main, &["-c", "worktree.useRelativePaths=true", "worktree", "add", "-q", "in/rel"]);
        assert_eq!(kind(&main.join("no/such/file")), Some(RootKind::Main));
        for path in [top.join("abs/x"), main.join("in/rel/y")] {
            assert_eq!(kind(&path), Some(RootKind::Linked { main: at(&main) }), "{path:?}");
        }
        let root = root_of(&at(&main.join("in/rel/y"))).unwrap();
        assert_eq!(root.path, at(&main.join("in/rel")));
        assert_eq!(root.common, at(&main.join(".git")));
        assert_eq!(head_branch(&root.git_dir), Head::Branch("rel".into()));
        let trees = worktrees(&root.common);
        assert_eq!(trees.len(), 3);
        assert!(trees.iter().all(|t| t.standing == Standing::Whole));
        let below = roots_below(&at(&main), 100);
        assert!(below.complete);
        assert_eq!(below.roots, [root]);
        assert!(!roots_below(&at(&main), 1).complete);
    }

    #[test]
    fn a_tree_that_is_not_named_back_is_unreadable() {
        let (_tmp, top) = repo();
        let main = top.join("main");
        git(&main, &["worktree", "add", "-q", "../tree"]);
        // M92: a copied pointer claims the other's registration.
        std::fs::create_dir(top.join("fake")).unwrap();
        std::fs::copy(top.join("tree/.git"), top.join("fake/.git")).unwrap();
        assert_eq!(kind(&top.join("fake")), Some(RootKind::Unreadable));
        // M92: a registration outside of `worktrees/`.
        let forged = top.join("forged.git");
        std::fs::create_dir(&forged).unwrap();
        std::fs::write(forged.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(forged.join("commondir"), main.join(".git").to_str().unwrap()).unwrap();
        std::fs::create_dir(top.join("own")).unwrap();
        std::fs::write(top.join("own/.git"), "gitdir: ../forged.git\n").unwrap();
        std::fs::write(forged.join("gitdir"), top.join("own/.git").to_str().unwrap()).unwrap();
        assert_eq!(kind(&top.join("own")), Some(RootKind::Unreadable));
        // A pruned registration: git refuses, and so do we.
        std::fs::remove_dir_all(main.join(".git/worktrees/tree")).unwrap();
        assert_eq!(kind(&top.join("tree")), Some(RootKind::Unreadable));
    }

    #[test]
    fn a_vanished_folder_and_an_empty_one_belong_to_the_parent() {
        let (_tmp, top) = repo();
        let main = top.join("main");
        git(&main, &["worktree", "add", "-q", "inside"]);
        std::fs::remove_file(main.join("inside/.git")).unwrap();
        assert_eq!(root_of(&at(&main.join("inside/x"))).unwrap().path, at(&main));
        let trees = worktrees(&at(&main.join(".git")));
        assert_eq!(trees[1].standing, Standing::Vanished);
        git(&top, &["init", "-q", "main/inside"]);
        assert_eq!(worktrees(&at(&main.join(".git")))[1].standing, Standing::Foreign);
    }

    #[test]
    fn submodules_separate_git_dirs_and_links_are_checkouts_of_their_own() {
        let (_tmp, top) = repo();
        let main = top.join("main");
        let url = main.to_str().unwrap().to_owned();
        git(&top, &["init", "-q", "super"]);
        let sup = top.join("super");
        git(
            &sup,
            &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"],
        );
        let sub = root_of(&at(&sup.join("sub/f"))).unwrap();
        assert_eq!((sub.kind, sub.path), (RootKind::Main, at(&sup.join("sub"))));
        git(&top, &["init", "-q", "--separate-git-dir", "sep.git", "sep"]);
        let sep = root_of(&at(&top.join("sep"))).unwrap();
        assert_eq!((sep.kind, sep.git_dir), (RootKind::Main, at(&top.join("sep.git"))));
        std::fs::create_dir(top.join("via")).unwrap();
        std::os::unix::fs::symlink("../main/.git", top.join("via/.git")).unwrap();
        let via = root_of(&at(&top.join("via"))).unwrap();
        assert_eq!((via.kind, via.common), (RootKind::Main, at(&main.join(".git"))));
    }

    #[test]
    fn a_bare_repository_has_no_work_tree_but_its_linked_trees_do() {
        let (_tmp, top) = repo();
        git(&top, &["clone", "-q", "--bare", "main", "proj/.bare"]);
        std::fs::write(top.join("proj/.git"), "gitdir: ./.bare\n").unwrap();
        assert_eq!(kind(&top.join("proj/x")), None);
        git(&top.join("proj"), &["worktree", "add", "-q", "wt", "main"]);
        let bare = at(&top.join("proj/.bare"));
        assert_eq!(kind(&top.join("proj/wt")), Some(RootKind::Linked { main: bare.clone() }));
        assert_eq!(worktrees(&bare).len(), 1);
    }

    #[test]
    fn a_dot_git_that_git_refuses_is_unreadable_and_one_it_passes_over_is_not() {
        let (_tmp, top) = repo();
        let main = top.join("main");
        std::fs::create_dir_all(main.join("a/.git")).unwrap();
        assert_eq!(root_of(&at(&main.join("a/f"))).unwrap().path, at(&main));
        std::fs::create_dir(main.join("b")).unwrap();
        std::fs::write(main.join("b/.git"), "no pointer").unwrap();
        assert_eq!(kind(&main.join("b/f")), Some(RootKind::Unreadable));
        std::fs::write(main.join("b/.git"), "gitdir: /nowhere").unwrap();
        assert_eq!(kind(&main.join("b/f")), Some(RootKind::Unreadable));
        assert_eq!(kind(&top), None);
    }

    #[test]
    fn a_detached_head_gives_the_commit() {
        let (_tmp, top) = repo();
        let dir = at(&top.join("main/.git"));
        assert_eq!(head_branch(&dir), Head::Branch("main".into()));
        git(&top.join("main"), &["checkout", "-q", "--detach"]);
        assert!(matches!(head_branch(&dir), Head::Detached(id) if id.len() == 40));
        assert_eq!(head_branch(&at(&top)), Head::Unknown);
    }
}
