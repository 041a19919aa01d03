//! What the reader says of whole commands: a map for a disk, and what must come out.

use std::collections::BTreeMap;

use super::{Arg, Dir, Entry, Invocation, Piece, Reading, Stdin, World, read};
use crate::policy::facts::Why;

/// A disk made of paths; a name that ends with `/` is a directory.
pub(super) struct Disk {
    files: BTreeMap<String, String>,
}

impl Disk {
    pub(super) fn scene() -> Self {
        let mut files = BTreeMap::new();
        for (path, text) in [
            ("/r/.git/", ""),
            ("/r/.gitignore", "x.log\n"),
            ("/r/lib/core.rs", "core"),
            ("/r/lib/util.rs", "util"),
            ("/r/docs/a.md", "a"),
            ("/r/notes.md", "notes"),
            ("/r/build/", ""),
            ("/r/run.sh", "rm lib/core.rs\n$UNKNOWN x\n"),
            ("/list", "lib/core.rs\n"),
            ("/home/u/", ""),
            ("/tmp/", ""),
        ] {
            files.insert(path.to_owned(), text.to_owned());
        }
        Self { files }
    }
}

fn below(dir: &str) -> String {
    format!("{}/", super::path::logical(dir).trim_end_matches('/'))
}

impl World for Disk {
    fn home(&self) -> Option<String> {
        Some("/home/u".to_owned())
    }

    fn var(&self, name: &str) -> Option<String> {
        (name == "TMPDIR").then(|| "/tmp".to_owned())
    }

    fn entry(&self, path: &str) -> Entry {
        let below = below(path);
        if self.files.contains_key(&super::path::logical(path)) {
            Entry::File
        } else if self.files.keys().any(|name| name.starts_with(&below)) {
            Entry::Dir
        } else {
            Entry::Missing
        }
    }

    fn target(&self, path: &str) -> Entry {
        self.entry(path)
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        let below = below(dir);
        let mut names: Vec<String> = self
            .files
            .keys()
            .filter_map(|name| name.strip_prefix(&below)?.split('/').next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        names.dedup();
        (names.len() <= limit).then_some(names)
    }

    fn read(&self, path: &str, _limit: usize) -> Option<String> {
        self.files.get(&super::path::logical(path)).cloned()
    }
}

pub(super) fn reading(text: &str) -> Reading {
    read(text, "/r", &Disk::scene())
}

fn shown(arg: &Arg) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Any => "?".to_owned(),
        Piece::Fresh => "FRESH".to_owned(),
    };
    arg.pieces.iter().map(piece).collect()
}

/// An invocation on one line: `[dir] words > files`, the directory only when it is not `/r`.
fn line(invocation: &Invocation) -> String {
    let mut words: Vec<String> = match &invocation.dir {
        Dir::At(dir) if dir == "/r" => Vec::new(),
        Dir::At(dir) => vec![format!("[{dir}]")],
        Dir::Unknown => vec!["[?]".to_owned()],
        Dir::Fresh => vec!["[FRESH]".to_owned()],
    };
    words.extend(invocation.argv.iter().map(shown));
    words.extend(invocation.more.then(|| "...".to_owned()));
    words.extend(
        invocation
            .redirects
            .iter()
            .map(|r| format!("{}{}", if r.append { ">>" } else { ">" }, shown(&r.target))),
    );
    words.join(" ")
}

pub(super) fn lines(text: &str) -> Vec<String> {
    reading(text).invocations.iter().map(line).collect()
}

/// Programs that only look, left out of comparisons.
fn quiet(line: &str) -> bool {
    let word = line.split(' ').find(|word| !word.starts_with('[') || *word == "[").unwrap_or("");
    matches!(
        word,
        "echo"
            | "printf"
            | "true"
            | "false"
            | "cat"
            | "cd"
            | "pushd"
            | "popd"
            | "find"
            | "test"
            | "["
            | "set"
            | "shift"
            | "export"
            | "local"
            | "alias"
            | "trap"
            | ":"
            | "read"
            | "mktemp"
            | "pwd"
            | "dirname"
            | "basename"
            | "exit"
            | "break"
            | "continue"
            | "return"
            | "source"
            | "."
            | "unset"
            | "ls"
            | "declare"
            | "seq"
            | "mkdir"
    ) && !line.contains('>')
}

