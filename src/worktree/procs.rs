//! Owns the question whether any process of this machine still works inside a folder.
//! Must never count octo itself, and where the system cannot say (no `/proc`) it says nothing:
//! the register's own users are asked separately.

use std::path::Path;

/// A process inside a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// Its number.
    pub pid: u32,
    /// Its program.
    pub name: String,
}

/// How closely is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Working directories.
    Directories,
    /// Also open files.
    Files,
}

/// Processes whose working directory (or an open file) lies in `folder`.
#[must_use]
pub fn inside(folder: &Path, look: Look) -> Vec<Inside> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && reaches(*pid, folder, look))
        .map(|pid| Inside { pid, name: name_of(pid) })
        .collect()
}

fn reaches(pid: u32, folder: &Path, look: Look) -> bool {
    let here = |link: &Path| std::fs::read_link(link).is_ok_and(|at| at.starts_with(folder));
    let base = Path::new("/proc").join(pid.to_string());
    if here(&base.join("cwd")) {
        return true;
    }
    let open = || {
        let Ok(files) = std::fs::read_dir(base.join("fd")) else { return false };
        files.flatten().any(|f| here(&f.path()))
    };
    look == Look::Files && open()
}

fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// Whether a process with this number is alive.
#[must_use]
pub fn alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // EPERM also means alive, only somebody else's.
    pid.is_some_and(|p| rustix::process::test_kill_process(p) != Err(rustix::io::Errno::SRCH))
}
