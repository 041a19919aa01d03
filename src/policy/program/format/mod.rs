//! Owns formatters and fixers: a named file is written; a directory or the whole project means
//! the files of the tool's languages, so that other work beside it is left in peace.

mod tools;

use tools::{Bare, TOOLS, Tool, When};

use super::paths::Target;
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::{Effect, Scope};
use crate::policy::scope::{Case, Spec, Stars};
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(
        &[
            "prettier",
            "eslint",
            "xo",
            "standard",
            "oxlint",
            "stylelint",
            "markdownlint",
            "markdownlint-cli2",
            "biome",
            "dprint",
            "black",
            "pyupgrade",
            "docformatter",
            "isort",
            "autopep8",
            "yapf",
            "autoflake",
            "gofmt",
            "goimports",
            "gofumpt",
            "golangci-lint",
            "rustfmt",
            "cargo-fmt",
            "clang-format",
            "shfmt",
            "stylua",
            "terraform",
            "tofu",
            "taplo",
            "buf",
            "mix",
            "dart",
            "zig",
            "rubocop",
            "standardrb",
            "ktlint",
            "google-java-format",
            "swiftformat",
            "php-cs-fixer",
            "nixpkgs-fmt",
            "alejandra",
            "nixfmt",
            "sqlfluff",
            "djlint",
        ],
        "rewrites files of its language, when told to",
        |call| format(call, &call.name, &call.args),
    )
    .examples(
        &[
            "rustfmt lib/core.rs",
            "prettier --write docs",
            "eslint --fix .",
            "black lib",
            "clang-format -i lib/core.c",
            "rubocop -a",
        ],
        &[
            "rustfmt --check lib/core.rs",
            "prettier --check .",
            "eslint .",
            "black --check lib",
            "gofmt -l .",
            "prettier --help",
        ],
    ),
    program(&["cargo", "go", "ruff"], "with fmt or fix rewrites files of its language", joined)
        .examples(
            &[
                "cargo fmt",
                "cargo +nightly fmt --all",
                "ruff format lib",
                "ruff check --fix",
                "go fmt ./...",
            ],
            &[
                "cargo fmt --check",
                "cargo fmt -- --check",
                "cargo build",
                "ruff check .",
                "go test ./...",
            ],
        ),
    program(
        &["pre-commit", "lint-staged"],
        "stashes unstaged changes of everybody while it runs",
        stashes,
    )
    .examples(
        &["pre-commit run", "lint-staged"],
        &["pre-commit install", "pre-commit run --files docs/a.md", "pre-commit --version"],
    ),
];

/// Tools whose verb is a tool of its own.
fn joined(call: &Call<'_>) -> Vec<Effect> {
    let option = |arg: &&Arg| arg.prefix().starts_with(['-', '+']);
    let at = call.args.iter().position(|arg| !option(&arg)).unwrap_or(call.args.len());
    let Some(verb) = call.args.get(at).and_then(Arg::exact) else { return Vec::new() };
    let rest = call.args.get(at + 1..).unwrap_or_default();
    let verb = match (call.name.as_str(), verb) {
        ("cargo", "clippy") if rest.iter().any(|a| a.exact() == Some("--fix")) => "fix",
        (_, verb) => verb,
    };
    format(call, &format!("{}-{verb}", call.name), rest)
}

