//! Compound commands: every branch is walked, every loop until it teaches nothing new.

use super::call::{Call, Stdout};
use super::chain::Failed;
use super::state::{State, Value};
use super::{Escapes, Walker};
use crate::policy::shell::Arg;
use crate::policy::shell::ast::{Compound, Redirection, Script, Word};
use crate::policy::shell::text::Text;

/// Words of a `for` that are tried one by one.
const WORDS: usize = 32;
/// Turns of a loop of unknown length before everything counts as unknown.
const TURNS: usize = 4;

impl Walker<'_> {
    /// Walks `body` under the redirections of a compound command.
    pub(super) fn redirected(
        &mut self,
        redirections: &[Redirection],
        body: impl FnOnce(&mut Self) -> Failed,
    ) -> Failed {
        if redirections.is_empty() {
            return body(self);
        }
        let mut call = Call { input: self.input.clone(), ..Call::default() };
        self.redirect(redirections, &mut call);
        self.emit_redirects(&call);
        let outer = std::mem::replace(&mut self.input, call.input.clone());
        let failed = if call.stdout == Stdout::Through {
            body(self)
        } else {
            let mut failed = None;
            let said = self.collect(|walker| failed = body(walker));
            self.write(&call.stdout, &said);
            failed
        };
        self.input = outer;
        failed
    }

    /// Walks a compound command.
    pub(super) fn compound(&mut self, compound: &Compound) -> Failed {
        match compound {
            Compound::Group(body) => self.script(body),
            Compound::Subshell(body) => self.apart(|walker| walker.script(body)),
            Compound::If(arms, otherwise) => self.conditional(arms, otherwise.as_ref()),
            Compound::Loop { test, body } => {
                self.repeat(|walker| {
                    let failed = walker.test(test);
                    walker.script(body);
                    walker.merge(failed);
                });
            }
            Compound::Each { name, words, body } => self.each(name, words.as_deref(), body),
            Compound::Count { header, body } => {
                self.value(header);
                self.count(header);
                self.repeat(|walker| walker.script(body));
            }
            Compound::Case { subject, arms } => {
                self.value(subject);
                let base = self.fork();
                let mut all = base.clone();
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.value(pattern);
                    }
                    // With `;&` an arm begins where the one before ended.
                    self.merge(base.clone());
                    self.perhaps(|walker| walker.script(&arm.body));
                    all = all.join(self.fork());
                }
                self.state = all;
            }
            Compound::Test(words) => {
                for word in words {
                    self.value(word);
                }
                // `[[ $x =~ … ]]` fills this array.
                self.state.set("BASH_REMATCH", Value::Unknown, false);
            }
            Compound::Arithmetic(expression) => {
                self.value(expression);
                self.count(expression);
            }
        }
        None
    }

    /// Walks a test; the walker's state is then the one after success. Returns the other one.
    fn test(&mut self, test: &Script) -> State {
        let Some((last, before)) = test.items.split_last() else { return self.fork() };
        for item in before {
            self.script_item(item);
        }
        let failed = self.chain(&last.chain);
        failed.map_or_else(|| self.fork(), |failed| *failed)
    }

    fn conditional(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) {
        let mut after: Option<State> = None;
        for (test, body) in arms {
            let failed = self.test(test);
            self.perhaps(|walker| walker.script(body));
            let state = std::mem::replace(&mut self.state, failed);
            after = Some(match after {
                Some(all) => all.join(state),
                None => state,
            });
        }
        if let Some(body) = otherwise {
            self.perhaps(|walker| walker.script(body));
        }
        if let Some(after) = after {
            self.merge(after);
        }
    }

    fn each(&mut self, name: &str, words: Option<&[Word]>, body: &Script) {
        let values: Vec<Arg> = match words {
            Some(words) => words.iter().flat_map(|word| self.args(word)).collect(),
            None => match self.state.arguments.clone() {
                Some(arguments) => arguments.into_iter().map(Text::into_arg).collect(),
                None => vec![Text::any().into_arg()],
            },
        };
        let unsure = |arg: &Arg| arg.exact().is_none();
        if values.iter().any(unsure) || values.len() > WORDS {
            self.repeat(|walker| {
                for value in values.iter().take(WORDS) {
                    walker.state.set(name, Value::Scalar(Text::of(value)), false);
                    walker.script(body);
                }
                if values.len() > WORDS {
                    walker.state.set(name, Value::Unknown, false);
                    walker.script(body);
                }
            });
            return;
        }
        self.loops.push(Escapes::default());
        for value in &values {
            self.state.set(name, Value::Scalar(Text::of(value)), false);
            self.script(body);
            self.continued();
        }
        self.broken();
    }

    /// Takes up what `continue` left, at the end of a turn.
    fn continued(&mut self) {
        if let Some(state) = self.loops.last_mut().and_then(|escapes| escapes.on.take()) {
            self.merge(state);
        }
    }

    /// Takes up what `break` left, at the end of a loop.
    fn broken(&mut self) {
        if let Some(state) = self.loops.pop().and_then(|escapes| escapes.out) {
            self.merge(state);
        }
    }

    /// A loop that runs any number of times.
    fn repeat(&mut self, mut turn: impl FnMut(&mut Self)) {
        let first = self.reading.invocations.len();
        self.loops.push(Escapes::default());
        for number in 1..=TURNS {
            let before = self.fork();
            self.perhaps(&mut turn);
            self.continued();
            self.merge(before.clone());
            if self.state.settled(&before) || !self.afford(1) {
                break;
            }
            if number + 1 == TURNS {
                self.state.forget();
            }
        }
        self.broken();
        self.forget_repetitions(first);
    }

    /// Names an arithmetic text may assign become unknown.
    fn count(&mut self, expression: &Word) {
        use crate::policy::shell::ast::Part;
        for part in &expression.parts {
            let Part::Bare(text) = part else { continue };
            if !text.contains(['=', '+', '-']) {
                continue;
            }
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            for name in text.split(|c| !is_name(c)) {
                if name.starts_with(|c: char| !c.is_ascii_digit()) {
                    self.state.set(name, Value::Unknown, false);
                }
            }
        }
    }
}
