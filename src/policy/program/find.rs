//! Owns `find` where it deletes or writes by itself. The expression is evaluated against the
//! tree, bounded; a test that can't be evaluated may be true. `-exec` is the reader's.

use gix_glob::wildmatch::Mode;

use super::options::Style;
use super::paths::{Target, matches};
use super::verbs::{Verb, program};
use super::{Call, Follow, options};
use crate::policy::facts::{Effect, Scope, Why};
use crate::policy::scope::{Case, Spec, Stars};
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["find", "gfind"], "with -delete removes what its expression matches", find).examples(
        &[
            "find . -name '*.rs' -delete",
            "find . -iname CORE.RS -delete",
            "find . -ipath '*LIB/CORE.RS' -delete",
            "find . -newer .gitignore -delete",
            "find . -fprint lib/core.rs",
            "find . ( -name x -o -name core.rs ) -delete",
            "find $X -delete",
            "find -L docs/../lib -name '*.rs' -delete",
        ],
        &[
            "find lib -name rm -print",
            "find . -name '*.log' -delete",
            "find . -type f",
            "find lib -exec grep rm {} ;",
            "find . ! -name '*' -delete",
            "find . -maxdepth 0 -name x -delete",
        ],
    ),
    program(&["fd", "fdfind"], "with -x rm removes what it finds", fd)
        .examples(&["fd core -x rm", "fd -e rs -X rm -f"], &["fd core", "fd -e rs -x wc -l"]),
];

/// Files looked at.
const FUEL: usize = 4096;

/// Whether a test holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Yes,
    No,
    Maybe,
}

/// Which links are taken for what they lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// None.
    Kept,
    /// The starting points (`-H`).
    AtTheTop,
    /// All (`-L`).
    Followed,
}

/// One file that is looked at.
struct Seen<'a> {
    path: &'a str,
    name: &'a str,
    kind: Entry,
}

/// What evaluating the expression on one file came to.
#[derive(Default)]
struct Came {
    deletes: bool,
    prunes: bool,
}

fn find(call: &Call<'_>) -> Vec<Effect> {
    let begins = |arg: &&Arg| {
        let text = arg.prefix();
        text.starts_with('-') && text.len() > 1 || matches!(arg.exact(), Some("(" | "!" | ")"))
    };
    let leading = |arg: &&Arg| matches!(arg.exact(), Some("-H" | "-L" | "-P"));
    let (leads, args) = call.args.split_at(call.args.iter().take_while(leading).count());
    let args: Vec<&Arg> = args.iter().collect();
    let split = args.iter().position(begins).unwrap_or(args.len());
    let (starts, tests) = args.split_at(split);
    let mut out = written(call, tests);
    let words: Vec<&str> = tests.iter().map(|a| a.exact().unwrap_or(UNKNOWN)).collect();
    if words.contains(&"--help") || words.contains(&"-version") {
        return Vec::new();
    }
    if words.contains(&"-delete") {
        let last = leads.last().and_then(Arg::exact);
        let links = match last {
            Some("-L") => Links::Followed,
            _ if words.contains(&"-follow") => Links::Followed,
            Some("-H") => Links::AtTheTop,
            _ => Links::Kept,
        };
        let here = Arg::text(".");
        let starts = if starts.is_empty() { vec![&here] } else { starts.to_vec() };
        for start in starts {
            out.extend(deleted(call, start, &words, links));
        }
    }
    out
}

/// A test operand that is only known at run time.
const UNKNOWN: &str = "\u{fffc}";

/// Files of `-fprint` and its kin.
fn written(call: &Call<'_>, tests: &[&Arg]) -> Vec<Effect> {
    let pairs = tests.windows(2).filter_map(|pair| match pair {
        [test, file]
            if matches!(test.exact(), Some("-fprint" | "-fprint0" | "-fprintf" | "-fls")) =>
        {
            Some(*file)
        }
        _ => None,
    });
    call.writes(pairs)
}

/// What is deleted below one starting point.
fn deleted(call: &Call<'_>, start: &Arg, tests: &[&str], links: Links) -> Vec<Effect> {
    let words = call.words();
    let Some(text) = start.exact() else {
        return call.place.remove(start, &words);
    };
    let Some(top) = call.place.absolute(text) else {
        return call.place.remove(start, &words);
    };
    match walk(call, (text, &top), tests, links) {
        Some(paths) => {
            let resolved = paths.iter().filter_map(|p| call.site().resolve(p, Follow::Parents));
            resolved.map(|path| Effect::Remove { path }).collect()
        }
        None => unbounded(call, start, tests),
    }
}

