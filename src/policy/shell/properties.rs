//! Properties of the reader on inputs nobody wrote: total on any text, no weaker when nested,
//! bounded however much is nested or repeated.

use proptest::prelude::*;

use super::tests::{Disk, reading};
use super::{Arg, Invocation, Piece, Reading, Stdin, read, walk};
use crate::policy::facts::Why;

const GRAMMAR: &str = include_str!("../../../fixtures/bash_grammar.jsonl");
const GATE: &str = include_str!("../../../fixtures/bash_gate.jsonl");

fn corpus() -> Vec<String> {
    let field = |text: &str, name: &str| -> Vec<String> {
        let line = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).expect("corpus");
            value[name].as_str().expect("text").to_owned()
        };
        text.lines().map(line).collect()
    };
    [field(GRAMMAR, "cmd"), field(GATE, "command")].concat()
}

/// Bytes that mean something to bash, and some that don't.
const ALPHABET: &[&str] = &[
    "$(",
    "`",
    "((",
    "))",
    "${",
    "}",
    "{",
    "(",
    ")",
    "[[",
    "]]",
    "<<E\n",
    "<<-'E'\n",
    "E\n",
    "<<<",
    "<(",
    ">",
    ">>",
    "&",
    "&&",
    "|",
    "||",
    ";",
    ";;",
    "\n",
    "\\\n",
    "\\",
    "'",
    "\"",
    "$'",
    "#",
    " ",
    "\t",
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "for x in ",
    "while ",
    "case x in ",
    "esac",
    "f() ",
    "function ",
    "x=",
    "x+=(",
    "a[",
    "]",
    "*",
    "?",
    "~",
    "!",
    "eval ",
    "bash -c ",
    "xargs ",
    "find . -exec ",
    "env -S ",
    "$x",
    "$@",
    "\0",
    "\r",
    "é",
    "\u{10fffc}",
    "rm ",
    "{a,b}",
    "{1..9}",
    "cd ",
    "trap ",
    "alias a=",
    "$((",
    "$[",
    "time ",
    "coproc ",
    "set -- ",
    "@(",
    "}}",
    "1>&2",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(reading(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn any_syntax_is_read(parts in prop::collection::vec(prop::sample::select(ALPHABET), 0..60)) {
        drop(reading(&parts.concat()));
    }

    #[test]
    fn a_damaged_corpus_is_read(
        pick in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        part in prop::sample::select(ALPHABET),
        cut in 0_usize..4,
    ) {
        let all = corpus();
        let text: Vec<char> = all[pick.index(all.len())].chars().collect();
        let at = at.index(text.len() + 1);
        let head: String = text[..at].iter().collect();
        let tail: String = text[(at + cut).min(text.len())..].iter().collect();
        drop(reading(&format!("{head}{part}{tail}")));
    }
}

/// True when a text of pieces says no less than the other.
fn covers(wide: &Arg, narrow: &Arg) -> bool {
    wide.pieces == narrow.pieces || wide.pieces.contains(&Piece::Any)
}

fn says(reading: &Reading, wanted: &Invocation) -> bool {
    reading.invocations.iter().any(|have| {
        let same_words = have.argv.len() == wanted.argv.len()
            && have.argv.iter().zip(&wanted.argv).all(|(wide, narrow)| covers(wide, narrow));
        let unsure = have.argv.iter().any(|arg| arg.pieces == [Piece::Any]);
        let files =
            |i: &Invocation| i.redirects.iter().map(|r| r.target.clone()).collect::<Vec<_>>();
        (same_words || unsure)
            && files(wanted).iter().all(|file| files(have).iter().any(|have| covers(have, file)))
    })
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Shells are reported only where their text is not followed.
fn is_shell(invocation: &Invocation) -> bool {
    let name = invocation.argv.first().and_then(Arg::exact).unwrap_or_default();
    matches!(name.rsplit('/').next(), Some("bash" | "sh" | "dash" | "eval" | "source" | "."))
}

#[test]
fn nesting_never_weakens() {
    let wraps: [fn(&str) -> String; 16] = [
        |c| format!("({c}\n)"),
        |c| format!("{{ {c}\n}}"),
        |c| format!("if true; then {c}\nfi"),
        |c| format!("while true; do {c}\nbreak; done"),
        |c| format!("for i in 1; do {c}\ndone"),
        |c| format!("case x in *) {c}\n;; esac"),
        |c| format!("f() {{ {c}\n}}; f"),
        |c| format!("x=$({c}\n)"),
        |c| format!("cat <({c}\n)"),
        |c| format!("true && {{ {c}\n}}"),
        |c| format!("{{ {c}\n}} | cat"),
        |c| format!("eval {}", quoted(c)),
        |c| format!("bash -c {}", quoted(c)),
        |c| format!("bash <<'NESTED'\n{c}\nNESTED"),
        |c| format!("trap {} EXIT", quoted(c)),
        |c| format!("env A=1 nohup bash -c {}", quoted(c)),
    ];
    let mut compared = 0;
    for command in corpus() {
        let plain = reading(&command);
        let broken = |u: &super::Unread| matches!(u.why, Why::Syntax | Why::Unterminated);
        if plain.unread.iter().any(broken) {
            continue; // What stands around it may mend it.
        }
        for wrap in wraps {
            let text = wrap(&command);
            let nested = reading(&text);
            if !nested.unread.is_empty() {
                continue;
            }
            assert!(plain.unread.is_empty(), "{text:?} hides {:?}", plain.unread);
            compared += 1;
            for wanted in plain.invocations.iter().filter(|i| !is_shell(i)) {
                assert!(says(&nested, wanted), "{text:?} loses {wanted:?}\n{nested:?}");
            }
        }
    }
    assert!(compared > 6000, "only {compared} were read whole");
}

/// Everything a reading holds, in bytes.
fn bytes(reading: &Reading) -> usize {
    let arg = |arg: &Arg| arg.pieces.iter().map(Piece::size).sum::<usize>();
    let of = |i: &Invocation| {
        let stdin = match &i.stdin {
            Stdin::Text(text) => text.len(),
            Stdin::Inherited | Stdin::Unknown | Stdin::File(_) => 0,
        };
        let env = i.env.iter().map(|(_, value)| value);
        let args = i.argv.iter().chain(env).chain(i.redirects.iter().map(|r| &r.target));
        let wrote = i.wrote.iter().filter_map(|(_, text)| text.as_ref()).map(String::len);
        args.map(arg).sum::<usize>() + wrote.sum::<usize>() + stdin
    };
    reading.invocations.iter().map(of).sum()
}

/// Short texts that name something long again and again.
fn multiplied() -> Vec<String> {
    let long = "some words of a text\n".repeat(2500);
    let file = format!("cat > f <<'E'\n{long}E\n");
    let each = |text: &str| text.repeat(60_000 / text.len());
    vec![
        file.clone() + &each("cat f; "),
        file.clone() + &each("bash f; "),
        file + &each(". ./f; "),
        format!("{{ {} }} <<'E'\n{long}E", each("cat; ")),
        format!("export x='{long}'; {}", each("ls; ")),
        format!("x='{long}'; {}", each("[[ $x ]]; ")),
        format!("x='{long}'; {}", each(": ${#x} ${x%%a*b}; ")),
        format!("x=({}); {}", each("a "), each(": ${x[7]}; ")),
        format!("set -- {}; {}", each("a "), each("shift; ")),
        format!("trap 'ls {}' EXIT; {}", each("a "), each("(ls); ")),
        format!("alias a='ls {}'; {}", each("a "), each("a; ")),
        format!("f() {{ {} }}; f", each("local a; ")),
        format!("echo '{long}' | xargs -0 -I{{}} ls {}", each("{}")),
        format!("echo '{long}' | xargs -0 -I{{}} ls {}", each("{} ")),
        format!("parallel ls {} ::: '{long}'", each("{}")),
        format!("find . {}", each("-exec ls {} ';' ")),
        format!("{} (ls); {}", each("a=1; "), each("(b=1); ")),
        (0..8000).map(|n| format!("v{n}=1; ")).collect::<Vec<_>>().concat() + &each("(v1=2); "),
        "> f; ".to_owned() + &each("echo a >> f; "),
        each("cd a; "),
        each("pushd a; "),
        each("f() { ls; }; "),
        each("rm */*/*; "),
        each("> f$x; "),
        each("git -c core.editor='ls -l' log; "),
        format!("echo {{{}", each(",")),
        each("nice "),
        each("env A=1 "),
    ]
}

#[test]
fn a_reading_holds_no_more_than_its_text_can_pay_for() {
    for text in multiplied() {
        let reading = read(&text, "/r", &Disk::scene());
        let start: String = text.chars().take(60).collect();
        assert!(bytes(&reading) < 12 * 1024 * 1024, "{} bytes of {start:?}", bytes(&reading));
        assert!(reading.invocations.len() <= 8192, "{start:?}");
    }
}

#[test]
fn steps_grow_with_the_text_and_no_faster() {
    let steps = |text: &str| walk::steps(text, "/r", &Disk::scene());
    let mut compared = 0;
    for command in corpus() {
        let read = reading(&command);
        // What changes directory or variables for all that follows is another text each time.
        if !read.unread.is_empty() || command.contains("<<") {
            continue;
        }
        let (once, twice) = (format!("{command}\n").repeat(8), format!("{command}\n").repeat(16));
        let (small, large) = (steps(&once), steps(&twice));
        assert!(large <= small * 5 / 2 + 400, "{small} and {large} steps: {command:?}");
        compared += 1;
    }
    assert!(compared > 300, "only {compared} were compared");
}

#[test]
fn nothing_repeated_or_nested_is_too_much() {
    let nest =
        |open: &str, close: &str, n: usize| format!("{}ls{}", open.repeat(n), close.repeat(n));
    let mut texts = vec![
        "f() { f; f; f; }; f".to_owned(),
        "f() { g; g; }; g() { f; f; }; f".to_owned(),
        "a() { b; b; }; b() { c; c; }; c() { d; d; }; d() { e; e; }; e() { a; }; a".to_owned(),
        "x=a; ".to_owned() + &"x=$x$x; ".repeat(60) + "rm $x",
        "cd a; ".repeat(500) + "rm x",
        "[ -d a ] && cd a; ".repeat(200) + "rm x",
        "echo {1..9}{1..9}{1..9}{1..9}{1..9}".to_owned(),
        "for i in {1..200}; do for j in {1..200}; do for k in {1..200}; do rm $i$j$k; done; done; done".to_owned(),
        "while a; do while b; do while c; do x=$y; y=$z; z=$x; done; done; done".to_owned(),
        nest("eval '", "'", 9),
        nest("$(", ")", 40),
        nest("(", ")", 40),
        nest("{ ", "; }", 40),
        nest("if true; then ", "; fi", 40),
        nest("while a; do ", "; done", 20),
        nest("for i in 1 2 3; do ", "; done", 20),
        nest("f() { ", "; }; f", 20),
        "alias a='a a a a'; a".to_owned(),
        "rm **/**/**/**/**/**".to_owned(),
        "x".repeat(1_000_000),
        "echo ".to_owned() + &"a ".repeat(400_000),
        "rm x;".repeat(150_000),
        "'".repeat(999_999),
        "\\".repeat(999_999),
        "x=$y; ".repeat(100_000),
        "a[".repeat(400_000),
        "{".repeat(900_000),
        "{a,".repeat(300_000),
        "`ls`".repeat(100_000),
        "cat <<E; ".repeat(100_000),
        "\"$x\"".repeat(100_000),
        "trap 'trap \"ls\" EXIT' EXIT; ".repeat(1000),
        format!("bash -c {}", quoted(&"bash -c ls; ".repeat(20_000))),
    ];
    texts.push(texts.join("\n"));
    // On a small stack: the hook's own is four times as big.
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let all = small.spawn(move || texts.iter().for_each(|t| drop(read(t, "/r", &Disk::scene()))));
    all.expect("thread").join().expect("no overflow, no panic");
}
