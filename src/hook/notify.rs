//! A word to the person, by the command of their settings: `desktop` or any program. Started and
//! left alone: a notice must never hold up or change a verdict.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::config::Settings;
use crate::policy::telling::plain;

/// Refusals of one call in a row after which a person is told.
pub const PATIENCE: u64 = 3;

/// Tells the person, if they want to be told.
pub fn person(settings: &Settings, text: &str) {
    let Some(words) = settings.notify.as_deref().and_then(|line| shell_words::split(line).ok())
    else {
        return;
    };
    let text = plain(text);
    let words: Vec<String> = match words.as_slice() {
        [one] if one == "desktop" => desktop(&text),
        words => words.iter().cloned().chain([text]).collect(),
    };
    let Some((program, rest)) = words.split_first() else { return };
    // Not waited for: when the hook ends, init takes the child over.
    drop(
        Command::new(program)
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn(),
    );
}

/// The desktop's own notice; the text is an argument, never part of a script.
fn desktop(text: &str) -> Vec<String> {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &[
            "osascript",
            "-e",
            "on run argv",
            "-e",
            "display notification (item 1 of argv) with title \"octo\"",
            "-e",
            "end run",
            text,
        ]
    } else {
        &["notify-send", "--app-name=octo", "octo", text]
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}
