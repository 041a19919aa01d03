//! The fail-closed envelope: whatever goes wrong inside a PreToolUse hook (panic, deadline, stack
//! overflow, crash, a stray exit) ends as exit code 2 with a reason; in any other event as a
//! report that blocks nothing. One of the two places with `unsafe`.
#![expect(
    unsafe_code,
    reason = "signal handlers, an alternate stack and a timer have no safe door"
)]

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::panic::{self, UnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::applet::OnError;

/// Bytes of the stack on which a handler runs when the main one is used up.
const ALTERNATE: usize = 64 * 1024;
/// Memory a hook may ask for; beyond it something is wrong, and abort is better than swapping.
const MEMORY: u64 = 3 << 30;

/// The code a failing hook exits with: 2 blocks, 1 does not.
static FAIL: AtomicI32 = AtomicI32::new(2);
/// A reply was written: leaving is no failure any more.
static DONE: AtomicBool = AtomicBool::new(false);
/// Fatal signals that a fault can raise, and those that would end the hook without a word.
const SIGNALS: &[i32] = &[
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGXCPU,
    libc::SIGSYS,
];

const DEADLINE: &str = "octo: denied [gate.deadline] the decision took too long\nwhat to do: try again; if it stays, ask the operator: octo doctor\n";
const CRASH: &str = "octo: denied [gate.crash] the gate crashed (fault, stack overflow or out of memory)\nwhat to do: ask the operator: octo doctor\n";
const EXITED: &str = "octo: denied [gate.crash] the gate left without a decision\nwhat to do: ask the operator: octo doctor\n";
const LATE: &str = "octo: gave up after its deadline; nothing was blocked\n";
const FAULT: &str = "octo: crashed; nothing was blocked\n";

struct Stack(UnsafeCell<[u8; ALTERNATE]>);
// SAFETY: only the kernel writes to it, and only while a handler runs on it.
unsafe impl Sync for Stack {}
static STACK: Stack = Stack(UnsafeCell::new([0; ALTERNATE]));

/// Writes without allocating, locking or failing loudly.
fn say(text: &str) {
    let bytes = text.as_bytes();
    // SAFETY: the pointer and length come from one live slice; write(2) is async-signal-safe.
    let _ = unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
}

fn leave(code: i32) -> ! {
    // SAFETY: _exit takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

extern "C" fn on_signal(signal: i32) {
    let code = FAIL.load(Ordering::SeqCst);
    if DONE.load(Ordering::SeqCst) {
        leave(code);
    }
    match (code == 2, signal == libc::SIGALRM) {
        (true, true) => say(DEADLINE),
        (true, false) => say(CRASH),
        (false, true) => say(LATE),
        (false, false) => say(FAULT),
    }
    leave(code);
}

extern "C" fn on_exit() {
    if !DONE.load(Ordering::SeqCst) {
        let code = FAIL.load(Ordering::SeqCst);
        if code == 2 {
            say(EXITED);
        }
        leave(code);
    }
}

/// The program's entry, as the C runtime calls it.
#[macro_export]
macro_rules! program {
    ($start:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: std::ffi::c_int,
            words: *const *const std::ffi::c_char,
        ) -> std::ffi::c_int {
            // SAFETY: only the C runtime calls this, with its own arguments.
            unsafe { $crate::shield::enter(count, words, $start) }
        }
    };
}

/// Runs the program on the arguments of the C runtime and gives its exit code.
///
/// # Safety
/// `words` must hold `count` C strings that outlive the call.
#[must_use]
pub unsafe fn enter(
    count: c_int,
    words: *const *const c_char,
    start: fn(Vec<OsString>) -> u8,
) -> c_int {
    fill_streams();
    // SAFETY: ignoring takes no handler. A closed pipe is an error to report, not a death.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let word = |n| {
        // SAFETY: the caller vouches for `count` strings.
        let word = unsafe { CStr::from_ptr(*words.add(n)) };
        OsStr::from_bytes(word.to_bytes()).to_owned()
    };
    let args = (0..usize::try_from(count).unwrap_or(0)).map(word).collect();
    let code = panic::catch_unwind(|| start(args)).unwrap_or(101);
    // What could not be written has been said by the code.
    drop(io::stdout().flush());
    c_int::from(code)
}

