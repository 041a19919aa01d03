//! Builtins that change the shell's memory or run text. Each is also reported as an invocation.

use super::call::{Call, Input, Stdout};
use super::chain::Failed;
use super::state::{State, Value};
use super::{Holes, Walker};
use crate::policy::facts::Why;
use crate::policy::shell::Arg;
use crate::policy::shell::text::Text;

impl Walker<'_> {
    /// Runs a builtin; `None` when the name is none of these.
    pub(super) fn builtin(&mut self, name: &str, call: &Call) -> Option<Failed> {
        let args = call.argv.get(1..).unwrap_or_default();
        match name {
            "cd" | "chdir" | "pushd" | "popd" => {
                self.emit(call);
                return Some(match name {
                    "pushd" => self.pushd(call),
                    "popd" => self.popd(call),
                    _ => self.cd(call),
                });
            }
            "eval" => self.eval(args, call),
            "source" | "." => self.source_file(args, call),
            "trap" => self.trap(args),
            "alias" => self.alias_words(args),
            "unalias" => self.unalias(args),
            "set" => self.set_words(args),
            "shift" => self.shift(args),
            "unset" => {
                for name in args.iter().filter_map(Arg::exact).filter(|a| !a.starts_with('-')) {
                    self.state.set(name, Value::Unset, false);
                    std::rc::Rc::make_mut(&mut self.state.functions).remove(name);
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => self.names(name, args),
            "read" | "mapfile" | "readarray" | "getopts" | "printf" | "let" | "wait" => {
                self.fills(name, args);
            }
            "exit" | "return" | "break" | "continue" | "logout" => self.leave(name, args),
            _ => return None,
        }
        if !matches!(name, "eval" | "source" | ".") {
            self.emit(call);
        }
        Some(None)
    }

    fn eval(&mut self, args: &[Arg], call: &Call) {
        let mut text = Text::default();
        let args = if args.first().and_then(Arg::exact) == Some("--") {
            args.get(1..).unwrap_or_default()
        } else {
            args
        };
        for (index, arg) in args.iter().enumerate() {
            if index > 0 {
                text.push(" ");
            }
            text.append(&Text::of(arg));
        }
        self.here(call, |walker| walker.run(&text, Holes::Code));
    }

    /// Runs text in this very shell, under a call's redirections and assignments.
    fn here(&mut self, call: &Call, body: impl FnOnce(&mut Self)) {
        for (name, value) in &call.env {
            self.assign(name, Value::Scalar(Text::of(value)));
        }
        self.emit_redirects(call);
        let input = std::mem::replace(&mut self.input, call.input.clone());
        if call.stdout == Stdout::Through {
            body(self);
        } else {
            let said = self.collect(body);
            self.write(&call.stdout, &said);
        }
        self.input = input;
    }

    fn source_file(&mut self, args: &[Arg], call: &Call) {
        self.emit(&Call { redirects: Vec::new(), stdout: Stdout::Away, ..call.clone() });
        let Some(file) = args.first() else { return };
        if file.exact() == Some("/dev/stdin") {
            match &call.input {
                Input::Text(text) => self.here(call, |walker| walker.run(text, Holes::Code)),
                Input::Unknown => self.unread(Why::Generated, "source /dev/stdin"),
                Input::Inherited | Input::File(_) => {}
            }
            return;
        }
        if let Some(text) = self.written(file) {
            if text.pieces() == [crate::policy::shell::Piece::Any] {
                self.unread(Why::Generated, "source");
            }
            self.here(call, |walker| walker.run(&text, Holes::Code));
        } else if let Some(text) = self.stored(file) {
            self.here(call, |walker| walker.run_file(&text));
        } else {
            self.emit_redirects(call);
        }
    }

    fn trap(&mut self, args: &[Arg]) {
        let args: Vec<&Arg> = args.iter().filter(|arg| arg.exact() != Some("--")).collect();
        let [action, _, ..] = args.as_slice() else { return };
        match action.exact() {
            Some("" | "-" | "-p" | "-l") => {}
            _ => self.state.traps.push(Text::of(action)),
        }
    }

    fn alias_words(&mut self, args: &[Arg]) {
        for arg in args {
            let holed = Text::of(arg).holed();
            if let Some((name, text)) = holed.split_once('=') {
                let aliases = std::rc::Rc::make_mut(&mut self.state.aliases);
                aliases.insert(name.to_owned(), Text::known(text));
            }
        }
    }

    fn unalias(&mut self, args: &[Arg]) {
        let aliases = std::rc::Rc::make_mut(&mut self.state.aliases);
        for name in args.iter().filter_map(Arg::exact) {
            if name == "-a" {
                aliases.clear();
            }
            aliases.remove(name);
        }
    }

    /// `set`: the options that matter here, and the positional parameters.
    fn set_words(&mut self, args: &[Arg]) {
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.exact() {
                Some("--" | "-") => {
                    self.position(rest.as_slice());
                    return;
                }
                Some("-o" | "+o") => match (arg.exact(), rest.next().and_then(Arg::exact)) {
                    (Some("-o"), Some("errexit")) => self.state.stops_on_failure = true,
                    (_, Some("errexit")) => self.state.stops_on_failure = false,
                    (Some("-o"), Some("allexport")) => self.state.exports_all = true,
                    _ => {}
                },
                Some(flags) if flags.len() > 1 && flags.starts_with('-') => {
                    self.state.stops_on_failure |= flags.contains('e');
                    self.state.exports_all |= flags.contains('a');
                    if flags.ends_with('o') && rest.next().and_then(Arg::exact) == Some("errexit") {
                        self.state.stops_on_failure = true;
                    }
                }
                Some(flags) if flags.len() > 1 && flags.starts_with('+') => {
                    self.state.stops_on_failure &= !flags.contains('e');
                }
                _ => {
                    let mut all = vec![arg.clone()];
                    all.extend(rest.cloned());
                    self.position(&all);
                    return;
                }
            }
        }
    }

    fn position(&mut self, args: &[Arg]) {
        let sure = args.iter().all(|arg| arg.exact().is_some() || arg.fresh());
        self.state.arguments = sure.then(|| args.iter().map(Text::of).collect());
    }

    fn shift(&mut self, args: &[Arg]) {
        let count = match args.first() {
            None => Some(1),
            Some(arg) => arg.exact().and_then(|n| n.parse::<usize>().ok()),
        };
        self.afford(self.state.weight() / 16);
        self.state.arguments = match (self.state.arguments.take(), count) {
            (Some(all), Some(count)) => Some(all.into_iter().skip(count).collect()),
            _ => None,
        };
    }

    /// `export NAME`, `local NAME` and their like, without a value.
    fn names(&mut self, builtin: &str, args: &[Arg]) {
        let exports = builtin == "export"
            || args.iter().filter_map(Arg::exact).any(|a| a.starts_with('-') && a.contains('x'));
        let functions = args.first().and_then(Arg::exact) == Some("-f");
        if matches!(builtin, "declare" | "typeset" | "local") {
            self.twist(args);
        }
        for arg in args {
            let holed = Text::of(arg).holed();
            if holed.starts_with('-') || holed.contains('=') || functions {
            } else if builtin == "local" {
                self.localise(&holed);
                self.state.set(&holed, Value::Unset, false);
            } else if exports {
                self.export(&holed);
            }
        }
    }

    /// Variables that hold something else than what is assigned to them: another's name (`-n`), a
    /// sum (`-i`), other letters (`-l`, `-u`). What a name stands for may change with it.
    fn twist(&mut self, args: &[Arg]) {
        let flag = |arg: &&Arg| {
            arg.exact().is_some_and(|a| a.starts_with('-') && a.contains(['n', 'i', 'l', 'u']))
        };
        if !args.iter().any(|arg| flag(&arg)) {
            return;
        }
        let twisted = std::rc::Rc::make_mut(&mut self.state.twisted);
        for word in args.iter().map(|arg| Text::of(arg).holed()).filter(|w| !w.starts_with('-')) {
            twisted.extend(word.split('=').map(str::to_owned));
        }
    }

    /// Builtins that put something unknown into variables.
    fn fills(&mut self, builtin: &str, args: &[Arg]) {
        match builtin {
            "printf" => {
                if let [flag, name, ..] = args
                    && flag.exact() == Some("-v")
                    && let Some(name) = name.exact()
                {
                    self.state.set(name, Value::Unknown, false);
                }
            }
            "let" => {
                for arg in args {
                    let name: String = Text::of(arg)
                        .holed()
                        .chars()
                        .skip_while(|c| matches!(c, '+' | '-'))
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect();
                    self.state.set(&name, Value::Unknown, false);
                }
            }
            _ => {
                // Option values are taken for names too: forgetting more is harmless.
                for name in args.iter().filter_map(Arg::exact) {
                    self.state.set(name, Value::Unknown, false);
                }
                for name in ["REPLY", "MAPFILE", "OPTARG", "OPTIND"] {
                    self.state.set(name, Value::Unknown, false);
                }
            }
        }
    }

    /// Control goes elsewhere; what follows is walked all the same, but leads nowhere.
    fn leave(&mut self, builtin: &str, args: &[Arg]) {
        let here = self.fork();
        // With a number several loops are left: every one may be the last.
        let loops = if args.is_empty() { 1 } else { self.loops.len() };
        let slots: Vec<&mut Option<State>> = match builtin {
            "break" => self.loops.iter_mut().rev().take(loops).map(|e| &mut e.out).collect(),
            "continue" => self.loops.iter_mut().rev().take(loops).map(|e| &mut e.on).collect(),
            "return" => self.returns.last_mut().into_iter().collect(),
            _ => Vec::new(),
        };
        for slot in slots {
            *slot = Some(match slot.take() {
                Some(before) => State::join(before, here.clone()),
                None => here.clone(),
            });
        }
        self.state.dead = true;
    }
}
