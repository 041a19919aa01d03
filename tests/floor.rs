//! The floor: the kernel's own state, the wiring and the operator's verbs are out of reach of
//! every hooked process, alone or not, in whatever spelling. Reading them is nobody's business
//! to refuse.

use std::fs;

use serde_json::json;

use crate::support::cases::play;
use crate::support::machine::Machine;

/// `{K}` is the kernel's folder, `{C}` the client's, `{B}` the folder of the binary's names.
const REFUSED: &[&str] = &[
    "rm -rf {K}",
    "rm -rf ~/.claude/.cache",
    "rm -rf ~/.claude",
    "cd ~/.claude/.cache && rm -rf kernel",
    "echo x > {K}/table.sqlite",
    "echo x >> {K}/journal/me.jsonl",
    ": > ~/.claude/.cache/kernel/off",
    "touch {K}/beat/me",
    "mv {K} /tmp/gone",
    "ln -sf /dev/null {K}/table.sqlite",
    "ln {K}/table.sqlite innocent.db",
    "ln -f {K}/journal/me.jsonl docs/a.md",
    "link {K}/table.sqlite innocent.db",
    "cp -l {K}/table.sqlite innocent.db",
    "cp -al {K} innocent",
    "sqlite3 {K}/table.sqlite 'delete from lane'",
    "python3 -c \"import sqlite3; sqlite3.connect('{K}/table.sqlite').execute('delete from lane')\"",
    "truncate -s 0 {K}/table.sqlite",
    "chmod 000 {K}",
    "find ~/.claude/.cache -delete",
    "cp /dev/null \"$HOME/.claude/.cache/kernel/table.sqlite\"",
    "bash -c 'rm -rf ~/.claude/.cache/kernel'",
    "D=~/.claude/.cache/kernel; rm -rf \"$D\"",
    "rm -rf ~/.claude/.cache/ker*",
    "rm -rf ~/.claude/./.cache//kernel/../kernel",
    "octo ps --release other",
    "octo ps --rel other",
    "octo ps --release=other",
    "{B}/octo ps --release other",
    "env -u CLAUDECODE octo ps --release other",
    "bash -c 'octo ps --release other'",
    "python3 octo.py ps --release other",
    "O=octo; $O ps --release other",
    "command octo ps --release other",
    "script -qc 'octo ps --release other' /dev/null",
    "octo off --for 10m",
    "octo uninstall",
    "octo install",
    "octo prune",
    "octo-dim --session-id other release",
    "octo-dim prune",
    "octo-hook SessionEnd <<< '{\"session_id\":\"other\"}'",
    "echo '{}' | octo-hook SubagentStop",
    "octo octo-hook SessionEnd < payload.json",
    "rm {B}/octo-hook",
    "ln -sf /bin/true {B}/octo-hook",
    "cp /bin/true {B}/octo",
    "echo '{}' > ~/.claude/settings.json",
    "rm ~/.claude/settings.json",
    "echo 'isolation = \"off\"' > ~/.config/octo/config.toml",
];

const PASSES: &[&str] = &[
    "ls -la {K}",
    "cp {K}/table.sqlite /tmp/look.db",
    "ln -s {K} look",
    "cat {K}/journal/me.jsonl",
    "octo ps",
    "octo ps --json",
    "octo explain 'git add -A'",
    "octo replay",
    "octo yield",
    "octo --help",
    "echo 'octo ps --release other'",
    "grep -rn 'octo ps --release' docs",
    "git commit --allow-empty -m 'never run octo ps --release'",
    "cat ~/.claude/settings.json",
    "mkdir -p ~/.claude/.cache/kernel2 && touch ~/.claude/.cache/kernel2/x",
    "rm -rf ~/.claude/.cache/other",
];

struct Home {
    machine: Machine,
}

impl Home {
    fn installed() -> Self {
        let machine = Machine::gates_only();
        machine.repo("app", &[("docs/a.md", "a\n"), ("payload.json", "{}\n")]);
        machine.install();
        let home = Self { machine };
        home.machine.session("me", &home.app()).start();
        home
    }

    fn app(&self) -> std::path::PathBuf {
        self.machine.home.join("proj/app")
    }

    /// What is wrong with the answer to a command, when anything is.
    fn complaint(&self, command: &str, right: &str) -> Option<String> {
        let show = |path: &std::path::Path| path.display().to_string();
        let filled = command.replace("{K}", &show(&self.machine.kernel()));
        let filled = filled.replace("{B}", &show(&self.machine.programs()));
        let me = self.machine.session("me", &self.app());
        let reply = me.ask("Bash", &json!({ "command": filled, "description": "x" }));
        let got = if reply.denied() { reply.rule() } else { "pass".to_owned() };
        (!got.starts_with(right)).then(|| format!("{right}, got {got}: {filled}"))
    }
}

