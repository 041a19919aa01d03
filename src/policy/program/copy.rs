//! Owns copying and moving: which file each source lands on. Must never call a source written,
//! except where it is moved away.

use super::options::{Parsed, Style, parse};
use super::paths::{Target, base_name, join};
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, Entry, Piece};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["cp", "gcp"], "writes its destination", cp).examples(
        &["cp ../x lib/core.rs", "cp -t lib ../x", "cp -r lib docs", "cp notes.md $X"],
        &["cp --help", "cp lib docs", "cp -n ../x lib/core.rs"],
    ),
    program(&["mv", "gmv"], "takes its sources away and writes its destination", mv).examples(
        &["mv lib/core.rs ../y", "mv -t lib ../x", "mv -T notes.md docs/n.md"],
        &["mv --help", "mv -n ../x lib/core.rs"],
    ),
    program(&["install", "ginstall"], "writes its destination", install).examples(
        &["install -m 644 ../x lib/core.rs", "install -D -t lib ../x"],
        &["install -d lib/new", "install --help"],
    ),
    program(&["ln"], "puts a link where its last operand points", ln).examples(
        &["ln -sf ../x lib/core.rs", "ln -s ../x lib"],
        &["ln -s ../x lib/core.rs", "ln --help"],
    ),
    program(&["link"], "gives a file a second name", link)
        .examples(&["link lib/core.rs ../y"], &["link --help"]),
];

const CP: &[&str] = &[
    "a,archive",
    "attributes-only",
    "backup?",
    "b",
    "copy-contents",
    "d",
    "debug",
    "f,force",
    "i,interactive",
    "H",
    "l,link",
    "L,dereference",
    "n,no-clobber",
    "P,no-dereference",
    "p",
    "preserve?",
    "no-preserve=",
    "parents",
    "R,r,recursive",
    "reflink?",
    "remove-destination",
    "sparse=",
    "strip-trailing-slashes",
    "s,symbolic-link",
    "S,suffix=",
    "t,target-directory=",
    "T,no-target-directory",
    "u",
    "update?",
    "v,verbose",
    "keep-directory-symlink",
    "x,one-file-system",
    "Z",
    "context?",
];

/// Files of a copied directory that are named one by one.
const FILES: usize = 256;

/// Where the sources of a line go.
pub(super) struct Landing {
    /// The sources.
    pub(super) sources: Vec<Arg>,
    /// The destination.
    pub(super) dest: Arg,
    /// Whether each source gets a name of its own inside the destination.
    pub(super) inside: bool,
}

/// Sorts operands into sources and destination as `cp`, `mv`, `ln` and `install` do.
pub(super) fn landing(call: &Call<'_>, line: &Parsed) -> Option<Landing> {
    if let Some(dest) = line.value("target-directory") {
        return Some(Landing { sources: line.operands.clone(), dest: dest.clone(), inside: true });
    }
    let (dest, sources) = line.operands.split_last()?;
    let directory = call.place.kind(dest) == Entry::Dir;
    let slash = dest.exact().is_some_and(|t| t.ends_with('/'));
    let inside = !line.has("no-target-directory") && (directory || slash || sources.len() > 1);
    Some(Landing { sources: sources.to_vec(), dest: dest.clone(), inside })
}

/// The argument for a source's name inside a directory.
pub(super) fn inside(dest: &Arg, name: Option<&str>) -> Arg {
    let mut pieces = dest.pieces.clone();
    let rest = format!("/{}", name.unwrap_or_default());
    match pieces.last_mut() {
        Some(Piece::Text(text)) => {
            let joined = join(text.trim_end_matches('/'), rest.trim_start_matches('/'));
            *text = if text.starts_with('/') && text.trim_matches('/').is_empty() {
                rest
            } else {
                joined
            };
        }
        Some(Piece::Any | Piece::Fresh) | None => pieces.push(Piece::Text(rest)),
    }
    if name.is_none() {
        pieces.push(Piece::Any);
    }
    Arg { pieces, glob: None }
}

