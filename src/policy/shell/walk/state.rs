//! What a shell remembers between commands, as far as it is known. Cloned for every subshell and
//! branch, so the maps are shared until somebody writes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::policy::shell::Dir;
use crate::policy::shell::ast::Function;
use crate::policy::shell::text::Text;

/// Directories that are kept apart before they count as unknown.
const DIRS: usize = 4;

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// One text.
    Scalar(Text),
    /// An indexed array, all elements known by position.
    List(Vec<Text>),
    /// `unset` said so.
    Unset,
    /// Anything.
    Unknown,
}

impl Value {
    /// How much a copy of it costs.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Scalar(text) => text.size() / 16,
            Self::List(list) => list.iter().map(|text| 1 + text.size() / 16).sum(),
            Self::Unset | Self::Unknown => 0,
        }
    }
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// What it holds.
    pub(super) value: Value,
    /// Programs get it.
    pub(super) exported: bool,
}

/// The positional parameters; `None` when they are not known.
pub(super) type Arguments = Option<Vec<Text>>;

/// A shell's memory.
#[derive(Debug, Clone)]
pub(in crate::policy::shell) struct State {
    /// Where it may be; never empty.
    pub(super) dirs: Vec<Dir>,
    /// `$OLDPWD`.
    pub(super) back: Option<Dir>,
    /// What `pushd` put aside.
    pub(super) stack: Vec<Dir>,
    /// Variables the text itself touched.
    pub(super) variables: Rc<BTreeMap<String, Variable>>,
    /// Variables whose value is not what was assigned to them (`declare -n`).
    pub(super) twisted: Rc<BTreeSet<String>>,
    /// `$1` and on.
    pub(super) arguments: Arguments,
    /// `$0`.
    pub(super) zero: Text,
    /// Functions by name.
    pub(super) functions: Rc<BTreeMap<String, Rc<Function>>>,
    /// Aliases by name.
    pub(super) aliases: Rc<BTreeMap<String, Text>>,
    /// Bodies of `trap`s that run when this shell ends.
    pub(super) traps: Vec<Text>,
    /// `set -e`.
    pub(super) stops_on_failure: bool,
    /// `set -a`.
    pub(super) exports_all: bool,
    /// Control never comes here (`exit`, `return`, `break`).
    pub(super) dead: bool,
}

impl State {
    /// A shell that begins in `dir`.
    pub(super) fn new(dir: Dir) -> Self {
        Self {
            dirs: vec![dir],
            back: None,
            stack: Vec::new(),
            variables: Rc::default(),
            twisted: Rc::default(),
            arguments: Some(Vec::new()),
            zero: Text::any(),
            functions: Rc::default(),
            aliases: Rc::default(),
            traps: Vec::new(),
            stops_on_failure: false,
            exports_all: false,
            dead: false,
        }
    }

    /// How much a copy of it may cost.
    pub(super) fn weight(&self) -> usize {
        let names = self.variables.len() + self.twisted.len();
        let maps = names + self.functions.len() + self.aliases.len();
        let texts = self.arguments.iter().flatten().chain(&self.traps);
        maps + self.stack.len() + texts.map(|text| 1 + text.size() / 16).sum::<usize>()
    }

    /// The directory; commands are walked with one at a time.
    pub(super) fn dir(&self) -> Dir {
        match self.dirs.as_slice() {
            [dir] => dir.clone(),
            _ => Dir::Unknown,
        }
    }

    /// The directory's path, when it is known.
    pub(super) fn path(&self) -> Option<&str> {
        match self.dirs.as_slice() {
            [Dir::At(path)] => Some(path),
            _ => None,
        }
    }

    /// Puts a value into a variable.
    pub(super) fn set(&mut self, name: &str, value: Value, exported: bool) {
        let variables = Rc::make_mut(&mut self.variables);
        if let Some(variable) = variables.get_mut(name) {
            variable.value = value;
            variable.exported |= exported;
        } else {
            variables.insert(name.to_owned(), Variable { value, exported });
        }
    }

    /// Forgets everything a loop of unknown length may have changed.
    pub(super) fn forget(&mut self) {
        for variable in Rc::make_mut(&mut self.variables).values_mut() {
            variable.value = Value::Unknown;
        }
        self.dirs = vec![Dir::Unknown];
        self.back = None;
        self.arguments = None;
    }

    /// What holds on whichever of two ways was taken.
    pub(super) fn join(self, other: Self) -> Self {
        match (self.dead, other.dead) {
            (true, false) => return other,
            (false, true) => return self,
            _ => {}
        }
        let mut joined = self;
        for dir in other.dirs {
            if !joined.dirs.contains(&dir) {
                joined.dirs.push(dir);
            }
        }
        if joined.dirs.len() > DIRS {
            joined.dirs = vec![Dir::Unknown];
        }
        if joined.back != other.back {
            joined.back = None;
        }
        if joined.stack != other.stack {
            joined.stack.clear();
        }
        if joined.arguments != other.arguments {
            joined.arguments = None;
        }
        if !Rc::ptr_eq(&joined.variables, &other.variables) {
            join_variables(Rc::make_mut(&mut joined.variables), &other.variables);
        }
        if !Rc::ptr_eq(&joined.twisted, &other.twisted) {
            Rc::make_mut(&mut joined.twisted).extend((*other.twisted).clone());
        }
        if !Rc::ptr_eq(&joined.functions, &other.functions) {
            let functions = Rc::make_mut(&mut joined.functions);
            for (name, function) in other.functions.iter() {
                functions.entry(name.clone()).or_insert_with(|| Rc::clone(function));
            }
        }
        if !Rc::ptr_eq(&joined.aliases, &other.aliases) {
            Rc::make_mut(&mut joined.aliases).extend((*other.aliases).clone());
        }
        for trap in other.traps {
            if !joined.traps.contains(&trap) {
                joined.traps.push(trap);
            }
        }
        joined.stops_on_failure &= other.stops_on_failure;
        joined.exports_all |= other.exports_all;
        joined
    }

    /// True when another turn of a loop would learn nothing new.
    pub(super) fn settled(&self, before: &Self) -> bool {
        self.dirs == before.dirs
            && self.variables == before.variables
            && self.arguments == before.arguments
            && self.back == before.back
            && self.functions.len() == before.functions.len()
    }
}

fn join_variables(into: &mut BTreeMap<String, Variable>, other: &BTreeMap<String, Variable>) {
    for (name, variable) in into.iter_mut() {
        match other.get(name) {
            Some(there) => {
                variable.exported |= there.exported;
                if variable.value != there.value {
                    variable.value = Value::Unknown;
                }
            }
            None => variable.value = Value::Unknown,
        }
    }
    for (name, variable) in other {
        let unknown = || Variable { value: Value::Unknown, exported: variable.exported };
        into.entry(name.clone()).or_insert_with(unknown);
    }
}
