//! Words that reach a person who is not looking: the command (or the desktop) a setting names.
//! Started and left alone; a notice that can't be given never changes a verdict.

use std::process::{Command, Stdio};

use super::context::Context;
use crate::policy::telling;

/// Gives a notice, where the person wants any.
pub fn give(context: &Context<'_>, text: &str) {
    let Some(notifier) = &context.settings.notify else { return };
    let text = telling::plain(text);
    let Some(mut command) = command(notifier, &text) else { return };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A notifier that is gone is for doctor to find.
    drop(command.spawn());
}

fn command(notifier: &str, text: &str) -> Option<Command> {
    if notifier == "desktop" {
        return Some(desktop(text));
    }
    let words = shell_words::split(notifier).ok()?;
    let (program, rest) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(rest).arg(text);
    Some(command)
}

#[cfg(target_os = "macos")]
fn desktop(text: &str) -> Command {
    let mut command = Command::new("osascript");
    let script = "on run argv\ndisplay notification (item 1 of argv) with title \"octo\"\nend run";
    command.args(["-e", script, text]);
    command
}

#[cfg(not(target_os = "macos"))]
fn desktop(text: &str) -> Command {
    let mut command = Command::new("notify-send");
    command.args(["--app-name=octo", "octo", text]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_one_argument_whatever_it_holds() {
        let command = command("ntfy publish 'my topic'", "a; rm -rf b").unwrap();
        let args: Vec<_> = command.get_args().collect();
        assert_eq!(args, ["publish", "my topic", "a; rm -rf b"]);
        assert!(super::command("'", "x").is_none());
    }
}
