//! Reads the case files and collects what came out otherwise, so that one run shows every wrong
//! verdict and not only the first.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, panic, thread};

use serde_json::Value;

/// Two workers: the cases are many, the machines that run them small.
const WORKERS: usize = 2;

/// The lines of a file in `fixtures/`.
pub(crate) fn load(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A case's text field, empty when absent.
pub(crate) fn text<'c>(case: &'c Value, field: &str) -> &'c str {
    case[field].as_str().unwrap_or_default()
}

/// Replaces the `{NAME}` marks in every text of a value.
pub(crate) fn fill(value: &Value, marks: &[(&str, &Path)]) -> Value {
    let filled = |text: &str| {
        marks.iter().fold(text.to_owned(), |text, (mark, path)| {
            text.replace(mark, &path.display().to_string())
        })
    };
    match value {
        Value::String(text) => Value::String(filled(text)),
        Value::Array(items) => items.iter().map(|item| fill(item, marks)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, item)| (filled(key), fill(item, marks))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Plays all cases and fails with every complaint at once; a case that panics is one of them.
#[track_caller]
pub(crate) fn play<C: Sync>(
    cases: &[C],
    name: impl Fn(&C) -> String + Sync,
    play_one: impl Fn(&C) -> Vec<String> + Sync,
) {
    let next = AtomicUsize::new(0);
    let complaints = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = panic::catch_unwind(AssertUnwindSafe(|| play_one(case)));
                    let words = played.unwrap_or_else(|panic| vec![said(&*panic)]);
                    let words = words.into_iter().map(|word| format!("{}: {word}", name(case)));
                    complaints.lock().unwrap().extend(words);
                }
            });
        }
    });
    let mut complaints = complaints.into_inner().unwrap();
    complaints.sort();
    let (wrong, all) = (complaints.len(), cases.len());
    assert!(wrong == 0, "{wrong} complaints in {all} cases:\n{}", complaints.join("\n"));
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("PANICKED {}", text.unwrap_or("without a word"))
}
