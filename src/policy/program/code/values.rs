//! Owns what names and expressions of a program text are known to be. Must never guess: one
//! unknown part makes the whole unknown.

use std::collections::BTreeMap;

use super::lex::Token;

/// Names that hold paths, and the user's home.
pub(super) struct Values {
    known: BTreeMap<String, Vec<String>>,
    home: Option<String>,
}

/// Tokens of one expression that are looked at.
const REACH: usize = 256;

/// Names that wrap a path without changing it.
const WRAPPERS: &[&str] = &[
    "Path",
    "PosixPath",
    "PurePath",
    "Pathname",
    "pathlib",
    "path",
    "os",
    "File",
    "join",
    "joinpath",
    "resolve",
    "absolute",
    "expanduser",
    "abspath",
    "realpath",
    "fspath",
    "str",
    "new",
    "cwd",
    "getcwd",
    "process",
    "expand_path",
    "q",
];

impl Values {
    /// Nothing known but the home directory.
    pub(super) fn new(home: Option<String>) -> Self {
        Self { known: BTreeMap::new(), home }
    }

    /// Takes note of an assignment or a loop that begins at a token.
    pub(super) fn learn(&mut self, tokens: &[Token], at: usize) {
        let Some(Token::Name(name)) = tokens.get(at) else { return };
        let rest = tokens.get(at + 1..).unwrap_or_default();
        match rest {
            [Token::Sign('='), Token::Sign('=' | '~' | '>'), ..] => {}
            [Token::Sign('='), value @ ..] => {
                let near = value.get(..REACH).unwrap_or(value);
                let end = near.iter().position(|t| *t == Token::End).unwrap_or(near.len());
                let found = self.of(value.get(..end).unwrap_or_default());
                self.known.insert(name.clone(), found);
            }
            [Token::Name(word), Token::Sign('[' | '('), list @ ..]
                if matches!(word.as_str(), "in" | "of") =>
            {
                let list = list.get(..REACH).unwrap_or(list);
                let end = list.iter().position(|t| matches!(t, Token::Sign(']' | ')')));
                let items = list.get(..end.unwrap_or(0)).unwrap_or_default();
                let found = items.split(|t| *t == Token::Sign(',')).flat_map(|i| self.of(i));
                let found = found.collect();
                self.known.insert(name.clone(), found);
            }
            _ => {}
        }
    }

    /// What an expression may be; empty when that is not known.
    pub(super) fn of(&self, tokens: &[Token]) -> Vec<String> {
        self.expression(tokens).unwrap_or_default()
    }

    fn expression(&self, tokens: &[Token]) -> Option<Vec<String>> {
        let mut parts: Vec<Vec<String>> = Vec::new();
        let mut glue = "/";
        let mut strings = 0;
        for token in tokens {
            match token {
                Token::Str(text) => {
                    strings += 1;
                    parts.push(vec![self.expanded(text)]);
                }
                Token::Name(name) if WRAPPERS.contains(&name.as_str()) => {}
                Token::Name(name) => {
                    strings += 1;
                    parts.push(self.known.get(name).filter(|v| !v.is_empty())?.clone());
                }
                Token::Sign('+') => glue = "",
                Token::Sign('(' | ')' | '.' | ',' | '/' | '$' | '@' | ':') => {}
                Token::Sign(_) | Token::Filled | Token::Shell(_) | Token::End => return None,
            }
        }
        // Cap on alternatives: loops over lists that are joined with each other.
        let (first, rest) = parts.split_first().filter(|_| strings > 0)?;
        let mut out = first.clone();
        for part in rest {
            let pairs = out.iter().flat_map(|a| part.iter().map(move |b| joined(a, b, glue)));
            out = pairs.take(64).collect();
        }
        Some(out)
    }

    fn expanded(&self, text: &str) -> String {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => format!("{home}/{rest}"),
            _ => text.to_owned(),
        }
    }
}

fn joined(a: &str, b: &str, glue: &str) -> String {
    match glue {
        "" => format!("{a}{b}"),
        _ if b.starts_with('/') => b.to_owned(),
        glue => format!("{}{glue}{b}", a.trim_end_matches('/')),
    }
}
