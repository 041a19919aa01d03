//! The tree of a bash text: what was written, before anything is expanded. Plain data, made by
//! `parse`, read by `walk`. Never says what runs.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Lists, each ended by `;`, `&` or a newline.
    pub(super) items: Vec<Item>,
}

/// One `a && b || c` list.
#[derive(Debug)]
pub(super) struct Item {
    /// Its pipelines.
    pub(super) chain: Vec<Link>,
    /// How it ends.
    pub(super) ends: Ends,
}

/// How a list ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// `;`, newline or the end.
    Foreground,
    /// `&`.
    Background,
}

/// A pipeline and what joins it to the one before.
#[derive(Debug)]
pub(super) struct Link {
    /// The operator in front of it.
    pub(super) join: Join,
    /// Commands joined by `|`; empty for a lone `!` or `time`.
    pub(super) stages: Vec<Command>,
    /// `!` stands in front.
    pub(super) negated: bool,
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// Nothing: it is the first.
    First,
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// One command.
#[derive(Debug)]
pub(super) enum Command {
    /// Words, assignments, redirections.
    Simple(Simple),
    /// A compound command with its redirections.
    Compound(Box<Compound>, Vec<Redirection>),
    /// A function definition.
    Function(String, Rc<Function>),
    /// `coproc`.
    Coproc(Box<Command>),
}

/// A function's body.
#[derive(Debug)]
pub(super) struct Function {
    /// What a call runs.
    pub(super) body: Compound,
    /// Redirections of every call.
    pub(super) redirections: Vec<Redirection>,
}

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct Simple {
    /// Assignments in front.
    pub(super) assignments: Vec<Assignment>,
    /// Program and arguments.
    pub(super) words: Vec<Argument>,
    /// Redirections, wherever they stood.
    pub(super) redirections: Vec<Redirection>,
}

/// A word of a simple command.
#[derive(Debug)]
pub(super) enum Argument {
    /// Expanded, split and globbed.
    Word(Word),
    /// `name=value` after `export`, `declare` and their like: expanded as an assignment.
    Assignment(Assignment),
}

/// A compound command.
#[derive(Debug)]
pub(super) enum Compound {
    /// `{ … }`.
    Group(Script),
    /// `( … )`.
    Subshell(Script),
    /// `if`: tests with their bodies, and the `else`.
    If(Vec<(Script, Script)>, Option<Script>),
    /// `while` and `until`.
    Loop {
        /// Run before each turn.
        test: Script,
        /// Run in each turn.
        body: Script,
    },
    /// `for` and `select` over words; `None` = over the positional parameters.
    Each {
        /// The variable.
        name: String,
        /// Its values.
        words: Option<Vec<Word>>,
        /// Run in each turn.
        body: Script,
    },
    /// `for (( … ))`.
    Count {
        /// The three expressions.
        header: Word,
        /// Run in each turn.
        body: Script,
    },
    /// `case`.
    Case {
        /// What is looked at.
        subject: Word,
        /// Patterns and bodies.
        arms: Vec<Arm>,
    },
    /// `[[ … ]]`: its words; operators are left out.
    Test(Vec<Word>),
    /// `(( … ))`.
    Arithmetic(Word),
}

/// An arm of a `case`.
#[derive(Debug)]
pub(super) struct Arm {
    /// Any of these.
    pub(super) patterns: Vec<Word>,
    /// What runs.
    pub(super) body: Script,
}

/// `name=value`.
#[derive(Debug)]
pub(super) struct Assignment {
    /// The variable.
    pub(super) name: String,
    /// `[…]` behind it.
    pub(super) subscript: Option<Word>,
    /// `+=` instead of `=`.
    pub(super) appends: bool,
    /// What it gets.
    pub(super) value: Assigned,
}

/// The right side of an assignment.
#[derive(Debug)]
pub(super) enum Assigned {
    /// A word, neither split nor globbed.
    Word(Word),
    /// `( … )`: an array's elements.
    Array(Vec<Word>),
}

/// A redirection.
#[derive(Debug)]
pub(super) struct Redirection {
    /// What it does.
    pub(super) operator: Operator,
    /// The number in front; `None` also for `{name}>`.
    pub(super) fd: Option<u32>,
    /// File, descriptor or here-string; the delimiter's place is empty for here-documents.
    pub(super) target: Word,
}

/// What a redirection does.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    /// `<`.
    Read,
    /// `>` and `>|`.
    Write,
    /// `>>`.
    Append,
    /// `<>`.
    ReadWrite,
    /// `&>`.
    Both,
    /// `&>>`.
    BothAppend,
    /// `>&`.
    DuplicateOut,
    /// `<&`.
    DuplicateIn,
    /// `<<<`.
    HereString,
    /// `<<` and `<<-`: the body, once its line was reached.
    HereDocument(Rc<OnceCell<Word>>),
}

