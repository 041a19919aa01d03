//! `xargs` and `parallel`: commands whose operands come from somewhere else.

use super::instead;
use super::options::{Spec, scan, words};
use crate::policy::facts::Why;
use crate::policy::shell::text::Text;
use crate::policy::shell::walk::{Call, Holes, Input, Via, Walker};
use crate::policy::shell::{Arg, Piece};

const XARGS: Spec = Spec {
    short: "InPLsdEaJRS",
    attached: "ile",
    long: &["max-args", "max-procs", "max-chars", "delimiter", "arg-file", "process-slot-var"],
};
const PARALLEL: Spec = Spec {
    short: "jSNnLdIaC",
    attached: "iXmD",
    long: &[
        "jobs", "delay", "timeout", "results", "joblog", "tmpdir", "workdir", "colsep", "arg-file",
    ],
};
/// Bytes that operands may put into one argument; the system takes no longer one.
const LONGEST: usize = 128 * 1024;
/// Commands that are told apart; more are taken together.
const RUNS: usize = 64;

/// Operands, as far as they are known.
struct Operands {
    known: Vec<Arg>,
    more: bool,
}

/// `xargs`.
pub(super) fn xargs(walker: &mut Walker<'_>, call: &Call) {
    let found = scan(call.argv.get(1..).unwrap_or_default(), XARGS);
    let echo = [Arg::text("echo")];
    let command = if found.rest.is_empty() { &echo[..] } else { found.rest };
    let replaced =
        found.value(&["-I", "-i", "--replace", "-J"]).map(|arg| arg.exact().unwrap_or(""));
    let replaced = replaced.map(|text| if text.is_empty() { "{}" } else { text });
    let replaced = replaced.or_else(|| found.has(&["--replace"]).then_some("{}"));
    let delimiter = if found.has(&["-0", "--null"]) {
        Some('\0')
    } else {
        found.value(&["-d", "--delimiter"]).and_then(|arg| delimiter(arg.exact()?))
    };
    let delimiter = delimiter.or_else(|| replaced.map(|_| '\n'));
    let file = found.value(&["-a", "--arg-file"]).cloned();
    let input = file.map_or_else(|| call.input.clone(), Input::File);
    let operands = operands(walker, &input, delimiter);
    let base = Call { input: Input::Inherited, holes: Holes::Names, ..instead(call, command) };
    if let Some(mark) = replaced {
        for operand in spread(&operands) {
            let argv = command.iter().map(|arg| put(arg, mark, &operand)).collect();
            drop(walker.dispatch(Call { argv, ..base.clone() }, Via::Program));
        }
        return;
    }
    let each = found.value(&["-n", "--max-args", "-L"]).and_then(|n| n.exact()?.parse().ok());
    let each: Option<usize> = each.filter(|n: &usize| operands.known.len() / (*n).max(1) < RUNS);
    let each = each.unwrap_or(usize::MAX);
    let mut left = operands.known.as_slice();
    loop {
        let (now, rest) = left.split_at(each.max(1).min(left.len()));
        left = rest;
        let mut argv = command.to_vec();
        argv.extend(now.iter().cloned());
        let more = call.more || operands.more;
        drop(walker.dispatch(Call { argv, more, ..base.clone() }, Via::Program));
        if left.is_empty() {
            return;
        }
    }
}

/// `parallel`: its words are joined and run by a shell.
pub(super) fn parallel(walker: &mut Walker<'_>, call: &Call) {
    let found = scan(call.argv.get(1..).unwrap_or_default(), PARALLEL);
    let split = found
        .rest
        .iter()
        .position(|arg| matches!(arg.exact(), Some(":::" | "::::" | ":::+" | "::::+")));
    let (command, listed) = match split {
        Some(at) => (
            found.rest.get(..at).unwrap_or_default(),
            Some(found.rest.get(at..).unwrap_or_default()),
        ),
        None => (found.rest, None),
    };
    let operands = match listed {
        Some([mark, words @ ..]) if mark.exact() == Some(":::") => {
            let several = words.iter().any(|word| word.prefix().starts_with(":::"));
            Operands { known: if several { Vec::new() } else { words.to_vec() }, more: several }
        }
        Some(_) => Operands { known: Vec::new(), more: true },
        None => {
            let file = found.value(&["-a", "--arg-file"]).cloned();
            let input = file.map_or_else(|| call.input.clone(), Input::File);
            operands(walker, &input, Some('\n'))
        }
    };
    let mut text = Text::default();
    for arg in command {
        text.append(&Text::of(arg));
        text.push(" ");
    }
    let text = text.holed();
    let inner = Call { input: Input::Inherited, holes: Holes::Names, ..call.clone() };
    for operand in spread(&operands) {
        let value = Text::of(&operand).holed();
        if text.matches('{').count().saturating_mul(value.len()) > LONGEST {
            walker.unread(Why::TooLong, &text);
            continue;
        }
        let line = if command.is_empty() {
            value
        } else if text.contains('{') {
            let marks = ["{}", "{.}", "{/}", "{//}", "{/.}", "{1}"];
            marks.iter().fold(text.clone(), |line, mark| line.replace(mark, &value))
        } else {
            format!("{text}{value}")
        };
        let line = Text::known(&line);
        let holes = if command.is_empty() { Holes::Code } else { Holes::Names };
        walker.child(&inner, Text::known("parallel"), Some(Vec::new()), |w| w.run(&line, holes));
    }
}

/// What stands on standard input, split into operands.
fn operands(walker: &Walker<'_>, input: &Input, delimiter: Option<char>) -> Operands {
    let text = match input {
        Input::Text(text) => text.clone(),
        Input::File(file) => match walker
            .written(file)
            .or_else(|| walker.stored(file).map(|text| Text::known(&text)))
        {
            Some(text) => text,
            None => return Operands { known: Vec::new(), more: true },
        },
        Input::Inherited => return Operands { known: Vec::new(), more: false },
        Input::Unknown => return Operands { known: Vec::new(), more: true },
    };
    let holed = text.holed();
    let known = match delimiter {
        None => words(&holed),
        Some(delimiter) => holed
            .split(delimiter)
            .map(|word| if delimiter == '\n' { word.trim_start() } else { word })
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    let known = known.iter().map(|word| Text::known(word).into_arg()).collect();
    Operands { known, more: false }
}

/// Operands one by one; what is not known, once.
fn spread(operands: &Operands) -> Vec<Arg> {
    let mut all: Vec<Arg> = operands.known.iter().take(RUNS).cloned().collect();
    if operands.more || operands.known.len() > RUNS {
        all.push(Text::any().into_arg());
    }
    all
}

/// An argument with the operand in the mark's place.
pub(super) fn put(arg: &Arg, mark: &str, operand: &Arg) -> Arg {
    let known = arg.pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.matches(mark).count()),
        Piece::Any | Piece::Fresh => None,
    });
    if known.sum::<usize>().saturating_mul(Text::of(operand).size()) > LONGEST {
        return Text::any().into_arg();
    }
    let mut text = Text::default();
    for piece in &arg.pieces {
        match piece {
            Piece::Text(known) => {
                for (index, part) in known.split(mark).enumerate() {
                    if index > 0 {
                        text.append(&Text::of(operand));
                    }
                    text.push(part);
                }
            }
            Piece::Any | Piece::Fresh => text.add(piece.clone()),
        }
    }
    text.into_arg()
}

fn delimiter(text: &str) -> Option<char> {
    match text {
        "\\n" => Some('\n'),
        "\\t" => Some('\t'),
        "\\0" => Some('\0'),
        text => text.chars().next(),
    }
}
