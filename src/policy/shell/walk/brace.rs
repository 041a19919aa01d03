//! Brace expansion: `{a,b}`, `{1..3}`. Bounded; what would be too much counts as unknown.

use crate::policy::shell::ast::Part;

/// Words one word may become.
const WORDS: usize = 256;
/// Opening braces one word may hold: each looks ahead for its end.
const OPEN: usize = 200;
/// Pieces that a word with braces may have.
const SYMBOLS: usize = 4096;
/// Braces inside braces.
const DEPTH: usize = 12;

/// A piece of a word while braces are expanded.
#[derive(Debug, Clone)]
pub(super) enum Symbol<'a> {
    /// Unquoted text.
    Bare(String),
    /// Any other part.
    Part(&'a Part),
    /// Unquoted `{`, `,`, `}`.
    Mark(char),
}

type Symbols<'a> = Vec<Symbol<'a>>;

/// What the inside of braces offers.
enum Choices<'a> {
    /// Nothing: they are characters.
    None,
    /// More than is looked at.
    TooMany,
    /// These.
    Words(Vec<Symbols<'a>>),
}

/// The words a word becomes; `None` when there are too many.
pub(super) fn expand(parts: &[Part]) -> Option<Vec<Symbols<'_>>> {
    let symbols = symbols(parts);
    let open = symbols.iter().filter(|symbol| matches!(symbol, Symbol::Mark('{'))).count();
    if open > OPEN || (open > 0 && symbols.len() > SYMBOLS) {
        return None;
    }
    if open == 0 {
        return Some(vec![symbols.into_iter().map(plain).collect()]);
    }
    sequence(&symbols, DEPTH)
}

fn symbols(parts: &[Part]) -> Symbols<'_> {
    let mut symbols = Vec::new();
    for part in parts {
        let Part::Bare(text) = part else {
            symbols.push(Symbol::Part(part));
            continue;
        };
        for run in text.split_inclusive(['{', ',', '}']) {
            let end = run.trim_end_matches(['{', ',', '}']);
            if !end.is_empty() {
                symbols.push(Symbol::Bare(end.to_owned()));
            }
            symbols.extend(run.get(end.len()..).unwrap_or("").chars().map(Symbol::Mark));
        }
    }
    symbols
}

/// A mark that turned out to be a character.
fn plain(symbol: Symbol<'_>) -> Symbol<'_> {
    match symbol {
        Symbol::Mark(c) => Symbol::Bare(c.to_string()),
        Symbol::Bare(_) | Symbol::Part(_) => symbol,
    }
}

fn sequence<'a>(symbols: &[Symbol<'a>], depth: usize) -> Option<Vec<Symbols<'a>>> {
    let mut words: Vec<Symbols<'a>> = vec![Vec::new()];
    let mut rest = symbols;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let group = match first {
            Symbol::Mark('{') => group(tail),
            Symbol::Mark(_) | Symbol::Bare(_) | Symbol::Part(_) => None,
        };
        let choices = group.map_or(Choices::None, |(inner, _)| choices(inner, depth));
        match (choices, group) {
            (Choices::TooMany, _) => return None,
            (Choices::Words(choices), Some((_, behind))) => {
                rest = behind;
                if words.len() * choices.len() > WORDS {
                    return None;
                }
                words = product(&words, &choices);
            }
            (Choices::Words(_) | Choices::None, _) => {
                let symbol = plain(first.clone());
                for word in &mut words {
                    word.push(symbol.clone());
                }
            }
        }
    }
    Some(words)
}

fn product<'a>(words: &[Symbols<'a>], choices: &[Symbols<'a>]) -> Vec<Symbols<'a>> {
    let both = |word: &Symbols<'a>, choice: &Symbols<'a>| [word.as_slice(), choice].concat();
    words.iter().flat_map(|word| choices.iter().map(move |choice| both(word, choice))).collect()
}

/// The inside of a group that was just opened, and what follows its `}`.
fn group<'s, 'a>(symbols: &'s [Symbol<'a>]) -> Option<(&'s [Symbol<'a>], &'s [Symbol<'a>])> {
    let mut open = 1_usize;
    for (at, symbol) in symbols.iter().enumerate() {
        match symbol {
            Symbol::Mark('{') => open += 1,
            Symbol::Mark('}') => open -= 1,
            Symbol::Mark(_) | Symbol::Bare(_) | Symbol::Part(_) => {}
        }
        if open == 0 {
            return Some((symbols.get(..at)?, symbols.get(at + 1..)?));
        }
    }
    None
}

