//! Runs a command under the best fence this kernel grants. Steps in order: holds, plan, inner
//! ring, descriptors, outer ring prepared, fork; what was granted is told before the command runs.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use super::{Command, Terms, variable};
use crate::fence::apply::{self, Caught, Inside, Refused};
use crate::fence::live::{self, Live, Parts};
use crate::fence::look::{RealDisk, Rights, scratch, switches};
use crate::fence::outer::Proc;
use crate::fence::plan::{Asked, FencePlan, Mode, plan};
use crate::fence::supervise::{self, End, Launch};
use crate::fence::{
    Company, FenceError, Granted, HoldSource, Holds, Level, Metering, fds, fill, narrow, outer,
    probe,
};
use crate::policy::lane::AbsPath;

/// Replaces this process by the command, without a fence.
pub(super) fn become_command(command: &Command) -> Result<u8, FenceError> {
    let args = argv(command)?;
    let caught = Caught::divert(&[]).map_err(|source| step("signals", None, source))?;
    caught.restore();
    let source = apply::become_program(&command.program, &args);
    Err(FenceError::Start { program: command.program.to_string_lossy().into_owned(), source })
}

/// Runs the command under a fence and ends as it ends.
pub(super) fn fenced(
    command: &Command,
    terms: &Terms,
    source: &dyn HoldSource,
) -> Result<u8, FenceError> {
    let dir = std::env::current_dir().ok().and_then(AbsPath::new).unwrap_or_else(removed);
    let before = live::stamps(source);
    let holds = source.holds_for(&terms.who, &dir)?;
    if holds.company == Company::Alone {
        return become_command(command);
    }
    fill::in_repositories(&holds);
    let scratch = scratch(&variable);
    let user = if rustix::process::geteuid().is_root() { Rights::Root } else { Rights::Ordinary };
    let switches = switches(user);
    let offer = probe::offer(source.offer_file().as_deref());
    let asked = Asked {
        holds: &holds,
        git: terms.git,
        dir: &dir,
        level: offer.level,
        scratch: &scratch,
        switches: &switches,
    };
    let disk = RealDisk::look();
    let mut plan = plan(&asked, &disk);
    let outside = apply::view().map_err(|e| step("root", None, e))?;
    let ring = inner_ring(&offer, &mut plan)?;
    let (level, short) = match &ring {
        Ring::Built(_) | Ring::Inherited => (offer.level, offer.short.clone()),
        Ring::None(why) if offer.landlock.is_some() => (Level::Landlock, Some(why.clone())),
        Ring::None(why) => (Level::None, Some(why.clone())),
    };
    enough(&holds, terms, level, short.as_deref())?;
    let told = granted(level, short, &plan);
    fds::sweep(&plan).map_err(|e| step("descriptors", None, e))?;
    let rights = if offer.landlock.is_some() {
        Some(rights(&ring, &plan, &holds, (user, &disk))?)
    } else {
        None
    };
    let mut live = match ring {
        Ring::Built(inside) => {
            inside.go(&dir).map_err(|e| step("directory", Some(&dir), e))?;
            let (who, git) = (&terms.who, terms.git);
            let (scratch, switches) = (&scratch, &switches);
            let parts =
                Parts { inside, outside, plan, who, git, source, scratch, switches, disk, before };
            Some(Live::start(parts).map_err(|e| step("watching claims", None, e))?)
        }
        Ring::Inherited | Ring::None(_) => None,
    };
    let launch = Launch { program: command.program.clone(), args: argv(command)?, rights };
    let ended = supervise::run(launch, live.as_mut(), &|| source.granted(&terms.who, &told))?;
    Ok(finish(command, terms, source, ended))
}

/// Where a command starts whose folder was removed: at what is left of the way there. Staying
/// would leave it outside the fence, from where `..` leads past every mount.
fn removed() -> AbsPath {
    let cwd = std::fs::read_link("/proc/self/cwd").ok();
    let name = cwd.as_ref().and_then(|p| p.to_str()).map(|p| p.trim_end_matches(" (deleted)"));
    let mut at = name.and_then(AbsPath::new);
    while let Some(path) = at {
        if path.as_path().is_dir() {
            return path;
        }
        at = path.parent();
    }
    AbsPath::root()
}

