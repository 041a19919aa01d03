//! Owns what a line of commands changes for its own later parts: aliases it sets with
//! `git config`. Everything else is asked of the site behind it.

use super::super::{Follow, Site};
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Entry, Invocation, World};

/// A site that also knows what the line has set so far.
pub(crate) struct Overlay<'a> {
    behind: &'a dyn Site,
    aliases: Vec<(String, String)>,
}

impl<'a> Overlay<'a> {
    /// Nothing set yet.
    pub(crate) fn new(behind: &'a dyn Site) -> Self {
        Self { behind, aliases: Vec::new() }
    }

    /// Takes note of `git config … alias.NAME VALUE`.
    pub(crate) fn learn(&mut self, invocation: &Invocation) {
        let texts: Vec<&str> = invocation.argv.iter().filter_map(|a| a.exact()).collect();
        let git = texts.first().is_some_and(|program| super::own_name(program) == "git");
        if !git || !texts.contains(&"config") {
            return;
        }
        let pairs = texts.windows(2).filter_map(|pair| match pair {
            [key, value] if key.starts_with("alias.") => Some((*key, *value)),
            _ => None,
        });
        self.aliases.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
}

impl World for Overlay<'_> {
    fn home(&self) -> Option<String> {
        self.behind.home()
    }

    fn var(&self, name: &str) -> Option<String> {
        self.behind.var(name)
    }

    fn entry(&self, path: &str) -> Entry {
        self.behind.entry(path)
    }

    fn target(&self, path: &str) -> Entry {
        self.behind.target(path)
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        self.behind.list(dir, limit)
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        self.behind.read(path, limit)
    }
}

impl Site for Overlay<'_> {
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath> {
        self.behind.resolve(path, follow)
    }

    fn root_of(&self, path: &AbsPath) -> Option<Root> {
        self.behind.root_of(path)
    }

    fn roots_below(&self, path: &AbsPath) -> Vec<Root> {
        self.behind.roots_below(path)
    }

    fn git_config(&self, root: &Root, key: &str) -> Option<String> {
        let own = self.aliases.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(key));
        own.map(|(_, value)| value.clone()).or_else(|| self.behind.git_config(root, key))
    }

    fn is_revision(&self, root: &Root, name: &str) -> bool {
        self.behind.is_revision(root, name)
    }

    fn head_branch(&self, root: &Root) -> Option<String> {
        self.behind.head_branch(root)
    }

    fn stages_broadly(&self, program: &str) -> bool {
        self.behind.stages_broadly(program)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::line_effects;
    use super::super::super::scene::{Scene, invocation};

    #[test]
    fn an_alias_set_on_the_way_is_known_afterwards() {
        let line = ["git config alias.z 'add -A'", "git z"].map(invocation);
        let effects = line_effects(&line, &Scene::gate());
        assert!(effects[0].is_empty() && effects[1].len() == 1);
    }
}
