//! Second names (hard links) of the kernel's files. A write through one changes the file past
//! every look at paths, so a file is known by device and inode too.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::home::{Home, open_private};

/// The kernel's files as they are now.
fn files(home: &Home) -> Vec<PathBuf> {
    let folders = [home.dir().to_path_buf(), home.journals(), home.beats()];
    let entries = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    entries.flat_map(|entries| entries.flatten().map(|entry| entry.path())).collect()
}

/// Whether a path is another name of one of the kernel's files. Costs one look where it is not.
#[must_use]
pub fn is_ours(home: &Home, path: &Path) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else { return false };
    meta.is_file() && meta.nlink() > 1 && files(home).iter().any(|own| same(own, &meta))
}

fn same(own: &Path, meta: &Metadata) -> bool {
    fs::symlink_metadata(own).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
}

/// The kernel's files that have another name somewhere, but for the lock, which holds no bytes.
#[must_use]
pub fn shared(home: &Home) -> Vec<PathBuf> {
    let shared = |path: &PathBuf| {
        let twice = |meta: Metadata| meta.is_file() && meta.nlink() > 1;
        *path != home.lock() && fs::symlink_metadata(path).is_ok_and(twice)
    };
    files(home).into_iter().filter(shared).collect()
}

/// Gives a file bytes of its own: what has the other name keeps the old ones. The caller holds
/// the table's lock.
pub(super) fn part(path: &Path) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".own");
    let own = PathBuf::from(name);
    drop(fs::remove_file(&own));
    let mut to = open_private(&own)?;
    io::copy(&mut fs::File::open(path)?, &mut to)?;
    let times = fs::metadata(path)?.modified()?;
    to.set_times(fs::FileTimes::new().set_modified(times))?;
    fs::rename(own, path)
}
