//! Owns the names a program gives to what it imports: `import os as o`, `from shutil import rmtree
//! as r`, `const {rm} = require('fs')`. Afterwards every name stands on its module.

use std::collections::BTreeMap;

use super::Language;
use super::lex::Token;

/// Modules that write, remove, run, or make paths.
const MODULES: &[&str] = &[
    "os",
    "path",
    "shutil",
    "pathlib",
    "subprocess",
    "glob",
    "io",
    "codecs",
    "fileinput",
    "sys",
    "tempfile",
    "fs",
    "promises",
    "child_process",
    "process",
];

type Names = BTreeMap<String, Vec<Token>>;

/// The program with its imported names written out.
pub(super) fn spelled_out(tokens: Vec<Token>, language: Language) -> Vec<Token> {
    let names = match language {
        Language::Python => python(&tokens),
        Language::Node => node(&tokens),
        Language::Perl | Language::Ruby | Language::Php | Language::Awk => return tokens,
    };
    if names.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        let on_something = out.last() == Some(&Token::Sign('.'));
        match &token {
            Token::Name(name) if !on_something => match names.get(name) {
                Some(whole) => out.extend(whole.iter().cloned()),
                None => out.push(token),
            },
            Token::Name(_)
            | Token::Str(_)
            | Token::Filled(_)
            | Token::Shell(_)
            | Token::Sign(_)
            | Token::End => out.push(token),
        }
    }
    out
}

fn word(token: &Token) -> Option<&str> {
    if let Token::Name(name) = token { Some(name) } else { None }
}

fn is(token: Option<&Token>, wanted: &str) -> bool {
    token.and_then(word) == Some(wanted)
}

/// A module by its last component.
fn module(name: &str) -> Option<&'static str> {
    let last = name.trim_start_matches("node:").rsplit('/').next()?;
    MODULES.iter().find(|known| **known == last).copied()
}

fn member(module: &str, name: &str) -> Vec<Token> {
    vec![Token::Name(module.to_owned()), Token::Sign('.'), Token::Name(name.to_owned())]
}

/// `a`, `a as b`, `a: b`: what it is there, and its name here.
fn item(tokens: &[Token]) -> Option<(&str, &str)> {
    match tokens {
        [one] => Some((word(one)?, word(one)?)),
        [there, between, here] if is(Some(between), "as") || *between == Token::Sign(':') => {
            Some((word(there)?, word(here)?))
        }
        _ => None,
    }
}

fn items<'t>(
    tokens: &'t [Token],
    module: &'static str,
) -> impl Iterator<Item = (String, Vec<Token>)> + 't {
    let found = tokens.split(|token| *token == Token::Sign(',')).filter_map(item);
    found.map(move |(there, here)| (here.to_owned(), member(module, there)))
}

fn python(tokens: &[Token]) -> Names {
    let mut names = Names::new();
    for statement in tokens.split(|token| *token == Token::End) {
        let Some(at) = statement.iter().position(|token| word(token) == Some("import")) else {
            continue;
        };
        let (before, rest) = statement.split_at(at);
        let rest = rest.get(1..).unwrap_or_default();
        if is(before.first(), "from") {
            let Some(module) = before.last().and_then(word).and_then(module) else { continue };
            let bare: Vec<Token> =
                rest.iter().filter(|t| !matches!(t, Token::Sign('(' | ')'))).cloned().collect();
            names.extend(items(&bare, module));
            continue;
        }
        for one in rest.split(|token| *token == Token::Sign(',')) {
            if let [.., name, between, here] = one
                && is(Some(between), "as")
                && let (Some(module), Some(here)) = (word(name).and_then(module), word(here))
            {
                names.insert(here.to_owned(), vec![Token::Name(module.to_owned())]);
            }
        }
    }
    names
}

fn node(tokens: &[Token]) -> Names {
    let mut names = Names::new();
    for at in 0..tokens.len() {
        let (end, from) = match tokens.get(at..).unwrap_or_default() {
            [Token::Name(name), Token::Str(from), ..] if name == "from" => (at, from),
            [Token::Name(name), Token::Sign('('), Token::Str(from), ..]
                if matches!(name.as_str(), "require" | "import") =>
            {
                let waits = at > 0 && is(tokens.get(at - 1), "await");
                match at.checked_sub(1 + usize::from(waits)) {
                    Some(equals) if tokens.get(equals) == Some(&Token::Sign('=')) => (equals, from),
                    _ => continue,
                }
            }
            _ => continue,
        };
        let Some(module) = module(from) else { continue };
        match tokens.get(..end).unwrap_or_default() {
            [before @ .., Token::Sign('}')] => {
                let start = before.iter().rposition(|token| *token == Token::Sign('{'));
                let list = start.and_then(|start| before.get(start + 1..)).unwrap_or_default();
                names.extend(items(list, module));
            }
            [.., Token::Name(here)] if here != module => {
                names.insert(here.clone(), vec![Token::Name(module.to_owned())]);
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::lex::tokens;
    use super::*;

    #[test]
    fn imported_names_stand_on_their_modules() {
        for (language, text, same) in [
            (Language::Python, "import os as o\no.remove('a')", "os.remove('a')"),
            (Language::Python, "from shutil import rmtree as r\nr('a')", "shutil.rmtree('a')"),
            (Language::Python, "from os import (remove, unlink)\nunlink('a')", "os.unlink('a')"),
            (Language::Node, "const {rm: r} = require('fs'); r('a')", "fs.rm('a')"),
            (Language::Node, "import * as f from 'node:fs'; f.rm('a')", "fs.rm('a')"),
            (Language::Node, "import {rm} from 'fs/promises'; rm('a')", "promises.rm('a')"),
            (Language::Node, "const f = await import('fs'); f.rm('a')", "fs.rm('a')"),
        ] {
            let read = spelled_out(tokens(text, language), language);
            let wanted = tokens(same, language);
            assert!(read.ends_with(&wanted), "{text}: {read:?}");
        }
    }
}
