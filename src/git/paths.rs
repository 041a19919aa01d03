//! Owns the one way a path from outside becomes an `AbsPath`: symbolic links resolved as the
//! kernel would, as far as the path exists, the rest kept as written.
//! Must never fail because a path does not exist yet: most judged paths are about to be created.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::policy::lane::AbsPath;

/// Links followed before a path counts as a loop; the kernel's own bound.
const MAX_LINKS: u32 = 40;

/// What happens to a symbolic link in the last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Resolved too: what opening the path would reach.
    All,
    /// Kept: what removing, renaming or replacing the path would touch.
    Parents,
}

enum Step {
    Up,
    Name(OsString),
}

/// Resolves an absolute path; `None` when it is relative, holds a NUL or loops.
#[must_use]
pub fn canonical(path: impl AsRef<Path>, follow: Follow) -> Option<AbsPath> {
    by(path.as_ref(), follow, &ask)
}

/// What stands at one name on the way.
#[derive(Debug, Clone)]
enum Found {
    /// A symbolic link that leads there.
    Link(PathBuf),
    /// Something else, or nothing that can be told.
    Plain,
    /// Nothing: nor is there anything below it.
    Nothing,
}

fn ask(name: &Path) -> Found {
    match std::fs::read_link(name) {
        Ok(target) => Found::Link(target),
        Err(e) if e.kind() == ErrorKind::NotFound => Found::Nothing,
        Err(_) => Found::Plain,
    }
}

/// What was found out about links, for the paths of one event: they share most of their folders.
#[derive(Debug, Default)]
pub struct Links {
    known: RefCell<HashMap<PathBuf, Found>>,
}

impl Links {
    /// As [`canonical`], asking the disk once a name.
    #[must_use]
    pub fn canonical(&self, path: impl AsRef<Path>, follow: Follow) -> Option<AbsPath> {
        by(path.as_ref(), follow, &|name| {
            if let Some(known) = self.known.borrow().get(name) {
                return known.clone();
            }
            let found = ask(name);
            self.known.borrow_mut().insert(name.to_path_buf(), found.clone());
            found
        })
    }
}

/// What is known of a name.
type Reader<'r> = &'r dyn Fn(&Path) -> Found;

fn by(path: &Path, follow: Follow, read: Reader<'_>) -> Option<AbsPath> {
    if !path.is_absolute() {
        return None;
    }
    match (follow, path.parent(), path.file_name()) {
        (Follow::Parents, Some(parent), Some(name)) => {
            AbsPath::new(resolve(parent, read)?.join(name))
        }
        (Follow::Parents | Follow::All, _, _) => AbsPath::new(resolve(path, read)?),
    }
}

fn resolve(path: &Path, read: Reader<'_>) -> Option<PathBuf> {
    let mut todo: VecDeque<Step> = steps(path).collect();
    let mut done = PathBuf::from("/");
    let mut links = 0;
    // Names below the first one that is not there: nobody needs to be asked about them.
    let mut missing = 0;
    while let Some(step) = todo.pop_front() {
        match step {
            Step::Up => {
                done.pop();
                missing = usize::saturating_sub(missing, 1);
                continue;
            }
            Step::Name(name) => done.push(name),
        }
        if missing > 0 {
            missing += 1;
            continue;
        }
        let target = match read(&done) {
            Found::Link(target) => target,
            Found::Plain => continue,
            Found::Nothing => {
                missing = 1;
                continue;
            }
        };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        if target.is_absolute() {
            done = PathBuf::from("/");
        } else {
            done.pop();
        }
        for step in steps(&target).rev() {
            todo.push_front(step);
        }
    }
    Some(done)
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(Step::Name(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn real(path: &Path, follow: Follow) -> PathBuf {
        canonical(path, follow).unwrap().as_path().to_path_buf()
    }

    #[test]
    fn links_resolve_as_far_as_the_path_exists() {
        let tmp = tempfile::tempdir().unwrap();
        let top = tmp.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/deep")).unwrap();
        symlink("real/deep", top.join("link")).unwrap();
        symlink("../new", top.join("real/dangling")).unwrap();
        assert_eq!(real(&top.join("link/a/b"), Follow::All), top.join("real/deep/a/b"));
        assert_eq!(real(&top.join("link/../x"), Follow::All), top.join("real/x"));
        assert_eq!(real(&top.join("real/dangling"), Follow::All), top.join("new"));
        assert_eq!(real(&top.join("link"), Follow::Parents), top.join("link"));
        assert_eq!(real(&top.join("gone/../link/x"), Follow::All), top.join("real/deep/x"));
        assert_eq!(real(&top.join("gone/a/../../link/x"), Follow::All), top.join("real/deep/x"));
        assert_eq!(real(&top.join("gone/a/../b"), Follow::All), top.join("gone/b"));
        symlink("link", top.join("chain")).unwrap();
        symlink("x", top.join("real/deep/last")).unwrap();
        assert_eq!(real(&top.join("chain/last"), Follow::Parents), top.join("real/deep/last"));
    }

    #[test]
    fn a_loop_a_relative_path_and_a_nul_are_refused() {
        let tmp = tempfile::tempdir().unwrap();
        symlink("b", tmp.path().join("a")).unwrap();
        symlink("a", tmp.path().join("b")).unwrap();
        assert!(canonical(tmp.path().join("a/x"), Follow::All).is_none());
        assert!(canonical("a/x", Follow::All).is_none());
        assert!(canonical("/a\0x", Follow::All).is_none());
    }
}