fn format(call: &Call<'_>, name: &str, args: &[Arg]) -> Vec<Effect> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.names.contains(&name)) else {
        return Vec::new();
    };
    let texts: Vec<&str> = args.iter().filter_map(Arg::exact).collect();
    let says = |words: &[&str]| words.iter().any(|word| texts.contains(word));
    let verb = texts.iter().find(|text| !text.starts_with('-'));
    let writes = match tool.when {
        When::Unless(words) => !says(words),
        When::With(words) => says(words),
        When::Verb(verbs, words) => verb.is_some_and(|v| verbs.contains(v)) && !says(words),
    };
    if !writes || says(&["--help", "-h", "--version", "help"]) {
        return Vec::new();
    }
    let mut operands = operands(tool, args);
    let sub = matches!(tool.when, When::Verb(..)) || name == "biome" || name == "buf";
    if sub && !operands.is_empty() {
        operands.remove(0);
    }
    if !operands.is_empty() {
        return operands.iter().flat_map(|arg| named(call, tool, arg)).collect();
    }
    match tool.bare {
        Bare::Nothing => Vec::new(),
        Bare::Here => named(call, tool, &Arg::text(".")),
        Bare::Project => {
            let top = call.place.root().map(|root| Arg::text(root.path.to_string()));
            top.map_or_else(Vec::new, |top| named(call, tool, &top))
        }
    }
}

/// What is no option and no option's value.
fn operands(tool: &Tool, args: &[Arg]) -> Vec<Arg> {
    let mut out = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.prefix();
        if tool.valued.contains(&text) && arg.exact().is_some() {
            rest.next();
        } else if !text.starts_with('-') {
            out.push(arg.clone());
        }
    }
    out
}

/// A file is written; a directory's files may be.
fn named(call: &Call<'_>, tool: &Tool, arg: &Arg) -> Vec<Effect> {
    let words = call.words();
    let folder = arg.exact().and_then(|text| text.strip_suffix("/..."));
    let arg = folder.map_or_else(|| arg.clone(), Arg::text);
    let text = arg.exact().unwrap_or_default();
    let directory = folder.is_some() || call.place.kind(&arg) == Entry::Dir;
    let pattern = text.contains(['*', '?', '{', '[']);
    if !directory && !pattern {
        return call.place.write(&arg, Follow::All, &words);
    }
    let base = if pattern { before_pattern(text) } else { text };
    let Target::At(base) = call.place.literal(base, Follow::All) else {
        return call.place.write(&arg, Follow::All, &words);
    };
    let Some(root) = call.site().root_of(&base) else { return Vec::new() };
    let spec = |glob: &&str| Spec {
        base: base.clone(),
        glob: Some((*glob).to_owned()),
        case: Case::Exact,
        stars: Stars::CrossSlash,
    };
    let take = tool.files.iter().map(spec).collect();
    let scope = Scope::Matched { take, leave: Vec::new() };
    vec![Effect::Pathspec { root: root.path, scope, words }]
}

/// The directory before the first special character.
fn before_pattern(text: &str) -> &str {
    let special = text.find(['*', '?', '{', '[']).unwrap_or(text.len());
    let head = text.get(..special).unwrap_or_default();
    head.rfind('/').and_then(|at| head.get(..=at)).unwrap_or(".")
}

fn stashes(call: &Call<'_>) -> Vec<Effect> {
    let first = call.texts().next();
    let everything = call.says(&["-a", "--all-files", "--files", "--version", "--help"]);
    let runs = call.name == "lint-staged" || first == Some("run");
    let root = call.place.root().filter(|_| runs && !everything);
    root.map(|root| Effect::Tree { root: root.path, words: call.words() }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn a_whole_project_means_the_files_of_the_language() {
        let scene = Scene::gate();
        let hit = |line: &str, path: &str| reaches(&scene.run(line), path);
        assert!(hit("cargo fmt", "lib/core.rs") && !hit("cargo fmt", "docs/a.md"));
        assert!(hit("prettier --write .", "docs/a.md"));
        assert!(!hit("prettier --write .", "lib/core.rs"));
        assert!(!hit("prettier --write docs", "notes.md"));
        assert!(hit("prettier --write 'docs/**/*.md'", "docs/a.md"));
        assert!(!hit("prettier --write 'docs/**/*.md'", "notes.md"));
        assert!(!hit("rustfmt lib/util.rs", "lib/core.rs"));
        assert!(hit("go fmt ./...", "lib/x.go") && !hit("go fmt ./...", "lib/core.rs"));
    }
}
