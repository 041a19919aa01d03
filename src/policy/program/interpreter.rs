//! Owns the command lines of interpreters: where the program text is, and in-place editing.
//! Of a script file only what it spells out counts; the rest is seen after the call.

use super::code::{self, Language};
use super::options::{Parsed, Style, parse};
use super::paths::base_name;
use super::verbs::{Verb, program};
use super::{Call, nested, operator};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, HOLE, Piece, Stdin};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["python", "pypy", "py"], "does what its -c or fed text says, read for paths", python)
        .examples(
            &[
                "python3 -c \"open('lib/core.rs','w')\"",
                "python3.12 -c \"import os; os.remove('lib/core.rs')\"",
                "python3 -uc \"import os; os.system('rm -rf lib')\"",
                "python3 -m black lib/core.rs",
                "python3 - <<< \"open('lib/core.rs','w')\"",
                "python3 -c 'rm -rf lib'",
                "python octo.py ps --release x",
            ],
            &[
                "python3 -c 'import sys; print(sys.argv)' lib/core.rs",
                "python3 -c \"print(open('lib/core.rs').read())\"",
                "python3 script.py lib/core.rs",
                "python3 --version",
                "python3 -m pytest lib",
            ],
        ),
    program(&["node", "nodejs", "deno", "bun", "tsx"], "does what its -e text says", node)
        .examples(
            &[
                "node -e \"require('fs').writeFileSync('lib/core.rs','')\"",
                "node --eval=\"fs.rmSync('lib',{recursive:true})\"",
                "deno eval \"Deno.remove('lib/core.rs')\"",
                "node -pe \"fs.unlinkSync('lib/core.rs')\"",
            ],
            &["node -e \"fs.readFileSync('lib/core.rs')\"", "node app.js", "node -v"],
        ),
    program(&["perl"], "does what its -e text says, with -i rewrites its operands", perl).examples(
        &[
            "perl -i -pe s/A/B/ lib/core.rs",
            "perl -pi -e s/A/B/ lib/core.rs",
            "perl -0777 -i.bak -pe s/A/B/ lib/core.rs",
            "perl -e 'unlink \"lib/core.rs\"'",
        ],
        &["perl -ne print lib/core.rs", "perl -v", "perl -lne 'print if /x/' lib/core.rs"],
    ),
    program(&["ruby"], "does what its -e text says, with -i rewrites its operands", ruby).examples(
        &["ruby -i -pe '$_.upcase!' lib/core.rs", "ruby -e \"File.delete('lib/core.rs')\""],
        &["ruby -ne 'puts $_' lib/core.rs", "ruby --version"],
    ),
    program(&["php"], "does what its -r text says", php).examples(
        &["php -r \"unlink('lib/core.rs');\"", "php -r \"file_put_contents('lib/x', 1);\""],
        &["php -l lib/core.rs", "php -r \"echo file_get_contents('lib/core.rs');\""],
    ),
];

/// The rows of languages that are not read.
pub(super) const OTHERS: &[Verb] = &[program(
    &[
        "lua",
        "luajit",
        "tclsh",
        "expect",
        "Rscript",
        "julia",
        "osascript",
        "pwsh",
        "powershell",
        "emacs",
        "elixir",
        "groovy",
        "scala",
        "swift",
        "guile",
        "sbcl",
    ],
    "may write what the text it is given names, when that writes at all",
    other,
)
.examples(
    &[
        "lua -e 'os.remove(\"lib/core.rs\")'",
        "tclsh <<< 'file delete -force lib'",
        "pwsh -Command 'Set-Content lib/core.rs x'",
        "emacs --batch lib/core.rs --eval '(save-buffer)'",
        "expect -c 'spawn rm -rf lib'",
    ],
    &[
        "lua -e 'print(1)'",
        "lua lib/core.rs",
        "pwsh -Command 'Get-Content lib/core.rs | Measure'",
        "julia --version",
    ],
)];

/// Options that hold a text.
const TEXTS: &[&str] = &["-e", "-E", "-c", "-C", "--eval", "--execute", "--command"];

