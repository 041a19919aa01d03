//! A program about to run: what it would get, who takes it (function, builtin, wrapper), and the
//! invocation that is reported.

use std::collections::HashSet;

use super::chain::Failed;
use super::function::counted;
use super::output::said;
use super::state::Value;
use super::{Holes, Walker};
use crate::policy::facts::Why;
use crate::policy::shell::text::{Text, outside, shown};
use crate::policy::shell::unwrap;
use crate::policy::shell::{Arg, Dir, Invocation, Piece, Redirect, Stdin, path};

/// Bytes of a script that are read.
const SCRIPT: usize = 64 * 1024;

/// Programs that one text may run.
const INVOCATIONS: usize = 8192;
/// Written files that are handed on with one call.
const WROTE: usize = 16;
/// Files `make` reads without being told.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// What stands on standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::policy::shell) enum Input {
    /// The caller's own.
    #[default]
    Inherited,
    /// This text, as far as it is known.
    Text(Text),
    /// Anything.
    Unknown,
    /// This file's content.
    File(Arg),
}

impl Input {
    /// What a pipe carries.
    pub(super) fn from_output(said: Text) -> Self {
        if said.pieces() == [Piece::Any] { Self::Unknown } else { Self::Text(said) }
    }

    /// Bytes it holds.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.size(),
            Self::Inherited | Self::Unknown | Self::File(_) => 0,
        }
    }

    fn reported(&self) -> Stdin {
        match self {
            Self::Inherited => Stdin::Inherited,
            Self::Text(text) => Stdin::Text(text.holed()),
            Self::Unknown => Stdin::Unknown,
            Self::File(file) => Stdin::File(file.clone()),
        }
    }
}

/// Where standard output goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::policy::shell) enum Stdout {
    /// To whoever reads what is printed here.
    #[default]
    Through,
    /// To another descriptor.
    Away,
    /// Into a file.
    File(Redirect),
}

/// A program about to run.
#[derive(Debug, Clone, Default)]
pub(in crate::policy::shell) struct Call {
    /// Program and arguments.
    pub(in crate::policy::shell) argv: Vec<Arg>,
    /// Assignments in front.
    pub(in crate::policy::shell) env: Vec<(String, Arg)>,
    /// What it reads.
    pub(in crate::policy::shell) input: Input,
    /// Where its output goes.
    pub(in crate::policy::shell) stdout: Stdout,
    /// Files opened for it.
    pub(in crate::policy::shell) redirects: Vec<Redirect>,
    /// Operands that are not known follow.
    pub(in crate::policy::shell) more: bool,
    /// What the holes in its arguments may hold.
    pub(in crate::policy::shell) holes: Holes,
    /// Wrappers taken off so far.
    pub(in crate::policy::shell) hops: u8,
}

/// Who may take a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy::shell) enum Via {
    /// The shell itself: functions, builtins, programs.
    Shell,
    /// `command` and `builtin`: no functions.
    Builtin,
    /// Another program: programs only.
    Program,
}

