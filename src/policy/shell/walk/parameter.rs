//! `$x` and `${x…}` as far as values are known.

use super::Walker;
use super::pattern::{Glyphs, Pattern};
use super::state::{Value, Variable};
use crate::policy::shell::ast::{Action, Empty, Parameter, Part, Quote, Reach, Word};
use crate::policy::shell::text::Text;

/// Bytes of a value that operators work on.
const VALUE: usize = 4096;

/// What `$$` is taken for.
const OWN_NUMBER: &str = "4194305";

/// What a parameter expands to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expanded {
    /// One text.
    Scalar(Text),
    /// Several (`$@`, `${a[@]}`).
    List(Vec<Text>),
    /// It is unset.
    Nothing,
}

impl Expanded {
    fn any() -> Self {
        Self::Scalar(Text::any())
    }

    /// How much a copy of it costs.
    fn weight(&self) -> usize {
        let texts = match self {
            Self::Scalar(text) => std::slice::from_ref(text),
            Self::List(list) => list.as_slice(),
            Self::Nothing => &[],
        };
        texts.iter().map(|text| text.size() / 16).sum()
    }

    /// What it costs to try a pattern at every place of it.
    fn tries(&self) -> usize {
        let square = |text: &Text| text.size().min(VALUE).pow(2) / 64;
        match self {
            Self::Scalar(text) => square(text),
            Self::List(list) => list.iter().map(square).sum(),
            Self::Nothing => 0,
        }
    }
}

