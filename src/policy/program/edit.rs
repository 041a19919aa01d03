//! Owns small editors that rewrite their operands, mostly behind a flag.

use super::Call;
use super::options::{Style, parse};
use super::verbs::{Verb, program};
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["yq", "xmlstarlet", "crudini", "toml"], "with -i rewrites its operands", flagged)
        .examples(
            &["yq -i '.a=1' lib/core.rs", "yq eval --inplace .a lib/core.rs", "yq -yi .a=1 a.yml"],
            &["yq .a lib/core.rs", "yq --help"],
        ),
    program(&["sd", "dos2unix", "unix2dos", "strip"], "rewrites its operands", all).examples(
        &["sd a b lib/core.rs", "dos2unix lib/core.rs", "strip lib/core.rs"],
        &["sd -p a b lib/core.rs", "dos2unix --help", "sd a b"],
    ),
    program(&["rename", "prename"], "renames its operands", rename)
        .examples(&["rename s/a/b/ lib/core.rs"], &["rename -n s/a/b/ lib/core.rs"]),
    program(&["ast-grep", "sg"], "with -U rewrites what it searches", search).examples(
        &["sg run -p a -r b -U lib", "ast-grep -p a -r b --update-all lib/core.rs"],
        &["sg -p a lib", "ast-grep scan"],
    ),
];

fn flagged(call: &Call<'_>) -> Vec<Effect> {
    let line =
        parse(&call.args, &["i,inplace,in-place", "L", "y", "r", "o=", "P", "N"], Style::Gnu);
    let on = line.any(&["in-place", "L"]);
    if line.idle() || !on {
        return Vec::new();
    }
    // The first operand is an expression, unless it is a file's name.
    let skip = usize::from(line.operands.len() > 1);
    call.writes(line.operands.iter().skip(skip))
}

fn all(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["p,preview", "s", "f=", "n=", "q", "k", "o=", "g"], Style::Gnu);
    let skip = if call.name == "sd" { 2 } else { 0 };
    if line.idle() || line.has("preview") {
        return Vec::new();
    }
    if let Some(out) = line.value("o").filter(|_| call.name == "strip") {
        return call.writes([out]);
    }
    call.writes(line.operands.iter().skip(skip))
}

fn rename(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["n,nono,no-act", "v", "f", "e=", "s", "dry-run"], Style::Gnu);
    if line.idle() || line.any(&["no-act", "dry-run"]) {
        return Vec::new();
    }
    let skip = usize::from(line.value("e").is_none());
    call.removes(line.operands.iter().skip(skip))
}

fn search(call: &Call<'_>) -> Vec<Effect> {
    let line =
        parse(&call.args, &["U,update-all", "p,pattern=", "r,rewrite=", "l,lang="], Style::Gnu);
    if line.idle() || !line.has("update-all") {
        return Vec::new();
    }
    let files: Vec<&Arg> =
        line.operands.iter().filter(|a| !matches!(a.exact(), Some("run" | "scan"))).collect();
    if files.is_empty() { call.writes(&[Arg::text(".")]) } else { call.writes(files) }
}
