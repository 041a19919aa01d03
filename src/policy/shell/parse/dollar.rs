//! Everything that begins with `$`, and backticks.

use super::list::Closer;
use super::{Parse, Parser};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Action, Empty, Parameter, Part, Quote, Reach, Script, Word};

impl Parser<'_> {
    /// One expansion, standing on the `$`.
    pub(super) fn dollar(&mut self, word: &mut Word, quote: Quote) -> Parse<()> {
        match self.peek(1) {
            b'\'' if quote == Quote::Bare => self.ansi(word)?,
            b'"' if quote == Quote::Bare => self.at += 1,
            b'(' => self.parenthesis(word, quote)?,
            b'[' => {
                self.at += 2;
                let expression = self.arithmetic("]")?;
                word.parts.push(Part::Arithmetic(expression));
            }
            b'{' => self.brace(word, quote)?,
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.at += 1;
                let length = self.name();
                self.plain(word, quote, length);
            }
            byte if byte.is_ascii_digit() || is_special(byte) => {
                self.at += 1;
                self.plain(word, quote, 1);
            }
            _ => {
                word.text("$", quote);
                self.at += 1;
            }
        }
        Ok(())
    }

    /// `$name`, standing on the name.
    fn plain(&mut self, word: &mut Word, quote: Quote, length: usize) {
        let name = self.slice(self.at, self.at + length).to_owned();
        self.at += length;
        let (action, rest) = (Action::Value, Word::default());
        let parameter = Parameter { name, subscript: None, action, word: rest };
        word.parts.push(Part::Parameter(Box::new(parameter), quote));
    }

    fn parenthesis(&mut self, word: &mut Word, quote: Quote) -> Parse<()> {
        let start = self.at;
        if self.peek(2) == b'(' {
            self.at += 3;
            if let Some(expression) = self.arithmetic_or_not(start, "))")? {
                word.parts.push(Part::Arithmetic(expression));
                return Ok(());
            }
        }
        self.at += 2;
        let script = self.substitution()?;
        word.parts.push(Part::Command(script, quote));
        Ok(())
    }

    /// A list up to its `)`, here-documents of its own included.
    pub(super) fn substitution(&mut self) -> Parse<Script> {
        let outer = std::mem::take(&mut self.pending);
        let mut items = Vec::new();
        self.list(Closer::Paren, &mut items)?;
        if self.at_end() {
            return Err(Why::Unterminated);
        }
        self.bodies()?;
        self.expect_byte(b')')?;
        self.pending = outer;
        Ok(Script { items })
    }

    pub(super) fn backtick(&mut self, word: &mut Word, quote: Quote) -> Parse<()> {
        self.at += 1;
        let mut body = String::new();
        loop {
            let plain = self.rest().bytes().take_while(|b| !matches!(b, b'`' | b'\\')).count();
            body.push_str(self.slice(self.at, self.at + plain));
            self.at += plain;
            if self.at_end() {
                return Err(Why::Unterminated);
            }
            if self.peek(0) == b'`' {
                break;
            }
            let next = self.peek(1);
            let escaped =
                matches!(next, b'`' | b'\\' | b'$') || (next == b'"' && quote == Quote::Quoted);
            self.at += usize::from(escaped);
            body.push_str(self.slice(self.at, self.at + 1));
            self.at += 1;
        }
        self.at += 1;
        let mut items = Vec::new();
        self.enter()?;
        let mut inner = Parser::new(&body, self.depth, self.fuel);
        let fault = inner.whole(&mut items).err().or(inner.noted);
        self.noted = self.noted.or(fault);
        self.leave();
        word.parts.push(Part::Command(Script { items }, quote));
        Ok(())
    }

    /// `${…}`, standing on the `$`.
    fn brace(&mut self, word: &mut Word, quote: Quote) -> Parse<()> {
        self.at += 2;
        if matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'|') {
            self.take("|");
            let outer = std::mem::take(&mut self.pending);
            let script = self.block(Closer::Words(&["}"]))?;
            self.expect("}")?;
            self.pending = outer;
            word.parts.push(Part::Command(script, quote));
            return Ok(());
        }
        self.enter()?;
        let prefix = self.prefix();
        let length = match self.name() {
            0 if is_special(self.peek(0)) => 1,
            0 => self.rest().bytes().take_while(u8::is_ascii_digit).count(),
            length => length,
        };
        let name = self.slice(self.at, self.at + length).to_owned();
        self.at += length;
        let subscript = if self.peek(0) == b'[' && length > 0 {
            self.at += 1;
            Some(self.subscript()?)
        } else {
            None
        };
        let operator = self.operator();
        let keeps_quotes = matches!(
            operator,
            Action::Default(_) | Action::Assign(_) | Action::Require(_) | Action::Alternate(_)
        );
        let apostrophe = if keeps_quotes && quote == Quote::Quoted {
            Apostrophe::Character
        } else {
            Apostrophe::Quotes
        };
        let rest = self.operand(quote, apostrophe)?;
        let action = prefix.unwrap_or(operator);
        let parameter = Parameter { name, subscript, action, word: rest };
        word.parts.push(Part::Parameter(Box::new(parameter), quote));
        self.leave();
        Ok(())
    }

    /// `!` or `#` in front of a name.
    fn prefix(&mut self) -> Option<Action> {
        let next = self.peek(1);
        let named = next.is_ascii_alphanumeric() || next == b'_' || matches!(next, b'@' | b'*');
        match self.peek(0) {
            b'!' if named => {
                self.at += 1;
                Some(Action::Indirect)
            }
            b'#' if named || (is_special(next) && self.peek(2) == b'}') => {
                self.at += 1;
                Some(Action::Length)
            }
            _ => None,
        }
    }

    fn operator(&mut self) -> Action {
        let start = self.at;
        let empty = if self.peek(0) == b':' {
            self.at += 1;
            Empty::IsUnset
        } else {
            Empty::IsSet
        };
        let byte = self.peek(0);
        self.at += 1;
        match byte {
            b'-' => return Action::Default(empty),
            b'=' => return Action::Assign(empty),
            b'?' => return Action::Require(empty),
            b'+' => return Action::Alternate(empty),
            _ => self.at = start,
        }
        match self.peek(0) {
            b'}' => Action::Value,
            b':' => {
                self.at += 1;
                Action::Slice
            }
            b'#' => Action::CutFront(self.reach("#")),
            b'%' => Action::CutBack(self.reach("%")),
            b'/' => Action::Replace,
            _ => Action::Change,
        }
    }

    fn reach(&mut self, sign: &str) -> Reach {
        self.at += 1;
        if self.take(sign) { Reach::Longest } else { Reach::Shortest }
    }

    /// Text and expansions up to the `]` of a subscript.
    pub(super) fn subscript(&mut self) -> Parse<Word> {
        let mut word = Word::default();
        self.enter()?;
        loop {
            self.tick()?;
            match self.peek(0) {
                _ if self.at_end() => return Err(Why::Unterminated),
                b']' => break,
                b'"' | b'\'' | b'\\' | b'$' | b'`' => self.part(&mut word)?,
                b'[' => {
                    self.at += 1;
                    word.bare("[");
                    word.parts.extend(self.subscript()?.parts);
                    word.bare("]");
                }
                _ => {
                    let stops = |b: &u8| b"]['\"\\$`".contains(b);
                    let length = self.rest().bytes().take_while(|b| !stops(b)).count();
                    word.bare(self.slice(self.at, self.at + length));
                    self.at += length;
                }
            }
        }
        self.at += 1;
        self.leave();
        Ok(word)
    }

    /// An operator's word, up to the `}`.
    fn operand(&mut self, quote: Quote, apostrophe: Apostrophe) -> Parse<Word> {
        let mut word = Word::default();
        loop {
            self.tick()?;
            let next = self.peek(1);
            match self.peek(0) {
                _ if self.at_end() => return Err(Why::Unterminated),
                b'}' => {
                    self.at += 1;
                    return Ok(word);
                }
                b'\'' if apostrophe == Apostrophe::Character => {
                    word.quoted("'");
                    self.at += 1;
                }
                b'$' if next == b'\'' && apostrophe == Apostrophe::Character => {
                    word.quoted("$");
                    self.at += 1;
                }
                b'<' | b'>' if next == b'(' && quote == Quote::Bare => {
                    self.at += 2;
                    let script = self.substitution()?;
                    word.parts.push(Part::Command(script, quote));
                }
                b'\\' if quote == Quote::Quoted && !b"$`\"\\}\n/".contains(&next) => {
                    word.quoted("\\");
                    self.at += 1;
                }
                b'$' => self.dollar(&mut word, quote)?,
                b'`' => self.backtick(&mut word, quote)?,
                b'\'' | b'"' | b'\\' => self.part(&mut word)?,
                _ => {
                    let stops = |b: &u8| b"}'\"\\$`<>".contains(b);
                    let rest = self.rest().bytes();
                    let length = rest.take_while(|b| !stops(b)).count().max(1);
                    word.text(self.slice(self.at, self.at + length), quote);
                    self.at += length;
                }
            }
        }
    }

    /// Arithmetic up to `end`, or `None` (back at `start`) when the brackets only look like it.
    pub(super) fn arithmetic_or_not(&mut self, start: usize, end: &str) -> Parse<Option<Word>> {
        if !self.subshells.contains(&start) {
            let (depth, pending, noted) = (self.depth, self.pending.len(), self.noted);
            if let Ok(expression) = self.arithmetic(end) {
                return Ok(Some(expression));
            }
            if self.fuel.empty() {
                return Err(Why::TooDeep);
            }
            self.depth = depth;
            self.noted = noted;
            self.pending.truncate(pending);
            self.subshells.insert(start);
        }
        self.at = start;
        Ok(None)
    }

    /// Arithmetic text; only the expansions in it matter.
    pub(super) fn arithmetic(&mut self, end: &str) -> Parse<Word> {
        self.enter()?;
        let mut word = Word::default();
        let mut open = 0_usize;
        loop {
            self.tick()?;
            if self.at_end() {
                return Err(Why::Unterminated);
            }
            if open == 0 && self.take(end) {
                break;
            }
            match self.peek(0) {
                b'(' => open += 1,
                b')' => open = open.checked_sub(1).ok_or(Why::Syntax)?,
                b'"' | b'\'' | b'\\' | b'$' | b'`' => {
                    self.part(&mut word)?;
                    continue;
                }
                _ => {}
            }
            let plain = |b: &u8| !b"()]\"'\\$`".contains(b);
            let length = self.rest().bytes().take_while(plain).count().max(1);
            word.bare(self.slice(self.at, self.at + length));
            self.at += length;
        }
        self.leave();
        Ok(word)
    }
}

/// What `'` means in an operator's word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apostrophe {
    Quotes,
    Character,
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}
