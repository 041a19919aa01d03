//! The real client, pinned: found or installed, started in a machine of its own with a clean
//! environment, stopped in every way a client stops. Where it cannot be had, a test says so and
//! passes; where `CI` is set, it fails.

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::api::Api;
use super::machine::{Machine, clean};
use super::script::prompt;

/// The client versions that are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pin {
    Newest,
    Oldest,
}

impl Pin {
    pub(crate) const ALL: [Self; 2] = [Self::Newest, Self::Oldest];

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Newest => "2.1.332",
            Self::Oldest => "2.1.197",
        }
    }
}

/// An installed client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) pin: Pin,
    pub(crate) program: PathBuf,
}

impl Client {
    /// The client of this version; none, with a word why, where it cannot be had.
    pub(crate) fn pinned(pin: Pin) -> Option<Self> {
        let given = env::var_os("OCTO_TEST_CLIENTS").map(PathBuf::from);
        let own = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients");
        let folder = given.unwrap_or(own).join(pin.version());
        match found(&folder).map_or_else(|| install(&folder, pin), Ok) {
            Ok(program) => Some(Self { pin, program }),
            Err(reason) => {
                skip(&format!("no client {}: {reason}", pin.version()));
                None
            }
        }
    }

    /// All pinned clients that can be had.
    pub(crate) fn all() -> Vec<Self> {
        Pin::ALL.into_iter().filter_map(Self::pinned).collect()
    }
}

/// Says that a test could not be done here; where everything must be there, fails.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    assert!(env::var_os("CI").is_none(), "{reason}");
    println!("SKIPPED: {reason}");
}

fn found(folder: &Path) -> Option<PathBuf> {
    let vendor = fs::read_dir(folder.join("node_modules/@anthropic-ai")).ok()?;
    let programs = vendor.flatten().map(|entry| entry.path().join("claude"));
    programs.into_iter().find(|program| program.is_file())
}

/// Installs under a lock: tests that start together must not install twice into one folder.
fn install(folder: &Path, pin: Pin) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let lock = File::create(folder.join(".lock")).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    if let Some(program) = found(folder) {
        return Ok(program);
    }
    let package = format!("@anthropic-ai/claude-code@{}", pin.version());
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
    let done = npm.arg(folder).arg(package).output().map_err(|e| format!("npm: {e}"))?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    found(folder).ok_or_else(|| format!("npm install brought none: {said}"))
}

/// What the client may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Bypass,
    AcceptEdits,
    Default,
}

/// A client about to be started.
pub(crate) struct Launch {
    command: Command,
    prompt: String,
}

impl Launch {
    /// `claude -p` in `cwd`, following `script`, in bypass mode.
    pub(crate) fn new(client: &Client, machine: &Machine, api: &Api, cwd: &Path) -> Self {
        let mut command = Command::new(&client.program);
        environment(&mut command, machine, api);
        command.current_dir(cwd).args(["-p", "--output-format", "stream-json", "--verbose"]);
        Self { command, prompt: prompt("none") }
    }

    /// The script its model follows.
    pub(crate) fn script(mut self, name: &str) -> Self {
        self.prompt = prompt(name);
        self
    }

    /// How much it may do unasked.
    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        match mode {
            Mode::Bypass => self.command.arg("--dangerously-skip-permissions"),
            Mode::AcceptEdits => self.command.args(["--permission-mode", "acceptEdits"]),
            Mode::Default => self.command.args(["--permission-mode", "default"]),
        };
        self
    }

    /// Any further arguments.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// Starts it and returns at once.
    pub(crate) fn start(mut self) -> Running {
        self.command.arg("--").arg(&self.prompt).process_group(0);
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: Some(self.command.spawn().unwrap()) }
    }

    /// Starts it and waits for its end.
    pub(crate) fn finish(self) -> Ended {
        self.start().finish()
    }
}

/// Sets up the environment that keeps the client on this machine and on the scripted model.
pub(crate) fn environment(command: &mut Command, machine: &Machine, api: &Api) {
    clean(command, &machine.home);
    for (name, value) in settings_of_environment(machine, api) {
        command.env(name, value);
    }
}

/// The same as name and value, for a terminal that starts the client itself.
pub(crate) fn settings_of_environment(machine: &Machine, api: &Api) -> Vec<(&'static str, String)> {
    vec![
        ("PATH", machine.path()),
        ("HOME", machine.home.display().to_string()),
        ("LANG", "C.UTF-8".to_owned()),
        ("ANTHROPIC_BASE_URL", api.url()),
        ("ANTHROPIC_API_KEY", API_KEY.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("CLAUDE_CODE_TMPDIR", machine.base().join("tmp").display().to_string()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("IS_SANDBOX", "1".to_owned()),
    ]
}

/// A key that nobody checks; the interactive client wants it approved by its last characters.
pub(crate) const API_KEY: &str = "not-a-real-key-just-a-placeholder";

/// A client at work. Killed with its children when the test lets go of it.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    /// kill -9 of the client alone, which gets no chance to fire an event.
    pub(crate) fn kill(mut self) {
        if let Some(child) = &mut self.child {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Ended {
        let output = self.child.take().map(Child::wait_with_output).unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let status = output.status.code().or(output.status.signal().map(|signal| 128 + signal));
        Ended { status, lines, errors }
    }

    /// The id of its session, as soon as it says it.
    pub(crate) fn session(&mut self) -> String {
        let pipe = self.child.as_mut().and_then(|child| child.stdout.as_mut()).unwrap();
        let mut line = Vec::new();
        let mut byte = [0];
        while pipe.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            line.extend_from_slice(&byte);
        }
        let line: Value = serde_json::from_slice(&line).unwrap();
        line["session_id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let kill = rustix::process::Signal::KILL;
            // Already gone is as good.
            rustix::process::kill_process_group(group, kill).ok();
        }
        drop(child.wait());
    }
}

/// How a client ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) errors: String,
}

impl Ended {
    /// The id of its session.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        let id = self.lines.iter().find_map(|line| line["session_id"].as_str());
        id.unwrap_or_else(|| panic!("no session id: {self:?}")).to_owned()
    }

    /// It ran to the end of its script without an error of its own.
    #[track_caller]
    pub(crate) fn well(&self) -> &Self {
        assert_eq!(self.status, Some(0), "{}", self.errors);
        let result = self.lines.iter().rfind(|line| line["type"] == "result");
        let result = result.unwrap_or_else(|| panic!("no result: {self:?}"));
        assert_eq!(result["is_error"], false, "{result}");
        self
    }
}