fn other(call: &Call<'_>) -> Vec<Effect> {
    let says = |arg: &Arg| {
        let word = arg.exact().unwrap_or_default().to_lowercase();
        TEXTS.iter().any(|name| name.eq_ignore_ascii_case(&word)) || word == "-command"
    };
    let mut given: Vec<String> = Vec::new();
    let mut operands: Vec<Arg> = Vec::new();
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        if says(arg) {
            given.extend(args.next().map(text));
        } else {
            operands.push(arg.clone());
        }
    }
    if let Stdin::Text(fed) = &call.invocation.stdin {
        given.push(fed.clone());
    }
    given.iter().flat_map(|text| code::foreign(call, text, &operands)).collect()
}

/// Longest program that is read from a file on standard input.
const PROGRAM: usize = 1 << 18;

/// Longest script that is looked into.
const SCRIPT: usize = 1 << 15;

/// A text with what is not known marked.
fn text(arg: &Arg) -> String {
    let unknown = HOLE.to_string();
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Any | Piece::Fresh => unknown.clone(),
    };
    arg.pieces.iter().map(piece).collect()
}

/// What the program texts of a line do, or what is fed when there is none.
fn texts(call: &Call<'_>, line: &Parsed, options: &[&str], language: Language) -> Vec<Effect> {
    let given: Vec<String> = options.iter().flat_map(|name| line.values(name)).map(text).collect();
    if !given.is_empty() {
        return code::given(call, &given.join("\n"), &line.operands, language);
    }
    let rest = line.operands.get(1..).unwrap_or_default();
    match line.operands.first() {
        None => fed(call, rest, language),
        Some(dash) if dash.exact() == Some("-") => fed(call, rest, language),
        Some(script) => match call.wrote(script) {
            Some(text) if text.trim_matches(HOLE).trim().is_empty() && text.contains(HOLE) => {
                vec![call.place.opaque(Why::Generated, &call.words())]
            }
            Some(text) => code::given(call, &text, rest, language),
            None => stored(call, script, rest, language),
        },
    }
}

/// What a script on the disk spells out. It is the project's own more often than not, so that what
/// it computes is no reason to stop it.
fn stored(call: &Call<'_>, script: &Arg, rest: &[Arg], language: Language) -> Vec<Effect> {
    let text = call.place.read(script, SCRIPT).unwrap_or_default();
    let exact = |effect: &Effect| !matches!(effect, Effect::Opaque { .. });
    code::given(call, &text, rest, language).into_iter().filter(exact).collect()
}

fn fed(call: &Call<'_>, rest: &[Arg], language: Language) -> Vec<Effect> {
    match &call.invocation.stdin {
        Stdin::Inherited => Vec::new(),
        Stdin::Text(text) => code::given(call, text, rest, language),
        Stdin::File(file) => match call.place.read(file, PROGRAM) {
            Some(text) => code::given(call, &text, rest, language),
            None => Vec::new(),
        },
        Stdin::Unknown => vec![call.place.opaque(Why::Generated, &call.words())],
    }
}

fn python(call: &Call<'_>) -> Vec<Effect> {
    let grammar =
        &["c=", "m=", "W=", "X=", "V", "h", "u", "B", "b", "d", "E", "i", "I", "O", "q", "s", "S"];
    let line = parse(&call.args, grammar, Style::Leading);
    if line.idle() || line.any(&["V", "h"]) {
        return Vec::new();
    }
    if let Some(module) = line.value("m").filter(|_| by_module(&call.args)) {
        let rest = module_arguments(&call.args);
        let argv = std::iter::once(module.clone()).chain(rest).collect();
        return nested::carried(call, argv, call.place.dir);
    }
    match line.operands.split_first() {
        Some((script, rest)) if line.value("c").is_none() && operator::is_ours(script) => {
            operator::ours(&base_of(script), rest, call)
        }
        _ => texts(call, &line, &["c"], Language::Python),
    }
}

fn base_of(script: &Arg) -> String {
    base_name(script.exact().unwrap_or_default()).to_owned()
}

/// Whether `-m` comes before any `-c`: python takes all that follows as the module's.
fn by_module(args: &[Arg]) -> bool {
    let mut valued = false;
    for arg in args {
        if std::mem::take(&mut valued) {
            continue;
        }
        let Some(letters) = arg.prefix().strip_prefix('-') else { return false };
        if let Some(at) = letters.find(['m', 'c']).filter(|_| !letters.starts_with('-')) {
            return letters.get(at..).is_some_and(|rest| rest.starts_with('m'));
        }
        valued = matches!(letters, "W" | "X");
    }
    false
}

