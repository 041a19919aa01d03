//! Reads a call: what it does by its name and receiver, and to which of its arguments. A name that
//! means something else on another receiver (`list.remove`) counts only where its row says.

use super::calls::{CALLS, Does, FS, METHODS, On};
use super::lex::Token;
use super::running::ran;
use super::values::Values;
use super::{Act, Language};

/// Tokens of one call that are looked at: text made of open brackets stays linear.
pub(super) const REACH: usize = 4096;

/// What a call named at a token does.
pub(super) fn called(
    tokens: &[Token],
    at: usize,
    name: &str,
    language: Language,
    values: &Values,
) -> Vec<Act> {
    let known = CALLS.iter().any(|(names, _, _)| names.contains(&name));
    if !known && !METHODS.contains(&name) {
        return Vec::new();
    }
    let Some(args) = arguments(tokens, at + 1, language) else { return Vec::new() };
    let receiver = receiver(tokens, at);
    let row = CALLS.iter().find(|(names, _, on)| names.contains(&name) && fits(*on, &receiver));
    if let Some((_, does, on)) = row {
        if language == Language::Python && name == "exec" {
            return act(Does::Code, &args, language, values);
        }
        let found = act(*does, &args, language, values);
        // A name of its own may be anybody's: `copy(x)` is no copy of files unless it says so.
        let sure = !matches!(receiver, Receiver::Bare) || matches!(on, On::Any) || name == "unlink";
        let writes =
            matches!(does, Does::Write | Does::Remove | Does::Rename | Does::Move | Does::Copy);
        let vague = found.is_empty() && sure && writes && args.iter().any(|arg| !arg.is_empty());
        return if vague { vec![Act::Somewhere] } else { found };
    }
    match receiver {
        Receiver::Value(tokens) => method(name, &values.of(tokens), &args, values),
        Receiver::Bare => Vec::new(),
    }
}

/// What stands before the dot of a call.
enum Receiver<'a> {
    Bare,
    Value(&'a [Token]),
}

fn fits(on: On, receiver: &Receiver<'_>) -> bool {
    let stands_on = |names: &[&str]| match receiver {
        Receiver::Bare => false,
        Receiver::Value(tokens) => tokens.iter().rev().any(|token| match token {
            Token::Name(name) | Token::Str(name) => {
                let name = name.trim_start_matches("node:");
                let name = name.strip_prefix("fs/").unwrap_or(name);
                names.contains(&name) || FS.contains(&name) && names.contains(&"fs")
            }
            Token::Filled(_) | Token::Shell(_) | Token::Sign(_) | Token::End => false,
        }),
    };
    match on {
        On::Any => true,
        On::Only(names) => stands_on(names),
        On::Bare(names) => matches!(receiver, Receiver::Bare) || stands_on(names),
    }
}

/// The tokens before the dot, back to where the expression begins.
fn receiver(tokens: &[Token], at: usize) -> Receiver<'_> {
    let before = tokens.get(..at).unwrap_or_default();
    let (end, dots) = match before {
        [.., Token::Sign(':'), Token::Sign(':')] | [.., Token::Sign('-'), Token::Sign('>')] => {
            (at - 2, true)
        }
        [.., Token::Sign('.')] => (at - 1, true),
        _ => (at, false),
    };
    if !dots {
        return Receiver::Bare;
    }
    let mut start = end;
    let mut depth = 0_u32;
    let least = end.saturating_sub(REACH);
    while let Some(token) = start.checked_sub(1).filter(|i| *i >= least).and_then(|i| tokens.get(i))
    {
        let before = start.checked_sub(2).and_then(|i| tokens.get(i));
        let behind = tokens.get(start).filter(|_| start < end);
        let word = |token: &Token| matches!(token, Token::Name(_) | Token::Str(_));
        match token {
            // `in p`, `else p`: another word is another expression; so is what ends in a colon.
            token if depth == 0 && word(token) && behind.is_some_and(word) => break,
            Token::Sign(':')
                if depth == 0
                    && before != Some(&Token::Sign(':'))
                    && behind != Some(&Token::Sign(':')) =>
            {
                break;
            }
            Token::Sign(')' | ']') => depth += 1,
            Token::Sign('(' | '[') if depth == 0 => break,
            Token::Sign('(' | '[') => depth -= 1,
            Token::Name(_) | Token::Str(_) | Token::Sign('.' | ':') => {}
            _ if depth > 0 => {}
            Token::Sign(_) | Token::End | Token::Filled(_) | Token::Shell(_) => break,
        }
        start -= 1;
    }
    Receiver::Value(tokens.get(start..end).unwrap_or_default())
}

/// The arguments of a call.
pub(super) type Args<'a> = Vec<&'a [Token]>;

/// The arguments of a call, in brackets or, where the language allows it, bare.
fn arguments(tokens: &[Token], at: usize, language: Language) -> Option<Args<'_>> {
    let bare = matches!(language, Language::Perl | Language::Ruby);
    let (start, closed) = match tokens.get(at)? {
        Token::Sign('(') => (at + 1, true),
        Token::Str(_) | Token::Name(_) | Token::Sign('$' | '@') if bare => (at, false),
        Token::Name(_)
        | Token::Str(_)
        | Token::Filled(_)
        | Token::Shell(_)
        | Token::Sign(_)
        | Token::End => return None,
    };
    let mut out = Vec::new();
    let (mut depth, mut from, mut end) = (0_u32, start, start);
    while let Some(token) = tokens.get(end).filter(|_| end < start + REACH) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')') if depth == 0 => break,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Sign(',') if depth == 0 => {
                out.push(tokens.get(from..end)?);
                from = end + 1;
            }
            Token::End if !closed => break,
            Token::Name(word) if !closed && matches!(word.as_str(), "or" | "if" | "unless") => {
                break;
            }
            Token::Name(_)
            | Token::Str(_)
            | Token::Filled(_)
            | Token::Shell(_)
            | Token::Sign(_)
            | Token::End => {}
        }
        end += 1;
    }
    out.push(tokens.get(from..end)?);
    Some(out)
}

