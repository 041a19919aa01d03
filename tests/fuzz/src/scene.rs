//! A small repository as the reader may ask about it: a few files, a link, two branches.

use octo::policy::facts::{Root, RootKind};
use octo::policy::lane::AbsPath;
use octo::policy::program::{Follow, Site};
use octo::policy::shell::{Entry, World};

/// The work tree.
pub const ROOT: &str = "/home/u/proj/app";

/// Files by path, with what they hold.
const FILES: &[(&str, &str)] = &[
    ("/home/u/proj/app/.git/HEAD", "ref: refs/heads/main\n"),
    ("/home/u/proj/app/lib/core.rs", "core\n"),
    ("/home/u/proj/app/lib/util.rs", "util\n"),
    ("/home/u/proj/app/docs/a.md", "a\n"),
    ("/home/u/proj/app/notes.md", "notes\n"),
    ("/home/u/proj/app/run.sh", "#!/bin/sh\nrm \"$1\"\n"),
    ("/home/u/proj/list", "lib/core.rs\n"),
];
/// A link and where it leads.
const LINK: (&str, &str) = ("/home/u/ln", "/home/u/proj/app/lib");

/// The machine, as far as a line may ask about it.
pub struct Scene;

fn walked(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn followed(path: &str) -> String {
    let path = walked(path);
    match path.strip_prefix(LINK.0) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", LINK.1),
        _ => path,
    }
}

impl World for Scene {
    fn home(&self) -> Option<String> {
        Some("/home/u".to_owned())
    }

    fn var(&self, name: &str) -> Option<String> {
        match name {
            "HOME" => self.home(),
            "PWD" => Some(ROOT.to_owned()),
            _ => None,
        }
    }

    fn entry(&self, path: &str) -> Entry {
        if walked(path) == LINK.0 { Entry::Link } else { self.target(path) }
    }

    fn target(&self, path: &str) -> Entry {
        let path = followed(path);
        let below = format!("{}/", path.trim_end_matches('/'));
        if FILES.iter().any(|(file, _)| *file == path) {
            Entry::File
        } else if FILES.iter().any(|(file, _)| file.starts_with(&below)) {
            Entry::Dir
        } else {
            Entry::Missing
        }
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        let below = format!("{}/", followed(dir).trim_end_matches('/'));
        let inside = |(file, _): &(&str, &str)| {
            file.strip_prefix(&below)?.split('/').next().map(str::to_owned)
        };
        let mut names: Vec<String> = FILES.iter().filter_map(inside).collect();
        names.dedup();
        (names.len() <= limit).then_some(names)
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        let path = followed(path);
        let (_, text) = FILES.iter().find(|(file, _)| *file == path)?;
        (text.len() <= limit).then(|| (*text).to_owned())
    }
}

impl Site for Scene {
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath> {
        match follow {
            Follow::Parents if walked(path) == LINK.0 => AbsPath::new(LINK.0),
            Follow::Parents | Follow::All => AbsPath::new(followed(path)),
        }
    }

    fn root_of(&self, path: &AbsPath) -> Option<Root> {
        let root = AbsPath::new(ROOT)?;
        let git_dir = root.join(".git");
        let kind = RootKind::Main;
        path.within(&root).then(|| Root { path: root, kind, common: git_dir.clone(), git_dir })
    }

    fn roots_below(&self, path: &AbsPath) -> Vec<Root> {
        let root = AbsPath::new(ROOT).filter(|root| root != path && root.within(path));
        root.and_then(|root| self.root_of(&root)).into_iter().collect()
    }

    fn git_config(&self, _root: &Root, key: &str) -> Option<String> {
        (key == "alias.co").then(|| "checkout".to_owned())
    }

    fn is_revision(&self, _root: &Root, name: &str) -> bool {
        ["main", "other", "HEAD"].contains(&name)
    }

    fn head_branch(&self, _root: &Root) -> Option<String> {
        Some("main".to_owned())
    }

    fn stages_broadly(&self, program: &str) -> bool {
        program == "ai-push"
    }
}
