//! Owns the way back from a snapshot: what it holds, and putting its files where they belong.
//! Must never overwrite a file that is not itself held first, nor one that somebody else claims.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::snapshot::{self, Extra};
use super::{Bounds, Kept, REFS, Reason};
use crate::git::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::worktree::{TreeError, io, seed};

/// A file a snapshot holds that HEAD then did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Below the root.
    pub path: PathBuf,
    /// git's file mode; `000000` when the file was deleted.
    pub mode: String,
    /// Its blob.
    pub blob: String,
    /// Where it was.
    pub layer: Layer,
}

/// Which side of a snapshot a file is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Staged, and something else lay in the folder.
    Index,
    /// In the folder.
    Folder,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Files written, below the root (or the folder asked for).
    pub written: Vec<PathBuf>,
    /// Files that already were so.
    pub same: usize,
    /// What was there before, held.
    pub replaced: Kept,
}

/// What a snapshot holds beyond the commit it was taken on.
pub fn show(common: &AbsPath, name: &str) -> Result<Vec<Held>, TreeError> {
    let git = Git::new(common.as_path()).env("GIT_DIR", common.as_path());
    let commit = git.text(&["rev-parse", "--verify", &format!("{REFS}{name}^{{commit}}")])?;
    let parents = git.text(&["rev-list", "--parents", "-n1", &commit])?;
    let parents: Vec<&str> = parents.split(' ').skip(1).collect();
    let empty = git.clone().input("").text(&["hash-object", "-w", "-t", "tree", "--stdin"])?;
    // Unborn HEAD: the only parent is the index side itself, which has none.
    let (base, index) = match parents.as_slice() {
        [head, index, ..] => ((*head).to_owned(), Some((*index).to_owned())),
        [only] if is_root(&git, only)? && subject(&git, only)? == "index" => {
            (empty, Some((*only).to_owned()))
        }
        [head] => ((*head).to_owned(), None),
        [] => (empty, None),
    };
    let mut held = changes(&git, &base, &commit, Layer::Folder)?;
    if let Some(index) = index
        && subject(&git, &index)? == "index"
    {
        let staged = changes(&git, &base, &index, Layer::Index)?;
        let other = |s: &Held| !held.iter().any(|h| h.path == s.path && h.blob == s.blob);
        let staged: Vec<Held> = staged.into_iter().filter(|s| other(s)).collect();
        held.extend(staged);
    }
    Ok(held)
}

fn is_root(git: &Git, commit: &str) -> Result<bool, TreeError> {
    Ok(!git.text(&["rev-list", "--parents", "-n1", commit])?.contains(' '))
}

fn subject(git: &Git, commit: &str) -> Result<String, TreeError> {
    Ok(git.text(&["log", "-1", "--format=%s", commit])?)
}

fn changes(git: &Git, base: &str, tip: &str, layer: Layer) -> Result<Vec<Held>, TreeError> {
    let out = git.run(&["diff-tree", "-r", "-z", "--no-renames", base, tip])?;
    let mut fields = out.fields();
    let mut held = Vec::new();
    while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
        let meta = meta.to_string_lossy();
        let mut words = meta.split(' ').skip(1);
        if let (Some(mode), _, Some(blob)) = (words.next(), words.next(), words.next()) {
            let (mode, blob) = (mode.to_owned(), blob.to_owned());
            held.push(Held { path: PathBuf::from(path), mode, blob, layer });
        }
    }
    Ok(held)
}

/// Where restored files go.
#[derive(Debug, Clone, Copy)]
pub enum Into<'a> {
    /// Back into the work tree; what lies there is held first.
    Root(&'a Root),
    /// Into a folder beside, which must not hold files of these names.
    Folder(&'a AbsPath),
}

/// Writes held files back. Deletions are not repeated: a restore only brings back.
pub fn restore(
    common: &AbsPath,
    name: &str,
    only: &[PathBuf],
    into: Into<'_>,
    reason: &Reason,
) -> Result<Restored, TreeError> {
    let mut held = show(common, name)?;
    held.retain(|h| h.layer == Layer::Folder && h.mode != "000000" && h.mode != "160000");
    held.retain(|h| only.is_empty() || only.iter().any(|o| h.path.starts_with(o)));
    let top = match into {
        Into::Root(root) => &root.path,
        Into::Folder(folder) => folder,
    };
    let git = Git::new(common.as_path()).env("GIT_DIR", common.as_path());
    let mut todo = Vec::new();
    let mut same = 0;
    for item in held {
        let bytes = git.run(&["cat-file", "blob", &item.blob])?.stdout;
        if current(&top.as_path().join(&item.path)).as_deref() == Some(&bytes) {
            same += 1;
        } else {
            todo.push((item, bytes));
        }
    }
    let replaced = match into {
        Into::Root(root) if !todo.is_empty() => hold(root, &todo, reason)?,
        Into::Root(_) | Into::Folder(_) => Kept::Nothing,
    };
    let letter = git.text(&["log", "-1", "--format=%B", &format!("{REFS}{name}"), "--"])?;
    let private: Vec<&Path> =
        letter.lines().filter_map(|l| l.strip_prefix(snapshot::PRIVATE)).map(Path::new).collect();
    let mut written = Vec::new();
    for (item, bytes) in todo {
        let readers = if private.contains(&item.path.as_path()) { 0o700 } else { 0o755 };
        put(&top.as_path().join(&item.path), &item.mode, readers, &bytes)?;
        written.push(item.path);
    }
    Ok(Restored { written, same, replaced })
}

/// Holds what the restore would overwrite, ignored files included.
fn hold(root: &Root, todo: &[(Held, Vec<u8>)], reason: &Reason) -> Result<Kept, TreeError> {
    let only: Vec<PathBuf> = todo.iter().map(|(held, _)| held.path.clone()).collect();
    let found = seed::ignored_files(root, &root.path, &only, Bounds::NONE, &|_| false)?;
    let extra = Extra { ignored: found.files, only, ..Extra::default() };
    snapshot::before(root, reason, &extra, Bounds::NONE)
}

fn current(path: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    if meta.is_symlink() {
        return Some(std::fs::read_link(path).ok()?.into_os_string().as_bytes().to_vec());
    }
    std::fs::read(path).ok()
}

/// Replaces by rename, so that a reader never sees half a file.
fn put(path: &Path, mode: &str, readers: u32, bytes: &[u8]) -> Result<(), TreeError> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(io(parent))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".octo-{}", std::process::id()));
    let temp = path.with_file_name(name);
    if mode == "120000" {
        std::os::unix::fs::symlink(OsStr::from_bytes(bytes), &temp).map_err(io(&temp))?;
    } else {
        let mut file = std::fs::File::create_new(&temp).map_err(io(&temp))?;
        let bits = if mode == "100755" { 0o755 } else { 0o644 };
        // Closed before it is filled: secrets must not be readable for a moment.
        let bits = std::fs::Permissions::from_mode(bits & readers);
        file.set_permissions(bits).map_err(io(&temp))?;
        file.write_all(bytes).map_err(io(&temp))?;
    }
    std::fs::rename(&temp, path).map_err(io(path))
}
