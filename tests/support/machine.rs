//! A machine of a test's own: home, repositories, the binary under its real names, the kernel
//! folder. Nothing of the developer's environment reaches it. Time is moved only by setting the
//! times of heartbeat files, since the shipped binary takes no clock from outside.

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::puppet::Puppet;
use super::reply::Reply;
use super::repo::Repo;
use super::{PATIENCE, within};

/// Every name the binary answers to.
const NAMES: [&str; 8] = [
    "octo",
    "octo-hook",
    "octo-dim",
    "octo-sh",
    "session-isolation-hook",
    "dimension-awareness-hook",
    "pretool-write-tree-owner",
    "pretool-bash-tree-owner",
];

/// The machine; gone with the test.
pub(crate) struct Machine {
    pub(crate) home: PathBuf,
    pub(crate) bin: PathBuf,
    folder: tempfile::TempDir,
    processes: AtomicUsize,
}

impl Machine {
    /// A machine where the gates alone are at work: no session is sent to a tree of its own.
    pub(crate) fn gates_only() -> Self {
        let machine = Self::new();
        machine.configure("isolation = \"off\"\n");
        machine
    }

    /// A machine as it is delivered.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("machine").tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (home, bin) = (base.join("home"), base.join("bin"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&bin).unwrap();
        for name in NAMES {
            symlink(env!("CARGO_BIN_EXE_octo"), bin.join(name)).unwrap();
        }
        let identity = "[user]\n\tname = Test\n\temail = test@example.invalid\n";
        fs::write(home.join(".gitconfig"), identity).unwrap();
        Self { home, bin, folder, processes: AtomicUsize::new(0) }
    }

    /// Where an installed octo has its program and names.
    pub(crate) fn programs(&self) -> PathBuf {
        self.home.join(".local/share/octo/bin")
    }

    /// The search path of everything that runs here: an installed octo before the built one.
    pub(crate) fn path(&self) -> String {
        format!("{}:{}:{PATH}", self.home.join(".local/bin").display(), self.bin.display())
    }

    /// Installs octo for the user, as the operator would.
    #[track_caller]
    pub(crate) fn install(&self) {
        let done = self.operator(&["install", "--scope", "user"]);
        // 1 is a warning: the client is not on this machine's path.
        assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    }

    /// Runs `octo` as a person at a terminal of their own would: no client is its ancestor, which
    /// this test program is to the hooks that it starts itself.
    pub(crate) fn operator(&self, args: &[&str]) -> Reply {
        self.operator_with("octo", args)
    }

    /// The same with a copy of the program from somewhere else.
    pub(crate) fn operator_with(&self, program: &str, args: &[&str]) -> Reply {
        let folder = self.base().join(format!("operator-{}", self.number()));
        fs::create_dir_all(&folder).unwrap();
        // It begins when the shell that started it is gone, and with it its way up to this test.
        let script = "cd \"$0\" && (while kill -0 $$ 2>/dev/null; do sleep 0.01; done; \
                      \"$@\" >out 2>err </dev/null; echo $? >code.new; mv code.new code) &";
        let mut shell = self.command("sh");
        shell.args(["-c", script]).arg(&folder).arg(program).args(args);
        assert!(shell.status().unwrap().success());
        // A doctor that starts clients takes its time.
        let ended = || fs::read_to_string(folder.join("code")).ok();
        let code = within(PATIENCE * 5, &format!("octo {args:?}"), ended);
        let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
        Reply { stdout: read("out"), stderr: read("err"), code: code.trim().parse().ok() }
    }

    /// Writes the user's own configuration file.
    pub(crate) fn configure(&self, toml: &str) {
        let path = self.home.join(".config/octo/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, toml).unwrap();
    }

    /// A repository beside the home folder.
    pub(crate) fn repo(&self, name: &str, files: &[(&str, &str)]) -> Repo {
        Repo::make(&self.home.join("proj").join(name), &self.home, files)
    }

    /// The folder that holds everything of this machine.
    pub(crate) fn base(&self) -> &Path {
        self.folder.path()
    }

    /// The kernel's folder.
    pub(crate) fn kernel(&self) -> PathBuf {
        self.home.join(".claude/.cache/kernel")
    }

    /// A process's journal, line by line.
    pub(crate) fn journal(&self, pid: &str) -> Vec<Value> {
        let path = self.kernel().join("journal").join(format!("{pid}.jsonl"));
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A command on this machine: its home, its binaries, a plain environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let own = self.bin.join(program);
        let mut command = Command::new(if own.exists() { own } else { PathBuf::from(program) });
        clean(&mut command, &self.home);
        command.env("PATH", self.path()).current_dir(&self.home);
        command
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Reply {
        self.command(program).args(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Feeds a payload to the one hook, as the client does for `event`.
    pub(crate) fn hook(&self, event: &str, payload: &Value) -> Reply {
        self.feed("octo-hook", &[event], payload.to_string().as_bytes())
    }

    /// Feeds any bytes to any of the binary's names.
    pub(crate) fn feed(&self, program: &str, args: &[&str], stdin: &[u8]) -> Reply {
        let mut command = self.command(program);
        command.args(args);
        feed(command, stdin)
    }

    /// A session that sits in `cwd`, played by the test.
    pub(crate) fn session(&self, id: &str, cwd: &Path) -> Puppet<'_> {
        Puppet::session(self, id, cwd)
    }

    /// A fresh number, for ids that must differ.
    pub(crate) fn number(&self) -> usize {
        self.processes.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a process look silent for so long; below zero puts its last sign into the future.
    pub(crate) fn silent_for(&self, pid: &str, seconds: i64) {
        let path = self.kernel().join("beat").join(pid);
        let span = Duration::from_secs(seconds.unsigned_abs());
        let now = SystemTime::now();
        let when = if seconds < 0 { now + span } else { now - span };
        let beat = File::options().write(true).open(&path);
        let beat = beat.unwrap_or_else(|e| panic!("no heartbeat {}: {e}", path.display()));
        beat.set_times(FileTimes::new().set_modified(when).set_accessed(when)).unwrap();
    }
}

/// Feeds any bytes to a command and waits for its answer.
pub(crate) fn feed(mut command: Command, stdin: &[u8]) -> Reply {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook may decide before it has read everything: then its pipe is closed early.
    drop(child.stdin.take().map(|mut pipe| pipe.write_all(stdin)));
    child.wait_with_output().unwrap().into()
}

/// Where system programs are looked for.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Strips a command's environment to what a person's plain login has.
pub(crate) fn clean(command: &mut Command, home: &Path) {
    command.env_clear();
    command.env("PATH", PATH).env("HOME", home).env("LANG", "C.UTF-8").env("TERM", "xterm");
    command.env("GIT_CONFIG_NOSYSTEM", "1");
}
