//! Owns taking a snapshot: the working files of one tree, and its index when something is staged,
//! as commits under a ref, byte for byte and without filters.
//! Must never write the tree's own index or files, nor cost more than the verb it precedes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Bounds, Keep, Kept, REFS, Reason, SIGNED, git_on, signed};
use crate::git::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::worktree::{TreeError, facts, io, lock};

/// Reflog entries of a tree that are looked through for commits nothing else holds.
const REFLOG: usize = 200;
/// The line of a snapshot's letter that names a file only its owner may read.
pub(super) const PRIVATE: &str = "Octo-Private: ";
const GITLINK: &str = "160000";

/// What git is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// Index, changed and untracked files.
    #[default]
    Everything,
    /// Files git does not know: far cheaper, and all that some verbs can take.
    Untracked,
    /// Nothing: the caller names the files.
    Nowhere,
}

/// Which files a snapshot covers; the changed and the untracked ones when nothing else is said.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// Ignored paths to hold too, below the root.
    pub ignored: Vec<PathBuf>,
    /// Only these paths and what lies below them.
    pub only: Vec<PathBuf>,
    /// What else is looked for.
    pub look: Look,
}

/// What git says about a tree.
#[derive(Debug, Default)]
struct Status {
    /// The commit at HEAD; none when it is unborn.
    head: Option<String>,
    /// Paths whose working file differs from HEAD, or which git does not know.
    loose: Vec<PathBuf>,
    /// Something is staged.
    staged: bool,
    /// A merge left entries open.
    unmerged: bool,
    /// Nested repositories, which a snapshot cannot look into.
    nested: Vec<String>,
}

/// Holds what a destructive verb could take: index, changed and untracked files of `root`.
pub fn before(
    root: &Root,
    reason: &Reason,
    extra: &Extra,
    bounds: Bounds,
) -> Result<Kept, TreeError> {
    in_folder(root, &root.path, reason, extra, bounds)
}

/// The same for a tree whose folder was renamed.
pub fn in_folder(
    root: &Root,
    folder: &AbsPath,
    reason: &Reason,
    extra: &Extra,
    bounds: Bounds,
) -> Result<Kept, TreeError> {
    let git = git_on(root, folder).within(bounds.time);
    let mut status = status(&git, extra)?;
    status.loose.extend(extra.ignored.iter().cloned());
    if status.loose.is_empty() && !status.staged && !status.unmerged {
        return Ok(Kept::Nothing);
    }
    let (bytes, files) = weigh(folder, &status.loose);
    if bytes > bounds.bytes || files > bounds.files {
        return Ok(Kept::TooBig { bytes, files });
    }
    let mut parents: Vec<String> = status.head.iter().cloned().collect();
    // An index with open entries has no tree; its sides are in the commits that are merged.
    if status.staged && !status.unmerged {
        let scratch = Scratch::copy(&root.git_dir)?;
        let index = git.clone().index(&scratch.0).text(&["write-tree"])?;
        parents.push(commit(&git, &index, &parents, "index", reason)?);
    }
    let taken = take_files(&git, folder, &status)?;
    let private = taken.private.iter().map(|path| format!("{PRIVATE}{}\n", path.display()));
    let text: String = std::iter::once(letter(root, reason)).chain(private).collect();
    let (name, stream) = stream(&status, &parents, &text, &taken.changes, reason.at);
    let commit = git.input(stream).text(&["fast-import", "--quiet", "--done"])?;
    Ok(Kept::Ref(Keep { name, commit, missed: taken.missed }))
}

/// The whole snapshot as git reads it in one go, without an index: a big one takes longer to write
/// than most verbs that throw work away. Named by its time and content: the same content in the
/// same second is one snapshot.
fn stream(
    status: &Status,
    parents: &[String],
    text: &str,
    changes: &[u8],
    at: u64,
) -> (String, Vec<u8>) {
    let mut body = format!("mark :1\ncommitter {SIGNED} {at} +0000\ndata {}\n{text}\n", text.len());
    for (place, parent) in parents.iter().enumerate() {
        let first = place == 0 && status.head.is_some();
        let word = if first { "from" } else { "merge" };
        body.push_str([word, " ", parent, "\n"].concat().as_str());
    }
    let body = [body.as_bytes(), changes].concat();
    let tag: String = lock::hex(&Sha256::digest(&body)).chars().take(8).collect();
    let name = format!("{at:010}-{tag}");
    let head = format!("commit {REFS}{name}\n");
    (name, [head.as_bytes(), &body, b"get-mark :1\ndone\n"].concat())
}

/// Holds the commits of a tree that is about to go: its tip, and those only its reflog names.
pub fn tip(root: &Root, reason: &Reason) -> Result<Option<Keep>, TreeError> {
    let git = Git::new(root.common.as_path()).env("GIT_DIR", root.git_dir.as_path());
    let Some(head) = facts::commit_of(&git, "HEAD") else { return Ok(None) };
    let mut parents = vec![head.clone()];
    parents.extend(only_in_reflog(&git, root, &head)?);
    let tree = git.text(&["rev-parse", "HEAD^{tree}"])?;
    let commit = commit(&git, &tree, &parents, &letter(root, reason), reason)?;
    Ok(Some(publish(&git, &commit, reason, Vec::new())?))
}

