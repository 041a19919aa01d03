//! Owns what a line of commands changes for its own later parts: aliases it sets with
//! `git config`, links it makes, files it wrote. Everything else is asked of the site behind it.

use super::super::options::{Style, parse};
use super::super::paths::{Place, base_name, join};
use super::super::{Call, Follow, Site};
use super::Globals;
use crate::policy::facts::{Root, RootKind};
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Arg, Dir, Entry, HOLE, Invocation, World};

/// Links made by one line that are remembered.
const LINKS: usize = 64;
/// Links that lead to links.
const HOPS: usize = 8;

/// A site that also knows what the line has set so far.
pub(crate) struct Overlay<'a> {
    behind: &'a dyn Site,
    aliases: Vec<(String, String)>,
    /// A link and what it leads to, both absolute.
    links: Vec<(String, String)>,
    /// Repositories made on the way.
    made: Vec<Root>,
    /// Files the text wrote that the invocation at hand names.
    wrote: Vec<(String, Option<String>)>,
}

impl<'a> Overlay<'a> {
    /// Nothing set yet.
    pub(crate) fn new(behind: &'a dyn Site) -> Self {
        Self { behind, aliases: Vec::new(), links: Vec::new(), made: Vec::new(), wrote: Vec::new() }
    }

    /// Turns to the next invocation: what it names of the files the text wrote is known.
    pub(crate) fn arrive(&mut self, invocation: &Invocation) {
        self.wrote.clone_from(&invocation.wrote);
    }

    /// Takes note of what an invocation leaves behind for the next ones.
    pub(crate) fn learn(&mut self, invocation: &Invocation) {
        let texts: Vec<&str> = invocation.argv.iter().filter_map(|a| a.exact()).collect();
        match texts.split_first().map(|(program, rest)| (base_name(program), rest)) {
            Some(("git", rest)) if rest.contains(&"config") => self.alias(rest),
            Some(("git", rest)) if rest.contains(&"init") || rest.contains(&"clone") => {
                self.repository(invocation);
            }
            Some(("ln", rest)) => self.link(rest, &invocation.dir),
            Some(_) | None => {}
        }
    }

    /// `git config … alias.NAME VALUE`.
    fn alias(&mut self, texts: &[&str]) {
        let pairs = texts.windows(2).filter_map(|pair| match pair {
            [key, value] if key.starts_with("alias.") => Some((*key, *value)),
            _ => None,
        });
        self.aliases.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    /// `git init [DIR]`, `git clone URL [DIR]`: from here on a repository of its own.
    fn repository(&mut self, invocation: &Invocation) {
        let Some(call) = Call::new(invocation, self.behind) else { return };
        let globals = Globals::read(&call);
        let Some((verb, args)) = globals.verb.and_then(|at| call.args.get(at..)?.split_first())
        else {
            return;
        };
        let grammar: &[&str] =
            &["b,initial-branch,branch=", "template=", "o,origin=", "depth=", "j="];
        let line = parse(args, grammar, Style::Git);
        let operand = |at: usize| line.operands.get(at).and_then(Arg::exact);
        let folder = match verb.exact() {
            Some("init") => operand(0).unwrap_or("."),
            Some("clone") => match (operand(0), operand(1)) {
                (_, Some(folder)) => folder,
                (Some(url), None) => base_name(url).trim_end_matches(".git"),
                (None, None) => return,
            },
            Some(_) | None => return,
        };
        let place = Place { site: self.behind, dir: &globals.dir };
        let path = place.absolute(folder).and_then(|p| self.behind.resolve(&p, Follow::All));
        // What is a repository already only becomes so once more.
        let old = |path: &AbsPath| self.behind.root_of(path).is_some_and(|root| root.path == *path);
        if let Some(path) = path.filter(|path| !old(path)) {
            let git_dir = path.join(".git");
            self.made.push(Root { path, kind: RootKind::Main, common: git_dir.clone(), git_dir });
        }
    }

    /// `ln [-s] SOURCE [DEST]`: what is written through the new name lands on the source.
    fn link(&mut self, texts: &[&str], dir: &Dir) {
        let Dir::At(dir) = dir else { return };
        let long = |name: &str| texts.contains(&name);
        let short =
            texts.iter().filter_map(|t| t.strip_prefix('-')).filter(|t| !t.starts_with('-'));
        let flags: String = short.collect();
        let mut operands = texts.iter().filter(|t| !t.starts_with('-'));
        let (Some(source), dest) = (operands.next(), operands.next().unwrap_or(&".")) else {
            return;
        };
        let mut name = absolute(dir, dest);
        if self.target(&name) == Entry::Dir {
            name = join(&name, base_name(source));
        }
        let soft = flags.contains('s') || long("--symbolic");
        let soft = soft && !flags.contains('r') && !long("--relative");
        let forced = flags.contains('f') || long("--force");
        let from = if soft { name.rsplit_once('/').map_or("/", |(dir, _)| dir) } else { dir };
        let source = absolute(from, source);
        let free = forced || self.behind.entry(&name) == Entry::Missing;
        if free && self.links.len() < LINKS {
            self.links.push((name, source));
        }
    }

    /// A path with the line's own links followed.
    fn followed(&self, path: &str, follow: Follow) -> Option<String> {
        if self.links.is_empty() {
            return None;
        }
        let mut at = absolute("/", path);
        let mut moved = false;
        for _ in 0..HOPS {
            let step = self.links.iter().rev().find_map(|(name, source)| {
                let rest = at.strip_prefix(name.as_str())?;
                let whole = rest.is_empty() && follow == Follow::All;
                (whole || rest.starts_with('/')).then(|| format!("{source}{rest}"))
            });
            let Some(step) = step else { break };
            at = step;
            moved = true;
        }
        moved.then_some(at)
    }
}

/// A path made absolute, `.` and `..` taken out by name.
fn absolute(dir: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { join(dir, path) };
    AbsPath::new(&whole).map_or(whole, |path| path.to_string())
}

impl World for Overlay<'_> {
    fn home(&self) -> Option<String> {
        self.behind.home()
    }

