//! Reads the settings files. Hooks call this on each writing call: no file means defaults with
//! three failed opens and no parser. Never writes; never trusts a project's file beyond its row.
#![expect(clippy::disallowed_methods, reason = "I/O boundary: reads the three settings files")]

use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::layer::{Layer, Placed, Problem, parse, value_of_word};
use super::rows::{Project, find};
use super::settings::Settings;
use super::tighten::{Origin, Resolved, resolve};

/// A repository's own file, at its root.
pub const PROJECT_FILE: &str = ".octo.toml";

/// A session's own isolation, in the environment it was started with.
pub const SESSION_VARIABLE: &str = "OCTO_ISOLATION";

/// No settings file of a person is longer; a larger one is a mistake or an attack.
const LIMIT: u64 = 256 * 1024;

/// The files that may hold settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The person's.
    pub user: PathBuf,
    /// This machine's, outside any folder that people keep in step between machines.
    pub machine: PathBuf,
    /// The repository's.
    pub project: Option<PathBuf>,
}

impl Places {
    /// The places under a home directory; the XDG folders where the environment names them.
    #[must_use]
    pub fn new(home: &Path, project_root: Option<&Path>) -> Self {
        let folder = |variable: &str, usual: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from);
            set.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(usual)).join("octo")
        };
        Self {
            user: folder("XDG_CONFIG_HOME", ".config").join("config.toml"),
            machine: folder("XDG_STATE_HOME", ".local/state").join("machine.toml"),
            project: project_root.map(|root| root.join(PROJECT_FILE)),
        }
    }
}

/// A problem and the file it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Whose file.
    pub origin: Origin,
    /// The file (or variable).
    pub file: String,
    /// What is wrong where; nothing where the file could not be read at all.
    pub problem: Problem,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.problem)
    }
}

/// What the files say.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings; a file with faults counts for nothing in them.
    pub settings: Settings,
    /// Which file decided what.
    pub resolved: Resolved,
    /// Everything wrong, in all files. Hooks say it, `octo` refuses to go on.
    pub faults: Vec<Fault>,
}

/// Loads the settings that hold in a repository (or outside any).
#[must_use]
pub fn load(places: &Places) -> Loaded {
    let mut layers: Vec<(Origin, Layer)> = Vec::new();
    let mut faults = Vec::new();
    let files = [
        (Origin::User, Some(&places.user)),
        (Origin::Machine, Some(&places.machine)),
        (Origin::Project, places.project.as_ref()),
    ];
    for (origin, path) in files {
        let Some(path) = path else { continue };
        let read = read(path).map(|text| text.map(|text| checked(origin, &text)));
        let wrong = match read {
            Ok(None) => continue,
            Ok(Some(Ok(layer))) => {
                layers.push((origin, layer));
                continue;
            }
            Ok(Some(Err(problems))) => problems,
            Err(message) => vec![Problem { line: 1, column: 1, message }],
        };
        let file = path.display().to_string();
        faults.extend(wrong.into_iter().map(|problem| Fault {
            origin,
            file: file.clone(),
            problem,
        }));
    }
    session(&mut layers, &mut faults);
    if layers.is_empty() {
        return Loaded { settings: Settings::default(), resolved: Resolved::new(), faults };
    }
    let resolved = resolve(&layers);
    Loaded { settings: Settings::from_resolved(&resolved), resolved, faults }
}

/// Parses a file and, for a project's, refuses what is not a project's to set.
pub fn checked(origin: Origin, text: &str) -> Result<Layer, Vec<Problem>> {
    let layer = parse(text)?;
    if origin != Origin::Project {
        return Ok(layer);
    }
    let theirs = |key: &str| find(key).is_some_and(|row| row.project == Project::Never);
    let wrong: Vec<Problem> = layer
        .iter()
        .filter(|(key, _)| theirs(key))
        .map(|(key, placed)| Problem {
            line: placed.line,
            column: placed.column,
            message: format!("`{key}` is not for a project to set: it belongs in your own file"),
        })
        .collect();
    if wrong.is_empty() { Ok(layer) } else { Err(wrong) }
}

/// The text of a file; nothing when there is none. Only a plain file is read: a FIFO would hang.
fn read(path: &Path) -> Result<Option<String>, String> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(why) => return Err(format!("can't be read: {why}")),
    };
    if !meta.is_file() {
        return Err("is not a plain file".to_owned());
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|why| format!("can't be read: {why}"))?;
    file.take(LIMIT + 1)
        .read_to_string(&mut text)
        .map_err(|why| format!("can't be read: {why}"))?;
    if text.len() as u64 > LIMIT {
        return Err(format!("is longer than {LIMIT} bytes"));
    }
    Ok(Some(text))
}

fn session(layers: &mut Vec<(Origin, Layer)>, faults: &mut Vec<Fault>) {
    let Some(word) = std::env::var_os(SESSION_VARIABLE) else { return };
    let Some(row) = find("isolation") else { return };
    match value_of_word(row, &word.to_string_lossy()) {
        Ok(value) => {
            let placed = Placed { value, line: 1, column: 1 };
            layers.push((Origin::Session, Layer::from([(row.key, placed)])));
        }
        Err(message) => faults.push(Fault {
            origin: Origin::Session,
            file: SESSION_VARIABLE.to_owned(),
            problem: Problem { line: 1, column: 1, message },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Isolation;

    fn places(home: &Path) -> Places {
        Places {
            user: home.join("config.toml"),
            machine: home.join("machine.toml"),
            project: Some(home.join(PROJECT_FILE)),
        }
    }

    #[test]
    fn no_file_is_the_defaults_and_a_broken_one_is_a_fault_with_its_place() {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        let loaded = load(&places);
        assert_eq!((loaded.settings, loaded.faults), (Settings::default(), vec![]));

        std::fs::write(&places.user, "isolation = \"always\"\n").unwrap();
        std::fs::write(places.project.as_ref().unwrap(), "lnad = \"never\"\n").unwrap();
        let loaded = load(&places);
        assert_eq!(loaded.settings.isolation, Isolation::Always);
        let text = loaded.faults[0].to_string();
        assert!(text.contains(".octo.toml:1:1: ") && text.contains("`land`"), "{text}");
    }

    #[test]
    fn a_project_that_wants_to_run_programs_is_told_where_that_belongs() {
        let wrong = checked(Origin::Project, "\nresolver = \"x\"\n").unwrap_err();
        assert_eq!((wrong[0].line, wrong[0].column), (2, 12));
        assert!(checked(Origin::User, "resolver = \"x\"\n").is_ok());
    }

    #[test]
    fn a_folder_in_place_of_a_file_is_a_fault_not_a_hang() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("config.toml")).unwrap();
        assert!(load(&places(home.path())).faults[0].to_string().contains("plain file"));
    }
}
