//! Owns what stands before git's verb: `-C` chains, `-c`, `--git-dir`, `--work-tree` and their
//! environment twins. Options here are never abbreviated.

use super::super::paths::{Place, Target};
use super::super::{Call, Follow, Site};
use super::Index;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;
use crate::policy::shell::{Arg, Dir};

/// Options of git itself that take the next word.
const VALUED: &[&str] = &["--namespace", "--super-prefix", "--attr-source"];

/// How pathspecs are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Specs {
    /// With git's magic.
    #[default]
    Magic,
    /// As they are (`--literal-pathspecs`).
    Literal,
    /// In any case (`--icase-pathspecs`).
    AnyCase,
}

/// How the environment says that pathspecs are taken.
fn specs(named: &dyn Fn(&str) -> Option<Arg>) -> Specs {
    let on = |name: &str| named(name).is_some_and(|value| value.exact() == Some("1"));
    if on("GIT_LITERAL_PATHSPECS") {
        Specs::Literal
    } else if on("GIT_ICASE_PATHSPECS") {
        Specs::AnyCase
    } else {
        Specs::Magic
    }
}

/// Everything before the verb.
#[derive(Debug, Clone, Default)]
pub(super) struct Globals {
    /// Where the verb runs.
    pub(super) dir: Dir,
    git_dir: Option<Arg>,
    work_tree: Option<Arg>,
    index_file: Option<Arg>,
    pub(super) config: Vec<(String, String)>,
    /// How pathspecs are taken.
    pub(super) specs: Specs,
    /// The environment, for `--config-env`.
    env: Vec<(String, Arg)>,
    /// Prints something and stops (`--version`, `--help`).
    pub(super) idle: bool,
    /// Which argument is the verb.
    pub(super) verb: Option<usize>,
}

impl Globals {
    /// Reads a call's environment and options.
    pub(super) fn read(call: &Call<'_>) -> Self {
        Self::environment(call).again(call.site(), &call.args)
    }

    /// Reads a call's environment.
    pub(super) fn environment(call: &Call<'_>) -> Self {
        let named = |name: &str| {
            call.invocation
                .env
                .iter()
                .rev()
                .find(|(n, _)| n == name)
                .map(|(_, value)| value.clone())
        };
        Self {
            dir: call.invocation.dir.clone(),
            git_dir: named("GIT_DIR"),
            work_tree: named("GIT_WORK_TREE"),
            config: numbered(&named),
            index_file: named("GIT_INDEX_FILE"),
            specs: specs(&named),
            env: call.invocation.env.clone(),
            ..Self::default()
        }
    }

