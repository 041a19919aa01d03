//! Seeds: what a corpus begins with, taken from the fixtures the tests use.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Lays seeds into the corpus folder this process was started with, when it is empty.
pub fn lay(seeds: impl Iterator<Item = Vec<u8>>) {
    let folder = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).map(PathBuf::from);
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else { return };
    if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return;
    }
    for (number, seed) in seeds.enumerate() {
        // A corpus that can't be written only starts poorer.
        drop(fs::write(folder.join(format!("seed-{number}")), seed));
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every command of the fixtures.
pub fn commands() -> impl Iterator<Item = String> {
    let rows = [
        ("bash_grammar.jsonl", "cmd"),
        ("bash_gate.jsonl", "command"),
        ("ordinary.jsonl", "command"),
    ];
    let cases = rows.into_iter().flat_map(|(file, field)| {
        let text = fs::read_to_string(fixtures().join(file)).unwrap_or_default();
        let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let commands = values.filter_map(|value| Some(value.get(field)?.as_str()?.to_owned()));
        commands.collect::<Vec<_>>()
    });
    let programs = ["programs_harmful.txt", "programs_harmless.txt"].into_iter().flat_map(|file| {
        let text = fs::read_to_string(fixtures().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    cases.chain(programs)
}

/// Every payload that was captured from a client.
pub fn payloads() -> impl Iterator<Item = Vec<u8>> {
    let versions = fs::read_dir(fixtures().join("payloads")).into_iter().flatten().flatten();
    let files = versions.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
    files.flatten().filter_map(|file| fs::read(file.path()).ok())
}
