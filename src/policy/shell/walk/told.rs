//! What the text has told git so far, and the files it put where git runs them: kept for the git
//! commands that follow. Remembers; judges nothing.

use super::call::Call;
use super::state::Value;
use super::{Holes, Walker};
use crate::policy::shell::path;
use crate::policy::shell::text::Text;

/// Settings that are remembered.
const SETTINGS: usize = 64;

impl Walker<'_> {
    /// Remembers a value the text gave git's configuration.
    pub(in crate::policy::shell) fn configure(&mut self, key: String, value: Text) {
        if self.settings.len() < SETTINGS {
            self.settings.push((key, value));
        }
    }

    /// What the text gave git's configuration so far.
    pub(in crate::policy::shell) fn configured(&self) -> &[(String, Text)] {
        &self.settings
    }

    /// Variables a call gets whose name `wanted` accepts: exported ones, then its own.
    pub(in crate::policy::shell) fn environment(
        &self,
        call: &Call,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(String, Text)> {
        let exported = self.state.variables.iter().filter_map(|(name, variable)| {
            let Value::Scalar(text) = &variable.value else { return None };
            (variable.exported && wanted(name)).then(|| (name.clone(), text.clone()))
        });
        let own = call.env.iter().filter(|(name, _)| wanted(name));
        exported.chain(own.map(|(name, arg)| (name.clone(), Text::of(arg)))).collect()
    }

    /// Files the text wrote into a folder, as far as they are known.
    pub(in crate::policy::shell) fn written_in(&self, folder: impl Fn(&str) -> bool) -> Vec<Text> {
        let inside = self.files.iter().filter(|(file, _)| folder(path::parent(file)));
        inside.filter_map(|(_, text)| text.clone()).collect()
    }

    /// Runs a text that git was told, as a program of its own. Holes in it are names git puts in.
    pub(in crate::policy::shell) fn run_told(&mut self, call: &Call, text: &Text) {
        self.child(call, Text::known("sh"), None, |walker| walker.run(text, Holes::Names));
    }
}
