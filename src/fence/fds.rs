//! Descriptors the command inherits. One that was opened before the fence leads around it: a
//! folder's through `openat`, a held file's through `/proc/self/fd`. Pipes, sockets and terminals
//! stay, a make job server among them.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::apply;
use super::plan::{FencePlan, Mode};
use crate::policy::lane::AbsPath;

/// Makes every dangerous inherited descriptor above the three standard ones close on `exec`, and
/// opens those of the three again, through the fence, that are folders or held files.
pub(super) fn sweep(plan: &FencePlan) -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")?.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else {
            continue;
        };
        if number > 2 && apply::stays_open(number) && leads_around(number, plan) {
            apply::close_on_exec(number);
        }
    }
    if held_file(0, plan) {
        reopen_input()?;
    }
    for number in 0..=2 {
        let folder = fs::metadata(link(number)).is_ok_and(|meta| meta.is_dir());
        if folder || path_only(number) {
            reopen(number)?;
        }
    }
    Ok(())
}

/// True for a folder, a bare path handle, or a held file.
fn leads_around(number: i32, plan: &FencePlan) -> bool {
    let Ok(meta) = fs::metadata(link(number)) else { return false };
    meta.is_dir() || path_only(number) || held_file(number, plan)
}

/// True for a regular file that is held or lies below something held.
fn held_file(number: i32, plan: &FencePlan) -> bool {
    let Ok(meta) = fs::metadata(link(number)) else { return false };
    let at = fs::read_link(link(number)).ok().and_then(AbsPath::new);
    meta.is_file()
        && plan.mounts.iter().filter(|m| m.mode == Mode::ReadOnly).any(|m| {
            at.as_ref().is_some_and(|p| p.within(&m.path))
                || fs::symlink_metadata(m.path.as_path())
                    .is_ok_and(|held| (held.dev(), held.ino()) == (meta.dev(), meta.ino()))
        })
}

/// True for a descriptor opened with `O_PATH`: it can be turned into any other.
fn path_only(number: i32) -> bool {
    let Ok(info) = fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { return false };
    let flags = info.lines().find_map(|l| l.strip_prefix("flags:")).map(str::trim);
    flags
        .and_then(|f| i32::from_str_radix(f, 8).ok())
        .is_some_and(|f| f & libc::O_PATH == libc::O_PATH)
}

/// Opens the file behind standard input by its name, for reading, where it stood.
fn reopen_input() -> io::Result<()> {
    let old = io::stdin();
    let at = rustix::fs::seek(&old, rustix::fs::SeekFrom::Current(0))?;
    let mut new = File::open(fs::read_link(link(0))?)?;
    new.seek(SeekFrom::Start(at))?;
    Ok(rustix::stdio::dup2_stdin(&new)?)
}

/// Puts what a standard descriptor's name leads to now in its place.
fn reopen(number: i32) -> io::Result<()> {
    let new = File::open(fs::read_link(link(number))?)?;
    match number {
        0 => rustix::stdio::dup2_stdin(&new)?,
        1 => rustix::stdio::dup2_stdout(&new)?,
        _ => rustix::stdio::dup2_stderr(&new)?,
    }
    Ok(())
}

/// Where the kernel shows a descriptor.
fn link(number: i32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{number}"))
}
