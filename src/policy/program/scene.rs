//! Owns the scene the tests of this folder play in: a repository in memory, with branches, a
//! link and files outside. Must never touch the disk.

use std::collections::BTreeMap;

use super::{Follow, Site, effects};
use crate::policy::facts::{Effect, Root, RootKind};
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Arg, Dir, Entry, Invocation, Redirect, Stdin, World};

/// Where the repository lies.
pub(super) const ROOT: &str = "/home/u/proj/app";

/// What lies at a path.
#[derive(Debug, Clone)]
enum Node {
    Dir,
    File(String),
    Link(String),
}

/// A small world.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    nodes: BTreeMap<String, Node>,
    /// Registered trees nested in others.
    pub(super) nested: Vec<String>,
    /// Configuration.
    pub(super) config: BTreeMap<String, String>,
}

impl Scene {
    /// The scene of the gate's cases.
    pub(super) fn gate() -> Self {
        let mut scene =
            Self { nodes: BTreeMap::new(), nested: Vec::new(), config: BTreeMap::new() };
        for dir in ["/tmp", "/home/u/proj/other", "/home/u/proj/app/build"] {
            scene.dir(dir);
        }
        for (path, text) in [
            ("lib/core.rs", "core\n"),
            ("lib/util.rs", "util\n"),
            ("docs/a.md", "doc\n"),
            ("notes.md", "notes\n"),
            (".gitignore", "x.log\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/index", ""),
            ("../x", "x\n"),
            ("../list", "lib/core.rs\n"),
            ("../p.diff", "--- a/lib/core.rs\n+++ b/lib/core.rs\n@@ -1 +1 @@\n-core\n+new\n"),
        ] {
            scene.file(&format!("{ROOT}/{path}"), text);
        }
        scene.nodes.insert("/home/u/ln".to_owned(), Node::Link(format!("{ROOT}/lib")));
        scene
    }

    /// Adds a directory with its parents.
    pub(super) fn dir(&mut self, path: &str) {
        let path = AbsPath::new(path).unwrap();
        let mut here = Some(path);
        while let Some(dir) = here {
            self.nodes.entry(dir.to_string()).or_insert(Node::Dir);
            here = dir.parent();
        }
    }

    /// Adds a file with its parents.
    pub(super) fn file(&mut self, path: &str, text: &str) {
        let path = AbsPath::new(path).unwrap();
        self.dir(&path.parent().unwrap().to_string());
        self.nodes.insert(path.to_string(), Node::File(text.to_owned()));
    }

    /// One program run in the repository.
    pub(super) fn run(&self, line: &str) -> Vec<Effect> {
        effects(&invocation(line), self)
    }

    /// The same, with text on standard input.
    pub(super) fn feed(&self, line: &str, text: &str) -> Vec<Effect> {
        let stdin = Stdin::Text(text.to_owned());
        effects(&Invocation { stdin, ..invocation(line) }, self)
    }

    /// The same, run somewhere else.
    pub(super) fn run_in(&self, dir: &str, line: &str) -> Vec<Effect> {
        effects(&Invocation { dir: Dir::At(dir.to_owned()), ..invocation(line) }, self)
    }
}

/// A command line split at blanks and quotes; leading assignments are the environment, `> f` is
/// a redirection, `<<< text` is input, and `$X` stands for something unknown.
pub(super) fn invocation(line: &str) -> Invocation {
    let mut out = Invocation {
        argv: Vec::new(),
        dir: Dir::At(ROOT.to_owned()),
        env: Vec::new(),
        stdin: Stdin::Inherited,
        redirects: Vec::new(),
        more: false,
        depth: 0,
        wrote: Vec::new(),
        quiet: false,
    };
    let mut words = shell_words::split(line).unwrap().into_iter();
    while let Some(word) = words.next() {
        if word == ">" {
            let target = arg(&words.next().unwrap());
            out.redirects.push(Redirect { append: false, target });
        } else if word == "<<<" {
            out.stdin = Stdin::Text(words.next().unwrap());
        } else if let (true, Some((name, value))) = (out.argv.is_empty(), word.split_once('=')) {
            out.env.push((name.to_owned(), Arg::text(value)));
        } else {
            out.argv.push(arg(&word));
        }
    }
    out
}

fn arg(word: &str) -> Arg {
    use crate::policy::shell::Piece;
    let Some((before, _)) = word.split_once("$X") else { return Arg::text(word) };
    let text = (!before.is_empty()).then(|| Piece::Text(before.to_owned()));
    Arg { pieces: text.into_iter().chain(std::iter::once(Piece::Any)).collect(), glob: None }
}

