//! Owns pathspecs: from words to a [`Scope`], with git's magic. Must never make a scope smaller
//! than what git would take.

use super::super::Follow;
use super::super::options::Parsed;
use super::super::paths::{Target, literal_dir, literal_part};
use super::{GitCall, Specs};
use crate::policy::facts::Scope;
use crate::policy::lane::AbsPath;
use crate::policy::scope::{Case, Spec, Stars};
use crate::policy::shell::{Arg, Dir, Stdin};

/// Longest list of pathspecs that is read.
const LIST: usize = 1 << 18;
/// Names of a root that are compared with what bash made of `*`.
const NAMES: usize = 512;
/// Below this many names a list that equals the whole root is taken for typed by hand.
const BY_HAND: usize = 3;

/// A pathspec with its magic taken off.
struct Magic<'a> {
    text: &'a str,
    top: bool,
    exclude: bool,
    literal: bool,
    case: Case,
    stars: Stars,
}

/// What one pathspec stands for.
enum One {
    Take(Spec),
    Leave(Spec),
    Nothing,
}

impl GitCall<'_> {
    /// The scope of pathspecs; `none` is what the verb takes when there are none.
    pub(super) fn scope(&self, specs: &[Arg], none: Scope) -> Scope {
        if specs.is_empty() {
            return none;
        }
        let (mut take, mut leave) = (Vec::new(), Vec::new());
        for spec in specs {
            match self.one(spec) {
                One::Take(spec) => take.push(spec),
                One::Leave(spec) => leave.push(spec),
                One::Nothing => {}
            }
        }
        if take.is_empty() && !leave.is_empty() {
            take.push(Spec::plain(self.root.path.clone()));
        }
        if leave.is_empty() && (take.iter().any(|t| self.is_all(t)) || self.is_star(&take)) {
            return Scope::All;
        }
        if take.iter().chain(&leave).all(|spec| spec.glob.is_none() && spec.case == Case::Exact) {
            let bases = |specs: Vec<Spec>| specs.into_iter().map(|s| s.base).collect();
            return Scope::Paths { take: bases(take), leave: bases(leave) };
        }
        Scope::Matched { take, leave }
    }

    /// The scope of what a line names: operands, or the list of `--pathspec-from-file`.
    pub(super) fn named(&self, line: &Parsed, specs: &[Arg], none: Scope) -> Scope {
        let Some(file) = line.value("pathspec-from-file") else { return self.scope(specs, none) };
        let Some(text) = self.list(file) else { return Scope::All };
        let split = if line.has("pathspec-file-nul") { '\0' } else { '\n' };
        let words = text.split(split).map(|l| l.trim_end_matches('\r')).filter(|l| !l.is_empty());
        let specs: Vec<Arg> = words.map(|l| Arg::text(l.trim_matches('"'))).collect();
        self.scope(&specs, Scope::Paths { take: Vec::new(), leave: Vec::new() })
    }

    /// The text of a list file; `-` is standard input.
    pub(super) fn list(&self, file: &Arg) -> Option<String> {
        if file.exact() == Some("-") { self.stdin() } else { self.place.read(file, LIST) }
    }

    /// What stands on standard input, when the line says so.
    pub(super) fn stdin(&self) -> Option<String> {
        match &self.call.invocation.stdin {
            Stdin::Text(text) => Some(text.clone()),
            Stdin::File(file) => self.call.place.read(file, LIST),
            Stdin::Inherited | Stdin::Unknown => None,
        }
    }

    fn one(&self, arg: &Arg) -> One {
        let everything = Spec::plain(self.root.path.clone());
        let Some(text) = arg.exact() else {
            // bash matched too much to name: each word is below the pattern's known part.
            if let Some(spec) = arg.glob.as_deref().and_then(|p| self.spec(&magic(p))) {
                return One::Take(Spec { stars: Stars::WithinName, ..spec });
            }
            if arg.fresh() {
                return One::Nothing;
            }
            let known = format!("{}*", arg.prefix());
            let spec = (known != "*").then(|| self.spec(&magic(&known))).flatten();
            return One::Take(spec.unwrap_or(everything));
        };
        let mut magic = match self.specs {
            Specs::Literal => plain(text),
            Specs::Magic | Specs::AnyCase => magic(text),
        };
        if self.specs == Specs::AnyCase {
            magic.case = Case::Folded;
        }
        let Some(mut spec) = self.spec(&magic) else { return One::Take(everything) };
        spec.case = magic.case;
        spec.stars = magic.stars;
        if magic.exclude { One::Leave(spec) } else { One::Take(spec) }
    }

    fn spec(&self, magic: &Magic<'_>) -> Option<Spec> {
        let top = Dir::At(self.root.path.to_string());
        let dir = if magic.top { &top } else { self.place.dir };
        let place = super::Place { site: self.place.site, dir };
        let at = |text: &str| match place.literal(text, Follow::Parents) {
            Target::At(path) => Some(path),
            Target::Below(_) | Target::Among(_) | Target::Nowhere | Target::Unknown(_) => None,
        };
        if magic.literal || !magic.text.contains(['*', '?', '[', '\\']) {
            return at(if magic.text.is_empty() { "." } else { magic.text }).map(Spec::plain);
        }
        let known = literal_part(magic.text);
        let base = at(literal_dir(magic.text))?;
        let glob = magic.text.get(known.len()..)?.to_owned();
        Some(Spec { glob: Some(glob), ..Spec::plain(base) })
    }

    fn is_all(&self, spec: &Spec) -> bool {
        let stars = |glob: &str| glob.chars().all(|c| matches!(c, '*' | '/'));
        let deep = |glob: &str| spec.stars == Stars::CrossSlash || glob.contains("**");
        let whole = spec.glob.as_deref().is_none_or(|glob| stars(glob) && deep(glob));
        whole && self.root.path.within(&spec.base)
    }

    /// Whether the words are what bash makes of `*` in the root: nobody types that by hand.
    fn is_star(&self, take: &[Spec]) -> bool {
        let site = self.place.site;
        let Some(mut names) = site.list(&self.root.path.to_string(), NAMES) else { return false };
        names.retain(|name| !name.starts_with('.'));
        let taken = |path: AbsPath| take.iter().any(|t| t.glob.is_none() && t.base == path);
        names.len() >= BY_HAND
            && take.len() >= names.len()
            && names.iter().all(|name| taken(self.root.path.join(name)))
    }
}

