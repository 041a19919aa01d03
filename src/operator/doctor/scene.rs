//! A home and a repository that nobody else uses, under the temporary folder: where doctor's
//! proofs are played. Gone when the proof ends; nothing of a person's can be in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::applet::Event;
use crate::git::Git;

/// The stage of a proof.
pub(super) struct Scene {
    /// Holds everything.
    pub(super) top: PathBuf,
    /// The home of whoever plays.
    pub(super) home: PathBuf,
    /// The repository they share.
    pub(super) repo: PathBuf,
}

impl Scene {
    /// Makes it, empty but for a git directory.
    pub(super) fn set() -> Result<Self, String> {
        let told = |why: std::io::Error| why.to_string();
        let stamp = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
        // The client compares folders by their real path.
        let temporary = fs::canonicalize(std::env::temp_dir()).map_err(told)?;
        let top = temporary.join(format!("octo-doctor-{}-{stamp}", std::process::id()));
        fs::create_dir(&top).map_err(told)?;
        let scene = Self { home: top.join("home"), repo: top.join("repo"), top };
        for folder in [&scene.home, &scene.repo] {
            fs::create_dir(folder).map_err(told)?;
        }
        scene.git(&["init", "-q"])?;
        Ok(scene)
    }

    /// Runs git in the repository.
    pub(super) fn git(&self, words: &[&str]) -> Result<(), String> {
        let git = Git::new(&self.repo).env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.run(words).map(drop).map_err(|why| why.to_string())
    }

    /// A command with this scene's home and nothing else of the person's but the search path.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.repo).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("OCTO_ISOLATION", "off");
        command
    }

    /// Fires `PreToolUse` at a wired shell line, as the client does.
    pub(super) fn fire(
        &self,
        line: &str,
        session: &str,
        tool: &str,
        input: &Value,
    ) -> Result<Output, String> {
        let payload = json!({
            "session_id": session,
            "transcript_path": self.top.join(session),
            "cwd": self.repo,
            "permission_mode": "default",
            "hook_event_name": Event::PreToolUse.wire().name,
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": format!("toolu_{session}_{}", input.to_string().len()),
        });
        let mut command = self.command(Path::new("/bin/sh"));
        command.args(["-c", line]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| why.to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            // A hook that is gone before it reads is judged by its exit.
            drop(stdin.write_all(payload.to_string().as_bytes()));
        }
        child.wait_with_output().map_err(|why| why.to_string())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.top));
    }
}