/// A path of the repository.
pub(super) fn at(path: &str) -> AbsPath {
    AbsPath::new(format!("{ROOT}/{path}")).unwrap()
}

/// Whether any effect could reach a path of the repository, as a judge would see it.
pub(super) fn reaches(effects: &[Effect], path: &str) -> bool {
    let (root, held) = (at(""), at(path));
    effects.iter().any(|effect| match effect {
        Effect::Write { path }
        | Effect::Check { path }
        | Effect::Remove { path }
        | Effect::Worktree { path, .. } => path.overlaps(&held),
        Effect::Stage { scope, .. } | Effect::Pathspec { scope, .. } => {
            scope.overlaps(&root, &held)
        }
        Effect::Commit { scope, .. } => {
            use crate::policy::facts::CommitScope;
            match scope {
                CommitScope::Index => false,
                CommitScope::Tracked => true,
                CommitScope::Only(s) | CommitScope::Include(s) => s.overlaps(&root, &held),
            }
        }
        Effect::Tree { root: tree, .. } | Effect::Head { root: tree, .. } => held.within(tree),
        Effect::Stash { .. } | Effect::Operator(_) => true,
        Effect::Opaque { dir, .. } => dir.as_ref().is_none_or(|d| d.overlaps(&held)),
        Effect::Meta { .. }
        | Effect::Unstage { .. }
        | Effect::Sequencer { .. }
        | Effect::Untracked { .. }
        | Effect::Branch { .. } => false,
    })
}

impl World for Scene {
    fn home(&self) -> Option<String> {
        Some("/home/u".to_owned())
    }

    fn var(&self, name: &str) -> Option<String> {
        (name == "TMPDIR").then(|| "/tmp".to_owned())
    }

    fn entry(&self, path: &str) -> Entry {
        let Some(path) = self.resolve(path, Follow::Parents) else { return Entry::Missing };
        match self.nodes.get(&path.to_string()) {
            None => Entry::Missing,
            Some(Node::Dir) => Entry::Dir,
            Some(Node::File(_)) => Entry::File,
            Some(Node::Link(_)) => Entry::Link,
        }
    }

    fn target(&self, path: &str) -> Entry {
        let path = self.resolve(path, Follow::All).map(|p| p.to_string());
        path.map_or(Entry::Missing, |p| self.entry(&p))
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        let dir = self.resolve(dir, Follow::All)?;
        let inside = |path: &String| {
            let path = AbsPath::new(path)?;
            let name = path.below(&dir)?.to_str()?.to_owned();
            (!name.is_empty() && !name.contains('/')).then_some(name)
        };
        let names: Vec<String> = self.nodes.keys().filter_map(inside).collect();
        (names.len() <= limit).then_some(names)
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        match self.nodes.get(&self.resolve(path, Follow::All)?.to_string())? {
            Node::File(text) => (text.len() <= limit).then(|| text.clone()),
            Node::Dir | Node::Link(_) => None,
        }
    }
}

impl Site for Scene {
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath> {
        let mut out = AbsPath::new("/")?;
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        for (i, part) in parts.iter().enumerate() {
            out = AbsPath::new(format!("{out}/{part}"))?;
            let last = i + 1 == parts.len();
            if let Some(Node::Link(to)) = self.nodes.get(&out.to_string())
                && (!last || follow == Follow::All)
            {
                out = AbsPath::new(to)?;
            }
        }
        Some(out)
    }

    fn root_of(&self, path: &AbsPath) -> Option<Root> {
        let nested = self.nested.iter().filter_map(AbsPath::new).find(|n| path.within(n));
        let root = nested.or_else(|| Some(at("")).filter(|r| path.within(r)))?;
        let git_dir = root.join(".git");
        Some(Root { path: root, kind: RootKind::Main, common: git_dir.clone(), git_dir })
    }

    fn roots_below(&self, path: &AbsPath) -> Vec<Root> {
        let all = self.nested.iter().map(String::as_str).chain(std::iter::once(ROOT));
        let below = all.filter_map(AbsPath::new).filter(|r| r != path && r.within(path));
        below.filter_map(|r| self.root_of(&r)).collect()
    }

    fn git_config(&self, _root: &Root, key: &str) -> Option<String> {
        self.config.get(key).cloned()
    }

    fn is_revision(&self, _root: &Root, name: &str) -> bool {
        ["main", "other", "corebr", "HEAD", "origin/main", "w2"].contains(&name)
    }

    fn head_branch(&self, _root: &Root) -> Option<String> {
        Some("main".to_owned())
    }

    fn stages_broadly(&self, program: &str) -> bool {
        program == "ai-push"
    }
}
