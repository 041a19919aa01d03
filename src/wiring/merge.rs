//! Puts our entries into a settings text and takes them out again, leaving everything else as it
//! stands. `Marks` remembers which containers were made for us, so that taking out gives back
//! the very bytes. Never touches an entry that is not ours. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::edit::{Document, EditError, Step, find};
use super::entry::{Entry, is_ours};
use super::text::Node;

/// The client's variable that runs every shell line through a program.
pub const PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";

/// All that a settings file should hold of ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wiring {
    /// Hook entries, one group each.
    pub entries: Vec<Entry>,
    /// Folders the client must let a session work in (its trees).
    pub folders: Vec<String>,
    /// The program that runs shell lines behind the fence.
    pub prefix: Option<String>,
}

/// What was made for us, so that it goes when we go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Containers that did not exist, by their path of keys.
    created: Vec<Vec<String>>,
    /// Containers that were empty, with what stood between their brackets.
    empty: Vec<(Vec<String>, String)>,
    /// Folders we listed.
    folders: Vec<String>,
    /// The shell prefix we set.
    prefix: Option<String>,
}

/// Adds the wiring to a text that has none of ours.
pub fn merge(text: &str, wiring: &Wiring) -> Result<(String, Marks), EditError> {
    let mut doc = Document::new(text)?;
    let mut marks = Marks::default();
    for entry in &wiring.entries {
        append(&mut doc, &["hooks", entry.event], &entry.group(), &mut marks)?;
    }
    for folder in &wiring.folders {
        let path = ["permissions", "additionalDirectories"];
        let listed = doc.root()?.value(path[0]).and_then(|node| node.value(path[1]).cloned());
        let known = listed.is_some_and(|list| has_text(&list, folder));
        if !known {
            append(&mut doc, &path, &Value::from(folder.as_str()), &mut marks)?;
            marks.folders.push(folder.clone());
        }
    }
    if let Some(prefix) = &wiring.prefix {
        match doc.root()?.value("env").and_then(|env| env.value(PREFIX)) {
            Some(node) if node.text() == Some(prefix) => {}
            Some(_) => return Err(EditError::NotThere(format!("env.{PREFIX} (already in use)"))),
            None => {
                member(&mut doc, "env", PREFIX, &Value::from(prefix.as_str()), &mut marks)?;
                marks.prefix = Some(prefix.clone());
            }
        }
    }
    Ok((doc.text().to_owned(), marks))
}

/// Takes everything of ours out. Without marks (a lost receipt), containers that become empty go.
pub fn unmerge(text: &str, marks: Option<&Marks>) -> Result<String, EditError> {
    let mut doc = Document::new(text)?;
    while let Some((event, group, handler, alone)) = ours(&doc.root()?) {
        let up = [Step::Key("hooks"), Step::Key(&event), Step::At(group)];
        if alone {
            doc.remove(&up)?;
        } else {
            let [hooks, event, group] = up;
            doc.remove(&[hooks, event, group, Step::Key("hooks"), Step::At(handler)])?;
        }
        tidy(&mut doc, &["hooks", &event], marks)?;
    }
    tidy(&mut doc, &["hooks"], marks)?;
    if let Some(marks) = marks {
        for folder in &marks.folders {
            unlist(&mut doc, folder)?;
        }
        tidy(&mut doc, &["permissions", "additionalDirectories"], Some(marks))?;
        tidy(&mut doc, &["permissions"], Some(marks))?;
    }
    let prefix = doc.root()?.value("env").and_then(|env| env.value(PREFIX).cloned());
    let set = prefix.as_ref().and_then(Node::text).unwrap_or_default();
    if !set.is_empty()
        && (set.ends_with("/octo-sh") || marks.and_then(|m| m.prefix.as_deref()) == Some(set))
    {
        doc.remove(&[Step::Key("env"), Step::Key(PREFIX)])?;
        tidy(&mut doc, &["env"], marks)?;
    }
    Ok(doc.text().to_owned())
}

/// True when the text holds exactly the wiring: nothing missing, nothing of an older one left.
pub fn holds(text: &str, wiring: &Wiring) -> Result<bool, EditError> {
    let doc = Document::new(text)?;
    let root = doc.root()?;
    let mut found = Vec::new();
    for event in root.value("hooks").map(Node::members).unwrap_or_default() {
        for group in event.value.elements() {
            let handlers = group.value("hooks").map(Node::elements).unwrap_or_default();
            for handler in handlers.iter().filter(|handler| handler_is_ours(handler)) {
                let matcher = group.value("matcher").and_then(Node::text).map(str::to_owned);
                found.push((event.key.clone(), matcher, doc.json(handler)));
            }
        }
    }
    let wanted: Vec<_> = wiring
        .entries
        .iter()
        .map(|entry| (entry.event.to_owned(), entry.matcher.map(str::to_owned), entry.handler()))
        .collect();
    let same = found.len() == wanted.len() && wanted.iter().all(|entry| found.contains(entry));
    let folders = root.value("permissions").and_then(|node| node.value("additionalDirectories"));
    let listed = |folder| folders.is_some_and(|list| has_text(list, folder));
    let prefix = root.value("env").and_then(|env| env.value(PREFIX)).and_then(Node::text);
    let behind = prefix.filter(|set| set.ends_with("/octo-sh")) == wiring.prefix.as_deref();
    Ok(same && wiring.folders.iter().all(|folder| listed(folder)) && behind)
}

