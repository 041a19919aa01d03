//! Abstract execution: a tree in, every program it can run out. Walks in the order of the text,
//! takes every branch, and says so where it can't know. Must never report less than bash runs.

mod assign;
mod brace;
mod builtin;
mod call;
mod chain;
mod compound;
mod directory;
mod expand;
mod field;
mod function;
mod glob;
mod listing;
mod made;
mod output;
mod parameter;
mod pattern;
mod setup;
mod simple;
mod state;
mod told;

pub(super) use call::{Call, Input, Via, runs_in_shell};
pub(super) use chain::Failed;
pub(super) use pattern::Pattern;

use std::collections::{BTreeMap, BTreeSet};

use super::fuel::Fuel;
use super::parse::parse;
use super::text::{Text, outside};
use super::{Dir, Reading, Unread, World};
use crate::policy::facts::Why;
use state::State;

/// `-c` bodies, `eval`s and the like that are followed inside each other.
const TEXTS: u8 = 3;
/// Commands inside commands; keeps the stack small whatever the texts hold.
const LEVELS: u16 = 96;
/// Characters of unread words that are shown.
const SHOWN: usize = 80;

/// Where the holes of a text that will be run come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Holes {
    /// Anything: they may hold commands.
    #[default]
    Code,
    /// Names of files or the like, put in by `xargs` and `find`.
    Names,
}

/// States in which a loop's turn was left.
#[derive(Default)]
struct Escapes {
    /// At `break`.
    out: Option<State>,
    /// At `continue`.
    on: Option<State>,
}

/// One reading under way.
pub(super) struct Walker<'w> {
    /// The machine.
    pub(super) world: &'w dyn World,
    /// The shell's memory at this point of the text.
    state: State,
    /// What stands on standard input here.
    pub(super) input: Input,
    reading: Reading,
    fuel: Fuel,
    /// Outputs that are being collected, innermost last.
    captures: Vec<Text>,
    /// Files the text itself wrote, with their content when it is known.
    files: BTreeMap<String, Option<Text>>,
    /// Directories the text itself made.
    made: BTreeSet<String>,
    /// Git configuration the text itself set.
    settings: Vec<(String, Text)>,
    /// Loops under way.
    loops: Vec<Escapes>,
    /// States at `return`, one slot a function.
    returns: Vec<Option<State>>,
    /// Functions under way, by the address of their body.
    calls: Vec<usize>,
    /// Texts it is inside of.
    depth: u8,
    level: u16,
    /// Inside a script file: what can't be read there is that program's own business.
    muted: bool,
    starved: bool,
    pipes: usize,
}

/// Reads a command text.
pub(super) fn read(text: &str, dir: &str, world: &dyn World) -> Reading {
    walked(text, dir, world).reading
}

/// Steps that a command text takes.
#[cfg(test)]
pub(super) fn steps(text: &str, dir: &str, world: &dyn World) -> u64 {
    Fuel::of(text).left() - walked(text, dir, world).fuel.left()
}

fn walked<'w>(text: &str, dir: &str, world: &'w dyn World) -> Walker<'w> {
    let text = outside(text);
    let mut walker = Walker {
        world,
        state: State::new(Dir::At(dir.to_owned())),
        input: Input::Inherited,
        reading: Reading::default(),
        fuel: Fuel::of(&text),
        captures: Vec::new(),
        files: BTreeMap::new(),
        made: BTreeSet::new(),
        settings: Vec::new(),
        loops: Vec::new(),
        returns: Vec::new(),
        calls: Vec::new(),
        depth: 0,
        level: 0,
        muted: false,
        starved: false,
        pipes: 64,
    };
    walker.source(&text);
    walker.traps();
    walker
}

impl Walker<'_> {
    /// Parses a text and walks it in the state as it is.
    fn source(&mut self, text: &str) {
        let parsed = parse(text, &mut self.fuel);
        self.script(&parsed.script);
        if let Some(why) = parsed.fault {
            self.unread(why, text);
        }
    }

    /// Runs a text that the command itself holds (`eval`, `-c`, `trap`).
    pub(super) fn run(&mut self, text: &Text, holes: Holes) {
        let body = text.holed();
        if self.depth >= TEXTS {
            self.unread(Why::TooDeep, &body);
            return;
        }
        if holes == Holes::Code && text.has_holes() {
            self.unread(Why::Generated, &body);
        }
        if text.pieces() == [super::Piece::Any] {
            return;
        }
        self.depth += 1;
        self.source(&body);
        self.depth -= 1;
    }

    /// Runs the content of a file from the disk, on an allowance of its own.
    pub(super) fn run_file(&mut self, content: &str) {
        let own = self.fuel.aside(content);
        let fuel = std::mem::replace(&mut self.fuel, own);
        let muted = std::mem::replace(&mut self.muted, true);
        self.run(&Text::known(&outside(content)), Holes::Names);
        self.muted = muted;
        let rest = std::mem::replace(&mut self.fuel, fuel);
        self.fuel.take_back(&rest);
    }

    /// A copy of the memory as it is. Paid for by what it holds: whoever changes one of two copies
    /// must take its maps apart first.
    fn fork(&mut self) -> State {
        self.afford(self.state.weight() / 4);
        self.state.clone()
    }

    /// Runs something in a shell of its own: what it changes ends with it.
    pub(super) fn apart(&mut self, body: impl FnOnce(&mut Self)) {
        let state = self.fork();
        let loops = std::mem::take(&mut self.loops);
        let returns = std::mem::take(&mut self.returns);
        self.state.traps.clear();
        body(self);
        self.traps();
        self.state = state;
        self.loops = loops;
        self.returns = returns;
    }

    /// Runs what `trap` left for the end.
    fn traps(&mut self) {
        for text in std::mem::take(&mut self.state.traps) {
            self.run(&text, Holes::Code);
        }
    }

    /// Collects what `body` prints.
    pub(super) fn collect(&mut self, body: impl FnOnce(&mut Self)) -> Text {
        self.captures.push(Text::default());
        body(self);
        self.captures.pop().unwrap_or_default()
    }

    /// Adds to the output that is being collected.
    pub(super) fn say(&mut self, text: &Text) {
        if self.captures.is_empty() || !self.afford(text.size() / 8) {
            return;
        }
        if let Some(capture) = self.captures.last_mut() {
            capture.append(text);
        }
    }

    /// Runs something that bash may leave out: output from it is no longer certain.
    fn perhaps<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.captures.last().map(Text::size);
        let result = body(self);
        if let Some(capture) = self.captures.last_mut()
            && Some(capture.size()) != before
        {
            *capture = Text::any();
        }
        result
    }

    /// Records something that could not be read.
    pub(super) fn unread(&mut self, why: Why, words: &str) {
        if self.muted {
            return;
        }
        let readable = |c: char| match c {
            '\u{100000}'.. => '…',
            c if c.is_control() => ' ',
            c => c,
        };
        let words: String = words.chars().take(SHOWN).map(readable).collect();
        let unread = Unread { why, dir: self.state.dir(), words };
        if !self.reading.unread.contains(&unread) && self.reading.unread.len() < 64 {
            self.reading.unread.push(unread);
        }
    }

    /// Spends fuel; says once that the text was too much.
    fn afford(&mut self, steps: usize) -> bool {
        let enough = self.fuel.spend(steps);
        if !enough && !self.starved && !self.muted {
            self.starved = true;
            self.unread(Why::TooLong, "");
        }
        enough
    }
}
