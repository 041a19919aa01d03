//! Owns the view of the disk with the files that the text itself has written by now: a pattern
//! matches them too.

use std::collections::BTreeMap;

use crate::policy::shell::text::Text;
use crate::policy::shell::{Entry, World, path};

/// The disk and the files written on the way, by absolute path.
pub(super) struct Made<'w> {
    /// The disk.
    pub(super) world: &'w dyn World,
    /// The files.
    pub(super) files: &'w BTreeMap<String, Option<Text>>,
}

impl Made<'_> {
    /// What was written at or below a path.
    fn below(&self, at: &str) -> impl Iterator<Item = &str> {
        let dir = path::logical(at);
        let start = if dir == "/" { dir } else { format!("{dir}/") };
        let from = self.files.range(start.clone()..).map(|(file, _)| file.as_str());
        from.take_while(move |file| file.starts_with(&start))
    }
}

impl World for Made<'_> {
    fn home(&self) -> Option<String> {
        self.world.home()
    }

    fn var(&self, name: &str) -> Option<String> {
        self.world.var(name)
    }

    fn entry(&self, at: &str) -> Entry {
        let found = self.world.entry(at);
        if found != Entry::Missing {
            found
        } else if self.files.contains_key(&path::logical(at)) {
            Entry::File
        } else if self.below(at).next().is_some() {
            Entry::Dir
        } else {
            Entry::Missing
        }
    }

    fn target(&self, at: &str) -> Entry {
        let found = self.world.target(at);
        if found == Entry::Missing { self.entry(at) } else { found }
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        let mut names = self
            .world
            .list(dir, limit)
            .or_else(|| (self.world.target(dir) == Entry::Missing).then(Vec::new))?;
        let skip = path::logical(dir).trim_end_matches('/').len() + 1;
        for file in self.below(dir) {
            let name = file.get(skip..).and_then(|rest| rest.split('/').next());
            let fresh = name.filter(|name| !names.iter().any(|have| have == name));
            names.extend(fresh.map(str::to_owned));
        }
        (names.len() <= limit).then_some(names)
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        self.world.read(path, limit)
    }
}