impl Walker<'_> {
    /// What a variable holds.
    pub(super) fn variable(&self, name: &str) -> Value {
        if self.state.twisted.contains(name) {
            return Value::Unknown;
        }
        if let Some(Variable { value, .. }) = self.state.variables.get(name) {
            return value.clone();
        }
        match name {
            "PWD" => return Value::Scalar(self.here_text()),
            "OLDPWD" => return Value::Scalar(Self::directory_text(self.state.back.as_ref())),
            "IFS" => return Value::Scalar(Text::known(" \t\n")),
            _ => {}
        }
        if let Some(value) = self.world.var(name) {
            return Value::Scalar(Text::known(&super::outside(&value)));
        }
        // Where it is not set the usual place is meant, and that is nobody's work.
        if matches!(name, "TMPDIR" | "TMP" | "TEMP") {
            return Value::Unset;
        }
        // A runner's own files, made for each step.
        if matches!(name, "GITHUB_ENV" | "GITHUB_OUTPUT" | "GITHUB_PATH" | "GITHUB_STEP_SUMMARY") {
            return Value::Scalar(Text::fresh());
        }
        match self.world.home() {
            Some(home) if name == "HOME" => Value::Scalar(Text::known(&home)),
            _ => Value::Unknown,
        }
    }

    fn parameter_value(&self, name: &str, quote: Quote) -> Expanded {
        match name {
            "@" | "*" => match &self.state.arguments {
                Some(all) if name == "*" && quote == Quote::Quoted => {
                    Expanded::Scalar(self.starred(all))
                }
                Some(all) => Expanded::List(all.clone()),
                None => Expanded::any(),
            },
            "#" => match &self.state.arguments {
                Some(all) => Expanded::Scalar(Text::known(&all.len().to_string())),
                None => Expanded::any(),
            },
            "0" => Expanded::Scalar(self.state.zero.clone()),
            // No process has this number: a name made of it is new, and the same each time.
            "$" => Expanded::Scalar(Text::known(OWN_NUMBER)),
            "?" | "!" | "-" | "_" | "" => Expanded::any(),
            name if name.bytes().all(|b| b.is_ascii_digit()) => {
                match (&self.state.arguments, name.parse::<usize>()) {
                    (Some(all), Ok(at)) => match all.get(at.saturating_sub(1)) {
                        Some(text) => Expanded::Scalar(text.clone()),
                        None => Expanded::Nothing,
                    },
                    _ => Expanded::any(),
                }
            }
            name => match self.variable(name) {
                Value::Scalar(text) => Expanded::Scalar(text),
                Value::List(list) => {
                    list.first().cloned().map_or(Expanded::Nothing, Expanded::Scalar)
                }
                Value::Unset => Expanded::Nothing,
                Value::Unknown => Expanded::any(),
            },
        }
    }

    /// An element or all of an array.
    fn element(&mut self, parameter: &Parameter, subscript: &Word, quote: Quote) -> Expanded {
        let at = self.value(subscript);
        let value = self.variable(&parameter.name);
        self.afford(value.weight());
        match (at.exact(), value) {
            (Some("*"), Value::List(list)) if quote == Quote::Quoted => {
                Expanded::Scalar(self.starred(&list))
            }
            (Some("@" | "*"), Value::List(list)) => Expanded::List(list),
            (Some("@" | "*" | "0"), Value::Scalar(text)) => Expanded::Scalar(text),
            (_, Value::Unset) => Expanded::Nothing,
            (Some(at), Value::List(list)) => match at.parse::<usize>() {
                Ok(at) => list.get(at).cloned().map_or(Expanded::Nothing, Expanded::Scalar),
                Err(_) => Expanded::any(),
            },
            _ => Expanded::any(),
        }
    }

    /// Expands a parameter; whatever its words run is walked too.
    pub(super) fn parameter(&mut self, parameter: &Parameter, quote: Quote) -> Expanded {
        let before = match &parameter.subscript {
            Some(subscript) => self.element(parameter, subscript, quote),
            None => self.parameter_value(&parameter.name, quote),
        };
        self.afford(before.weight());
        if parameter.action == Action::Value {
            return before;
        }
        let word = self.value(&parameter.word);
        match parameter.action {
            Action::Value => before,
            Action::Length => length(&before),
            Action::Indirect => self.indirect(parameter, &before, quote),
            Action::Default(empty) | Action::Require(empty) => choose(before, empty, word),
            Action::Assign(empty) => {
                let chosen = choose(before, empty, word);
                if let Expanded::Scalar(text) = &chosen {
                    self.assign(&parameter.name, Value::Scalar(text.clone()));
                }
                chosen
            }
            Action::Alternate(empty) => match is_set(&before, empty) {
                Some(true) => Expanded::Scalar(word),
                Some(false) => Expanded::Scalar(Text::default()),
                None => Expanded::any(),
            },
            Action::CutFront(_) | Action::CutBack(_) if !self.afford(before.tries()) => {
                Expanded::any()
            }
            Action::CutFront(reach) => {
                let pattern = self.pattern(&parameter.word);
                each(before, |text| cut_front(text, pattern.as_ref(), reach))
            }
            Action::CutBack(reach) => {
                let pattern = self.pattern(&parameter.word);
                each(before, |text| cut_back(text, pattern.as_ref(), reach))
            }
            Action::Replace => match replacement(&parameter.word) {
                Some((wanted, new)) => each(before, |text| Some(text.replace(&wanted, &new))),
                None => Expanded::any(),
            },
            Action::Slice => slice(&before, word.exact()),
            Action::Change => change(&before, word.exact()),
        }
    }

    fn indirect(&mut self, parameter: &Parameter, value: &Expanded, quote: Quote) -> Expanded {
        let plain = parameter.word.parts.is_empty() && parameter.subscript.is_none();
        match value {
            Expanded::Scalar(name) if plain => match name.exact() {
                Some(name) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
                    self.parameter_value(name, quote)
                }
                _ => Expanded::any(),
            },
            Expanded::Scalar(_) | Expanded::List(_) | Expanded::Nothing => Expanded::any(),
        }
    }

    /// An operator's word as a pattern.
    fn pattern(&mut self, word: &Word) -> Option<Pattern> {
        let mut glyphs = Glyphs::new();
        for part in &word.parts {
            let live = matches!(part, Part::Bare(_));
            let one = Word { parts: Vec::new() };
            let text = match part {
                Part::Bare(text) | Part::Quoted(text) => Text::known(text),
                Part::Parameter(parameter, quote) => match self.parameter(parameter, *quote) {
                    Expanded::Scalar(text) => text,
                    Expanded::List(_) | Expanded::Nothing => self.value(&one),
                },
                Part::Command(..) | Part::Process(..) | Part::Arithmetic(_) => return None,
            };
            glyphs.extend(text.exact()?.chars().map(|c| (c, live)));
        }
        Some(Pattern::new(&glyphs))
    }
}

