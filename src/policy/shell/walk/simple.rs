//! Simple commands: expansion in bash's order, redirections, aliases.

use super::Walker;
use super::call::{Call, Input, Stdout, Via};
use super::chain::Failed;
use super::state::Value;
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Argument, Command, Operator, Redirection, Simple, Word};
use crate::policy::shell::parse::parse;
use crate::policy::shell::text::Text;
use crate::policy::shell::{Arg, Piece, Redirect};

impl Walker<'_> {
    /// Walks a simple command.
    pub(super) fn simple(&mut self, simple: &Simple) -> Failed {
        let alias = self.alias(simple);
        let argv = self.argv(&simple.words);
        let bytes: usize = argv.iter().flat_map(|arg| &arg.pieces).map(Piece::size).sum();
        if !self.afford(argv.len() + (bytes + self.input.size()) / 16) {
            return None;
        }
        let mut call = Call { argv, input: self.input.clone(), ..Call::default() };
        self.redirect(&simple.redirections, &mut call);
        if call.argv.is_empty() {
            for assignment in &simple.assignments {
                let value = self.assigned(assignment);
                self.assign(&assignment.name, value);
            }
            self.emit_redirects(&call);
            if matches!(call.input, Input::File(_)) && simple.words.is_empty() {
                self.say(&Text::any()); // `$(< file)`
            }
            return None;
        }
        for assignment in &simple.assignments {
            let arg = match self.assigned(assignment) {
                Value::Scalar(text) => text.into_arg(),
                Value::List(_) | Value::Unset | Value::Unknown => Text::any().into_arg(),
            };
            call.env.push((assignment.name.clone(), arg));
        }
        if let Some(words) = alias {
            // A shell that is not interactive does not expand aliases: both ways are walked.
            let mut expanded = call.clone();
            expanded.argv.splice(..1, words);
            let base = self.fork();
            self.perhaps(|walker| drop(walker.dispatch(expanded, Via::Shell)));
            let aliased = std::mem::replace(&mut self.state, base);
            let failed = self.perhaps(|walker| walker.dispatch(call, Via::Shell));
            self.merge(aliased);
            return failed;
        }
        self.dispatch(call, Via::Shell)
    }

    fn argv(&mut self, words: &[Argument]) -> Vec<Arg> {
        let mut argv: Vec<Arg> = Vec::new();
        for argument in words {
            match argument {
                Argument::Word(word) => {
                    let fields = self.args(word);
                    if argv.first().and_then(Arg::exact).is_some_and(declares) {
                        self.built_assignments(&fields);
                    }
                    argv.extend(fields);
                }
                Argument::Assignment(assignment) => {
                    let first = argv.first().and_then(Arg::exact).map(str::to_owned);
                    let local = first.as_deref() == Some("local");
                    if local {
                        self.localise(&assignment.name);
                    }
                    let flags = argv.iter().filter_map(Arg::exact);
                    let exported = first.as_deref() == Some("export")
                        || flags.clone().any(|a| a.starts_with('-') && a.contains('x'));
                    argv.push(self.declare(assignment, exported));
                    if local && self.calls.is_empty() {
                        // Outside a function bash refuses it, another shell may not.
                        self.state.set(&assignment.name, Value::Unknown, false);
                    }
                }
            }
        }
        argv
    }

    /// What the first word is an alias for.
    fn alias(&mut self, simple: &Simple) -> Option<Vec<Arg>> {
        let Some(Argument::Word(word)) = simple.words.first() else { return None };
        let text = self.state.aliases.get(word.as_bare()?)?.clone();
        self.afford(text.size() / 16);
        let parsed = parse(&text.holed(), &mut self.fuel);
        if let [item] = parsed.script.items.as_slice()
            && let [link] = item.chain.as_slice()
            && let [Command::Simple(inner)] = link.stages.as_slice()
            && inner.redirections.is_empty()
            && parsed.fault.is_none()
        {
            return Some(self.argv(&inner.words));
        }
        // Words behind it would join its last command: too rare to follow, so said.
        self.unread(Why::Generated, &text.holed());
        self.apart(|walker| walker.script(&parsed.script));
        None
    }

    /// Applies redirections to a call.
    pub(super) fn redirect(&mut self, redirections: &[Redirection], call: &mut Call) {
        for redirection in redirections {
            let stdin = matches!(redirection.fd, None | Some(0));
            let stdout = matches!(redirection.fd, None | Some(1));
            match &redirection.operator {
                Operator::Read => {
                    let file = self.args(&redirection.target).into_iter().next();
                    if let (true, Some(file)) = (stdin, file) {
                        call.input = self.file_input(file);
                    }
                }
                Operator::HereString => {
                    let mut text = self.value(&redirection.target);
                    text.push("\n");
                    if stdin {
                        call.input = Input::Text(text);
                    }
                }
                Operator::HereDocument(body) => {
                    let text = match body.get() {
                        Some(body) => self.value(body),
                        None => Text::any(),
                    };
                    if stdin {
                        call.input = Input::Text(text);
                    }
                }
                Operator::DuplicateIn => {
                    self.value(&redirection.target);
                    if stdin {
                        call.input = Input::Unknown;
                    }
                }
                Operator::DuplicateOut => self.duplicate(&redirection.target, stdout, call),
                Operator::Write => self.opened(&redirection.target, Mode::Replaces, stdout, call),
                Operator::Both => self.opened(&redirection.target, Mode::Replaces, true, call),
                Operator::Append => self.opened(&redirection.target, Mode::Appends, stdout, call),
                Operator::BothAppend => {
                    self.opened(&redirection.target, Mode::Appends, true, call);
                }
                Operator::ReadWrite => {
                    self.opened(&redirection.target, Mode::Appends, false, call);
                    if stdin {
                        call.input = Input::Unknown;
                    }
                }
            }
        }
    }

    /// `>&`: a descriptor, or a file when it is none.
    fn duplicate(&mut self, target: &Word, stdout: bool, call: &mut Call) {
        let text = self.value(target);
        let number =
            |t: &str| t == "-" || t.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
        if text.exact().is_some_and(number) {
            if stdout {
                call.stdout = Stdout::Away;
            }
        } else {
            self.opened(target, Mode::Replaces, stdout, call);
        }
    }

    fn opened(&mut self, target: &Word, mode: Mode, stdout: bool, call: &mut Call) {
        for arg in self.args(target) {
            let redirect = Redirect { append: mode == Mode::Appends, target: arg };
            if stdout {
                call.stdout = Stdout::File(redirect.clone());
            } else {
                self.write(&Stdout::File(redirect.clone()), &Text::any());
            }
            call.redirects.push(redirect);
        }
    }
}

/// Builtins whose arguments are assignments.
fn declares(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

/// What opening a file does to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Replaces,
    Appends,
}
