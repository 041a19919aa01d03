//! The client as a person has it: on a terminal, driven by keys, read off the screen. A tmux
//! server of the test's own, gone with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::api::Api;
use super::client::{API_KEY, Client, settings_of_environment, skip};
use super::machine::Machine;
use super::script::prompt;
use super::{PATIENCE, eventually};

/// Arguments for a client that edits and runs commands unasked, but is not in bypass mode.
pub(crate) const ACCEPT_EDITS: [&str; 4] =
    ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"];

/// After so long without a question to the model, Enter is pressed again.
const AGAIN: Duration = Duration::from_secs(5);

/// An interactive client in a terminal.
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Opens a terminal with the client in `cwd`; none, with a word why, where there is no tmux.
    pub(crate) fn open(
        client: &Client,
        machine: &Machine,
        api: &Api,
        cwd: &Path,
        args: &[&str],
    ) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("no tmux");
            return None;
        }
        trust(machine, cwd);
        let socket = machine.base().join(format!("tmux-{}", machine.number()));
        let terminal = Self { socket };
        let mut tmux = terminal.tmux();
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", "180", "-y", "50", "-c"]).arg(cwd);
        tmux.args(["env", "-i", "TERM=screen-256color"]);
        for (name, value) in settings_of_environment(machine, api) {
            tmux.arg(format!("{name}={value}"));
        }
        // The newest client would put every subagent behind at once, where Escape can't reach it.
        tmux.arg("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1");
        tmux.arg(&client.program).args(args);
        let done = tmux.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        terminal.shows("❯");
        Some(terminal)
    }

    /// Types a line and sends it.
    pub(crate) fn line(&self, text: &str) {
        self.keys(&["-l", text]);
        // The screen must show the text before Enter, or the client takes both for one paste.
        let tail: String = text.chars().take(30).collect();
        self.shows(&tail);
        self.keys(&["Enter"]);
    }

    /// Has the client follow a script. A busy client takes an Enter now and then for a part of the
    /// text: it is pressed again until the model is asked.
    pub(crate) fn follows(&self, api: &Api, script: &str) {
        self.line(&prompt(script));
        let mut pressed = Instant::now();
        eventually(&format!("{script} to begin"), || {
            if pressed.elapsed() > AGAIN {
                self.keys(&["Enter"]);
                pressed = Instant::now();
            }
            api.asked(script).then_some(())
        });
    }

    /// Presses keys by their tmux names.
    pub(crate) fn keys(&self, keys: &[&str]) {
        let done = self.tmux().arg("send-keys").args(keys).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The screen as text.
    pub(crate) fn screen(&self) -> String {
        let done = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        let start = Instant::now();
        let mut screen = self.screen();
        while !screen.contains(text) {
            assert!(start.elapsed() < PATIENCE, "no {text:?} on the screen:\n{screen}");
            thread::sleep(Duration::from_millis(20));
            screen = self.screen();
        }
    }

    /// Waits until the screen no longer shows `text`.
    #[track_caller]
    pub(crate) fn gone(&self, text: &str) {
        eventually(&format!("{text:?} to leave the screen"), || {
            (!self.screen().contains(text)).then_some(())
        });
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.env_remove("TMUX").arg("-S").arg(&self.socket);
        tmux
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.tmux().arg("kill-server").output());
    }
}

/// Answers beforehand what the client asks a newcomer: theme, key, trust in the folder.
fn trust(machine: &Machine, cwd: &Path) {
    let path = machine.home.join(".claude.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let mut state: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tail: Vec<char> = API_KEY.chars().rev().take(20).collect();
    let tail: String = tail.into_iter().rev().collect();
    state["hasCompletedOnboarding"] = json!(true);
    state["theme"] = json!("dark");
    state["customApiKeyResponses"] = json!({ "approved": [tail], "rejected": [] });
    let folder = cwd.display().to_string();
    state["projects"][folder]["hasTrustDialogAccepted"] = json!(true);
    fs::write(path, state.to_string()).unwrap();
}
