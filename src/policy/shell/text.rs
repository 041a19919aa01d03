//! Text as far as it is known before the command runs: what variables, words and outputs hold
//! while a script is walked. Unknown parts survive a trip through bash text (`-c` bodies, `eval`)
//! as private characters, so that they can never be mistaken for known ones.

use super::{Arg, Piece};

/// Stands for [`Piece::Any`] inside a string.
pub const HOLE: char = '\u{10fffd}';
/// Stands for [`Piece::Fresh`] inside a string.
const FRESH: char = '\u{10fffc}';

/// Bytes that a text may grow to before it counts as unknown.
const LONGEST: usize = 4 * 1024 * 1024;

impl Piece {
    /// Bytes it holds.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Any | Self::Fresh => 1,
        }
    }
}

/// Known pieces and holes, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Text {
    /// Never two `Text` next to each other, never an empty one.
    pieces: Vec<Piece>,
    /// Bytes in all of them.
    bytes: usize,
}

impl Text {
    /// Text that is known; private characters in it become what they stand for.
    pub(super) fn known(text: &str) -> Self {
        let mut out = Self::default();
        out.push(text);
        out
    }

    /// Nothing is known.
    pub(super) fn any() -> Self {
        Self { pieces: vec![Piece::Any], bytes: 1 }
    }

    /// A fresh temporary path.
    pub(super) fn fresh() -> Self {
        Self { pieces: vec![Piece::Fresh], bytes: 1 }
    }

    /// Adds known text.
    pub(super) fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find([HOLE, FRESH]) {
            let (plain, hole) = rest.split_at(at);
            self.plain(plain);
            let mut chars = hole.chars();
            self.add(if chars.next() == Some(FRESH) { Piece::Fresh } else { Piece::Any });
            rest = chars.as_str();
        }
        self.plain(rest);
    }

    fn plain(&mut self, text: &str) {
        self.bytes += text.len();
        if text.is_empty() {
        } else if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    /// Adds a piece.
    pub(super) fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Text(text) => self.plain(&text),
            Piece::Any if self.pieces.last() == Some(&Piece::Any) => {}
            Piece::Any | Piece::Fresh => {
                self.bytes += 1;
                self.pieces.push(piece);
            }
        }
    }

    /// Adds another text.
    pub(super) fn append(&mut self, other: &Self) {
        if self.size() + other.size() > LONGEST {
            *self = Self::any();
            return;
        }
        for piece in &other.pieces {
            self.add(piece.clone());
        }
    }

    /// The pieces.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The whole text, when it is known.
    pub(super) fn exact(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// True when some of it is only known at run time.
    pub(super) fn has_holes(&self) -> bool {
        self.pieces.contains(&Piece::Any)
    }

    /// One string, with private characters for what is not known.
    pub(super) fn holed(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Any => out.push(HOLE),
                Piece::Fresh => out.push(FRESH),
            }
        }
        out
    }

    /// Bytes it holds, to notice growth.
    pub(super) fn size(&self) -> usize {
        self.bytes
    }

    /// Takes trailing newlines off, as a command substitution does.
    pub(super) fn trim_newlines(&mut self) {
        while let Some(Piece::Text(last)) = self.pieces.last_mut() {
            let length = last.trim_end_matches('\n').len();
            self.bytes -= last.len() - length;
            last.truncate(length);
            if !last.is_empty() {
                return;
            }
            self.pieces.pop();
        }
    }

    /// As an argument.
    pub(super) fn into_arg(self) -> Arg {
        Arg { pieces: self.pieces, glob: None }
    }

    /// What an argument holds.
    pub(super) fn of(arg: &Arg) -> Self {
        Self { pieces: arg.pieces.clone(), bytes: arg.pieces.iter().map(Piece::size).sum() }
    }
}

/// A text that came from outside: it can't hold a private character that vouches for freshness.
pub(super) fn outside(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(FRESH) {
        text.replace(FRESH, HOLE.encode_utf8(&mut [0; 4])).into()
    } else {
        text.into()
    }
}

/// An argument as people read it, `…` for what is not known.
pub(super) fn shown(arg: &Arg) -> String {
    let mut out = String::new();
    for piece in &arg.pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Any | Piece::Fresh => out.push('…'),
        }
    }
    out
}
