//! Owns every start of a git process: which environment it sees, how long it may take, what its
//! failure looks like.
//! Must never let a caller's `GIT_DIR` or `GIT_INDEX_FILE` choose another repository, never wait
//! for ever, never lose git's own words.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid as OsPid, Signal, kill_process_group};

/// What a call may take unless its caller says otherwise.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How long somebody else's `index.lock` is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// git's own handlers remove its lock files on TERM; KILL would leave them behind.
const GRACE: Duration = Duration::from_millis(500);
/// A hook's daemon may hold the pipe open after git has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// Variables that say who commits, how to reach a host, or which user configuration holds. All
/// other `GIT_*` are dropped: inside a git hook they name the hook's repository, not ours.
const KEPT: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_ASKPASS",
    "GIT_LFS_SKIP_SMUDGE",
];

/// Settings for every call: wait for locks instead of failing, start no housekeeping in a hook.
const SETTINGS: &[&str] = &[
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=5000",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.quotePath=false",
    "advice.detachedHead=false",
];

/// Why a git call gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// git could not be started.
    Spawn,
    /// It took longer than it was given and was ended.
    Timeout,
    /// Another process held a lock file all the time.
    Locked,
    /// git ended with this code; 128 and more for a signal, as in a shell.
    Exit(i32),
}

/// A git call that failed, with git's own words.
#[derive(Debug, Clone)]
pub struct GitError {
    /// What kind of failure.
    pub kind: Failure,
    /// The call as one would type it.
    pub call: String,
    /// Where it ran.
    pub dir: PathBuf,
    /// What git (or the system) said.
    pub message: String,
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, call, dir, message } = self;
        match kind {
            Failure::Spawn => write!(f, "git could not be started: {message}"),
            Failure::Timeout => write!(f, "`{call}` in {} took too long", dir.display()),
            Failure::Locked => {
                write!(f, "`{call}`: another git process holds {}: {message}", dir.display())
            }
            Failure::Exit(_) => write!(f, "`{call}` in {}: {message}", dir.display()),
        }
    }
}

impl std::error::Error for GitError {}

/// What a call printed.
#[derive(Debug, Clone)]
#[must_use]
pub struct Output {
    /// Exit code; a signal counts as 128 and more, as in a shell.
    pub code: i32,
    /// Standard output, byte for byte.
    pub stdout: Vec<u8>,
    /// Standard error, for people.
    pub stderr: String,
}

impl Output {
    /// Standard output as text without the line end.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// The fields of NUL-separated output.
    pub fn fields(&self) -> impl Iterator<Item = &OsStr> {
        use std::os::unix::ffi::OsStrExt;
        self.stdout.split(|b| *b == 0).filter(|f| !f.is_empty()).map(OsStr::from_bytes)
    }
}

/// git, set up to run in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    timeout: Duration,
    env: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
}

impl Git {
    /// git in `dir`, whatever the calling process's environment says about repositories.
    #[must_use]
    pub fn new(dir: impl AsRef<Path>) -> Self {
        Self { dir: dir.as_ref().to_owned(), timeout: TIMEOUT, env: Vec::new(), stdin: None }
    }

    /// The same with another time limit.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with a variable set.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with an index of its own, so that the tree's index is not touched.
    #[must_use]
    pub fn index(self, file: impl AsRef<Path>) -> Self {
        self.env("GIT_INDEX_FILE", file.as_ref())
    }

    /// The same, fed with these bytes.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs git; any exit code is an answer. Waits for somebody else's lock.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Output, GitError> {
        let deadline = Instant::now() + LOCK_WAIT.min(self.timeout);
        let mut pause = Duration::from_millis(5);
        loop {
            let out = self.once(args)?;
            if out.code == 0 || !lock_held(&out.stderr) {
                return Ok(out);
            }
            if Instant::now() + pause >= deadline {
                return Err(self.error(Failure::Locked, args, out.stderr));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }

    /// Runs git; anything but success is a failure.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Output, GitError> {
        let out = self.ask(args)?;
        if out.code == 0 {
            return Ok(out);
        }
        Err(self.error(Failure::Exit(out.code), args, out.stderr))
    }

