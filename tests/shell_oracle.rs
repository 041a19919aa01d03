//! Real bash is the judge of the reader: commands run in a scratch folder with recorders on PATH.
//! Whatever a recorded program was run with, and whatever file a redirection changed, must be in
//! our reading, or the reading must say that it could not read something.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use octo::policy::shell::{Arg, Dir, Entry, Invocation, Piece, Reading, World, read};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

/// Longest that a command may run.
const LIMIT: Duration = Duration::from_secs(5);
/// Programs whose every call is written down instead of done.
const RECORDED: &[&str] = &[
    "rm", "mv", "cp", "git", "tee", "sed", "touch", "truncate", "ls", "make", "npm", "cargo", "gh",
    "python3", "perl", "awk", "grep", "chmod", "rmdir", "ln", "sort", "a", "b", "c", "d", "e", "x",
    "y", "z",
];
/// Programs that work as they do everywhere.
const REAL: &[&str] = &[
    "bash", "dash", "cat", "env", "xargs", "find", "nohup", "timeout", "nice", "head", "mktemp",
    "dirname", "basename", "seq", "stdbuf", "setsid", "sleep", "mkdir", "wc", "tr", "flock",
    "ionice", "taskset", "date", "printf", "realpath", "yes",
];
const RECORDER: &str = "#!/bin/dash
{ printf '%s\\0' \"$PWD\" \"${0##*/}\" \"$@\"; } > \"$RECORDS/$$\"
[ \"${0##*/} $1 $2\" = 'git rev-parse --show-toplevel' ] && echo \"$ROOT\"
exit 0
";

/// The disk as the reader may ask it.
struct Disk {
    home: String,
}

fn entry(meta: std::io::Result<fs::Metadata>) -> Entry {
    match meta.map(|meta| meta.file_type()) {
        Err(_) => Entry::Missing,
        Ok(kind) if kind.is_symlink() => Entry::Link,
        Ok(kind) if kind.is_dir() => Entry::Dir,
        Ok(kind) if kind.is_file() => Entry::File,
        Ok(_) => Entry::Other,
    }
}

impl World for Disk {
    fn home(&self) -> Option<String> {
        Some(self.home.clone())
    }

    fn var(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| self.home.clone())
    }

    fn entry(&self, path: &str) -> Entry {
        entry(fs::symlink_metadata(path))
    }

    fn target(&self, path: &str) -> Entry {
        entry(fs::metadata(path))
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        let names: Vec<String> = fs::read_dir(dir)
            .ok()?
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        (names.len() <= limit).then_some(names)
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        fs::read_to_string(path).ok().filter(|text| text.len() <= limit)
    }
}

/// A call that bash made.
#[derive(Debug)]
struct Call {
    dir: String,
    argv: Vec<String>,
}

/// A scratch folder.
struct Bench {
    place: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let bench = Self { place };
        let bin = bench.at("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in RECORDED {
            let file = bin.join(name);
            fs::write(&file, RECORDER).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in REAL {
            let real = ["/bin", "/usr/bin"].iter().map(|dir| Path::new(dir).join(name));
            if let Some(real) = real.into_iter().find(|path| path.exists()) {
                symlink(real, bin.join(name)).unwrap();
            }
        }
        // `sh` may be any of several shells: what counts here is that its texts are followed.
        symlink("/bin/bash", bin.join("sh")).unwrap();
        bench
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.path().canonicalize().unwrap().join(path)
    }

    /// The scene, as new.
    fn set(&self) {
        for dir in ["home", "tmp", "records"] {
            drop(fs::remove_dir_all(self.at(dir)));
            fs::create_dir_all(self.at(dir)).unwrap();
        }
        let root = self.at("home/proj/app");
        for (path, text) in [
            (".git/HEAD", "ref: refs/heads/main\n"),
            ("lib/core.rs", "core\n"),
            ("lib/util.rs", "util\n"),
            ("docs/a.md", "a\n"),
            ("notes.md", "notes\n"),
            ("build/.keep", ""),
            ("../x", "x\n"),
            ("../list", "lib/core.rs\n"),
        ] {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        symlink(root.join("lib"), self.at("home/ln")).unwrap();
    }

    fn root(&self) -> String {
        self.at("home/proj/app").to_string_lossy().into_owned()
    }

    fn home(&self) -> String {
        self.at("home").to_string_lossy().into_owned()
    }

    /// Content of every file of the scene.
    fn picture(&self) -> BTreeMap<String, String> {
        let mut picture = BTreeMap::new();
        let mut open = vec![self.at("home")];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(path),
                    Ok(kind) if kind.is_file() => {
                        let text = fs::read(&path).unwrap_or_default();
                        let text = String::from_utf8_lossy(&text).into_owned();
                        picture.insert(path.to_string_lossy().into_owned(), text);
                    }
                    _ => {}
                }
            }
        }
        picture
    }

    fn run(&self, text: &str) {
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", text]).current_dir(self.root()).env_clear();
        bash.env("PATH", self.at("bin")).env("HOME", self.home());
        bash.env("RECORDS", self.at("records")).env("ROOT", self.root());
        bash.env("TMPDIR", self.at("tmp"));
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = bash.spawn().unwrap();
        let end = Instant::now() + LIMIT;
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        let group = rustix::process::Pid::from_child(&child);
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        drop(child.wait());
    }

    fn calls(&self) -> Vec<Call> {
        let files = fs::read_dir(self.at("records")).unwrap().flatten();
        files
            .filter_map(|file| {
                let bytes = fs::read(file.path()).ok()?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let mut words = text.strip_suffix('\0')?.split('\0').map(str::to_owned);
                Some(Call { dir: words.next()?, argv: words.collect() })
            })
            .collect()
    }

    /// What bash did that the reading does not say.
    fn missing(&self, text: &str) -> Vec<String> {
        self.set();
        let reading = read(text, &self.root(), &Disk { home: self.home() });
        if !reading.unread.is_empty() {
            return Vec::new();
        }
        let before = self.picture();
        self.run(text);
        let mut wrong = Vec::new();
        let found = text.contains("find ");
        for call in self.calls() {
            // A recorder that is sourced runs under the name of the shell.
            let recorded = call.argv.first().is_some_and(|name| RECORDED.contains(&name.as_str()));
            if recorded
                && !reading
                    .invocations
                    .iter()
                    .any(|invocation| self.covers(invocation, &call, found))
            {
                wrong.push(format!("{text:?}\n  ran {call:?}\n  read {}", short(&reading)));
            }
        }
        for (path, content) in self.picture() {
            if before.get(&path) != Some(&content) && !Self::opens(&reading, &path) {
                wrong.push(format!("{text:?}\n  wrote {path}\n  read {}", short(&reading)));
            }
        }
        wrong
    }

    /// Whether this is what was read: the very words in the very order, as far as they are known.
    /// Only what `find` found may come in any order.
    fn covers(&self, invocation: &Invocation, call: &Call, found: bool) -> bool {
        let Some((program, args)) = invocation.argv.split_first() else { return false };
        let name = program.exact().unwrap_or_default();
        let (ran, words) = call.argv.split_first().unwrap();
        name.rsplit('/').next() == Some(ran)
            && self.inside(&invocation.dir, &call.dir)
            && (fits(args, words, invocation.more) || (found && shuffled(args, words)))
    }

    fn inside(&self, dir: &Dir, ran: &str) -> bool {
        match dir {
            Dir::Unknown => true,
            Dir::Fresh => ran.starts_with(&*self.at("tmp").to_string_lossy()),
            Dir::At(dir) => same(dir, ran),
        }
    }

    fn opens(reading: &Reading, path: &str) -> bool {
        let made = |invocation: &Invocation| {
            let names = invocation.redirects.iter().map(|redirect| &redirect.target);
            names.into_iter().any(|target| match (target.exact(), &invocation.dir) {
                (Some(target), Dir::At(dir)) => {
                    same(&Path::new(dir).join(target).to_string_lossy(), path)
                }
                _ => true,
            })
        };
        reading.invocations.iter().any(made)
    }
}

