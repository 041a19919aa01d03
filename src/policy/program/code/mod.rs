//! Owns reading program text handed to an interpreter: calls that write, remove or run, with
//! paths that are spelled out or stand in a variable of the same text. A path the program computes
//! is bounded by what the text names; what it changed all the same is seen after the call.

mod calls;
mod imports;
mod lex;
mod printed;
mod rules;
mod running;
mod somewhere;
mod values;

use lex::{Token, tokens};
use values::Values;

use super::nested;
use super::paths::Place;
use super::{Call, Follow};
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, Dir, HOLE, Piece};

/// Whose grammar a text follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// python
    Python,
    /// node, deno, bun
    Node,
    /// perl
    Perl,
    /// ruby
    Ruby,
    /// php
    Php,
    /// awk
    Awk,
}

/// One thing a text does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    /// Writes a file.
    Write(String),
    /// Removes a path with all below it.
    Remove(String),
    /// Renames the first to the second.
    Rename(String, String),
    /// Moves the first to or into the second.
    Move(String, String),
    /// Copies the first to or into the second.
    Copy(String, String),
    /// Runs text in a shell.
    Shell(String),
    /// Runs a program.
    Run(Vec<String>),
    /// Goes to another directory.
    Enter(String),
    /// Does what a text of the same language says.
    Code(String),
    /// Writes or removes something that is computed.
    Somewhere,
}

/// Longest text that is read.
const LENGTH: usize = 1 << 20;

/// What a program text does.
pub(super) fn effects(call: &Call<'_>, text: &str, language: Language) -> Vec<Effect> {
    given(call, text, &[], language)
}

/// The same for a text that is handed arguments (`sys.argv[1:]`).
pub(super) fn given(
    call: &Call<'_>,
    text: &str,
    arguments: &[Arg],
    language: Language,
) -> Vec<Effect> {
    if text.len() > LENGTH {
        return Vec::new();
    }
    let odd = matches!(language, Language::Python | Language::Node);
    if odd && nested::looks_like_shell(text) {
        return nested::shell(call, text, call.place.dir);
    }
    let tokens = imports::spelled_out(tokens(text, language), language);
    let mut dir = call.place.dir.clone();
    let mut out = Vec::new();
    let values = Values::new(call.site().home(), arguments);
    let mut vague = false;
    for act in acts(&tokens, language, values) {
        match act {
            Act::Enter(to) => {
                let place = Place { dir: &dir, ..call.place };
                dir = place.absolute(&to).map_or(Dir::Unknown, Dir::At);
            }
            // Always shorter than the text it stands in.
            Act::Code(inner) => out.extend(given(call, &inner, arguments, language)),
            Act::Somewhere => vague = true,
            act @ (Act::Write(_)
            | Act::Remove(_)
            | Act::Rename(..)
            | Act::Move(..)
            | Act::Copy(..)
            | Act::Shell(_)
            | Act::Run(_)) => out.extend(done(call, act, &dir)),
        }
    }
    if vague {
        let dir = if dir == Dir::Unknown { call.place.dir } else { &dir };
        out.extend(somewhere::effects(call, &tokens, arguments, &Place { dir, ..call.place }));
    }
    out
}

/// What a text in a language that is not read may write: what it names, when it writes at all.
pub(super) fn foreign(call: &Call<'_>, text: &str, arguments: &[Arg]) -> Vec<Effect> {
    let strings = tokens(text, Language::Python);
    let said = strings.iter().filter_map(|token| match token {
        Token::Str(text) if nested::looks_like_shell(text) => Some(text),
        Token::Str(_)
        | Token::Filled(_)
        | Token::Name(_)
        | Token::Shell(_)
        | Token::Sign(_)
        | Token::End => None,
    });
    let mut out: Vec<Effect> =
        said.flat_map(|text| nested::shell(call, text, call.place.dir)).collect();
    // `spawn rm x`, `exec rm x`: expect's and tcl's own way.
    let steps = text.split(['\n', ';']).map(str::trim);
    let started =
        steps.filter_map(|s| s.strip_prefix("spawn ").or_else(|| s.strip_prefix("exec ")));
    out.extend(started.flat_map(|command| nested::shell(call, command, call.place.dir)));
    let lower = text.to_lowercase();
    if WRITING.iter().any(|word| lower.contains(word)) {
        let signs = |c: char| c.is_whitespace() || "()[]{}'\",;".contains(c);
        let words = text.split(signs).map(str::to_owned);
        let given = arguments.iter().filter_map(Arg::exact).map(str::to_owned);
        let names = words.chain(given).filter(|name| !matches!(name.as_str(), "." | ".." | "/"));
        out.extend(somewhere::named(call, names, &call.place));
    }
    out
}