/// All paths the expression deletes; `None` when there are too many files.
fn walk(
    call: &Call<'_>,
    (text, top): (&str, &str),
    tests: &[&str],
    links: Links,
) -> Option<Vec<String>> {
    let mut open = vec![(text.to_owned(), top.to_owned(), 0_usize)];
    let (mut fuel, mut out) = (FUEL, Vec::new());
    let limit = |name: &str| {
        let at = tests.iter().position(|t| *t == name)?;
        tests.get(at + 1)?.parse::<usize>().ok()
    };
    let (deepest, shallowest) = (limit("-maxdepth").unwrap_or(usize::MAX), limit("-mindepth"));
    while let Some((shown, path, depth)) = open.pop() {
        fuel = fuel.checked_sub(1)?;
        let name = super::paths::base_name(&shown);
        let kind = match links {
            Links::Followed => call.site().target(&path),
            Links::AtTheTop if depth == 0 => call.site().target(&path),
            Links::Kept | Links::AtTheTop => call.site().entry(&path),
        };
        let seen = Seen { path: &shown, name, kind };
        let came = evaluate(&seen, tests);
        if came.deletes && depth >= shallowest.unwrap_or(0) {
            out.push(path.clone());
        }
        if kind == Entry::Dir && depth < deepest && !came.prunes {
            for name in call.site().list(&path, fuel)? {
                open.push((
                    super::paths::join(&shown, &name),
                    super::paths::join(&path, &name),
                    depth + 1,
                ));
            }
        }
    }
    Some(out)
}

/// Too many files to look at: what the names allow, below the start.
fn unbounded(call: &Call<'_>, start: &Arg, tests: &[&str]) -> Vec<Effect> {
    let words = call.words();
    let Target::At(base) = call.place.target(start, Follow::All) else {
        return call.place.remove(start, &words);
    };
    let simple = !tests.iter().any(|t| matches!(*t, "-o" | "-or" | "!" | "-not" | "(" | ","));
    let named = tests.windows(2).find_map(|pair| match pair {
        ["-name", name] => Some((*name, Case::Exact)),
        ["-iname", name] => Some((*name, Case::Folded)),
        _ => None,
    });
    let root = call.site().root_of(&base);
    match (named, root) {
        (Some((name, case)), Some(root)) if simple && name != UNKNOWN => {
            let spec = |glob: String| Spec {
                base: base.clone(),
                glob: Some(glob),
                case,
                stars: Stars::CrossSlash,
            };
            let take = vec![spec(name.to_owned()), spec(format!("*/{name}"))];
            let scope = Scope::Matched { take, leave: Vec::new() };
            vec![Effect::Pathspec { root: root.path, scope, words }]
        }
        _ => vec![super::paths::opaque(Some(base), Why::Operand, &words)],
    }
}

/// Walks the expression for one file: `and` binds before `or`, brackets nest.
fn evaluate(seen: &Seen<'_>, tests: &[&str]) -> Came {
    let mut came = Came::default();
    let mut at = 0;
    alternatives(seen, tests, &mut at, Truth::Yes, &mut came, 0);
    came
}

/// Brackets deeper than this are taken for true.
const NESTING: usize = 32;

fn alternatives(
    seen: &Seen<'_>,
    tests: &[&str],
    at: &mut usize,
    reached: Truth,
    came: &mut Came,
    nesting: usize,
) -> Truth {
    let mut whole = Truth::No;
    let mut live = reached;
    let mut one = Truth::Yes;
    let mut negate = false;
    while let Some(word) = tests.get(*at) {
        *at += 1;
        match *word {
            "-o" | "-or" => {
                whole = or(whole, one);
                live = and(reached, not(whole));
                one = Truth::Yes;
            }
            "-a" | "-and" => {}
            "," => (live, one) = (reached, Truth::Yes),
            "!" | "-not" => negate = !negate,
            ")" => break,
            word => {
                let held = match word {
                    "(" if nesting < NESTING => {
                        alternatives(seen, tests, at, and(live, one), came, nesting + 1)
                    }
                    word => test(seen, word, tests, at, and(live, one), came),
                };
                one = and(one, if negate { not(held) } else { held });
                negate = false;
            }
        }
    }
    or(whole, one)
}

fn and(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Truth::No, _) | (_, Truth::No) => Truth::No,
        (Truth::Yes, Truth::Yes) => Truth::Yes,
        (Truth::Maybe, _) | (_, Truth::Maybe) => Truth::Maybe,
    }
}

fn not(a: Truth) -> Truth {
    match a {
        Truth::Yes => Truth::No,
        Truth::No => Truth::Yes,
        Truth::Maybe => Truth::Maybe,
    }
}

fn or(a: Truth, b: Truth) -> Truth {
    not(and(not(a), not(b)))
}

