//! Lists and pipelines: everything between commands.

use super::{Parse, Parser};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Command, Ends, Item, Join, Link, Script};

/// What ends a list from outside.
#[derive(Clone, Copy)]
pub(super) enum Closer {
    /// Only the end of the text.
    End,
    /// `)`.
    Paren,
    /// One of these reserved words.
    Words(&'static [&'static str]),
    /// `;;`, `;&`, `;;&` or `esac`.
    Arm,
}

impl Parser<'_> {
    /// The whole text.
    pub(super) fn whole(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        self.list(Closer::End, items)?;
        self.bodies()?;
        if self.at_end() { Ok(()) } else { Err(Why::Syntax) }
    }

    /// A list that must hold a command, up to its closer (which is left standing).
    pub(super) fn block(&mut self, closer: Closer) -> Parse<Script> {
        let mut items = Vec::new();
        self.list(closer, &mut items)?;
        if items.is_empty() { Err(self.missing()) } else { Ok(Script { items }) }
    }

    /// A list that may be empty.
    pub(super) fn list(&mut self, closer: Closer, items: &mut Vec<Item>) -> Parse<()> {
        self.enter()?;
        loop {
            self.newlines()?;
            self.tick()?;
            if self.at_end() || self.closes(closer) {
                break;
            }
            let chain = self.chain()?;
            self.blanks();
            let ends = self.separator(closer)?;
            items.push(Item { chain, ends });
        }
        self.leave();
        Ok(())
    }

    fn closes(&self, closer: Closer) -> bool {
        match closer {
            Closer::End => false,
            Closer::Paren => self.peek(0) == b')',
            Closer::Words(words) => words.contains(&self.keyword()),
            Closer::Arm => {
                self.keyword() == "esac"
                    || (self.peek(0) == b';' && matches!(self.peek(1), b';' | b'&'))
            }
        }
    }

    fn separator(&mut self, closer: Closer) -> Parse<Ends> {
        let next = self.peek(1);
        match self.peek(0) {
            b';' if !matches!(next, b';' | b'&') => {
                self.at += 1;
                Ok(Ends::Foreground)
            }
            b'&' if next != b'&' => {
                self.at += 1;
                Ok(Ends::Background)
            }
            b'\n' => Ok(Ends::Foreground),
            _ if self.at_end() || self.closes(closer) => Ok(Ends::Foreground),
            _ => Err(Why::Syntax),
        }
    }

    fn chain(&mut self) -> Parse<Vec<Link>> {
        let mut links = Vec::new();
        let mut join = Join::First;
        loop {
            links.push(self.pipeline(join)?);
            self.blanks();
            join = if self.take("&&") {
                Join::And
            } else if self.take("||") {
                Join::Or
            } else {
                return Ok(links);
            };
            self.newlines()?;
            if self.at_end() {
                return Err(Why::Unterminated);
            }
        }
    }

    fn pipeline(&mut self, join: Join) -> Parse<Link> {
        let negated = self.prefixes()?;
        let mut stages: Vec<Command> = Vec::new();
        if negated.is_some() && self.nothing_here() {
            return Ok(Link { join, stages, negated: negated == Some(Prefix::Not) });
        }
        loop {
            stages.push(self.command()?);
            self.blanks();
            if self.peek(0) != b'|' || self.peek(1) == b'|' {
                break;
            }
            self.at += if self.peek(1) == b'&' { 2 } else { 1 };
            self.newlines()?;
        }
        Ok(Link { join, stages, negated: negated == Some(Prefix::Not) })
    }

    fn nothing_here(&self) -> bool {
        self.at_end() || matches!(self.peek(0), b'\n' | b';' | b'&' | b'|' | b')')
    }

    /// `!` and `time [-p]`, in any number.
    fn prefixes(&mut self) -> Parse<Option<Prefix>> {
        let mut seen = None;
        loop {
            self.blanks();
            self.tick()?;
            match self.keyword() {
                "!" => {
                    self.at += 1;
                    seen = Some(Prefix::Not);
                }
                "time" => {
                    self.at += 4;
                    self.blanks();
                    if self.keyword() == "-p" {
                        self.at += 2;
                        self.blanks();
                    }
                    if self.keyword() == "--" {
                        self.at += 2;
                    }
                    seen = seen.or(Some(Prefix::Time));
                }
                _ => return Ok(seen),
            }
        }
    }
}

/// What may stand in front of a pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Not,
    Time,
}