/// Words by which other languages write.
const WRITING: &[&str] = &[
    "write",
    "remove",
    "delete",
    "unlink",
    "rename",
    "rm ",
    "rm(",
    "set-content",
    "add-content",
    "clear-content",
    "out-file",
    "remove-item",
    "move-item",
    "copy-item",
    "rename-item",
    "new-item",
    "\"w",
    "'w",
    "\"a\"",
    "system",
    "shell",
    "save",
    "copy",
    "move",
    "sink",
];

/// The effects of one act; copies and moves follow the rules of `cp` and `mv`.
fn done(call: &Call<'_>, act: Act, dir: &Dir) -> Vec<Effect> {
    let place = Place { dir, ..call.place };
    let words = call.words();
    match act {
        Act::Write(path) => all(&place, &path)
            .iter()
            .flat_map(|path| place.write(path, Follow::All, &words))
            .collect(),
        Act::Remove(path) => {
            all(&place, &path).iter().flat_map(|path| place.remove(path, &words)).collect()
        }
        Act::Rename(from, to) => argv(call, dir, &["mv", "-T", "--", &from, &to]),
        Act::Move(from, to) => argv(call, dir, &["mv", "--", &from, &to]),
        Act::Copy(from, to) => argv(call, dir, &["cp", "-r", "--", &from, &to]),
        Act::Run(words) => argv(call, dir, &words.iter().map(String::as_str).collect::<Vec<_>>()),
        Act::Shell(text) => nested::shell(call, &text, dir),
        Act::Enter(_) | Act::Code(_) | Act::Somewhere => Vec::new(),
    }
}

/// The files a name stands for: itself, or what its pattern matches (`glob('*.rs')`).
fn all(place: &Place<'_>, path: &str) -> Vec<Arg> {
    let Some(pattern) = path.strip_prefix(values::PATTERN) else { return vec![Arg::text(path)] };
    match place.matching(pattern) {
        Some(paths) => paths.into_iter().map(Arg::text).collect(),
        None => vec![Arg { pieces: vec![Piece::Any], glob: Some(pattern.to_owned()) }],
    }
}

fn argv(call: &Call<'_>, dir: &Dir, words: &[&str]) -> Vec<Effect> {
    let arg = |word: &&str| {
        if word.contains(HOLE) {
            Arg { pieces: vec![Piece::Any], glob: None }
        } else {
            Arg::text(*word)
        }
    };
    nested::carried(call, words.iter().map(arg).collect(), dir)
}