/// Write rights: everywhere in the write folders where mounts close what is held, else only beside
/// the way to it.
fn rights(
    ring: &Ring,
    plan: &FencePlan,
    holds: &Holds,
    (user, disk): (Rights, &RealDisk),
) -> Result<outer::Rights, FenceError> {
    let narrowed = match ring {
        Ring::Built(_) | Ring::Inherited => None,
        Ring::None(_) => Some(narrow::grants(plan, disk)),
    };
    let write = narrowed.as_ref().unwrap_or(&plan.write);
    let proc = match (user, &narrowed) {
        (Rights::Root, Some(_)) => Proc::Closed,
        (Rights::Root, None) | (Rights::Ordinary, _) => Proc::Open,
    };
    outer::prepare(write, holds.signals, proc)
        .map_err(|e| step("write rights", None, std::io::Error::other(e)))
}

/// What became of the inner ring.
enum Ring {
    /// Built, and can be added to.
    Built(Inside),
    /// An outer fence closes all of it already.
    Inherited,
    /// Not to be had, and why.
    None(String),
}

fn inner_ring(offer: &probe::Offer, plan: &mut FencePlan) -> Result<Ring, FenceError> {
    if offer.level < Level::Mounts {
        return Ok(Ring::None(offer.short.clone().unwrap_or_default()));
    }
    let inside = match apply::enter() {
        Ok(inside) => inside,
        Err(Refused::Broken(at, source)) => return Err(step(at, None, source)),
        Err(Refused::Clean(at, source)) => {
            return Ok(if closed_already(plan) {
                Ring::Inherited
            } else {
                Ring::None(format!("{at}: {source}"))
            });
        }
    };
    let mut gone = Vec::new();
    for mount in &plan.mounts {
        match inside.mount(&mount.path, mount.mode) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => gone.push(mount.path.clone()),
            // Where this user cannot go, its command cannot either.
            Err(e) if e.raw_os_error() == Some(libc::EACCES) => {}
            // Open again inside a file system that is read-only of itself: stays so.
            Err(_) if mount.mode == Mode::Open => {}
            Err(source) => return Err(step("closing", Some(&mount.path), source)),
        }
    }
    plan.absent.extend(gone);
    Ok(Ring::Built(inside))
}

/// True when an outer fence holds everything this one would.
fn closed_already(plan: &FencePlan) -> bool {
    plan.mounts.iter().filter(|m| m.mode == Mode::ReadOnly).all(|m| {
        rustix::fs::statvfs(m.path.as_path())
            .is_ok_and(|s| s.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    })
}

fn enough(
    holds: &Holds,
    terms: &Terms,
    have: Level,
    short: Option<&str>,
) -> Result<(), FenceError> {
    let need = holds.need.max(terms.need);
    if have >= need {
        return Ok(());
    }
    Err(FenceError::TooWeak { need, have, why: short.unwrap_or("not supported").to_owned() })
}

fn granted(level: Level, short: Option<String>, plan: &FencePlan) -> Granted {
    let short = if level == Level::Full { None } else { short };
    Granted { level, short, aliased: plan.aliased.clone(), absent: plan.absent.clone() }
}

fn argv(command: &Command) -> Result<Vec<CString>, FenceError> {
    std::iter::once(&command.program)
        .chain(&command.args)
        .map(|word| CString::new(word.as_bytes()))
        .collect::<Result<_, _>>()
        .map_err(|_| FenceError::Usage("an argument contains a NUL"))
}

/// Records what the command used and passes its end on.
fn finish(
    command: &Command,
    terms: &Terms,
    source: &dyn HoldSource,
    (end, used): (End, Metering),
) -> u8 {
    source.metered(&terms.who, &command.text, &used);
    match end {
        End::Code(code) => code,
        End::Signal(number) => apply::die_of(number),
    }
}

fn step(step: &'static str, path: Option<&AbsPath>, source: std::io::Error) -> FenceError {
    FenceError::Step { step, path: path.cloned(), source }
}
