//! Git's own grammar: what stands before the verb, which work tree and index it means, aliases,
//! and then the row of the verb. Never asks git; `Site` answers from git's files.

mod builtin;
mod checkout;
mod clean;
mod files;
mod forge;
mod globals;
mod history;
mod overlay;
mod pathspec;
mod plumbing;
mod refs;
mod reset;
mod staging;
mod stash;
mod trees;

pub(super) use overlay::Overlay;

use globals::{Globals, Specs};

use super::options::{Parsed, Style, parse};
use super::paths::Place;
use super::verbs::{Reader, Verb, program, verbs};
use super::{Call, nested};
use crate::policy::facts::{Effect, Root, RootKind, Scope, Untracked, Why};
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Arg, Dir};

/// The rows of git's verbs.
pub(super) const VERBS: &[&[Verb]] = &[
    staging::ROWS,
    checkout::ROWS,
    reset::ROWS,
    stash::ROWS,
    clean::ROWS,
    files::ROWS,
    history::ROWS,
    refs::ROWS,
    plumbing::ROWS,
    trees::ROWS,
];

/// The rows of programs that are git, or drive it.
pub(super) const PROGRAMS: &[Verb] = &[
    program(&["git", "hub"], "does what its verb does, in the work tree its options name", git)
        .examples(
            &["git -C lib add -A", "git.exe -P add .", "hub add -A", "/usr/bin/git stage ."],
            &["git --version", "git --help add", "git status", "git -C /tmp add -A"],
        ),
    forge::GH,
];

/// Aliases that lead to aliases.
const HOPS: usize = 5;

/// Whose index a verb uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    /// The one everybody in the work tree uses.
    Shared,
    /// A file of its own (`GIT_INDEX_FILE`).
    Private,
}

/// One verb of git with its arguments, root and directory.
pub(crate) struct GitCall<'a> {
    call: &'a Call<'a>,
    /// Where its operands are resolved.
    place: Place<'a>,
    root: Root,
    /// The verb's name.
    verb: &'a str,
    /// What follows the verb.
    args: &'a [Arg],
    index: Index,
    /// How pathspecs are taken.
    specs: Specs,
    words: String,
}

fn git(call: &Call<'_>) -> Vec<Effect> {
    let globals = Globals::read(call);
    if globals.idle {
        return Vec::new();
    }
    let Some(at) = globals.verb else { return Vec::new() };
    let (Some(verb), Some(rest)) = (call.args.get(at), call.args.get(at + 1..)) else {
        return Vec::new();
    };
    let Some(verb) = verb.exact() else {
        return vec![call.place.opaque(Why::Program, &call.words())];
    };
    verb_effects(call, &globals, verb, rest, HOPS)
}

/// A verb called by the name of its own program (`git-filter-repo`).
pub(super) fn dashed(call: &Call<'_>) -> Option<Vec<Effect>> {
    let verb = call.name.strip_prefix("git-")?;
    let row = verbs().find(|row| row.is_git(verb))?;
    let globals = Globals::environment(call);
    let place = Place { site: call.site(), dir: &globals.dir };
    Some(row_effects(call, &globals, place, row, verb, &call.args))
}

/// What a verb does that may be an alias.
fn verb_effects(
    call: &Call<'_>,
    globals: &Globals,
    verb: &str,
    args: &[Arg],
    hops: usize,
) -> Vec<Effect> {
    let place = Place { site: call.site(), dir: &globals.dir };
    if let Some(row) = verbs().find(|row| row.is_git(verb)) {
        return row_effects(call, globals, place, row, verb, args);
    }
    if builtin::reads(verb) {
        return Vec::new();
    }
    let root = globals.root(&place);
    let Some(alias) = globals.alias(verb, &place, root.as_ref()) else { return Vec::new() };
    if hops == 0 {
        return vec![call.place.opaque(Why::TooDeep, &call.words())];
    }
    if let Some(text) = alias.trim_start().strip_prefix('!') {
        let top = root.map_or_else(|| globals.dir.clone(), |r| Dir::At(r.path.to_string()));
        return nested::shell(call, &nested::with_args(text, args), &top);
    }
    let Ok(words) = shell_words::split(&alias) else { return Vec::new() };
    let mut expanded: Vec<Arg> = words.into_iter().map(Arg::text).collect();
    expanded.extend_from_slice(args);
    let again = globals.again(call.site(), &expanded);
    match again.verb.and_then(|at| Some((expanded.get(at)?.exact()?, expanded.get(at + 1..)?))) {
        Some((next, rest)) if !again.idle => verb_effects(call, &again, next, rest, hops - 1),
        Some(_) | None => Vec::new(),
    }
}