/// The destination argument of each source.
pub(super) fn places(landing: &Landing) -> impl Iterator<Item = (&Arg, Arg)> {
    landing.sources.iter().map(|source| {
        let name = source.exact().map(base_name);
        let merged = matches!(name, Some("." | ".."));
        let place = if landing.inside && !merged {
            inside(&landing.dest, name)
        } else {
            landing.dest.clone()
        };
        (source, place)
    })
}

fn cp(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, CP, Style::Gnu);
    let Some(landing) = landing(call, &line).filter(|_| !line.idle()) else { return Vec::new() };
    let deep = line.any(&["recursive", "archive"]);
    let mut out = Vec::new();
    for (source, place) in places(&landing) {
        let place = if line.has("parents") { whole(&landing.dest, source) } else { place };
        if line.has("link") {
            out.extend(shares(call, source));
        }
        match call.place.kind(source) {
            Entry::Dir if deep => out.extend(tree(call, source, &place, Follow::All)),
            Entry::Dir => {}
            Entry::File | Entry::Link | Entry::Other | Entry::Missing => {
                let kept = line.has("no-clobber") && call.place.kind(&place) != Entry::Missing;
                if !kept {
                    out.extend(call.place.write(&place, Follow::All, &call.words()));
                }
            }
        }
    }
    out
}

/// With `--parents` the whole source path is repeated below the destination.
fn whole(dest: &Arg, source: &Arg) -> Arg {
    inside(dest, source.exact().map(|text| text.trim_start_matches('/')))
}

/// What copying a directory onto `place` writes: each file while they are few, else the whole.
pub(super) fn tree(call: &Call<'_>, source: &Arg, place: &Arg, follow: Follow) -> Vec<Effect> {
    let words = call.words();
    let files = source
        .exact()
        .and_then(|text| call.place.absolute(text))
        .and_then(|dir| files_below(call, &dir));
    match (call.place.target(place, follow), files) {
        (Target::At(to), Some(files)) => {
            files.iter().map(|name| Effect::Write { path: to.join(name) }).collect()
        }
        (Target::At(to), None) => vec![super::paths::opaque(Some(to), Why::Operand, &words)],
        (other, _) => call.place.effect(other, &words, |path| Effect::Write { path }),
    }
}

/// Files below a directory, relative; `None` when there are many.
pub(super) fn files_below(call: &Call<'_>, dir: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut open = vec![String::new()];
    let mut fuel = FILES;
    while let Some(rel) = open.pop() {
        for name in call.site().list(&join(dir, &rel), fuel)? {
            fuel = fuel.checked_sub(1)?;
            let rel = if rel.is_empty() { name } else { join(&rel, &name) };
            match call.site().entry(&join(dir, &rel)) {
                Entry::Dir => open.push(rel),
                Entry::File | Entry::Link | Entry::Other | Entry::Missing => out.push(rel),
            }
        }
    }
    Some(out)
}

fn mv(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "backup?",
        "b",
        "f,force",
        "i,interactive",
        "n,no-clobber",
        "exchange",
        "no-copy",
        "strip-trailing-slashes",
        "S,suffix=",
        "t,target-directory=",
        "T,no-target-directory",
        "u",
        "update?",
        "v,verbose",
        "Z,context",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    let Some(landing) = landing(call, &line).filter(|_| !line.idle()) else { return Vec::new() };
    let words = call.words();
    let mut out = Vec::new();
    for (source, place) in places(&landing) {
        if line.has("no-clobber") && call.place.kind(&place) != Entry::Missing {
            continue;
        }
        out.extend(call.place.remove(source, &words));
        out.extend(call.place.write(&place, Follow::Parents, &words));
    }
    out
}

fn install(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "backup?",
        "b",
        "c",
        "C,compare",
        "d,directory",
        "D",
        "g,group=",
        "m,mode=",
        "o,owner=",
        "p,preserve-timestamps",
        "s,strip",
        "strip-program=",
        "S,suffix=",
        "t,target-directory=",
        "T,no-target-directory",
        "v,verbose",
        "Z",
        "context?",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() || line.has("directory") {
        return Vec::new();
    }
    let Some(landing) = landing(call, &line) else { return Vec::new() };
    let places: Vec<Arg> = places(&landing).map(|(_, place)| place).collect();
    let words = call.words();
    places.iter().flat_map(|p| call.place.write(p, Follow::Parents, &words)).collect()
}