/// What follows `-m MODULE`.
fn module_arguments(args: &[Arg]) -> Vec<Arg> {
    let Some(at) =
        args.iter().position(|a| a.prefix().starts_with('-') && a.prefix().contains('m'))
    else {
        return Vec::new();
    };
    let glued = args.get(at).is_some_and(|a| !a.prefix().ends_with('m'));
    args.get(at + if glued { 1 } else { 2 }..).unwrap_or_default().to_vec()
}

fn node(call: &Call<'_>) -> Vec<Effect> {
    let evals = call.name == "deno" && call.args.first().and_then(Arg::exact) == Some("eval");
    let args = if evals { call.args.get(1..).unwrap_or_default() } else { &call.args };
    let grammar = &["e,eval=", "p,print=", "r,require=", "import=", "input-type=", "c", "i", "v"];
    let mut line = parse(args, grammar, Style::Leading);
    if line.idle() || line.has("v") {
        return Vec::new();
    }
    let spilled = line.value("print").and_then(Arg::exact) == Some("e");
    if evals || spilled {
        let Some(first) = line.operands.first() else { return Vec::new() };
        return code::effects(call, &text(first), Language::Node);
    }
    if line.operands.first().and_then(Arg::exact) == Some("run") {
        line.operands.clear();
        return Vec::new();
    }
    texts(call, &line, &["eval", "print"], Language::Node)
}

const PERL: &[&str] = &[
    "e=", "E=", "i?", "M?", "m?", "I=", "F?", "0", "l", "C", "n", "p", "a", "w", "W", "s", "S",
    "c", "t", "T", "u", "U", "v", "x?", "X", "d?", "D?", "g",
];

fn perl(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, PERL, Style::Leading);
    if line.idle() || line.any(&["v", "c"]) {
        return Vec::new();
    }
    in_place(call, &line, &["e", "E"], Language::Perl)
}

const RUBY: &[&str] = &[
    "e=", "i?", "I=", "r=", "F?", "0", "l", "n", "p", "a", "w", "W?", "s", "S", "c", "v", "C=",
    "E=", "K?", "x?", "y", "U",
];

fn ruby(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, RUBY, Style::Leading);
    if line.idle() || line.any(&["c", "v"]) {
        return Vec::new();
    }
    in_place(call, &line, &["e"], Language::Ruby)
}

/// Program text, and operands where they are rewritten.
fn in_place(call: &Call<'_>, line: &Parsed, options: &[&str], language: Language) -> Vec<Effect> {
    let mut out = texts(call, line, options, language);
    if line.has("i") {
        let given = options.iter().any(|name| line.value(name).is_some());
        out.extend(call.writes(line.operands.iter().skip(usize::from(!given))));
    }
    out
}

fn php(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &["r,run=", "d=", "c=", "f=", "B=", "R=", "E=", "l", "i", "m", "v", "n", "a"];
    let line = parse(&call.args, grammar, Style::Leading);
    if line.idle() || line.any(&["l", "v", "i", "m"]) {
        return Vec::new();
    }
    texts(call, &line, &["run", "B", "R", "E"], Language::Php)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn paths_are_resolved_where_the_interpreter_runs() {
        let scene = Scene::gate();
        let hit = |line: &str| reaches(&scene.run(line), "lib/core.rs");
        assert!(hit("python3 -c \"from pathlib import Path; Path('lib/core.rs').write_text('')\""));
        assert!(hit("python3 -c \"import os; os.chdir('lib'); open('core.rs','w')\""));
        assert!(!hit("python3 -c \"open('docs/a.md','w')\""));
        assert!(!hit("python3 -c \"open('$X','w')\""));
        assert!(hit("python3 -c \"import shutil; shutil.copy('notes.md','lib/core.rs')\""));
        assert!(hit("perl -pi -e s/a/b/ notes.md lib/core.rs"));
        let script = "p = 'lib/core.rs'\ns = open(p).read()\nopen(p, 'w').write(s)\n";
        assert!(reaches(&scene.feed("python3", script), "lib/core.rs"));
        assert!(reaches(&scene.feed("python3 -", script), "lib/core.rs"));
    }
}
