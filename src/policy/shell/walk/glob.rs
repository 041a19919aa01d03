//! Patterns against the disk: what `*.rs` becomes. Bounded; what is too much to look at stays
//! unknown from its first live character on.

use super::pattern::{Glyphs, Pattern};
use crate::policy::shell::path;
use crate::policy::shell::{Entry, World};

/// Names that are read from one directory.
const NAMES: usize = 4096;
/// Paths one pattern may become.
const PATHS: usize = 1024;
/// Directories that are looked into for one pattern.
const LISTS: usize = 512;

/// What a pattern became.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Globbed {
    /// These paths, sorted; none when nothing matches.
    Paths(Vec<String>),
    /// More than is looked at.
    TooMuch,
}

/// What a search of the disk may still cost, in names looked at.
#[derive(Debug)]
pub(super) struct Effort {
    /// Names seen so far.
    pub(super) seen: usize,
    /// Names that may be seen.
    pub(super) most: usize,
}

/// Expands a pattern as seen from `dir`.
pub(super) fn glob(glyphs: &Glyphs, dir: &str, world: &dyn World, effort: &mut Effort) -> Globbed {
    let mut search = Search { world, lists: LISTS, effort };
    let parts: Vec<Pattern> = glyphs.split(|(c, _)| *c == '/').map(Pattern::new).collect();
    let absolute = matches!(glyphs.first(), Some(('/', _)));
    let (start, parts) = if absolute {
        ("/".to_owned(), parts.get(1..).unwrap_or_default())
    } else {
        (String::new(), parts.as_slice())
    };
    let mut found = vec![start];
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        let mut next = Vec::new();
        for base in &found {
            if search.step(dir, base, part, last, &mut next).is_none() || next.len() > PATHS {
                return Globbed::TooMuch;
            }
        }
        found = next;
    }
    found.sort();
    Globbed::Paths(found)
}

struct Search<'w> {
    world: &'w dyn World,
    lists: usize,
    effort: &'w mut Effort,
}

impl Search<'_> {
    /// Pays for names that are looked at; `None` when that is too much.
    fn look(&mut self, names: usize) -> Option<()> {
        self.effort.seen = self.effort.seen.saturating_add(names);
        (self.effort.seen <= self.effort.most).then_some(())
    }

    /// What one component makes of one path; `None` when that is too much.
    fn step(
        &mut self,
        dir: &str,
        base: &str,
        part: &Pattern,
        last: bool,
        next: &mut Vec<String>,
    ) -> Option<()> {
        self.look(1)?;
        if !part.is_wild() {
            let path = format!("{base}{}", part.literal());
            let full = path::join(dir, &path);
            if !last {
                next.push(format!("{path}/"));
            } else if self.world.entry(&full) != Entry::Missing {
                next.push(path);
            }
            return Some(());
        }
        // Without globstar `**` is `*`; with it (and in zsh) it also goes down. Both are taken.
        let deep = part.is_everything() && !last;
        if deep {
            next.push(base.to_owned());
        }
        let mut bases = vec![base.to_owned()];
        while let Some(base) = bases.pop() {
            self.lists = self.lists.checked_sub(1)?;
            let here = path::join(dir, &base);
            if self.world.target(&here) != Entry::Dir {
                continue;
            }
            let names = self.world.list(&here, NAMES)?;
            self.look(names.len())?;
            for name in names {
                if name.starts_with('.') && !part.names_dot() || !part.matches(&name) {
                    continue;
                }
                let path = format!("{base}{name}");
                if last {
                    next.push(path);
                } else if self.world.target(&path::join(dir, &path)) == Entry::Dir {
                    next.push(format!("{path}/"));
                    if deep && self.world.entry(&path::join(dir, &path)) == Entry::Dir {
                        bases.push(format!("{path}/"));
                    }
                }
                if next.len() > PATHS {
                    return None;
                }
            }
        }
        Some(())
    }
}
