//! What needs a person at a terminal: the live view at two sizes, and the switch that is closed
//! to everything else. Driven by keys and read off the screen, in a tmux server of the test's own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::client::skip;
use crate::support::eventually;
use crate::support::machine::Machine;

/// A terminal that runs a shell on a machine.
struct Desk {
    socket: PathBuf,
}

impl Desk {
    /// None, with a word why, where there is no tmux.
    fn sit(machine: &Machine, width: &str, height: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("no tmux");
            return None;
        }
        let desk = Self { socket: machine.base().join(format!("desk-{}", machine.number())) };
        let shell = machine.command("sh");
        let mut tmux = desk.tmux();
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height]);
        tmux.args(["env", "-i", "TERM=screen-256color", "LANG=C.UTF-8", "PS1=ready> "]);
        for (name, value) in shell.get_envs() {
            if let (Some(name), Some(value)) = (name.to_str(), value.and_then(|v| v.to_str()))
                && !["TERM", "LANG"].contains(&name)
            {
                tmux.arg(format!("{name}={value}"));
            }
        }
        let done = tmux.arg("sh").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        desk.shows("ready>");
        Some(desk)
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.env_remove("TMUX").arg("-S").arg(&self.socket);
        tmux
    }

    fn keys(&self, keys: &[&str]) {
        assert!(self.tmux().arg("send-keys").args(keys).status().unwrap().success());
    }

    fn screen(&self) -> String {
        let done = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    #[track_caller]
    fn shows(&self, text: &str) -> String {
        eventually(&format!("{text:?} on the screen"), || {
            Some(self.screen()).filter(|screen| screen.contains(text))
        })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(self.tmux().arg("kill-server").output());
    }
}

#[test]
fn the_live_view_shows_holders_and_refusals_and_leaves_the_terminal_whole() {
    for (width, height) in [("80", "24"), ("160", "50")] {
        let machine = Machine::gates_only();
        let repo = machine.repo("app", &[("a.txt", "a\n")]);
        machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
        let rival = machine.session("rival-1", &repo.root);
        let write = json!({"file_path": repo.at("a.txt"), "content": "taken"});
        assert!(rival.ask("Write", &write).denied());

        let Some(desk) = Desk::sit(&machine, width, height) else { return };
        desk.keys(&["octo top", "Enter"]);
        let screen = desk.shows("[lane.held]");
        for piece in ["2 sessions", "1 lanes", "1 denied", "holder-1", "a.txt", "q quit"] {
            assert!(screen.contains(piece), "{piece} is missing in\n{screen}");
        }
        desk.keys(&["Enter"]);
        desk.shows("journal of holder-1");
        desk.keys(&["q"]);
        desk.shows("q quit");
        desk.keys(&["r"]);
        desk.shows("y releases");
        desk.keys(&["y"]);
        desk.shows("released 1 lane(s)");
        desk.keys(&["q"]);
        // Keys typed before the view has let go of the terminal are its own, not the shell's.
        desk.shows("ready>");
        desk.keys(&["echo 'back a''gain'", "Enter"]);
        let screen = desk.shows("back again");
        assert!(!screen.contains("[lane.held]"), "the view was left on the screen:\n{screen}");
        assert!(!rival.ask("Write", &write).denied());
    }
}

#[test]
fn a_person_at_a_terminal_can_pause_the_gates_and_everybody_sees_it() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let rival = machine.session("rival-1", &repo.root);
    let write = json!({"file_path": repo.at("a.txt"), "content": "taken"});
    let Some(desk) = Desk::sit(&machine, "100", "30") else { return };
    desk.keys(&["octo off --for 10m --root no/such/folder", "Enter"]);
    desk.shows("is no folder");
    let command = format!("octo off --for 10m --root {}", repo.root.display());
    desk.keys(&[&command, "Enter"]);
    desk.shows("gates are off");
    assert!(!rival.ask("Write", &write).denied());
    desk.keys(&["octo ps", "Enter"]);
    desk.shows("gates are OFF");
    let lines = machine.journal("operator");
    assert!(lines.iter().any(|line| line["kind"] == "override"), "{lines:?}");
    desk.keys(&["octo on", "Enter"]);
    desk.shows("gates are on again");
    assert!(rival.ask("Write", &write).denied());
}