fn plain(text: &str) -> Magic<'_> {
    Magic {
        text,
        top: false,
        exclude: false,
        literal: true,
        case: Case::Exact,
        stars: Stars::CrossSlash,
    }
}

fn magic(text: &str) -> Magic<'_> {
    let mut out = Magic { literal: false, ..plain(text) };
    let Some(rest) = text.strip_prefix(':') else { return out };
    if let Some((words, path)) = rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
        out.text = path;
        for word in words.split(',') {
            match word.trim() {
                "top" => out.top = true,
                "exclude" => out.exclude = true,
                "literal" => out.literal = true,
                "icase" => out.case = Case::Folded,
                "glob" => out.stars = Stars::WithinName,
                _ => {}
            }
        }
        return out;
    }
    let path = rest.trim_start_matches(['/', '!', '^']);
    let signs = rest.get(..rest.len() - path.len()).unwrap_or_default();
    out.top = signs.contains('/') || rest.is_empty();
    out.exclude = signs.contains(['!', '^']);
    out.text = path.strip_prefix(':').unwrap_or(path);
    out
}

#[cfg(test)]
mod tests {
    use crate::policy::facts::{Effect, Scope};
    use crate::policy::program::scene::{ROOT, Scene, at, reaches};

    fn staged(dir: &str, line: &str) -> Scope {
        let Some(Effect::Stage { scope, .. }) = Scene::gate().run_in(dir, line).pop() else {
            panic!("{line} stages")
        };
        scope
    }

    #[test]
    fn every_spelling_of_the_whole_tree_is_the_whole_tree() {
        for spec in [
            ".",
            "./",
            ":/",
            "':(top)'",
            "-- .",
            "'*'",
            ":",
            ROOT,
            "lib/..",
            "build docs lib notes.md",
            "-A",
            "'**'",
            "':(glob)**'",
        ] {
            assert_eq!(staged(ROOT, &format!("git add {spec}")), Scope::All, "{spec}");
        }
        assert_eq!(staged(&format!("{ROOT}/lib"), "git add .."), Scope::All);
        assert_eq!(staged(&format!("{ROOT}/lib"), "git add -A"), Scope::All);
        let lib = Scope::Paths { take: vec![at("lib")], leave: Vec::new() };
        assert_eq!(staged(&format!("{ROOT}/lib"), "git add ."), lib);
    }

    #[test]
    fn magic_and_patterns_keep_their_reach() {
        let scene = Scene::gate();
        let hits = |line: &str| reaches(&scene.run(line), "lib/core.rs");
        assert!(hits("git add 'lib/*.rs'"));
        assert!(hits("git add ':(icase)LIB/CORE.RS'"));
        assert!(!hits("git add 'docs/*'"));
        assert!(!hits("git add . ':!lib'"));
        assert!(!hits("git add ':(exclude)lib/core.rs'"));
        assert!(hits("git add ':!docs'"));
        assert!(!hits("git checkout -- 'x*.rs'"));
        assert!(!hits("git --literal-pathspecs add '*'"));
        assert!(hits("git --icase-pathspecs add LIB/CORE.RS"));
        assert!(hits("GIT_ICASE_PATHSPECS=1 git add LIB/CORE.RS"));
        assert!(hits("Q='add -A' git --config-env=alias.q=Q q"));
        assert!(hits("git add lib/$X") && !hits("git add docs/$X"));
        assert!(hits("git add $X"));
    }

    #[test]
    fn lists_are_read_where_they_can_be() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("git add --pathspec-from-file=../list"), "lib/core.rs"));
        let fed = scene.feed("git add --pathspec-from-file=-", "docs/a.md\n");
        assert!(!reaches(&fed, "lib/core.rs") && reaches(&fed, "docs/a.md"));
        assert!(reaches(&scene.run("git add --pathspec-from-file=-"), "lib/core.rs"));
    }
}
