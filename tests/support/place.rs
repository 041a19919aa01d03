//! Sessions that meet in one repository: the stage most tests of lanes need, and a pair of which
//! one holds what the other wants.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::machine::Machine;
use super::puppet::Puppet;
use super::reply::Reply;
use super::repo::Repo;

/// A machine with one repository.
pub(crate) struct Place {
    pub(crate) machine: Machine,
    pub(crate) repo: Repo,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::on(Machine::gates_only())
    }

    pub(crate) fn on(machine: Machine) -> Self {
        let repo = machine.repo("app", &[("a.txt", "a\n"), ("b.txt", "b\n"), ("lib/c.rs", "c\n")]);
        Self { machine, repo }
    }

    /// A session that has begun.
    pub(crate) fn session(&self, id: &str) -> Puppet<'_> {
        let session = self.machine.session(id, &self.repo.root);
        session.start();
        session
    }

    /// Asks to write a file of the repository.
    pub(crate) fn asks_for(&self, who: &Puppet<'_>, name: &str) -> Reply {
        who.ask("Write", &self.write(name))
    }

    /// The input of that call.
    pub(crate) fn write(&self, name: &str) -> Value {
        json!({ "file_path": self.repo.at(name), "content": "x" })
    }

    /// How many lines of a kind a process's journal has.
    pub(crate) fn kinds(&self, pid: &str, kind: &str) -> usize {
        self.machine.journal(pid).iter().filter(|line| line["kind"] == kind).count()
    }

    /// A file of the kernel.
    pub(crate) fn kernel(&self, name: &str) -> PathBuf {
        self.machine.kernel().join(name)
    }
}

/// The input of a Bash call.
pub(crate) fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "x" })
}

/// Asks to run a command.
pub(crate) fn runs(who: &Puppet<'_>, command: &str) -> Reply {
    who.ask("Bash", &bash(command))
}

/// `holder` holds `a.txt`, and `other` wants it.
pub(crate) struct Pair {
    pub(crate) place: Place,
}

impl Pair {
    pub(crate) fn meet() -> Self {
        let pair = Self { place: Place::new() };
        pair.holder().start();
        pair.holder().holds(&pair.place.repo.at("a.txt"), "held\n");
        pair
    }

    pub(crate) fn holder(&self) -> Puppet<'_> {
        self.place.machine.session("holder", &self.place.repo.root)
    }

    pub(crate) fn other(&self) -> Puppet<'_> {
        self.place.machine.session("other", &self.place.repo.root)
    }

    /// The other asks for what is held.
    pub(crate) fn asked(&self) -> Reply {
        self.other().ask("Write", &self.wanted())
    }

    /// The input of that call.
    pub(crate) fn wanted(&self) -> Value {
        self.place.write("a.txt")
    }
}