    /// Runs git for one line of text.
    pub fn text<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        Ok(self.run(args)?.text())
    }

    /// Runs git for a yes (0) or no (1); other codes are failures.
    pub fn test<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, GitError> {
        let out = self.ask(args)?;
        match out.code {
            0 => Ok(true),
            1 => Ok(false),
            code => Err(self.error(Failure::Exit(code), args, out.stderr)),
        }
    }

    fn once<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Output, GitError> {
        let spawned = self.command(args).spawn();
        let mut child = spawned.map_err(|e| self.error(Failure::Spawn, args, format!("{e}")))?;
        if let (Some(bytes), Some(mut pipe)) = (self.stdin.clone(), child.stdin.take()) {
            // A thread of its own: git may fill its output before it has read all of its input.
            drop(std::thread::spawn(move || {
                // A git that stopped reading has said why on its standard error.
                drop(pipe.write_all(&bytes));
            }));
        }
        let (done, ended) = mpsc::channel();
        let stdout = Collector::start(child.stdout.take(), done.clone());
        let stderr = Collector::start(child.stderr.take(), done);
        let status = self.wait(&mut child, &ended, args)?;
        Ok(Output {
            code: code_of(status),
            stdout: stdout.take(),
            stderr: String::from_utf8_lossy(&stderr.take()).trim().to_owned(),
        })
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_") && !KEPT.contains(&text.as_ref()) {
                command.env_remove(&name);
            }
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_EDITOR", ":").env("GIT_PAGER", "cat");
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command.args(args).current_dir(&self.dir);
        let stdin = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that a timeout also ends the hooks and filters git started.
        command.process_group(0);
        command
    }

    /// Waits for the end of both pipes, or of git itself when somebody else holds a pipe open.
    fn wait<S: AsRef<OsStr>>(
        &self,
        child: &mut Child,
        ended: &mpsc::Receiver<()>,
        args: &[S],
    ) -> Result<ExitStatus, GitError> {
        let io = |e: std::io::Error| self.error(Failure::Spawn, args, e.to_string());
        let deadline = Instant::now() + self.timeout;
        let mut open = 2;
        loop {
            if open == 0 {
                if let Some(status) = child.try_wait().map_err(io)? {
                    return Ok(status);
                }
                std::thread::sleep(Duration::from_micros(200));
            } else if ended.recv_timeout(Duration::from_millis(50)).is_ok() {
                open -= 1;
                continue;
            } else if let Some(status) = child.try_wait().map_err(io)? {
                // Both readers must have come to the end: on a busy machine the one of an empty
                // stderr ends first, and half a `git status` once passed for a clean tree.
                let drained = Instant::now() + DRAIN;
                while open > 0 {
                    let left = drained.saturating_duration_since(Instant::now());
                    if ended.recv_timeout(left).is_err() {
                        break;
                    }
                    open -= 1;
                }
                return Ok(status);
            }
            if Instant::now() >= deadline {
                end_group(child);
                return Err(self.error(Failure::Timeout, args, String::new()));
            }
        }
    }

    fn error<S: AsRef<OsStr>>(&self, kind: Failure, args: &[S], message: String) -> GitError {
        let words = args.iter().map(|a| a.as_ref().to_string_lossy());
        let call = std::iter::once("git".into()).chain(words).collect::<Vec<_>>().join(" ");
        GitError { kind, call, dir: self.dir.clone(), message }
    }
}

/// Reads a pipe to its end in a thread; what has come so far can be taken at any time.
struct Collector(Arc<Mutex<Vec<u8>>>);

impl Collector {
    fn start(pipe: Option<impl Read + Send + 'static>, done: mpsc::Sender<()>) -> Self {
        let held = Arc::new(Mutex::new(Vec::new()));
        let filled = Arc::clone(&held);
        drop(std::thread::spawn(move || {
            let mut chunk = vec![0; 64 * 1024];
            if let Some(mut pipe) = pipe {
                while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                    let bytes = chunk.get(..count).unwrap_or_default();
                    filled.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
                }
            }
            let _ = done.send(());
        }));
        Self(held)
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn end_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(OsPid::from_raw);
    let Some(group) = group else { return };
    let _ = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process_group(group, Signal::KILL);
    drop(child.wait());
}

fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// git could not take a lock file because it exists. A compare-and-swap that lost is not this.
fn lock_held(stderr: &str) -> bool {
    stderr.contains(".lock': File exists") || stderr.contains(".lock\u{2019}: File exists")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> tempfile::TempDir {
        let tmp = tempfile::tempdir().unwrap();
        drop(Git::new(tmp.path()).run(&["init", "-q", "-b", "main"]).unwrap());
        tmp
    }

    #[test]
    fn a_failure_keeps_the_code_and_the_words() {
        let tmp = repo();
        let error = Git::new(tmp.path()).run(&["rev-parse", "--verify", "nope"]).unwrap_err();
        assert_eq!(error.kind, Failure::Exit(128));
        assert!(error.to_string().contains("git rev-parse --verify nope"), "{error}");
        assert!(error.to_string().contains("Needed a single revision"), "{error}");
        assert!(!Git::new(tmp.path()).test(&["show-ref", "--verify", "-q", "refs/x"]).unwrap());
    }

    #[test]
    fn a_lock_is_waited_for_and_a_lock_that_stays_is_named() {
        let tmp = repo();
        std::fs::write(tmp.path().join("f"), "x").unwrap();
        let lock = tmp.path().join(".git/index.lock");
        std::fs::write(&lock, "").unwrap();
        let other = lock.clone();
        let owner = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            std::fs::remove_file(other).unwrap();
        });
        drop(Git::new(tmp.path()).run(&["add", "f"]).unwrap());
        owner.join().unwrap();
        std::fs::write(&lock, "").unwrap();
        let git = Git::new(tmp.path()).within(Duration::from_millis(200));
        assert_eq!(git.run(&["add", "f"]).unwrap_err().kind, Failure::Locked);
    }

    #[test]
    fn a_hanging_call_is_ended_with_its_children() {
        let tmp = repo();
        let git = Git::new(tmp.path()).within(Duration::from_millis(300));
        let error = git.run(&["-c", "alias.hang=!sleep 30", "hang"]).unwrap_err();
        assert_eq!(error.kind, Failure::Timeout);
    }

    #[test]
    fn big_input_and_output_do_not_block_each_other() {
        let tmp = repo();
        let id = Git::new(tmp.path()).input(vec![b'x'; 4_000_000]);
        let id = id.text(&["hash-object", "-w", "--stdin"]).unwrap();
        let out = Git::new(tmp.path()).run(&["cat-file", "blob", &id]).unwrap();
        assert_eq!(out.stdout.len(), 4_000_000);
    }
}
