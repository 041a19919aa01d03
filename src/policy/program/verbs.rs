//! Owns the list of what is read: one row per program or git verb, with commands that must have
//! an effect and commands that must have none. Tests run every example; the README prints the rows.

use super::git::GitCall;
use super::{
    Call, archive, awk, carrier, cmdlet, copy, edit, fetch, find, format, git, interpreter, meta,
    operator, patch, recipe, remove, sed, sync, vim, write,
};
use crate::policy::facts::Effect;

/// How a row is read.
#[derive(Clone, Copy)]
pub(super) enum Reader {
    /// A program.
    Program(fn(&Call<'_>) -> Vec<Effect>),
    /// A verb of git.
    Git(fn(&GitCall<'_>) -> Vec<Effect>),
}

/// One program, or one verb of git, that can touch somebody's work.
#[derive(Clone, Copy)]
pub struct Verb {
    /// The names the program goes by.
    pub program: &'static [&'static str],
    /// The names of git's verb; empty for a program that is read as a whole.
    pub sub: &'static [&'static str],
    /// What it does to whom, in a few words.
    pub summary: &'static str,
    /// Commands with an effect.
    pub yes: &'static [&'static str],
    /// Commands without one.
    pub no: &'static [&'static str],
    /// How it is read.
    pub(super) reader: Reader,
}

impl Verb {
    /// Whether the row stands for a program.
    pub(super) fn names(&self, program: &str) -> bool {
        self.sub.is_empty() && self.program.contains(&program)
    }

    /// Whether the row stands for a verb of git.
    pub(super) fn is_git(&self, verb: &str) -> bool {
        matches!(self.reader, Reader::Git(_)) && self.sub.contains(&verb)
    }

    /// What the program does.
    pub(super) fn effects(&self, call: &Call<'_>) -> Vec<Effect> {
        match self.reader {
            Reader::Program(read) => read(call),
            Reader::Git(_) => Vec::new(),
        }
    }
}

/// A row of a program.
pub(super) const fn program(
    program: &'static [&'static str],
    summary: &'static str,
    read: fn(&Call<'_>) -> Vec<Effect>,
) -> Verb {
    Verb { program, sub: &[], summary, yes: &[], no: &[], reader: Reader::Program(read) }
}

/// A row of a git verb.
pub(super) const fn verb(
    sub: &'static [&'static str],
    summary: &'static str,
    read: fn(&GitCall<'_>) -> Vec<Effect>,
) -> Verb {
    Verb { program: &["git"], sub, summary, yes: &[], no: &[], reader: Reader::Git(read) }
}

impl Verb {
    /// The row with its examples.
    pub(super) const fn examples(
        mut self,
        yes: &'static [&'static str],
        no: &'static [&'static str],
    ) -> Self {
        self.yes = yes;
        self.no = no;
        self
    }
}

const PROGRAMS: &[&[Verb]] = &[
    remove::ROWS,
    copy::ROWS,
    sync::ROWS,
    write::ROWS,
    fetch::ROWS,
    meta::ROWS,
    sed::ROWS,
    awk::ROWS,
    edit::ROWS,
    vim::ROWS,
    patch::ROWS,
    interpreter::ROWS,
    interpreter::OTHERS,
    recipe::ROWS,
    archive::ROWS,
    find::ROWS,
    format::ROWS,
    carrier::ROWS,
    cmdlet::ROWS,
    operator::ROWS,
    git::PROGRAMS,
];

/// Every row: programs first, then git's verbs.
pub fn verbs() -> impl Iterator<Item = &'static Verb> {
    PROGRAMS.iter().copied().chain(git::VERBS.iter().copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::program::scene::Scene;

    #[test]
    fn every_example_says_what_it_should() {
        let scene = Scene::gate();
        for verb in verbs() {
            for line in verb.yes {
                assert!(!scene.run(line).is_empty(), "{line} should have an effect");
            }
            for line in verb.no {
                let effects = scene.run(line);
                assert!(effects.is_empty(), "{line} should have no effect: {effects:?}");
            }
        }
    }

    #[test]
    fn every_row_has_examples_and_belongs_to_one_name() {
        let mut seen = std::collections::BTreeSet::new();
        for verb in verbs() {
            let label = format!("{:?} {:?}", verb.program, verb.sub);
            assert!(!verb.yes.is_empty() && !verb.no.is_empty(), "{label} lacks examples");
            assert!(!verb.summary.is_empty(), "{label} lacks a summary");
            for name in verb.program {
                for sub in verb.sub.iter().chain(verb.sub.is_empty().then_some(&"")) {
                    assert!(seen.insert((*name, *sub)), "{name} {sub} stands in two rows");
                }
            }
        }
    }
}
