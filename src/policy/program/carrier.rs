//! Owns launchers of development tools: `npx`, `uv run`, `poetry run` and the like run what
//! follows them.

use super::options::{Style, parse};
use super::verbs::{Verb, program};
use super::{Call, nested};
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(
        &["npx", "bunx", "uvx", "pnpx", "dotenv", "direnv", "mise", "rtx", "rustup", "winpty"],
        "runs what follows",
        plain,
    )
    .examples(
        &["npx prettier --write docs", "npx -y prettier -w notes.md", "uvx black lib/core.rs"],
        &["npx prettier --check .", "npx --help"],
    ),
    program(
        &["pnpm", "yarn", "npm", "uv", "poetry", "pipenv", "hatch", "rye", "pdm", "bundle", "pipx"],
        "with run, exec or dlx runs what follows",
        with_verb,
    )
    .examples(
        &[
            "uv run black lib/core.rs",
            "pnpm exec prettier -w docs",
            "yarn prettier --write docs",
            "npm exec -- prettier --write docs",
            "poetry run isort lib/a.py",
        ],
        &["npm run build", "uv sync", "yarn install", "poetry run pytest", "npm ci"],
    ),
];

const GRAMMAR: &[&str] = &[
    "y,yes",
    "p,package=",
    "q,quiet",
    "python=",
    "with=",
    "from=",
    "f,file=",
    "e=",
    "env-file=",
    "no-install",
    "s",
    "isolated",
    "C,dir=",
    "directory=",
    "project=",
    "no-sync",
    "frozen",
];

fn plain(call: &Call<'_>) -> Vec<Effect> {
    carried(call, &call.args)
}

fn carried(call: &Call<'_>, args: &[Arg]) -> Vec<Effect> {
    let line = parse(args, GRAMMAR, Style::Leading);
    if line.idle() {
        return Vec::new();
    }
    let mut command = line.operands;
    if let Some(first) = command.first_mut() {
        // A version may be pinned: `prettier@3`.
        let bare = first.exact().and_then(|t| t.split_once('@')).map(|(name, _)| name.to_owned());
        if let Some(name) = bare.filter(|name| !name.is_empty()) {
            *first = Arg::text(name);
        }
    }
    nested::carried(call, command, call.place.dir)
}

fn with_verb(call: &Call<'_>) -> Vec<Effect> {
    let verb = call.args.first().and_then(Arg::exact).unwrap_or_default();
    let rest = call.args.get(1..).unwrap_or_default();
    let js = matches!(call.name.as_str(), "pnpm" | "yarn" | "npm");
    match verb {
        "exec" | "dlx" | "x" | "tool" => carried(call, rest),
        "run" if !js => carried(call, rest),
        // These run a tool of the project by its bare name.
        _ if matches!(call.name.as_str(), "yarn" | "pnpm") => carried(call, &call.args),
        _ => Vec::new(),
    }
}
