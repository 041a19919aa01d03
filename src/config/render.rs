//! The table of settings as documents: the commented default file, the JSON schema and the
//! README's table. Generated, so none of them can tell another story than the parser. Pure.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::rows::{Kind, Project, ROWS, Row};

/// A settings file with every setting at its default, commented out.
#[must_use]
pub fn commented_default() -> String {
    let mut out = String::from(
        "# Settings of octo. Every line is the default; uncomment to change.\n\
         # User: ~/.config/octo/config.toml   This machine only: ~/.local/state/octo/machine.toml\n\
         # Repository: .octo.toml at its root; it may set what is marked \"project\", and tighten\n\
         # what is marked \"project may tighten\". Check with: octo config check\n",
    );
    let mut table = "";
    for row in ROWS {
        let (here, key) = row.key.split_once('.').unwrap_or(("", row.key));
        if here != table {
            table = here;
            let _infallible = write!(out, "\n[{here}]\n");
        }
        out.push('\n');
        for line in wrap(row.doc, 96) {
            let _infallible = writeln!(out, "# {line}");
        }
        let _infallible = writeln!(out, "# {}.", describe(row));
        let _infallible = writeln!(out, "#{key} = {}", row.default);
    }
    out
}

/// The settings as a JSON schema (for editors).
#[must_use]
pub fn schema() -> Value {
    let mut top = Map::new();
    for row in ROWS {
        let property = property(row);
        match row.key.split_once('.') {
            None => {
                top.insert(row.key.to_owned(), property);
            }
            Some((table, key)) => {
                let empty =
                    || json!({"type": "object", "properties": {}, "additionalProperties": false});
                let table = top.entry(table.to_owned()).or_insert_with(empty);
                if let Some(inner) = table.get_mut("properties").and_then(Value::as_object_mut) {
                    inner.insert(key.to_owned(), property);
                }
            }
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "octo settings",
        "type": "object",
        "properties": top,
        "additionalProperties": false,
    })
}

fn property(row: &Row) -> Value {
    let mut property = match row.kind {
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Number { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Text => json!({"type": "string"}),
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
    };
    if let Some(map) = property.as_object_mut() {
        map.insert("description".to_owned(), row.doc.into());
        // A default is written in the part of TOML that JSON shares.
        map.insert("default".to_owned(), serde_json::from_str(row.default).unwrap_or_default());
    }
    property
}

/// What a setting takes, and what a project may do with it.
#[must_use]
pub fn describe(row: &Row) -> String {
    format!("{}; {}", allowed(row), project(row))
}

fn allowed(row: &Row) -> String {
    match row.kind {
        Kind::Choice(words) => words.join(" | "),
        Kind::Flag => "true | false".to_owned(),
        Kind::Number { min, max } => format!("{min} to {max}"),
        Kind::Text => "text".to_owned(),
        Kind::List => "list of texts".to_owned(),
    }
}

fn project(row: &Row) -> &'static str {
    match row.project {
        Project::Free => "project",
        Project::Tighten => "project may tighten",
        Project::Never => "not for a project",
    }
}

/// A paragraph as lines of at most so many characters, where its words allow.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn the_commented_default_means_the_defaults_when_uncommented() {
        let text: String = commented_default()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert_eq!(parse(&text).unwrap().len(), ROWS.len());
    }

    #[test]
    fn the_schema_knows_every_setting_and_its_default() {
        let schema = schema();
        for row in ROWS {
            let pointer = format!("/properties/{}", row.key.replace('.', "/properties/"));
            let property = schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}"));
            assert!(!property["default"].is_null(), "{}", row.key);
        }
    }
}
