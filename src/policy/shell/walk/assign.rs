//! Assignments and what they leave in variables.

use super::Walker;
use super::state::Value;
use crate::policy::shell::Arg;
use crate::policy::shell::ast::{Assigned, Assignment};
use crate::policy::shell::text::Text;

impl Walker<'_> {
    /// The value an assignment gives.
    pub(super) fn assigned(&mut self, assignment: &Assignment) -> Value {
        let before = self.variable(&assignment.name);
        if let Some(subscript) = &assignment.subscript {
            let at = self.value(subscript).exact().and_then(|at| at.parse::<usize>().ok());
            let Assigned::Word(word) = &assignment.value else { return Value::Unknown };
            let value = self.value(word);
            return match (before, at) {
                (Value::List(mut list), Some(at)) if at <= list.len() && !assignment.appends => {
                    if let Some(element) = list.get_mut(at) {
                        *element = value;
                    } else {
                        list.push(value);
                    }
                    Value::List(list)
                }
                (Value::Unset, Some(0)) => Value::List(vec![value]),
                _ => Value::Unknown,
            };
        }
        match &assignment.value {
            Assigned::Word(word) => {
                let value = self.assignment_value(word);
                match before {
                    _ if !assignment.appends => Value::Scalar(value),
                    Value::Scalar(mut text) => {
                        text.append(&value);
                        Value::Scalar(text)
                    }
                    Value::Unset => Value::Scalar(value),
                    Value::List(_) | Value::Unknown => Value::Unknown,
                }
            }
            Assigned::Array(words) => {
                let keyed = words.iter().any(|word| {
                    matches!(word.parts.first(), Some(crate::policy::shell::ast::Part::Bare(t)) if t.starts_with('['))
                });
                let args: Vec<Arg> = words.iter().flat_map(|word| self.args(word)).collect();
                let mut list = match before {
                    Value::List(list) if assignment.appends => list,
                    Value::Scalar(text) if assignment.appends => vec![text],
                    Value::Unknown if assignment.appends => return Value::Unknown,
                    Value::List(_) | Value::Scalar(_) | Value::Unknown | Value::Unset => Vec::new(),
                };
                list.extend(args.iter().map(Text::of));
                if keyed { Value::Unknown } else { Value::List(list) }
            }
        }
    }

    /// Puts a value into a variable, as bash would: what was exported stays exported.
    pub(super) fn assign(&mut self, name: &str, value: Value) {
        // `x=$x$x` doubles: what it costs must double too.
        let value = if self.afford(1 + 2 * value.weight()) { value } else { Value::Unknown };
        let exported = self.state.exports_all || self.world.var(name).is_some();
        self.state.set(name, value, exported);
    }

    /// The argument of `export` and its like, and its effect.
    pub(super) fn declare(&mut self, assignment: &Assignment, exported: bool) -> Arg {
        let value = self.assigned(assignment);
        let shown = match &value {
            Value::Scalar(text) => text.clone(),
            Value::List(_) | Value::Unset | Value::Unknown => Text::any(),
        };
        self.assign(&assignment.name, value);
        if exported {
            self.export(&assignment.name);
        }
        let mut text = Text::known(&assignment.name);
        text.push("=");
        text.append(&shown);
        text.into_arg()
    }

    /// Assignments that were quoted or built at run time (`export "X=$y"`).
    pub(super) fn built_assignments(&mut self, args: &[Arg]) {
        for arg in args {
            let holed = Text::of(arg).holed();
            if let Some((name, value)) = holed.split_once('=') {
                self.assign(name.trim_end_matches('+'), Value::Scalar(Text::known(value)));
                if name.ends_with('+') {
                    self.state.set(name.trim_end_matches('+'), Value::Unknown, false);
                }
                self.export(name);
            }
        }
    }

    /// Marks a variable as exported.
    pub(super) fn export(&mut self, name: &str) {
        let value = self.variable(name);
        self.state.set(name, value, true);
    }
}
