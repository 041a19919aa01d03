//! Every command that a document shows is run: a person's by a person, a skill's by an agent whom
//! the gates must let. What needs a terminal, a network or a build of its own names the place
//! where it is run instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::machine::Machine;
use crate::support::puppet::Puppet;
use crate::support::reply::Reply;
use crate::support::repo::Repo;

/// Shown to a person.
const FOR_PEOPLE: [&str; 5] =
    ["README.md", "SECURITY.md", "CONTRIBUTING.md", "config/README.md", "packaging/README.md"];

/// Shown to an agent.
const FOR_AGENTS: [&str; 4] = [
    "skills/session-isolation/SKILL.md",
    "skills/landing-work/SKILL.md",
    "skills/worktree-cleanup/SKILL.md",
    "skills/recovering/SKILL.md",
];

/// What this test can't run, the file that does, and what stands there.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("cargo install --locked --path . && octo install", "tests/front_page.rs", "INSTALL"),
    (
        "cargo install --locked --path . && octo doctor --fix",
        "tests/plugin.rs",
        "octo doctor --fix",
    ),
    ("octo install", "tests/support/machine.rs", "\"install\", \"--scope\", \"user\""),
    ("octo uninstall", "tests/front_page.rs", "&[\"uninstall\"]"),
    ("octo off --for 10m", "tests/operator_terminal.rs", "octo off --for 10m"),
    ("octo on", "tests/operator_terminal.rs", "\"octo on\""),
    ("octo top", "tests/operator_terminal.rs", "\"octo top\""),
    ("octo doctor --client", "tests/real_doctor.rs", "\"--client\""),
    ("octo doctor --repair", "tests/operator.rs", "\"--repair\""),
    ("cargo test --locked", ".ci/run", "cargo test --locked"),
    ("cargo fmt --check", ".ci/run", "cargo fmt --check"),
    (
        "cargo clippy --locked --all-targets -- -D warnings",
        ".ci/run",
        "cargo clippy --locked --all-targets -- -D warnings",
    ),
    ("cargo deny --config .deny.toml check", ".ci/run", "cargo deny --config .deny.toml check"),
    ("cargo bench --bench process", ".justfile", "cargo bench --bench process"),
    ("cargo bench --bench fence", "Cargo.toml", "name = \"fence\""),
    ("cargo bench --bench worktree", "Cargo.toml", "name = \"worktree\""),
    ("cargo doc --open", ".ci/run", "cargo doc"),
];

fn text(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The commands that a document shows: the lines of its shell blocks, and the spans in its prose
/// that begin with a program of ours or with cargo. What a table generates is judged there.
fn shown(document: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut block, mut generated) = (None, false);
    for line in text(document).lines() {
        if let Some(marker) = line.strip_prefix("<!-- ") {
            generated = !marker.starts_with('/');
        } else if generated {
        } else if let Some(kind) = line.strip_prefix("```") {
            block = block.is_none().then(|| kind.to_owned());
        } else if let Some(kind) = &block {
            let command = line.trim();
            if kind == "sh" && !command.is_empty() && !command.starts_with('#') {
                found.insert(command.to_owned());
            }
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            let ours = |span: &&str| {
                ["octo ", "octo-dim ", "cargo "].iter().any(|program| span.starts_with(program))
            };
            found.extend(spans.filter(ours).map(str::to_owned));
        }
    }
    found
}

/// Whether another place runs it; fails when that place does not any more.
fn elsewhere(command: &str) -> bool {
    let Some((_, file, literal)) = ELSEWHERE.iter().find(|(known, ..)| *known == command) else {
        return false;
    };
    assert!(text(file).contains(literal), "{file} no longer runs `{command}`");
    true
}

/// A machine with a day behind it: one who holds, one who was sent away and works in a tree.
pub(crate) struct Day {
    pub(crate) machine: Machine,
    pub(crate) repo: Repo,
    pub(crate) tree: PathBuf,
}

const HOLDER: &str = "3f2a91c0-1111-4222-8333-444455556666";
pub(crate) const NEWCOMER: &str = "77e0aa12-5c1d-4e0b-9a55-0d6c3f2a91c7";