fn ln(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "backup?",
        "b",
        "d,F,directory",
        "f,force",
        "i,interactive",
        "L,logical",
        "n,no-dereference",
        "P,physical",
        "r,relative",
        "s,symbolic",
        "S,suffix=",
        "t,target-directory=",
        "T,no-target-directory",
        "v,verbose",
    ];
    let mut line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    if line.operands.len() == 1 && line.value("target-directory").is_none() {
        line.operands.push(Arg::text("."));
    }
    let Some(mut landing) = landing(call, &line) else { return Vec::new() };
    let there = landing.dest.exact().map(|text| call.place.entry(text));
    if line.has("no-dereference") && there == Some(Entry::Link) {
        landing.inside = false;
    }
    let force = line.any(&["force", "interactive"]);
    let words = call.words();
    let made = places(&landing)
        .filter(|(_, place)| {
            let there = place.exact().map(|text| call.place.entry(text));
            force || there.is_none_or(|entry| entry == Entry::Missing)
        })
        .flat_map(|(_, place)| call.place.write(&place, Follow::Parents, &words));
    let made = made.collect::<Vec<_>>();
    let shared = landing.sources.iter().filter(|_| !line.has("symbolic"));
    shared.flat_map(|source| shares(call, source)).chain(made).collect()
}

fn link(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &[], Style::Gnu);
    let (Some(source), false) = (line.operands.first(), line.idle()) else { return Vec::new() };
    let made = line.operands.get(1).into_iter();
    let made = made.flat_map(|place| call.place.write(place, Follow::Parents, &call.words()));
    shares(call, source).chain(made).collect()
}

/// A second name for a file's bytes is a way to write them past the first: whoever may not write
/// the file may not have one.
fn shares(call: &Call<'_>, source: &Arg) -> impl Iterator<Item = Effect> {
    let written = call.place.write(source, Follow::Parents, &call.words());
    written.into_iter().filter_map(|effect| {
        if let Effect::Write { path } = effect { Some(Effect::Check { path }) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, at, reaches};
    use crate::policy::facts::Effect;

    #[test]
    fn the_destination_rules_name_the_file_that_is_written() {
        let scene = Scene::gate();
        let write = |path| vec![Effect::Write { path: at(path) }];
        assert_eq!(scene.run("cp ../x lib/"), write("lib/x"));
        assert_eq!(scene.run("cp -t lib ../x"), write("lib/x"));
        assert_eq!(scene.run("cp --target-directory=lib ../x"), write("lib/x"));
        assert_eq!(scene.run("cp -r ../x lib"), write("lib/x"));
        assert_eq!(scene.run("cp -T ../x lib/core.rs"), write("lib/core.rs"));
        assert_eq!(scene.run("cp notes.md docs/n.md"), write("docs/n.md"));
        assert!(!reaches(&scene.run("mv ../x lib/"), "lib/core.rs"));
        assert!(reaches(&scene.run("mv -f docs/a.md lib/core.rs"), "lib/core.rs"));
        assert!(reaches(&scene.run("mv lib ../gone"), "lib/core.rs"));
    }

    #[test]
    fn a_copied_directory_writes_what_it_holds() {
        let mut scene = Scene::gate();
        scene.file("/tmp/new/core.rs", "");
        scene.file("/tmp/new/more.rs", "");
        assert!(reaches(&scene.run("cp -r /tmp/new/. lib"), "lib/core.rs"));
        assert!(!reaches(&scene.run("cp -r /tmp/new/. lib"), "lib/util.rs"));
        assert!(!reaches(&scene.run("cp -r /tmp/new lib"), "lib/core.rs"));
        assert!(!reaches(&scene.run("cp -r lib ../backup"), "lib/core.rs"));
    }
}
