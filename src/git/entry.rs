//! Owns one question to the index, read by hand: is this file just what the index says?
//! Must never say yes on a guess: what it cannot read, or what changed in the same moment as the
//! index, is for git to say.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;

/// How a file stands to its entry in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexed {
    /// Its size and times are the entry's.
    Same,
    /// There is no such entry, it differs, or nobody can tell without git.
    Unknown,
}

/// Bytes of an entry before its flags: ten numbers and the object's name.
const FIXED: usize = 60;
/// Where the entry's modification time (seconds, nanoseconds) and size stand.
const MTIME: usize = 8;
const SIZE: usize = 36;
/// The flag that says two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;

/// Compares a file with its entry.
#[must_use]
pub fn compare(root: &Root, path: &AbsPath) -> Indexed {
    match same(root, path) {
        Some(true) => Indexed::Same,
        Some(false) | None => Indexed::Unknown,
    }
}

fn same(root: &Root, path: &AbsPath) -> Option<bool> {
    let index = root.git_dir.join("index");
    let written = fs::metadata(index.as_path()).ok()?;
    let file = fs::symlink_metadata(path.as_path()).ok()?;
    let bytes = fs::read(index.as_path()).ok()?;
    let name = path.below(&root.path)?.as_os_str().as_bytes();
    let (mtime, size) = find(&bytes, name)?;
    let now = (file.mtime(), file.mtime_nsec());
    // A file written in the same moment as the index may have been changed after git looked.
    let settled = now < (written.mtime(), written.mtime_nsec());
    let times = now.0 == mtime.0 && (mtime.1 == 0 || now.1 == mtime.1);
    Some(settled && times && file.size() & 0xffff_ffff == size)
}

/// The time and size an entry of this name records; none when it is not found in a plain index.
fn find(bytes: &[u8], name: &[u8]) -> Option<((i64, i64), u64)> {
    let [b'D', b'I', b'R', b'C', ..] = bytes else { return None };
    let version = number(bytes, 4)?;
    // Version 4 shortens names by their predecessors'.
    if !matches!(version, 2 | 3) {
        return None;
    }
    let mut at = 12;
    for _ in 0..number(bytes, 8)? {
        let flags = u16::from_be_bytes(bytes.get(at + FIXED..at + FIXED + 2)?.try_into().ok()?);
        let start = at + FIXED + if flags & EXTENDED == 0 { 2 } else { 4 };
        let rest = bytes.get(start..)?;
        let length = match usize::from(flags & 0xfff) {
            0xfff => rest.iter().position(|b| *b == 0)?,
            length => length,
        };
        let conflicted = flags & 0x3000 != 0;
        if rest.get(..length)? == name && !conflicted {
            let seconds = i64::from(number(bytes, at + MTIME)?);
            let nanos = i64::from(number(bytes, at + MTIME + 4)?);
            return Some(((seconds, nanos), u64::from(number(bytes, at + SIZE)?)));
        }
        // Padded with one to eight zeros to a multiple of eight.
        at += (start - at + length) / 8 * 8 + 8;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::git::{self, Git};

    fn age(path: &AbsPath, seconds: u64) {
        let when = SystemTime::now() - Duration::from_secs(seconds);
        let file = File::options().write(true).open(path.as_path()).unwrap();
        file.set_times(FileTimes::new().set_modified(when)).unwrap();
    }

    #[test]
    fn a_file_as_the_index_has_it_is_known_and_everything_else_is_not() {
        let tmp = tempfile::tempdir().unwrap();
        let top = git::canonical(tmp.path(), git::Follow::All).unwrap();
        let git = Git::new(top.as_path());
        git.text(&["init", "-q"]).unwrap();
        let long = format!("deep/{}.txt", "n".repeat(120));
        let names: Vec<String> =
            (0..40).map(|n| format!("{}{n}", "f".repeat(n))).chain([long]).collect();
        fs::create_dir(top.join("deep").as_path()).unwrap();
        for name in &names {
            fs::write(top.join(name).as_path(), name).unwrap();
            age(&top.join(name), 60);
        }
        git.text(&["add", "-A"]).unwrap();
        let root = git::root_of(&top).unwrap();
        for name in &names {
            assert_eq!(compare(&root, &top.join(name)), Indexed::Same, "{name}");
        }
        git.text(&["update-index", "--skip-worktree", "f1"]).unwrap();
        assert_eq!(compare(&root, &top.join("ff2")), Indexed::Same, "with longer flags");
        let one = top.join(&names[3]);
        fs::write(one.as_path(), "other").unwrap();
        assert_eq!(compare(&root, &one), Indexed::Unknown, "written since");
        age(&one, 30);
        assert_eq!(compare(&root, &one), Indexed::Unknown, "of another time");
        fs::write(top.join("new").as_path(), "new").unwrap();
        assert_eq!(compare(&root, &top.join("new")), Indexed::Unknown, "untracked");
        git.text(&["update-index", "--index-version", "4"]).unwrap();
        assert_eq!(compare(&root, &top.join("ff2")), Indexed::Unknown, "another format");
    }
}
