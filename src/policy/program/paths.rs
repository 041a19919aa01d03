//! Owns where an operand points: argument and directory in, real path out. Must never guess:
//! what is only known at run time is bounded by the directory it must lie in, or unknown.

use std::borrow::Cow;

use bstr::ByteSlice;
use gix_glob::wildmatch::Mode;

use super::{Follow, Site};
use crate::policy::facts::{Effect, Root, Why};
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Arg, Dir, Entry, path};

/// Names looked at to see whether a pattern matches anything.
const PATTERN_FUEL: usize = 2048;
/// Directories that hold nobody's own writing and would use up the fuel.
const TOOLS: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Where an operand points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Exactly here.
    At(AbsPath),
    /// At or below this directory; the name is only known at run time.
    Below(AbsPath),
    /// At or below one of these, which begin as the operand does.
    Among(Vec<AbsPath>),
    /// At nothing that could be anybody's: a fresh file, a pattern without a match.
    Nowhere,
    /// Anywhere.
    Unknown(Why),
}

/// A directory to resolve operands in, and who can tell.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// Who answers.
    pub(super) site: &'a dyn Site,
    /// Where the program runs.
    pub(super) dir: &'a Dir,
}

impl Place<'_> {
    /// The absolute text of an operand, not yet canonical.
    pub(super) fn absolute(&self, text: &str) -> Option<String> {
        match self.dir {
            Dir::At(dir) => Some(path::join(dir, text)),
            Dir::Unknown | Dir::Fresh => text.starts_with('/').then(|| text.to_owned()),
        }
    }

    /// The directory the program runs in.
    pub(super) fn here(&self) -> Option<AbsPath> {
        let Dir::At(dir) = self.dir else { return None };
        self.site.resolve(dir, Follow::All)
    }

    /// The work tree around the directory the program runs in.
    pub(super) fn root(&self) -> Option<Root> {
        self.site.root_of(&self.here()?)
    }

    /// Where an operand points.
    pub(super) fn target(&self, arg: &Arg, follow: Follow) -> Target {
        if arg.fresh() {
            return Target::Nowhere;
        }
        match arg.exact() {
            Some(text) => match &arg.glob {
                Some(pattern) => self.pattern(pattern, text, follow),
                None => self.literal(text, follow),
            },
            // Too much matched to be named one by one.
            None => match &arg.glob {
                Some(pattern) => self.below(literal_dir(pattern)),
                None => self.partly(arg.prefix()),
            },
        }
    }

    /// Where known text points.
    pub(super) fn literal(&self, text: &str, follow: Follow) -> Target {
        // Stripping a carriage return changed which directory a path meant; no byte is dropped.
        if text.chars().any(char::is_control) {
            return Target::Unknown(Why::Operand);
        }
        let Some(path) = self.absolute(text) else {
            return match self.dir {
                Dir::Fresh => Target::Nowhere,
                Dir::Unknown | Dir::At(_) => Target::Unknown(Why::Directory),
            };
        };
        let follow = if path.ends_with('/') { Follow::All } else { follow };
        match self.site.resolve(&path, follow) {
            Some(path) => Target::At(path),
            None => Target::Unknown(Why::Operand),
        }
    }

    /// Where text points that goes on in a way only known at run time.
    fn partly(&self, prefix: &str) -> Target {
        if prefix.is_empty() {
            return Target::Unknown(Why::Operand);
        }
        let (dir, stem) = prefix.rsplit_once('/').unwrap_or((".", prefix));
        let bound = self.below(if dir.is_empty() { "/" } else { dir });
        match bound {
            Target::Below(dir) if !stem.is_empty() => self.among(dir, stem),
            Target::Below(_)
            | Target::At(_)
            | Target::Among(_)
            | Target::Nowhere
            | Target::Unknown(_) => bound,
        }
    }

    /// What lies in a directory and begins with a stem: a name that is made up on the way can
    /// only hit one of these, or be new.
    fn among(&self, dir: AbsPath, stem: &str) -> Target {
        let Some(names) = self.site.list(&dir.to_string(), PATTERN_FUEL) else {
            return Target::Below(dir);
        };
        let hits: Vec<AbsPath> =
            names.iter().filter(|n| n.starts_with(stem)).map(|n| dir.join(n)).collect();
        if hits.is_empty() { Target::Nowhere } else { Target::Among(hits) }
    }

    fn below(&self, dir: &str) -> Target {
        match self.literal(dir, Follow::All) {
            Target::At(dir) if self.matters(&dir) => Target::Below(dir),
            Target::At(_) => Target::Nowhere,
            other
            @ (Target::Below(_) | Target::Among(_) | Target::Nowhere | Target::Unknown(_)) => other,
        }
    }

    /// Whether anybody's work, or the user's own state, can lie at or below a directory.
    fn matters(&self, dir: &AbsPath) -> bool {
        let home = self.site.home().and_then(AbsPath::new);
        home.is_some_and(|h| h.overlaps(dir))
            || self.site.root_of(dir).is_some()
            || !self.site.roots_below(dir).is_empty()
    }

    /// Where a pattern points that bash left as it was.
    fn pattern(&self, pattern: &str, literal: &str, follow: Follow) -> Target {
        if self.exists(literal) {
            return self.literal(literal, follow);
        }
        let known = literal_part(pattern);
        let Some(start) = self.absolute(literal_dir(pattern)) else {
            return Target::Unknown(Why::Directory);
        };
        let rest = pattern.get(known.len()..).unwrap_or_default().trim_start_matches('/');
        let names: Vec<&str> = rest.split('/').filter(|n| !n.is_empty()).collect();
        let mut fuel = PATTERN_FUEL;
        match self.any_match(&start, &names, &mut fuel) {
            Some(false) => Target::Nowhere,
            Some(true) | None => self.below(&start),
        }
    }

    /// The paths a program's own pattern matches; `None` when there is too much to look at.
    pub(super) fn matching(&self, pattern: &str) -> Option<Vec<String>> {
        let start = self.absolute(literal_dir(pattern))?;
        let whole = self.absolute(pattern)?;
        let mut open = vec![start];
        let (mut fuel, mut out) = (PATTERN_FUEL, Vec::new());
        while let Some(dir) = open.pop() {
            let names = self.site.list(&dir, fuel)?;
            fuel = fuel.checked_sub(names.len() + 1)?;
            for name in names.iter().filter(|name| !TOOLS.contains(&name.as_str())) {
                let path = format!("{}/{name}", dir.trim_end_matches('/'));
                if matches(&whole, &path, Mode::NO_MATCH_SLASH_LITERAL) {
                    out.push(path.clone());
                }
                if self.site.entry(&path) == Entry::Dir {
                    open.push(path);
                }
            }
        }
        Some(out)
    }

    /// Whether anything matches; `None` when there is too much to look at.
    fn any_match(&self, dir: &str, names: &[&str], fuel: &mut usize) -> Option<bool> {
        let Some((first, rest)) = names.split_first() else {
            return Some(self.site.entry(dir) != Entry::Missing);
        };
        if self.site.target(dir) != Entry::Dir {
            return Some(false);
        }
        let list = self.site.list(dir, *fuel)?;
        *fuel = fuel.checked_sub(list.len())?;
        for name in list.iter().filter(|n| first.starts_with('.') || !n.starts_with('.')) {
            let path = format!("{}/{name}", dir.trim_end_matches('/'));
            if matches(first, name, Mode::empty()) && self.any_match(&path, rest, fuel)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// What is at known text, links not followed; missing when the place is unknown.
    pub(super) fn entry(&self, text: &str) -> Entry {
        self.absolute(text).map_or(Entry::Missing, |p| self.site.entry(&p))
    }

    /// What is at an operand after following links; missing when it is not known.
    pub(super) fn kind(&self, arg: &Arg) -> Entry {
        let path = arg.exact().and_then(|text| self.absolute(text));
        path.map_or(Entry::Missing, |p| self.site.target(&p))
    }

    fn exists(&self, text: &str) -> bool {
        self.entry(text) != Entry::Missing
    }

    /// The content of a small file named by an operand.
    pub(super) fn read(&self, arg: &Arg, limit: usize) -> Option<String> {
        self.site.read(&self.absolute(arg.exact()?)?, limit)
    }

    /// Writing to an operand.
    pub(super) fn write(&self, arg: &Arg, follow: Follow, words: &str) -> Vec<Effect> {
        self.effect(self.target(arg, follow), words, |path| Effect::Write { path })
    }

    /// Taking an operand away.
    pub(super) fn remove(&self, arg: &Arg, words: &str) -> Vec<Effect> {
        let target = self.target(arg, Follow::Parents);
        self.effect(target, words, |path| Effect::Remove { path })
    }

    /// The effect on a target; what is not exact becomes opaque within its bound.
    pub(super) fn effect(
        &self,
        target: Target,
        words: &str,
        exact: impl FnOnce(AbsPath) -> Effect,
    ) -> Vec<Effect> {
        match target {
            Target::At(path) if device(&path) => Vec::new(),
            Target::At(path) => vec![exact(path)],
            Target::Nowhere => Vec::new(),
            Target::Below(dir) => vec![opaque(Some(dir), Why::Operand, words)],
            Target::Among(paths) => {
                paths.into_iter().map(|path| opaque(Some(path), Why::Operand, words)).collect()
            }
            Target::Unknown(why) => vec![self.opaque(why, words)],
        }
    }

    /// Anything in the work tree around this place.
    pub(super) fn opaque(&self, why: Why, words: &str) -> Effect {
        opaque(self.root().map(|r| r.path).or_else(|| self.here()), why, words)
    }
}

/// An effect that could not be read.
pub(super) fn opaque(dir: Option<AbsPath>, why: Why, words: &str) -> Effect {
    Effect::Opaque { dir, why, words: words.to_owned() }
}

/// The last component of known text, as `basename` prints it.
pub(super) fn base_name(text: &str) -> &str {
    let trimmed = text.trim_end_matches('/');
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// The directory part of a pattern that holds no special character.
pub(super) fn literal_part(pattern: &str) -> &str {
    let special = pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len());
    let head = pattern.get(..special).unwrap_or_default();
    head.rfind('/').and_then(|at| head.get(..=at)).unwrap_or_default()
}

/// The same as a directory that can be resolved.
pub(super) fn literal_dir(pattern: &str) -> &str {
    match literal_part(pattern) {
        "" => ".",
        part => part,
    }
}

/// Shell-style matching of one name.
pub(super) fn matches(pattern: &str, name: &str, mode: Mode) -> bool {
    gix_glob::wildmatch(pattern.as_bytes().as_bstr(), name.as_bytes().as_bstr(), mode)
}

/// Devices are nobody's work.
fn device(path: &AbsPath) -> bool {
    path.as_path().starts_with("/dev") || path.as_path().starts_with("/proc")
}

/// A name put below a directory, both as text.
pub(super) fn join(dir: &str, name: &str) -> String {
    let dir: Cow<'_, str> = if dir.is_empty() { ".".into() } else { dir.into() };
    if dir.ends_with('/') { format!("{dir}{name}") } else { format!("{dir}/{name}") }
}