fn has_text(list: &Node, text: &str) -> bool {
    list.elements().iter().any(|element| element.text() == Some(text))
}

fn handler_is_ours(handler: &Node) -> bool {
    handler.value("command").and_then(Node::text).is_some_and(is_ours)
}

/// The first handler of ours: event, group, place in the group, and whether it is alone there.
fn ours(root: &Node) -> Option<(String, usize, usize, bool)> {
    for event in root.value("hooks")?.members() {
        for (at, group) in event.value.elements().iter().enumerate() {
            let handlers = group.value("hooks").map(Node::elements).unwrap_or_default();
            if let Some(place) = handlers.iter().position(handler_is_ours) {
                return Some((event.key.clone(), at, place, handlers.len() == 1));
            }
        }
    }
    None
}

fn unlist(doc: &mut Document, folder: &str) -> Result<(), EditError> {
    let root = doc.root()?;
    let path = [Step::Key("permissions"), Step::Key("additionalDirectories")];
    let Ok(list) = find(&root, &path) else { return Ok(()) };
    let Some(at) = list.elements().iter().position(|element| element.text() == Some(folder)) else {
        return Ok(());
    };
    let [permissions, directories] = path;
    doc.remove(&[permissions, directories, Step::At(at)])
}

/// Appends to the list at a two-key path, making both containers where they are missing.
fn append(
    doc: &mut Document,
    path: &[&str; 2],
    value: &Value,
    marks: &mut Marks,
) -> Result<(), EditError> {
    let [outer, inner] = *path;
    let root = doc.root()?;
    let list = root.value(outer).and_then(|node| node.value(inner));
    let Some(list) = list else {
        return member(doc, outer, inner, &json!([value]), marks)
            .map(|()| marks.created.push(vec![outer.to_owned(), inner.to_owned()]));
    };
    note_empty(doc, list, &[outer, inner], marks);
    doc.add_element(&[Step::Key(outer), Step::Key(inner)], value)
}

/// Adds a member one level down, making its object where it is missing.
fn member(
    doc: &mut Document,
    outer: &str,
    key: &str,
    value: &Value,
    marks: &mut Marks,
) -> Result<(), EditError> {
    let root = doc.root()?;
    let Some(object) = root.value(outer) else {
        note_empty(doc, &root, &[], marks);
        doc.add_member(&[], outer, &json!({ key: value }))?;
        marks.created.push(vec![outer.to_owned()]);
        return Ok(());
    };
    note_empty(doc, object, &[outer], marks);
    doc.add_member(&[Step::Key(outer)], key, value)
}

fn note_empty(doc: &Document, node: &Node, path: &[&str], marks: &mut Marks) {
    let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    let fresh =
        !marks.created.contains(&path) && !marks.empty.iter().any(|(known, _)| *known == path);
    if node.members().is_empty() && node.elements().is_empty() && fresh {
        let slice = doc.slice(node);
        let inner = slice.get(1..slice.len().saturating_sub(1)).unwrap_or_default();
        marks.empty.push((path, inner.to_owned()));
    }
}

/// Removes an emptied container that was made for us; gives one that was empty its bytes back.
fn tidy(doc: &mut Document, path: &[&str], marks: Option<&Marks>) -> Result<(), EditError> {
    let steps: Vec<Step> = path.iter().map(|key| Step::Key(key)).collect();
    let root = doc.root()?;
    let Ok(node) = find(&root, &steps) else { return Ok(()) };
    if !node.members().is_empty() || !node.elements().is_empty() {
        return Ok(());
    }
    let is = |known: &[String]| known.iter().map(String::as_str).eq(path.iter().copied());
    if let Some((_, inner)) =
        marks.and_then(|marks| marks.empty.iter().find(|(known, _)| is(known)))
    {
        return doc.refill(&steps, inner);
    }
    if marks.is_none_or(|marks| marks.created.iter().any(|known| is(known))) {
        doc.remove(&steps)?;
        let top = marks.and_then(|marks| marks.empty.iter().find(|(known, _)| known.is_empty()));
        if let (Some((_, inner)), true) = (top, doc.root()?.members().is_empty()) {
            doc.refill(&[], inner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