/// What a group's inside offers.
fn choices<'a>(inner: &[Symbol<'a>], depth: usize) -> Choices<'a> {
    let Some(depth) = depth.checked_sub(1) else { return Choices::TooMany };
    let mut pieces: Vec<&[Symbol<'a>]> = Vec::new();
    let (mut open, mut start) = (0_usize, 0);
    for (at, symbol) in inner.iter().enumerate() {
        match symbol {
            Symbol::Mark('{') => open += 1,
            Symbol::Mark('}') => open = open.saturating_sub(1),
            Symbol::Mark(_) if open == 0 => {
                pieces.push(inner.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            Symbol::Mark(_) | Symbol::Bare(_) | Symbol::Part(_) => {}
        }
    }
    if pieces.is_empty() {
        return match inner {
            [Symbol::Bare(text)] => range(text),
            _ => Choices::None,
        };
    }
    pieces.push(inner.get(start..).unwrap_or_default());
    let mut all = Vec::new();
    for piece in pieces {
        let Some(words) = sequence(piece, depth) else { return Choices::TooMany };
        all.extend(words);
        if all.len() > WORDS {
            return Choices::TooMany;
        }
    }
    Choices::Words(all)
}

/// `1..9`, `a..e`, with a step.
fn range<'a>(text: &str) -> Choices<'a> {
    let mut ends = text.split("..");
    let (Some(from), Some(to)) = (ends.next(), ends.next()) else { return Choices::None };
    let step = ends.next().map_or(Some(1), |step| step.parse::<i64>().ok());
    let (Some(step), None) = (step, ends.next()) else { return Choices::None };
    let letter = |end: &str| match end.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let (low, high, letters) = match (from.parse::<i64>(), to.parse::<i64>()) {
        (Ok(low), Ok(high)) => (low, high, false),
        _ => match (letter(from), letter(to)) {
            (Some(low), Some(high)) => (low, high, true),
            _ => return Choices::None,
        },
    };
    let step = step.unsigned_abs().max(1);
    let count = low.abs_diff(high) / step + 1;
    if count > WORDS as u64 {
        return Choices::TooMany;
    }
    let padded = |end: &str| end.trim_start_matches('-').starts_with('0') && end.len() > 1;
    let width = if padded(from) || padded(to) { from.len().max(to.len()) } else { 0 };
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    let step = if low <= high { step } else { -step };
    let word = |n: i64| {
        let value = low.saturating_add(step.saturating_mul(n));
        let letter = u8::try_from(value).ok().filter(|_| letters).map(char::from);
        let text = letter.map_or_else(|| format!("{value:0width$}"), String::from);
        vec![Symbol::Bare(text)]
    };
    Choices::Words((0..i64::try_from(count).unwrap_or(0)).map(word).collect())
}

#[cfg(test)]
mod tests {
    use super::{Symbol, expand};
    use crate::policy::shell::ast::Part;

    fn words(text: &str) -> Option<Vec<String>> {
        let parts = [Part::Bare(text.to_owned())];
        let word = |symbols: Vec<Symbol<'_>>| {
            let text = |symbol| match symbol {
                Symbol::Bare(text) => text,
                Symbol::Part(_) | Symbol::Mark(_) => unreachable!(),
            };
            symbols.into_iter().map(text).collect::<String>()
        };
        expand(&parts).map(|all| all.into_iter().map(word).collect())
    }

    #[test]
    fn braces_expand_as_in_bash() {
        for (text, right) in [
            ("lib/{core,util}.rs", "lib/core.rs lib/util.rs"),
            ("{rm,-rf,x}", "rm -rf x"),
            ("{1..3}", "1 2 3"),
            ("{3..1}", "3 2 1"),
            ("{01..3}", "01 02 03"),
            ("{a..e..2}", "a c e"),
            ("a{b,c{d,e}}f", "abf acdf acef"),
            ("{a,b}{1,2}", "a1 a2 b1 b2"),
            ("stash@{0}", "stash@{0}"),
            ("{a,b", "{a,b"),
            ("{}", "{}"),
            ("a{,b}", "a ab"),
            ("a}{b,c}", "a}b a}c"),
        ] {
            assert_eq!(words(text).unwrap().join(" "), right, "{text}");
        }
        assert_eq!(words("{1..100000}"), None);
        assert_eq!(words(&"{a,b}".repeat(20)), None);
    }
}
