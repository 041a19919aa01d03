//! Git's argument grammar on any words: it ends, and options that change nothing in front of a
//! verb change no verdict. Words are lines; a `?` alone is a word nobody knows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use octo::policy::shell::{Arg, Dir, Invocation, Piece, Stdin};
use octo_fuzz::scene::ROOT;
use octo_fuzz::{seeds, verdict};

fuzz_target!(
    init: seeds::lay(words().map(String::into_bytes)),
    |text: &str| { judge(text); }
);

/// The git commands of the fixtures, a word a line.
fn words() -> impl Iterator<Item = String> {
    let plain = |line: &String| line.starts_with("git ") && !line.contains(['\'', '"', '$', ';']);
    let lines = seeds::commands().filter(plain);
    lines.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join("\n"))
}

fn judge(text: &str) {
    let args: Vec<Arg> = text.lines().map(word).collect();
    let plain = denied(&[], &args);
    for neutral in [&["-C", "."][..], &["--no-pager"], &["-c", "advice.detachedHead=false"]] {
        let front: Vec<Arg> = neutral.iter().map(|word| Arg::text(*word)).collect();
        assert_eq!(plain, denied(&front, &args), "{neutral:?} changes the verdict on {text:?}");
    }
}

fn word(line: &str) -> Arg {
    match line {
        "?" => Arg { pieces: vec![Piece::Any], glob: None },
        line => Arg::text(line),
    }
}

fn denied(front: &[Arg], args: &[Arg]) -> bool {
    let argv = [&[Arg::text("git")], front, args].concat();
    let call = Invocation {
        argv,
        dir: Dir::At(ROOT.to_owned()),
        env: Vec::new(),
        stdin: Stdin::Inherited,
        redirects: Vec::new(),
        more: false,
        depth: 0,
        wrote: Vec::new(),
        quiet: false,
    };
    verdict::denied(&verdict::of(&[call]))
}
