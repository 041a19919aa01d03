//! Here-documents: their delimiter, and their body once its line is reached. A missing end is no
//! fault: bash warns and takes the rest of the text.

use std::cell::OnceCell;
use std::rc::Rc;

use super::word::Until;
use super::{Parse, Parser, is_meta};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Operator, Word};

/// A here-document whose body is still to come.
pub(super) struct Pending {
    delimiter: String,
    literal: bool,
    strips_tabs: bool,
    body: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    /// The rest of `<<` or `<<-`: its delimiter.
    pub(super) fn heredoc(&mut self, strips_tabs: bool) -> Parse<Operator> {
        let (delimiter, literal) = self.delimiter()?;
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending { delimiter, literal, strips_tabs, body: Rc::clone(&body) });
        Ok(Operator::HereDocument(body))
    }

    /// The delimiter, and whether any of it was quoted.
    fn delimiter(&mut self) -> Parse<(String, bool)> {
        let mut word = Word::default();
        let start = self.at;
        let mut literal = false;
        while !self.at_end() && !is_meta(self.peek(0)) {
            match (self.peek(0), self.peek(1)) {
                (b'\\', b'\n') => self.at += 2,
                (b'$', b'\'' | b'"' | b'(' | b'{') | (b'`', _) => return Err(Why::Syntax),
                (b'$', _) => {
                    word.quoted("$");
                    self.at += 1;
                }
                (byte, _) => {
                    literal |= matches!(byte, b'\\' | b'\'' | b'"');
                    self.part(&mut word)?;
                }
            }
        }
        if self.at == start {
            return Err(self.missing());
        }
        Ok((literal_text(&word), literal))
    }

    /// Reads the bodies that begin here.
    pub(super) fn bodies(&mut self) -> Parse<()> {
        for pending in std::mem::take(&mut self.pending) {
            let text = self.lines(&pending)?;
            let mut word = Word::default();
            if pending.literal {
                word.quoted(&text);
            } else {
                self.enter()?;
                let mut inner = Parser::new(&text, self.depth, self.fuel);
                let fault = inner.double(&mut word, Until::End).err().or(inner.noted);
                self.noted = self.noted.or(fault);
                self.leave();
            }
            // The cell is fresh: nobody else reads this body.
            let _already = pending.body.set(word);
        }
        Ok(())
    }

    /// The lines up to the delimiter.
    fn lines(&mut self, pending: &Pending) -> Parse<String> {
        let mut body = String::new();
        while !self.at_end() {
            let start = body.len();
            loop {
                self.tick()?;
                let rest = self.rest();
                let length = rest.find('\n').unwrap_or(rest.len());
                let line = self.slice(self.at, self.at + length);
                let line = if pending.strips_tabs { line.trim_start_matches('\t') } else { line };
                self.at = (self.at + length + 1).min(self.text.len());
                let slashes = line.bytes().rev().take_while(|b| *b == b'\\').count();
                if pending.literal || slashes % 2 == 0 || self.at_end() {
                    body.push_str(line);
                    break;
                }
                body.push_str(line.get(..line.len() - 1).unwrap_or(line));
            }
            if body.get(start..) == Some(pending.delimiter.as_str()) {
                body.truncate(start);
                break;
            }
            body.push('\n');
        }
        Ok(body)
    }
}

fn literal_text(word: &Word) -> String {
    use crate::policy::shell::ast::Part;
    let mut text = String::new();
    for part in &word.parts {
        if let Part::Bare(t) | Part::Quoted(t) = part {
            text.push_str(t);
        }
    }
    text
}
