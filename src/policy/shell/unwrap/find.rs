//! `find`: which paths its expression reaches, and what `-exec` runs on them. Tests that can't be
//! evaluated count as passed; a tree too big to walk becomes "anything below the start".

use super::expression::{Case, Expr, Found, Truth};
use super::instead;
use super::xargs::put;
use crate::policy::shell::text::Text;
use crate::policy::shell::walk::{Call, Holes, Pattern, Via, Walker};
use crate::policy::shell::{Arg, Dir, Entry, Piece, World, path};

/// Paths that are looked at.
const PATHS: usize = 3000;
/// Files for which a command is told apart.
const RUNS: usize = 64;

/// A command of `-exec` and its like.
struct Command<'a> {
    words: &'a [Arg],
    beside_file: bool,
    all_at_once: bool,
}

/// Which links are taken for what they lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// None.
    Kept,
    /// The starting points (`-H`).
    AtTheTop,
    /// All (`-L`).
    Followed,
}

/// What `find` was told.
struct Order<'a> {
    starts: Vec<Arg>,
    expr: Expr,
    commands: Vec<Command<'a>>,
    least: usize,
    most: usize,
    links: Links,
    /// `\0` for `-print0`; `None` when it prints what is not worked out.
    ends: Option<char>,
    acts: bool,
}

/// `find` as a program.
pub(super) fn find(walker: &mut Walker<'_>, call: &Call) {
    walker.emit(call);
    let order = Order::read(call.argv.get(1..).unwrap_or_default());
    if order.commands.is_empty() {
        return;
    }
    let files = order.files(walker);
    for (number, command) in order.commands.iter().enumerate() {
        match &files {
            Some(files) => {
                let mut reached = Vec::new();
                for file in files.iter().filter(|file| order.reaches(file, number)) {
                    reached.push(Arg::text(file.path.as_str()));
                }
                run(walker, call, command, &reached, &order.starts);
            }
            None => run(walker, call, command, &order.below(), &order.starts),
        }
    }
}

/// What `find` prints.
pub(in crate::policy::shell) fn found(walker: &Walker<'_>, call: &Call) -> Option<Text> {
    let order = Order::read(call.argv.get(1..).unwrap_or_default());
    let ends = order.ends?;
    let mut text = Text::default();
    let mut end = |arg: &Arg| {
        text.append(&Text::of(arg));
        text.push(ends.encode_utf8(&mut [0; 4]));
    };
    match order.files(walker) {
        Some(files) => {
            for file in &files {
                let mut printed = false;
                let truth = order.expr.holds(file, &mut |reached| printed |= reached.is_none());
                if printed || (!order.acts && truth != Truth::No) {
                    end(&Arg::text(file.path.as_str()));
                }
            }
        }
        None => order.below().iter().for_each(end),
    }
    Some(text)
}

fn run(walker: &mut Walker<'_>, call: &Call, command: &Command<'_>, files: &[Arg], starts: &[Arg]) {
    let base = Call { holes: Holes::Names, ..instead(call, command.words) };
    if command.all_at_once && !command.beside_file {
        if files.is_empty() {
            return;
        }
        let mark = |arg: &Arg| arg.exact() == Some("{}");
        let argv = command
            .words
            .iter()
            .flat_map(|arg| if mark(arg) { files.to_vec() } else { vec![arg.clone()] });
        drop(walker.dispatch(Call { argv: argv.collect(), ..base }, Via::Program));
        return;
    }
    let some: Vec<Arg> = if files.len() > RUNS {
        starts.iter().map(anything_below).collect()
    } else {
        files.to_vec()
    };
    for file in some {
        let (dir, operand) = match file.exact() {
            Some(text) if command.beside_file => {
                let dir = walker.directory(&Arg::text(path::parent(text)));
                (dir, Arg::text(format!("./{}", path::base(text))))
            }
            None if command.beside_file => (Dir::Unknown, Text::any().into_arg()),
            _ => (walker.state_dir(), file.clone()),
        };
        let argv = command.words.iter().map(|arg| put(arg, "{}", &operand)).collect();
        let inner = Call { argv, ..base.clone() };
        walker.inside(dir, |walker| drop(walker.dispatch(inner, Via::Program)));
    }
}

