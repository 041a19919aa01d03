//! Owns `awk`: files its program prints into, commands it runs, gawk's in-place extension.

use super::Call;
use super::code::{self, Language};
use super::options::{Style, parse};
use super::verbs::{Verb, program};
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[program(
    &["awk", "gawk", "mawk", "nawk"],
    "writes what its program prints into, with -i inplace its operands",
    awk,
)
.examples(
    &[
        "awk 'BEGIN{print \"x\" > \"lib/core.rs\"}'",
        "awk '{ printf \"%s\", $1 >> \"lib/core.rs\" }' notes.md",
        "gawk -i inplace '{ print }' lib/core.rs",
        "awk 'BEGIN { system(\"rm -rf lib\") }'",
        "awk '{ print | \"tee lib/core.rs\" }' notes.md",
        "awk -v f=lib/core.rs '{ print > f }' notes.md",
        "awk 'BEGIN { \"rm lib/core.rs\" | getline }'",
    ],
    &["awk 'NR>1' lib/core.rs", "awk '$1 > 3 { print $2 }' lib/core.rs", "awk --help"],
)];

const AWK: &[&str] = &[
    "F,field-separator=",
    "v,assign=",
    "f,file=",
    "i,include=",
    "l,load=",
    "e,source=",
    "b",
    "c",
    "C",
    "d?",
    "D?",
    "n",
    "N",
    "O",
    "p?",
    "r",
    "s",
    "S,sandbox",
];

/// Longest program file that is read.
const PROGRAM: usize = 1 << 16;

fn awk(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, AWK, Style::Leading);
    if line.idle() {
        return Vec::new();
    }
    let mut operands = line.operands.as_slice();
    let mut texts: Vec<String> =
        line.values("source").filter_map(Arg::exact).map(str::to_owned).collect();
    texts.extend(line.values("file").filter_map(|file| call.place.read(file, PROGRAM)));
    if line.value("source").is_none()
        && line.value("file").is_none()
        && let Some((first, rest)) = operands.split_first()
    {
        texts.extend(first.exact().map(str::to_owned));
        operands = rest;
    }
    // Assignments are known before the program starts.
    let set: String = line.values("assign").filter_map(Arg::exact).filter_map(assigned).collect();
    for text in &mut texts {
        text.insert_str(0, &set);
    }
    let mut out: Vec<Effect> =
        texts.iter().flat_map(|text| code::effects(call, text, Language::Awk)).collect();
    if line.values("include").any(|lib| lib.exact().is_some_and(|l| l.ends_with("inplace"))) {
        out.extend(call.writes(operands));
    }
    out
}

/// `-v name=value` as a statement of the language.
fn assigned(pair: &str) -> Option<String> {
    let (name, value) = pair.split_once('=')?;
    let plain = !value.contains(['"', '\\', '\n']);
    plain.then(|| format!("{name} = \"{value}\"\n"))
}
