//! The parent of a fenced command: hands signals on, stops and dies as the command does, measures
//! it, and keeps the fence up to date. What the command leaves running goes on being guarded by a
//! process that stays behind. It must never keep the caller waiting for those.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::apply::{self, Caught, Ended, Forked, Wait};
use super::live::Live;
use super::outer::Rights;
use super::rights::drop_rights;
use super::{FenceError, Metering};

/// Handed on to the command. Stops (`SIGTSTP` and kin) act on us as on any process.
const HANDED_ON: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
    libc::SIGCONT,
    libc::SIGPIPE,
    libc::SIGVTALRM,
    libc::SIGPROF,
];

/// Between two looks at the claims: a build that makes a thousand files must not cost a thousand.
const PAUSE: Duration = Duration::from_millis(20);

/// So long a command's claims are looked at every [`PAUSE`]; the kernel watches them only after.
const EARLY: Duration = Duration::from_millis(200);

/// Between two looks whether anything is left, after the command itself has ended.
const LINGER: Duration = Duration::from_secs(2);

/// A command ready to be started.
pub(super) struct Launch {
    /// The program, looked up in `PATH`.
    pub(super) program: OsString,
    /// All arguments, the name first.
    pub(super) args: Vec<CString>,
    /// The outer ring, where the kernel has it.
    pub(super) rights: Option<Rights>,
}

/// How the command ended.
pub(super) enum End {
    /// With an exit code.
    Code(u8),
    /// By a signal.
    Signal(i32),
}

/// Runs the command to its end. `begun` is called once it is on its way, from outside the fence.
pub(super) fn run(
    launch: Launch,
    mut live: Option<&mut Live<'_>>,
    begun: &dyn Fn(),
) -> Result<(End, Metering), FenceError> {
    let step = |step| move |source| FenceError::Step { step, path: None, source };
    let mut numbers = HANDED_ON.to_vec();
    numbers.push(libc::SIGCHLD);
    let caught = Caught::divert(&numbers).map_err(step("signals"))?;
    let program = launch.program.to_string_lossy().into_owned();
    // Whatever the command leaves behind comes back to us, so that we know whether it is gone.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|e| step("orphans")(e.into()))?;
    let started = Instant::now();
    let (mut told, tell) = io::pipe().map_err(step("pipe"))?;
    let child = match apply::fork().map_err(step("fork"))? {
        Forked::Parent(child) => child,
        Forked::Child => start(launch, &caught, tell),
    };
    drop(tell);
    if let Some(live) = live.as_deref_mut() {
        live.step_outside().map_err(step("root"))?;
    }
    begun();
    if let Some(error) = failure(&mut told) {
        return Err(FenceError::Start { program, source: error });
    }
    let mut watch = Watch { child, caught, used: Metering::default(), ended: None, left: true };
    watch.until_ended(live).map_err(step("wait"))?;
    watch.used.wall_us = micros(started.elapsed());
    let Watch { mut used, ended, .. } = watch;
    let end = match ended {
        Some(status) if libc::WIFSIGNALED(status) => End::Signal(libc::WTERMSIG(status)),
        Some(status) => End::Code(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(1)),
        None => End::Code(1),
    };
    used.exit = match &end {
        End::Code(code) => i32::from(*code),
        End::Signal(number) => 128 + number,
    };
    Ok((end, used))
}

/// The child's side. A failure is told through the pipe, which a successful `exec` closes.
fn start(launch: Launch, caught: &Caught, mut tell: io::PipeWriter) -> ! {
    caught.restore();
    // Who kills us without a chance to hand it on means the command.
    let _bound =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let prepared = drop_rights();
    let limited = match launch.rights.map(Rights::take) {
        None | Some(Ok(true)) => Ok(()),
        Some(Ok(false)) => Err(io::Error::from_raw_os_error(libc::ENOTSUP)),
        Some(Err(error)) => Err(io::Error::other(error)),
    };
    let error = match prepared.and(limited) {
        Ok(()) => apply::become_program(&launch.program, &launch.args),
        Err(error) => error,
    };
    let number = error.raw_os_error().unwrap_or(libc::EPERM);
    let _told = io::Write::write_all(&mut tell, &number.to_ne_bytes());
    apply::leave(127)
}

