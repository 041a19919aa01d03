//! Answers what reading a command asks about the machine: from the disk and git's own files,
//! bounded, without starting a process unless a verb's meaning hangs on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use crate::config::Settings;
use crate::git::discover::{self, Head};
use crate::git::paths::{self, Links};
use crate::git::run::Git;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::policy::program::{Follow, Site};
use crate::policy::shell::{Entry, World};

/// Directories looked into when nested work trees are searched.
const NESTED: usize = 400;
/// Variables of ours that a command gets as they are, because the harness hands them on.
const KNOWN: &[&str] = &["HOME", "USER", "LOGNAME", "TMPDIR", "PWD", "SHELL", "XDG_CONFIG_HOME"];

/// The machine as it is now.
pub struct Disk {
    home: String,
    cwd: String,
    settings: Settings,
    here: Option<Root>,
    links: Rc<Links>,
    entries: RefCell<HashMap<String, Entry>>,
    roots: RefCell<HashMap<AbsPath, Option<Root>>>,
    config: RefCell<HashMap<(AbsPath, String), Option<String>>>,
}

impl Disk {
    /// The machine, for a command that starts in `cwd`.
    #[must_use]
    pub fn new(home: &Path, cwd: &str, settings: Settings) -> Self {
        Self {
            home: home.to_string_lossy().into_owned(),
            cwd: cwd.to_owned(),
            settings,
            here: None,
            links: Rc::default(),
            entries: RefCell::new(HashMap::new()),
            roots: RefCell::new(HashMap::new()),
            config: RefCell::new(HashMap::new()),
        }
    }

    /// The same with the work tree of that directory and what is known of links.
    #[must_use]
    pub fn standing_in(self, here: Option<Root>, links: Rc<Links>) -> Self {
        Self { here, links, ..self }
    }

    /// The user's home directory.
    #[must_use]
    pub fn home_dir(&self) -> &str {
        &self.home
    }

    /// The settings that hold here.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

fn kind(meta: &fs::Metadata) -> Entry {
    let t = meta.file_type();
    if t.is_file() {
        Entry::File
    } else if t.is_dir() {
        Entry::Dir
    } else if t.is_symlink() {
        Entry::Link
    } else {
        Entry::Other
    }
}

impl World for Disk {
    fn home(&self) -> Option<String> {
        Some(self.home.clone())
    }

    fn var(&self, name: &str) -> Option<String> {
        match name {
            "HOME" => Some(self.home.clone()),
            "PWD" => Some(self.cwd.clone()),
            _ if KNOWN.contains(&name) => std::env::var(name).ok(),
            _ => None,
        }
    }

    fn entry(&self, path: &str) -> Entry {
        fs::symlink_metadata(path).map_or(Entry::Missing, |m| kind(&m))
    }

    fn target(&self, path: &str) -> Entry {
        // A loop's body is read once a word, and asks the same each time.
        if let Some(known) = self.entries.borrow().get(path) {
            return *known;
        }
        let entry = fs::metadata(path).map_or(Entry::Missing, |m| kind(&m));
        self.entries.borrow_mut().insert(path.to_owned(), entry);
        entry
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).ok()? {
            if names.len() >= limit {
                return None;
            }
            names.push(entry.ok()?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Some(names)
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        let meta = fs::metadata(path).ok()?;
        if !meta.is_file() || meta.len() > limit as u64 {
            return None;
        }
        let mut text = Vec::new();
        fs::File::open(path).ok()?.take(limit as u64).read_to_end(&mut text).ok()?;
        String::from_utf8(text).ok()
    }
}

impl Site for Disk {
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath> {
        let follow = match follow {
            Follow::All => paths::Follow::All,
            Follow::Parents => paths::Follow::Parents,
        };
        self.links.canonical(path, follow)
    }

    fn root_of(&self, path: &AbsPath) -> Option<Root> {
        // Everything in one directory has one root, unless the path is itself a root.
        if let Some(known) = self.roots.borrow().get(path) {
            return known.clone();
        }
        let root = match &self.here {
            Some(here) => discover::root_beside(path, here),
            None => discover::root_of(path),
        };
        self.roots.borrow_mut().insert(path.clone(), root.clone());
        root
    }

    fn roots_below(&self, path: &AbsPath) -> Vec<Root> {
        discover::roots_below(path, NESTED).roots
    }

    fn git_config(&self, root: &Root, key: &str) -> Option<String> {
        let at = (root.path.clone(), key.to_owned());
        if let Some(known) = self.config.borrow().get(&at) {
            return known.clone();
        }
        let git = Git::new(root.path.as_path());
        let value = git.text(&["config", "--get", key]).ok();
        self.config.borrow_mut().insert(at, value.clone());
        value
    }

    fn is_revision(&self, root: &Root, name: &str) -> bool {
        if name.starts_with('-') {
            return false;
        }
        let spec = format!("{name}^{{object}}");
        let git = Git::new(root.path.as_path());
        git.test(&["rev-parse", "--verify", "--quiet", "--end-of-options", &spec]).unwrap_or(true)
    }

    fn head_branch(&self, root: &Root) -> Option<String> {
        match discover::head_branch(&root.git_dir) {
            Head::Branch(name) => Some(name),
            Head::Detached(_) | Head::Unknown => None,
        }
    }

    fn stages_broadly(&self, program: &str) -> bool {
        self.settings.broad_stagers.iter().any(|words| words.first().is_some_and(|w| w == program))
    }
}