fn short(reading: &Reading) -> String {
    let args = |invocation: &Invocation| {
        let words: Vec<String> =
            invocation.argv.iter().map(|arg| format!("{:?}", arg.pieces)).collect();
        format!("{:?} {}", invocation.dir, words.join(" "))
    };
    reading.invocations.iter().map(args).collect::<Vec<_>>().join("\n       ")
}

fn same(one: &str, other: &str) -> bool {
    let real = |path: &str| fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    real(one) == real(other)
}

/// True when arguments as read can be the words as run.
fn fits(args: &[Arg], words: &[String], more: bool) -> bool {
    let Some((arg, rest)) = args.split_first() else { return more || words.is_empty() };
    if let Some(text) = arg.exact() {
        let first = words.first().is_some_and(|word| word == text || fd(word) && fd(text));
        return first && fits(rest, &words[1..], more);
    }
    // An unknown piece may be no word, or several.
    (0..=words.len()).any(|count| {
        like(&arg.pieces, &words[..count].join(" ")) && fits(rest, &words[count..], more)
    })
}

/// `find` lists a folder in an order that is nobody's.
fn shuffled(args: &[Arg], words: &[String]) -> bool {
    let mut args: Vec<&str> = args.iter().filter_map(Arg::exact).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    args.sort_unstable();
    words.sort_unstable();
    args == words
}

