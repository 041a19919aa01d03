//! The repository as a plugin of the real client: it validates, installs from a folder, guards,
//! is inert without its program, and does nothing twice beside installed settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::api::Api;
use crate::support::client::{Client, Launch, Mode, Pin, environment};
use crate::support::machine::Machine;
use crate::support::reply::Reply;
use crate::support::repo::Repo;
use crate::support::script::{bash, read, script, write};

/// What a plugin is made of; the rest of the repository is not the client's business.
const PARTS: &[&str] = &[".claude-plugin", "hooks", "skills"];

/// A machine where the client has the plugin, a repository, and a scripted model.
struct Stage {
    machine: Machine,
    repo: Repo,
    client: Client,
    api: Api,
}

impl Stage {
    fn set() -> Option<Self> {
        let client = Client::pinned(Pin::Newest)?;
        let machine = Machine::gates_only();
        let repo = machine.repo("app", &[("a.txt", "a\n"), ("b.txt", "b\n")]);
        let (a, b) = (repo.at("a.txt"), repo.at("b.txt"));
        let api = Api::start([script(
            "work",
            [
                vec![read(&a), read(&b)],
                vec![write(&a, "taken\n")],
                vec![bash("git add -A")],
                vec![write(&b, "own\n")],
            ],
        )]);
        let stage = Self { machine, repo, client, api };
        let source = stage.source();
        let source = source.to_str().unwrap();
        for args in
            [&["plugin", "marketplace", "add", source][..], &["plugin", "install", "octo@octo"]]
        {
            let done = stage.claude(args);
            assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        }
        Some(stage)
    }

    /// The plugin's parts in a folder of their own.
    fn source(&self) -> PathBuf {
        let target = self.machine.base().join("plugin");
        for part in PARTS {
            copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(part), &target.join(part));
        }
        target
    }

    fn claude(&self, args: &[&str]) -> Reply {
        let mut command = Command::new(&self.client.program);
        environment(&mut command, &self.machine, &self.api);
        command.args(args).current_dir(&self.repo.root).output().unwrap().into()
    }

    fn work(&self) {
        let launch = Launch::new(&self.client, &self.machine, &self.api, &self.repo.root);
        launch.script("work").mode(Mode::Bypass).finish().well();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_client_finds_nothing_wrong_with_the_plugin() {
    let Some(client) = Client::pinned(Pin::Newest) else { return };
    let machine = Machine::new();
    let api = Api::start([]);
    let mut command = Command::new(&client.program);
    environment(&mut command, &machine, &api);
    let root = env!("CARGO_MANIFEST_DIR");
    let said: Reply =
        command.args(["plugin", "validate", "--strict", root]).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn an_attack_through_the_plugin_is_denied() {
    let Some(stage) = Stage::set() else { return };
    let holder = stage.machine.session("holder-1", &stage.repo.root);
    holder.holds(&stage.repo.at("a.txt"), "held\n");
    stage.work();
    let heard = stage.api.heard("work");
    heard.refused(2, &["octo: denied [lane.held]"]);
    heard.refused(3, &["octo: denied ["]);
    heard.ran(4);
    assert_eq!(stage.repo.content("a.txt").unwrap(), "held\n");
    assert_eq!(stage.repo.content("b.txt").unwrap(), "own\n");
}

#[test]
fn a_plugin_without_its_program_is_inert_and_says_how_to_get_it() {
    let Some(stage) = Stage::set() else { return };
    for entry in fs::read_dir(&stage.machine.bin).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    stage.work();
    for call in 0..5 {
        stage.api.heard("work").ran(call);
    }
    assert_eq!(stage.repo.content("a.txt").unwrap(), "taken\n");
    let told = stage.api.heard("work").lines("program absent");
    let source = told.iter().find_map(|line| {
        let (_, rest) = line.split_once("cargo install --locked --path '")?;
        rest.split_once("' && octo doctor --fix").map(|(source, _)| PathBuf::from(source))
    });
    let source = source.unwrap_or_else(|| panic!("no way to get it: {told:?}"));
    assert!(source.join(".claude-plugin/plugin.json").is_file(), "{}", source.display());
}

#[test]
fn doctor_opens_the_trees_to_a_client_that_has_only_the_plugin() {
    let Some(stage) = Stage::set() else { return };
    let settings = stage.machine.home.join(".claude/settings.json");
    let before = fs::read_to_string(&settings).unwrap();
    let found = stage.machine.operator(&["doctor"]);
    assert!(found.stdout.contains("the client keeps sessions out of"), "{found:?}");
    let mended = stage.machine.operator(&["doctor", "--fix"]);
    assert!(mended.stdout.contains("sessions may work in"), "{mended:?}");
    assert!(fs::read_to_string(&settings).unwrap().contains(".octorato"));
    let gone = stage.machine.operator(&["uninstall"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
}

#[test]
fn plugin_and_settings_together_judge_each_call_once() {
    let Some(stage) = Stage::set() else { return };
    stage.machine.install();
    let holder = stage.machine.session("holder-1", &stage.repo.root);
    holder.holds(&stage.repo.at("a.txt"), "held\n");
    stage.work();
    stage.api.heard("work").refused(2, &["octo: denied [lane.held]"]);
    let journals = fs::read_dir(stage.machine.kernel().join("journal")).unwrap().flatten();
    let texts = journals.map(|entry| fs::read_to_string(entry.path()).unwrap());
    let all: String = texts.collect();
    let denials = all.lines().filter(|line| line.contains("\"kind\":\"deny\""));
    assert_eq!(denials.count(), 2, "{all}");
    let doctor = stage.machine.operator(&["doctor", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let findings = said["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["id"] == json!("wiring.double")), "{said}");
}
