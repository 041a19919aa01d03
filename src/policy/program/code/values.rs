//! Owns what names and expressions of a program text are known to be. Must never guess: one
//! unknown part makes the whole unknown.

use std::collections::BTreeMap;

use super::lex::Token;
use crate::policy::shell::Arg;

/// Stands before a value that is a pattern, and for everything that it matches.
pub(super) const PATTERN: char = '\u{1}';

/// A path that nobody else has: what a program makes for itself in the temporary folder.
pub(super) const FRESH: &str = "/tmp/fresh of this program";
/// What makes such a path.
const MAKERS: &[&str] = &[
    "mkdtemp",
    "mkdtempSync",
    "mkstemp",
    "TemporaryDirectory",
    "NamedTemporaryFile",
    "mktmpdir",
    "tempdir",
    "tempfile",
    "Tempfile",
];

/// Names that hold paths, and the user's home.
pub(super) struct Values {
    known: BTreeMap<String, Vec<String>>,
    home: Option<String>,
    arguments: Vec<Option<String>>,
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
    /// Nothing known but the home directory and what the text is handed.
    pub(super) fn new(home: Option<String>, arguments: &[Arg]) -> Self {
        let arguments = arguments.iter().map(|arg| arg.exact().map(str::to_owned)).collect();
        Self { known: BTreeMap::new(), home, arguments }
    }

    /// Takes note of a loop that begins at a token.
    pub(super) fn loops(&mut self, tokens: &[Token], at: usize) {
        if let Some([_, Token::Name(word)]) = tokens.get(at..at + 2)
            && matches!(word.as_str(), "in" | "of")
        {
            self.learn(tokens, at);
        }
    }

    /// Takes note of an assignment or a loop that begins at a token.
    pub(super) fn learn(&mut self, tokens: &[Token], at: usize) {
        let Some(Token::Name(name)) = tokens.get(at) else { return };
        let rest = tokens.get(at + 1..).unwrap_or_default();
        if at > 0 && matches!(tokens.get(at - 1), Some(Token::Name(word)) if word == "as") {
            let from = at.saturating_sub(12);
            let before = tokens.get(from..at).unwrap_or_default();
            let statement = before.rsplit(|t| *t == Token::End).next().unwrap_or_default();
            if statement.iter().any(makes) {
                self.known.insert(name.clone(), vec![FRESH.to_owned()]);
            }
        }
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
            [Token::Name(word), Token::Name(_), ..] if matches!(word.as_str(), "in" | "of") => {
                let value = rest.get(1..).unwrap_or_default();
                let near = value.get(..REACH).unwrap_or(value);
                let found = self.of(near.get(..closed(near)).unwrap_or_default());
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
        if tokens.iter().any(makes) {
            return Some(vec![FRESH.to_owned()]);
        }
        if let [.., Token::Name(name), Token::Sign('('), Token::Sign(')')] = tokens
            && matches!(name.as_str(), "getcwd" | "cwd" | "pwd")
        {
            return Some(vec![".".to_owned()]);
        }
        let mut dotted = false;
        let mut parts: Vec<Vec<String>> = Vec::new();
        let mut glue = "/";
        let mut strings = 0;
        let mut pattern = Globs::No;
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            if let Some((given, after)) = self.argument(rest) {
                strings += 1;
                parts.push(vec![given?]);
                rest = after;
                continue;
            }
            rest = after;
            // `path` may be a module's part and anybody's variable.
            let variable = !std::mem::replace(&mut dotted, *token == Token::Sign('.'));
            let called = matches!(rest.first(), Some(Token::Sign('(')));
            match token {
                Token::Name(name)
                    if variable
                        && !called
                        && self.known.get(name).is_some_and(|v| !v.is_empty()) =>
                {
                    strings += 1;
                    parts.push(self.known.get(name)?.clone());
                }
                Token::Name(name)
                    if matches!(name.as_str(), "glob" | "iglob" | "sorted" | "list") =>
                {
                    pattern = if name.contains("glob") { Globs::Here } else { pattern };
                }
                Token::Name(name) if name == "rglob" => {
                    pattern = Globs::Here;
                    parts.push(vec!["**".to_owned()]);
                }
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
                Token::Sign(_) | Token::Filled(_) | Token::Shell(_) | Token::End => return None,
            }
        }
        // Cap on alternatives: loops over lists that are joined with each other.
        let (first, rest) = parts.split_first().filter(|_| strings > 0)?;
        let mut out = first.clone();
        for part in rest {
            let pairs = out.iter().flat_map(|a| part.iter().map(move |b| joined(a, b, glue)));
            out = pairs.take(64).collect();
        }
        if pattern == Globs::Here {
            out.iter_mut().filter(|one| !one.starts_with(PATTERN)).for_each(|one| {
                one.insert(0, PATTERN);
            });
        }
        Some(out)
    }

    /// `sys.argv[1]`: the argument, when it is known, and what follows.
    fn argument<'t>(&self, tokens: &'t [Token]) -> Option<(Option<String>, &'t [Token])> {
        let [
            Token::Name(sys),
            Token::Sign('.'),
            Token::Name(argv),
            Token::Sign('['),
            Token::Name(number),
            Token::Sign(']'),
            rest @ ..,
        ] = tokens
        else {
            return None;
        };
        let first = match (sys.as_str(), argv.as_str()) {
            ("sys", "argv") => 1,
            ("process", "argv") => 2,
            _ => return None,
        };
        let at = number.parse::<usize>().ok()?.checked_sub(first);
        let given = at.and_then(|at| self.arguments.get(at)).cloned().flatten();
        Some((given, rest))
    }

    fn expanded(&self, text: &str) -> String {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => format!("{home}/{rest}"),
            _ => text.to_owned(),
        }
    }
}

fn makes(token: &Token) -> bool {
    matches!(token, Token::Name(name) if MAKERS.contains(&name.as_str()))
}

/// Whether an expression is a pattern and means what it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Globs {
    /// It is a name.
    No,
    /// It is a pattern.
    Here,
}

/// Where the expression of a loop ends: at a colon, a line end or a bracket not opened in it.
fn closed(tokens: &[Token]) -> usize {
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}' | ':') | Token::End if depth == 0 => return at,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Name(word) if depth == 0 && matches!(word.as_str(), "if" | "for") => return at,
            Token::Name(_)
            | Token::Str(_)
            | Token::Filled(_)
            | Token::Shell(_)
            | Token::Sign(_)
            | Token::End => {}
        }
    }
    tokens.len()
}

fn joined(a: &str, b: &str, glue: &str) -> String {
    match glue {
        "" => format!("{a}{b}"),
        _ if b.starts_with('/') => b.to_owned(),
        glue => format!("{}{glue}{b}", a.trim_end_matches('/')),
    }
}
