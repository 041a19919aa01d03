//! Shell patterns: `*`, `?`, `[…]`. An extended pattern counts as `*`, which matches more than it
//! does: more to protect, never less.

/// A character and whether it is a live pattern character, not a quoted one.
pub(super) type Glyphs = Vec<(char, bool)>;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(in crate::policy::shell) struct Pattern {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone)]
enum Token {
    Char(char),
    One,
    Many,
    Set {
        not: bool,
        ranges: Vec<(char, char)>,
    },
    /// A class that is not evaluated (`[[:alpha:]]`).
    Some,
}

impl Pattern {
    /// A pattern in which every character is live, `\` quotes the next.
    pub(in crate::policy::shell) fn live(text: &str) -> Self {
        let mut glyphs = Glyphs::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => glyphs.extend(chars.next().map(|c| (c, false))),
                c => glyphs.push((c, true)),
            }
        }
        Self::new(&glyphs)
    }

    /// Compiles characters.
    pub(super) fn new(glyphs: &[(char, bool)]) -> Self {
        let mut tokens = Vec::new();
        let mut rest = glyphs;
        // A bracket that never closes is looked for once in a component.
        let mut unclosed = false;
        while let [(c, live), tail @ ..] = rest {
            rest = tail;
            unclosed &= *c != '/';
            let extended = matches!(tail, [('(', true), ..]);
            let token = match (c, live) {
                ('?' | '*' | '+' | '@' | '!', true) if extended => {
                    rest = behind_group(tail);
                    Token::Many
                }
                ('*', true) => Token::Many,
                ('?', true) => Token::One,
                ('[', true) if !unclosed => {
                    let found = set(tail);
                    unclosed = found.is_none();
                    let (token, behind) = found.unwrap_or((Token::Char('['), tail));
                    rest = behind;
                    token
                }
                (c, _) => Token::Char(*c),
            };
            tokens.push(token);
        }
        Self { tokens }
    }

    /// True when it can match more than one text.
    pub(super) fn is_wild(&self) -> bool {
        !self.tokens.iter().all(|token| matches!(token, Token::Char(_)))
    }

    /// True for `**`.
    pub(super) fn is_everything(&self) -> bool {
        matches!(self.tokens.as_slice(), [Token::Many, Token::Many])
    }

    /// The text it matches, when it is one.
    pub(super) fn literal(&self) -> String {
        let char = |token: &Token| match token {
            Token::Char(c) => Some(*c),
            Token::One | Token::Many | Token::Set { .. } | Token::Some => None,
        };
        self.tokens.iter().filter_map(char).collect()
    }

    /// True when the pattern itself begins with a dot (only then hidden names match).
    pub(super) fn names_dot(&self) -> bool {
        matches!(self.tokens.first(), Some(Token::Char('.')))
    }

    /// True when the whole text matches. Remembers only the last `*`: linear in practice, never
    /// worse than length times length.
    pub(in crate::policy::shell) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut token, mut at) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        loop {
            match (self.tokens.get(token), text.get(at)) {
                (None, None) => return true,
                (Some(Token::Many), _) => {
                    star = Some((token, at));
                    token += 1;
                    continue;
                }
                (Some(one), Some(c)) if one.takes(*c) => {
                    token += 1;
                    at += 1;
                    continue;
                }
                _ => {}
            }
            match star {
                Some((back, from)) if from < text.len() => {
                    star = Some((back, from + 1));
                    token = back + 1;
                    at = from + 1;
                }
                _ => return false,
            }
        }
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::One | Self::Some | Self::Many => true,
            Self::Set { not, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *not
            }
        }
    }
}

/// What follows a bracketed group of an extended pattern.
fn behind_group(glyphs: &[(char, bool)]) -> &[(char, bool)] {
    let mut open = 0_usize;
    let mut rest = glyphs;
    while let [(c, live), tail @ ..] = rest {
        rest = tail;
        match (c, live) {
            ('(', true) => open += 1,
            (')', true) => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            break;
        }
    }
    rest
}

/// A `[…]` set, standing behind its bracket; `None` when it never closes.
fn set(glyphs: &[(char, bool)]) -> Option<(Token, &[(char, bool)])> {
    let (not, mut rest) = match glyphs {
        [('!' | '^', _), tail @ ..] => (true, tail),
        _ => (false, glyphs),
    };
    let mut ranges = Vec::new();
    let mut named = false;
    let mut first = true;
    loop {
        match rest {
            [] | [('/', _), ..] => return None,
            [(']', _), tail @ ..] if !first => {
                let token = if named { Token::Some } else { Token::Set { not, ranges } };
                return Some((token, tail));
            }
            [('[', _), (':' | '.' | '=', _), tail @ ..] => {
                let end = tail.iter().position(|(c, _)| *c == ']')?;
                rest = tail.get(end + 1..)?;
                named = true;
            }
            [(low, _), ('-', _), (high, _), tail @ ..] if *high != ']' => {
                ranges.push((*low, *high));
                rest = tail;
            }
            [(c, _), tail @ ..] => {
                ranges.push((*c, *c));
                rest = tail;
            }
        }
        first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_match_as_in_bash() {
        for (pattern, text, right) in [
            ("*.rs", "core.rs", true),
            ("*.rs", ".rs", true),
            ("?ore.rs", "core.rs", true),
            ("[a-c]ore*", "core.rs", true),
            ("[!a-c]ore*", "core.rs", false),
            ("[[:alpha:]]ore*", "core.rs", true),
            ("[", "[", true),
            ("a[b", "a[b", true),
            ("[]x]", "]", true),
            (r"\*", "x", false),
            (r"\*", "*", true),
            ("@(core|util).rs", "core.rs", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("*a*b*c*", "xxaxxcxxbxx", false),
            ("", "", true),
        ] {
            assert_eq!(Pattern::live(pattern).matches(text), right, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = Pattern::live(&format!("{}b", "*a".repeat(60)));
        assert!(!pattern.matches(&"a".repeat(3000)));
    }
}