    fn var(&self, name: &str) -> Option<String> {
        self.behind.var(name)
    }

    fn entry(&self, path: &str) -> Entry {
        match self.followed(path, Follow::Parents) {
            Some(path) => self.behind.entry(&path),
            None if self.followed(path, Follow::All).is_some() => Entry::Link,
            None => self.behind.entry(path),
        }
    }

    fn target(&self, path: &str) -> Entry {
        match self.followed(path, Follow::All) {
            Some(path) => self.behind.target(&path),
            None => self.behind.target(path),
        }
    }

    fn list(&self, dir: &str, limit: usize) -> Option<Vec<String>> {
        match self.followed(dir, Follow::All) {
            Some(dir) => self.behind.list(&dir, limit),
            None => self.behind.list(dir, limit),
        }
    }

    fn read(&self, path: &str, limit: usize) -> Option<String> {
        let own = absolute("/", path);
        match self.wrote.iter().find(|(name, _)| *name == own) {
            // Half of a text is no text.
            Some((_, text)) => text.clone().filter(|text| !text.contains(HOLE)),
            None => self.behind.read(path, limit),
        }
    }
}

impl Site for Overlay<'_> {
    fn resolve(&self, path: &str, follow: Follow) -> Option<AbsPath> {
        match self.followed(path, follow) {
            Some(path) => self.behind.resolve(&path, follow),
            None => self.behind.resolve(path, follow),
        }
    }

    fn root_of(&self, path: &AbsPath) -> Option<Root> {
        let behind = self.behind.root_of(path);
        let made = self.made.iter().filter(|root| path.within(&root.path));
        let deepest = |root: &&Root| root.path.as_path().components().count();
        // The nearest one around a path is its own.
        made.cloned().chain(behind).max_by_key(|root| deepest(&root))
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
    use super::super::super::scene::{Scene, invocation, reaches};

    #[test]
    fn an_alias_set_on_the_way_is_known_afterwards() {
        let line = ["git config alias.z 'add -A'", "git z"].map(invocation);
        let effects = line_effects(&line, &Scene::gate());
        assert!(effects[0].is_empty() && effects[1].len() == 1);
    }

    #[test]
    fn a_repository_made_on_the_way_is_its_own() {
        for line in [
            ["git init build", "git -C build reset --hard"],
            ["git -C build init -q", "git -C build pull"],
            ["git clone -q ../up.git build/up", "git -C build/up checkout -f other"],
            ["git clone https://h/x/kit.git", "git -C kit merge x"],
        ] {
            let effects = line_effects(&line.map(invocation), &Scene::gate());
            assert!(!reaches(&effects[1], "lib/core.rs"), "{line:?}: {effects:?}");
        }
        let again = ["git init", "git reset --hard"].map(invocation);
        assert!(reaches(&line_effects(&again, &Scene::gate())[1], "lib/core.rs"));
    }

    #[test]
    fn a_link_made_on_the_way_is_followed_afterwards() {
        for line in [
            ["ln -s lib l2", "rm l2/core.rs"],
            ["ln -s ../lib/core.rs docs/c", "tee docs/c"],
            ["ln lib/core.rs hard", "tee hard"],
            ["ln -s /home/u/proj/app/lib /tmp/l", "cp ../x /tmp/l/core.rs"],
        ] {
            let effects = line_effects(&line.map(invocation), &Scene::gate());
            assert!(reaches(&effects[1], "lib/core.rs"), "{line:?}: {effects:?}");
        }
        let gone = ["ln -s lib l2", "rm l2"].map(invocation);
        assert!(!reaches(&line_effects(&gone, &Scene::gate())[1], "lib/core.rs"));
    }
}