fn anything_below(start: &Arg) -> Arg {
    let mut text = Text::of(start);
    text.add(Piece::Any);
    text.into_arg()
}

impl<'a> Order<'a> {
    fn read(args: &'a [Arg]) -> Self {
        let begins = |arg: &Arg| matches!(arg.prefix().chars().next(), Some('-' | '(' | '!'));
        let options = args.iter().take_while(|arg| {
            arg.exact().is_some_and(|a| matches!(a, "-H" | "-L" | "-P") || a.starts_with("-O"))
        });
        let (leads, args) = args.split_at(options.count());
        let links = leads.iter().fold(Links::Kept, |links, arg| match arg.exact() {
            Some("-L") => Links::Followed,
            Some("-H") => Links::AtTheTop,
            Some("-P") => Links::Kept,
            _ => links,
        });
        let follows = args.iter().any(|arg| arg.exact() == Some("-follow"));
        let links = if follows { Links::Followed } else { links };
        let first = args.iter().position(begins).unwrap_or(args.len());
        let (starts, expression) = args.split_at(first.min(args.len()));
        let mut starts = starts.to_vec();
        if starts.is_empty() {
            starts.push(Arg::text("."));
        }
        let mut order = Self {
            starts,
            expr: Expr::And(Vec::new()),
            commands: Vec::new(),
            least: 0,
            most: usize::MAX,
            links,
            ends: Some('\n'),
            acts: false,
        };
        let mut rest = expression;
        order.expr = order.either(&mut rest, 0);
        order
    }

    fn either(&mut self, rest: &mut &'a [Arg], depth: usize) -> Expr {
        let mut choices = Vec::new();
        let mut all = Vec::new();
        while let [first, tail @ ..] = *rest {
            match first.exact() {
                Some(")") => break,
                Some("-o" | "-or" | ",") => {
                    *rest = tail;
                    choices.push(Expr::And(std::mem::take(&mut all)));
                }
                Some("-a" | "-and") => *rest = tail,
                _ => all.push(self.factor(rest, depth)),
            }
        }
        choices.push(Expr::And(all));
        Expr::Or(choices)
    }

    fn factor(&mut self, rest: &mut &'a [Arg], depth: usize) -> Expr {
        let Some((first, tail)) = rest.split_first() else { return Expr::Other(Truth::Maybe) };
        *rest = tail;
        match first.exact() {
            Some("!" | "-not") if depth < 16 => Expr::Not(Box::new(self.factor(rest, depth + 1))),
            Some("(") if depth < 16 => {
                let inner = self.either(rest, depth + 1);
                *rest = rest.get(1..).unwrap_or_default();
                inner
            }
            Some(word) => self.primary(word, rest),
            None => Expr::Other(Truth::Maybe),
        }
    }

    fn primary(&mut self, word: &str, rest: &mut &'a [Arg]) -> Expr {
        match word {
            "-exec" | "-execdir" | "-ok" | "-okdir" => self.command(word, rest),
            "-print" | "-print0" => {
                self.acts = true;
                self.ends = Some(if word == "-print" { '\n' } else { '\0' });
                Expr::Print
            }
            "-delete" | "-ls" | "-quit" => {
                self.acts = true;
                Expr::Other(Truth::Yes)
            }
            "-fprint" | "-fprint0" | "-fls" | "-printf" => {
                self.acts = true;
                self.ends = self.ends.filter(|_| word != "-printf");
                *rest = rest.get(1..).unwrap_or_default();
                Expr::Other(Truth::Yes)
            }
            "-fprintf" => {
                *rest = rest.get(2..).unwrap_or_default();
                Expr::Other(Truth::Yes)
            }
            "-prune"
            | "-depth"
            | "-d"
            | "-mount"
            | "-xdev"
            | "-true"
            | "-follow"
            | "-daystart"
            | "-noleaf"
            | "-ignore_readdir_race" => Expr::Other(Truth::Yes),
            "-false" => Expr::Other(Truth::No),
            "-empty" | "-executable" | "-readable" | "-writable" | "-nouser" | "-nogroup" => {
                Expr::Other(Truth::Maybe)
            }
            _ => {
                let value = rest.first();
                *rest = rest.get(1..).unwrap_or_default();
                value.and_then(|value| self.test(word, value)).unwrap_or(Expr::Other(Truth::Maybe))
            }
        }
    }