/// Everything a text does, in order.
fn acts(tokens: &[Token], language: Language, mut values: Values) -> Vec<Act> {
    let mut out = Vec::new();
    // A comprehension uses its name before it says what it stands for.
    (0..tokens.len()).for_each(|at| values.loops(tokens, at));
    for at in 0..tokens.len() {
        values.learn(tokens, at);
        match tokens.get(at) {
            Some(Token::Shell(text)) => out.push(Act::Shell(text.clone())),
            Some(Token::Name(name)) => {
                if language == Language::Awk {
                    out.extend(printed::printed(tokens, at, name, &values));
                    out.extend(printed::piped(tokens, at, name, &values));
                }
                out.extend(rules::called(tokens, at, name, language, &values));
            }
            Some(Token::Str(_) | Token::Filled(_) | Token::Sign(_) | Token::End) | None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, language: Language) -> Vec<Act> {
        let values = Values::new(Some("/home/u".to_owned()), &[Arg::text("given")]);
        acts(&tokens(text, language), language, values)
    }

    fn write(path: &str) -> Act {
        Act::Write(path.to_owned())
    }

    fn remove(path: &str) -> Act {
        Act::Remove(path.to_owned())
    }

    #[test]
    fn python_writes_and_removes() {
        let py = |text: &str| read(text, Language::Python);
        assert_eq!(py("open('a','w')"), [write("a")]);
        assert_eq!(py("open('a', mode=\"r+\")"), [write("a")]);
        assert_eq!(py("open('a').read()"), []);
        assert_eq!(py("open('w')"), []);
        assert_eq!(py("import os; os.remove('a')"), [remove("a")]);
        assert_eq!(py("from pathlib import Path\nPath('a').write_text('w')"), [write("a")]);
        assert_eq!(py("(Path('a') / 'b').unlink()"), [remove("a/b")]);
        assert_eq!(py("p = Path('a')\ns = p.read_text()\np.write_text(s)"), [write("a")]);
        assert_eq!(
            py("p='a'\ns=open(p).read()\ns=s.replace('x','y')\nopen(p,'w').write(s)"),
            [write("a")]
        );
        assert_eq!(py("for f in ['a', 'b']:\n  open(f, 'w')"), [write("a"), write("b")]);
        assert_eq!(py("with open(os.path.join('a', 'b'), 'a') as f: pass"), [write("a/b")]);
        assert_eq!(py("import shutil; shutil.rmtree('a')"), [remove("a")]);
        assert_eq!(py("shutil.move('a', 'b')"), [Act::Move("a".into(), "b".into())]);
        assert_eq!(py("os.system('rm -rf a')"), [Act::Shell("rm -rf a".into())]);
        assert_eq!(
            py("subprocess.run(['rm', '-r', 'a'], check=True)"),
            [Act::Run(vec!["rm".into(), "-r".into(), "a".into()])]
        );
        assert_eq!(py("items.remove('a'); # os.remove('b')"), []);
        let computed = "open(f'{x}/a', 'w'); open(sys.argv[2], 'w')";
        assert_eq!(py(computed), [Act::Somewhere, Act::Somewhere]);
        assert_eq!(py("path = 'a'\nopen(path, 'w'); os.path.exists(path)"), [write("a")]);
        assert_eq!(
            py("open(file='a', mode='w'); os.open('b', os.O_RDWR)"),
            [write("a"), write("b")]
        );
        assert_eq!(py("eval(\"open('a','w')\")"), [Act::Code("open('a','w')".into())]);
        assert_eq!(py("d = tempfile.mkdtemp(); open(d, 'w')"), [write(values::FRESH)]);
        assert_eq!(
            py("subprocess.run('rm a', shell=True, cwd='b')"),
            [Act::Shell("cd b && rm a".into())]
        );
        assert_eq!(py("open(sys.argv[1], 'w')"), [write("given")]);
        assert_eq!(py("for p in Path('a').rglob('*.rs'): p.unlink()"), [remove("\u{1}a/**/*.rs")]);
        assert_eq!(py("[open(f,'w') for f in glob.glob('a/*')]"), [write("\u{1}a/*")]);
        assert_eq!(py("subprocess.run('rm -r a'.split())"), [Act::Shell("rm -r a".into())]);
        assert_eq!(py("fileinput.input('a', inplace=True); fileinput.input('b')"), [write("a")]);
        assert_eq!(py("print(\"open('a','w')\")"), []);
    }

    #[test]
    fn other_languages_write_and_remove() {
        let node = |text: &str| read(text, Language::Node);
        assert_eq!(node("require('fs').writeFileSync('a', x)"), [write("a")]);
        assert_eq!(node("const p = 'a'; fs.rmSync(p, {recursive: true})"), [remove("a")]);
        assert_eq!(node("fs.readFileSync('a'); // fs.unlinkSync('b')"), []);
        let exec = node("require('child_process').execSync('git add -A')");
        assert_eq!(exec, [Act::Shell("git add -A".into())]);
        let perl = |text: &str| read(text, Language::Perl);
        assert_eq!(perl("unlink 'a', \"b\";"), [remove("a"), remove("b")]);
        assert_eq!(perl("open(my $f, '>', 'a') or die"), [write("a")]);
        assert_eq!(perl("open F, \">>a\"; open(G, '<', 'b')"), [write("a")]);
        assert_eq!(perl("system('rm', 'a')"), [Act::Run(vec!["rm".into(), "a".into()])]);
        let ruby = |text: &str| read(text, Language::Ruby);
        assert_eq!(ruby("File.write('a', 'x'); FileUtils.rm_rf 'b'"), [write("a"), remove("b")]);
        assert_eq!(ruby("File.open('a', 'w') { |f| f.puts 1 }"), [write("a")]);
        assert_eq!(ruby("`rm a`; %x(rm b)").len(), 2);
        assert_eq!(perl("qx(rm a); unlink qw(b)"), [Act::Shell("rm a".into()), remove("b")]);
        assert_eq!(perl("open my $f, '+<', 'a'"), [write("a")]);
        assert_eq!(
            read("file_put_contents('a', 1); unlink('b');", Language::Php),
            [write("a"), remove("b")]
        );
        let awk = |text: &str| read(text, Language::Awk);
        assert_eq!(awk("{print $1 > \"a\"; print \"b > c\"}"), [write("a")]);
        assert_eq!(awk("$1 > 3 {print \"x\" | \"tee a\"}"), [Act::Shell("tee a".into())]);
    }
}
