//! Owns programs that write files they are told: `tee`, `dd`, `sort -o`, `split` and
//! the like.

use super::options::{Style, after, parse};
use super::paths::join;
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["tee"], "writes all its operands", tee).examples(
        &["tee lib/core.rs", "tee -a lib/core.rs docs/x"],
        &["tee", "tee /dev/null", "tee --help"],
    ),
    program(&["sponge"], "writes its operand", tee).examples(&["sponge lib/core.rs"], &["sponge"]),
    program(&["truncate"], "cuts its operands", truncate)
        .examples(&["truncate -s 0 lib/core.rs"], &["truncate --help"]),
    program(&["dd"], "writes of=", dd)
        .examples(&["dd if=../x of=lib/core.rs"], &["dd if=lib/core.rs", "dd of=/dev/null"]),
    program(&["mkfifo", "mknod"], "makes a special file", make).examples(
        &["mkfifo lib/pipe", "mknod lib/pipe p", "mkfifo -m 600 lib/pipe"],
        &["mkfifo --help"],
    ),
    program(&["touch"], "makes missing files, sets times of others", touch).examples(
        &["touch new.rs", "touch lib/core.rs", "touch -c lib/core.rs"],
        &["touch --help"],
    ),
    program(&["sort", "shuf"], "writes -o", sort).examples(
        &["sort -o lib/core.rs notes.md", "sort --output=lib/core.rs", "sort notes.md -olib/x"],
        &["sort lib/core.rs", "sort -k 2 -t , lib/core.rs"],
    ),
    program(&["fallocate"], "changes its operands", truncate)
        .examples(&["fallocate -l 100 lib/core.rs"], &["fallocate --help"]),
    program(&["xxd"], "writes its second operand", uniq)
        .examples(&["xxd notes.md lib/core.rs", "xxd -r x lib/core.rs"], &["xxd lib/core.rs"]),
    program(&["uniq"], "writes its second operand", uniq)
        .examples(&["uniq notes.md lib/core.rs"], &["uniq lib/core.rs", "uniq -c lib/core.rs"]),
    program(&["split", "csplit"], "writes files that begin with its prefix", split).examples(
        &["split -b1 ../x lib/core.r", "csplit -f lib/core.r ../x 1"],
        &["split -b1 ../x lib/core.rs", "split ../x"],
    ),
    program(
        &[
            "cc", "gcc", "g++", "clang", "clang++", "rustc", "ld", "as", "pandoc", "dot", "iconv",
            "gpg", "gpg2", "age", "bindgen", "tsc", "esbuild", "m4", "bison", "flex",
        ],
        "writes -o",
        compiler,
    )
    .examples(
        &["gcc x.c -o lib/core.rs", "pandoc a.md --output=lib/core.rs", "cc -olib/core.rs x.c"],
        &["gcc -c lib/core.c", "rustc --version"],
    ),
    program(&["openssl", "ffmpeg"], "writes its output file", last_output).examples(
        &["openssl rand -out lib/core.rs 8", "ffmpeg -y -i a.mp4 lib/core.rs"],
        &["openssl version", "ffmpeg -i lib/core.rs"],
    ),
];

fn tee(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &["a,append", "i,ignore-interrupts", "p", "output-error?"];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() { Vec::new() } else { call.writes(&line.operands) }
}

fn truncate(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &["c,no-create", "o,io-blocks", "r,reference=", "s,size=", "l,length="];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() { Vec::new() } else { call.writes(&line.operands) }
}

fn dd(call: &Call<'_>) -> Vec<Effect> {
    let target = |arg: &Arg| arg.prefix().starts_with("of=").then(|| after(arg, 3));
    let targets: Vec<Arg> = call.args.iter().filter_map(target).collect();
    call.writes(&targets)
}

fn make(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["m,mode=", "Z", "context?"], Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let one = call.name == "mknod";
    let many = line.operands.len();
    call.writes(line.operands.iter().take(if one { 1 } else { many }))
}