#[track_caller]
fn says(text: &str, right: &[&str]) {
    let reading = reading(text);
    let all: Vec<String> = reading.invocations.iter().map(line).filter(|l| !quiet(l)).collect();
    assert_eq!(all, right, "{text}\n{:?}", reading.unread);
    assert!(reading.unread.is_empty(), "{text}: {:?}", reading.unread);
}

#[track_caller]
fn cannot(text: &str, why: Why) {
    let reading = reading(text);
    assert!(reading.unread.iter().any(|unread| unread.why == why), "{text}: {reading:?}");
}

#[test]
fn directories_follow_cd() {
    says("cd lib; rm core.rs", &["[/r/lib] rm core.rs"]);
    says("cd ./lib/ && >core.rs", &["[/r/lib] >core.rs"]);
    says("cd lib || exit 1; rm core.rs", &["[/r/lib] rm core.rs"]);
    says("set -e; cd lib; rm core.rs", &["[/r/lib] rm core.rs"]);
    says("pushd lib; popd; rm core.rs", &["rm core.rs"]);
    says("(cd docs); rm core.rs", &["rm core.rs"]);
    says("(cd lib && rm core.rs)", &["[/r/lib] rm core.rs"]);
    says("cd lib; cd -; rm x", &["rm x"]);
    says("cd lib; cd ..; rm x", &["rm x"]);
    says("cd; rm x", &["[/home/u] rm x"]);
    says("cd -- lib && rm x", &["[/r/lib] rm x"]);
    says("CDPATH=. cd lib && rm x", &["[/r/lib] rm x"]);
    says("CDPATH=/r; cd lib && rm x", &["[/r/lib] rm x"]);
    says("cd nowhere && rm x", &["[/r/nowhere] rm x"]);
    says("cd nowhere; rm x", &["[/r/nowhere] rm x", "rm x"]);
    says("mkdir -p new/sub; cd new; rm x", &["[/r/new] rm x"]);
    says("[ -d lib ] && cd lib; rm x", &["[/r/lib] rm x", "rm x"]);
    says(
        "cd \"$(git rev-parse --show-toplevel)\" && rm x",
        &["git rev-parse --show-toplevel", "rm x"],
    );
    says(
        "cd lib; cd \"$(git rev-parse --show-toplevel)\" && rm x",
        &["[/r/lib] git rev-parse --show-toplevel", "rm x"],
    );
    says("cd $(mktemp -d) && rm -rf *", &["[FRESH] rm -rf ?"]);
    says("cd $WHERE && rm x", &["[?] rm x"]);
    says("D=$(cd lib && pwd); rm $D/x", &["rm /r/lib/x"]);
    says("cd lib | true; rm x", &["rm x"]);
    says("cd lib & rm x", &["rm x"]);
    says("while true; do cd ..; rm x; break; done", &["[/] rm x"]);
}

#[test]
fn variables_are_known_where_the_text_says_so() {
    says("C='rm -rf lib'; $C", &["rm -rf lib"]);
    says("g=git; $g checkout main", &["git checkout main"]);
    says("x=lib/core.rs; rm \"$x\"", &["rm lib/core.rs"]);
    says("T=/tmp/out; echo x > $T/f", &["echo x >/tmp/out/f"]);
    says("echo x > \"$HOME/notes\"", &["echo x >/home/u/notes"]);
    says("echo x > ~/notes", &["echo x >/home/u/notes"]);
    says("echo x > \"$OUT/f\"", &["echo x >?/f"]);
    says("rm $TMPDIR/x $PWD/y", &["rm /tmp/x /r/y"]);
    says("D=$(mktemp -d); cp a \"$D/\"", &["cp a FRESH/"]);
    says("for f in a b; do rm \"$f\"; done", &["rm a", "rm b"]);
    says("for f in lib/*.rs; do rm $f; done", &["rm lib/core.rs", "rm lib/util.rs"]);
    says(
        "for d in a b; do echo x > \"$d/README\"; done",
        &["echo x >a/README", "echo x >b/README"],
    );
    says("set -- a 'b c'; rm \"$@\" $1", &["rm a b c a"]);
    says("set -- a b; shift; rm $1", &["rm b"]);
    says("f() { rm \"$1\"; }; f lib/core.rs", &["rm lib/core.rs"]);
    says("f() { local d=$1; rm $d; }; d=z; f a; rm $d", &["rm a", "rm z"]);
    says("if x; then a=1; else a=2; fi; rm $a", &["x", "rm ?"]);
    says("a=1; true && a=2; rm $a", &["rm ?"]);
    says("rm ${X:-lib} ${unset_but_known-a}", &["rm ? ?"]);
    says("x=; rm ${x:-lib}", &["rm lib"]);
    says("x=lib/core.rs; rm ${x%/*} ${x##*/} ${x/core/util}", &["rm lib core.rs ?"]);
    says("a=(x y); rm ${a[@]} \"${a[1]}\"", &["rm x y y"]);
    says("e=; $e rm x", &["rm x"]);
    says("read f; rm $f", &["rm ?"]);
    says("while read -r f; do rm \"$f\"; done < list", &["rm ?"]);
    says("x=a; while y; do rm $x; x=b; done", &["y", "rm a", "rm ?"]);
    says("rm$IFS-rf lib", &["rm -rf lib"]);
    says("export G=1; x; H=2 y", &["x", "y"]);
    says("unset x; rm a$x", &["rm a"]);
}