/// Numbers of process substitutions differ.
fn fd(word: &str) -> bool {
    word.starts_with("/dev/fd/")
}

fn like(pieces: &[Piece], text: &str) -> bool {
    match pieces.split_first() {
        None => text.is_empty(),
        Some((Piece::Text(known), rest)) => {
            text.strip_prefix(known.as_str()).is_some_and(|text| like(rest, text))
                || (text.is_empty() && known.trim().is_empty() && like(rest, text))
        }
        Some((Piece::Any | Piece::Fresh, rest)) => {
            (0..=text.len()).any(|at| text.is_char_boundary(at) && like(rest, &text[at..]))
        }
    }
}

fn corpus(file: &str, field: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(file);
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()[field].as_str().unwrap().to_owned()
    };
    text.lines().map(line).collect()
}

fn judge(commands: impl IntoIterator<Item = String>) {
    let bench = Bench::new();
    let mut wrong = Vec::new();
    for command in commands {
        let command = command.replace("{ROOT}", &bench.root()).replace("{HOME}", &bench.home());
        wrong.extend(bench.missing(&command));
    }
    assert!(wrong.is_empty(), "{} unseen:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn gate_corpus_is_read_as_bash_runs_it() {
    judge(corpus("bash_gate.jsonl", "command"));
}

#[test]
fn grammar_corpus_is_read_as_bash_runs_it() {
    judge(corpus("bash_grammar.jsonl", "cmd"));
}

/// Words that are safe to run anything on.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "lib/core.rs",
        "lib",
        "'lib/util.rs'",
        "\"docs/a.md\"",
        "l''ib/co\"re\".rs",
        "lib/*.rs",
        "*.md",
        "lib/{core,util}.rs",
        "$x",
        "\"$x\"",
        "${x}",
        "${x:-lib}",
        "${y:-docs}",
        "\"${x%/*}\"",
        "${x##*/}",
        "$(echo lib)",
        "`echo lib`",
        "\"$(echo lib/core.rs)\"",
        "$1",
        "\"$@\"",
        "~/x",
        "$HOME/x",
        "$PWD/lib",
        "-rf",
        "--",
        "$'lib\\x2fcore.rs'",
        "?otes.md",
        "[n]otes.md",
        "{a..c}",
        "nothing*",
        "$f",
        "\"$f\"",
        "${#x}",
        "$(cat <<< lib)",
        "$(printf '%s ' a b)",
        "\\*",
        "a\\ b",
        "${a[@]}",
        "\"${a[1]}\"",
        "$((1))",
        "<(echo a)",
        "$(dirname lib/core.rs)",
        "$(basename $x)",
        "${x/lib/docs}",
        "${x:0:3}",
        "{a,$x}",
        "''",
    ])
    .prop_map(str::to_owned)
}

