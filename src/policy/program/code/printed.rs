//! Owns what awk's own statements write and run: `print > FILE`, `print | COMMAND`,
//! `COMMAND | getline`.

use super::Act;
use super::lex::Token;
use super::rules::REACH;
use super::values::Values;

/// What awk's `print` at a token goes into.
pub(super) fn printed(tokens: &[Token], at: usize, name: &str, values: &Values) -> Vec<Act> {
    if !matches!(name, "print" | "printf") {
        return Vec::new();
    }
    let rest = tokens.get(at + 1..).unwrap_or_default();
    let rest = rest.get(..REACH).unwrap_or(rest);
    let end = rest.iter().position(|t| matches!(t, Token::End | Token::Sign('}')));
    let body = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let known = |last: &Token| values.of(std::slice::from_ref(last));
    match body {
        [.., Token::Sign('>'), last @ (Token::Str(_) | Token::Name(_))] => {
            let real = |file: &String| !file.starts_with("/dev/");
            let files = known(last);
            let vague = files.is_empty() && matches!(last, Token::Name(name) if name != "FILENAME");
            let written = files.into_iter().filter(real).map(Act::Write);
            written.chain(vague.then_some(Act::Somewhere)).collect()
        }
        body if body.windows(2).any(|two| *two == [Token::Sign('>'), Token::Sign('(')]) => {
            vec![Act::Somewhere]
        }
        // What is printed into a shell is run.
        [Token::Str(text), Token::Sign('|'), Token::Str(shell)]
            if matches!(shell.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash") =>
        {
            vec![Act::Shell(text.clone())]
        }
        [.., Token::Sign('|' | '&'), last @ (Token::Str(_) | Token::Name(_))] => {
            known(last).into_iter().map(Act::Shell).collect()
        }
        _ => Vec::new(),
    }
}

/// What awk's `COMMAND | getline` runs, seen from `getline`.
pub(super) fn piped(tokens: &[Token], at: usize, name: &str, values: &Values) -> Vec<Act> {
    let before = tokens.get(..at).unwrap_or_default();
    match before {
        [.., command, Token::Sign('|')] if name == "getline" => {
            values.of(std::slice::from_ref(command)).into_iter().map(Act::Shell).collect()
        }
        [.., command, Token::Sign('|'), Token::Sign('&')] if name == "getline" => {
            values.of(std::slice::from_ref(command)).into_iter().map(Act::Shell).collect()
        }
        _ => Vec::new(),
    }
}
