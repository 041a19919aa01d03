//! Function calls: arguments, local variables, `return`, recursion.

use super::Walker;
use super::call::{Call, Stdout};
use super::chain::Failed;
use super::state::{State, Value};
use crate::policy::facts::Why;
use crate::policy::shell::ast::Function;
use crate::policy::shell::text::Text;
use crate::policy::shell::{Arg, Piece};

/// Functions that are followed inside each other.
const CALLS: usize = 8;
/// Of these, with the same name.
const RECURSION: usize = 3;
/// Where the names of local variables are kept; no variable can be called so.
const LOCALS: &str = "local names";

impl Walker<'_> {
    /// Runs a function.
    pub(super) fn call_function(&mut self, name: &str, function: &Function, call: &Call) -> Failed {
        let mut arguments = counted(call.argv.get(1..).unwrap_or_default());
        let key = std::ptr::from_ref(function).addr();
        let same = self.calls.iter().filter(|call| **call == key).count();
        if same > RECURSION {
            return None; // The turn before knew nothing any more: this one teaches nothing.
        }
        if same == RECURSION {
            arguments = None;
            self.state.forget();
        }
        if self.calls.len() >= CALLS {
            self.unread(Why::TooDeep, name);
            return None;
        }
        self.calls.push(key);
        let outer = self.fork();
        self.state.arguments = arguments;
        for (name, value) in &call.env {
            self.state.set(name, Value::Scalar(Text::of(value)), true);
        }
        self.returns.push(None);
        let loops = std::mem::take(&mut self.loops);
        let input = std::mem::replace(&mut self.input, call.input.clone());
        self.state.set(LOCALS, Value::Unset, false);
        self.emit_redirects(call);
        let body = |walker: &mut Self| {
            walker.redirected(&function.redirections, |walker| {
                walker.compound_of_call(&function.body);
                None
            })
        };
        if call.stdout == Stdout::Through {
            body(self);
        } else {
            let said = self.collect(|walker| drop(body(walker)));
            self.write(&call.stdout, &said);
        }
        self.input = input;
        self.loops = loops;
        if let Some(returned) = self.returns.pop().flatten() {
            self.merge(returned);
        }
        self.restore(&outer, call);
        self.calls.pop();
        None
    }

    /// Puts arguments and local variables back after a function.
    fn restore(&mut self, outer: &State, call: &Call) {
        self.state.arguments.clone_from(&outer.arguments);
        let mut names: Vec<String> = call.env.iter().map(|(name, _)| name.clone()).collect();
        if let Value::List(locals) = self.variable(LOCALS) {
            names.extend(locals.iter().filter_map(Text::exact).map(str::to_owned));
        }
        names.push(LOCALS.to_owned());
        let variables = std::rc::Rc::make_mut(&mut self.state.variables);
        for name in names {
            match outer.variables.get(&name) {
                Some(variable) => variables.insert(name, variable.clone()),
                None => variables.remove(&name),
            };
        }
    }

    /// `local`: the name goes back to what it was when the function ends.
    pub(super) fn localise(&mut self, name: &str) {
        let mut names = match self.variable(LOCALS) {
            Value::List(names) => names,
            Value::Scalar(_) | Value::Unset | Value::Unknown => Vec::new(),
        };
        self.afford(names.len() / 4);
        names.push(Text::known(name));
        self.state.set(LOCALS, Value::List(names), false);
    }
}

/// Arguments by position; unknown when one of them may be several.
pub(super) fn counted(args: &[Arg]) -> Option<Vec<Text>> {
    let several = args.iter().any(|arg| arg.pieces == [Piece::Any]);
    // A lone unknown word may be none or many: the positions behind it move.
    if several && args.len() > 1 { None } else { Some(args.iter().map(Text::of).collect()) }
}