impl Walker<'_> {
    /// Runs a call.
    pub(in crate::policy::shell) fn dispatch(&mut self, mut call: Call, via: Via) -> Failed {
        let Some(first) = call.argv.first() else {
            self.emit_redirects(&call);
            return None;
        };
        if !self.afford(1 + call.argv.len() / 8) {
            return None;
        }
        let Some(name) = program(first) else {
            let words: Vec<String> = call.argv.iter().map(shown).collect();
            self.unread(Why::Program, &words.join(" "));
            self.emit_redirects(&call);
            return None;
        };
        if call.hops > 16 {
            self.unread(Why::TooDeep, &name);
            return None;
        }
        if first.exact().is_none()
            && let Some(first) = call.argv.first_mut()
        {
            *first = Arg::text(path::base(&name));
        }
        if via == Via::Shell
            && let Some(function) = self.state.functions.get(&name).cloned()
        {
            return self.call_function(&name, &function, &call);
        }
        if via != Via::Program
            && let Some(failed) = self.builtin(&name, &call)
        {
            return failed;
        }
        if name.contains('/') && (self.written_script(&call) || self.stored_script(&call)) {
            return None;
        }
        unwrap::unwrap(self, path::base(&name), call, via)
    }

    /// Reports a program.
    pub(in crate::policy::shell) fn emit(&mut self, call: &Call) {
        self.afford(self.state.weight() / 16);
        let mut env = Vec::new();
        for (name, variable) in self.state.variables.iter().filter(|(_, v)| v.exported) {
            match &variable.value {
                Value::Scalar(text) => env.push((name.clone(), text.clone().into_arg())),
                Value::Unknown | Value::List(_) => env.push((name.clone(), Text::any().into_arg())),
                Value::Unset => {}
            }
        }
        env.extend(call.env.iter().cloned());
        let wrote = self.wrote(call);
        // What is handed on is copied: a text that names a big one often must not multiply it.
        let args = env.iter().map(|(_, arg)| arg).chain(&call.argv);
        let bytes = args.flat_map(|arg| &arg.pieces).map(Piece::size).sum::<usize>()
            + wrote.iter().filter_map(|(_, text)| text.as_ref()).map(String::len).sum::<usize>()
            + call.input.size();
        let many = self.reading.invocations.len() >= INVOCATIONS;
        let steps = env.len() + call.argv.len() / 8 + bytes / 16;
        if !self.afford(if many { usize::MAX } else { steps }) {
            return;
        }
        self.reading.invocations.push(Invocation {
            argv: call.argv.clone(),
            dir: self.state.dir(),
            env,
            stdin: call.input.reported(),
            redirects: call.redirects.clone(),
            more: call.more,
            quiet: self.muted,
            depth: self.depth,
            wrote,
        });
        if !self.captures.is_empty() || matches!(call.stdout, Stdout::File(_)) {
            let said = said(self, call);
            self.write(&call.stdout, &said);
        }
    }

    /// Reports files that are opened with nothing to run.
    pub(in crate::policy::shell) fn emit_redirects(&mut self, call: &Call) {
        if !call.redirects.is_empty() {
            let bare = Call { argv: Vec::new(), env: Vec::new(), ..call.clone() };
            self.emit(&bare);
        }
    }

    /// Sends output where it goes; remembers what a file then holds.
    pub(super) fn write(&mut self, stdout: &Stdout, said: &Text) {
        match stdout {
            Stdout::Through => self.say(said),
            Stdout::Away => {}
            Stdout::File(redirect) => {
                let Some(file) = self.absolute(&redirect.target) else { return };
                let affordable = self.afford(said.size() / 16);
                let known = affordable && !said.has_holes();
                match self.files.get_mut(&file) {
                    Some(Some(before)) if redirect.append && known => before.append(said),
                    _ => {
                        let content = (known && !redirect.append).then(|| said.clone());
                        self.files.insert(file, content);
                    }
                }
            }
        }
    }

    /// The path an argument names, when it is known.
    pub(in crate::policy::shell) fn absolute(&self, arg: &Arg) -> Option<String> {
        let path = arg.exact()?;
        match self.state.path() {
            Some(dir) => Some(path::logical(&path::join(dir, path))),
            None => path.starts_with('/').then(|| path::logical(path)),
        }
    }

    /// What a file the text wrote itself holds.
    pub(in crate::policy::shell) fn written(&self, arg: &Arg) -> Option<Text> {
        self.files.get(&self.absolute(arg)?).cloned().flatten()
    }

    /// The files a call names that the text itself has written.
    fn wrote(&self, call: &Call) -> Vec<(String, Option<String>)> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let makes = call.argv.first().and_then(Arg::exact).is_some_and(|n| n.ends_with("make"));
        let usual = MAKEFILES.iter().filter(|_| makes).map(|name| Arg::text(*name));
        let valued = call.argv.iter().filter_map(|arg| arg.exact()?.split_once('='));
        let valued = valued.map(|(_, value)| Arg::text(value));
        let named = call.argv.iter().skip(1).cloned().chain(valued).chain(usual);
        let known = named.filter_map(|arg| {
            let path = self.absolute(&arg)?;
            let text = self.files.get(&path)?;
            Some((path, text.as_ref().map(Text::holed)))
        });
        known.take(WROTE).collect()
    }

    /// A small file from the disk, unless the text itself has written it.
    pub(in crate::policy::shell) fn stored(&self, arg: &Arg) -> Option<String> {
        let file = self.absolute(arg)?;
        if self.files.contains_key(&file) {
            return None;
        }
        self.world.read(&file, SCRIPT).map(|text| outside(&text).into_owned())
    }

    /// Standard input from a file: its text, when the command itself wrote it.
    pub(super) fn file_input(&self, file: Arg) -> Input {
        match self.written(&file) {
            Some(text) => Input::Text(text),
            None => Input::File(file),
        }
    }

    /// Remembers what can be read under a path of its own (`<(…)`).
    pub(super) fn pipe(&mut self, content: Text) -> String {
        self.pipes = self.pipes.saturating_sub(1);
        let name = format!("/dev/fd/{}", self.pipes);
        self.files.insert(name.clone(), Some(content));
        name
    }

    /// `./x.sh` that the text has just written.
    fn written_script(&mut self, call: &Call) -> bool {
        let Some(text) = call.argv.first().and_then(|arg| self.written(arg)) else { return false };
        if !runs_in_shell(&text.holed()).unwrap_or(true) {
            return false;
        }
        self.run_script(call, |walker| walker.run(&text, Holes::Code));
        true
    }

    /// `./x.sh` from the disk, when it says that it is a shell's.
    fn stored_script(&mut self, call: &Call) -> bool {
        let Some(text) = call.argv.first().and_then(|arg| self.stored(arg)) else { return false };
        if runs_in_shell(&text) != Some(true) {
            return false;
        }
        self.run_script(call, |walker| walker.run_file(&text));
        true
    }

    /// Runs a script that a call names as its program.
    fn run_script(&mut self, call: &Call, body: impl FnOnce(&mut Self)) {
        self.emit(call);
        let zero = call.argv.first().map_or_else(Text::any, Text::of);
        let arguments = call.argv.get(1..).unwrap_or_default().to_vec();
        self.child(call, zero, (!call.more).then_some(arguments), body);
    }

    /// Runs something in a program of its own: only the environment is inherited.
    pub(in crate::policy::shell) fn child(
        &mut self,
        call: &Call,
        zero: Text,
        arguments: Option<Vec<Arg>>,
        body: impl FnOnce(&mut Self),
    ) {
        let input = std::mem::replace(&mut self.input, call.input.clone());
        let calls = std::mem::take(&mut self.calls);
        let through = call.stdout == Stdout::Through;
        let run = |walker: &mut Self| {
            walker.apart(|walker| {
                let state = &mut walker.state;
                std::rc::Rc::make_mut(&mut state.variables).retain(|_, v| v.exported);
                for (name, value) in &call.env {
                    state.set(name, Value::Scalar(Text::of(value)), true);
                }
                state.zero = zero;
                state.arguments = arguments.and_then(|all| counted(&all));
                state.aliases = std::rc::Rc::default();
                state.stops_on_failure = false;
                body(walker);
            });
        };
        if through {
            run(self);
        } else {
            let said = self.collect(run);
            self.write(&call.stdout, &said);
        }
        self.emit_redirects(call);
        self.input = input;
        self.calls = calls;
    }

    /// Drops invocations that a loop reported twice.
    pub(super) fn forget_repetitions(&mut self, first: usize) {
        let turns = self.reading.invocations.split_off(first.min(self.reading.invocations.len()));
        let mut seen = HashSet::new();
        for invocation in turns {
            if seen.insert(invocation.clone()) {
                self.reading.invocations.push(invocation);
            }
        }
    }

    /// Where programs run now.
    pub(in crate::policy::shell) fn state_dir(&self) -> Dir {
        self.state.dir()
    }

    /// Runs a body with variables taken out of the environment.
    pub(in crate::policy::shell) fn without(
        &mut self,
        names: &[String],
        body: impl FnOnce(&mut Self),
    ) {
        if names.is_empty() {
            return body(self);
        }
        let variables = std::rc::Rc::clone(&self.state.variables);
        for name in names {
            self.state.set(name, Value::Unset, true);
        }
        body(self);
        self.state.variables = variables;
    }

    /// Runs a body in another directory.
    pub(in crate::policy::shell) fn inside<T>(
        &mut self,
        dir: Dir,
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let dirs = std::mem::replace(&mut self.state.dirs, vec![dir]);
        let result = body(self);
        self.state.dirs = dirs;
        result
    }
}

/// Whether a script's first line names a shell; `None` when it names nothing.
pub(in crate::policy::shell) fn runs_in_shell(text: &str) -> Option<bool> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let is_shell = |word: &str| {
        let name = path::base(word).trim_end_matches(|c: char| c.is_ascii_digit());
        matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh")
    };
    Some(line.split_whitespace().any(is_shell))
}

/// The program's name, when enough of the word is known.
fn program(arg: &Arg) -> Option<String> {
    if let Some(text) = arg.exact() {
        return Some(text.to_owned());
    }
    match arg.pieces.last() {
        Some(Piece::Text(text)) if text.contains('/') => {
            let base = path::base(text);
            (!base.is_empty()).then(|| text.clone())
        }
        Some(Piece::Text(_) | Piece::Any | Piece::Fresh) | None => None,
    }
}
