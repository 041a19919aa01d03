//! Owns programs that pack and unpack. What an archive holds is not known: unpacking may write
//! anything below its destination, unless the members are named.

use std::path::Path;

use super::options::{Parsed, Style, parse};
use super::paths::{Target, join};
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::Effect;
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["tar", "bsdtar", "gtar"], "unpacks into its directory, or writes its archive", tar)
        .examples(
            &[
                "tar xzf ../b.tgz",
                "tar -xf ../b.tar -C lib",
                "tar --extract --file=../b.tar lib/core.rs",
                "tar cf lib/core.rs docs",
                "tar -cf ../b.tar --remove-files lib",
            ],
            &[
                "tar tf ../b.tar",
                "tar xOf ../b.tar",
                "tar xkf ../b.tar",
                "tar --help",
                "tar cf - lib",
            ],
        ),
    program(&["unzip"], "with -o unpacks over what is there", unzip).examples(
        &["unzip -o ../b.zip", "unzip -qo ../b.zip -d lib", "unzip -o ../b.zip lib/core.rs"],
        &["unzip ../b.zip", "unzip -l ../b.zip", "unzip -p ../b.zip", "unzip -n ../b.zip"],
    ),
    program(&["zip"], "writes its archive, with -m removes what it packs", zip).examples(
        &["zip -qm ../z.zip lib/core.rs", "zip lib/x.zip notes.md"],
        &["zip --help", "zip -T ../z.zip"],
    ),
    program(&["7z", "7za", "7zz", "7zr"], "unpacks into -o, or writes its archive", seven)
        .examples(
            &[
                "7z x ../b.7z",
                "7z x -y -olib ../b.7z",
                "7z a lib/b.7z notes.md",
                "7z a -sdel ../b.7z lib",
            ],
            &["7z l ../b.7z", "7z t ../b.7z"],
        ),
    program(
        &[
            "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd",
            "lz4",
        ],
        "replaces its operands with packed or unpacked ones",
        squeeze,
    )
    .examples(
        &["gzip lib/core.rs", "gunzip notes.md.gz", "xz -dk notes.md.xz", "zstd -o lib/x notes.md"],
        &["gzip -c lib/core.rs", "gzip -l x.gz", "xz -t x.xz", "zcat x.gz", "gzip --help"],
    ),
    program(&["cpio", "jar", "ar"], "unpacks into its directory", other).examples(
        &["cpio -idm", "jar xf ../b.jar", "ar x ../b.a"],
        &["cpio -o", "jar tf ../b.jar", "ar t ../b.a"],
    ),
];

/// Anything at or below a directory may be written.
fn anything(call: &Call<'_>, dir: &Arg) -> Vec<Effect> {
    let target = match call.place.target(dir, Follow::All) {
        // What an archive lays down there are names of its own, also where a tree lies deeper.
        Target::At(path) if scratch(call, &path) => Target::Nowhere,
        Target::At(path) if call.place.kind(dir) != Entry::Missing => Target::Below(path),
        Target::At(_) => Target::Nowhere,
        other @ (Target::Below(_) | Target::Among(_) | Target::Nowhere | Target::Unknown(_)) => {
            other
        }
    };
    call.place.effect(target, &call.words(), |path| Effect::Write { path })
}

/// Whether a path is the folder for temporary files itself.
fn scratch(call: &Call<'_>, path: &AbsPath) -> bool {
    let own = call.site().var("TMPDIR").and_then(|dir| call.site().resolve(&dir, Follow::All));
    own.as_ref() == Some(path)
        || ["/tmp", "/var/tmp"].iter().any(|dir| path.as_path() == Path::new(dir))
}

/// Named members below a directory.
fn members(call: &Call<'_>, dir: &Arg, names: &[Arg]) -> Vec<Effect> {
    let pattern = |arg: &Arg| arg.exact().is_none_or(|t| t.contains(['*', '?', '[']));
    if names.is_empty() || names.iter().any(pattern) {
        return anything(call, dir);
    }
    let place = |arg: &Arg| match dir.exact() {
        Some(dir) => Arg::text(join(dir, arg.exact().unwrap_or_default())),
        None => dir.clone(),
    };
    call.writes(&names.iter().map(place).collect::<Vec<_>>())
}

