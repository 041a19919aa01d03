//! Redirections, in every spelling.

use super::{Parse, Parser};
use crate::policy::shell::ast::{Operator, Redirection, Word};

/// What stands behind an operator's sign.
enum Kind {
    To(Operator),
    Heredoc { strips_tabs: bool },
}

impl Parser<'_> {
    /// One redirection; `None` when none stands here.
    pub(super) fn redirection(&mut self) -> Parse<Option<Redirection>> {
        let start = self.at;
        let fd = self.descriptor();
        let bare = self.at == start;
        let Some(kind) = self.sign(bare) else {
            self.at = start;
            return Ok(None);
        };
        self.spaces();
        let (operator, target) = match kind {
            Kind::Heredoc { strips_tabs } => (self.heredoc(strips_tabs)?, Word::default()),
            Kind::To(operator) => {
                let target = self.word()?.ok_or_else(|| self.missing())?;
                (operator, target)
            }
        };
        Ok(Some(Redirection { operator, fd, target }))
    }

    /// Steps over a number or `{name}`.
    fn descriptor(&mut self) -> Option<u32> {
        if self.peek(0) == b'{' {
            self.at += 1;
            let length = self.name();
            let named = length > 0
                && self.peek(length) == b'}'
                && matches!(self.peek(length + 1), b'<' | b'>');
            // Back on the brace: a `{` that opens no `{name}>` belongs to a word.
            self.at = if named { self.at + length + 1 } else { self.at - 1 };
            return None;
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.slice(self.at, self.at + digits).parse().ok();
        self.at += digits;
        number
    }

    /// Steps over the operator's sign.
    fn sign(&mut self, bare: bool) -> Option<Kind> {
        let sign = (self.peek(0), self.peek(1), self.peek(2));
        let (length, kind) = match sign {
            (b'&', b'>', b'>') if bare => (3, Kind::To(Operator::BothAppend)),
            (b'&', b'>', _) if bare => (2, Kind::To(Operator::Both)),
            (b'<', b'<', b'<') => (3, Kind::To(Operator::HereString)),
            (b'<', b'<', b'-') => (3, Kind::Heredoc { strips_tabs: true }),
            (b'<', b'<', _) => (2, Kind::Heredoc { strips_tabs: false }),
            (b'<', b'>', _) => (2, Kind::To(Operator::ReadWrite)),
            (b'<', b'&', _) => (2, Kind::To(Operator::DuplicateIn)),
            (b'>', b'>', _) => (2, Kind::To(Operator::Append)),
            (b'>', b'&', _) => (2, Kind::To(Operator::DuplicateOut)),
            (b'>', b'|', _) => (2, Kind::To(Operator::Write)),
            (b'<' | b'>', b'(', _) => return None,
            (b'<', _, _) => (1, Kind::To(Operator::Read)),
            (b'>', _, _) => (1, Kind::To(Operator::Write)),
            _ => return None,
        };
        self.at += length;
        Some(kind)
    }
}
