//! Tools of other people's that ordinary work is done with, pinned: found or installed from the
//! package index once. Where they cannot be had, a test says so and passes; where `CI` is set, it
//! fails.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client::skip;

/// What is installed.
const PINNED: [&str; 2] = ["pytest==8.3.5", "pre-commit==4.0.1"];

/// The folder with `pytest` and `pre-commit` in it.
pub(crate) fn tools() -> Option<PathBuf> {
    let given = env::var_os("OCTO_TEST_TOOLS").map(PathBuf::from);
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools");
    let folder = given.unwrap_or(own);
    match install(&folder) {
        Ok(()) => Some(folder.join("bin")),
        Err(reason) => {
            skip(&format!("no pytest and pre-commit: {reason}"));
            None
        }
    }
}

/// Installs under a lock: tests that start together must not install twice into one folder.
fn install(folder: &Path) -> Result<(), String> {
    let there = || ["pytest", "pre-commit"].iter().all(|t| folder.join("bin").join(t).exists());
    if there() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let lock = File::create(folder.join(".lock")).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    if there() {
        return Ok(());
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    run(Command::new(folder.join("bin/pip")).args(["install", "-q"]).args(PINNED))
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    if done.status.success() { Ok(()) } else { Err(said) }
}
