//! What a program would do: one [`Invocation`] in, [`Effect`]s out. Pure; nothing is executed.
//!
//! ```text
//! argv --verbs: row--> reading (options, operands) --paths--> effects
//! git  --globals--> root, alias --row--> reading --pathspec--> scope --> effects
//! ```

mod archive;
mod awk;
mod carrier;
mod cmdlet;
mod code;
mod copy;
#[cfg(test)]
mod corpus;
mod edit;
mod fetch;
mod find;
mod format;
mod git;
mod git_dir;
mod interpreter;
mod meta;
mod nested;
mod operator;
mod options;
mod patch;
mod paths;
mod recipe;
mod remove;
#[cfg(test)]
mod scene;
mod sed;
pub mod state;
mod sync;
mod verbs;
mod vim;
mod write;

pub use verbs::{Verb, verbs};

use self::paths::Place;
use super::facts::{Effect, Root, Scope, Why};
use super::lane::AbsPath;
use super::shell::{Arg, Invocation, Piece, World};

/// How deep carriers, aliases and program texts are followed from here.
const DEPTH: u8 = 4;

/// Whether the last component of a path is followed when it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// As `open` does: all links.
    All,
    /// As `unlink` and `rename` do: all but the last.
    Parents,
}

/// What git verbs and writing programs must know besides [`World`].
pub trait Site: World {
    /// One canonical form of an absolute path (existing links resolved).
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath>;
    /// The work tree that encloses a path, from git's own files.
    fn root_of(&self, path: &AbsPath) -> Option<Root>;
    /// The work trees registered below a path (nested linked worktrees, embedded repositories
    /// are not searched for).
    fn roots_below(&self, path: &AbsPath) -> Vec<Root>;
    /// A value of the repository's or the user's git configuration (`alias.co`).
    fn git_config(&self, root: &Root, key: &str) -> Option<String>;
    /// Whether `name` is a branch, tag or other revision of the repository.
    fn is_revision(&self, root: &Root, name: &str) -> bool;
    /// The branch HEAD stands on, when it stands on one.
    fn head_branch(&self, root: &Root) -> Option<String>;
    /// Commands the user declared to stage broadly inside (`ai-push`).
    fn stages_broadly(&self, program: &str) -> bool;
}

/// One program with its arguments and the place it runs in.
struct Call<'a> {
    /// The program's own name, without directory and `.exe`.
    name: String,
    /// What follows it; a last unknown argument stands for operands that are not known.
    args: Vec<Arg>,
    /// Where it runs.
    place: Place<'a>,
    /// All of it.
    invocation: &'a Invocation,
}

impl<'a> Call<'a> {
    fn new(invocation: &'a Invocation, site: &'a dyn Site) -> Option<Self> {
        let (program, rest) = invocation.argv.split_first()?;
        let name = paths::base_name(program.exact()?);
        let name = name.strip_suffix(".exe").unwrap_or(name).to_owned();
        let mut args = rest.to_vec();
        if invocation.more {
            args.push(Arg { pieces: vec![Piece::Any], glob: None });
        }
        Some(Self { name, args, place: Place { site, dir: &invocation.dir }, invocation })
    }

    fn site(&self) -> &'a dyn Site {
        self.place.site
    }

    /// The command as typed, for denials.
    fn words(&self) -> String {
        words(&self.invocation.argv)
    }

    /// Writes to each operand.
    fn writes<'b>(&self, args: impl IntoIterator<Item = &'b Arg>) -> Vec<Effect> {
        let words = self.words();
        args.into_iter().flat_map(|a| self.place.write(a, Follow::All, &words)).collect()
    }

    /// Takes each operand away.
    fn removes<'b>(&self, args: impl IntoIterator<Item = &'b Arg>) -> Vec<Effect> {
        let words = self.words();
        args.into_iter().flat_map(|a| self.place.remove(a, &words)).collect()
    }

    /// What a file holds that the same line wrote before, when that is known.
    fn wrote(&self, file: &Arg) -> Option<String> {
        let path = AbsPath::new(self.place.absolute(file.exact()?)?)?.to_string();
        let found = self.invocation.wrote.iter().find(|(name, _)| *name == path);
        found.and_then(|(_, text)| text.clone())
    }

    /// Its known arguments.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter_map(Arg::exact)
    }

    /// True when one of the words before `--` stands alone among the arguments.
    fn says(&self, wanted: &[&str]) -> bool {
        self.texts().take_while(|t| *t != "--").any(|t| wanted.contains(&t))
    }
}