/// Holds what only this tree names, when there is anything: a detached HEAD that no branch reaches,
/// commits of its reflog. For a tree that git itself is about to take away.
pub fn unreached(root: &Root, reason: &Reason) -> Result<Option<Keep>, TreeError> {
    let git = Git::new(root.common.as_path()).env("GIT_DIR", root.git_dir.as_path());
    let Some(head) = facts::commit_of(&git, "HEAD") else { return Ok(None) };
    let args = ["rev-list", "-n1", &head, "--not", "--branches", "--remotes", "--tags"];
    let loose = !git.text(&args)?.is_empty();
    if loose || !only_in_reflog(&git, root, &head)?.is_empty() {
        return tip(root, reason);
    }
    Ok(None)
}

/// Commits in the tree's own reflog that neither HEAD nor any branch reaches.
fn only_in_reflog(git: &Git, root: &Root, head: &str) -> Result<Vec<String>, TreeError> {
    let path = root.git_dir.join("logs/HEAD");
    let text = std::fs::read_to_string(path.as_path()).unwrap_or_default();
    let mut ids: Vec<&str> =
        text.lines().rev().filter_map(|l| l.split(' ').nth(1)).take(REFLOG).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| *id != head && id.bytes().any(|b| b != b'0'));
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    // `--no-walk` ignores what `--not` reaches, so the walk is done and only named ids are taken.
    let mut args = vec!["rev-list", "--ignore-missing"];
    args.extend(&ids);
    args.extend(["--not", head, "--branches", "--remotes", "--tags"]);
    let found = git.text(&args)?;
    Ok(found.lines().filter(|l| ids.contains(l)).map(str::to_owned).collect())
}

fn status(git: &Git, extra: &Extra) -> Result<Status, TreeError> {
    let words: &[&str] = match extra.look {
        Look::Everything => &[
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--",
        ],
        Look::Untracked => &["ls-files", "-z", "--others", "--exclude-standard", "--"],
        Look::Nowhere => &[],
    };
    let mut status = Status::default();
    if extra.look != Look::Everything {
        status.head = facts::commit_of(git, "HEAD");
    }
    if words.is_empty() {
        return Ok(status);
    }
    let mut args: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    args.extend(extra.only.iter().map(|p| p.as_os_str()));
    let out = git.clone().env("GIT_LITERAL_PATHSPECS", "1").run(&args)?;
    for field in out.fields().map(OsStr::as_bytes) {
        if extra.look == Look::Untracked {
            status.untracked(field);
            continue;
        }
        match field.first() {
            Some(b'?') => status.untracked(field.get(2..).unwrap_or_default()),
            Some(b'1') => status.changed(field),
            Some(b'u') => {
                status.unmerged = true;
                status.loose.extend(nth_field(field, 10));
            }
            Some(b'#') => {
                let id = field.strip_prefix(b"# branch.oid ").filter(|id| !id.starts_with(b"("));
                let id = id.map(|id| String::from_utf8_lossy(id).into_owned());
                status.head = status.head.take().or(id);
            }
            Some(_) | None => {}
        }
    }
    Ok(status)
}

impl Status {
    fn untracked(&mut self, path: &[u8]) {
        if path.ends_with(b"/") {
            self.nested.push(String::from_utf8_lossy(path).into_owned());
        } else {
            self.loose.push(PathBuf::from(OsStr::from_bytes(path)));
        }
    }

    fn changed(&mut self, line: &[u8]) {
        let code = |at| line.get(at).copied().unwrap_or(b'.');
        self.staged |= code(2) != b'.';
        // A staged submodule is a commit's name, which the index side of the snapshot holds.
        let mut modes = line.split(|b| *b == b' ').skip(4);
        let pointer = modes.next().is_some_and(|mode| mode == GITLINK.as_bytes());
        if code(3) != b'.' || !pointer {
            self.loose.extend(nth_field(line, 8));
        }
    }
}

/// The rest of a status line from its n-th space-separated field on.
fn nth_field(line: &[u8], n: usize) -> Option<PathBuf> {
    line.splitn(n + 1, |b| *b == b' ').nth(n).map(|p| PathBuf::from(OsStr::from_bytes(p)))
}

fn weigh(folder: &AbsPath, paths: &[PathBuf]) -> (u64, usize) {
    let sizes = paths.iter().filter_map(|p| {
        let meta = std::fs::symlink_metadata(folder.as_path().join(p)).ok()?;
        meta.is_file().then_some(meta.len())
    });
    (sizes.sum(), paths.len())
}

/// What became of the working files.
#[derive(Debug, Default)]
struct Taken {
    /// The changes against HEAD, as git reads them.
    changes: Vec<u8>,
    /// What could not be held.
    missed: Vec<String>,
    /// Files that nobody but their owner may read, which git's modes do not say.
    private: Vec<PathBuf>,
}

