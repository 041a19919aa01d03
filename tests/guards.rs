//! The house's own rules, as tests: layers point downward, rooms stay small, sentences stay ours.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What a folder of `src` may use of ours.
const LAYERS: &[(&str, &[&str])] = &[
    ("policy", &["policy"]),
    ("journal", &["policy", "journal", "kernel"]),
    ("kernel", &["policy", "journal", "kernel"]),
    ("git", &["policy", "git"]),
    ("config", &["policy", "config"]),
    ("wiring", &["applet", "config", "wiring"]),
    ("shield", &["applet"]),
    ("applet", &[]),
    ("fence", &["policy", "git", "kernel", "config", "fence"]),
    ("worktree", &["policy", "journal", "git", "kernel", "config", "worktree"]),
    (
        "hook",
        &[
            "applet", "config", "fence", "git", "hook", "journal", "kernel", "policy", "shield",
            "wiring", "worktree",
        ],
    ),
];

fn sources() -> Vec<(PathBuf, String)> {
    let mut todo = vec![Path::new(ROOT).join("src")];
    let mut found = Vec::new();
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(ROOT).unwrap().to_path_buf();
                found.push((name, text));
            }
        }
    }
    assert!(found.len() > 50, "the sources were not found");
    found
}

/// The part before the tests.
fn production(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

fn folder(path: &Path) -> String {
    let second = path.iter().nth(1).unwrap().to_string_lossy();
    second.trim_end_matches(".rs").to_owned()
}

#[test]
fn layers_point_downward() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let folder = folder(&path);
        let Some((_, may)) = LAYERS.iter().find(|(name, _)| *name == folder) else { continue };
        for line in production(&text).lines() {
            let Some(rest) = line.trim().strip_prefix("use crate::") else { continue };
            let used = rest.split([':', ';', ' ', '{']).next().unwrap_or("");
            if !may.contains(&used) {
                wrong.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_owns_and_stays_one_idea() {
    let mut wrong = Vec::new();
    let is_test = |path: &Path| path.file_stem().is_some_and(|s| s == "tests");
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        if !text.starts_with("//!") {
            wrong.push(format!("{} has no //!", path.display()));
        }
        let lines = production(&text).lines().count();
        if lines > 480 {
            wrong.push(format!("{} has {lines} lines before its tests", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_lives_in_two_modules() {
    let with: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| text.contains("unsafe_code"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(with.iter().all(|p| p == "src/shield.rs" || p == "src/fence/apply.rs"), "{with:?}");
}

#[test]
fn no_verdict_has_a_default_and_no_error_becomes_an_allow() {
    for (path, text) in sources() {
        for bad in
            ["unwrap_or(Verdict::Allow", "impl Default for Verdict", "From<bool> for Verdict"]
        {
            assert!(!text.contains(bad), "{}: {bad}", path.display());
        }
    }
}

#[test]
fn the_lease_is_a_number_in_one_place() {
    let with: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| production(text).contains("LEASE: u64 = "))
        .collect();
    assert_eq!(with.len(), 1);
}
