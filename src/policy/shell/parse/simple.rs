//! Simple commands: assignments, words and redirections in any order; and the function
//! definitions that begin like one.

use super::{Parse, Parser};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Argument, Assigned, Assignment, Command, Part, Simple, Word};

/// Builtins whose arguments are assignments.
const DECLARES: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Parse<Command> {
        let mut simple = Simple::default();
        let mut declares = false;
        loop {
            self.blanks();
            self.tick()?;
            if let Some(redirection) = self.redirection()? {
                simple.redirections.push(redirection);
                continue;
            }
            if (simple.words.is_empty() || declares)
                && let Some(assignment) = self.assignment()?
            {
                if simple.words.is_empty() {
                    simple.assignments.push(assignment);
                } else {
                    simple.words.push(Argument::Assignment(assignment));
                }
                continue;
            }
            let Some(word) = self.word()? else { break };
            let first = simple.words.is_empty();
            if first
                && simple.assignments.is_empty()
                && simple.redirections.is_empty()
                && let Some(name) = self.defines(&word)?
            {
                return self.body(&name);
            }
            declares |= first && word.as_bare().is_some_and(|w| DECLARES.contains(&w));
            simple.words.push(Argument::Word(word));
        }
        let nothing = simple.words.is_empty()
            && simple.assignments.is_empty()
            && simple.redirections.is_empty();
        if nothing { Err(self.missing()) } else { Ok(Command::Simple(simple)) }
    }

    /// The name, when `word` and what follows are the head of a function.
    fn defines(&mut self, word: &Word) -> Parse<Option<String>> {
        let start = self.at;
        self.spaces();
        if self.peek(0) != b'(' {
            self.at = start;
            return Ok(None);
        }
        let mut name = String::new();
        for part in &word.parts {
            match part {
                Part::Bare(text) | Part::Quoted(text) => name.push_str(text),
                Part::Parameter(..)
                | Part::Command(..)
                | Part::Process(..)
                | Part::Arithmetic(_) => return Err(Why::Syntax),
            }
        }
        self.at += 1;
        self.spaces();
        self.expect_byte(b')')?;
        Ok(Some(name))
    }

    /// `name=`, `name+=`, `name[…]=` with its value; `None` when something else stands here.
    fn assignment(&mut self) -> Parse<Option<Assignment>> {
        let start = self.at;
        let length = self.name();
        if length == 0 {
            return Ok(None);
        }
        let name = self.slice(start, start + length);
        self.at += length;
        let mut subscript = None;
        if self.peek(0) == b'[' {
            if !self.subscript_is_assigned() {
                self.at = start;
                return Ok(None);
            }
            self.at += 1;
            subscript = Some(self.subscript()?);
        }
        let appends = self.take("+=");
        if !appends && !self.take("=") {
            self.at = start;
            return Ok(None);
        }
        let value = if self.take("(") {
            Assigned::Array(self.elements()?)
        } else {
            Assigned::Word(self.word()?.unwrap_or_default())
        };
        Ok(Some(Assignment { name: name.to_owned(), subscript, appends, value }))
    }

    /// Looks ahead for the `]=` that makes a subscript one. Paid for in fuel: it may look far.
    fn subscript_is_assigned(&mut self) -> bool {
        let mut open = 0_usize;
        let mut length = 0;
        for byte in self.rest().bytes().take_while(|b| *b != b'\n') {
            length += 1;
            match byte {
                b'[' => open += 1,
                b']' => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
        let behind = self.rest().get(length..).unwrap_or("");
        self.fuel.spend(length) && (behind.starts_with('=') || behind.starts_with("+="))
    }

    fn elements(&mut self) -> Parse<Vec<Word>> {
        let mut elements = Vec::new();
        loop {
            self.newlines()?;
            self.tick()?;
            if self.at_end() {
                return Err(Why::Unterminated);
            }
            if self.take(")") {
                return Ok(elements);
            }
            elements.push(self.word()?.ok_or(Why::Syntax)?);
        }
    }
}
