//! Owns what a program runs: the text or the words it hands to a shell or starts, and where.

use super::Act;
use super::lex::Token;
use super::rules::Args;
use super::values::Values;
use crate::policy::shell::HOLE;

/// Text for a shell, or a program with its arguments; in the directory it is told to.
pub(super) fn ran(args: &Args<'_>, values: &Values) -> Vec<Act> {
    let run = running(args, values);
    let Some(dir) = directory(args, values) else { return run };
    let there = |act: Act| {
        let text = if let Act::Run(words) = &act {
            words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        } else if let Act::Shell(text) = act {
            text
        } else {
            return act;
        };
        Act::Shell(format!("cd {dir} && {text}"))
    };
    run.into_iter().map(there).collect()
}

/// A word as a shell takes it; what is not known stays so.
fn quoted(word: &str) -> String {
    if word.contains(HOLE) { HOLE.to_string() } else { shell_words::quote(word).into_owned() }
}

/// The directory of `cwd=…`, quoted.
fn directory(args: &Args<'_>, values: &Values) -> Option<String> {
    let all = args.iter().skip(1).find_map(|tokens| {
        let at = tokens.iter().position(|t| matches!(t, Token::Name(n) if n == "cwd"))?;
        match tokens.get(at + 1..)? {
            [Token::Sign('=' | ':'), value @ ..] => Some(value),
            _ => None,
        }
    })?;
    let end = all.iter().position(|t| matches!(t, Token::Sign(',' | '}'))).unwrap_or(all.len());
    let dir = values.of(all.get(..end)?).into_iter().next();
    Some(dir.map_or_else(|| HOLE.to_string(), |dir| quoted(&dir)))
}

fn running(args: &Args<'_>, values: &Values) -> Vec<Act> {
    // The program must be known, and how many words there are.
    let known = |list: &[Token]| -> Option<Vec<String>> {
        let items = list.split(|t| *t == Token::Sign(',')).filter(|item| !item.is_empty());
        let spread = |item: &[Token]| matches!(item.first(), Some(Token::Sign('*' | '.')));
        let word = |item: &[Token]| match values.of(item).into_iter().next() {
            None if spread(item) => None,
            word => Some(word.unwrap_or_else(|| HOLE.to_string())),
        };
        let words: Option<Vec<String>> = items.map(word).collect();
        words.filter(|words| words.iter().take(2).all(|word| !word.contains(HOLE)))
    };
    let listed = |tokens: &[Token]| match tokens {
        [Token::Sign('['), items @ .., Token::Sign(']')] => known(items),
        _ => None,
    };
    let Some(first) = args.first().map(|tokens| unsplit(tokens)) else { return Vec::new() };
    if let Some(argv) = listed(first) {
        return vec![Act::Run(argv)];
    }
    let Some(text) = values.of(first).into_iter().next() else { return Vec::new() };
    if let Some(rest) = args.get(1).and_then(|tokens| listed(tokens)) {
        return vec![Act::Run(std::iter::once(text).chain(rest).collect())];
    }
    let rest: Vec<String> = args
        .iter()
        .skip(1)
        .filter(|tokens| matches!(tokens, [Token::Str(_)]))
        .flat_map(|tokens| values.of(tokens))
        .collect();
    if rest.is_empty() {
        vec![Act::Shell(text)]
    } else {
        vec![Act::Run(std::iter::once(text).chain(rest).collect())]
    }
}

/// The text of `'text'.split()` and `shlex.split('text')`.
fn unsplit(tokens: &[Token]) -> &[Token] {
    let named = |token: &Token, wanted: &str| matches!(token, Token::Name(name) if name == wanted);
    match tokens {
        [text @ .., Token::Sign('.'), split, Token::Sign('('), Token::Sign(')')]
            if named(split, "split") =>
        {
            text
        }
        [shlex, Token::Sign('.'), split, Token::Sign('('), text @ .., Token::Sign(')')]
            if named(shlex, "shlex") && named(split, "split") =>
        {
            text
        }
        other => other,
    }
}
