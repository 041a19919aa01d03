//! Folders that must be there to be closed: nothing can be mounted where nothing stands, and in a
//! missing folder a program could be planted that somebody else runs outside of every fence.
//! Makes empty folders where git or octo would make them; never touches what is there.

use std::fs;

use super::Holds;
use super::look::missing_cache;
use crate::policy::lane::AbsPath;

/// In a git directory: code that git runs, and what chooses filters.
const IN_GIT: [&str; 2] = ["hooks", "info"];

/// Below the home folder: whose content decides what runs outside, among caches that stay open.
const BELOW_HOME: [&str; 7] = [
    ".config/autostart",
    ".config/environment.d",
    ".config/git",
    ".config/octo",
    ".config/systemd",
    ".local/share/systemd",
    ".local/state/octo",
];

/// Those of [`BELOW_HOME`] that octo would read, made when absent.
const OURS: [&str; 3] = [".config/git", ".config/octo", ".local/state/octo"];

/// Makes what is missing in the git directories of all work trees a fence is about.
pub(super) fn in_repositories(holds: &Holds) {
    for root in holds.trees.iter().chain(&holds.roots) {
        for name in IN_GIT {
            // Refused where the caller has no rights either, and then neither has its command.
            let _there = fs::create_dir(root.common.join(name).as_path());
        }
    }
}

/// What must stay closed below a home folder. A missing one is made where the folder around it
/// exists: else no fenced command can make that one either.
#[must_use]
pub(super) fn below_home(home: &AbsPath) -> Vec<AbsPath> {
    for name in OURS {
        let _there = fs::create_dir(home.join(name).as_path());
    }
    let all = BELOW_HOME.iter().map(|name| home.join(name));
    all.filter(|path| path.as_path().is_dir()).collect()
}

/// Makes the cache folder that a refused path would lie in, if it was missing.
#[must_use]
pub fn cache(path: &AbsPath, home: &AbsPath) -> Option<AbsPath> {
    let folder = missing_cache(path, home)?;
    fs::create_dir(folder.as_path()).ok().map(|()| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_be_made_by_a_command_is_made_by_us() {
        let tmp = tempfile::tempdir().unwrap();
        let home = AbsPath::new(tmp.path()).unwrap();
        assert!(below_home(&home).is_empty());
        assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
        fs::create_dir(tmp.path().join(".config")).unwrap();
        let closed = below_home(&home);
        assert_eq!(closed, [home.join(".config/git"), home.join(".config/octo")]);
        fs::create_dir(tmp.path().join(".config/autostart")).unwrap();
        assert_eq!(below_home(&home).len(), 3);
    }
}
