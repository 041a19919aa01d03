//! What common commands print when that can be known: enough for `$(…)`, pipes into `xargs` or a
//! shell, and files a text writes for itself. Unknown is always a right answer.

use super::call::{Call, Input};
use super::listing::listed;
use super::{Walker, setup};
use crate::policy::shell::parse::decode;
use crate::policy::shell::text::Text;
use crate::policy::shell::unwrap::found;
use crate::policy::shell::{Arg, Entry, Piece, path};

/// Programs that print nothing when they succeed.
const SILENT: [&str; 21] = [
    ":", "true", "false", "test", "[", "mkdir", "rm", "rmdir", "touch", "cp", "mv", "ln", "chmod",
    "sleep", "export", "set", "unset", "local", "declare", "cd", "shopt",
];

/// What a call prints.
pub(super) fn said(walker: &Walker<'_>, call: &Call) -> Text {
    let Some(name) = call.argv.first().and_then(Arg::exact) else { return Text::default() };
    let args = call.argv.get(1..).unwrap_or_default();
    let name = path::base(name);
    if let Some(names) = listed(walker, name, call) {
        return names;
    }
    match name {
        "echo" => echo(args),
        "printf" => printf(args),
        "cat" | "tee" => copied(walker, name, args, &call.input),
        "pwd" => line(walker.here_text()),
        "basename" | "dirname" => named(name, args),
        "mktemp" => line(Text::fresh()),
        "realpath" | "readlink" => resolved(walker, args),
        "seq" => sequence(args),
        "git" => top(walker, args).map_or_else(Text::any, line),
        "find" => found(walker, call).unwrap_or_else(Text::any),
        name if SILENT.contains(&name) => {
            let chatty = |arg: &Arg| arg.exact().is_none_or(|a| a.starts_with("-v") || a == "-p");
            let prints = name != "mkdir" && args.iter().any(chatty);
            if prints && !matches!(name, "[" | "test") { Text::any() } else { Text::default() }
        }
        name if setup::prints(name, args) => Text::default(),
        _ => Text::any(),
    }
}

fn line(mut text: Text) -> Text {
    text.push("\n");
    text
}

fn echo(args: &[Arg]) -> Text {
    let mut rest = args;
    let (mut ends, mut decodes) = (true, false);
    while let [first, tail @ ..] = rest
        && let Some(flags) = first.exact().and_then(|text| text.strip_prefix('-'))
        && !flags.is_empty()
        && flags.chars().all(|c| matches!(c, 'n' | 'e' | 'E'))
    {
        ends &= !flags.contains('n');
        decodes |= flags.contains('e');
        rest = tail;
    }
    let mut out = Text::default();
    for (index, arg) in rest.iter().enumerate() {
        if index > 0 {
            out.push(" ");
        }
        for piece in &arg.pieces {
            match piece {
                // zsh's echo decodes without being asked: two readings, so neither is sure.
                Piece::Text(text) if text.contains('\\') && !decodes => out.add(Piece::Any),
                Piece::Text(text) if decodes => out.push(&decode(text)),
                Piece::Text(text) => out.push(text),
                Piece::Any | Piece::Fresh => out.add(piece.clone()),
            }
        }
    }
    if ends { line(out) } else { out }
}

fn printf(args: &[Arg]) -> Text {
    let args = if args.first().and_then(Arg::exact) == Some("--") {
        args.get(1..).unwrap_or_default()
    } else {
        args
    };
    let Some((format, mut rest)) = args.split_first() else { return Text::default() };
    let Some(format) = format.exact().filter(|format| !format.starts_with('-')) else {
        return Text::any();
    };
    let mut out = Text::default();
    // The format is used again while arguments are left.
    for _ in 0..=args.len() {
        let before = rest.len();
        let Some(left) = formatted(format, rest, &mut out) else { return Text::any() };
        rest = left;
        if rest.is_empty() || rest.len() == before {
            break;
        }
    }
    out
}