fn simple() -> impl Strategy<Value = String> {
    let program = prop::sample::select(vec![
        "rm",
        "mv",
        "cp",
        "git",
        "tee",
        "touch",
        "r''m",
        "\\rm",
        "command rm",
        "env rm",
        "env A=1 rm",
        "nohup rm",
        "timeout 5 rm",
        "xargs rm",
        "nice -n 5 rm",
        "x=q rm",
        "exec rm",
        "builtin command rm",
    ]);
    (program, prop::collection::vec(word(), 0..3))
        .prop_map(|(program, words)| format!("{program} {}", words.join(" ")))
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Commands that change what the shell knows.
const STATES: &[&str] = &[
    "x=lib/core.rs",
    "x=docs",
    "cd lib",
    "cd ..",
    "cd nowhere",
    "pushd docs",
    "popd",
    "set -- lib docs",
    "f=notes.md",
    "export x=lib",
    "unset x",
    "shift",
    "x=\"a b\"",
    "a=(lib docs)",
    "a+=(x)",
    "cd -",
    "set -e",
    "read f <<< lib",
    "true",
    "false",
    "x+=q",
    "alias r=rm",
    "x=$(echo docs)",
    "cd ~",
    "mkdir -p new; cd new",
    "IFS=:",
    "local x=1",
    "declare x=docs",
    "printf -v x q",
    "readonly q=1",
    "trap 'rm $x' EXIT",
    "> new.txt",
    "echo hi >> notes.md",
    "echo \"$x\" > docs/b.md",
    "cat > s.sh <<< 'rm $1 lib'",
    "bash s.sh a",
    ". ./s.sh",
];

/// Commands made of commands.
fn line() -> impl Strategy<Value = String> {
    let state = (prop::sample::select(STATES),).prop_map(|(text,)| text.to_owned());
    let leaf = prop_oneof![3 => simple(), 2 => state];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("{a}; {b}")),
            two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
            two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} || {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            two.clone().prop_map(|(a, b)| format!("{{ {a}; }} && ( {b} )")),
            two.clone().prop_map(|(a, b)| format!("if {a}; then {b}; else x=other; fi")),
            two.clone().prop_map(|(a, b)| format!("f() {{ {a}; }}; {b}; f docs")),
            two.clone().prop_map(|(a, b)| format!("case $x in lib*) {a};; *) {b};; esac")),
            (inner.clone(), word(), word())
                .prop_map(|(a, v, w)| format!("for f in {v} {w}; do {a}; done")),
            (inner.clone(), word()).prop_map(|(a, v)| format!("x={v}; {a}")),
            (inner.clone(), word()).prop_map(|(a, v)| format!("set -- {v}; {a}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("{{ {a}; }} > out.txt")),
            inner.clone().prop_map(|a| format!("! {a}")),
            inner.clone().prop_map(|a| format!("eval {}", single(&a))),
            inner.clone().prop_map(|a| format!("bash -c {} zero lib", single(&a))),
            inner.clone().prop_map(|a| format!("sh <<'END'\n{a}\nEND")),
            inner.clone().prop_map(|a| format!("bash <<< {}", single(&a))),
            inner.clone().prop_map(|a| format!("echo {} | bash", single(&a))),
            inner.clone().prop_map(|a| format!("echo $({a})")),
            inner.clone().prop_map(|a| format!("x=\"$({a})\"; rm $x")),
            inner.clone().prop_map(|a| format!("cat <({a})")),
            inner.clone().prop_map(|a| format!("source <(echo {})", single(&a))),
            inner.clone().prop_map(|a| format!("printf 'lib docs' | while read f y; do {a}; done")),
            inner.clone().prop_map(|a| format!("for f in 1 2; do {a}; break; done; rm $x $f")),
            inner.clone().prop_map(|a| format!("until {a}; do x=turn; break; done; rm $x")),
            inner.clone().prop_map(|a| format!("{a} & wait")),
            inner
                .clone()
                .prop_map(|a| format!("g() {{ local x=in; {a}; return; x=no; }}; g lib; rm $x")),
            inner.prop_map(|a| format!(
                "find lib -name 'c*' -exec bash -c {} zero {{}} \\;",
                single(&a)
            )),
        ]
    })
}

#[test]
fn made_up_lines_are_read_as_bash_runs_them() {
    let cases = std::env::var("OCTO_ORACLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let bench = Bench::new();
    let mut runner = TestRunner::new(config);
    let ended = runner.run(&line(), |text| {
        let wrong = bench.missing(&text);
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    });
    if let Err(wrong) = ended {
        panic!("{wrong}");
    }
}
