//! Owns cutting program text into names, strings and signs, as far as five languages agree. Must
//! never call a string known that the program fills in when it runs.

use super::Language;
use crate::policy::shell::HOLE;

/// A piece of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or number.
    Name(String),
    /// A string that is known.
    Str(String),
    /// A string that is filled in at run time, up to where that begins.
    Filled(String),
    /// Text between backquotes that a shell runs.
    Shell(String),
    /// Any other character.
    Sign(char),
    /// The end of a statement.
    End,
}

struct Lexer {
    text: Vec<char>,
    at: usize,
    language: Language,
}

/// Cuts a text; brackets keep line ends from ending a statement.
pub(super) fn tokens(text: &str, language: Language) -> Vec<Token> {
    let mut lexer = Lexer { text: text.chars().collect(), at: 0, language };
    let mut out = Vec::new();
    let mut depth = 0_u32;
    while let Some(c) = lexer.peek() {
        match c {
            '\n' if depth == 0 => out.push(Token::End),
            ';' => out.push(Token::End),
            c if c.is_whitespace() => {}
            c if lexer.comment(c) => {
                lexer.skip_comment(c);
                continue;
            }
            '"' | '\'' => {
                let token = lexer.string(c, raw(out.last()), formatted(out.last(), language));
                if prefixes(out.last()) {
                    out.pop();
                }
                out.push(token);
                continue;
            }
            '`' => {
                let token = lexer.string('`', false, true);
                out.push(match (token, language) {
                    (token, Language::Node) => token,
                    (Token::Str(text), _) => Token::Shell(text),
                    (token, _) => token,
                });
                continue;
            }
            '%' if lexer.ahead(1) == Some('x') && lexer.commands() => {
                lexer.at += 2;
                out.push(lexer.quoted("qx"));
                continue;
            }
            c if c.is_alphanumeric() || c == '_' => {
                let name = lexer.name();
                out.push(if lexer.quotes(&name) { lexer.quoted(&name) } else { Token::Name(name) });
                continue;
            }
            c => {
                match c {
                    '(' | '[' => depth += 1,
                    ')' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                out.push(Token::Sign(c));
            }
        }
        lexer.at += 1;
    }
    out.push(Token::End);
    out
}

/// What ends a quote that a sign opens.
fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        '<' => Some('>'),
        '/' | '|' | '!' | '#' | '~' => Some(open),
        _ => None,
    }
}

/// Letters that stand directly before a string and belong to it.
fn prefixes(last: Option<&Token>) -> bool {
    matches!(last, Some(Token::Name(name)) if name.len() <= 2
        && name.chars().all(|c| "rRbBfFuU".contains(c)))
}

fn raw(last: Option<&Token>) -> bool {
    prefixes(last) && matches!(last, Some(Token::Name(name)) if name.contains(['r', 'R']))
}

fn formatted(last: Option<&Token>, language: Language) -> bool {
    let marked = matches!(last, Some(Token::Name(name)) if name.contains(['f', 'F']));
    match language {
        Language::Python => prefixes(last) && marked,
        Language::Perl | Language::Ruby | Language::Php => true,
        Language::Node | Language::Awk => false,
    }
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<char> {
        self.text.get(self.at + n).copied()
    }

    fn comment(&self, c: char) -> bool {
        let slashes = c == '/' && matches!(self.ahead(1), Some('/' | '*'));
        match self.language {
            Language::Node => slashes,
            Language::Php => slashes || c == '#',
            Language::Python | Language::Ruby | Language::Perl | Language::Awk => {
                c == '#' && !(self.at > 0 && self.text.get(self.at - 1) == Some(&'$'))
            }
        }
    }

    fn skip_comment(&mut self, c: char) {
        let block = c == '/' && self.ahead(1) == Some('*');
        self.at += 1;
        while let Some(c) = self.peek() {
            match (block, c) {
                (false, '\n') => return,
                (true, '*') if self.ahead(1) == Some('/') => {
                    self.at += 2;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn name(&mut self) -> String {
        let mut out = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_alphanumeric() || *c == '_') {
            out.push(c);
            self.at += 1;
        }
        out
    }

    /// Ruby's `%x(…)`.
    fn commands(&self) -> bool {
        self.language == Language::Ruby && self.ahead(2).is_some_and(|c| closing(c).is_some())
    }

    /// Whether a name is one of perl's quotes (`q(…)`, `qw/…/`).
    fn quotes(&self, name: &str) -> bool {
        self.language == Language::Perl
            && matches!(name, "q" | "qq" | "qw" | "qx")
            && self.peek().is_some_and(|c| closing(c).is_some())
    }

    /// What stands between such quotes.
    fn quoted(&mut self, name: &str) -> Token {
        let Some(close) = self.peek().and_then(closing) else { return Token::End };
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == close {
                break;
            }
            text.push(c);
        }
        let filled = name != "q" && name != "qw" && text.contains(['$', '@', HOLE]);
        match name {
            "qx" => Token::Shell(text),
            _ if filled => Token::Filled(String::new()),
            _ => Token::Str(text),
        }
    }

    /// A string from its opening quote on.
    fn string(&mut self, quote: char, raw: bool, fills: bool) -> Token {
        let triple = self.language == Language::Python
            && self.ahead(1) == Some(quote)
            && self.ahead(2) == Some(quote);
        let fills = fills && (quote != '\'' || self.language == Language::Python);
        self.at += if triple { 3 } else { 1 };
        let (mut out, mut known) = (String::new(), None);
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '\\' if !raw => {
                    if let Some(c) = self.escape(quote) {
                        out.push(c);
                    }
                }
                c if c == quote && !triple => break,
                c if c == quote && self.peek() == Some(quote) && self.ahead(1) == Some(quote) => {
                    self.at += 2;
                    break;
                }
                c => {
                    if known.is_none() && (c == HOLE || (fills && self.fills(c))) {
                        known = Some(out.clone());
                    }
                    out.push(c);
                }
            }
        }
        known.map_or(Token::Str(out), Token::Filled)
    }

    fn fills(&self, c: char) -> bool {
        match self.language {
            Language::Python => c == '{',
            Language::Node => c == '$' && self.peek() == Some('{'),
            Language::Ruby => c == '#' && self.peek() == Some('{'),
            Language::Perl | Language::Php => c == '$' || c == '@',
            Language::Awk => false,
        }
    }

    fn escape(&mut self, quote: char) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        match c {
            'n' if quote != '\'' || self.language == Language::Python => Some('\n'),
            't' => Some('\t'),
            '\n' => None,
            other => Some(other),
        }
    }
}
