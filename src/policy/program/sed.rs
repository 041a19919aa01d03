//! Owns `sed`: in-place editing in all spellings, and the scripts' own ways to write and run.

use super::options::{Style, parse};
use super::verbs::{Verb, program};
use super::{Call, Follow, nested};
use crate::policy::facts::{Effect, Why};
use crate::policy::shell::{Arg, Stdin};

/// The rows.
pub(super) const ROWS: &[Verb] =
    &[program(&["sed", "gsed"], "with -i rewrites its operands; `w` writes a file", sed).examples(
        &[
            "sed -i s/A/B/ lib/core.rs",
            "sed -i.bak s/A/B/ lib/core.rs",
            "sed -Ei s/A/B/ lib/core.rs",
            "sed --in-pl -e s/A/B/ lib/core.rs",
            "sed 'w lib/core.rs' notes.md",
            "sed -n 's/a/b/gw lib/core.rs' notes.md",
            "sed -i '' s/A/B/ lib/core.rs",
            "sed '1e rm -rf lib' notes.md",
            "sed 's/.*/rm -rf lib/e' notes.md",
            "sed -f - notes.md <<< 'w lib/core.rs'",
        ],
        &[
            "sed -n '1,5p' lib/core.rs",
            "sed s/w/lib/ lib/core.rs",
            "sed -e 's/a/w lib/' lib/core.rs",
            "sed 'y/w/x/' lib/core.rs",
            "sed --help",
            "sed -n '/w x/p;$w /dev/stdout' lib/core.rs",
        ],
    )];

const SED: &[&str] = &[
    "n,quiet,silent",
    "debug",
    "e,expression=",
    "f,file=",
    "follow-symlinks",
    "i,in-place?",
    "l,line-length=",
    "posix",
    "E,r,regexp-extended",
    "s,separate",
    "sandbox",
    "u,unbuffered",
    "z,null-data",
];

/// Longest script file that is read.
const SCRIPT: usize = 1 << 16;

fn sed(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, SED, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let in_place = line.has("in-place");
    let mut operands = line.operands.as_slice();
    // BSD's `-i ''` has its suffix in a word of its own.
    if in_place && operands.first().and_then(Arg::exact) == Some("") {
        operands = operands.get(1..).unwrap_or_default();
    }
    let mut scripts: Vec<String> =
        line.values("expression").filter_map(Arg::exact).map(str::to_owned).collect();
    scripts.extend(line.values("file").filter_map(|file| match &call.invocation.stdin {
        Stdin::Text(text) if matches!(file.exact(), Some("-" | "/dev/stdin")) => Some(text.clone()),
        Stdin::Inherited | Stdin::Text(_) | Stdin::Unknown | Stdin::File(_) => {
            call.place.read(file, SCRIPT)
        }
    }));
    if line.value("expression").is_none()
        && line.value("file").is_none()
        && let Some((first, rest)) = operands.split_first()
    {
        scripts.extend(first.exact().map(str::to_owned));
        operands = rest;
    }
    let mut out = Vec::new();
    let words = call.words();
    for script in &scripts {
        for act in acts(script) {
            match act {
                Act::Write(file) => {
                    out.extend(call.place.write(&Arg::text(file), Follow::All, &words));
                }
                Act::Run(text) => out.extend(nested::shell(call, &text, call.place.dir)),
                Act::RunLines => out.push(call.place.opaque(Why::Generated, &words)),
            }
        }
    }
    if in_place {
        let follow = if line.has("follow-symlinks") { Follow::All } else { Follow::Parents };
        out.extend(operands.iter().flat_map(|arg| call.place.write(arg, follow, &words)));
    }
    out
}

/// What a script does besides editing.
#[derive(Debug, PartialEq, Eq)]
enum Act {
    Write(String),
    Run(String),
    /// Runs the lines it makes (`s/…/…/e`).
    RunLines,
}

