//! Fields: words while they are split and before they are globbed.

use super::glob::{Effort, Globbed, glob};
use super::pattern::{Glyphs, Pattern};
use crate::policy::shell::text::Text;
use crate::policy::shell::{Arg, Piece, World};

/// A run of a field.
#[derive(Debug, Clone)]
enum Segment {
    /// Stands for itself.
    Fixed(Piece),
    /// Pattern characters in it are alive.
    Live(String),
}

/// The fields a word becomes.
#[derive(Debug, Default)]
pub(super) struct Fields {
    done: Vec<Vec<Segment>>,
    open: Option<Vec<Segment>>,
    /// A `"$@"` without any argument was in the word.
    nobody: bool,
}

impl Fields {
    /// Quoted text: makes a field even when it is empty.
    pub(super) fn fixed(&mut self, text: &Text) {
        let open = self.open.get_or_insert_default();
        open.extend(text.pieces().iter().cloned().map(Segment::Fixed));
    }

    /// Unquoted text as written.
    pub(super) fn live(&mut self, text: &str) {
        let open = self.open.get_or_insert_default();
        for piece in Text::known(text).pieces() {
            open.push(match piece {
                Piece::Text(text) => Segment::Live(text.clone()),
                Piece::Any | Piece::Fresh => Segment::Fixed(piece.clone()),
            });
        }
    }

    /// An unquoted expansion: split where `separators` say.
    pub(super) fn split(&mut self, text: &Text, separators: &str) {
        for piece in text.pieces() {
            let Piece::Text(text) = piece else {
                self.open.get_or_insert_default().push(Segment::Fixed(piece.clone()));
                continue;
            };
            for (index, part) in text.split(|c| separators.contains(c)).enumerate() {
                if index > 0 {
                    self.end();
                }
                if !part.is_empty() {
                    self.live(part);
                }
            }
        }
    }

    /// `"$@"` without any argument: takes the quotes around it away.
    pub(super) fn nobody(&mut self) {
        self.nobody = true;
    }

    /// Ends the field that is open.
    pub(super) fn end(&mut self) {
        if self.nobody && self.open.as_ref().is_some_and(Vec::is_empty) {
            self.open = None;
        }
        self.done.extend(self.open.take());
    }

    /// The arguments, patterns expanded against the disk.
    pub(super) fn globbed(
        mut self,
        dir: Option<&str>,
        world: &dyn World,
        effort: &mut Effort,
        args: &mut Vec<Arg>,
    ) {
        self.end();
        for field in self.done {
            if field.iter().any(|segment| matches!(segment, Segment::Live(t) if may_glob(t))) {
                expand(&field, dir, world, effort, args);
            } else {
                args.push(literal(&field).into_arg());
            }
        }
    }
}

/// A quick look for pattern characters.
fn may_glob(text: &str) -> bool {
    text.contains(['*', '?', '[']) || text.contains('(')
}

fn literal(field: &[Segment]) -> Text {
    let mut text = Text::default();
    for segment in field {
        match segment {
            Segment::Fixed(piece) => text.add(piece.clone()),
            Segment::Live(live) => text.push(live),
        }
    }
    text
}

fn expand(
    field: &[Segment],
    dir: Option<&str>,
    world: &dyn World,
    effort: &mut Effort,
    args: &mut Vec<Arg>,
) {
    let mut glyphs = Glyphs::new();
    let mut known = true;
    for segment in field {
        match segment {
            Segment::Fixed(Piece::Text(text)) => glyphs.extend(text.chars().map(|c| (c, false))),
            Segment::Live(text) => glyphs.extend(text.chars().map(|c| (c, true))),
            Segment::Fixed(Piece::Any | Piece::Fresh) => known = false,
        }
    }
    let plain = literal(field);
    if known && !Pattern::new(&glyphs).is_wild() {
        args.push(plain.into_arg());
        return;
    }
    let pattern = Some(plain.holed());
    let absolute = matches!(glyphs.first(), Some(('/', _)));
    let dir = if absolute { Some("/") } else { dir };
    let globbed = match dir {
        Some(dir) if known => glob(&glyphs, dir, world, effort),
        _ => Globbed::TooMuch,
    };
    match globbed {
        Globbed::Paths(paths) if paths.is_empty() => {
            args.push(Arg { glob: pattern, ..plain.into_arg() });
        }
        Globbed::Paths(paths) => args.extend(paths.into_iter().map(Arg::text)),
        Globbed::TooMuch => args.push(Arg { glob: pattern, ..open_end(field).into_arg() }),
    }
}

/// The field with everything unknown where its patterns are.
fn open_end(field: &[Segment]) -> Text {
    let mut text = Text::default();
    for segment in field {
        match segment {
            Segment::Fixed(piece) => text.add(piece.clone()),
            Segment::Live(live) => match live.find(['*', '?', '[', '(']) {
                None => text.push(live),
                Some(at) => {
                    let opener = live.get(..at).unwrap_or("").trim_end_matches(['+', '@', '!']);
                    text.push(opener);
                    text.add(Piece::Any);
                    // What follows the last pattern is known again, brackets aside.
                    let tail = live.rsplit(['*', '?', ']', ')']).next().unwrap_or("");
                    if at + tail.len() < live.len() {
                        text.push(tail);
                    }
                }
            },
        }
    }
    text
}