    /// A test with a value.
    fn test(&mut self, word: &str, value: &Arg) -> Option<Expr> {
        let value = value.exact()?;
        match word {
            "-name" => Some(Expr::Name(Pattern::live(value), Case::Matters)),
            "-iname" => Some(Expr::Name(Pattern::live(&value.to_lowercase()), Case::Ignored)),
            "-path" | "-wholename" => Some(Expr::Path(Pattern::live(value), Case::Matters)),
            "-ipath" | "-iwholename" => {
                Some(Expr::Path(Pattern::live(&value.to_lowercase()), Case::Ignored))
            }
            "-type" => Some(Expr::Type(value.to_owned())),
            "-maxdepth" => {
                self.most = value.parse().unwrap_or(usize::MAX);
                Some(Expr::Other(Truth::Yes))
            }
            "-mindepth" => {
                self.least = value.parse().unwrap_or(0);
                Some(Expr::Other(Truth::Yes))
            }
            _ => None,
        }
    }

    fn command(&mut self, word: &str, rest: &mut &'a [Arg]) -> Expr {
        let mut end = rest.len();
        let mut all_at_once = false;
        for (at, arg) in rest.iter().enumerate() {
            let plus = arg.exact() == Some("+")
                && at > 0
                && rest.get(at - 1).and_then(Arg::exact) == Some("{}");
            if arg.exact() == Some(";") || plus {
                end = at;
                all_at_once = plus;
                break;
            }
        }
        let words = rest.get(..end).unwrap_or_default();
        *rest = rest.get(end + 1..).unwrap_or_default();
        self.acts = true;
        self.ends = None;
        let beside_file = word.ends_with("dir");
        self.commands.push(Command { words, beside_file, all_at_once });
        Expr::Run(self.commands.len() - 1)
    }

    fn below(&self) -> Vec<Arg> {
        self.starts.iter().map(anything_below).collect()
    }

    fn reaches(&self, file: &Found, command: usize) -> bool {
        let mut reached = false;
        self.expr.holds(file, &mut |run| reached |= run == Some(command));
        reached
    }

    /// Every path below the starts; `None` when that is too much or not known.
    fn files(&self, walker: &Walker<'_>) -> Option<Vec<Found>> {
        let mut files = Vec::new();
        for start in &self.starts {
            let text = start.exact()?;
            let full = walker.absolute(start)?;
            let entry = match self.links {
                Links::Kept => walker.world.entry(&full),
                Links::AtTheTop | Links::Followed => walker.world.target(&full),
            };
            if entry == Entry::Missing {
                continue;
            }
            let mut open = vec![(text.to_owned(), full, 0_usize, entry)];
            while let Some((path, full, depth, entry)) = open.pop() {
                let inside = entry == Entry::Dir || (depth == 0 && text.ends_with('/'));
                let hidden = depth > 0 && path::base(&path) == ".git";
                if inside && depth < self.most && !hidden {
                    let links = self.links;
                    descend(walker.world, (&path, &full), depth, links, &mut open)?;
                }
                if depth >= self.least {
                    files.push(Found { path, depth, entry });
                }
                if files.len() + open.len() > PATHS {
                    return None;
                }
            }
        }
        files.sort_by(|a, b| (a.depth, &a.path).cmp(&(b.depth, &b.path)));
        Some(files)
    }
}

fn descend(
    world: &dyn World,
    (path, full): (&str, &str),
    depth: usize,
    links: Links,
    open: &mut Vec<(String, String, usize, Entry)>,
) -> Option<()> {
    for name in world.list(full, PATHS)? {
        let slash = if path.ends_with('/') { "" } else { "/" };
        let full = path::join(full, &name);
        let entry = match links {
            Links::Followed => world.target(&full),
            Links::Kept | Links::AtTheTop => world.entry(&full),
        };
        open.push((format!("{path}{slash}{name}"), full, depth + 1, entry));
    }
    Some(())
}