/// Longest command text that is shown in a denial.
const WORDS: usize = 160;

/// Arguments as one line of text, shortened.
fn words(argv: &[Arg]) -> String {
    let mut out = String::new();
    for arg in argv {
        if !out.is_empty() {
            out.push(' ');
        }
        for piece in &arg.pieces {
            match piece {
                Piece::Text(text) => out.extend(text.chars().map(|c| match c {
                    c if c.is_control() => ' ',
                    c => c,
                })),
                Piece::Any => out.push('…'),
                Piece::Fresh => out.push_str("<fresh>"),
            }
        }
        if out.chars().count() > WORDS {
            return out.chars().take(WORDS).chain(std::iter::once('…')).collect();
        }
    }
    out
}

/// An invocation as people read it, redirections included.
#[must_use]
pub fn shown(invocation: &Invocation) -> String {
    let mut out = words(&invocation.argv);
    for redirect in &invocation.redirects {
        let sign = if redirect.append { ">>" } else { ">" };
        let gap = if out.is_empty() { "" } else { " " };
        out.extend([gap, sign, " ", &words(std::slice::from_ref(&redirect.target))]);
    }
    out
}

/// Everything one invocation would do. `site` answers; nothing is executed.
#[must_use]
pub fn effects(invocation: &Invocation, site: &dyn Site) -> Vec<Effect> {
    let place = Place { site, dir: &invocation.dir };
    let words = words(&invocation.argv);
    let targets = invocation.redirects.iter().map(|r| &r.target);
    let mut out: Vec<Effect> = targets.flat_map(|t| redirect(&place, t, &words)).collect();
    if let Some(call) = Call::new(invocation, site) {
        out.extend(program(&call));
    }
    let heard = |effect: &Effect| !invocation.quiet || !matches!(effect, Effect::Opaque { .. });
    out.into_iter().flat_map(|effect| git_dir::translate(effect, site)).filter(heard).collect()
}

/// What a whole line would do, in order. An alias the line itself sets is known to what follows.
#[must_use]
pub fn line_effects(line: &[Invocation], site: &dyn Site) -> Vec<Vec<Effect>> {
    let mut overlay = git::Overlay::new(site);
    let mut out = Vec::with_capacity(line.len());
    for invocation in line {
        overlay.arrive(invocation);
        out.push(effects(invocation, &overlay));
        overlay.learn(invocation);
    }
    out
}

/// A redirection writes to its target; a pattern without a match is a name like any other.
fn redirect(place: &Place<'_>, target: &Arg, words: &str) -> Vec<Effect> {
    let plain = Arg { pieces: target.pieces.clone(), glob: None };
    place.write(&plain, Follow::All, words)
}

/// What the program itself does.
fn program(call: &Call<'_>) -> Vec<Effect> {
    if call.site().stages_broadly(&call.name) {
        return broadly(call);
    }
    let bare = call.name.trim_end_matches(|c: char| c.is_ascii_digit() || "-.".contains(c));
    let row = |name: &str| verbs().find(|verb| verb.names(name));
    // `python3.12` and `clang-format-15` are what they are without their number.
    match row(&call.name).or_else(|| (bare != call.name).then(|| row(bare)).flatten()) {
        Some(_) if call.invocation.depth > DEPTH => {
            vec![call.place.opaque(Why::TooDeep, &call.words())]
        }
        Some(verb) => verb.effects(call),
        None => git::dashed(call).unwrap_or_default(),
    }
}

/// What a command does of which the user said that it stages everything.
fn broadly(call: &Call<'_>) -> Vec<Effect> {
    let root = call.place.root();
    root.map(|root| Effect::Stage { root: root.path, scope: Scope::All, words: call.words() })
        .into_iter()
        .collect()
}