/// Verbs that do their work outside a repository too.
const ANYWHERE: &[&str] = &["apply", "diff", "config", "archive"];

fn row_effects(
    call: &Call<'_>,
    globals: &Globals,
    place: Place<'_>,
    row: &Verb,
    verb: &str,
    args: &[Arg],
) -> Vec<Effect> {
    let Reader::Git(read) = row.reader else { return Vec::new() };
    let slash = Dir::At("/".to_owned());
    let root = globals.root(&place);
    let lost = root.is_none() && globals.dir == Dir::Unknown;
    let (place, root) = match root {
        Some(root) => (place, root),
        None if lost => match AbsPath::new("/") {
            Some(top) => (Place { dir: &slash, ..place }, pretend(top)),
            None => return Vec::new(),
        },
        None if ANYWHERE.contains(&verb) => match place.here() {
            Some(here) => (place, pretend(here)),
            None => return Vec::new(),
        },
        None => return Vec::new(),
    };
    // Outside its work tree git goes to the top of it before it looks at operands.
    // Inside it git is where the directory really is, not where a link says.
    let here = place.here().filter(|here| here.within(&root.path));
    let dir = Dir::At(here.unwrap_or_else(|| root.path.clone()).to_string());
    let place = Place { dir: &dir, ..place };
    let index = globals.index(&root, &place);
    let specs = globals.specs;
    let words = call.words();
    let effects = read(&GitCall { call, place, root, verb, args, index, specs, words });
    if lost && !effects.is_empty() {
        return vec![super::paths::opaque(None, Why::Directory, &call.words())];
    }
    effects
}

/// A stand-in where there is no work tree.
fn pretend(path: AbsPath) -> Root {
    let git_dir = path.join(".git");
    Root { path, kind: RootKind::Unreadable, common: git_dir.clone(), git_dir }
}

impl GitCall<'_> {
    /// The verb's own options.
    fn line(&self, grammar: &[&'static str]) -> Parsed {
        parse(self.args, grammar, Style::Git)
    }

    /// The second word of verbs that have verbs of their own, and what follows it.
    fn sub(&self) -> (Option<&str>, &[Arg]) {
        match self.args.split_first() {
            Some((first, rest)) => (first.exact(), rest),
            None => (None, &[]),
        }
    }

    fn stage(&self, scope: Scope) -> Vec<Effect> {
        match self.index {
            Index::Private => Vec::new(),
            Index::Shared => vec![Effect::Stage {
                root: self.root.path.clone(),
                scope,
                words: self.words.clone(),
            }],
        }
    }

    fn unstage(&self, scope: Scope) -> Vec<Effect> {
        match self.index {
            Index::Private => Vec::new(),
            Index::Shared => vec![Effect::Unstage {
                root: self.root.path.clone(),
                scope,
                words: self.words.clone(),
            }],
        }
    }

    fn pathspec(&self, scope: Scope) -> Vec<Effect> {
        vec![Effect::Pathspec { root: self.root.path.clone(), scope, words: self.words.clone() }]
    }

    fn untracked(&self, scope: Scope, which: Untracked) -> Effect {
        let words = self.words.clone();
        Effect::Untracked { root: self.root.path.clone(), scope, which, words }
    }

    fn tree(&self) -> Vec<Effect> {
        vec![Effect::Tree { root: self.root.path.clone(), words: self.words.clone() }]
    }

    fn head(&self) -> Vec<Effect> {
        vec![Effect::Head { root: self.root.path.clone(), words: self.words.clone() }]
    }

    fn sequencer(&self, operation: &'static str) -> Vec<Effect> {
        vec![Effect::Sequencer {
            root: self.root.path.clone(),
            operation,
            words: self.words.clone(),
        }]
    }

    fn branch(&self, branch: &str) -> Option<Effect> {
        // Git refuses to delete or force a branch that is checked out.
        let here = self.place.site.head_branch(&self.root);
        (here.as_deref() != Some(branch)).then(|| Effect::Branch {
            root: self.root.path.clone(),
            branch: branch.to_owned(),
            words: self.words.clone(),
        })
    }

    /// Whether a word names a commit. Words about the past of one are judged by their stem.
    fn is_revision(&self, word: &str) -> bool {
        let stem = word.split(['~', '^', ':']).next().unwrap_or(word);
        let stem = stem.split("@{").next().unwrap_or(stem);
        let hex = stem.len() >= 7 && stem.bytes().all(|b| b.is_ascii_hexdigit());
        matches!(stem, "" | "-" | "@" | "HEAD" | "FETCH_HEAD" | "ORIG_HEAD" | "MERGE_HEAD")
            || hex
            || self.place.site.is_revision(&self.root, stem)
            || self.place.site.is_revision(&self.root, word)
    }
}
