//! Words into arguments: braces, tilde, parameters, substitutions, splitting, patterns.

use super::Walker;
use super::brace::{self, Symbol};
use super::field::Fields;
use super::glob::Effort;
use super::made::Made;
use super::parameter::Expanded;
use super::state::Value;
use crate::policy::shell::ast::{Flow, Part, Quote, Word};
use crate::policy::shell::text::Text;
use crate::policy::shell::{Arg, Dir, Piece};

/// Names of a directory that are looked at for one step of fuel.
const NAMES_A_STEP: usize = 8;

impl Walker<'_> {
    /// The arguments a word becomes.
    pub(super) fn args(&mut self, word: &Word) -> Vec<Arg> {
        if let Some(text) = word.as_bare()
            && !text.contains(['~', '{', '*', '?', '[', '('])
        {
            return vec![Text::known(text).into_arg()];
        }
        let mut args = Vec::new();
        let Some(words) = brace::expand(&word.parts) else {
            self.value(word);
            let mut text = Text::default();
            if let Some(Part::Bare(bare)) = word.parts.first() {
                text.push(bare.split('{').next().unwrap_or(""));
            }
            text.add(Piece::Any);
            return vec![text.into_arg()];
        };
        for symbols in words {
            self.afford(symbols.len());
            let fields = self.fields(&symbols);
            let written = Made { world: self.world, files: &self.files };
            let disk = if self.files.is_empty() { self.world } else { &written };
            // One pattern may look at much, but never uses up what the rest needs.
            let most = usize::try_from(self.fuel.left() / 2).unwrap_or(usize::MAX);
            let mut effort = Effort { seen: 0, most: most.saturating_mul(NAMES_A_STEP) };
            fields.globbed(self.state.path(), disk, &mut effort, &mut args);
            self.afford(effort.seen / NAMES_A_STEP);
        }
        args
    }

    fn fields(&mut self, symbols: &[Symbol<'_>]) -> Fields {
        let mut fields = Fields::default();
        let separators = self.separators();
        let mut rest = symbols.iter();
        let mut first = true;
        while let Some(symbol) = rest.next() {
            match symbol {
                Symbol::Bare(text) => {
                    let ends = rest.as_slice().is_empty();
                    let (tilde, behind) =
                        if first { self.tilde(text, ends) } else { (None, text.as_str()) };
                    if let Some(tilde) = tilde {
                        fields.fixed(&tilde);
                    }
                    if !behind.is_empty() {
                        fields.live(behind);
                    }
                }
                Symbol::Mark(mark) => fields.live(mark.encode_utf8(&mut [0; 4])),
                Symbol::Part(part) => self.part(part, separators.as_deref(), &mut fields),
            }
            first = false;
        }
        fields
    }

    fn part(&mut self, part: &Part, separators: Option<&str>, fields: &mut Fields) {
        let (text, quote) = match part {
            Part::Bare(text) => return fields.live(text),
            Part::Quoted(text) => return fields.fixed(&Text::known(text)),
            Part::Process(script, flow) => return fields.fixed(&self.process(script, *flow)),
            Part::Arithmetic(expression) => {
                self.value(expression);
                (Text::any(), Quote::Quoted)
            }
            Part::Command(script, quote) => (self.substitute(script), *quote),
            Part::Parameter(parameter, quote) => match self.parameter(parameter, *quote) {
                Expanded::Scalar(text) => (text, *quote),
                Expanded::Nothing => (Text::default(), *quote),
                Expanded::List(list) => {
                    if list.is_empty() {
                        fields.nobody();
                    }
                    for (index, text) in list.iter().enumerate() {
                        if index > 0 {
                            fields.end();
                        }
                        match (quote, separators) {
                            (Quote::Quoted, _) => fields.fixed(text),
                            (Quote::Bare, Some(separators)) => fields.split(text, separators),
                            (Quote::Bare, None) => fields.fixed(&Text::any()),
                        }
                    }
                    return;
                }
            },
        };
        match (quote, separators) {
            (Quote::Quoted, _) => fields.fixed(&text),
            (Quote::Bare, Some(separators)) => fields.split(&text, separators),
            (Quote::Bare, None) => fields.fixed(&Text::any()),
        }
    }

    /// `$IFS`; `None` when it is not known.
    fn separators(&self) -> Option<String> {
        match self.state.variables.get("IFS").map(|variable| &variable.value) {
            None | Some(Value::Unset) => Some(" \t\n".to_owned()),
            Some(Value::Scalar(text)) => text.exact().map(str::to_owned),
            Some(Value::List(_) | Value::Unknown) => None,
        }
    }

    /// Several texts as `"$*"` joins them: by the first character of IFS.
    pub(super) fn starred(&self, list: &[Text]) -> Text {
        let separators = self.separators();
        let first = |text: &String| text.chars().next().map(String::from).unwrap_or_default();
        glued(list, separators.as_ref().map(first).as_deref())
    }

    /// A word's text, neither split nor globbed.
    pub(super) fn value(&mut self, word: &Word) -> Text {
        let mut out = Text::default();
        for (index, part) in word.parts.iter().enumerate() {
            if let (Part::Bare(text), 0) = (part, index) {
                let (tilde, rest) = self.tilde(text, word.parts.len() == 1);
                out.append(&tilde.unwrap_or_default());
                out.push(rest);
            } else {
                out.append(&self.part_value(part));
            }
        }
        out
    }

    /// The value of an assignment, in which a tilde also lives behind every `:`.
    pub(super) fn assignment_value(&mut self, word: &Word) -> Text {
        let [Part::Bare(text)] = word.parts.as_slice() else { return self.value(word) };
        let mut out = Text::default();
        for (index, piece) in text.split(':').enumerate() {
            if index > 0 {
                out.push(":");
            }
            let (tilde, rest) = self.tilde(piece, true);
            out.append(&tilde.unwrap_or_default());
            out.push(rest);
        }
        out
    }

    fn part_value(&mut self, part: &Part) -> Text {
        match part {
            Part::Bare(text) | Part::Quoted(text) => Text::known(text),
            Part::Process(script, flow) => self.process(script, *flow),
            Part::Arithmetic(expression) => {
                self.value(expression);
                Text::any()
            }
            Part::Command(script, _) => self.substitute(script),
            Part::Parameter(parameter, quote) => match self.parameter(parameter, *quote) {
                Expanded::Scalar(text) => text,
                Expanded::Nothing => Text::default(),
                Expanded::List(list) => joined(&list),
            },
        }
    }

    /// What a command substitution prints.
    pub(super) fn substitute(&mut self, script: &crate::policy::shell::ast::Script) -> Text {
        let mut text = self.collect(|walker| walker.apart(|walker| walker.script(script)));
        text.trim_newlines();
        text
    }

    fn process(&mut self, script: &crate::policy::shell::ast::Script, flow: Flow) -> Text {
        let outer = self.input.clone();
        if flow == Flow::In {
            self.input = super::Input::Unknown;
        }
        let said = self.collect(|walker| walker.apart(|walker| walker.script(script)));
        self.input = outer;
        let content = if flow == Flow::Out { said } else { Text::any() };
        Text::known(&self.pipe(content))
    }

    /// The directory a leading tilde names, and the rest of the text. `ends`: the word ends with
    /// this text, else a name may go on in the next part.
    fn tilde<'t>(&self, text: &'t str, ends: bool) -> (Option<Text>, &'t str) {
        let (assigned, text) = match text.split_once("=~") {
            Some((name, _)) if is_name(name) => {
                let (left, right) = text.split_at(name.len() + 1);
                (Some(left), right)
            }
            _ => (None, text),
        };
        let whole = |tilde: Text| {
            let mut all = Text::known(assigned.unwrap_or(""));
            all.append(&tilde);
            Some(all)
        };
        let Some(rest) = text.strip_prefix('~') else { return (assigned.map(Text::known), text) };
        let end = rest.find('/').unwrap_or(rest.len());
        let (user, behind) = rest.split_at(end);
        if end == rest.len() && !ends && behind.is_empty() {
            return (whole(Text::any()), "");
        }
        let home = match user {
            "" => match self.variable("HOME") {
                Value::Scalar(home) => home,
                Value::List(_) | Value::Unset | Value::Unknown => Text::any(),
            },
            "+" => Self::directory_text(Some(&self.state.dir())),
            "-" => Self::directory_text(self.state.back.as_ref()),
            _ => Text::any(),
        };
        (whole(home), behind)
    }

    /// The directory programs run in, as text.
    pub(super) fn here_text(&self) -> Text {
        match self.state.dir() {
            Dir::At(path) => Text::known(&path),
            Dir::Fresh => Text::fresh(),
            Dir::Unknown => Text::any(),
        }
    }
}

/// Several texts with blanks between them.
fn joined(list: &[Text]) -> Text {
    glued(list, Some(" "))
}

/// Several texts with something between them; none = not known.
fn glued(list: &[Text], glue: Option<&str>) -> Text {
    let mut out = Text::default();
    for (index, text) in list.iter().enumerate() {
        if index > 0 {
            match glue {
                Some(glue) => out.push(glue),
                None => out.add(Piece::Any),
            }
        }
        out.append(text);
    }
    out
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
