//! Tries the fence on this kernel: cheaply by its switches, or for real in a child that ends.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Level, Obstacle, Offer, Report, Signs, explain};
use crate::fence::Signals;
use crate::fence::apply::{self, Forked, Wait};
use crate::fence::outer::{self, Proc};
use crate::fence::plan::Mode;
use crate::policy::lane::AbsPath;

const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/// What the next command can expect. Where the switch says that a namespace may come without
/// rights, a child tries first: a process that is in one already can't go back.
#[must_use]
pub fn offer(memory: Option<&Path>) -> Offer {
    let landlock = apply::landlock_version();
    let restricted = number(APPARMOR) == Some(1) && !rustix::process::geteuid().is_root();
    let mounts = !restricted || remembered(memory);
    let level = level(mounts, landlock);
    let short = match (mounts, landlock) {
        (false, _) => Some(Obstacle::AppArmor.reason().to_owned()),
        (true, None) => Some(Obstacle::NoLandlock.reason().to_owned()),
        (true, Some(_)) => None,
    };
    Offer { level, landlock, short }
}

/// So long a refusal is believed: the repair needs no restart of anything.
const BELIEVED: Duration = Duration::from_mins(10);

/// Whether mounts can be had, tried once a boot and program instead of once a command.
fn remembered(memory: Option<&Path>) -> bool {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let (Some(file), false) = (memory, boot.is_empty()) else { return inner() };
    let key = format!("{}{}", boot, program.display());
    let known = fs::read_to_string(file).unwrap_or_default();
    let age = fs::metadata(file).and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok());
    match known.strip_prefix(&key) {
        Some("\nyes") => true,
        Some("\nno") if age.is_some_and(|age| age < BELIEVED) => false,
        Some(_) | None => {
            let mounts = inner();
            // Only a saving: what can't be kept is tried again.
            let _kept = fs::write(file, format!("{key}\n{}", if mounts { "yes" } else { "no" }));
            mounts
        }
    }
}

/// What is really granted here, by trying.
#[must_use]
pub fn probe() -> Report {
    let mounts = inner();
    let landlock = apply::landlock_version().filter(|_| outer_ring());
    let mut obstacles = if mounts { Vec::new() } else { explain(signs()) };
    if landlock.is_none() {
        obstacles.push(Obstacle::NoLandlock);
    }
    Report { level: level(mounts, landlock), landlock, obstacles }
}

fn level(mounts: bool, landlock: Option<u32>) -> Level {
    match (mounts, landlock) {
        (true, Some(_)) => Level::Full,
        (true, None) => Level::Mounts,
        (false, Some(_)) => Level::Landlock,
        (false, None) => Level::None,
    }
}

/// Whether a folder can really be made read-only in a child.
fn inner() -> bool {
    in_child(|| {
        let Some(path) = AbsPath::new("/tmp") else { return false };
        let Ok(inside) = apply::enter() else { return false };
        inside.mount(&path, Mode::ReadOnly).is_ok() && inside.read_only(&path) == Some(true)
    })
}

/// Whether the kernel really takes write rights away in a child.
fn outer_ring() -> bool {
    in_child(|| {
        let rights = outer::prepare(&[], Signals::Inside, Proc::Closed);
        rights.and_then(outer::Rights::take).is_ok_and(|enforced| enforced)
    })
}

/// Runs a trial in a child, so that nothing of it sticks to us.
fn in_child(trial: impl FnOnce() -> bool) -> bool {
    match apply::fork() {
        Ok(Forked::Child) => apply::leave(i32::from(!trial())),
        Ok(Forked::Parent(child)) => {
            apply::wait(child, Wait::Block).is_ok_and(|end| end.is_some_and(|e| e.status == 0))
        }
        Err(_) => false,
    }
}

fn signs() -> Signs {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status.lines().find_map(|l| l.strip_prefix(name)).and_then(|v| v.trim().parse().ok())
    };
    let marked = ["/.dockerenv", "/run/.containerenv"].iter().any(|p| fs::metadata(p).is_ok());
    // Only what an ordinary user asks for is restricted.
    let apparmor = number(APPARMOR).filter(|_| !rustix::process::geteuid().is_root());
    Signs {
        apparmor,
        clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
        limit: number("/proc/sys/user/max_user_namespaces"),
        seccomp: field("Seccomp:"),
        no_new_privs: field("NoNewPrivs:"),
        container: marked.then_some(1),
    }
}

fn number(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
