//! The current directory: `cd`, `pushd`, `popd`. A `cd` to a folder that is there succeeds; any
//! other may fail, and then both places count.

use super::Walker;
use super::call::Call;
use super::chain::Failed;
use super::state::Value;
use crate::policy::shell::text::Text;
use crate::policy::shell::{Arg, Dir, Entry, Piece, path};

/// Longest path the system takes.
const PATH: usize = 4096;

/// How `..` is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// By name.
    Logical,
    /// As the disk has it (`-P`).
    Physical,
}

/// Names that are looked through for one that begins alike.
const SIBLINGS: usize = 4096;

impl Walker<'_> {
    /// `cd`.
    pub(super) fn cd(&mut self, call: &Call) -> Failed {
        let mut links = Links::Logical;
        let mut operand = None;
        let mut options = true;
        for arg in call.argv.iter().skip(1) {
            match arg.exact() {
                Some("--") if options => options = false,
                Some("-P") if options => links = Links::Physical,
                Some("-L" | "-e" | "-@" | "-q" | "-s") if options => {}
                _ => {
                    operand = Some(arg.clone());
                    break;
                }
            }
        }
        let Some(operand) = operand else {
            let home = self.home();
            return self.go(home);
        };
        if operand.exact() == Some("-") {
            let back = self.state.back.clone().unwrap_or(Dir::Unknown);
            return self.go(back);
        }
        match self.through_cdpath(&operand, call) {
            Some(Dir::Unknown) => {
                let failed = self.fork();
                self.state.back = Some(self.state.dir());
                self.state.dirs = vec![self.seen(&operand, links), Dir::Unknown];
                self.state.dirs.dedup();
                Some(Box::new(failed))
            }
            Some(dir) => self.go(dir),
            None => {
                let dir = self.seen(&operand, links);
                self.go(dir)
            }
        }
    }

    /// The directory that `CDPATH` makes of an operand; `None` when it has no say.
    fn through_cdpath(&self, operand: &Arg, call: &Call) -> Option<Dir> {
        let given = call.env.iter().rev().find(|(name, _)| name == "CDPATH");
        let value = match given {
            Some((_, arg)) => arg.exact().map(str::to_owned),
            None => match self.state.variables.get("CDPATH").map(|v| &v.value) {
                Some(Value::Scalar(text)) => text.exact().map(str::to_owned),
                Some(Value::Unset) | None => self.world.var("CDPATH").or(Some(String::new())),
                Some(Value::List(_) | Value::Unknown) => None,
            },
        };
        let Some(value) = value else { return Some(Dir::Unknown) };
        let name = operand.exact()?;
        if name.starts_with(['/', '.']) {
            return None;
        }
        for entry in value.split(':').filter(|entry| !entry.is_empty()) {
            let Some(base) = self.absolute(&Arg::text(entry)) else { continue };
            let dir = path::join(&base, name);
            if self.world.target(&dir) == Entry::Dir {
                return Some(Dir::At(path::logical(&dir)));
            }
        }
        None
    }

    /// The directory an operand names.
    fn seen(&self, operand: &Arg, links: Links) -> Dir {
        match (operand.exact(), self.state.dir()) {
            (Some(path), Dir::At(dir)) => Dir::At(place(&dir, path, links)),
            (Some(path), _) if path.starts_with('/') => Dir::At(place("/", path, links)),
            (Some(path), Dir::Fresh) if !path.starts_with("..") => Dir::Fresh,
            (None, _) if below_fresh(operand) || self.unused(operand) => Dir::Fresh,
            _ => Dir::Unknown,
        }
    }

    /// Whether a name whose end is made up on the way (`/tmp/out-$(date +%s)`) begins as nothing
    /// does that is there: then the folder is a new one.
    fn unused(&self, operand: &Arg) -> bool {
        let Some(start) = self.absolute(&Arg::text(operand.prefix())) else { return false };
        let Some((dir, stem)) = start.rsplit_once('/').filter(|(_, stem)| !stem.is_empty()) else {
            return false;
        };
        let names = self.world.list(if dir.is_empty() { "/" } else { dir }, SIBLINGS);
        names.is_some_and(|names| !names.iter().any(|name| name.starts_with(stem)))
    }

    /// The directory `env -C` and its like name.
    pub(in crate::policy::shell) fn directory(&self, operand: &Arg) -> Dir {
        self.seen(operand, Links::Physical)
    }

    fn home(&self) -> Dir {
        match self.variable("HOME") {
            Value::Scalar(text) => match text.exact() {
                Some(home) if home.starts_with('/') => Dir::At(home.to_owned()),
                _ => Dir::Unknown,
            },
            Value::List(_) | Value::Unset | Value::Unknown => Dir::Unknown,
        }
    }

    /// Changes the directory; returns the state of a failure.
    #[expect(clippy::unnecessary_wraps, reason = "the callers hand it on as it is")]
    fn go(&mut self, dir: Dir) -> Failed {
        self.afford(4); // The disk is asked.
        // No `cd` leads to a longer path: it fails, or links make it another.
        let endless = matches!(&dir, Dir::At(path) if path.len() > PATH);
        let dir = if endless { Dir::Unknown } else { dir };
        let mut failed = self.fork();
        let sure = match &dir {
            Dir::At(path) => self.made.contains(path) || self.world.target(path) == Entry::Dir,
            Dir::Fresh => true,
            Dir::Unknown => false,
        };
        // A failure that does not happen must not lead anywhere.
        failed.dead |= sure;
        self.state.back = Some(self.state.dir());
        self.state.dirs = vec![dir];
        Some(Box::new(failed))
    }

    /// `pushd`.
    pub(super) fn pushd(&mut self, call: &Call) -> Failed {
        let operand = call.argv.iter().skip(1).find(|arg| arg.exact() != Some("--")).cloned();
        let here = self.state.dir();
        let Some(operand) = operand else {
            let top = self.state.stack.pop().unwrap_or(Dir::Unknown);
            self.state.stack.push(here);
            return self.go(top);
        };
        let rotates = operand.exact().is_some_and(|text| text.starts_with(['+', '-']));
        let dir = if rotates { Dir::Unknown } else { self.seen(&operand, Links::Logical) };
        let failed = self.go(dir);
        self.state.stack.push(here);
        failed
    }

    /// `popd`.
    pub(super) fn popd(&mut self, call: &Call) -> Failed {
        if call.argv.len() > 1 {
            self.state.stack.clear();
            return self.go(Dir::Unknown);
        }
        match self.state.stack.pop() {
            Some(dir) => self.go(dir),
            None => None,
        }
    }

    /// Notes a directory that a program makes, so that a later `cd` into it is sure.
    pub(in crate::policy::shell) fn make(&mut self, arg: &Arg) {
        let Some(made) = self.absolute(arg) else { return };
        let mut dir = made.as_str();
        while dir != "/" && self.made.insert(dir.to_owned()) {
            dir = path::parent(dir);
        }
    }

    /// `$PWD` and `$OLDPWD`.
    pub(super) fn directory_text(dir: Option<&Dir>) -> Text {
        match dir {
            Some(Dir::At(path)) => Text::known(path),
            Some(Dir::Fresh) => Text::fresh(),
            Some(Dir::Unknown) | None => Text::any(),
        }
    }
}

fn place(dir: &str, path: &str, links: Links) -> String {
    let joined = path::join(dir, path);
    match links {
        Links::Logical => path::logical(&joined),
        Links::Physical => path::tidy(&joined),
    }
}

/// True for `$(mktemp -d)/sub`, as long as nothing leads out again.
fn below_fresh(arg: &Arg) -> bool {
    arg.fresh()
        && arg.pieces.iter().skip(1).all(|piece| match piece {
            Piece::Text(text) => !text.contains(".."),
            Piece::Any => false,
            Piece::Fresh => true,
        })
}