/// Stores the working files' bytes, without filters, and says what changes by them.
fn take_files(git: &Git, folder: &AbsPath, status: &Status) -> Result<Taken, TreeError> {
    let mut taken = Taken { missed: status.nested.clone(), ..Taken::default() };
    let mut files: BTreeMap<&Path, &str> = BTreeMap::new();
    for path in &status.loose {
        let full = folder.as_path().join(path);
        match std::fs::symlink_metadata(&full) {
            Err(_) => taken.change(b"D ", path, b""),
            Ok(meta) if meta.is_symlink() => {
                let target = std::fs::read_link(&full).map_err(io(&full))?;
                let target = target.as_os_str().as_bytes();
                let data = [format!("data {}\n", target.len()).as_bytes(), target, b"\n"].concat();
                taken.change(b"M 120000 inline ", path, &data);
            }
            Ok(meta) if meta.is_file() => {
                let odd = path.as_os_str().as_bytes().contains(&b'\n');
                if odd || std::fs::File::open(&full).is_err() {
                    taken.missed.push(path.display().to_string());
                    continue;
                }
                if meta.permissions().mode().trailing_zeros() >= 6 {
                    taken.private.push(path.clone());
                }
                let executable = meta.permissions().mode() & 0o111 != 0;
                files.insert(path, if executable { "100755" } else { "100644" });
            }
            Ok(_) => taken.missed.push(path.display().to_string()),
        }
    }
    if files.is_empty() {
        return Ok(taken);
    }
    let mut names: Vec<u8> = Vec::new();
    for path in files.keys() {
        names.extend_from_slice(path.as_os_str().as_bytes());
        names.push(b'\n');
    }
    let args = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    let ids = git.clone().input(names).text(&args)?;
    for ((path, mode), id) in files.iter().zip(ids.lines()) {
        taken.change(format!("M {mode} {id} ").as_bytes(), path, b"");
    }
    Ok(taken)
}

impl Taken {
    /// One change, its path quoted as git unquotes it.
    fn change(&mut self, what: &[u8], path: &Path, data: &[u8]) {
        self.changes.extend_from_slice(what);
        self.changes.push(b'"');
        for byte in path.as_os_str().as_bytes() {
            match byte {
                b'"' | b'\\' => self.changes.extend([b'\\', *byte]),
                b'\n' => self.changes.extend(b"\\n"),
                byte => self.changes.push(*byte),
            }
        }
        self.changes.extend(b"\"\n");
        self.changes.extend_from_slice(data);
    }
}

pub(super) fn letter(root: &Root, reason: &Reason) -> String {
    let mut lines = vec![
        format!("before {}", one_line(&reason.what)),
        String::new(),
        format!("Octo-Root: {}", root.path),
    ];
    if let Some(branch) = facts::branch_of(&root.git_dir) {
        lines.push(format!("Octo-Branch: {branch}"));
    }
    for (name, value) in [("By", &reason.by), ("Owner", &reason.owner)] {
        if let Some(value) = value {
            lines.push(format!("Octo-{name}: {}", one_line(value)));
        }
    }
    lines.join("\n") + "\n"
}

pub(in crate::worktree) fn one_line(text: &str) -> String {
    text.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

pub(super) fn commit(
    git: &Git,
    tree: &str,
    parents: &[String],
    text: &str,
    reason: &Reason,
) -> Result<String, TreeError> {
    let mut args = vec!["commit-tree", tree];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    Ok(signed(git.clone(), reason.at).input(text).text(&args)?)
}

/// Names a snapshot by its time and commit: the same content in the same second is one snapshot.
pub(super) fn publish(
    git: &Git,
    commit: &str,
    reason: &Reason,
    missed: Vec<String>,
) -> Result<Keep, TreeError> {
    let name = format!("{:010}-{}", reason.at, commit.get(..8).unwrap_or(commit));
    drop(git.run(&["update-ref", &format!("{REFS}{name}"), commit])?);
    Ok(Keep { name, commit: commit.to_owned(), missed })
}

/// A private copy of a tree's index, gone with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn copy(git_dir: &AbsPath) -> Result<Self, TreeError> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let tag = lock::tag(git_dir);
        let name = format!("octo-index-{tag}-{}-{count}", std::process::id());
        let path = git_dir.join(name).as_path().to_owned();
        match std::fs::copy(git_dir.join("index").as_path(), &path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(TreeError::Io(path, e)),
            Ok(_) | Err(_) => Ok(Self(path)),
        }
    }
}

impl Drop for Scratch {
    #[expect(clippy::disallowed_methods, reason = "this folder is the one that deletes")]
    fn drop(&mut self) {
        for path in [self.0.clone(), self.0.with_extension("lock")] {
            // What is left behind is a copy of an index, in git's own folder.
            drop(std::fs::remove_file(path));
        }
    }
}
