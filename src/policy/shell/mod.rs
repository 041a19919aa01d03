//! bash text in, what bash would execute out. Pure: everything it must know of the machine it
//! asks through [`World`].
//!
//! ```text
//! text --parse--> ast::Script --walk(World, dir)--> Reading { invocations, opaque }
//! ```

mod ast;
mod fuel;
mod parse;
pub(in crate::policy) mod path;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod text;
mod unwrap;
mod walk;

pub use text::HOLE;
pub use unwrap::{WRAPPERS, Wrapper};

use super::facts::Why;

/// Bytes of a command that are read.
const LONGEST: usize = 1024 * 1024;

/// A piece of an argument as far as it could be known before the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Known text.
    Text(String),
    /// Any text, also none, also several words when unquoted.
    Any,
    /// A path of a fresh temporary file or directory (`$(mktemp -d)`): nobody else's.
    Fresh,
}

/// One argument: the pieces, joined, are its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Arg {
    /// Never two `Text` next to each other; empty = the empty string.
    pub pieces: Vec<Piece>,
    /// The unquoted pattern the word was written as, when it was left unexpanded: nothing matched
    /// (then [`Arg::exact`] is the pattern itself, as the program gets it), or too much did or the
    /// directory is unknown (then a [`Piece::Any`] stands in its place).
    pub glob: Option<String>,
}

impl Arg {
    /// An argument that is known whole.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())], glob: None }
    }

    /// The whole text, when it is known.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(t)] => Some(t),
            _ => None,
        }
    }

    /// The known text it begins with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(t)) => t,
            Some(Piece::Any | Piece::Fresh) | None => "",
        }
    }

    /// True when it begins with a fresh temporary path.
    #[must_use]
    pub fn fresh(&self) -> bool {
        matches!(self.pieces.first(), Some(Piece::Fresh))
    }
}

/// The directory something runs in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Dir {
    /// Known; absolute, not yet canonical.
    At(String),
    /// Only known at run time.
    #[default]
    Unknown,
    /// Below a fresh temporary directory.
    Fresh,
}

/// What stands on standard input, when the text itself says so (`<<`, `<<<`, `echo … |`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub enum Stdin {
    /// The caller's own, or a file: not looked into.
    #[default]
    Inherited,
    /// This text; [`HOLE`] stands in it for what is only known at run time.
    Text(String),
    /// Produced at run time by another command of the line.
    Unknown,
    /// Read from this file (`< file`).
    File(Arg),
}

/// A redirection that opens a file for writing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// Appends (`>>`) instead of replacing.
    pub append: bool,
    /// The file.
    pub target: Arg,
}

/// One program bash would execute (or one builtin it would run), after expansion, with every
/// wrapper already taken off (`env`, `sudo`, `xargs`, `bash -c`, `find -exec` …).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Invocation {
    /// Program and arguments. Empty for a bare redirection (`> file`).
    pub argv: Vec<Arg>,
    /// The directory it runs in.
    pub dir: Dir,
    /// Assignments in front of it or exported before (`GIT_DIR=…`).
    pub env: Vec<(String, Arg)>,
    /// What it reads.
    pub stdin: Stdin,
    /// Files it opens for writing.
    pub redirects: Vec<Redirect>,
    /// More operands follow that are not known (`… | xargs rm`).
    pub more: bool,
    /// Found in a script file from the disk: what only its run time tells is its own business.
    pub quiet: bool,
    /// How many `-c` bodies, `eval`s and the like it was found under.
    pub depth: u8,
    /// Files it names that the text itself wrote before, by absolute path, and what they hold
    /// when that is known.
    pub wrote: Vec<(String, Option<String>)>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// What was in the way.
    pub why: Why,
    /// Where it would have run.
    pub dir: Dir,
    /// The words, shortened.
    pub words: String,
}

/// Everything a command text says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// What would run, in the order of the text. A superset of what bash executes, apart from
    /// what is listed in `unread`.
    pub invocations: Vec<Invocation>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// What a path is, without following a final link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// Device, pipe or socket.
    Other,
    /// Nothing there.
    Missing,
}

/// What reading must know of the machine. The edge answers from the disk, tests from a map.
pub trait World {
    /// The user's home directory.
    fn home(&self) -> Option<String>;
    /// A variable of the environment the command will get, when it is known to stay as it is.
    fn var(&self, name: &str) -> Option<String>;
    /// What is at an absolute path, without following a final link.
    fn entry(&self, path: &str) -> Entry;
    /// What is there after following links.
    fn target(&self, path: &str) -> Entry;
    /// Names in a directory, at most `limit`; `None` when there are more or it can't be read.
    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>>;
    /// A small text file's content (scripts that are sourced or run, `--pathspec-from-file`), at
    /// most `limit` bytes.
    fn read(&self, path: &str, limit: usize) -> Option<String>;
}

/// Reads a command text as bash would run it in `dir`.
#[must_use]
pub fn read(text: &str, dir: &str, world: &dyn World) -> Reading {
    if text.len() > LONGEST {
        let words = text.chars().take(80).collect();
        let unread = Unread { why: Why::TooLong, dir: Dir::At(dir.to_owned()), words };
        return Reading { invocations: Vec::new(), unread: vec![unread] };
    }
    walk::read(text, dir, world)
}