/// One pass over a format; `None` for directives that are not worked out.
fn formatted<'a>(format: &str, args: &'a [Arg], out: &mut Text) -> Option<&'a [Arg]> {
    let mut args = args;
    let mut pieces = format.split('%');
    out.push(&decode(pieces.next()?));
    let mut literal = false;
    for piece in pieces {
        if literal {
            out.push("%");
            out.push(&decode(piece));
            literal = false;
            continue;
        }
        let Some(kind) = piece.chars().next() else {
            literal = true; // `%%`
            continue;
        };
        if !matches!(kind, 's' | 'd' | 'b' | 'q' | 'i') {
            return None;
        }
        if let Some((first, rest)) = args.split_first() {
            args = rest;
            match (kind, first.exact()) {
                ('s' | 'd' | 'i', _) => out.append(&Text::of(first)),
                ('b', Some(text)) => out.push(&decode(text)),
                _ => out.add(Piece::Any),
            }
        }
        out.push(&decode(piece.get(1..).unwrap_or("")));
    }
    Some(args)
}

fn copied(walker: &Walker<'_>, name: &str, args: &[Arg], input: &Input) -> Text {
    let operands: Vec<&Arg> =
        args.iter().filter(|arg| !matches!(arg.exact(), Some("-" | "-a" | "--"))).collect();
    if name == "cat" && !operands.is_empty() {
        let mut out = Text::default();
        for operand in operands {
            match walker.written(operand) {
                Some(text) => out.append(&text),
                None => return Text::any(),
            }
        }
        return out;
    }
    match input {
        Input::Text(text) => text.clone(),
        Input::Inherited | Input::Unknown | Input::File(_) => Text::any(),
    }
}

fn named(name: &str, args: &[Arg]) -> Text {
    let args: Vec<&str> = args.iter().filter_map(Arg::exact).filter(|a| *a != "--").collect();
    match (name, args.as_slice()) {
        ("dirname", [text]) => line(Text::known(path::parent(text))),
        ("basename", [text]) => line(Text::known(path::base(text))),
        ("basename", [text, suffix]) => {
            let base = path::base(text);
            line(Text::known(base.strip_suffix(suffix).unwrap_or(base)))
        }
        _ => Text::any(),
    }
}

fn resolved(walker: &Walker<'_>, args: &[Arg]) -> Text {
    let operands: Vec<&Arg> =
        args.iter().filter(|arg| arg.exact().is_none_or(|a| !a.starts_with('-'))).collect();
    match (operands.as_slice(), walker.state.path()) {
        ([one], Some(dir)) => match one.exact() {
            Some(text) => line(Text::known(&path::join(dir, text))),
            None => Text::any(),
        },
        _ => Text::any(),
    }
}

fn sequence(args: &[Arg]) -> Text {
    let numbers: Option<Vec<i64>> =
        args.iter().map(|arg| arg.exact().and_then(|n| n.parse().ok())).collect();
    let (from, to) = match numbers.as_deref() {
        Some([to]) => (1, *to),
        Some([from, to]) => (*from, *to),
        _ => return Text::any(),
    };
    if to.saturating_sub(from) > 64 {
        return Text::any();
    }
    let lines: Vec<String> = (from..=to).map(|n| format!("{n}\n")).collect();
    Text::known(&lines.concat())
}

/// `git rev-parse --show-toplevel`.
fn top(walker: &Walker<'_>, args: &[Arg]) -> Option<Text> {
    let words: Vec<&str> = args.iter().filter_map(Arg::exact).collect();
    if words != ["rev-parse", "--show-toplevel"] || args.len() != 2 {
        return None;
    }
    let mut dir = walker.state.path()?;
    loop {
        if walker.world.entry(&path::join(dir, ".git")) != Entry::Missing {
            return Some(Text::known(dir));
        }
        if dir == "/" {
            return None;
        }
        dir = path::parent(dir);
    }
}
