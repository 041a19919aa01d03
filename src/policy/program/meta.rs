//! Owns programs that change mode, owner or attributes and never content.

use super::options::{Style, parse};
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] =
    &[program(&["chmod", "chown", "chgrp", "setfacl", "chattr"], "changes mode or owner", meta)
        .examples(
            &[
                "chmod 000 lib/core.rs",
                "chmod -x lib/core.rs",
                "chown -R 0 lib",
                "chmod --reference=notes.md lib/core.rs",
                "setfacl -m u:x:r lib/core.rs",
                "chattr +i lib/core.rs",
            ],
            &["chmod --help", "chmod 644"],
        )];

const GRAMMAR: &[&str] = &[
    "c,changes",
    "f,silent",
    "v,verbose",
    "R,recursive",
    "h,no-dereference",
    "H",
    "L",
    "P",
    "from=",
    "reference=",
    "preserve-root",
];

const SETFACL: &[&str] = &["m,modify=", "x,remove=", "M=", "X=", "b", "k", "R,recursive", "d"];

fn meta(call: &Call<'_>) -> Vec<Effect> {
    let grammar = if call.name == "setfacl" { SETFACL } else { GRAMMAR };
    // `-x` and `+i` are modes, not options.
    let mode = |arg: &Arg| {
        let mut letters = arg.prefix().chars();
        let sign = letters.next();
        let kind = letters.next();
        let modes =
            if call.name == "chattr" { "iaAcCdDeFjmPsStTu" } else { "rwxXstugoa0123456789" };
        sign == Some('-') && kind.is_some_and(|c| modes.contains(c))
    };
    let odd = call.name != "setfacl" && call.args.iter().any(&mode);
    let args: Vec<Arg> = call.args.iter().filter(|a| !odd || !mode(a)).cloned().collect();
    let line = parse(&args, grammar, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let named = odd || call.name == "setfacl" || line.value("reference").is_some();
    let deep = line.has("recursive");
    let words = call.words();
    let one = |arg: &Arg| {
        let target = call.place.target(arg, Follow::All);
        call.place.effect(target, &words, |path| Effect::Meta { path, deep })
    };
    line.operands.iter().skip(usize::from(!named)).flat_map(one).collect()
}
