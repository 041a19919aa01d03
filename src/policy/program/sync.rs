//! Owns copying between places that may be machines: `rsync`, `scp`. A remote destination is
//! nobody's here; what a remote source holds is not known.

use super::copy::{files_below, inside, tree};
use super::options::{Parsed, Style, parse};
use super::paths::{Target, base_name, join, opaque};
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["rsync"], "writes its destination, with --delete empties it", rsync).examples(
        &["rsync -a ../x lib/core.rs", "rsync --delete -a docs/ lib/", "rsync -a host:lib/ lib/"],
        &["rsync -an docs/ lib/", "rsync -a lib/ host:lib/", "rsync --help", "rsync lib/"],
    ),
    program(&["scp", "sftp"], "writes its destination", scp).examples(
        &["scp host:core.rs lib/", "scp ../x lib/core.rs"],
        &["scp lib/core.rs host:", "scp -P 22 lib/core.rs user@host:/tmp"],
    ),
];

const RSYNC: &[&str] = &[
    "v,verbose",
    "q,quiet",
    "a,archive",
    "r,recursive",
    "R,relative",
    "b,backup",
    "backup-dir=",
    "suffix=",
    "u,update",
    "l,links",
    "L,copy-links",
    "H,hard-links",
    "p,perms",
    "E,executability",
    "A,acls",
    "X,xattrs",
    "o,owner",
    "g,group",
    "D",
    "t,times",
    "O,omit-dir-times",
    "S,sparse",
    "n,dry-run",
    "W,whole-file",
    "x,one-file-system",
    "B,block-size=",
    "e,rsh=",
    "rsync-path=",
    "existing",
    "ignore-existing",
    "remove-source-files",
    "del",
    "delete",
    "delete-before",
    "delete-during",
    "delete-delay",
    "delete-after",
    "delete-excluded",
    "max-delete=",
    "max-size=",
    "min-size=",
    "partial",
    "partial-dir=",
    "T,temp-dir=",
    "compare-dest=",
    "copy-dest=",
    "link-dest=",
    "z,compress",
    "C,cvs-exclude",
    "f,filter=",
    "F",
    "exclude=",
    "exclude-from=",
    "include=",
    "include-from=",
    "files-from=",
    "0,from0",
    "P",
    "progress",
    "stats",
    "h,human-readable",
    "i,itemize-changes",
    "log-file=",
    "out-format=",
    "chmod=",
    "chown=",
    "bwlimit=",
    "timeout=",
    "port=",
    "c,checksum",
    "inplace",
    "append",
    "mkpath",
    "no-o",
    "no-g",
    "no-p",
];

const DELETE: &[&str] = &[
    "del",
    "delete",
    "delete-before",
    "delete-during",
    "delete-delay",
    "delete-after",
    "delete-excluded",
];

/// Whether an operand lies on another machine.
fn remote(arg: &Arg) -> bool {
    let text = arg.prefix();
    let colon = text.find(':');
    let slash = text.find('/');
    text.starts_with("rsync://") || colon.is_some_and(|c| slash.is_none_or(|s| c < s))
}

fn rsync(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, RSYNC, Style::Gnu);
    let Some((dest, sources)) = line.operands.split_last() else { return Vec::new() };
    if line.idle() || line.has("dry-run") || sources.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    if line.has("remove-source-files") {
        out.extend(call.removes(sources.iter().filter(|s| !remote(s))));
    }
    if remote(dest) {
        return out;
    }
    for source in sources {
        out.extend(one(call, &line, source, dest));
    }
    out
}

fn one(call: &Call<'_>, line: &Parsed, source: &Arg, dest: &Arg) -> Vec<Effect> {
    let words = call.words();
    let contents = source.exact().is_some_and(|t| t.ends_with('/') || base_name(t) == ".");
    let name = source.exact().map(|t| base_name(t.rsplit(':').next().unwrap_or(t)));
    let into = call.place.kind(dest) == Entry::Dir
        || dest.exact().is_some_and(|t| t.ends_with('/'))
        || line.operands.len() > 2;
    let place = if contents || !into { dest.clone() } else { inside(dest, name) };
    let directory = contents || call.place.kind(source) == Entry::Dir;
    if remote(source) && (contents || line.any(&["recursive", "archive"])) {
        return below(call, &place, &words);
    }
    if remote(source) || !directory {
        return call.place.write(&place, Follow::Parents, &words);
    }
    let mut out = tree(call, source, &place, Follow::All);
    if line.any(DELETE) {
        out.extend(deleted(call, source, &place, &words));
    }
    out
}

/// Anything below a destination may be overwritten.
fn below(call: &Call<'_>, place: &Arg, words: &str) -> Vec<Effect> {
    let target = match call.place.target(place, Follow::All) {
        Target::At(path) => Target::Below(path),
        other @ (Target::Below(_) | Target::Among(_) | Target::Nowhere | Target::Unknown(_)) => {
            other
        }
    };
    call.place.effect(target, words, |path| Effect::Write { path })
}

/// What is at the destination and not at the source goes.
fn deleted(call: &Call<'_>, source: &Arg, place: &Arg, words: &str) -> Vec<Effect> {
    let text = |arg: &Arg| arg.exact().and_then(|t| call.place.absolute(t));
    let (Some(from), Target::At(to)) = (text(source), call.place.target(place, Follow::All)) else {
        return below(call, place, words);
    };
    let Some(files) = files_below(call, &to.to_string()) else {
        return vec![opaque(Some(to), Why::Operand, words)];
    };
    let gone = files.iter().filter(|rel| call.site().entry(&join(&from, rel)) == Entry::Missing);
    gone.map(|rel| Effect::Remove { path: to.join(rel) }).collect()
}

fn scp(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "3", "4", "6", "A", "B", "C", "O", "p", "q", "R", "r", "s", "T", "v", "c=", "D=", "F=",
        "i=", "J=", "l=", "o=", "P=", "S=", "X=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    let Some((dest, sources)) = line.operands.split_last() else { return Vec::new() };
    if call.name == "sftp" || remote(dest) || sources.is_empty() {
        return Vec::new();
    }
    let words = call.words();
    let into = call.place.kind(dest) == Entry::Dir || sources.len() > 1;
    let mut out = Vec::new();
    for source in sources {
        let name = source.exact().map(|t| base_name(t.rsplit(':').next().unwrap_or(t)));
        let pattern = name.is_some_and(|n| n.contains(['*', '?', '['])) || line.has("r");
        let place = if into && !pattern { inside(dest, name) } else { dest.clone() };
        if pattern {
            out.extend(below(call, &place, &words));
        } else {
            out.extend(call.place.write(&place, Follow::All, &words));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn deleting_takes_what_the_source_lacks() {
        let mut scene = Scene::gate();
        assert!(reaches(&scene.run("rsync -a --delete docs/ lib/"), "lib/core.rs"));
        assert!(!reaches(&scene.run("rsync -a docs/ lib/"), "lib/core.rs"));
        assert!(!reaches(&scene.run("rsync -a --delete docs lib/"), "lib/core.rs"));
        scene.file("/tmp/x/core.rs", "");
        assert!(reaches(&scene.run("rsync -a /tmp/x/ lib/"), "lib/core.rs"));
        assert!(!reaches(&scene.run("rsync -a /tmp/x/ lib/"), "lib/util.rs"));
        assert!(reaches(&scene.run("rsync -a host:src/ lib"), "lib/core.rs"));
        assert!(!reaches(&scene.run("rsync -a host:src/ docs"), "lib/core.rs"));
    }
}