#[test]
fn what_is_the_operators_is_refused_even_to_a_lone_session() {
    let home = Home::installed();
    play(
        REFUSED,
        |command| (*command).to_owned(),
        |command| home.complaint(command, "floor.").into_iter().collect(),
    );
}

#[test]
fn looking_and_mentioning_is_not_refused() {
    let home = Home::installed();
    play(
        PASSES,
        |command| (*command).to_owned(),
        |command| home.complaint(command, "pass").into_iter().collect(),
    );
}

#[test]
fn a_write_to_state_wiring_or_configuration_is_refused_by_every_tool() {
    let home = Home::installed();
    let me = home.machine.session("me", &home.app());
    let kernel = home.machine.kernel();
    let link = home.app().join("innocent");
    std::os::unix::fs::symlink(&kernel, &link).unwrap();
    let targets = [
        kernel.join("table.sqlite"),
        kernel.join("journal/me.jsonl"),
        kernel.join("off"),
        link.join("off"),
        home.machine.home.join(".claude/../.claude/.cache/kernel/off"),
        home.machine.programs().join("octo-hook"),
        home.machine.home.join(".config/octo/config.toml"),
    ];
    for target in targets {
        let inputs = [
            ("Write", json!({ "file_path": target, "content": "x" })),
            ("Edit", json!({ "file_path": target, "old_string": "a", "new_string": "b" })),
            ("NotebookEdit", json!({ "notebook_path": target, "new_source": "x" })),
            ("mcp__filesystem__write_file", json!({ "path": target, "content": "x" })),
        ];
        for (tool, input) in inputs {
            let reply = me.ask(tool, &input);
            assert!(reply.denied(), "{tool} may write {}", target.display());
            assert!(reply.rule().starts_with("floor."), "{tool}: {reply:?}");
        }
    }
}

#[test]
fn a_second_name_of_the_kernels_files_is_known_by_what_it_is() {
    let home = Home::installed();
    let me = home.machine.session("me", &home.app());
    let kernel = home.machine.kernel();
    // Made by somebody no hook saw.
    for (own, name) in [("table.sqlite", "notes.db"), ("journal/me.jsonl", "notes.txt")] {
        let second = home.app().join(name);
        fs::hard_link(kernel.join(own), &second).unwrap();
        let write = json!({ "file_path": second, "content": "x" });
        assert_eq!(me.ask("Write", &write).rule(), "floor.state", "{own}");
        for command in [format!("echo x > {name}"), format!("truncate -s 0 {name}")] {
            let said = me.ask("Bash", &json!({ "command": command, "description": "x" }));
            assert_eq!(said.rule(), "floor.state", "{command}");
        }
    }
    // Files that merely have two names are nobody's business.
    fs::hard_link(home.app().join("docs/a.md"), home.app().join("twin.md")).unwrap();
    let write = json!({ "file_path": home.app().join("twin.md"), "content": "x" });
    assert!(!me.ask("Write", &write).denied());

    let found = home.machine.operator(&["doctor", "--json"]);
    assert!(found.stdout.contains("kernel.links"), "{found:?}");
    home.machine.operator(&["doctor", "--fix"]);
    fs::write(home.app().join("notes.db"), "broken").unwrap();
    let found = home.machine.operator(&["doctor", "--json"]);
    assert!(!found.stdout.contains("kernel.links"), "{found:?}");
    let write = json!({ "file_path": home.app().join("notes.db"), "content": "x" });
    assert!(!me.ask("Write", &write).denied(), "it is an ordinary file now");
    assert!(
        me.ask("Write", &json!({ "file_path": home.app().join("new"), "content": "x" })).verdict()
            == crate::support::reply::Verdict::Pass
    );
    let whole = home.machine.operator(&["replay", "--verify"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
}

#[test]
fn settings_may_be_edited_as_long_as_the_wiring_stays() {
    let home = Home::installed();
    let me = home.machine.session("me", &home.app());
    let path = home.machine.home.join(".claude/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    let kept = text.replacen('{', "{\n  \"model\": \"opus\",", 1);
    let keeps = json!({ "file_path": path, "content": kept });
    assert!(!me.ask("Write", &keeps).denied(), "a harmless edit of the settings is refused");
    for lost in [
        "{}".to_owned(),
        text.replace("octo-hook", "true"),
        text.replacen('{', "{ \"disableAllHooks\": true,", 1),
    ] {
        let loses = json!({ "file_path": path, "content": lost });
        assert!(me.ask("Write", &loses).rule().starts_with("floor."));
    }
    let edit = json!({ "file_path": path, "old_string": "octo-hook", "new_string": "true", "replace_all": true });
    assert!(me.ask("Edit", &edit).rule().starts_with("floor."));
}
