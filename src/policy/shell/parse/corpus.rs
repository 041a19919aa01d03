//! The grammar corpus: every case of `fixtures/bash_grammar.jsonl` exact, through an adapter that
//! flattens the tree to the corpus's own form, where `«?»` stands for every expansion.

use serde::Deserialize;

use super::{Parsed, parse};
use crate::policy::shell::ast::{
    Argument, Assigned, Assignment, Command, Compound, Operator, Part, Redirection, Script, Word,
};
use crate::policy::shell::fuel::Fuel;

const UNKNOWN: &str = "«?»";
const CORPUS: &str = include_str!("../../../../fixtures/bash_grammar.jsonl");

#[derive(Deserialize)]
struct Case {
    id: u32,
    cmd: String,
    accept: bool,
    cmds: Vec<Vec<String>>,
    assigns: Vec<String>,
    redirs: Vec<(String, String)>,
    #[serde(default)]
    reject_ok: bool,
}

/// The tree, flattened; programs that were found, with their here-document text.
#[derive(Default)]
struct Flat {
    cmds: Vec<(Vec<String>, Option<String>)>,
    assigns: Vec<String>,
    redirs: Vec<(String, String)>,
}

impl Flat {
    fn script(&mut self, script: &Script) {
        let links = script.items.iter().flat_map(|item| &item.chain);
        for command in links.flat_map(|link| &link.stages) {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => {
                let mut stdin = None;
                for assignment in &simple.assignments {
                    let text = self.assignment(assignment);
                    self.assigns.push(text);
                }
                let place = self.cmds.len();
                let argv: Vec<String> = simple
                    .words
                    .iter()
                    .map(|argument| match argument {
                        Argument::Word(word) => self.word(word),
                        Argument::Assignment(assignment) => self.assignment(assignment),
                    })
                    .collect();
                for redirection in &simple.redirections {
                    stdin = self.redirection(redirection).or(stdin);
                }
                if !argv.is_empty() {
                    self.cmds.insert(place, (argv, stdin));
                }
            }
            Command::Compound(compound, redirections) => {
                self.compound(compound);
                for redirection in redirections {
                    self.redirection(redirection);
                }
            }
            Command::Function(_, function) => {
                self.compound(&function.body);
                for redirection in &function.redirections {
                    self.redirection(redirection);
                }
            }
            Command::Coproc(command) => self.command(command),
        }
    }

    fn compound(&mut self, compound: &Compound) {
        match compound {
            Compound::Group(body) | Compound::Subshell(body) => self.script(body),
            Compound::If(arms, otherwise) => {
                for (test, body) in arms {
                    self.script(test);
                    self.script(body);
                }
                if let Some(body) = otherwise {
                    self.script(body);
                }
            }
            Compound::Loop { test, body } => {
                self.script(test);
                self.script(body);
            }
            Compound::Each { words, body, .. } => {
                words.iter().flatten().for_each(|word| drop(self.word(word)));
                self.script(body);
            }
            Compound::Count { header, body } => {
                self.word(header);
                self.script(body);
            }
            Compound::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    arm.patterns.iter().for_each(|word| drop(self.word(word)));
                    self.script(&arm.body);
                }
            }
            Compound::Test(words) => words.iter().for_each(|word| drop(self.word(word))),
            Compound::Arithmetic(word) => drop(self.word(word)),
        }
    }

    fn word(&mut self, word: &Word) -> String {
        let mut text = String::new();
        for part in &word.parts {
            match part {
                Part::Bare(t) | Part::Quoted(t) => text.push_str(t),
                Part::Parameter(parameter, _) => {
                    parameter.subscript.iter().for_each(|word| drop(self.word(word)));
                    self.word(&parameter.word);
                    text.push_str(UNKNOWN);
                }
                Part::Command(script, _) | Part::Process(script, _) => {
                    self.script(script);
                    text.push_str(UNKNOWN);
                }
                Part::Arithmetic(word) => {
                    self.word(word);
                    text.push_str(UNKNOWN);
                }
            }
        }
        let twice = UNKNOWN.repeat(2);
        while text.contains(&twice) {
            text = text.replace(&twice, UNKNOWN);
        }
        text
    }

    fn assignment(&mut self, assignment: &Assignment) -> String {
        let subscript = assignment.subscript.as_ref().map(|word| format!("[{}]", self.word(word)));
        let sign = if assignment.appends { "+=" } else { "=" };
        let value = match &assignment.value {
            Assigned::Word(word) => self.word(word),
            Assigned::Array(words) => {
                let words: Vec<String> = words.iter().map(|word| self.word(word)).collect();
                format!("({})", words.join(" "))
            }
        };
        format!("{}{}{sign}{value}", assignment.name, subscript.unwrap_or_default())
    }

    /// Records a file; returns text that stands on standard input.
    fn redirection(&mut self, redirection: &Redirection) -> Option<String> {
        let target = self.word(&redirection.target);
        let number = target.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
        let sign = match &redirection.operator {
            Operator::HereString => return Some(target),
            Operator::HereDocument(body) => return body.get().map(|body| self.word(body)),
            Operator::DuplicateOut | Operator::DuplicateIn if number => return None,
            Operator::DuplicateIn => "<&",
            Operator::Read => "<",
            Operator::Write => ">",
            Operator::Append => ">>",
            Operator::ReadWrite => "<>",
            Operator::Both | Operator::DuplicateOut => "&>",
            Operator::BothAppend => "&>>",
        };
        self.redirs.push((sign.to_owned(), target));
        None
    }
}

