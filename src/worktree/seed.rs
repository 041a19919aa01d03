//! Owns what a fresh checkout lacks and a session needs: environment files, what
//! `.worktreeinclude` names, and the other way round: which ignored files are a tree's own.
//! Must never copy a nested repository, another worktree or a build folder by accident, never
//! overwrite, never log a content.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::keep::Bounds;
use super::{Copied, TreeError, io, lock};
use crate::git::{self, Git};
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;

/// Folders that tools make and can make again.
pub const BUILT: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    ".venv",
    "venv",
    "__pycache__",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "Pods",
    "DerivedData",
    "bower_components",
    ".terraform",
];
/// Ignored bytes that are held when a tree goes; more is a reason to keep the tree.
const OWN_LIMIT: u64 = 256 << 20;
/// File entries looked through for them.
const OWN_FILES: usize = 50_000;
/// The list of ignored files to bring along, in the checkout's root.
const INCLUDE: &str = ".worktreeinclude";

/// What was brought along.
#[derive(Debug, Default)]
pub struct Seeded {
    /// The files.
    pub copied: Vec<Copied>,
    /// What the session should know.
    pub notes: Vec<String>,
}

/// Ignored files that exist only in one tree.
#[derive(Debug, Default)]
pub struct Own {
    /// Below the root.
    pub files: Vec<PathBuf>,
    /// Why they are too much to hold.
    pub too_big: Option<String>,
}

/// Brings untracked environment files and included ignored files from `main` into `tree`.
pub fn bring(
    main: &AbsPath,
    tree: &Root,
    patterns: &[String],
    limit: u64,
) -> Result<Seeded, TreeError> {
    let mut seeded = Seeded::default();
    if git::root_of(main).is_none_or(|r| r.path != *main) {
        return Ok(seeded);
    }
    let mut wanted = environment_files(main)?;
    wanted.extend(included(main, patterns)?);
    let (mut total, mut left) = (0, 0);
    for path in wanted {
        let from = main.as_path().join(&path);
        let to = tree.path.as_path().join(&path);
        let Ok(meta) = std::fs::symlink_metadata(&from) else { continue };
        if !meta.is_file() || std::fs::symlink_metadata(&to).is_ok() {
            continue;
        }
        total += meta.len();
        if total > limit {
            left += 1;
            continue;
        }
        seeded.copied.push(copy(&from, &to, path, meta.permissions().mode())?);
    }
    if left > 0 {
        let note =
            format!("{left} ignored files were not brought along: more than {} MiB", limit >> 20);
        seeded.notes.push(note);
    }
    Ok(seeded)
}

/// What was brought along once, as far as it can be told: what would be brought along now and is
/// in the tree. A commit of such a file could publish a secret.
pub fn recognise(
    main: &AbsPath,
    tree: &Root,
    patterns: &[String],
) -> Result<Vec<Copied>, TreeError> {
    if git::root_of(main).is_none_or(|r| r.path != *main) {
        return Ok(Vec::new());
    }
    let mut wanted = environment_files(main)?;
    wanted.extend(environment_files(&tree.path)?);
    wanted.extend(included(main, patterns)?);
    let there = |path: &PathBuf| tree.path.as_path().join(path).is_file();
    let copied = |path: PathBuf| {
        let hash = hash(&main.as_path().join(&path)).unwrap_or_default();
        Copied { path, hash }
    };
    Ok(wanted.into_iter().filter(there).map(copied).collect())
}

