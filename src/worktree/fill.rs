//! Owns the filling of a registered tree: checkout, what is brought along, submodules, git
//! hooks, ports, setup commands. Can be cut short anywhere and called again.
//! Must never overwrite what a session already wrote into the tree.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::fault::point;
use super::keep::bury;
use super::row::{Setup, State, TreeRow};
use super::{Context, TreeError, apply, io, lock, ports, seed, submodules};
use crate::git::Git;
use crate::policy::facts::Root;

/// A checkout of a huge repository on a busy disk was seen to take 38 seconds.
const CHECKOUT: Duration = Duration::from_mins(30);
/// A post-checkout hook may install things.
const HOOK: Duration = Duration::from_mins(5);
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// How many files the checkout will have: the entry count in the head of the main index.
#[must_use]
pub fn size(row: &TreeRow) -> u32 {
    use std::io::Read;
    let Ok(mut file) = std::fs::File::open(row.common.join("index").as_path()) else { return 0 };
    let mut head = [0_u8; 12];
    if file.read_exact(&mut head).is_err() {
        return 0;
    }
    let [b'D', b'I', b'R', b'C', _, _, _, _, count @ ..] = head else { return 0 };
    u32::from_be_bytes(count)
}

/// Fills a tree. While another process fills it, its row is returned as it stands.
pub fn fill(ctx: &Context<'_>, mut row: TreeRow) -> Result<TreeRow, TreeError> {
    let lock::Taken::Ours(_lock) = lock::tree(ctx.places, &row.path)? else { return Ok(row) };
    if let Some(fresh) =
        ctx.registry.rows(Some(&row.common))?.into_iter().find(|r| r.path == row.path)
    {
        row = fresh;
    }
    if row.state != State::Preparing {
        return Ok(row);
    }
    apply::verify(&row)?;
    let Some(root) = apply::root(&row) else {
        return Err(TreeError::Unverified(format!("{} vanished", row.path)));
    };
    match steps(ctx, &mut row, &root) {
        Ok(()) => row.state = State::Ready,
        Err(error) => row.state = State::Failed { why: error.to_string() },
    }
    ctx.registry.put(&row)?;
    Ok(row)
}

fn steps(ctx: &Context<'_>, row: &mut TreeRow, root: &Root) -> Result<(), TreeError> {
    let lfs = lfs_settings(root, &mut row.notes);
    checkout(root, &lfs)?;
    point("fill.checkout");
    skip_worktree(row, root)?;
    let seeded = seed::bring(&row.main, root, &ctx.prefs.copy, ctx.prefs.copy_limit)?;
    let known: Vec<PathBuf> = seeded.copied.iter().map(|c| c.path.clone()).collect();
    row.copied.retain(|c| !known.contains(&c.path));
    row.copied.extend(seeded.copied);
    row.notes.extend(seeded.notes);
    if !known.is_empty() {
        let names: Vec<String> = known.iter().map(|p| p.display().to_string()).collect();
        row.notes.push(format!("brought along: {}", names.join(", ")));
    }
    ctx.registry.put(row)?;
    point("fill.seeded");
    row.notes.extend(submodules::bring(root, &row.main));
    ports::give(ctx, row, root)?;
    row.notes.extend(hooks(root));
    if !ctx.prefs.waiting.is_empty() {
        let note = "the project's setup commands wait for a person: octo worktree approve";
        row.notes.push(note.to_owned());
    }
    row.notes.dedup();
    point("fill.done");
    Ok(())
}

/// First time into an empty folder: plain and fast. Later: only what is missing or torn.
fn checkout(root: &Root, lfs: &[&str]) -> Result<(), TreeError> {
    let git = Git::new(root.path.as_path()).within(CHECKOUT);
    bury::stale_index_lock(&root.git_dir, &root.path);
    let entries = std::fs::read_dir(root.path.as_path()).map_err(io(root.path.as_path()))?;
    let virgin = entries.flatten().all(|e| e.file_name() == ".git");
    if virgin {
        let mut args = lfs.to_vec();
        args.extend(["reset", "--hard", "--quiet"]);
        drop(git.run(&args)?);
    } else {
        complete(&git, root, lfs)?;
    }
    Ok(())
}

/// Completes an interrupted checkout. A file that is the beginning of what it should be was torn
/// by the interruption; one that is anything else was written by the session and stays.
fn complete(git: &Git, root: &Root, lfs: &[&str]) -> Result<(), TreeError> {
    drop(git.run(&["read-tree", "-m", "HEAD"])?);
    let changed = git.run(&["diff-files", "-z", "--name-only", "--diff-filter=M"])?;
    let mut torn: Vec<u8> = Vec::new();
    for path in changed.fields() {
        let disk = std::fs::read(root.path.as_path().join(path)).unwrap_or_default();
        let mut spec = std::ffi::OsString::from(":");
        spec.push(path);
        let args: [&std::ffi::OsStr; 3] = ["cat-file".as_ref(), "blob".as_ref(), &spec];
        let whole = git.run(&args)?.stdout;
        if disk.len() < whole.len() && whole.starts_with(&disk) {
            torn.extend_from_slice(path.as_bytes());
            torn.push(0);
        }
    }
    let mut args = lfs.to_vec();
    args.extend(["checkout-index", "--force", "--index", "-z", "--stdin"]);
    drop(git.clone().input(torn).run(&args)?);
    let mut args = lfs.to_vec();
    args.extend(["checkout-index", "--all", "--index", "--quiet"]);
    // Ends with 1 when files were left alone because the session has its own there.
    drop(git.ask(&args)?);
    let missing = git.text(&["diff-files", "--name-only", "--diff-filter=D"])?;
    if missing.is_empty() {
        return Ok(());
    }
    let count = missing.lines().count();
    Err(TreeError::Unverified(format!("{}: {count} files could not be written", root.path)))
}