const TAR: &[&str] = &[
    "x,extract,get",
    "c,create",
    "t,list",
    "r,append",
    "u,update",
    "A,catenate",
    "d,diff,compare",
    "f,file=",
    "C,directory=",
    "v,verbose",
    "z,gzip",
    "j,bzip2",
    "J,xz",
    "zstd",
    "a,auto-compress",
    "k,keep-old-files",
    "skip-old-files",
    "keep-newer-files",
    "O,to-stdout",
    "p,preserve-permissions",
    "m,touch",
    "remove-files",
    "strip-components=",
    "one-top-level?",
    "exclude=",
    "exclude-from=",
    "X=",
    "T,files-from=",
    "I,use-compress-program=",
    "transform=",
    "xform=",
    "wildcards",
    "overwrite",
    "b=",
    "h,dereference",
    "P,absolute-names",
    "owner=",
    "group=",
    "mode=",
    "W,verify",
    "to-command=",
];

fn tar(call: &Call<'_>) -> Vec<Effect> {
    let mut args = call.args.clone();
    // The oldest form has its letters without a dash.
    if let Some(first) = args.first_mut() {
        let bare = first.exact().filter(|t| !t.starts_with('-')).map(|t| format!("-{t}"));
        if let Some(text) = bare {
            *first = Arg::text(bundled(&text));
        }
    }
    let line = parse(&args, TAR, Style::Gnu);
    if line.idle() || line.any(&["list", "compare"]) {
        return Vec::new();
    }
    if line.has("get") {
        return extract(call, &line);
    }
    let archive = line.value("file").filter(|file| file.exact() != Some("-"));
    let mut out = call.writes(archive);
    if line.has("remove-files") {
        out.extend(call.removes(&line.operands));
    }
    out
}

/// In the oldest form `f` may stand before other letters: its value is the next word anyway.
fn bundled(text: &str) -> String {
    let file = text.contains('f');
    let rest: String = text.chars().filter(|c| *c != 'f').collect();
    if file { format!("{rest}f") } else { rest }
}

fn extract(call: &Call<'_>, line: &Parsed) -> Vec<Effect> {
    let keeps = line.any(&["keep-old-files", "skip-old-files", "to-stdout"]);
    if keeps {
        return Vec::new();
    }
    let here = Arg::text(".");
    let dir = line.value("directory").unwrap_or(&here);
    if line.has("one-top-level") {
        let top = line.value("one-top-level").unwrap_or(dir);
        return anything(call, top);
    }
    let renamed =
        line.value("strip-components").is_some() || line.any(&["transform", "xform", "files-from"]);
    members(call, dir, if renamed { &[] } else { &line.operands })
}

fn unzip(call: &Call<'_>) -> Vec<Effect> {
    let grammar =
        &["o", "n", "l", "t", "p", "Z", "v", "z", "d=", "x", "q", "j", "u", "f", "P=", "c"];
    let line = parse(&call.args, grammar, Style::Gnu);
    // Without `-o` it asks before it overwrites, and nobody answers.
    if line.idle() || !line.has("o") || line.any(&["l", "t", "p", "Z", "v", "z", "n", "c"]) {
        return Vec::new();
    }
    let here = Arg::text(".");
    let names = line.operands.get(1..).unwrap_or_default();
    let plain = !line.any(&["j", "x"]);
    members(call, line.value("d").unwrap_or(&here), if plain { names } else { &[] })
}

