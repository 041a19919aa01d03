//! Words: quoting, and the runs of text between expansions.

use super::{Parse, Parser, ansi, ends_word, is_meta};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Flow, Part, Quote, Word};

/// Where double-quoted text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At the closing `"`.
    Quote,
    /// At the end of the text: a here-document's body, where `"` is a character.
    End,
}

impl Parser<'_> {
    /// One word; `None` when none stands here.
    pub(super) fn word(&mut self) -> Parse<Option<Word>> {
        let start = self.at;
        let mut word = Word::default();
        while !self.at_end() {
            self.tick()?;
            match self.peek(0) {
                byte @ (b'<' | b'>') if self.peek(1) == b'(' => self.process(byte, &mut word)?,
                byte if is_meta(byte) => break,
                _ => self.part(&mut word)?,
            }
        }
        // A lone continuation is no word.
        let empty = word.parts.is_empty();
        Ok(if self.at == start || empty { None } else { Some(word) })
    }

    fn process(&mut self, opener: u8, word: &mut Word) -> Parse<()> {
        let flow = if opener == b'<' { Flow::Out } else { Flow::In };
        self.at += 2;
        let script = self.substitution()?;
        word.parts.push(Part::Process(script, flow));
        Ok(())
    }

    /// One piece of a word that is no metacharacter.
    pub(super) fn part(&mut self, word: &mut Word) -> Parse<()> {
        self.tick()?;
        match self.peek(0) {
            b'\\' => self.escape(word),
            b'\'' => {
                self.at += 1;
                let length = self.rest().find('\'').ok_or(Why::Unterminated)?;
                word.quoted(self.slice(self.at, self.at + length));
                self.at += length + 1;
            }
            b'"' => {
                self.at += 1;
                self.double(word, Until::Quote)?;
            }
            b'$' => self.dollar(word, Quote::Bare)?,
            b'`' => self.backtick(word, Quote::Bare)?,
            b'?' | b'*' | b'+' | b'@' | b'!' if self.peek(1) == b'(' => self.extended(word)?,
            _ => self.run(word),
        }
        Ok(())
    }

    fn escape(&mut self, word: &mut Word) {
        let mut rest = self.rest().chars();
        rest.next();
        match rest.next() {
            Some('\n') => {}
            Some(c) => word.quoted(c.encode_utf8(&mut [0; 4])),
            None => word.quoted("\\"),
        }
        self.at = self.text.len() - rest.as_str().len();
    }

    /// Plain text, up to what ends it or opens an extended pattern.
    fn run(&mut self, word: &mut Word) {
        let bytes = self.rest().as_bytes();
        let plain =
            bytes.iter().zip(bytes.iter().skip(1).chain([&0])).take_while(|(byte, next)| {
                let opener = **next == b'(' && matches!(byte, b'?' | b'*' | b'+' | b'@' | b'!');
                !ends_word(**byte) && !opener
            });
        let length = plain.count();
        word.bare(self.slice(self.at, self.at + length));
        self.at += length;
    }

    /// `@(…)` and its like: kept as the text of a pattern.
    fn extended(&mut self, word: &mut Word) -> Parse<()> {
        self.enter()?;
        word.bare(self.slice(self.at, self.at + 2));
        self.at += 2;
        loop {
            self.tick()?;
            match self.peek(0) {
                _ if self.at_end() => return Err(Why::Unterminated),
                b')' => {
                    word.bare(")");
                    self.at += 1;
                    break;
                }
                b'\n' | b';' => return Err(Why::Syntax),
                byte if is_meta(byte) => {
                    word.bare(self.slice(self.at, self.at + 1));
                    self.at += 1;
                }
                _ => self.part(word)?,
            }
        }
        self.leave();
        Ok(())
    }

    /// Double-quoted text, the opening quote already taken.
    pub(super) fn double(&mut self, word: &mut Word, until: Until) -> Parse<()> {
        word.quoted("");
        loop {
            self.tick()?;
            let special = |b: &u8| matches!(b, b'"' | b'\\' | b'$' | b'`');
            let length = self.rest().bytes().take_while(|b| !special(b)).count();
            word.quoted(self.slice(self.at, self.at + length));
            self.at += length;
            if self.at_end() {
                return if until == Until::End { Ok(()) } else { Err(Why::Unterminated) };
            }
            match (self.peek(0), self.peek(1)) {
                (b'"', _) if until == Until::Quote => {
                    self.at += 1;
                    return Ok(());
                }
                (b'\\', b'\n') => self.at += 2,
                (b'\\', b'$' | b'`' | b'\\') => {
                    word.quoted(self.slice(self.at + 1, self.at + 2));
                    self.at += 2;
                }
                (b'\\', b'"') if until == Until::Quote => {
                    word.quoted("\"");
                    self.at += 2;
                }
                (b'$', _) => self.dollar(word, Quote::Quoted)?,
                (b'`', _) => self.backtick(word, Quote::Quoted)?,
                _ => {
                    word.quoted(self.slice(self.at, self.at + 1));
                    self.at += 1;
                }
            }
        }
    }

    /// `$'…'`, standing on the `$`.
    pub(super) fn ansi(&mut self, word: &mut Word) -> Parse<()> {
        self.at += 2;
        let start = self.at;
        loop {
            match self.peek(0) {
                _ if self.at_end() => return Err(Why::Unterminated),
                b'\'' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        word.quoted(&ansi::decode(self.slice(start, self.at)));
        self.at += 1;
        Ok(())
    }

    /// The right side of `=~`: a word in which brackets and bars are characters.
    pub(super) fn regex(&mut self) -> Parse<Word> {
        let mut word = Word::default();
        let mut open = 0_usize;
        let start = self.at;
        while !self.at_end() {
            self.tick()?;
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'&' | b';' | b')' if open == 0 => break,
                b'|' if open == 0 && self.peek(1) == b'|' => break,
                byte if is_meta(byte) => {
                    match byte {
                        b'(' => open += 1,
                        b')' => open -= 1,
                        _ => {}
                    }
                    word.bare(self.slice(self.at, self.at + 1));
                    self.at += 1;
                }
                _ => self.part(&mut word)?,
            }
        }
        if self.at == start { Err(self.missing()) } else { Ok(word) }
    }
}