fn parsed(text: &str) -> Parsed {
    parse(text, &mut Fuel::of(text))
}

/// Flattens a text, and the texts that the corpus wants looked into.
fn flatten(text: &str) -> (Flat, bool) {
    let mut flat = Flat::default();
    let whole = parsed(text);
    flat.script(&whole.script);
    let mut next = 0;
    while let Some((argv, stdin)) = flat.cmds.get(next).cloned() {
        next += 1;
        let program = argv[0].rsplit('/').next().unwrap_or_default();
        let body = match (program, argv.get(1).map(String::as_str)) {
            ("bash" | "sh", Some("-c")) => argv.get(2).cloned(),
            ("bash" | "sh", None | Some("-s")) => stdin,
            ("eval", Some(_)) => Some(argv[1..].join(" ")),
            _ => None,
        };
        if let Some(body) = body {
            flat.script(&parsed(&body).script);
        }
    }
    (flat, whole.fault.is_none())
}

#[test]
fn every_case_of_the_corpus_is_exact() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in CORPUS.lines() {
        let case: Case = serde_json::from_str(line).expect("corpus");
        seen += 1;
        let (flat, accepted) = flatten(&case.cmd);
        let argvs: Vec<Vec<String>> = flat.cmds.into_iter().map(|(argv, _)| argv).collect();
        let same = argvs == case.cmds && flat.assigns == case.assigns && flat.redirs == case.redirs;
        let right = if case.accept { accepted && same } else { !accepted };
        if !(right || case.reject_ok && !accepted) {
            let Case { id, cmd, .. } = case;
            wrong.push(format!(
                "{id} {cmd:?}: {accepted} {argvs:?} {:?} {:?}",
                flat.assigns, flat.redirs
            ));
        }
    }
    assert_eq!(seen, 232);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_fault_keeps_what_stands_before_it() {
    for text in ["rm x\n)", "rm x\nif", "rm x\necho 'a", "rm x\ncat <(", "rm x\necho \"$(ls"] {
        let (flat, accepted) = flatten(text);
        assert!(!accepted, "{text}");
        assert_eq!(flat.cmds[0].0, ["rm", "x"], "{text}");
    }
}

#[test]
fn nesting_of_any_kind_stops_without_harm() {
    let deep = |open: &str, close: &str| format!("{}x{}", open.repeat(100_000), close.repeat(9));
    for (open, close) in [
        ("$(", ")"),
        ("(", ")"),
        ("((", "))"),
        ("$((", "))"),
        ("{ ", "; }"),
        ("\"$(", ")\""),
        ("${a:-", "}"),
        ("${a[", "]}"),
        ("a[a[", "]"),
        ("if ", ""),
        ("while ", ""),
        ("case x in x) ", ""),
        ("f() { ", "}"),
        ("<(", ")"),
        ("@(", ")"),
        ("! ", ""),
        ("time ", ""),
        ("coproc ", ""),
        ("[[ ( ", ""),
        ("`", ""),
        ("`\\`", ""),
        ("a=(", ")"),
        ("cat <<E\n$(", ""),
        ("$[", "]"),
        ("<<<$(", ""),
    ] {
        drop(parsed(&deep(open, close)));
    }
}

#[test]
fn fuel_grows_with_the_length_alone() {
    let spent = |text: &str| {
        let mut fuel = Fuel::of(text);
        let before = fuel.left();
        drop(parse(text, &mut fuel));
        before - fuel.left()
    };
    for unit in
        ["ls; ", "echo a b c\n", "x=$(y) ", "((a);b);", "$((a);b);", "a[1]=2 ", "cat <<E\na\nE\n"]
    {
        let (once, twice) = (spent(&unit.repeat(500)), spent(&unit.repeat(1000)));
        assert!(twice < 3 * once, "{unit:?}: {once} then {twice}");
    }
}

#[test]
fn a_big_heredoc_costs_a_step_a_line() {
    let text =
        format!("cat > f <<'E'\n{}E\nls", "it's a line of text with $x and `y`\n".repeat(3000));
    let mut fuel = Fuel::of(&text);
    let before = fuel.left();
    let whole = parse(&text, &mut fuel);
    assert!(whole.fault.is_none());
    assert!(before - fuel.left() < 4000, "{}", before - fuel.left());
}
