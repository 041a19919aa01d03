//! One settings file as values: TOML text in, checked values with their places out, or every
//! problem with line, column and the nearest right key. Pure; merges nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::rows::{Kind, ROWS, Row, find};

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word of the row's choices.
    Choice(&'static str),
    /// `true` or `false`.
    Flag(bool),
    /// A whole number within the row's bounds.
    Number(u64),
    /// Free text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(word) => write!(f, "{word:?}"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(list) => write!(f, "{list:?}"),
        }
    }
}

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The value.
    pub value: Value,
    /// First line is 1.
    pub line: usize,
    /// First column is 1.
    pub column: usize,
}

/// The values of one file by key.
pub type Layer = BTreeMap<&'static str, Placed>;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// First line is 1.
    pub line: usize,
    /// First column is 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Reads a settings file.
pub fn parse(text: &str) -> Result<Layer, Vec<Problem>> {
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(why) => {
            let span = why.span().unwrap_or_default();
            return Err(vec![problem(text, &span, why.message().to_owned())]);
        }
    };
    let mut reader = Reader { text, layer: Layer::new(), problems: Vec::new() };
    reader.table("", &table);
    if reader.problems.is_empty() { Ok(reader.layer) } else { Err(reader.problems) }
}

struct Reader<'a> {
    text: &'a str,
    layer: Layer,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable) {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let inner = format!("{key}.");
            if ROWS.iter().any(|row| row.key.starts_with(&inner)) {
                if let DeValue::Table(table) = value.get_ref() {
                    self.table(&inner, table);
                } else {
                    let message = format!("`{key}` is a table: write [{key}] and its keys below");
                    self.problems.push(problem(self.text, &value.span(), message));
                }
                continue;
            }
            let Some(row) = find(&key) else {
                let hint = nearest(&key, ROWS.iter().map(|row| row.key));
                let hint = hint.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
                let message = format!("there is no setting `{key}`{hint}");
                self.problems.push(problem(self.text, &name.span(), message));
                continue;
            };
            match value_of(row, value.get_ref()) {
                Ok(value_here) => {
                    let (line, column) = place(self.text, value.span().start);
                    self.layer.insert(row.key, Placed { value: value_here, line, column });
                }
                Err(message) => {
                    let message = format!("`{key}` {message}");
                    self.problems.push(problem(self.text, &value.span(), message));
                }
            }
        }
    }
}

fn problem(text: &str, span: &Range<usize>, message: String) -> Problem {
    let (line, column) = place(text, span.start);
    Problem { line, column, message }
}

fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).map_or(0, |line| line.chars().count());
    (before.matches('\n').count() + 1, column + 1)
}

/// A value from outside a file (an environment variable, a flag), by the same rules.
pub(super) fn value_of_word(row: &Row, word: &str) -> Result<Value, String> {
    value_of(row, &DeValue::String(word.into()))
}

/// A row's default, which stands in the table as TOML.
pub(super) fn value_of_default(row: &Row) -> Option<Value> {
    let value = DeValue::parse(row.default).ok()?;
    value_of(row, value.get_ref()).ok()
}

fn value_of(row: &Row, value: &DeValue) -> Result<Value, String> {
    match row.kind {
        Kind::Choice(words) => {
            let wanted = || format!("is one of {}", words.join(", "));
            let text = value.as_str().ok_or_else(wanted)?;
            let known = words.iter().find(|word| **word == text);
            known.map(|word| Value::Choice(word)).ok_or_else(|| {
                let near = nearest(text, words.iter().copied());
                let near = near.map(|near| format!(" (did you mean \"{near}\"?)"));
                format!("{}, not \"{text}\"{}", wanted(), near.unwrap_or_default())
            })
        }
        Kind::Flag => value.as_bool().map(Value::Flag).ok_or("is true or false".to_owned()),
        Kind::Number { min, max } => value
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok())
            .filter(|number| (min..=max).contains(number))
            .map(Value::Number)
            .ok_or_else(|| format!("is a whole number from {min} to {max}")),
        Kind::Text => text_of(value).map(Value::Text).ok_or("is text on one line".to_owned()),
        Kind::List => value
            .as_array()
            .and_then(|list| list.iter().map(|item| text_of(item.get_ref())).collect())
            .map(Value::List)
            .ok_or("is a list of texts".to_owned()),
    }
}

fn text_of(value: &DeValue) -> Option<String> {
    value.as_str().filter(|text| !text.chars().any(char::is_control)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Problem {
        parse(text).unwrap_err().remove(0)
    }

    #[test]
    fn values_are_read_with_their_lines() {
        let text = "isolation = \"off\"\n\n[worktree]\nports = 0x10\ncopy = [\".env\"]\n";
        let layer = parse(text).unwrap();
        assert_eq!(layer["isolation"].value, Value::Choice("off"));
        assert_eq!(layer["worktree.ports"].value, Value::Number(16));
        assert_eq!((layer["worktree.ports"].line, layer["worktree.ports"].column), (4, 9));
        assert_eq!(layer["worktree.copy"].value, Value::List(vec![".env".to_owned()]));
    }

    #[test]
    fn an_unknown_key_names_its_place_and_the_nearest_right_one() {
        let wrong = first("# é\nlease_secnds = 900\n");
        assert_eq!((wrong.line, wrong.column), (2, 1));
        assert!(wrong.message.contains("`lease_seconds`"), "{wrong}");
        assert!(first("location = \"x\"").message.contains("`worktree.location`"));
        assert!(!first("colour = 1").message.contains("did you mean"));
        assert!(first("[worktre]\nbase = \"x\"").message.contains("worktre"));
    }

    #[test]
    fn a_wrong_value_says_what_would_be_right() {
        for (text, place, word) in [
            ("isolation = \"of\"", (1, 13), "did you mean \"off\""),
            ("isolation = false", (1, 13), "off, auto, always"),
            ("lease_seconds = 59", (1, 17), "60"),
            ("lease_seconds = -1", (1, 17), "60"),
            ("lease_seconds = \"900\"", (1, 17), "whole number"),
            ("require = \"yes\"", (1, 11), "true or false"),
            ("broad_stagers = \"ai-push\"", (1, 17), "list"),
            ("broad_stagers = [1]", (1, 17), "list"),
            ("worktree = \"x\"", (1, 12), "[worktree]"),
            ("a = = 1", (1, 5), ""),
            ("land = \"ask\"\nland = \"pr\"", (2, 1), "duplicate"),
        ] {
            let wrong = first(text);
            assert_eq!((wrong.line, wrong.column), place, "{text}: {wrong}");
            assert!(wrong.message.contains(word), "{text}: {wrong}");
        }
    }

    #[test]
    fn all_problems_are_told_at_once() {
        assert_eq!(parse("a = 1\nland = 2\nb = 3").unwrap_err().len(), 3);
    }
}