/// LFS files without git-lfs: pointers and a note instead of a checkout that fails.
fn lfs_settings(root: &Root, notes: &mut Vec<String>) -> Vec<&'static str> {
    let git = Git::new(root.path.as_path());
    let args = ["grep", "-q", "filter=lfs", "HEAD", "--", ".gitattributes", "**/.gitattributes"];
    let used = git.test(&args).unwrap_or(false);
    let there = || git.ask(&["lfs", "version"]).is_ok_and(|out| out.code == 0);
    if !used || there() {
        return Vec::new();
    }
    let note = "git-lfs is not installed: large files are pointers here";
    notes.push(note.to_owned());
    vec![
        "-c",
        "filter.lfs.smudge=",
        "-c",
        "filter.lfs.process=",
        "-c",
        "filter.lfs.clean=",
        "-c",
        "filter.lfs.required=false",
    ]
}

/// Files the main checkout tells git to leave alone are left alone here too.
fn skip_worktree(row: &TreeRow, root: &Root) -> Result<(), TreeError> {
    let main = Git::new(row.main.as_path());
    if main.text(&["config", "--type=bool", "core.sparseCheckout"]).is_ok_and(|v| v == "true") {
        return Ok(());
    }
    let Ok(out) = main.run(&["ls-files", "-z", "-t"]) else { return Ok(()) };
    let mut names: Vec<u8> = Vec::new();
    for field in out.fields() {
        if let Some(name) = field.as_bytes().strip_prefix(b"S ") {
            names.extend_from_slice(name);
            names.push(0);
        }
    }
    if !names.is_empty() {
        let git = Git::new(root.path.as_path()).input(names);
        drop(git.ask(&["update-index", "--skip-worktree", "-z", "--stdin"])?);
    }
    Ok(())
}

/// Runs the post-checkout hook as `git worktree add` would, and says when git hooks are off.
fn hooks(root: &Root) -> Vec<String> {
    let git = Git::new(root.path.as_path());
    let mut notes = Vec::new();
    let path = git.text(&["config", "--get", "core.hooksPath"]).unwrap_or_default();
    if !path.is_empty() && !path.starts_with(['/', '~']) {
        let there = std::fs::metadata(root.path.as_path().join(&path)).is_ok();
        if !there {
            let why = format!("core.hooksPath is {path}, which is not in this tree");
            notes.push(format!("git hooks are off here: {why}; run the project's setup"));
            return notes;
        }
    }
    let head = git.text(&["rev-parse", "HEAD"]).unwrap_or_default();
    let args = ["hook", "run", "--ignore-missing", "post-checkout", "--", NO_COMMIT, &head, "1"];
    match git.within(HOOK).ask(&args) {
        Ok(out) if out.code != 0 => {
            notes.push(format!("the post-checkout hook failed ({}): {}", out.code, out.stderr));
        }
        Ok(_) => {}
        Err(error) => notes.push(format!("the post-checkout hook did not end: {error}")),
    }
    notes
}

/// Runs the setup commands of a filled tree one after the other, with a log.
pub fn set_up(ctx: &Context<'_>, mut row: TreeRow) -> Result<TreeRow, TreeError> {
    let lock::Taken::Ours(_lock) = lock::tree(ctx.places, &row.path)? else { return Ok(row) };
    // A run that was killed is begun anew: whoever has the lock knows that nobody runs it.
    if !matches!(row.setup, Setup::Pending | Setup::Running { .. }) {
        return Ok(row);
    }
    let dir = ctx.places.papers.join("setup");
    std::fs::create_dir_all(dir.as_path()).map_err(io(dir.as_path()))?;
    let log = dir.join(format!("{}-{}.log", row.id, lock::tag(&row.path))).as_path().to_owned();
    row.setup = Setup::Running { log: log.clone() };
    ctx.registry.put(&row)?;
    tell(
        ctx,
        &row,
        &format!(
            "is being set up, log {}: builds and tests wait for it, reading and editing go on",
            log.display()
        ),
    );
    row.setup = Setup::Done;
    for command in &ctx.prefs.setup {
        if let Some(why) = run_setup(&row, command, &log) {
            row.setup = Setup::Failed { why, log };
            break;
        }
    }
    ctx.registry.put(&row)?;
    tell(
        ctx,
        &row,
        &match &row.setup {
            Setup::Failed { why, log } => {
                format!("is usable, but its setup failed: {why}, log {}", log.display())
            }
            Setup::None | Setup::Pending | Setup::Running { .. } | Setup::Done => {
                "is set up: ready".to_owned()
            }
        },
    );
    Ok(row)
}

/// A word to the session that works in the tree.
fn tell(ctx: &Context<'_>, row: &TreeRow, what: &str) {
    ctx.registry.tell(&row.session, &format!("octo: your worktree {} {what}", row.path));
}

fn run_setup(row: &TreeRow, command: &str, log: &Path) -> Option<String> {
    let open = || std::fs::OpenOptions::new().create(true).append(true).open(log);
    let (Ok(out), Ok(err)) = (open(), open()) else {
        return Some(format!("{}: cannot be written", log.display()));
    };
    let mut process = Command::new("sh");
    process.args(["-c", command]).current_dir(row.place().as_path());
    process.stdin(Stdio::null()).stdout(out).stderr(err);
    match process.status() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("`{command}` ended with {status}")),
        Err(error) => Some(format!("`{command}`: {error}")),
    }
}
