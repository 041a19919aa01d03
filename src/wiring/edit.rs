//! Edits of a settings text by spans: adding a member or an element, taking one out, in the
//! file's own style (indentation, line ends, one-line files). Every byte outside the edit stays.
//! Pure; knows nothing of hooks.

use super::text::{Kind, Malformed, Node, parse};
use serde_json::Value;

/// One step into a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A member of an object.
    Key(&'a str),
    /// An element of an array.
    At(usize),
}

/// How a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// One level of indentation; none for a file on one line.
    indent: Option<String>,
    newline: &'static str,
    /// What follows a colon and, in a one-line file, a comma.
    gap: &'static str,
}

impl Style {
    /// Reads the style off a text: the first indented line decides.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let body = text.trim();
        let gap = if body.contains("\":") && !body.contains("\": ") { "" } else { " " };
        if body.len() > 2 && !body.contains('\n') {
            return Self { indent: None, newline, gap };
        }
        let indent = text
            .lines()
            .map(|line| line.split(|c| c != ' ' && c != '\t').next().unwrap_or_default())
            .find(|white| !white.is_empty())
            .unwrap_or("  ");
        Self { indent: Some(indent.to_owned()), newline, gap }
    }

    fn break_at(&self, depth: usize) -> String {
        self.indent
            .as_ref()
            .map_or_else(String::new, |unit| format!("{}{}", self.newline, unit.repeat(depth)))
    }

    fn between(&self, depth: usize) -> String {
        if self.indent.is_some() { self.break_at(depth) } else { self.gap.to_owned() }
    }

    fn write(&self, value: &Value, depth: usize, out: &mut String) {
        let (open, close, parts): (_, _, Vec<(Option<&String>, &Value)>) = match value {
            Value::Object(map) if !map.is_empty() => {
                ('{', '}', map.iter().map(|(key, value)| (Some(key), value)).collect())
            }
            Value::Array(list) if !list.is_empty() => {
                ('[', ']', list.iter().map(|value| (None, value)).collect())
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => return out.push_str(&value.to_string()),
        };
        out.push(open);
        for (index, (key, value)) in parts.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
                out.push_str(&self.between(depth + 1));
            } else {
                out.push_str(&self.break_at(depth + 1));
            }
            if let Some(key) = key {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                out.push_str(self.gap);
            }
            self.write(value, depth + 1, out);
        }
        out.push_str(&self.break_at(depth));
        out.push(close);
    }

    /// A whole new document in this style, ending in a line end.
    #[must_use]
    pub fn document(&self, value: &Value) -> String {
        let mut out = String::new();
        self.write(value, 0, &mut out);
        out.push_str(self.newline);
        out
    }
}

/// Why an edit could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The text is not JSON that may be edited.
    Malformed(Malformed),
    /// The path leads nowhere, or to a value of another kind.
    NotThere(String),
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(why) => why.fmt(f),
            Self::NotThere(path) => write!(f, "{path} is not what it should be"),
        }
    }
}

impl std::error::Error for EditError {}

impl From<Malformed> for EditError {
    fn from(why: Malformed) -> Self {
        Self::Malformed(why)
    }
}

/// A text under edit. Each edit reads it anew: files are small, and spans never go stale.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    style: Style,
}

impl Document {
    /// Takes a text; refuses what is not an editable JSON object.
    pub fn new(text: &str) -> Result<Self, EditError> {
        let root = parse(text)?;
        match root.kind {
            Kind::Object(_) => Ok(Self { text: text.to_owned(), style: Style::of(text) }),
            Kind::Array(_) | Kind::Text(_) | Kind::Scalar => {
                Err(EditError::NotThere("the top of the file (an object)".to_owned()))
            }
        }
    }

    /// The text as it stands.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tree of the text as it stands.
    pub fn root(&self) -> Result<Node, EditError> {
        Ok(parse(&self.text)?)
    }

    /// The bytes of a node.
    #[must_use]
    pub fn slice(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or_default()
    }

    /// A node as a value.
    #[must_use]
    pub fn json(&self, node: &Node) -> Value {
        serde_json::from_str(self.slice(node)).unwrap_or(Value::Null)
    }

    /// Appends a member to the object at `path`.
    pub fn add_member(&mut self, path: &[Step], key: &str, value: &Value) -> Result<(), EditError> {
        let mut piece = format!("{}:{}", Value::from(key), self.style.gap);
        self.style_at(path)?.write(value, path.len() + 1, &mut piece);
        self.append(path, &piece)
    }

    /// Appends an element to the array at `path`.
    pub fn add_element(&mut self, path: &[Step], value: &Value) -> Result<(), EditError> {
        let mut piece = String::new();
        self.style_at(path)?.write(value, path.len() + 1, &mut piece);
        self.append(path, &piece)
    }

    /// A container that somebody wrote on one line gets its next member on that line.
    fn style_at(&self, path: &[Step]) -> Result<Style, EditError> {
        let root = self.root()?;
        let holder = find(&root, path)?;
        let filled = !holder.members().is_empty() || !holder.elements().is_empty();
        let on_one_line = filled && !self.slice(holder).contains('\n');
        let indent = self.style.indent.clone().filter(|_| !on_one_line);
        Ok(Style { indent, ..self.style.clone() })
    }

