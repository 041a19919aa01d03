//! Owns what a program may write when the path it writes is computed: what its own strings, its
//! arguments and its environment name and is there. What a string is only read by does not count.

use super::super::paths::{Place, Target, literal_dir, opaque};
use super::super::{Call, Follow};
use super::lex::Token;
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, Entry};

/// Names that are looked up.
const NAMES: usize = 64;
/// Longest text that is taken for a path.
const LONGEST: usize = 512;

/// Calls that only read what they are given first.
const READS: &[&str] = &[
    "open",
    "read",
    "readlines",
    "foreach",
    "readFileSync",
    "readFile",
    "readTextFile",
    "readTextFileSync",
    "createReadStream",
    "file_get_contents",
    "copy",
    "copy2",
    "copyfile",
    "copytree",
    "copyFile",
    "copyFileSync",
    "cp",
    "cpSync",
    "exists",
    "existsSync",
    "isfile",
    "isdir",
    "stat",
    "statSync",
    "getsize",
    "getmtime",
    "require",
    "print",
    "log",
    "puts",
    "echo",
];
/// Calls that go through a directory: only of these a mere dot is a directory.
const LISTS: &[&str] = &[
    "walk",
    "listdir",
    "scandir",
    "readdirSync",
    "readdir",
    "opendir",
    "glob",
    "Path",
    "entries",
    "children",
    "find",
];
/// Methods of a path that read it.
const READERS: &[&str] = &["read_text", "read_bytes", "exists", "is_file", "is_dir", "stat"];

/// What a text may write.
pub(super) fn effects(
    call: &Call<'_>,
    tokens: &[Token],
    arguments: &[Arg],
    place: &Place<'_>,
) -> Vec<Effect> {
    let written = (0..tokens.len()).filter_map(|at| literal(tokens, at).map(str::to_owned));
    let given = arguments.iter().filter_map(Arg::exact).map(str::to_owned);
    let environment = call.invocation.env.iter().filter_map(|(_, value)| value.exact());
    let names = written.chain(given).chain(environment.map(str::to_owned));
    named(call, names, place)
}

/// What is there under some names.
pub(super) fn named(
    call: &Call<'_>,
    names: impl Iterator<Item = String>,
    place: &Place<'_>,
) -> Vec<Effect> {
    let words = call.words();
    let mut out: Vec<Effect> = Vec::new();
    let plausible = |name: &String| {
        !name.is_empty() && name.len() < LONGEST && !name.chars().any(char::is_control)
    };
    for name in names.filter(plausible).take(NAMES) {
        let patterned = name.contains(['*', '?']);
        let arg = Arg::text(if patterned { literal_dir(&name) } else { &name });
        if place.kind(&arg) == Entry::Missing {
            continue;
        }
        let Target::At(path) = place.target(&arg, Follow::All) else { continue };
        // What lies above the tree stands in paths that go on from there.
        let above = place.root().is_some_and(|root| root.path != path && root.path.within(&path));
        let effect = opaque(Some(path), Why::Operand, &words);
        if !above && !out.contains(&effect) {
            out.push(effect);
        }
    }
    out
}

/// A string that may become part of a path that is written.
fn literal(tokens: &[Token], at: usize) -> Option<&str> {
    let text = match tokens.get(at)? {
        Token::Str(text) | Token::Filled(text) => text.as_str(),
        Token::Name(_) | Token::Shell(_) | Token::Sign(_) | Token::End => return None,
    };
    let before = tokens.get(..at).unwrap_or_default();
    let called = match before {
        [.., Token::Name(name), Token::Sign('(')] => name.as_str(),
        _ => "",
    };
    let dots = matches!(text.trim_end_matches('/'), "" | "." | "..");
    if dots && !LISTS.contains(&called) {
        return None;
    }
    let after = tokens.get(at + 1..).unwrap_or_default();
    let only_read = match after {
        [Token::Sign(','), Token::Str(mode), ..] if called == "open" => {
            mode.len() <= 4 && !mode.contains(['w', 'a', 'x', '+'])
        }
        [Token::Sign(','), ..] if called == "open" => false,
        [Token::Sign(')'), Token::Sign('.'), Token::Name(method), ..] if called == "Path" => {
            READERS.contains(&method.as_str())
        }
        _ => READS.contains(&called),
    };
    (!only_read).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Scene, reaches};

    #[test]
    fn a_computed_path_is_bounded_by_what_the_text_names() {
        let scene = Scene::gate();
        let hit = |text: &str| reaches(&scene.feed("python3 -", text), "lib/core.rs");
        for text in [
            "import os\nfor r, d, fs in os.walk('lib'):\n  for f in fs:\n    open(os.path.join(r, f), 'w')",
            "def edit(p):\n  open(p, 'w').write('x')\nedit('lib/core.rs')",
            "d='lib'; open(f'{d}/core.rs','w')",
            "d='lib'; open('%s/core.rs' % d,'w')",
            "open('{}/core.rs'.format('lib'),'w')",
            "x='core'; open(f'lib/{x}.rs','w')",
            "for k, v in {'lib/core.rs': 1}.items():\n  Path(k).write_text(v)",
            "import os; [os.remove('lib/'+f) for f in os.listdir('lib')]",
            "import os; [os.remove(f) for f in os.listdir('.')]",
        ] {
            assert!(hit(text), "{text}");
        }
        for text in [
            "def edit(p):\n  open(p, 'w').write('x')\nedit('docs/a.md')",
            "s = open('lib/core.rs').read(); open(f'docs/{s[:3]}.md','w')",
            "s = Path('lib/core.rs').read_text(); open(out, 'w')",
            "for n in ['lib', 'docs']:\n  print(n)",
            "import os\nfor r, d, fs in os.walk('lib'):\n  print(open(os.path.join(r, fs[0])).read())",
            "import tempfile, shutil; d = tempfile.mkdtemp(); shutil.copy('lib/core.rs', d); shutil.rmtree(d)",
            "import json; json.dump({'a': '.'}, open(name, 'w'))",
            "print('/'.join(x.split('.')), file=open(name, 'w'))",
        ] {
            assert!(!hit(text), "{text}");
        }
        assert!(reaches(&scene.run("perl -e 'unlink @ARGV' lib/core.rs"), "lib/core.rs"));
        let named = "F=lib/core.rs python3 -c \"import os; os.remove(os.environ['F'])\"";
        assert!(reaches(&scene.run(named), "lib/core.rs"));
    }
}
