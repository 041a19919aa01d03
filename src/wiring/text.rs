//! JSON as text: where every value and member of a settings file stands, so that an edit can touch
//! those bytes and no others. Strict (no comments, no duplicate keys), because a file that two
//! readers understand differently must not be edited. Pure; never builds JSON, never edits.

use std::fmt;
use std::ops::Range;

/// Deepest nesting that is followed; the client's own settings use five levels.
const DEPTH: u32 = 96;

/// A value and the bytes it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The bytes of the value, without surrounding space.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `{…}` with its members in order.
    Object(Vec<Member>),
    /// `[…]` with its elements in order.
    Array(Vec<Node>),
    /// A string, unescaped.
    Text(String),
    /// A number, `true`, `false` or `null`, as written.
    Scalar,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// The bytes from the key's opening quote to the end of the value.
    pub span: Range<usize>,
    /// The value.
    pub value: Node,
}

/// Why a text is not JSON that may be edited, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// First line is 1.
    pub line: usize,
    /// First column is 1, counted in characters.
    pub column: usize,
    /// What stands there.
    pub what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for Malformed {}

impl Node {
    /// The member of that name, when this is an object that has it.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The value of that name, when this is an object that has it.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Self> {
        self.member(key).map(|member| &member.value)
    }

    /// The members of an object; none for anything else.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Object(members) => members,
            Kind::Array(_) | Kind::Text(_) | Kind::Scalar => &[],
        }
    }

    /// The elements of an array; none for anything else.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match &self.kind {
            Kind::Array(elements) => elements,
            Kind::Object(_) | Kind::Text(_) | Kind::Scalar => &[],
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Scalar => None,
        }
    }
}

/// Reads one JSON value that fills the whole text (a leading byte order mark is skipped).
pub fn parse(text: &str) -> Result<Node, Malformed> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.space();
    let node = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.wrong("something follows the closing brace")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, what: &str) -> Malformed {
        self.wrong_at(self.at, what)
    }

    fn wrong_at(&self, at: usize, what: &str) -> Malformed {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(start..).map_or(0, |text| text.chars().count()) + 1;
        Malformed { line, column, what: what.to_owned() }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8, what: &str) -> Result<(), Malformed> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        if self.peek() == Some(b'/') {
            return Err(self.wrong("a comment, which JSON does not have"));
        }
        Err(self.wrong(what))
    }

    fn value(&mut self, depth: u32) -> Result<Node, Malformed> {
        if depth > DEPTH {
            return Err(self.wrong("nested too deep"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'/') => return Err(self.wrong("a comment, which JSON does not have")),
            Some(_) => self.scalar()?,
            None => return Err(self.wrong("the text ends where a value should stand")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: u32) -> Result<Kind, Malformed> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Kind::Object(members));
        }
        loop {
            self.space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                self.take(b'"', "a key in double quotes should stand here")?;
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err(self.wrong_at(start, &format!("the key \"{key}\" stands here twice")));
            }
            self.space();
            self.take(b':', "a colon should stand here")?;
            self.space();
            let value = self.value(depth + 1)?;
            members.push(Member { key, span: start..self.at, value });
            self.space();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Kind::Object(members));
            }
            self.take(b',', "a comma or a closing brace should stand here")?;
        }
    }

    fn array(&mut self, depth: u32) -> Result<Kind, Malformed> {
        self.at += 1;
        let mut elements = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Kind::Array(elements));
        }
        loop {
            self.space();
            elements.push(self.value(depth + 1)?);
            self.space();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Kind::Array(elements));
            }
            self.take(b',', "a comma or a closing bracket should stand here")?;
        }
    }

    /// Finds the end of the string by hand and leaves unescaping to `serde_json`.
    fn string(&mut self) -> Result<String, Malformed> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.wrong_at(start, "this string never ends")),
                Some(b'\\') => self.at += 2,
                Some(b'"') => break,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let raw = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(raw).map_err(|_| self.wrong_at(start, "this string is malformed"))
    }

    fn scalar(&mut self) -> Result<Kind, Malformed> {
        let start = self.at;
        while matches!(self.peek(), Some(byte) if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            self.at += 1;
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        match serde_json::from_str::<serde_json::Value>(raw) {
            Ok(_) => Ok(Kind::Scalar),
            Err(_) => Err(self.wrong_at(start, "a value should stand here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_exactly_the_values() {
        let text = "{\r\n\t\"a\" : [1, {\"b\\\"\": null}],\n \"é\": \"x\"\n}\n";
        let root = parse(text).unwrap();
        let list = root.value("a").unwrap();
        assert_eq!(&text[list.span.clone()], "[1, {\"b\\\"\": null}]");
        let inner = list.elements()[1].member("b\"").unwrap();
        assert_eq!(&text[inner.span.clone()], "\"b\\\"\": null");
        assert_eq!(root.value("é").unwrap().text(), Some("x"));
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused_with_its_place() {
        for (text, place, word) in [
            ("{\n  \"a\": 1,\n  // note\n  \"b\": 2\n}", (3, 3), "comment"),
            ("{ /* x */ \"a\": 1 }", (1, 3), "comment"),
            ("{\"a\": 1, \"a\": 2}", (1, 10), "twice"),
            ("{\"a\": 1,}", (1, 9), "key"),
            ("{\"a\": [1,]}", (1, 10), "value"),
            ("{\"a\": tru}", (1, 7), "value"),
            ("{\"a\": \"é\n\"}", (1, 7), "malformed"),
            ("{\"a\": \"", (1, 7), "never ends"),
            ("{} {}", (1, 4), "follows"),
            ("", (1, 1), "ends"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!((wrong.line, wrong.column), place, "{text}: {wrong}");
            assert!(wrong.what.contains(word), "{text}: {wrong}");
        }
    }

    #[test]
    fn nesting_has_a_floor() {
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).unwrap_err().what.contains("deep"));
    }
}
