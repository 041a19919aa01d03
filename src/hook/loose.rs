//! Paths that never become an exclusive lane: devices, scratch, and what git ignores (build
//! output, dependencies). A second writer there is nobody's collision.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use bstr::ByteSlice;
use gix_ignore::search::Ignore;
use gix_ignore::{Search, glob::pattern::Case};

use crate::git::run::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;

/// Whether a path is loose. `root` is the work tree it lies in.
#[must_use]
pub fn is_loose(path: &AbsPath, root: Option<&Root>, home: &Path) -> bool {
    if is_device(path.as_path()) {
        return true;
    }
    match root {
        Some(root) => {
            path.within(&root.git_dir) || ignored_by_text(path, root) && ignored_by_git(path, root)
        }
        None => is_scratch(path, home),
    }
}

fn is_device(path: &Path) -> bool {
    if path.starts_with("/dev") || path.starts_with("/proc") || path.starts_with("/sys") {
        return true;
    }
    fs::metadata(path).is_ok_and(|m| {
        let t = m.file_type();
        t.is_char_device() || t.is_block_device() || t.is_fifo() || t.is_socket()
    })
}

/// Outside every work tree: temporary folders and the harness's own scratch.
fn is_scratch(path: &AbsPath, home: &Path) -> bool {
    let mut folders = vec![
        std::env::temp_dir(),
        Path::new("/tmp").to_path_buf(),
        Path::new("/var/tmp").to_path_buf(),
        home.join(".cache"),
        home.join(".claude/projects"),
        home.join(".claude/todos"),
        home.join(".claude/shell-snapshots"),
    ];
    folders.extend(std::env::var_os("XDG_RUNTIME_DIR").map(Into::into));
    folders.iter().any(|folder| {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        path.as_path().starts_with(folder)
    })
}

/// git's answer; it knows that a tracked file is not ignored whatever the patterns say.
fn ignored_by_git(path: &AbsPath, root: &Root) -> bool {
    let git = Git::new(root.path.as_path());
    let args: [&OsStr; 4] =
        ["check-ignore".as_ref(), "-q".as_ref(), "--".as_ref(), path.as_path().as_os_str()];
    git.test(&args).unwrap_or(false)
}

/// The patterns alone: a quick no for nearly every path.
fn ignored_by_text(path: &AbsPath, root: &Root) -> bool {
    let Some(rest) = path.below(&root.path) else { return false };
    let mut search = Search::default();
    let mut files = vec![root.common.join("info/exclude")];
    let mut dir = root.path.clone();
    files.push(dir.join(".gitignore"));
    let parts: Vec<_> = rest.iter().collect();
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        dir = dir.join(part);
        files.push(dir.join(".gitignore"));
    }
    for file in files {
        let Ok(bytes) = fs::read(file.as_path()) else { continue };
        if bytes.split(|b| *b == b'\n').all(says_nothing) {
            continue;
        }
        let base = if file.within(&root.common) { None } else { Some(root.path.as_path()) };
        let source = file.as_path().to_path_buf();
        search.add_patterns_buffer(&bytes, source, base, Ignore::default());
    }
    if search.patterns.is_empty() {
        return global_excludes(root);
    }
    let mut at = String::new();
    let last = parts.len().saturating_sub(1);
    parts.iter().enumerate().any(|(index, part)| {
        if index > 0 {
            at.push('/');
        }
        at.push_str(&part.to_string_lossy());
        let is_dir = index < last || path.as_path().is_dir();
        let hit = search.pattern_matching_relative_path(
            at.as_bytes().as_bstr(),
            Some(is_dir),
            Case::Sensitive,
        );
        hit.is_some_and(|m| !m.pattern.is_negative())
    }) || global_excludes(root)
}

/// A line of an ignore file without a pattern.
fn says_nothing(line: &[u8]) -> bool {
    line.first() == Some(&b'#') || line.trim_ascii().is_empty()
}

/// A user's own excludes file is rare and only git knows where it is: ask git when one is named.
fn global_excludes(root: &Root) -> bool {
    let _ = root;
    let Some(home) = std::env::home_dir() else { return false };
    let config =
        std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), Into::into);
    config.join("git/ignore").is_file()
        || fs::read_to_string(home.join(".gitconfig"))
            .is_ok_and(|text| text.to_ascii_lowercase().contains("excludesfile"))
}
