//! Owns PowerShell's own commands where they write or take away: `Set-Content`, `Remove-Item` and
//! their like, by name or by alias. Letters of any case are the same there.

use super::Call;
use super::verbs::{Verb, program};
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(
        &[
            "Set-Content",
            "set-content",
            "Add-Content",
            "add-content",
            "Clear-Content",
            "clear-content",
            "Out-File",
            "out-file",
            "Tee-Object",
            "tee-object",
        ],
        "writes its path",
        write,
    )
    .examples(
        &["Set-Content -Path lib/core.rs -Value x", "Out-File lib/core.rs -Encoding utf8"],
        &["Set-Content -Value x", "Out-File"],
    ),
    program(
        &["Remove-Item", "remove-item", "ri", "del", "erase", "rd"],
        "removes its paths",
        remove,
    )
    .examples(
        &["Remove-Item lib/core.rs", "ri lib -Recurse -Force", "Remove-Item -LiteralPath lib/a.rs"],
        &["Remove-Item -WhatIf", "Remove-Item lib -WhatIf"],
    ),
    program(
        &["Move-Item", "move-item", "mi", "Rename-Item", "rename-item", "ren", "move"],
        "moves its first path to its second",
        shift,
    )
    .examples(
        &["Move-Item lib/core.rs docs", "Rename-Item -Path lib/core.rs -NewName k.rs"],
        &["Move-Item"],
    ),
    program(&["Copy-Item", "copy-item", "cpi"], "copies its first path to its second", copy)
        .examples(
            &["Copy-Item notes.md lib/core.rs", "Copy-Item -Path a -Destination lib/core.rs"],
            &["Copy-Item lib/core.rs"],
        ),
];

/// Parameters that stand alone.
const SWITCHES: &[&str] =
    &["-force", "-recurse", "-append", "-nonewline", "-passthru", "-confirm", "-verbose"];

/// What a command was given.
#[derive(Default)]
struct Given {
    paths: Vec<Arg>,
    to: Option<Arg>,
    only_says: bool,
}

fn given(call: &Call<'_>) -> Given {
    let mut given = Given::default();
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let word = arg.exact().unwrap_or_default().to_lowercase();
        match word.as_str() {
            "-path" | "-literalpath" | "-filepath" => given.paths.extend(args.next().cloned()),
            "-destination" | "-newname" => given.to = args.next().cloned(),
            "-whatif" => given.only_says = true,
            switch if SWITCHES.contains(&switch) => {}
            name if name.starts_with('-') => drop(args.next()),
            _ => given.paths.push(arg.clone()),
        }
    }
    given
}

fn write(call: &Call<'_>) -> Vec<Effect> {
    let given = given(call);
    call.writes(given.paths.first().filter(|_| !given.only_says))
}

fn remove(call: &Call<'_>) -> Vec<Effect> {
    let given = given(call);
    if given.only_says { Vec::new() } else { call.removes(&given.paths) }
}

fn shift(call: &Call<'_>) -> Vec<Effect> {
    carried(call, "mv", given(call))
}

fn copy(call: &Call<'_>) -> Vec<Effect> {
    carried(call, "cp", given(call))
}

/// The same as the program does that everybody knows.
fn carried(call: &Call<'_>, program: &str, given: Given) -> Vec<Effect> {
    let mut paths = given.paths.into_iter();
    let (from, behind) = (paths.next(), paths.next());
    let to = given.to.or(behind).filter(|_| !given.only_says);
    let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
    let mut argv = vec![Arg::text(program)];
    argv.extend((program == "cp").then(|| Arg::text("-r")));
    argv.extend([Arg::text("--"), from, to]);
    super::nested::carried(call, argv, call.place.dir)
}
