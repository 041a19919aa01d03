//! Lists and pipelines: what state holds after success and after failure.

use super::call::Input;
use super::state::State;
use super::{LEVELS, Walker};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Command, Compound, Ends, Item, Join, Link, Script};

/// The state a failing command leaves, when it is not the one success leaves.
pub(in crate::policy::shell) type Failed = Option<Box<State>>;

impl Walker<'_> {
    /// Walks commands one after the other.
    pub(super) fn script(&mut self, script: &Script) {
        for item in &script.items {
            match item.ends {
                Ends::Foreground => self.script_item(item),
                Ends::Background => self.apart(|walker| walker.script_item(item)),
            }
        }
    }

    pub(super) fn script_item(&mut self, item: &Item) {
        let failed = self.chain(&item.chain);
        if let Some(failed) = failed {
            let stops = self.state.stops_on_failure;
            if !stops {
                self.merge(*failed);
            }
        }
    }

    /// Joins another way here into the state.
    pub(super) fn merge(&mut self, other: State) {
        self.afford(other.weight() / 4);
        let mine = std::mem::replace(&mut self.state, other.clone());
        self.state = mine.join(other);
    }

    /// Walks a `&&`/`||` list; the walker's state is then the one after success.
    pub(super) fn chain(&mut self, links: &[Link]) -> Failed {
        let mut failed: Failed = None;
        for link in links {
            match link.join {
                Join::First => failed = self.pipeline(link),
                Join::And => {
                    let before = failed.take().unwrap_or_else(|| Box::new(self.fork()));
                    // `cd x && pwd` prints x or nothing anybody uses; elsewhere nothing is sure.
                    let now = if before.dirs == self.state.dirs {
                        self.perhaps(|walker| walker.pipeline(link))
                    } else {
                        self.pipeline(link)
                    };
                    let now = now.unwrap_or_else(|| Box::new(self.fork()));
                    failed = Some(Box::new(before.join(*now)));
                }
                Join::Or => {
                    let succeeded = self.fork();
                    if let Some(failed) = failed.take() {
                        self.state = *failed;
                    }
                    failed = self.perhaps(|walker| walker.pipeline(link));
                    let now = failed.clone().unwrap_or_else(|| Box::new(self.fork()));
                    self.merge(succeeded);
                    failed = Some(now);
                }
            }
        }
        failed
    }

    fn pipeline(&mut self, link: &Link) -> Failed {
        let failed = match link.stages.as_slice() {
            [] => None,
            [only] => self.command(only),
            stages => {
                self.stages(stages);
                None
            }
        };
        match failed {
            Some(mut failed) if link.negated => {
                std::mem::swap(&mut self.state, &mut failed);
                Some(failed)
            }
            failed => failed,
        }
    }

    /// Each stage in a shell of its own, reading what the one before printed.
    fn stages(&mut self, stages: &[Command]) {
        let outer = self.input.clone();
        let mut input = outer.clone();
        for (index, stage) in stages.iter().enumerate() {
            self.input = std::mem::take(&mut input);
            if index + 1 == stages.len() {
                self.apart(|walker| drop(walker.command(stage)));
            } else {
                let said = self.collect(|walker| {
                    walker.apart(|walker| drop(walker.command(stage)));
                });
                input = Input::from_output(said);
            }
        }
        self.input = outer;
    }

    /// Walks one command, once for every directory it may run in.
    pub(super) fn command(&mut self, command: &Command) -> Failed {
        self.level += 1;
        let failed = if self.level > LEVELS {
            self.unread(Why::TooDeep, "");
            None
        } else if !self.afford(1) {
            None
        } else if self.state.dirs.len() > 1 {
            self.each_directory(command)
        } else {
            self.one(command)
        };
        self.level -= 1;
        failed
    }

    fn each_directory(&mut self, command: &Command) -> Failed {
        let base = self.fork();
        let mut succeeded: Option<State> = None;
        let mut failed: Option<State> = None;
        for dir in &base.dirs {
            self.state = State { dirs: vec![dir.clone()], ..base.clone() };
            let other = self.perhaps(|walker| walker.one(command));
            let other = other.map_or_else(|| self.fork(), |state| *state);
            let state = self.fork();
            succeeded = Some(match succeeded {
                Some(all) => all.join(state),
                None => state,
            });
            failed = Some(match failed {
                Some(all) => all.join(other),
                None => other,
            });
        }
        self.state = succeeded.unwrap_or(base);
        failed.map(Box::new)
    }

    fn one(&mut self, command: &Command) -> Failed {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirections) => {
                self.redirected(redirections, |walker| walker.compound(compound))
            }
            Command::Function(name, function) => {
                let functions = std::rc::Rc::make_mut(&mut self.state.functions);
                functions.insert(name.clone(), std::rc::Rc::clone(function));
                None
            }
            Command::Coproc(command) => {
                self.apart(|walker| drop(walker.command(command)));
                None
            }
        }
    }

    /// The body of a function call.
    pub(super) fn compound_of_call(&mut self, compound: &Compound) {
        self.compound(compound);
    }
}
