//! The inner ring and the process around it: namespaces, mounts, fork, exec, wait. One of the two
//! places with `unsafe`; each block says why it is sound. Everything here runs in a process with
//! one thread, which `unshare` of a user namespace demands. Never decides what is closed.
#![expect(unsafe_code, reason = "fork, mount_setattr, signalfd and wait4 have no safe wrapper")]

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Mode as FileMode, OFlags, ResolveFlags, openat, openat2};
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::plan::Mode;
use crate::policy::lane::AbsPath;

/// `struct mount_attr` of the kernel's interface, first version.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

const RDONLY: u64 = 1;

/// The view of the file system the command gets: its root, opened.
#[derive(Debug)]
pub(super) struct Inside {
    root: OwnedFd,
}

/// Why namespaces could not be had.
#[derive(Debug)]
pub(super) enum Refused {
    /// Nothing has changed, or nothing that is felt: a weaker fence can be built.
    Clean(&'static str, io::Error),
    /// This process is in a namespace without ids: it must not go on.
    Broken(&'static str, io::Error),
}

/// Opens the root of the present view, to come back to.
pub(super) fn view() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, "/", flags, FileMode::empty())?)
}

/// Enters new user and mount namespaces. Ids keep their numbers: root keeps all it had, so that
/// files of other users stay what they are; everybody else keeps their own.
pub(super) fn enter() -> Result<Inside, Refused> {
    let root = rustix::process::geteuid().is_root();
    let mapper =
        if root { Some(Mapper::start().map_err(|e| Refused::Clean("fork", e))?) } else { None };
    let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    // SAFETY: unsound only for shared descriptor tables and working directories of several
    // threads; there is one thread, and neither is unshared.
    unsafe { unshare_unsafe(flags) }.map_err(|e| Refused::Clean("user namespace", e.into()))?;
    mapper.map_or_else(map_self, Mapper::finish).map_err(|e| Refused::Broken("id map", e))?;
    // What the machine mounts later shall appear here, what is mounted here nowhere else.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|e| Refused::Clean("mount namespace", e.into()))?;
    let root = view().map_err(|e| Refused::Clean("root", e))?;
    Ok(Inside { root })
}

impl Inside {
    /// A path as the command will see it, links refused: a planned path has none left.
    fn open(&self, path: &AbsPath) -> io::Result<OwnedFd> {
        let below = path.as_path().strip_prefix("/").unwrap_or(path.as_path());
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat2(&self.root, below, flags, FileMode::empty(), ResolveFlags::NO_SYMLINKS)?)
    }

    /// Mounts a path onto itself.
    pub(super) fn mount(&self, path: &AbsPath, mode: Mode) -> io::Result<()> {
        let place = self.open(path)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        let tree = open_tree(place.as_fd(), "", flags)?;
        match mode {
            Mode::ReadOnly => set_attr(tree.as_fd().as_raw_fd(), RDONLY, 0)?,
            Mode::Open => set_attr(tree.as_fd().as_raw_fd(), 0, RDONLY)?,
            Mode::Pin => {}
        }
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(tree.as_fd(), "", place.as_fd(), "", flags)?)
    }

    /// True when nothing can be written at a path through this view; `None` when it is not there.
    pub(super) fn read_only(&self, path: &AbsPath) -> Option<bool> {
        let place = self.open(path).ok()?;
        let stat = rustix::fs::fstatvfs(&place).ok()?;
        Some(stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    /// True when something is mounted exactly at a path.
    pub(super) fn is_mount(&self, path: &AbsPath) -> bool {
        let flags = rustix::fs::AtFlags::EMPTY_PATH;
        self.open(path).is_ok_and(|place| {
            rustix::fs::statx(&place, "", flags, rustix::fs::StatxFlags::TYPE)
                .is_ok_and(|s| s.stx_attributes.contains(rustix::fs::StatxAttributes::MOUNT_ROOT))
        })
    }

    /// Goes to a directory again, now through the new mounts.
    pub(super) fn go(&self, dir: &AbsPath) -> io::Result<()> {
        Ok(rustix::process::fchdir(self.open(dir)?)?)
    }
}

/// Changes the flags of a detached mount and all below it.
fn set_attr(tree: RawFd, set: u64, clear: u64) -> io::Result<()> {
    let attr = MountAttr { set, clear, propagation: 0, userns: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: `attr` outlives the call and has the size that is passed; the path is a constant.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree,
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Maps the caller's own two ids onto themselves, all that an ordinary user may map.
fn map_self() -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// A child that stays outside: only from there may root map all ids.
struct Mapper {
    child: libc::pid_t,
    go: io::PipeWriter,
}

impl Mapper {
    fn start() -> io::Result<Self> {
        let (mut told, go) = io::pipe()?;
        let parent = std::process::id();
        let maps: Vec<(String, String)> =
            [("uid_map", "/proc/self/uid_map"), ("gid_map", "/proc/self/gid_map")]
                .into_iter()
                .map(|(name, own)| {
                    Ok((format!("/proc/{parent}/{name}"), identity(&fs::read_to_string(own)?)))
                })
                .collect::<io::Result<_>>()?;
        match fork()? {
            Forked::Parent(child) => Ok(Self { child, go }),
            Forked::Child => {
                drop(go);
                let mut byte = [0_u8; 1];
                let go = told.read_exact(&mut byte).is_ok();
                let done = go && maps.iter().all(|(file, map)| fs::write(file, map).is_ok());
                leave(i32::from(!done))
            }
        }
    }

    fn finish(mut self) -> io::Result<()> {
        self.go.write_all(b"g")?;
        match wait(self.child, Wait::Block)? {
            Some(Ended { status: 0, .. }) => Ok(()),
            Some(_) | None => Err(io::Error::from_raw_os_error(libc::EPERM)),
        }
    }
}

/// Turns a namespace's own map into one that leaves every id as it is.
fn identity(map: &str) -> String {
    let mut out = String::new();
    for line in map.lines() {
        let mut parts = line.split_whitespace();
        if let (Some(first), Some(_), Some(count)) = (parts.next(), parts.next(), parts.next()) {
            out.extend([first, " ", first, " ", count, "\n"]);
        }
    }
    out
}

/// Which side of a fork this is.
pub(super) enum Forked {
    /// The one that called; the child's id.
    Parent(libc::pid_t),
    /// The new one.
    Child,
}

/// Forks. Sound only while the process has one thread, as every applet that comes here has.
pub(super) fn fork() -> io::Result<Forked> {
    // SAFETY: with a single thread no lock can be held by a thread that is missing in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent(child)),
    }
}

/// Ends a forked child at once, without running what the parent registered for its own exit.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointers and does not return.
    unsafe { libc::_exit(code) }
}

/// How a wait behaves when nothing has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until something ends.
    Block,
    /// Not at all; stops are told too.
    Poll,
}