/// What the child had to say, if it did not become the program.
fn failure(told: &mut io::PipeReader) -> Option<io::Error> {
    let mut number = [0_u8; 4];
    io::Read::read_exact(told, &mut number).ok()?;
    Some(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
}

/// The state of one supervision.
struct Watch {
    child: libc::pid_t,
    caught: Caught,
    used: Metering,
    ended: Option<i32>,
    left: bool,
}

impl Watch {
    fn until_ended(&mut self, mut live: Option<&mut Live<'_>>) -> io::Result<()> {
        let started = Instant::now();
        let mut seen: Option<Instant> = None;
        while self.ended.is_none() {
            let early = live.as_ref().is_some_and(|l| l.watch().is_none());
            let waits = live.as_ref().is_some_and(|l| l.waits());
            let rest = match seen.and_then(|at| PAUSE.checked_sub(at.elapsed())) {
                None if early || waits => Some(PAUSE),
                rest => rest,
            };
            let mut woken = sleep(Some(&self.caught), live.as_deref(), rest)?;
            self.signals();
            self.reap()?;
            let Some(live) = live.as_deref_mut() else { continue };
            if early && self.ended.is_none() {
                if started.elapsed() > EARLY {
                    // Watches run out where editors use them up: then we go on looking.
                    let _watched = live.watch_from_now_on();
                }
                woken |= live.changed();
            }
            if woken || waits {
                live.drain();
                live.refresh();
                seen = Some(Instant::now());
            }
        }
        if let (true, Some(live)) = (self.left, live) {
            stay_behind(live)?;
        }
        Ok(())
    }

    /// A key on a terminal reaches the whole group, the command included: not sent twice.
    fn signals(&self) {
        while let Some(signal) = self.caught.next() {
            if signal.number != libc::SIGCHLD && !signal.by_kernel {
                apply::send(self.child, signal.number);
            }
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        loop {
            match apply::wait(-1, Wait::Poll) {
                Ok(Some(ended)) => self.account(&ended),
                Ok(None) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                    self.left = false;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn account(&mut self, ended: &Ended) {
        if libc::WIFSTOPPED(ended.status) {
            let key = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
            if ended.pid == self.child && key.contains(&libc::WSTOPSIG(ended.status)) {
                // A shell that started us waits for us to stop, and then wakes us both.
                apply::send(rustix::process::getpid().as_raw_nonzero().get(), libc::SIGSTOP);
                apply::send(self.child, libc::SIGCONT);
            }
            return;
        }
        let used = &mut self.used;
        used.user_us += time(ended.usage.ru_utime);
        used.system_us += time(ended.usage.ru_stime);
        used.peak_kib = used.peak_kib.max(u64::try_from(ended.usage.ru_maxrss).unwrap_or(0));
        if ended.pid == self.child {
            self.ended = Some(ended.status);
        }
    }
}

/// Leaves a guard for what the command left running: in a session of its own, without the
/// caller's descriptors, gone as soon as nothing is left in this namespace.
fn stay_behind(live: &mut Live<'_>) -> io::Result<()> {
    if let Forked::Parent(_) = apply::fork()? {
        return Ok(());
    }
    let quiet = || -> io::Result<()> {
        rustix::process::setsid()?;
        let nothing = fs::File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        Ok(rustix::stdio::dup2_stderr(&nothing)?)
    };
    if quiet().is_err() {
        apply::leave(1);
    }
    while occupied() {
        let watched = live.watch().is_some() || live.watch_from_now_on().is_ok();
        let rest = if watched { LINGER } else { EARLY };
        let mut woken = sleep(None, Some(live), Some(rest)).is_ok_and(|woken| woken);
        woken |= !watched && live.changed();
        if woken {
            live.drain();
            live.refresh();
            std::thread::sleep(PAUSE);
        }
    }
    apply::leave(0)
}

/// Waits until something happens; true when it concerns the fence. While `rest` runs, claims are
/// not looked at; without `caught` it is only how long to wait.
fn sleep(
    caught: Option<&Caught>,
    live: Option<&Live<'_>>,
    rest: Option<Duration>,
) -> io::Result<bool> {
    let resting = rest.is_some() && caught.is_some();
    let mut fds = Vec::with_capacity(3);
    if let Some(live) = live {
        fds.push(PollFd::from_borrowed_fd(live.table(), PollFlags::PRI));
        if let (false, Some(watch)) = (resting, live.watch()) {
            fds.push(PollFd::from_borrowed_fd(watch, PollFlags::IN));
        }
    }
    let guards = fds.len();
    if let Some(caught) = caught {
        fds.push(PollFd::from_borrowed_fd(caught.fd.as_fd(), PollFlags::IN));
    }
    let limit = rest.and_then(|r| Timespec::try_from(r).ok());
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(fds.iter().take(guards).any(|fd| !fd.revents().is_empty()))
}

/// True while any other process sees the same mounts.
fn occupied() -> bool {
    let Ok(own) = fs::read_link("/proc/self/ns/mnt") else { return false };
    let me = std::process::id().to_string();
    let Ok(all) = fs::read_dir("/proc") else { return false };
    all.flatten().any(|entry| {
        let name = entry.file_name();
        name.as_bytes().first().is_some_and(u8::is_ascii_digit)
            && name.as_bytes() != me.as_bytes()
            && fs::read_link(entry.path().join("ns/mnt")).is_ok_and(|ns| ns == own)
    })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn time(value: libc::timeval) -> u64 {
    let whole = u64::try_from(value.tv_sec).unwrap_or(0).saturating_mul(1_000_000);
    whole.saturating_add(u64::try_from(value.tv_usec).unwrap_or(0))
}