/// Whether a value counts as set; `None` when that is not known.
fn is_set(value: &Expanded, empty: Empty) -> Option<bool> {
    match value {
        Expanded::Nothing => Some(false),
        Expanded::List(list) if list.is_empty() => Some(false),
        Expanded::List(_) => Some(true),
        Expanded::Scalar(text) => match (text.exact(), empty) {
            (Some(""), Empty::IsUnset) => Some(false),
            (Some(_), _) => Some(true),
            (None, _) if text.pieces() != [crate::policy::shell::Piece::Any] => Some(true),
            (None, _) => None,
        },
    }
}

fn choose(value: Expanded, empty: Empty, word: Text) -> Expanded {
    match is_set(&value, empty) {
        Some(true) => value,
        Some(false) => Expanded::Scalar(word),
        None => Expanded::any(),
    }
}

fn length(value: &Expanded) -> Expanded {
    match value {
        Expanded::Scalar(text) => match text.exact() {
            Some(text) => Expanded::Scalar(Text::known(&text.chars().count().to_string())),
            None => Expanded::any(),
        },
        Expanded::List(list) => Expanded::Scalar(Text::known(&list.len().to_string())),
        Expanded::Nothing => Expanded::Scalar(Text::known("0")),
    }
}

/// Applies an operator to every known text.
fn each(value: Expanded, operator: impl Fn(&str) -> Option<String>) -> Expanded {
    let one = |text: &Text| {
        let known = text.exact().filter(|text| text.len() <= VALUE);
        known.and_then(&operator).map_or_else(Text::any, |text| Text::known(&text))
    };
    match value {
        Expanded::Scalar(text) => Expanded::Scalar(one(&text)),
        Expanded::List(list) => Expanded::List(list.iter().map(one).collect()),
        Expanded::Nothing => Expanded::Nothing,
    }
}

fn cut_front(text: &str, pattern: Option<&Pattern>, reach: Reach) -> Option<String> {
    let pattern = pattern?;
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    ends.push(text.len());
    if reach == Reach::Longest {
        ends.reverse();
    }
    let end = ends.into_iter().find(|end| text.get(..*end).is_some_and(|t| pattern.matches(t)));
    Some(text.get(end.unwrap_or(0)..)?.to_owned())
}

fn cut_back(text: &str, pattern: Option<&Pattern>, reach: Reach) -> Option<String> {
    let pattern = pattern?;
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    starts.push(text.len());
    if reach == Reach::Shortest {
        starts.reverse();
    }
    let start = starts.into_iter().find(|at| text.get(*at..).is_some_and(|t| pattern.matches(t)));
    Some(text.get(..start.unwrap_or(text.len()))?.to_owned())
}

/// `//old/new` with plain halves; other forms are not worked out.
fn replacement(word: &Word) -> Option<(String, String)> {
    let mut text = String::new();
    for part in &word.parts {
        match part {
            Part::Bare(t) | Part::Quoted(t) => text.push_str(t),
            Part::Parameter(..) | Part::Command(..) | Part::Process(..) | Part::Arithmetic(_) => {
                return None;
            }
        }
    }
    let (old, new) = text.strip_prefix("//")?.split_once('/')?;
    let wild = old.contains(['*', '?', '[', '\\', '(']) || new.contains('&');
    (!wild && !old.is_empty()).then(|| (old.to_owned(), new.to_owned()))
}

fn slice(value: &Expanded, bounds: Option<&str>) -> Expanded {
    let (Expanded::Scalar(text), Some(bounds)) = (value, bounds) else { return Expanded::any() };
    let Some(text) = text.exact() else { return Expanded::any() };
    let mut numbers = bounds.split(':').map(|n| n.trim().parse::<usize>());
    let (from, count) = match (numbers.next(), numbers.next()) {
        (Some(Ok(from)), None) => (from, usize::MAX),
        (Some(Ok(from)), Some(Ok(count))) => (from, count),
        _ => return Expanded::any(),
    };
    let cut: String = text.chars().skip(from).take(count).collect();
    Expanded::Scalar(Text::known(&cut))
}

fn change(value: &Expanded, operator: Option<&str>) -> Expanded {
    let (Expanded::Scalar(text), Some(operator)) = (value, operator) else {
        return Expanded::any();
    };
    match (text.exact(), operator) {
        (Some(text), ",,") => Expanded::Scalar(Text::known(&text.to_lowercase())),
        (Some(text), "^^") => Expanded::Scalar(Text::known(&text.to_uppercase())),
        _ => Expanded::any(),
    }
}
