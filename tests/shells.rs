//! What shells and the page setter do with what we generate: completions are loaded and asked in
//! bash, zsh and fish, with names that only this moment knows; man pages are set without a warning.

use std::process::Command;

use serde_json::json;

use crate::support::client::skip;
use crate::support::machine::Machine;
use crate::support::reply::Reply;

/// A shell, and a script that loads the completion and prints what it offers for the words.
struct Shell {
    name: &'static str,
    /// The options that keep a person's own start files out.
    bare: &'static [&'static str],
    script: &'static str,
}

const SHELLS: [Shell; 3] = [
    Shell {
        name: "bash",
        bare: &["--norc", "--noprofile"],
        script: "eval \"$(octo completions bash)\"
            asked=$(complete -p octo) && asked=${asked##*-F } && asked=${asked%% *}
            COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)) COMP_LINE=\"$*\" COMP_POINT=${#COMP_LINE}
            COMP_TYPE=9 && $asked octo \"${!#}\" \"${COMP_WORDS[$#-2]}\"
            printf '%s\\n' \"${COMPREPLY[@]}\"",
    },
    Shell {
        name: "zsh",
        bare: &["-f"],
        script: "autoload -Uz compinit && compinit -u -d \"$HOME/.zdump\"
            eval \"$(octo completions zsh)\"
            _describe() { print -rl -- \"${(@P)@[-1]}\" }
            words=(\"$@\") CURRENT=$#
            ${_comps[octo]}",
    },
    Shell {
        name: "fish",
        bare: &["--no-config"],
        script: "octo completions fish | source; complete -C (string join ' ' -- $argv)",
    },
];

impl Shell {
    /// What it offers; none where the shell is missing.
    fn offers(&self, machine: &Machine, words: &[&str]) -> Option<String> {
        if Command::new(self.name).arg("--version").output().is_err() {
            skip(&format!("no {}", self.name));
            return None;
        }
        let mut shell = machine.command(self.name);
        shell.args(self.bare).args(["-c", self.script]);
        // fish hands every further word to the script; the others take one as their own name.
        if self.name != "fish" {
            shell.arg(self.name);
        }
        let reply: Reply = shell.args(words).output().unwrap().into();
        assert_eq!(reply.code, Some(0), "{}: {reply:?}", self.name);
        Some(reply.stdout)
    }
}

#[test]
fn every_shell_completes_commands_processes_and_trees() {
    let machine = Machine::new();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let second = machine.session("newcomer-2", &repo.root);
    let write = json!({ "file_path": repo.at("a.txt"), "content": "x" });
    assert_eq!(second.ask("Write", &write).rule(), "shared.fork");
    for shell in &SHELLS {
        for (words, wanted) in [
            (&["octo", "rep"][..], "replay"),
            (&["octo", "explain", "--as", "hold"], "holder-1"),
            (&["octo", "worktree", "show", "dim"], "dim/newcomer-2"),
        ] {
            let Some(offered) = shell.offers(&machine, words) else { break };
            let found = offered.lines().any(|line| line.starts_with(wanted));
            assert!(found, "{} offers for {words:?}: {offered:?}", shell.name);
        }
    }
}

#[test]
fn every_man_page_is_set_without_a_warning() {
    if Command::new("man").arg("--version").output().is_err() {
        return skip("no man");
    }
    let machine = Machine::new();
    let folder = machine.home.join("man");
    let made = machine.run("octo", &["man", folder.to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut pages = 0;
    for section in ["man1", "man7"] {
        for page in std::fs::read_dir(folder.join(section)).unwrap().flatten() {
            let mut man = machine.command("man");
            man.args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]).arg(page.path());
            let set: Reply = man.env("MANWIDTH", "80").output().unwrap().into();
            assert!(set.code == Some(0) && set.stderr.is_empty(), "{page:?}: {set:?}");
            pages += 1;
        }
    }
    assert!(pages > 20, "only {pages} pages");
}