#[test]
fn exported_variables_reach_programs() {
    let env = |text: &str| {
        let reading = reading(text);
        let last = reading.invocations.last().expect("one").clone();
        let pair = |(name, value): &(String, Arg)| format!("{name}={}", shown(value));
        last.env.iter().map(pair).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(env("GIT_DIR=/x git status"), "GIT_DIR=/x");
    assert_eq!(env("export GIT_DIR=/x; git status"), "GIT_DIR=/x");
    assert_eq!(env("GIT_DIR=/x; git status"), "");
    assert_eq!(env("TMPDIR=/x; git status"), "TMPDIR=/x");
    assert_eq!(env("set -a; GIT_DIR=/x; git status"), "GIT_DIR=/x");
    assert_eq!(env("env GIT_DIR=/x git status"), "GIT_DIR=/x");
    assert_eq!(env("export A=1; env -u A git status"), "");
    assert_eq!(env("declare -x A=$(date); git status"), "A=?");
}

#[test]
fn words_expand_as_in_bash() {
    says("rm -rf lib/{core,util}.rs", &["rm -rf lib/core.rs lib/util.rs"]);
    says("{rm,-rf,x}", &["rm -rf x"]);
    says("rm lib/?ore.rs", &["rm lib/core.rs"]);
    says("rm ./*", &["rm ./build ./docs ./lib ./notes.md ./run.sh"]);
    says("rm -f lib/*.tmp", &["rm -f lib/*.tmp"]);
    says("rm **/*.rs", &["rm lib/core.rs lib/util.rs"]);
    says("rm '*' \"lib/*\" \\*", &["rm * lib/* *"]);
    says("rm lib/'core.rs' ~+/x", &["rm lib/core.rs /r/x"]);
    says("dd of=~/x", &["dd of=/home/u/x"]);
    says("git stash drop stash@{0}", &["git stash drop stash@{0}"]);
    says("rm $x/*.rs", &["rm ?/?.rs"]);
    says("$(echo rm) -rf lib", &["rm -rf lib"]);
    says("`echo rm` -rf lib", &["rm -rf lib"]);
    says("rm $(printf '%s\\n' a b)", &["rm a b"]);
    says("rm \"$(dirname lib/core.rs)/x\" $(basename a/b.c .c)", &["rm lib/x b"]);
    says("rm <(ls)", &["rm /dev/fd/63"]);
    says("rm $((1+2))", &["rm ?"]);
    says("rm $(cat <<'E'\nlib/core.rs\nE\n)", &["rm lib/core.rs"]);
    let glob = &reading("rm lib/*.tmp").invocations[0].argv[1];
    assert_eq!((glob.exact(), glob.glob.as_deref()), (Some("lib/*.tmp"), Some("lib/*.tmp")));
}

/// Ways to run `rm x`.
const RUN: &[&str] = &[
    "rm x",
    "(rm x)",
    "{ rm x; }",
    "! rm x",
    "time rm x",
    "if true; then rm x; fi",
    "if rm x; then :; fi",
    "if false; then :; elif rm x; then :; fi",
    "true && rm x",
    "false || rm x",
    "while rm x; do :; done",
    "until false; do rm x; break; done",
    "for i in 1; do rm x; done",
    "for ((i=0;i<1;i++)); do rm x; done",
    "case a in a) rm x;; esac",
    "case a in b) ;& *) rm x;; esac",
    "select i in a; do rm x; break; done",
    "f() { rm x; }; f",
    "function f { rm x; }; f",
    "f() ( rm x ); f",
    "echo $(rm x)",
    "echo `rm x`",
    "echo \"$(rm x)\"",
    "cat <(rm x)",
    "echo > $(rm x)",
    "tee >(rm x)",
    "local y=$(rm x)",
    "[[ $(rm x) ]]",
    "(( $(rm x) ))",
    "a=($(rm x))",
    "a[$(rm x)]=1",
    "echo ${y:-$(rm x)}",
    "echo ${y[$(rm x)]}",
    "cat <<E\n$(rm x)\nE",
    "cat <<< $(rm x)",
    "coproc rm x",
    "rm x &",
    "true | rm x",
    "rm x | true",
    "true |& rm x",
    "echo {a,$(rm x)}",
    "trap 'rm x' EXIT",
    "eval rm x",
    "eval 'rm x'",
    "bash -c 'rm x'",
    "bash <<< 'rm x'",
    "bash <<E\nrm x\nE",
    "bash -s <<E\nrm x\nE",
    "echo 'rm x' | bash",
    "echo 'rm x' | sh -s",
    "source <(echo 'rm x')",
    ". /dev/stdin <<< 'rm x'",
    "bash -ec 'rm x'",
    "bash --norc -c 'rm x'",
    "bash -euo pipefail -c 'rm x'",
    "sh -c 'sh -c \"rm x\"'",
    "bash -c 'rm \"$0\"' x",
    "sh -c 'rm $1' _ x",
    "alias ll='rm x'; ll",
    "alias r=rm; r x",
    "env -S 'rm x'",
    "env A=1 rm x",
    "env -i -u B rm x",
    "sudo -u root rm x",
    "sudo A=1 rm x",
    "doas rm x",
    "xargs rm <<< x",
    "echo x | xargs rm",
    "xargs -I{} rm {} <<< x",
    "xargs -n1 rm <<< x",
    "printf 'x\\0' | xargs -0 rm",
    "echo x | xargs -I% sh -c 'rm %'",
    "flock l rm x",
    "flock l -c 'rm x'",
    "watch -n1 rm x",
    "script -qc 'rm x' /dev/null",
    "busybox rm x",
    "su u -c 'rm x'",
    "parallel rm ::: x",
    "parallel 'rm {}' ::: x",
    "git -c alias.z='!rm x' z",
    "git bisect run rm x",
    "hyperfine 'rm x'",
    "echo 'rm x' | at now",
    "cat > s.sh <<'E'\nrm x\nE\nbash s.sh",
    "echo 'rm x' > s.sh; ./s.sh",
    "echo 'rm x' > s.sh; . ./s.sh",
    "echo 'rm x' > s.sh; bash < s.sh",
    "r() { rm \"$@\"; }; r x",
    "set -- rm x; \"$@\"",
    "c=(rm x); \"${c[@]}\"",
    "c=(rm); c+=(x); \"${c[@]}\"",
    "cmd=rm; eval \"$cmd x\"",
    "exec rm x",
    "command rm x",
    "nohup timeout 5 nice rm x",
    "rm x; )",
    "rm x\n)",
    "rm x\nif",
    "x() { :; }; rm x",
    "echo \\) ; rm x",
    "# c\nrm x",
    "x=$'it\\'s'; rm x",
];

#[test]
fn everything_that_runs_is_seen() {
    for text in RUN {
        let all = lines(text);
        let seen = all.iter().any(|line| line == "rm x" || line == "rm x >?");
        assert!(seen, "{text:?}: {all:?} {:?}", reading(text).unread);
    }
}

#[test]
fn what_is_only_text_stays_text() {
    for text in [
        "echo 'rm x'",
        "echo rm x",
        "git commit -m 'rm x'",
        "# rm x",
        "cat <<'E'\nrm x\nE",
        "cat > f <<E\nrm x\nE",
        "grep -rn 'rm x' docs",
        "ssh h 'rm x'",
        "docker run i rm x",
        "kubectl exec p -- rm x",
        "bash -n -c 'rm x'",
        "git commit -m \"$(cat <<'E'\nrm x\nE\n)\"",
        "python3 -c 'rm x'",
        "f() { rm x; }",
        "command -v rm",
        "ls | grep 'rm x'",
        "tee f <<'E'\nit's; rm x\nE",
        "printf '%s' 'rm x'",
        "awk '{ rm x }' f",
    ] {
        let reading = reading(text);
        let rm = |i: &Invocation| i.argv.first().and_then(Arg::exact) == Some("rm");
        assert!(!reading.invocations.iter().any(rm), "{text:?}: {reading:?}");
        assert!(reading.unread.is_empty(), "{text:?}: {:?}", reading.unread);
    }
}

#[test]
fn ordinary_commands_leave_nothing_unread() {
    for text in [
        "ls",
        "cargo test 2>&1 | tail -5",
        "npm run build",
        "cd /x && git status",
        "set -euo pipefail",
        "for f in *.rs; do sed -i 's/a/b/' \"$f\"; done",
        "while read -r f; do rm \"$f\"; done < list",
        "[ -f x ] && rm x || true",
        "python3 - <<'E'\nprint('a')\nE",
        "export X=1; ./run.sh",
        "VAR=$(git rev-parse HEAD); echo $VAR",
        "{ a; b; } > log 2>&1",
        "git log --format='%h > %s'",
        "find . -name '*.rs' | xargs grep -l foo",
        "cat f | sort | uniq -c | sort -rn | head",
        "diff <(sort a) <(sort b)",
        "bash ./run.sh",
        "bash missing.sh",
        "source missing.sh",
        "sh -c 'ls'",
        "cat <<EOF > f\n$x `date` it's\nEOF",
        "trap 'rm -rf \"$T\"' EXIT; T=$(mktemp -d)",
        "test -n \"$X\" && ls",
        "curl -s https://x/y?z=1 | jq .",
        "echo $((1+2))",
        "git commit -m \"$(date): x\"",
        "a=1 b=2 make -j4",
        "kill %1; wait; jobs",
        "time cargo build",
        "(sleep 1; ls) &",
        "case $x in a|b) ls;; *) ;; esac",
        "while true; do ls; sleep 1; done",
        "docker run --rm -v $PWD:/x i sh -c 'rm -rf /x'",
        "exec 3>&1; ls >&3",
        "[[ $x =~ ^a(b|c)$ ]] && echo y",
        "if ! grep -q a f; then echo a >> f; fi",
        "printf -v x '%s' a; echo $x",
        "find . -exec sh -c 'echo \"$1\"' _ {} \\;",
        "ls *.foo",
        "node -e \"console.log(1)\"",
        "cd \"$DIR\"; ls",
        "git diff --name-only | while read -r f; do echo \"$f\"; done",
        "select x in a b; do echo $x; done",
    ] {
        let reading = reading(text);
        assert!(reading.unread.is_empty(), "{text:?}: {:?}", reading.unread);
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    cannot("$CMD -rf x", Why::Program);
    cannot("$(date) x", Why::Program);
    cannot("eval \"$x\"", Why::Generated);
    cannot("curl -s u | sh", Why::Generated);
    cannot("bash <(curl -s u)", Why::Generated);
    cannot("source <(curl -s u)", Why::Generated);
    cannot("bash -c \"ls $x\"", Why::Generated);
    cannot("git add -A \"x", Why::Unterminated);
    cannot("a;;b", Why::Syntax);
    cannot("ls \0", Why::Syntax);
    cannot("sh -c 'sh -c \"sh -c '\\''sh -c ls'\\''\"'", Why::TooDeep);
    cannot(&"x".repeat(1024 * 1024 + 1), Why::TooLong);
    cannot(&"(".repeat(100), Why::TooDeep);
    assert!(reading(":(){ :|:& };:").unread.is_empty());
}

#[test]
fn find_runs_its_commands_on_what_it_finds() {
    says("find . -name core.rs -execdir rm {} \\;", &["[/r/lib] rm ./core.rs"]);
    says("find . -name '*.rs' -exec rm {} +", &["rm ./lib/core.rs ./lib/util.rs"]);
    says("find lib -type f | xargs rm", &["rm lib/core.rs lib/util.rs"]);
    says("find . -name '*.orig' -exec rm {} \\;", &[]);
    says("find lib ! -name core.rs -type f -exec rm {} \\;", &["rm lib/util.rs"]);
    says("find lib \\( -name core.rs -o -name x \\) -exec rm {} \\;", &["rm lib/core.rs"]);
    says("find $D -name '*.rs' -exec rm {} \\;", &["rm ?"]);
    says("rm $(find lib -name 'c*')", &["rm lib/core.rs"]);
    says("find docs -type f -print0 | xargs -0 -n1 rm", &["rm docs/a.md"]);
}

#[test]
fn operands_that_are_not_known_are_marked() {
    says("cat list | xargs rm", &["rm ..."]);
    // A shell that reads its script from standard input shares it with what it runs.
    says("sh <<E\nxargs rm\nlib\nE", &["rm ...", "lib"]);
    says("xargs rm < /list", &["rm lib/core.rs"]);
    says("git ls-files | xargs -I{} rm {}", &["git ls-files", "rm ?"]);
    says("ls -l | xargs -n1 rm -f", &["rm -f ..."]);
    says("ls lib | xargs -n1 rm -f", &["rm -f core.rs", "rm -f util.rs"]);
    says("git ls-files docs | head -3 | xargs rm", &["git ls-files docs", "head -3", "rm docs/?"]);
    says("grep -rl x docs | xargs rm", &["grep -rl x docs", "rm docs/?"]);
    says("ls docs | sed 's|^|docs/|' | xargs rm", &["sed s|^|docs/|", "rm docs/a.md"]);
    says("git ls-files '*.md' | xargs rm", &["git ls-files *.md", "rm ..."]);
}

#[test]
fn standard_input_is_reported() {
    let stdin = |text: &str| reading(text).invocations.last().expect("one").stdin.clone();
    assert_eq!(stdin("python3 - <<'E'\nx\nE"), Stdin::Text("x\n".to_owned()));
    assert_eq!(stdin("ed -s f <<< w"), Stdin::Text("w\n".to_owned()));
    assert_eq!(stdin("printf '1d\\nw\\n' | ed -s f"), Stdin::Text("1d\nw\n".to_owned()));
    assert_eq!(stdin("curl u | patch"), Stdin::Unknown);
    assert_eq!(stdin("patch < p"), Stdin::File(Arg::text("p")));
    assert_eq!(stdin("patch"), Stdin::Inherited);
    assert_eq!(stdin("while read x; do patch; done < p"), Stdin::File(Arg::text("p")));
}

#[test]
fn redirections_of_every_spelling_open_their_file() {
    for text in [
        "a > f",
        "a >f",
        "a>f",
        "a 1> f",
        "a 2> f",
        "a >| f",
        "a &> f",
        "a >& f",
        "a {fd}> f",
        "exec > f",
        "> f",
        "(a) > f",
        "{ a; } > f",
        "for i in 1; do a; done > f",
        "if a; then b; fi > f",
        "while a; do b; done > f",
        "case a in a) b;; esac > f",
        "g() { a; } > f; g",
        "g() { a; }; g > f",
        "bash -c a > f",
        "eval a > f",
        "[[ a ]] > f",
        "(( 1 )) > f",
        "a <> f",
        "a > 'f'",
        "x=f; a > $x",
        "a <<E > f\nE",
        "xargs a > f",
    ] {
        let reading = reading(text);
        let file = |i: &Invocation| i.redirects.iter().any(|r| r.target.exact() == Some("f"));
        assert!(reading.invocations.iter().any(file), "{text}: {reading:?}");
    }
    for text in [
        "a 2>&1",
        "a >&2",
        "a 2>&-",
        "a <f",
        "a <&3",
        "[[ a > f ]]",
        "(( a > f ))",
        "a '>' f",
        "a \\> f",
    ] {
        let reading = reading(text);
        assert!(reading.invocations.iter().all(|i| i.redirects.is_empty()), "{text}: {reading:?}");
    }
    assert!(reading("a >> f").invocations[0].redirects[0].append);
}

#[test]
fn a_script_file_is_looked_into_but_not_blamed() {
    let reading = reading("bash run.sh");
    assert!(reading.unread.is_empty());
    assert_eq!(reading.invocations.iter().map(line).collect::<Vec<_>>(), ["rm lib/core.rs"]);
}

#[test]
fn nobody_vouches_for_freshness_by_hand() {
    let reading = reading("rm \u{10fffc}/x; rm \u{10fffd}");
    assert!(reading.invocations.iter().all(|i| !i.argv[1].fresh()));
}