    /// The same, with more options read from the start of `args`.
    pub(super) fn again(&self, site: &dyn Site, args: &[Arg]) -> Self {
        let mut out = Self { verb: None, ..self.clone() };
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let text = arg.prefix();
            if !text.starts_with('-') {
                out.verb = Some(at);
                return out;
            }
            at += 1;
            let next = args.get(at);
            let known = arg.exact().unwrap_or(text);
            match known {
                "-C" | "-c" | "--git-dir" | "--work-tree" => {
                    at += 1;
                    if let Some(value) = next {
                        out.take(site, known, value.clone());
                    }
                }
                "-v" | "--version" | "-h" | "--help" | "--html-path" | "--man-path"
                | "--info-path" | "--exec-path" => out.idle = true,
                "--literal-pathspecs" => out.specs = Specs::Literal,
                "--icase-pathspecs" => out.specs = Specs::AnyCase,
                "--config-env" => {
                    at += 1;
                    out.lend(next.and_then(Arg::exact));
                }
                other if VALUED.contains(&other) => at += 1,
                other => {
                    out.lend(other.strip_prefix("--config-env="));
                    if let Some((name, _)) = other.split_once('=') {
                        let value = super::super::options::after(arg, name.len() + 1);
                        out.take(site, name, value);
                    }
                }
            }
        }
        out
    }

    /// `--config-env=KEY=VARIABLE`.
    fn lend(&mut self, pair: Option<&str>) {
        let Some((key, variable)) = pair.and_then(|pair| pair.rsplit_once('=')) else { return };
        let found = self.env.iter().rev().find(|(name, _)| name == variable);
        let value = found.and_then(|(_, value)| value.exact()).map(str::to_owned);
        self.config.extend(value.map(|value| (key.to_lowercase(), value)));
    }

    fn take(&mut self, site: &dyn Site, name: &str, value: Arg) {
        match name {
            "-C" => self.dir = moved(site, &self.dir, &value),
            "--git-dir" => self.git_dir = Some(value),
            "--work-tree" => self.work_tree = Some(value),
            "-c" => {
                let pair = value.exact().and_then(|text| text.split_once('='));
                self.config.extend(pair.map(|(k, v)| (k.to_lowercase(), v.to_owned())));
            }
            _ => {}
        }
    }

    /// The work tree the verb works on.
    pub(super) fn root(&self, place: &Place<'_>) -> Option<Root> {
        let of = |arg: &Arg| match place.target(arg, Follow::All) {
            Target::At(path) => Some(path),
            Target::Below(_) | Target::Among(_) | Target::Nowhere | Target::Unknown(_) => None,
        };
        let by_tree = self.work_tree.as_ref().and_then(of).and_then(|p| place.site.root_of(&p));
        let named = self.git_dir.as_ref().and_then(of);
        match (by_tree, named) {
            (Some(root), _) => Some(root),
            // A named repository is meant even where nothing is known of it.
            (None, Some(git_dir)) => owner(place.site, &git_dir),
            (None, None) => place.root(),
        }
    }

    /// The text of an alias, from the line itself or from configuration.
    pub(super) fn alias(
        &self,
        verb: &str,
        place: &Place<'_>,
        root: Option<&Root>,
    ) -> Option<String> {
        let key = format!("alias.{verb}");
        let own = self.config.iter().rev().find(|(k, _)| k.eq_ignore_ascii_case(&key));
        match own {
            Some((_, value)) => Some(value.clone()),
            None => place.site.git_config(root?, &key),
        }
    }

    /// Whose index the verb uses.
    pub(super) fn index(&self, root: &Root, place: &Place<'_>) -> Index {
        let Some(file) = &self.index_file else { return Index::Shared };
        match place.target(file, Follow::All) {
            Target::At(path) if path == root.git_dir.join("index") => Index::Shared,
            Target::At(_) | Target::Below(_) | Target::Among(_) | Target::Nowhere => Index::Private,
            Target::Unknown(_) => Index::Shared,
        }
    }
}

/// Most pairs of `GIT_CONFIG_COUNT` that are looked at.
const PAIRS: usize = 64;

/// Configuration in the environment: `GIT_CONFIG_KEY_0`, `GIT_CONFIG_VALUE_0` and so on.
fn numbered(named: &dyn Fn(&str) -> Option<Arg>) -> Vec<(String, String)> {
    let count = named("GIT_CONFIG_COUNT").and_then(|n| n.exact()?.parse::<usize>().ok());
    let pair = |n: usize| {
        let key = named(&format!("GIT_CONFIG_KEY_{n}"))?;
        let value = named(&format!("GIT_CONFIG_VALUE_{n}"))?;
        Some((key.exact()?.to_lowercase(), value.exact()?.to_owned()))
    };
    (0..count.unwrap_or(0).min(PAIRS)).filter_map(pair).collect()
}

/// The directory after one more `-C`.
fn moved(site: &dyn Site, dir: &Dir, value: &Arg) -> Dir {
    if value.fresh() {
        return Dir::Fresh;
    }
    match value.exact() {
        None => Dir::Unknown,
        Some("") => dir.clone(),
        Some(text) => match (Place { site, dir }).absolute(text) {
            Some(path) => Dir::At(path),
            None => dir.clone(),
        },
    }
}

/// The work tree a git directory belongs to. A linked one names its tree in `gitdir`.
fn owner(site: &dyn Site, git_dir: &AbsPath) -> Option<Root> {
    let link = site.read(&git_dir.join("gitdir").to_string(), 4096);
    let tree = link.and_then(|text| AbsPath::new(text.trim())).and_then(|p| p.parent());
    site.root_of(&tree.unwrap_or_else(|| git_dir.clone()))
}