/// One test or action, with its operand.
fn test(
    seen: &Seen<'_>,
    word: &str,
    tests: &[&str],
    at: &mut usize,
    reached: Truth,
    came: &mut Came,
) -> Truth {
    let mut operand = || {
        let value = tests.get(*at).copied().unwrap_or_default();
        *at += 1;
        value
    };
    let glob = |pattern: &str, text: &str, mode: Mode| match pattern {
        UNKNOWN => Truth::Maybe,
        pattern if matches(pattern, text, mode) => Truth::Yes,
        _ => Truth::No,
    };
    match word {
        "-name" => glob(operand(), seen.name, Mode::empty()),
        "-iname" => glob(operand(), seen.name, Mode::IGNORE_CASE),
        "-path" | "-wholename" => glob(operand(), seen.path, Mode::empty()),
        "-ipath" | "-iwholename" => glob(operand(), seen.path, Mode::IGNORE_CASE),
        "-type" | "-xtype" => kind(operand(), seen.kind),
        "-true" | "-print" | "-print0" | "-ls" | "-depth" | "-d" | "-xdev" | "-mount"
        | "-noleaf" | "-daystart" | "-warn" | "-nowarn" => Truth::Yes,
        "-false" => Truth::No,
        "-prune" => {
            came.prunes |= reached == Truth::Yes && !tests.contains(&"-delete");
            Truth::Yes
        }
        "-delete" => {
            came.deletes |= reached != Truth::No;
            Truth::Yes
        }
        "-maxdepth" | "-mindepth" | "-printf" | "-fprint" | "-fprint0" | "-fls" => {
            operand();
            Truth::Yes
        }
        "-fprintf" => {
            operand();
            operand();
            Truth::Yes
        }
        "-exec" | "-execdir" | "-ok" | "-okdir" => {
            while !matches!(operand(), ";" | "+" | "") {}
            Truth::Maybe
        }
        "-empty" | "-readable" | "-writable" | "-executable" | "-nouser" | "-nogroup" | "-quit" => {
            Truth::Maybe
        }
        word if word.starts_with('-') => {
            operand();
            Truth::Maybe
        }
        _ => Truth::Maybe,
    }
}

fn kind(letters: &str, kind: Entry) -> Truth {
    let letter = match kind {
        Entry::File => "f",
        Entry::Dir => "d",
        Entry::Link => "l",
        Entry::Other | Entry::Missing => return Truth::Maybe,
    };
    if letters.split(',').any(|l| l == letter || l == UNKNOWN) { Truth::Yes } else { Truth::No }
}

/// `fd` with a program to run: which files it finds is left to the pattern, so all may be.
fn fd(call: &Call<'_>) -> Vec<Effect> {
    let runs = |arg: &Arg| matches!(arg.exact(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    let Some(at) = call.args.iter().position(runs) else { return Vec::new() };
    let mut argv: Vec<Arg> = call.args.get(at + 1..).unwrap_or_default().to_vec();
    let line = options::parse(
        call.args.get(..at).unwrap_or_default(),
        &["e,extension=", "t,type=", "E,exclude=", "d,max-depth=", "H", "I"],
        Style::Gnu,
    );
    let dir = line.operands.get(1).and_then(Arg::exact).unwrap_or(".").to_owned();
    let pieces = vec![
        crate::policy::shell::Piece::Text(format!("{dir}/")),
        crate::policy::shell::Piece::Any,
    ];
    let found = Arg { pieces, glob: None };
    match argv.iter_mut().find(|arg| arg.exact().is_some_and(|t| t.contains("{}"))) {
        Some(slot) => *slot = found,
        None => argv.push(found),
    }
    super::nested::carried(call, argv, call.place.dir)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{ROOT, Scene, reaches};

    #[test]
    fn expressions_are_evaluated_on_the_tree() {
        let scene = Scene::gate();
        let hit = |line: &str| reaches(&scene.run(line), "lib/core.rs");
        assert!(hit("find . -name '*.rs' -delete") && hit("find lib -type f -delete"));
        assert!(!hit("find . -name '*.orig' -delete") && !hit("find docs -delete"));
        assert!(!hit("find . -type d -empty -name build -delete"));
        assert!(hit("find . -not -name '*.md' -delete"));
        assert!(!hit("find . -name '*.md' -o -name util.rs -delete"));
        assert!(hit("find . -name '*.md' -print -o -name core.rs -delete"));
        assert!(!hit("find . -path './docs/*' -delete"));
        assert!(hit("find . -mtime +3 -delete"));
        assert!(!hit("find . -name '*.log' ( -type f -o -type l ) -delete"));
    }

    #[test]
    fn a_large_tree_is_judged_by_the_names() {
        let mut scene = Scene::gate();
        for n in 0..5000 {
            scene.file(&format!("{ROOT}/build/f{n}"), "");
        }
        let hit = |line: &str| reaches(&scene.run(line), "lib/core.rs");
        assert!(hit("find . -name '*.rs' -delete") && !hit("find . -name '*.orig' -delete"));
    }
}