/// A standard stream that the caller closed becomes `/dev/null`: else the next file we open would
/// be taken for it, and a denial be written into the table.
fn fill_streams() {
    let mut streams = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: the pointer and count are those of one live array.
    let looked = unsafe { libc::poll(streams.as_mut_ptr(), 3, 0) };
    for stream in streams {
        if looked >= 0 && stream.revents & libc::POLLNVAL == 0 {
            continue;
        }
        // SAFETY: fcntl and open take plain numbers and one literal.
        let there = unsafe {
            libc::fcntl(stream.fd, libc::F_GETFD) != -1
                || libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) != -1
        };
        if !there {
            leave(2);
        }
    }
}

/// Puts the envelope up: from here on a failure is a denial (or a report).
pub fn raise(on_error: OnError, budget_ms: u32) {
    FAIL.store(if on_error == OnError::Deny { 2 } else { 1 }, Ordering::SeqCst);
    // SAFETY: STACK is static and large enough; the structs are plain data for the kernel to
    // read; the handlers only call write and _exit, which are async-signal-safe.
    unsafe {
        let stack = libc::stack_t { ss_sp: STACK.0.get().cast(), ss_flags: 0, ss_size: ALTERNATE };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
        libc::sigfillset(&raw mut action.sa_mask);
        for signal in SIGNALS {
            libc::sigaction(*signal, &raw const action, std::ptr::null_mut());
        }
        libc::atexit(on_exit);
    }
    arm(budget_ms);
    let core = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, core);
    // The data, not the address space: git inherits the bound, and maps packs larger than it.
    let was = rustix::process::getrlimit(rustix::process::Resource::Data);
    let memory = rustix::process::Rlimit { current: Some(MEMORY), maximum: was.maximum };
    if was.current.is_none_or(|c| c > MEMORY) {
        let _ = rustix::process::setrlimit(rustix::process::Resource::Data, memory);
    }
}

fn arm(budget_ms: u32) {
    let seconds = libc::time_t::from(budget_ms / 1000);
    let micros = i32::try_from((budget_ms % 1000) * 1000).unwrap_or(0).into();
    // SAFETY: the struct outlives the call, the old value is not asked for.
    unsafe {
        let timer = libc::itimerval {
            it_interval: std::mem::zeroed(),
            it_value: libc::timeval { tv_sec: seconds, tv_usec: micros },
        };
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

/// What a hook answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// For the harness.
    pub stdout: String,
    /// For the model and the person.
    pub stderr: String,
    /// 0 goes on, 2 blocks.
    pub code: u8,
}

/// Runs a hook inside the envelope and writes its reply.
pub fn seal(work: impl FnOnce() -> Reply + UnwindSafe) -> u8 {
    panic::set_hook(Box::new(|info| {
        let place =
            info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
        let code = FAIL.load(Ordering::SeqCst);
        if code == 2 {
            say("octo: denied [gate.panic] internal error");
            say(&place);
            say("\nwhat to do: ask the operator: octo doctor\n");
        } else {
            say("octo: internal error");
            say(&place);
            say("; nothing was blocked\n");
        }
        leave(code);
    }));
    let reply = panic::catch_unwind(work).unwrap_or_else(|_| Reply {
        code: u8::try_from(FAIL.load(Ordering::SeqCst)).unwrap_or(2),
        ..Reply::default()
    });
    if !reply.stderr.is_empty() {
        say(&reply.stderr);
    }
    let written = io::stdout().write_all(reply.stdout.as_bytes());
    let flushed = io::stdout().flush();
    // A denial stands by its exit code alone; words for the model that did not arrive are lost,
    // which blocks nobody.
    drop((written, flushed));
    DONE.store(true, Ordering::SeqCst);
    // Nothing is left to run: no destructor may change the verdict or take time.
    leave(i32::from(reply.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_build_unwinds() {
        // With panic = "abort" the hook above would still run, but catch_unwind would not.
        let manifest = include_str!("../Cargo.toml");
        assert!(manifest.contains("panic = \"unwind\""));
    }

    #[test]
    fn prepared_words_name_their_rule() {
        assert!(DEADLINE.contains("[gate.deadline]") && CRASH.contains("[gate.crash]"));
    }
}
