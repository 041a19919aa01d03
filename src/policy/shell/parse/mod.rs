//! bash text to [`Script`], in one pass. Total on any text: linear through its fuel, and never
//! deeper than [`DEPTH`], so no input can overflow the stack. A fault keeps what was read before
//! it, because bash runs line one of a text before it refuses line two.

mod ansi;
mod compound;
#[cfg(test)]
mod corpus;
mod dollar;
mod heredoc;
mod list;
mod redirect;
mod simple;
mod word;

use std::collections::BTreeSet;

pub(super) use ansi::decode;

use super::ast::Script;
use super::fuel::Fuel;
use crate::policy::facts::Why;
use heredoc::Pending;

/// Nesting that is followed; people stay under ten.
const DEPTH: u16 = 48;

/// A parsing step, or what was in the way.
type Parse<T> = Result<T, Why>;

/// What was read of a text.
#[derive(Debug)]
pub(super) struct Parsed {
    /// Everything before the fault.
    pub(super) script: Script,
    /// What ended the reading early.
    pub(super) fault: Option<Why>,
}

/// Reads a text as bash would.
pub(super) fn parse(text: &str, fuel: &mut Fuel) -> Parsed {
    let mut items = Vec::new();
    let mut parser = Parser::new(text, 0, fuel);
    let fault = parser.whole(&mut items).err().or(parser.noted);
    let fault = fault.or_else(|| text.contains('\0').then_some(Why::Syntax));
    Parsed { script: Script { items }, fault }
}

/// The place in the text.
struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: u16,
    fuel: &'t mut Fuel,
    pending: Vec<Pending>,
    /// Starts of `((` that turned out to be nested subshells.
    subshells: BTreeSet<usize>,
    /// A fault bash meets only when it runs the part: reading goes on behind it.
    noted: Option<Why>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, depth: u16, fuel: &'t mut Fuel) -> Self {
        let (pending, subshells) = (Vec::new(), BTreeSet::new());
        Self { text, at: 0, depth, fuel, pending, subshells, noted: None }
    }

    /// The byte so far ahead; 0 behind the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or("")
    }

    /// Steps over `token` when it stands here.
    fn take(&mut self, token: &str) -> bool {
        let here = self.rest().starts_with(token);
        if here {
            self.at += token.len();
        }
        here
    }

    fn tick(&mut self) -> Parse<()> {
        if self.fuel.spend(1) { Ok(()) } else { Err(Why::TooLong) }
    }

    fn enter(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > DEPTH { Err(Why::TooDeep) } else { self.tick() }
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Skips blanks and line continuations.
    fn spaces(&mut self) {
        while matches!(self.peek(0), b' ' | b'\t') || self.rest().starts_with("\\\n") {
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
    }

    /// Skips blanks, continuations and a comment.
    fn blanks(&mut self) {
        self.spaces();
        if self.peek(0) == b'#' {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips to the next token that is no newline; bodies of here-documents are read on the way.
    fn newlines(&mut self) -> Parse<()> {
        loop {
            self.blanks();
            if self.peek(0) != b'\n' {
                return Ok(());
            }
            self.tick()?;
            self.at += 1;
            self.bodies()?;
        }
    }

    /// The unquoted word here, when it is short enough to be a reserved one.
    fn keyword(&self) -> &'t str {
        let bytes = self.rest().as_bytes();
        let length = bytes.iter().take(10).take_while(|b| !ends_word(**b)).count();
        match bytes.get(length) {
            Some(byte) if !is_meta(*byte) => "",
            _ => self.slice(self.at, self.at + length),
        }
    }

    /// Steps over a reserved word that must stand here.
    fn expect(&mut self, word: &str) -> Parse<()> {
        self.newlines()?;
        if self.keyword() == word {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.missing())
        }
    }

    /// Steps over a byte that must stand here.
    fn expect_byte(&mut self, byte: u8) -> Parse<()> {
        if self.at_end() || self.peek(0) != byte {
            return Err(self.missing());
        }
        self.at += 1;
        Ok(())
    }

    /// What it means that something else stands here.
    fn missing(&self) -> Why {
        if self.at_end() { Why::Unterminated } else { Why::Syntax }
    }

    /// The length of a variable's name here.
    fn name(&self) -> usize {
        let rest = self.rest().as_bytes();
        if rest.first().is_some_and(u8::is_ascii_digit) {
            return 0;
        }
        rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
    }
}

/// True for bytes that end a word unless quoted.
fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// True for bytes that end a plain run: metacharacters, and whatever quotes or expands.
fn ends_word(byte: u8) -> bool {
    is_meta(byte) || matches!(byte, b'"' | b'\'' | b'\\' | b'$' | b'`')
}