/// A child that ended or stopped.
pub(super) struct Ended {
    /// Which.
    pub(super) pid: libc::pid_t,
    /// As `wait` encodes it.
    pub(super) status: i32,
    /// What it used.
    pub(super) usage: libc::rusage,
}

/// Waits for a child (`-1`: any). `None` when none has changed.
pub(super) fn wait(pid: libc::pid_t, how: Wait) -> io::Result<Option<Ended>> {
    let flags = match how {
        Wait::Block => 0,
        Wait::Poll => libc::WNOHANG | libc::WUNTRACED,
    };
    let mut status = 0;
    loop {
        // SAFETY: an all-zero `rusage` is a valid value of that plain C struct.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live locals of the right types.
        match unsafe { libc::wait4(pid, &raw mut status, flags, &raw mut usage) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            0 => return Ok(None),
            pid => return Ok(Some(Ended { pid, status, usage })),
        }
    }
}

/// Signals read from a descriptor instead of being delivered, and the mask from before.
pub(super) struct Caught {
    /// Readable when one has come.
    pub(super) fd: OwnedFd,
    before: libc::sigset_t,
}

/// Who sent a signal.
pub(super) struct Signal {
    /// Its number.
    pub(super) number: i32,
    /// Sent by the kernel (a terminal's key), so the whole process group has it already.
    pub(super) by_kernel: bool,
}

impl Caught {
    /// Diverts `numbers` into a descriptor.
    pub(super) fn divert(numbers: &[i32]) -> io::Result<Self> {
        // SAFETY: zeroed sets are valid storage; each call gets pointers to live locals.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for number in numbers {
                libc::sigaddset(&raw mut set, *number);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before) != 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { fd: OwnedFd::from_raw_fd(fd), before })
        }
    }

    /// The next one that has come.
    pub(super) fn next(&self) -> Option<Signal> {
        // SAFETY: `signalfd_siginfo` is plain integers, for which zero is valid; the kernel writes
        // whole records of exactly this size or nothing.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let got = libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size);
            let whole = usize::try_from(got).is_ok_and(|n| n == size);
            whole.then(|| Signal {
                number: i32::try_from(info.ssi_signo).unwrap_or(0),
                by_kernel: info.ssi_code > 0,
            })
        }
    }

    /// Gives the command the mask and the pipe signal its caller had.
    pub(super) fn restore(&self) {
        // SAFETY: the mask came from the kernel; the default action is always a valid handler.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
    }
}

/// Ends this process the way the command ended, so that the caller sees the same.
pub(super) fn die_of(number: i32) -> ! {
    // A second core file would hide the command's own.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _kept = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    // SAFETY: plain integers; a signal that does not end us leads to the exit below.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, number);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(number);
    }
    leave(128 + number)
}

/// Sends a signal; a process that is gone already has what it deserves.
pub(super) fn send(pid: libc::pid_t, number: i32) {
    // SAFETY: takes two integers; an invalid one is an error, not undefined.
    unsafe { libc::kill(pid, number) };
}

/// Becomes the program. Returns only when that failed.
pub(super) fn become_program(program: &OsStr, args: &[CString]) -> io::Error {
    let Ok(name) = CString::new(program.as_bytes()) else {
        return io::Error::from_raw_os_error(libc::EINVAL);
    };
    let mut pointers: Vec<*const libc::c_char> =
        args.iter().map(|a: &CString| CStr::as_ptr(a)).collect();
    pointers.push(std::ptr::null());
    // SAFETY: `pointers` is null-terminated and points into strings that live until the call is over.
    unsafe { libc::execvp(name.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// The version of Landlock the kernel speaks; none when it is absent or switched off.
pub(super) fn landlock_version() -> Option<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no attribute and only returns a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(version).ok().filter(|v| *v > 0)
}

/// True for a descriptor that the command would inherit.
pub(super) fn stays_open(number: i32) -> bool {
    // SAFETY: reads a flag of a number; one that is not open is an error, not undefined.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

/// Lets a descriptor go when the command starts.
pub(super) fn close_on_exec(number: i32) {
    // SAFETY: sets a flag on a number; one that is not open is an error, not undefined.
    unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
}
