//! Owns the geometry of a scope: whether what a verb takes meets a path. Must never ask the disk:
//! patterns are matched as git matches them, by text.

use bstr::ByteSlice;
use gix_glob::wildmatch::Mode;

use super::facts::Scope;
use super::lane::AbsPath;

/// Whether letters of different case are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Case {
    /// They are not.
    Exact,
    /// They are (`:(icase)`).
    Folded,
}

/// Whether `*` and `?` stand for a slash too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stars {
    /// They do, as in a plain pathspec.
    CrossSlash,
    /// They stop at it (`:(glob)`).
    WithinName,
}

/// A pattern below a directory that is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The directory (or, without a pattern, the path) that is known.
    pub base: AbsPath,
    /// What must match below it; none takes all of it.
    pub glob: Option<String>,
    /// How letters compare.
    pub case: Case,
    /// What `*` stands for.
    pub stars: Stars,
}

impl Spec {
    /// A path and all below it.
    #[must_use]
    pub fn plain(base: AbsPath) -> Self {
        Self { base, glob: None, case: Case::Exact, stars: Stars::CrossSlash }
    }

    /// True when the spec takes `path`, something above it or something below it. A directory
    /// is met by a pattern when it is matched itself or holds the pattern's known part.
    #[must_use]
    pub fn overlaps(&self, path: &AbsPath) -> bool {
        if self.base.within(path) {
            return true;
        }
        let Some(rest) = self.below(path) else { return false };
        let Some(glob) = &self.glob else { return true };
        ancestors(&rest).any(|name| self.matches(glob, name))
    }

    /// True when the spec takes all of `path`.
    #[must_use]
    pub fn takes(&self, path: &AbsPath) -> bool {
        let Some(rest) = self.below(path) else { return false };
        match &self.glob {
            None => true,
            Some(glob) => ancestors(&rest).any(|name| self.matches(glob, name)),
        }
    }

    fn below(&self, path: &AbsPath) -> Option<String> {
        if let Some(rest) = path.below(&self.base) {
            return Some(rest.to_string_lossy().into_owned());
        }
        let (key, base) = (path.key().to_lowercase(), self.base.key().to_lowercase());
        let rest = key.strip_prefix(&base)?;
        let inside = rest.is_empty() || rest.starts_with('/') || base == "/";
        (self.case == Case::Folded && inside).then(|| rest.trim_start_matches('/').to_owned())
    }

    fn matches(&self, glob: &str, name: &str) -> bool {
        let mut mode = Mode::empty();
        if self.case == Case::Folded {
            mode |= Mode::IGNORE_CASE;
        }
        if self.stars == Stars::WithinName {
            mode |= Mode::NO_MATCH_SLASH_LITERAL;
        }
        gix_glob::wildmatch(glob.as_bytes().as_bstr(), name.as_bytes().as_bstr(), mode)
    }
}

/// `a/b/c`, then `a/b`, then `a`.
fn ancestors(rest: &str) -> impl Iterator<Item = &str> {
    let cuts = rest.char_indices().rev().filter(|(_, c)| *c == '/').map(|(at, _)| at);
    std::iter::once(rest.len()).chain(cuts).filter_map(|end| rest.get(..end))
}

impl Scope {
    /// True when the verb, run in `root`, takes `path` or something above or below it.
    #[must_use]
    pub fn overlaps(&self, root: &AbsPath, path: &AbsPath) -> bool {
        match self {
            Self::All | Self::Tracked => root.overlaps(path),
            Self::Paths { take, leave } => {
                take.iter().any(|t| t.overlaps(path)) && !leave.iter().any(|l| path.within(l))
            }
            Self::Matched { take, leave } => {
                take.iter().any(|t| t.overlaps(path)) && !leave.iter().any(|l| l.takes(path))
            }
        }
    }

    /// True when the verb takes the root itself, and not only paths that were named.
    #[must_use]
    pub fn broad(&self, root: &AbsPath) -> bool {
        match self {
            Self::All | Self::Tracked => true,
            Self::Paths { take, .. } => take.iter().any(|t| root.within(t)),
            Self::Matched { take, .. } => {
                take.iter().any(|t| t.glob.is_none() && root.within(&t.base))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn spec(base: &str, glob: &str) -> Spec {
        Spec { glob: Some(glob.to_owned()), ..Spec::plain(abs(base)) }
    }

    #[test]
    fn patterns_match_as_in_a_pathspec() {
        assert!(spec("/w", "*.rs").overlaps(&abs("/w/lib/core.rs")));
        assert!(!spec("/w", "x*.rs").overlaps(&abs("/w/lib/core.rs")));
        assert!(spec("/w", "li*").overlaps(&abs("/w/lib/core.rs")));
        let mut strict = spec("/w", "*.rs");
        strict.stars = Stars::WithinName;
        assert!(!strict.overlaps(&abs("/w/lib/core.rs")));
        let mut folded = spec("/w/LIB", "CORE*");
        folded.case = Case::Folded;
        assert!(folded.overlaps(&abs("/w/lib/core.rs")));
        assert!(!spec("/w/LIB", "core*").overlaps(&abs("/w/lib/core.rs")));
    }

    #[test]
    fn excluded_paths_are_left_alone() {
        let root = abs("/w");
        let scope = Scope::Paths { take: vec![abs("/w")], leave: vec![abs("/w/lib")] };
        assert!(!scope.overlaps(&root, &abs("/w/lib/core.rs")));
        assert!(scope.overlaps(&root, &abs("/w/docs/a.md")));
        let matched =
            Scope::Matched { take: vec![Spec::plain(abs("/w"))], leave: vec![spec("/w", "*.rs")] };
        assert!(!matched.overlaps(&root, &abs("/w/lib/core.rs")));
        assert!(matched.overlaps(&root, &abs("/w/docs/a.md")));
    }

    #[test]
    fn a_held_directory_above_a_named_path_is_met() {
        let scope = Scope::Paths { take: vec![abs("/w/lib/core.rs")], leave: Vec::new() };
        assert!(scope.overlaps(&abs("/w"), &abs("/w/lib")));
        assert!(!scope.overlaps(&abs("/w"), &abs("/w/lib2")));
    }
}