fn touch(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &[
        "a",
        "c,no-create",
        "d,date=",
        "f",
        "h,no-dereference",
        "m",
        "r,reference=",
        "t=",
        "time=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let words = call.words();
    let one = |arg: &Arg| {
        let missing = arg.exact().is_none() || call.place.kind(arg) == Entry::Missing;
        let target = call.place.target(arg, Follow::All);
        call.place.effect(target, &words, |path| {
            if missing && !line.has("no-create") {
                Effect::Write { path }
            } else {
                Effect::Meta { path, deep: false }
            }
        })
    };
    line.operands.iter().flat_map(one).collect()
}

fn sort(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "b",
        "d",
        "f",
        "g",
        "i",
        "M",
        "h",
        "n",
        "R",
        "r",
        "V",
        "c",
        "C",
        "m",
        "s",
        "u",
        "z",
        "k,key=",
        "o,output=",
        "S,buffer-size=",
        "t,field-separator=",
        "T,temporary-directory=",
        "batch-size=",
        "compress-program=",
        "files0-from=",
        "parallel=",
        "random-source=",
        "sort=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() { Vec::new() } else { call.writes(line.values("output")) }
}

fn uniq(call: &Call<'_>) -> Vec<Effect> {
    let grammar =
        &["c", "d", "D", "f,skip-fields=", "i", "s,skip-chars=", "u", "z", "w,check-chars=", "l="];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() { Vec::new() } else { call.writes(line.operands.get(1)) }
}

/// Names looked at next to a prefix.
const NAMES: usize = 4096;

/// The pieces are named prefix and suffix: a file of that very prefix is not touched.
fn split(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "a,suffix-length=",
        "additional-suffix=",
        "b,bytes=",
        "C,line-bytes=",
        "d",
        "e",
        "x",
        "filter=",
        "l,lines=",
        "n,number=",
        "t,separator=",
        "u",
        "verbose",
        "f,prefix=",
        "k",
        "suffix-format=",
        "s",
        "z",
        "digits=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    let prefix = match call.name.as_str() {
        "csplit" => line.value("prefix").cloned().unwrap_or_else(|| Arg::text("xx")),
        _ => line.operands.get(1).cloned().unwrap_or_else(|| Arg::text("x")),
    };
    if line.idle() || line.operands.is_empty() || line.value("filter").is_some() {
        return Vec::new();
    }
    let Some(text) = prefix.exact() else { return call.writes([&prefix]) };
    let (dir, stem) = text.rsplit_once('/').unwrap_or((".", text));
    let Some(path) = call.place.absolute(dir) else { return call.writes([&prefix]) };
    let Some(names) = call.site().list(&path, NAMES) else { return Vec::new() };
    let piece = |name: &&String| name.len() > stem.len() && name.starts_with(stem);
    let pieces: Vec<Arg> = names.iter().filter(piece).map(|n| Arg::text(join(dir, n))).collect();
    call.writes(&pieces)
}

fn compiler(call: &Call<'_>) -> Vec<Effect> {
    let mut files = Vec::new();
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        match arg.prefix() {
            "-o" | "--output" if arg.exact().is_some() => files.extend(rest.next().cloned()),
            text if text.starts_with("--output=") => files.push(after(arg, 9)),
            text if text.starts_with("-o") && call.name != "ld" => files.push(after(arg, 2)),
            _ => {}
        }
    }
    files.retain(|arg| arg.exact() != Some("-"));
    call.writes(&files)
}

fn last_output(call: &Call<'_>) -> Vec<Effect> {
    if call.name == "openssl" {
        let pairs = call.args.windows(2).filter_map(|pair| match pair {
            [option, file] if option.exact() == Some("-out") => Some(file),
            _ => None,
        });
        return call.writes(pairs);
    }
    let value = call.args.iter().rev().nth(1).is_some_and(|a| a.exact() == Some("-i"));
    let last = call.args.last().filter(|a| !value && !a.prefix().starts_with('-'));
    call.writes(last)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn each_written_operand_is_named() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("tee docs/x lib/core.rs"), "lib/core.rs"));
        assert!(reaches(&scene.run("dd if=../x of=lib/core.rs"), "lib/core.rs"));
        assert!(!reaches(&scene.run("split -b1 ../x lib/core.rs"), "lib/core.rs"));
        assert!(reaches(&scene.run("echo x > lib/core.rs"), "lib/core.rs"));
        assert!(scene.run("echo x > /dev/null").is_empty());
    }
}