/// Reads a script command by command.
fn acts(script: &str) -> Vec<Act> {
    let mut scan = Scan { rest: script.chars().collect(), at: 0 };
    let mut out = Vec::new();
    while scan.address() {
        let Some(command) = scan.next() else { break };
        match command {
            's' => {
                let flags = scan.substitution();
                if flags.contains('e') {
                    out.push(Act::RunLines);
                }
                if flags.contains('w') {
                    out.push(Act::Write(scan.line()));
                }
            }
            'y' => {
                scan.substitution();
            }
            'w' | 'W' => out.push(Act::Write(scan.line())),
            'e' => {
                let text = scan.line();
                out.extend((!text.is_empty()).then_some(Act::Run(text)));
            }
            'a' | 'i' | 'c' => scan.text(),
            'b' | 't' | 'T' | ':' => scan.label(),
            'r' | 'R' | '#' => drop(scan.line()),
            _ => {}
        }
    }
    out.retain(|act| !matches!(act, Act::Write(file) if file.is_empty()));
    out
}

struct Scan {
    rest: Vec<char>,
    at: usize,
}

impl Scan {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    /// Skips addresses and separators; false at the end.
    fn address(&mut self) -> bool {
        while let Some(c) = self.peek() {
            match c {
                '/' => {
                    self.at += 1;
                    self.until('/');
                }
                '\\' => {
                    self.at += 1;
                    if let Some(mark) = self.next() {
                        self.until(mark);
                    }
                }
                'I' | 'M' => self.at += 1,
                c if c.is_whitespace() || c.is_ascii_digit() || ";,~+$!{}".contains(c) => {
                    self.at += 1;
                }
                _ => return true,
            }
        }
        false
    }

    /// Skips to the unescaped mark.
    fn until(&mut self, mark: char) {
        let mut class = false;
        while let Some(c) = self.next() {
            match c {
                '\\' => self.at += 1,
                '[' => class = true,
                ']' => class = false,
                c if c == mark && !(class && mark == '/') => return,
                '\n' if mark != '\n' && class => class = false,
                _ => {}
            }
        }
    }

    /// Skips pattern and replacement; returns the flags, up to `w`.
    fn substitution(&mut self) -> String {
        let Some(mark) = self.next() else { return String::new() };
        self.until(mark);
        self.until(mark);
        let mut flags = String::new();
        while let Some(c) = self.peek() {
            if !c.is_ascii_alphanumeric() {
                break;
            }
            flags.push(c);
            self.at += 1;
            if c == 'w' {
                break;
            }
        }
        flags
    }

    /// The rest of the line.
    fn line(&mut self) -> String {
        let mut out = String::new();
        while let Some(c) = self.next().filter(|c| *c != '\n') {
            out.push(c);
        }
        out.trim().to_owned()
    }

    /// Text of `a`, `i`, `c`, continued by backslashes.
    fn text(&mut self) {
        loop {
            let line = self.line();
            if !line.ends_with('\\') || self.peek().is_none() {
                return;
            }
        }
    }

    fn label(&mut self) {
        while self.peek().is_some_and(|c| c != ';' && c != '\n') {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};
    use super::*;

    #[test]
    fn scripts_are_read_by_command() {
        let write = |file: &str| vec![Act::Write(file.to_owned())];
        assert_eq!(acts("/x/w out"), write("out"));
        assert_eq!(acts("1,$ { s/a/b/\nw out\n}"), write("out"));
        assert_eq!(acts("s|w x|w y|pw out"), write("out"));
        assert_eq!(acts("a\\\nw lib\ns/x/y/"), []);
        assert_eq!(acts("s/[/]/w/"), []);
        assert_eq!(acts("$!N;s/\\n/ w/;b end;w out"), write("out"));
    }

    #[test]
    fn only_what_is_edited_in_place_counts() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("sed -i s/x/y/ notes.md lib/core.rs"), "lib/core.rs"));
        assert!(!reaches(&scene.run("sed -i s/u/w/ lib/util.rs"), "lib/core.rs"));
        assert!(!reaches(&scene.run("sed -i -f lib/core.rs notes.md"), "lib/core.rs"));
    }
}
