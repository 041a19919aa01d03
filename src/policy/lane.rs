//! Owns the algebra of lanes: who a process is, what time means, when two paths overlap.
//! Pure: builds values from values, never looks at a disk or a clock.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Component, Path, PathBuf};

/// Seconds of silence after which a holder's lanes end, unless a setting says otherwise.
pub const LEASE: u64 = 900;

/// A process of the table: `agent_id`, else `session_id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(String);

impl Pid {
    /// Takes an id as the harness gave it; refuses the empty one and control characters.
    #[must_use]
    pub fn new(id: &str) -> Option<Self> {
        let good = !id.is_empty() && id.len() <= 256 && !id.chars().any(char::is_control);
        good.then(|| Self(id.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Seconds of a clock that counts sleep and starts anew with the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// Seconds from `earlier` to here; zero when the order is the other way round.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// An absolute path without `.`, `..` or doubled slashes. Symbolic links are resolved by the
/// edge that builds it, as far as the path exists.
#[derive(Debug, Clone, Eq, PartialOrd, Ord)]
pub struct AbsPath(PathBuf);

// Normal paths are equal when their bytes are: no need to take them apart.
impl PartialEq for AbsPath {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Hash for AbsPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl AbsPath {
    /// Normalises an absolute path by its text alone; `None` when it is relative or has a NUL.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        if !path.is_absolute() || path.as_os_str().as_encoded_bytes().contains(&0) {
            return None;
        }
        if is_normal(path) {
            return Some(Self(path.to_path_buf()));
        }
        let mut out = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::Normal(name) => out.push(name),
                Component::ParentDir => {
                    out.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(Self(out))
    }

    /// The root of the file system.
    #[must_use]
    pub fn root() -> Self {
        Self(PathBuf::from("/"))
    }

    /// The path for I/O.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The path as the table keys it. Bytes that are no UTF-8 fold together: stricter, never laxer.
    #[must_use]
    pub fn key(&self) -> Cow<'_, str> {
        self.0.to_string_lossy()
    }

    /// A path below this one. `rest` must be relative and normal.
    #[must_use]
    pub fn join(&self, rest: impl AsRef<Path>) -> Self {
        Self::new(self.0.join(rest)).unwrap_or_else(|| self.clone())
    }

    /// The enclosing directory, or none for the root of the file system.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|p| Self(p.to_path_buf()))
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_encoded_bytes()
    }

    fn is_top(&self) -> bool {
        self.bytes() == b"/"
    }

    /// True when this path is `other` or lies below it.
    #[must_use]
    pub fn within(&self, other: &Self) -> bool {
        let rest = self.bytes().strip_prefix(other.bytes());
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')) || other.is_top())
    }

    /// True when the two are equal or one lies above the other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.within(other) || other.within(self)
    }

    /// The part below `base`, when it is below.
    #[must_use]
    pub fn below(&self, base: &Self) -> Option<&Path> {
        self.0.strip_prefix(&base.0).ok()
    }
}

/// Whether an absolute path is already as [`AbsPath`] wants it. Nearly all are.
fn is_normal(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let rest = text.strip_prefix(b"/").unwrap_or(text);
    rest.is_empty() || rest.split(|b| *b == b'/').all(is_name)
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_and_overlap_by_component() {
        for (text, normal) in [
            ("/", "/"),
            ("//", "/"),
            ("/a/", "/a"),
            ("/a//b", "/a/b"),
            ("/a/.", "/a"),
            ("/a/..b", "/a/..b"),
            ("/..", "/"),
            ("/a/.b/...", "/a/.b/..."),
        ] {
            let path = AbsPath::new(text).unwrap();
            assert_eq!(path.as_path().as_os_str(), normal, "{text}");
        }
        let a = AbsPath::new("/w//app/./src/../lib/core.rs").unwrap();
        assert_eq!(a.to_string(), "/w/app/lib/core.rs");
        let dir = AbsPath::new("/w/app/lib").unwrap();
        let twin = AbsPath::new("/w/app/lib2").unwrap();
        assert!(a.overlaps(&dir) && dir.overlaps(&a));
        assert!(!a.overlaps(&twin) && !twin.within(&dir));
        assert!(AbsPath::new("lib").is_none());
    }

    #[test]
    fn a_pid_is_never_empty_or_a_control_character() {
        assert!(Pid::new("").is_none() && Pid::new("a\nb").is_none());
        assert_eq!(Pid::new("s-1").unwrap().as_str(), "s-1");
    }
}
