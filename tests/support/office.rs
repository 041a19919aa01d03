//! A machine with octo installed as a person installs it, one repository, and clients that work
//! there side by side.

use std::path::PathBuf;

use super::api::Api;
use super::client::{Client, Launch, Mode, Running};
use super::machine::Machine;
use super::repo::Repo;
use super::script::Script;

/// The stage of the tests with the real client.
pub(crate) struct Office {
    pub(crate) machine: Machine,
    pub(crate) repo: Repo,
    pub(crate) client: Client,
    pub(crate) api: Api,
}

impl Office {
    /// An office where the gates alone are at work; scripts get the repository's paths.
    pub(crate) fn open(client: &Client, scripts: impl FnOnce(&Repo) -> Vec<Script>) -> Self {
        Self::on(Machine::gates_only(), client, scripts)
    }

    /// The same on a machine that is made already.
    pub(crate) fn on(
        machine: Machine,
        client: &Client,
        scripts: impl FnOnce(&Repo) -> Vec<Script>,
    ) -> Self {
        let files = [
            ("a.txt", "a\n"),
            ("b.txt", "b\n"),
            ("notes.md", "notes\n"),
            ("lib/core.rs", "core\n"),
        ];
        let repo = machine.repo("app", &files);
        machine.install();
        let api = Api::start(scripts(&repo));
        Self { machine, repo, client: client.clone(), api }
    }

    /// A client about to work in the repository.
    pub(crate) fn launch(&self, script: &str) -> Launch {
        let launch = Launch::new(&self.client, &self.machine, &self.api, &self.repo.root);
        launch.script(script)
    }

    /// A session that follows `script` in bypass mode, started.
    pub(crate) fn session(&self, script: &str) -> Running {
        self.launch(script).mode(Mode::Bypass).start()
    }

    /// The same, and it has ended well.
    pub(crate) fn finished(&self, script: &str) -> String {
        let ended = self.session(script).finish();
        ended.well().session()
    }

    /// The user's settings file of the client.
    pub(crate) fn settings(&self) -> PathBuf {
        self.machine.home.join(".claude/settings.json")
    }
}

/// Runs a test on every client there is, one after the other.
pub(crate) fn on_every_client(test: impl Fn(&Client)) {
    for client in Client::all() {
        println!("on {}", client.pin.version());
        test(&client);
    }
}