/// Copies what git tracks or would track into a folder of its own, without any git.
pub fn plain_copy(root: &AbsPath, to: &AbsPath) -> Result<(), TreeError> {
    let git = Git::new(root.as_path());
    let out = git.run(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    for path in out.fields().map(PathBuf::from) {
        let (from, to) = (root.as_path().join(&path), to.as_path().join(&path));
        let Ok(meta) = std::fs::symlink_metadata(&from) else { continue };
        if meta.is_file() && std::fs::symlink_metadata(&to).is_err() {
            copy(&from, &to, path, meta.permissions().mode())?;
        }
    }
    Ok(())
}

/// Ignored files of a tree that nothing else has: not what was copied in and is unchanged, not
/// what tools build.
pub fn own_ignored(root: &Root, folder: &AbsPath, copied: &[Copied]) -> Result<Own, TreeError> {
    let limit = Bounds { bytes: OWN_LIMIT, files: OWN_FILES, ..Bounds::NONE };
    let known = |path: &Path| {
        let copy = copied.iter().find(|c| c.path == path);
        copy.is_some_and(|c| hash(&folder.as_path().join(path)).as_ref() == Some(&c.hash))
    };
    let found = ignored_files(root, folder, &[], limit, &known)?;
    let mut own = Own { files: found.files, too_big: None };
    if found.too_many.is_some() {
        let what = format!("its ignored files hold more than {} MiB", OWN_LIMIT >> 20);
        own.too_big = Some(what);
    }
    Ok(own)
}

/// Ignored files that no tool built.
#[derive(Debug, Default)]
pub struct Ignored {
    /// Below the root.
    pub files: Vec<PathBuf>,
    /// Bytes and files found when it became too many: then `files` is empty.
    pub too_many: Option<(u64, usize)>,
}

/// The ignored files at and below `only` (everywhere when that is empty), without build output and
/// those that are `known`.
pub fn ignored_files(
    root: &Root,
    folder: &AbsPath,
    only: &[PathBuf],
    limit: Bounds,
    known: &dyn Fn(&Path) -> bool,
) -> Result<Ignored, TreeError> {
    let git = Git::new(folder.as_path())
        .env("GIT_DIR", root.git_dir.as_path())
        .env("GIT_WORK_TREE", folder.as_path())
        .env("GIT_LITERAL_PATHSPECS", "1")
        .within(limit.time);
    let words = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let mut args: Vec<&OsStr> = words.iter().map(OsStr::new).chain([OsStr::new("--")]).collect();
    args.extend(only.iter().map(|path| path.as_os_str()));
    let mut found = Ignored::default();
    let mut bytes = 0;
    let mut todo: Vec<PathBuf> = git.run(&args)?.fields().map(PathBuf::from).collect();
    // git names a whole ignored folder where a part of it was asked for.
    let asked = |path: &Path| {
        only.is_empty() || only.iter().any(|o| path.starts_with(o) || o.starts_with(path))
    };
    while let Some(path) = todo.pop() {
        let full = folder.as_path().join(&path);
        let Ok(meta) = std::fs::symlink_metadata(&full) else { continue };
        if !asked(&path) || known(&path) {
            continue;
        }
        if meta.is_dir() {
            if !skipped(&full) {
                let entries = std::fs::read_dir(&full).map_err(io(&full))?;
                todo.extend(entries.flatten().map(|e| path.join(e.file_name())));
            }
            continue;
        }
        if meta.is_file() || meta.is_symlink() {
            bytes += meta.len();
            found.files.push(path);
        }
        if bytes > limit.bytes || found.files.len() > limit.files {
            found.too_many = Some((bytes, found.files.len()));
            found.files.clear();
            return Ok(found);
        }
    }
    found.files.sort();
    Ok(found)
}

/// Build output, a repository of its own, or another worktree.
fn skipped(dir: &Path) -> bool {
    let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    BUILT.contains(&name.as_str())
        || name == ".git"
        || std::fs::symlink_metadata(dir.join(".git")).is_ok()
}

/// `.env`, `.env.local` and the like in the checkout's root, unless git tracks them.
fn environment_files(main: &AbsPath) -> Result<BTreeSet<PathBuf>, TreeError> {
    let entries = std::fs::read_dir(main.as_path()).map_err(io(main.as_path()))?;
    let names = entries.flatten().map(|e| e.file_name());
    let env: BTreeSet<PathBuf> = names
        .filter(|n| n.to_string_lossy().starts_with(".env"))
        .filter(|n| n.to_string_lossy() == ".env" || n.to_string_lossy().starts_with(".env."))
        .map(PathBuf::from)
        .collect();
    if env.is_empty() {
        return Ok(env);
    }
    let out = Git::new(main.as_path()).run(&["ls-files", "-z", "--", ".env", ".env.*"])?;
    let tracked: BTreeSet<PathBuf> = out.fields().map(PathBuf::from).collect();
    Ok(env.difference(&tracked).cloned().collect())
}

/// What is ignored and matches, by git's own matching.
fn included(main: &AbsPath, patterns: &[String]) -> Result<BTreeSet<PathBuf>, TreeError> {
    let file = main.join(INCLUDE);
    let has_file = std::fs::symlink_metadata(file.as_path()).is_ok();
    if !has_file && patterns.is_empty() {
        return Ok(BTreeSet::new());
    }
    let git = Git::new(main.as_path());
    let mut args = vec!["ls-files".to_owned(), "-z".into(), "--others".into(), "--ignored".into()];
    if has_file {
        args.push(format!("--exclude-from={file}"));
    }
    args.extend(patterns.iter().map(|p| format!("--exclude={p}")));
    let matching = git.run(&args)?;
    let standard = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let ignored: Vec<PathBuf> = git.run(&standard)?.fields().map(PathBuf::from).collect();
    let picked = matching.fields().map(PathBuf::from);
    Ok(picked
        .filter(|p| ignored.iter().any(|i| p.starts_with(i)))
        .filter(|p| !inside_another(main.as_path(), p))
        .collect())
}

/// Below a folder with a `.git` of its own: a nested repository or a registered worktree.
fn inside_another(main: &Path, path: &Path) -> bool {
    path.to_string_lossy().ends_with('/')
        || path
            .ancestors()
            .skip(1)
            .filter(|d| !d.as_os_str().is_empty())
            .any(|dir| std::fs::symlink_metadata(main.join(dir).join(".git")).is_ok())
}

fn copy(from: &Path, to: &Path, path: PathBuf, mode: u32) -> Result<Copied, TreeError> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(io(parent))?;
    }
    let mut source = File::open(from).map_err(io(from))?;
    let mut target = File::create_new(to).map_err(io(to))?;
    // Closed before it is filled: secrets must not be readable for a moment.
    target.set_permissions(std::fs::Permissions::from_mode(mode & 0o777)).map_err(io(to))?;
    if !shared_blocks(&source, &target) {
        std::io::copy(&mut source, &mut target).map_err(io(to))?;
    }
    let hash = hash(to).unwrap_or_default();
    Ok(Copied { path, hash })
}

/// Lets the copy share the original's blocks where the volume can.
#[cfg(target_os = "linux")]
fn shared_blocks(source: &File, target: &File) -> bool {
    rustix::fs::ioctl_ficlone(target, source).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn shared_blocks(_source: &File, _target: &File) -> bool {
    false
}

/// SHA-256 of a file's bytes (of a link's target).
#[must_use]
pub fn hash(path: &Path) -> Option<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).ok()?;
    std::io::copy(&mut file, &mut hasher).ok()?;
    Some(lock::hex(&hasher.finalize()))
}
