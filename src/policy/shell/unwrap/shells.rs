//! Shells: `-c` texts, scripts, and text on standard input.

use super::report;
use crate::policy::facts::Why;
use crate::policy::shell::Arg;
use crate::policy::shell::text::Text;
use crate::policy::shell::walk::{Call, Holes, Input, Walker};

/// What a shell was told.
#[derive(Default)]
struct Order<'a> {
    text: bool,
    stdin: bool,
    /// Only reads (`-n`), or only says something (`--version`).
    idle: bool,
    operands: &'a [Arg],
}

/// A shell as a program.
pub(super) fn shell(walker: &mut Walker<'_>, name: &str, call: &Call) {
    let order = order(call.argv.get(1..).unwrap_or_default());
    if order.idle {
        report(walker, name, call);
        return;
    }
    let operand = |at: usize| order.operands.get(at).map(Text::of);
    if order.text {
        let Some(text) = operand(0) else {
            if call.more {
                walker.unread(Why::Generated, name);
            }
            return;
        };
        let zero = operand(1).unwrap_or_else(|| Text::known(name));
        let arguments = behind(call, order.operands, 2);
        walker.child(call, zero, arguments, |walker| walker.run(&text, call.holes));
        return;
    }
    let file = order.operands.first().filter(|_| !order.stdin);
    match file {
        Some(file) if !matches!(file.exact(), Some("/dev/stdin")) => {
            script(walker, file, call, behind(call, order.operands, 1));
        }
        _ => stdin(walker, name, call, behind(call, order.operands, 0)),
    }
}

/// Positional parameters; unknown when more follow.
fn behind(call: &Call, operands: &[Arg], skip: usize) -> Option<Vec<Arg>> {
    (!call.more).then(|| operands.get(skip..).unwrap_or_default().to_vec())
}

fn order(args: &[Arg]) -> Order<'_> {
    let mut order = Order::default();
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let Some(word) = first.exact().filter(|w| w.starts_with(['-', '+'])) else { break };
        rest = tail;
        match word {
            "-" | "--" => break,
            "--help" | "--version" => order.idle = true,
            "--rcfile" | "--init-file" => rest = tail.get(1..).unwrap_or_default(),
            long if long.starts_with("--") => {}
            flags => {
                if flags.starts_with('-') {
                    order.text |= flags.contains('c');
                    order.stdin |= flags.contains('s');
                    order.idle |= flags.contains('n');
                }
                if flags.contains(['o', 'O']) {
                    rest = tail.get(1..).unwrap_or_default();
                }
            }
        }
    }
    order.operands = rest;
    order
}

fn script(walker: &mut Walker<'_>, file: &Arg, call: &Call, arguments: Option<Vec<Arg>>) {
    if let Some(text) = walker.written(file) {
        walker.child(call, Text::of(file), arguments, |w| w.run(&text, Holes::Code));
    } else if let Some(text) = walker.stored(file) {
        walker.child(call, Text::of(file), arguments, |w| w.run_file(&text));
    } else {
        walker.emit(call);
    }
}

fn stdin(walker: &mut Walker<'_>, name: &str, call: &Call, arguments: Option<Vec<Arg>>) {
    let zero = Text::known(name);
    match &call.input {
        Input::Text(text) => walker.child(call, zero, arguments, |walker| {
            // What it runs reads on where the shell is in its script: `xargs rm` takes the rest.
            walker.input = Input::Unknown;
            walker.run(text, Holes::Code);
        }),
        Input::Unknown => {
            walker.unread(Why::Generated, name);
            walker.emit_redirects(call);
        }
        Input::File(file) => match walker.stored(file) {
            Some(text) => walker.child(call, zero, arguments, |w| w.run_file(&text)),
            None => walker.emit(call),
        },
        Input::Inherited => walker.emit(call),
    }
}