fn zip(call: &Call<'_>) -> Vec<Effect> {
    let grammar = &[
        "r", "m", "q", "j", "u", "f", "d", "T,test", "9", "0", "1", "y", "x=", "i=", "b=", "P=",
        "e", "O,out=", "v", "X", "@", "sf", "n=", "t=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    let Some((archive, packed)) = line.operands.split_first() else { return Vec::new() };
    if line.idle() || line.has("test") || archive.exact() == Some("-") {
        return Vec::new();
    }
    let mut out = call.writes([line.value("out").unwrap_or(archive)]);
    if line.has("m") {
        out.extend(call.removes(packed));
    }
    out
}

fn seven(call: &Call<'_>) -> Vec<Effect> {
    let (options, operands): (Vec<&Arg>, Vec<&Arg>) =
        call.args.iter().partition(|a| a.prefix().starts_with('-'));
    let option = |name: &str| options.iter().find(|a| a.prefix().starts_with(name));
    let names: Vec<Arg> = operands.iter().skip(2).copied().cloned().collect();
    match operands.first().and_then(|a| a.exact()) {
        Some("x" | "e") if option("-so").is_none() && option("-aos").is_none() => {
            let dir = option("-o").map(|a| super::options::after(a, 2));
            members(call, &dir.unwrap_or_else(|| Arg::text(".")), &names)
        }
        Some("a" | "u" | "d" | "rn") => {
            let mut out = call.writes(operands.get(1).copied());
            if option("-sdel").is_some() {
                out.extend(call.removes(&names));
            }
            out
        }
        Some(_) | None => Vec::new(),
    }
}

const SQUEEZE: &[&str] = &[
    "c,stdout,to-stdout",
    "d,decompress,uncompress",
    "z,compress",
    "f,force",
    "k,keep",
    "rm",
    "l,list",
    "t,test",
    "q,quiet",
    "v,verbose",
    "r,recursive",
    "S,suffix=",
    "o=",
    "T,threads=",
    "n,no-name",
    "N,name",
    "e,extreme",
];

/// Suffixes that packers add.
const SUFFIXES: &[(&str, &str)] = &[
    ("gzip", "gz"),
    ("bzip2", "bz2"),
    ("xz", "xz"),
    ("lzma", "lzma"),
    ("zstd", "zst"),
    ("lz4", "lz4"),
];

fn squeeze(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, SQUEEZE, Style::Gnu);
    if line.idle() || line.any(&["to-stdout", "list", "test"]) {
        return Vec::new();
    }
    if let Some(out) = line.value("o") {
        return call.writes([out]);
    }
    let keeps = line.has("keep") || (call.name.ends_with("zstd") && !line.has("rm"));
    let unpacks = line.has("uncompress") || call.name.contains("un");
    let suffix = SUFFIXES.iter().find(|(name, _)| *name == call.name).map_or("gz", |(_, s)| s);
    let result = |arg: &Arg| {
        let text = arg.exact()?;
        let made = if unpacks {
            text.rsplit_once('.').map_or(text, |(stem, _)| stem).to_owned()
        } else {
            format!("{text}.{suffix}")
        };
        Some(Arg::text(made))
    };
    let mut out = if keeps { Vec::new() } else { call.removes(&line.operands) };
    out.extend(call.writes(&line.operands.iter().filter_map(result).collect::<Vec<_>>()));
    out
}

fn other(call: &Call<'_>) -> Vec<Effect> {
    let first = call.texts().next().unwrap_or_default().trim_start_matches('-').to_owned();
    let unpacks = match call.name.as_str() {
        "cpio" => call.texts().any(|t| {
            t == "--extract" || (t.starts_with('-') && !t.starts_with("--") && t.contains('i'))
        }),
        _ => first.starts_with('x'),
    };
    let here = Arg::text(".");
    if unpacks { anything(call, &here) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn unpacking_is_bounded_by_its_destination() {
        let scene = Scene::gate();
        let hit = |line: &str| reaches(&scene.run(line), "lib/core.rs");
        assert!(hit("tar xf ../b.tar") && hit("tar -C lib -xzf ../b.tgz"));
        assert!(!hit("tar xf ../b.tar -C docs") && !hit("tar xf ../b.tar docs/a.md"));
        assert!(!hit("tar czf ../b.tgz lib") && !hit("unzip -o ../b.zip -d docs"));
        assert!(hit("gzip lib/core.rs") && !hit("gzip -k lib/core.rs"));
    }
}