impl Day {
    pub(crate) fn begin() -> Self {
        let machine = Machine::new();
        let repo = machine.repo("app", &[("a.txt", "a\n"), ("lib/core.rs", "core\n")]);
        machine.session(HOLDER, &repo.root).holds(&repo.at("a.txt"), "held\n");
        let newcomer = machine.session(NEWCOMER, &repo.root);
        let write = json!({ "file_path": repo.at("lib/core.rs"), "content": "x" });
        assert_eq!(newcomer.ask("Write", &write).rule(), "shared.fork");
        let tree = machine.home.join(".octorato/arm/app").join(NEWCOMER);
        assert!(tree.join("lib/core.rs").is_file());
        let day = Self { machine, repo, tree };
        // Something for the shelf: whole-file work that a restore would replace.
        day.newcomer().holds(&day.tree.join("lib/core.rs"), "of the newcomer\n");
        let held = day.newcomer().ask("Bash", &json!({ "command": "git checkout -- lib/core.rs" }));
        assert!(!held.denied(), "{held:?}");
        day
    }

    fn newcomer(&self) -> Puppet<'_> {
        self.machine.session(NEWCOMER, &self.tree)
    }

    /// The name of the newest snapshot.
    pub(crate) fn keep(&self) -> String {
        let mut list = self.machine.command("octo");
        list.args(["keep", "list", "--json"]).current_dir(&self.tree);
        let listed: Reply = list.output().unwrap().into();
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        listed["keeps"][0]["name"].as_str().unwrap().to_owned()
    }

    /// The command with what it leaves open filled in.
    fn filled(&self, command: &str, keep: &str) -> String {
        let root = self.repo.root.display().to_string();
        let mut filled = command.to_owned();
        for (gap, value) in [
            ("COMMAND", "git add -A"),
            ("PATH", "lib/core.rs"),
            ("REF", keep),
            ("<id>", NEWCOMER),
            ("ID", NEWCOMER),
            ("<root>", root.as_str()),
        ] {
            filled = filled.replace(gap, value);
        }
        filled
    }
}

/// The command was understood and did what it could: no slip in its words, no error of ours.
#[track_caller]
fn worked(command: &str, reply: &Reply) {
    assert!(matches!(reply.code, Some(0 | 1)), "`{command}`: {reply:?}");
    for word in ["error:", "panicked", "Usage:"] {
        assert!(!reply.stderr.contains(word), "`{command}`: {reply:?}");
    }
}

#[test]
fn every_command_shown_to_a_person_is_run() {
    let day = Day::begin();
    day.machine.install();
    let mut run = 0;
    for document in FOR_PEOPLE {
        for command in shown(document) {
            if elsewhere(&command) {
                continue;
            }
            assert!(command.starts_with("octo"), "{document} shows `{command}`: nobody runs it");
            // An editor that changes nothing.
            let root = day.repo.root.display();
            let line = format!("export EDITOR=true; cd '{root}' && {command}");
            worked(&command, &day.machine.operator_with("sh", &["-c", &line]));
            run += 1;
        }
    }
    assert!(run >= 10, "only {run} commands were found");
}

#[test]
fn every_command_of_a_skill_is_an_agents_to_run() {
    let mut run = 0;
    for document in FOR_AGENTS {
        for command in shown(document) {
            if elsewhere(&command) {
                continue;
            }
            let day = Day::begin();
            let listed: Reply = {
                let mut list = day.machine.command("octo");
                list.args(["keep", "list", "--json"])
                    .current_dir(&day.tree)
                    .output()
                    .unwrap()
                    .into()
            };
            let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
            let keep = listed["keeps"][0]["name"].as_str().unwrap_or_default().to_owned();
            let line = day.filled(&command, &keep);
            let asked = day.newcomer().ask("Bash", &json!({ "command": line }));
            assert!(!asked.denied(), "{document} shows `{line}`, which is refused: {asked:?}");
            let mut shell = day.machine.command("sh");
            shell.args(["-c", &line]).current_dir(&day.tree);
            shell.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", NEWCOMER);
            worked(&line, &shell.output().unwrap().into());
            run += 1;
        }
    }
    assert!(run >= 12, "only {run} commands were found");
}

#[test]
fn nothing_is_listed_as_run_elsewhere_that_is_shown_nowhere() {
    let all: BTreeSet<String> =
        FOR_PEOPLE.iter().chain(&FOR_AGENTS).flat_map(|d| shown(d)).collect();
    for (command, ..) in ELSEWHERE {
        let used = all.contains(*command) || *command == "octo doctor --client";
        assert!(used, "`{command}` is shown nowhere");
    }
}