/// A word: its parts side by side.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// In the order of the text.
    pub(super) parts: Vec<Part>,
}

/// Whether a part stood in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// Unquoted: split and globbed once expanded.
    Bare,
    /// In double quotes or a here-document.
    Quoted,
}

/// A part of a word.
#[derive(Debug)]
pub(super) enum Part {
    /// Unquoted text: tilde, braces and patterns in it are alive.
    Bare(String),
    /// Text that stands for itself (`'…'`, `"…"`, `\x`, `$'…'`).
    Quoted(String),
    /// `$name` and `${…}`.
    Parameter(Box<Parameter>, Quote),
    /// `$(…)`, `` `…` `` and `${ …; }`.
    Command(Script, Quote),
    /// `<(…)` and `>(…)`.
    Process(Script, Flow),
    /// `$(( … ))` and `$[ … ]`.
    Arithmetic(Word),
}

/// Which way a process substitution flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// `<(…)`: its output is read.
    Out,
    /// `>(…)`: its input is written.
    In,
}

/// A parameter expansion.
#[derive(Debug)]
pub(super) struct Parameter {
    /// A name, a number or a special character.
    pub(super) name: String,
    /// `[…]` behind it.
    pub(super) subscript: Option<Word>,
    /// What is done to the value.
    pub(super) action: Action,
    /// The operator's word, both halves of a replacement included.
    pub(super) word: Word,
}

/// What a parameter expansion does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The value as it is.
    Value,
    /// `${#x}`.
    Length,
    /// `${!x}` in all its forms.
    Indirect,
    /// `-`, `:-`: the word when unset (or empty).
    Default(Empty),
    /// `=`, `:=`.
    Assign(Empty),
    /// `?`, `:?`.
    Require(Empty),
    /// `+`, `:+`.
    Alternate(Empty),
    /// `#`, `##`.
    CutFront(Reach),
    /// `%`, `%%`.
    CutBack(Reach),
    /// `/`, `//`, `/#`, `/%`.
    Replace,
    /// `:offset:length`.
    Slice,
    /// `^`, `,`, `~` and `@Q`-like: the text changes.
    Change,
}

/// Whether an empty value counts as unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// With the colon: yes.
    IsUnset,
    /// Without: no.
    IsSet,
}

/// How much a cut takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// As little as possible.
    Shortest,
    /// As much as possible.
    Longest,
}

impl Word {
    /// Adds unquoted text.
    pub(super) fn bare(&mut self, text: &str) {
        if let Some(Part::Bare(last)) = self.parts.last_mut() {
            last.push_str(text);
        } else if !text.is_empty() {
            self.parts.push(Part::Bare(text.to_owned()));
        }
    }

    /// Adds quoted text; an empty one counts, it makes a word.
    pub(super) fn quoted(&mut self, text: &str) {
        if let Some(Part::Quoted(last)) = self.parts.last_mut() {
            last.push_str(text);
        } else {
            self.parts.push(Part::Quoted(text.to_owned()));
        }
    }

    /// Adds text in the given quoting.
    pub(super) fn text(&mut self, text: &str, quote: Quote) {
        match quote {
            Quote::Bare => self.bare(text),
            Quote::Quoted => self.quoted(text),
        }
    }

    /// The text, when it is one unquoted run.
    pub(super) fn as_bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Bare(text)] => Some(text),
            _ => None,
        }
    }
}
