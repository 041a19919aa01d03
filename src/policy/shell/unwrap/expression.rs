//! The expression of `find`: what its tests say of a path, three-valued, because not every test
//! can be evaluated without the disk.

use crate::policy::shell::walk::Pattern;
use crate::policy::shell::{Entry, path};

/// What a test says of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    /// It does not hold.
    No,
    /// It can't be told.
    Maybe,
    /// It holds.
    Yes,
}

/// An expression.
pub(super) enum Expr {
    /// All must hold, in order.
    And(Vec<Expr>),
    /// One must hold, in order.
    Or(Vec<Expr>),
    /// `!`.
    Not(Box<Expr>),
    /// `-name`, `-iname`.
    Name(Pattern, Case),
    /// `-path`, `-ipath`.
    Path(Pattern, Case),
    /// `-type`.
    Type(String),
    /// A test or action that is not evaluated.
    Other(Truth),
    /// The command of this number.
    Run(usize),
    /// `-print`, `-print0`.
    Print,
}

/// Whether upper and lower case differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// `-name`.
    Matters,
    /// `-iname`.
    Ignored,
}

/// A path that was found.
pub(super) struct Found {
    /// As `find` prints it.
    pub(super) path: String,
    /// Steps below its start.
    pub(super) depth: usize,
    /// What it is.
    pub(super) entry: Entry,
}

impl Expr {
    /// Evaluates; `reach` hears of every command (its number) and print (`None`) on the way.
    pub(super) fn holds(&self, file: &Found, reach: &mut dyn FnMut(Option<usize>)) -> Truth {
        match self {
            Self::And(all) => {
                let mut truth = Truth::Yes;
                for one in all {
                    match one.holds(file, reach) {
                        Truth::No => return Truth::No,
                        Truth::Maybe => truth = Truth::Maybe,
                        Truth::Yes => {}
                    }
                }
                truth
            }
            Self::Or(all) => {
                let mut truth = Truth::No;
                for one in all {
                    match one.holds(file, reach) {
                        Truth::Yes => return Truth::Yes,
                        Truth::Maybe => truth = Truth::Maybe,
                        Truth::No => {}
                    }
                }
                truth
            }
            Self::Not(inner) => match inner.holds(file, reach) {
                Truth::Yes => Truth::No,
                Truth::Maybe => Truth::Maybe,
                Truth::No => Truth::Yes,
            },
            Self::Name(pattern, case) => matches(pattern, *case, path::base(&file.path)),
            Self::Path(pattern, case) => matches(pattern, *case, &file.path),
            Self::Type(kinds) => {
                let kind = match file.entry {
                    Entry::File => 'f',
                    Entry::Dir => 'd',
                    Entry::Link => 'l',
                    Entry::Other | Entry::Missing => return Truth::Maybe,
                };
                if kinds.contains(kind) { Truth::Yes } else { Truth::No }
            }
            Self::Other(truth) => *truth,
            Self::Run(number) => {
                reach(Some(*number));
                Truth::Maybe
            }
            Self::Print => {
                reach(None);
                Truth::Yes
            }
        }
    }
}

fn matches(pattern: &Pattern, case: Case, text: &str) -> Truth {
    let holds = match case {
        Case::Matters => pattern.matches(text),
        Case::Ignored => pattern.matches(&text.to_lowercase()),
    };
    if holds { Truth::Yes } else { Truth::No }
}