    fn append(&mut self, path: &[Step], piece: &str) -> Result<(), EditError> {
        let root = self.root()?;
        let holder = find(&root, path)?;
        let depth = path.len() + 1;
        let last = match &holder.kind {
            Kind::Object(members) => members.last().map(|member| member.span.end),
            Kind::Array(elements) => elements.last().map(|element| element.span.end),
            Kind::Text(_) | Kind::Scalar => return Err(EditError::NotThere(show(path))),
        };
        if let Some(end) = last {
            let lead = self.lead_of_last(holder, &self.style_at(path)?, depth);
            self.text.insert_str(end, &format!(",{lead}{piece}"));
        } else {
            let inner = holder.span.start + 1..holder.span.end.saturating_sub(1);
            let whole =
                format!("{}{piece}{}", self.style.break_at(depth), self.style.break_at(depth - 1));
            self.text.replace_range(inner, &whole);
        }
        Ok(())
    }

    /// The gap before the last sibling is the gap the next one gets, in whatever style.
    fn lead_of_last(&self, holder: &Node, style: &Style, depth: usize) -> String {
        let starts: Vec<usize> = match &holder.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.start).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.start).collect(),
            Kind::Text(_) | Kind::Scalar => Vec::new(),
        };
        let Some(&last) = starts.last() else { return style.between(depth) };
        let before = self.text.get(..last).unwrap_or_default();
        let white = before.len() - before.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let lead = before.get(before.len() - white..).unwrap_or_default();
        if starts.len() == 1 && !lead.contains('\n') {
            return style.between(depth);
        }
        lead.to_owned()
    }

    /// Replaces the value at `path`.
    pub fn replace(&mut self, path: &[Step], value: &Value) -> Result<(), EditError> {
        let root = self.root()?;
        let span = find(&root, path)?.span.clone();
        let mut piece = String::new();
        self.style.write(value, path.len(), &mut piece);
        self.text.replace_range(span, &piece);
        Ok(())
    }

    /// Takes the member or element at `path` out, with its comma and the space before it.
    pub fn remove(&mut self, path: &[Step]) -> Result<(), EditError> {
        let root = self.root()?;
        let Some((last, up)) = path.split_last() else {
            return Err(EditError::NotThere(show(path)));
        };
        let holder = find(&root, up)?;
        let spans: Vec<_> = match &holder.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.clone()).collect(),
            Kind::Text(_) | Kind::Scalar => Vec::new(),
        };
        let index = match last {
            Step::Key(key) => holder.members().iter().position(|member| member.key == *key),
            Step::At(index) => (*index < spans.len()).then_some(*index),
        };
        let missing = || EditError::NotThere(show(path));
        let index = index.ok_or_else(missing)?;
        let own = spans.get(index).ok_or_else(missing)?;
        let before = index.checked_sub(1).and_then(|at| spans.get(at));
        let cut = match (before, spans.get(index + 1)) {
            (Some(before), _) => before.end..own.end,
            (None, Some(after)) => own.start..after.start,
            (None, None) => holder.span.start + 1..holder.span.end.saturating_sub(1),
        };
        self.text.replace_range(cut, "");
        Ok(())
    }

    /// Puts text between the brackets of the empty object or array at `path`.
    pub fn refill(&mut self, path: &[Step], inner: &str) -> Result<(), EditError> {
        let root = self.root()?;
        let span = find(&root, path)?.span.clone();
        self.text.replace_range(span.start + 1..span.end.saturating_sub(1), inner);
        Ok(())
    }
}

/// The node a path leads to.
pub fn find<'n>(root: &'n Node, path: &[Step]) -> Result<&'n Node, EditError> {
    path.iter().try_fold(root, |node, step| {
        match step {
            Step::Key(key) => node.value(key),
            Step::At(index) => node.elements().get(*index),
        }
        .ok_or_else(|| EditError::NotThere(show(path)))
    })
}

fn show(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Key(key) => (*key).to_owned(),
        Step::At(index) => index.to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn added(text: &str, path: &[Step], key: &str, value: &Value) -> String {
        let mut doc = Document::new(text).unwrap();
        doc.add_member(path, key, value).unwrap();
        doc.text().to_owned()
    }

    #[test]
    fn an_added_member_takes_the_files_own_style() {
        let value = json!({"x": [1]});
        assert_eq!(
            added("{\n    \"a\": 1\n}\n", &[], "b", &value),
            "{\n    \"a\": 1,\n    \"b\": {\n        \"x\": [\n            1\n        ]\n    }\n}\n"
        );
        assert_eq!(added("{\"a\":1}", &[], "b", &value), "{\"a\":1,\"b\":{\"x\":[1]}}");
        assert_eq!(added("{\"a\": 1}", &[], "b", &value), "{\"a\": 1, \"b\": {\"x\": [1]}}");
        assert_eq!(
            added("{\r\n\t\"a\": {}\r\n}", &[Step::Key("a")], "b", &json!(1)),
            "{\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}"
        );
        assert_eq!(added("{}\n", &[], "b", &json!(1)), "{\n  \"b\": 1\n}\n");
        assert_eq!(
            added("{\n  \"p\": {\"a\": [1]}\n}\n", &[Step::Key("p")], "b", &json!([2])),
            "{\n  \"p\": {\"a\": [1], \"b\": [2]}\n}\n"
        );
    }

    #[test]
    fn taking_out_leaves_the_neighbours_bytes() {
        let text = "{ \"a\" : 1,\n\n  \"b\":2 ,\"c\": 3 }";
        for (key, rest) in [
            ("a", "{ \"b\":2 ,\"c\": 3 }"),
            ("b", "{ \"a\" : 1 ,\"c\": 3 }"),
            ("c", "{ \"a\" : 1,\n\n  \"b\":2 }"),
        ] {
            let mut doc = Document::new(text).unwrap();
            doc.remove(&[Step::Key(key)]).unwrap();
            assert_eq!(doc.text(), rest, "without {key}");
        }
    }
}
