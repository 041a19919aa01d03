//! Owns `make` fed with rules by the line itself, and python modules that are programs of their
//! own. A makefile from the disk is the project's and not looked into.

use super::options::{Style, parse};
use super::verbs::{Verb, program};
use super::{Call, nested};
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, Stdin};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["make", "gmake"], "runs the recipes the line itself wrote or feeds it", make)
        .examples(
            &["make -f - <<< 'all:; rm lib/core.rs'", "make -f - x <<< 'x: ; @rm -rf lib'"],
            &["make", "make -j4 test", "make -n all <<< 'all:; rm lib/core.rs'", "make -f x.mk"],
        ),
    program(&["zipfile", "tarfile"], "makes the archive of -c, unpacks -e", archive).examples(
        &["python3 -m zipfile -c lib/core.rs notes.md", "python3 -m tarfile -c lib/core.rs x"],
        &["python3 -m zipfile -l lib/core.rs"],
    ),
    program(&["json.tool"], "writes its second operand", tool).examples(
        &["python3 -m json.tool a.json lib/core.rs"],
        &["python3 -m json.tool lib/core.rs", "python3 -m json.tool --sort-keys lib/core.rs"],
    ),
];

/// Files `make` reads when it is told none.
const USUAL: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

fn make(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &["f,file,makefile=", "C,directory=", "j?", "n,just-print", "dry-run", "q"];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() || line.any(&["just-print", "dry-run", "q"]) {
        return Vec::new();
    }
    let usual: Vec<Arg> = USUAL.iter().map(|name| Arg::text(*name)).collect();
    let named: Vec<&Arg> = line.values("makefile").collect();
    let files = if named.is_empty() { usual.iter().collect() } else { named };
    let text = |file: &Arg| match (file.exact(), &call.invocation.stdin) {
        (Some("-"), Stdin::Text(text)) => Some(text.clone()),
        _ => call.wrote(file),
    };
    let texts: Vec<String> = files.into_iter().filter_map(text).collect();
    texts.iter().flat_map(|text| recipes(call, text)).collect()
}

/// What the recipes of a makefile do; which of them runs is not asked.
fn recipes(call: &Call<'_>, text: &str) -> Vec<Effect> {
    let text = text.replace("\\\n", " ");
    let steps = text.lines().filter_map(|line| match line.strip_prefix('\t') {
        Some(step) => Some(step),
        None => line.split_once(':').and_then(|(_, rest)| rest.split_once(';')).map(|(_, s)| s),
    });
    let steps = steps.map(|step| step.trim_start_matches([' ', '@', '-', '+']).replace("$$", "$"));
    steps.flat_map(|step| nested::shell(call, &step, call.place.dir)).collect()
}

fn archive(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["c,create=", "e,extract=", "l,list=", "t,test="], Style::Gnu);
    let to = if line.has("extract") { line.operands.first() } else { line.value("create") };
    if line.idle() { Vec::new() } else { call.writes(to) }
}

fn tool(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["indent=", "sort-keys", "json-lines"], Style::Gnu);
    if line.idle() { Vec::new() } else { call.writes(line.operands.get(1)) }
}