fn act(does: Does, args: &Args<'_>, language: Language, values: &Values) -> Vec<Act> {
    let nth = |n: usize| args.get(n).map(|tokens| values.of(unnamed(tokens))).unwrap_or_default();
    let pairs = |make: fn(String, String) -> Act| -> Vec<Act> {
        let (from, to) = (nth(0), nth(1));
        from.iter().flat_map(|a| to.iter().map(move |b| make(a.clone(), b.clone()))).collect()
    };
    match does {
        Does::Write => nth(0).into_iter().map(Act::Write).collect(),
        Does::Remove if matches!(language, Language::Perl | Language::Ruby) => {
            args.iter().flat_map(|tokens| values.of(tokens)).map(Act::Remove).collect()
        }
        Does::Remove => nth(0).into_iter().map(Act::Remove).collect(),
        Does::Rename => pairs(Act::Rename),
        Does::Move => pairs(Act::Move),
        Does::Copy => pairs(Act::Copy),
        Does::Open => opened(args, language, values),
        Does::Run => ran(args, values),
        Does::Code => nth(0).into_iter().map(Act::Code).collect(),
        Does::Enter => nth(0).into_iter().take(1).map(Act::Enter).collect(),
        Does::InPlace => {
            let asks = |tokens: &&[Token]| matches!(tokens, [Token::Name(n), ..] if n == "inplace");
            let rewrites = args.iter().any(asks);
            let files = if rewrites { nth(0) } else { Vec::new() };
            files.into_iter().map(Act::Write).collect()
        }
    }
}

/// An argument without its name (`file=…`).
fn unnamed(tokens: &[Token]) -> &[Token] {
    match tokens {
        [Token::Name(_), Token::Sign('='), rest @ ..]
            if rest.first() != Some(&Token::Sign('=')) =>
        {
            rest
        }
        all => all,
    }
}

/// The files an argument names; what it computes is somewhere.
fn written(files: Vec<String>) -> Vec<Act> {
    if files.is_empty() {
        return vec![Act::Somewhere];
    }
    files.into_iter().map(Act::Write).collect()
}

/// Files opened for writing; perl has the mode before the name, or glued to it.
fn opened(args: &Args<'_>, language: Language, values: &Values) -> Vec<Act> {
    if language == Language::Perl {
        let text = args.get(1).map(|tokens| values.of(tokens)).unwrap_or_default();
        let writes =
            text.first().is_some_and(|mode| mode.starts_with(['>', '+']) || mode.ends_with("+<"));
        return match args.get(2) {
            Some(file) if writes => written(values.of(file)),
            None if writes => text
                .iter()
                .map(|t| t.trim_start_matches(['>', '+', ' ']).to_owned())
                .filter(|t| !t.is_empty())
                .map(Act::Write)
                .collect(),
            Some(_) | None => Vec::new(),
        };
    }
    let mode = args.iter().skip(1).find_map(|tokens| match tokens {
        [Token::Str(mode)] => Some(mode),
        [Token::Name(name), Token::Sign('='), Token::Str(mode)] if name == "mode" => Some(mode),
        _ => None,
    });
    let flags = args.get(1).is_some_and(|tokens| {
        let wanted = ["O_WRONLY", "O_RDWR", "O_TRUNC", "O_CREAT", "O_APPEND"];
        tokens.iter().any(|t| matches!(t, Token::Name(n) if wanted.contains(&n.as_str())))
    });
    let writes = mode.is_some_and(|m| m.len() <= 4 && m.contains(['w', 'a', 'x', '+', 'c']));
    if !writes && !flags {
        return Vec::new();
    }
    written(args.first().map(|tokens| values.of(unnamed(tokens))).unwrap_or_default())
}

/// Methods of a path that is known.
fn method(name: &str, receiver: &[String], args: &Args<'_>, values: &Values) -> Vec<Act> {
    let to = || args.first().map(|tokens| values.of(tokens)).unwrap_or_default();
    let plain = |arg: &&[Token]| {
        !matches!(arg.first(), None | Some(Token::Sign('{'))) && !arg.contains(&Token::Sign('='))
    };
    let computed = receiver.is_empty()
        && match name {
            "rename" | "replace" => args.len() == 1 && args.iter().all(plain),
            "write_text" | "write_bytes" | "touch" | "unlink" | "rmtree" => true,
            _ => false,
        };
    if computed {
        return vec![Act::Somewhere];
    }
    let all = |make: fn(String) -> Act| receiver.iter().cloned().map(make).collect::<Vec<_>>();
    match name {
        "write_text" | "write_bytes" | "touch" => all(Act::Write),
        "unlink" | "rmtree" => all(Act::Remove),
        "rename" | "replace" if args.len() == 1 => {
            let pair = |a: &String| to().first().map(|b| Act::Rename(a.clone(), b.clone()));
            receiver.iter().filter_map(pair).collect()
        }
        "open" => {
            let mode = args.first().and_then(|tokens| match tokens {
                [Token::Str(mode)] | [Token::Name(_), Token::Sign('='), Token::Str(mode)] => {
                    Some(mode)
                }
                _ => None,
            });
            let writes = mode.is_some_and(|m| m.len() <= 4 && m.contains(['w', 'a', 'x', '+']));
            if writes { written(receiver.to_vec()) } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
