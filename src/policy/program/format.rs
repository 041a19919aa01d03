//! Owns formatters and fixers: a named file is written; a directory or the whole project means
//! the files of the tool's languages, so that other work beside it is left in peace.

use super::paths::Target;
use super::verbs::{Verb, program};
use super::{Call, Follow};
use crate::policy::facts::{Effect, Scope};
use crate::policy::scope::{Case, Spec, Stars};
use crate::policy::shell::{Arg, Entry};

/// When a tool writes.
#[derive(Debug, Clone, Copy)]
enum When {
    /// Always, unless one of these stands there.
    Unless(&'static [&'static str]),
    /// Only with one of these.
    With(&'static [&'static str]),
    /// Only with this verb, unless one of these stands there.
    Verb(&'static [&'static str], &'static [&'static str]),
}

/// What a tool takes when nothing is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bare {
    /// The directory it runs in.
    Here,
    /// The whole work tree.
    Project,
    /// Nothing.
    Nothing,
}

/// One tool.
struct Tool {
    names: &'static [&'static str],
    when: When,
    bare: Bare,
    /// Options whose value is no file.
    valued: &'static [&'static str],
    /// What its files are called.
    files: &'static [&'static str],
}

const fn tool(
    names: &'static [&'static str],
    when: When,
    bare: Bare,
    valued: &'static [&'static str],
    files: &'static [&'static str],
) -> Tool {
    Tool { names, when, bare, valued, files }
}

const WEB: &[&str] = &[
    "*.js",
    "*.jsx",
    "*.mjs",
    "*.cjs",
    "*.ts",
    "*.tsx",
    "*.mts",
    "*.cts",
    "*.vue",
    "*.svelte",
    "*.json",
    "*.json5",
    "*.jsonc",
    "*.css",
    "*.scss",
    "*.less",
    "*.html",
    "*.hbs",
    "*.md",
    "*.mdx",
    "*.yaml",
    "*.yml",
    "*.graphql",
    "*.gql",
    "*.astro",
];
const SCRIPT: &[&str] =
    &["*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts", "*.vue", "*.svelte"];
const STYLE: &[&str] = &["*.css", "*.scss", "*.less", "*.sass", "*.vue", "*.html"];
const PYTHON: &[&str] = &["*.py", "*.pyi", "*.ipynb"];
const RUST: &[&str] = &["*.rs"];
const GO: &[&str] = &["*.go"];
const C: &[&str] = &[
    "*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.m", "*.mm", "*.java",
    "*.proto", "*.cs",
];
const SHELL: &[&str] = &["*.sh", "*.bash", "*.ksh", "*.bats"];
const RUBY: &[&str] = &["*.rb", "*.rake", "Gemfile", "Rakefile", "*.gemspec"];

const TOOLS: &[Tool] = &[
    tool(
        &["prettier"],
        When::With(&["--write", "-w"]),
        Bare::Nothing,
        &["--config", "--parser"],
        WEB,
    ),
    tool(
        &["eslint", "xo", "standard", "oxlint"],
        When::With(&["--fix"]),
        Bare::Here,
        &["-c", "--config", "--ext", "--rule", "-f", "--format", "--max-warnings"],
        SCRIPT,
    ),
    tool(&["stylelint"], When::With(&["--fix"]), Bare::Nothing, &["--config"], STYLE),
    tool(
        &["markdownlint", "markdownlint-cli2"],
        When::With(&["--fix", "-f"]),
        Bare::Nothing,
        &["-c", "--config"],
        &["*.md"],
    ),
    tool(
        &["biome"],
        When::With(&["--write", "--fix", "--apply", "--apply-unsafe"]),
        Bare::Here,
        &[],
        WEB,
    ),
    tool(&["dprint"], When::Verb(&["fmt"], &[]), Bare::Project, &[], WEB),
    tool(&["deno-fmt"], When::Unless(&["--check"]), Bare::Here, &[], WEB),
    tool(
        &["black", "pyupgrade", "docformatter"],
        When::Unless(&["--check", "--diff", "-c", "--code"]),
        Bare::Nothing,
        &["-l", "--line-length", "-t", "--target-version", "--config"],
        PYTHON,
    ),
    tool(
        &["isort"],
        When::Unless(&["-c", "--check", "--check-only", "-d", "--diff", "--stdout"]),
        Bare::Nothing,
        &["--profile", "-l", "--settings-path", "--sp"],
        PYTHON,
    ),
    tool(&["ruff-format"], When::Unless(&["--check", "--diff"]), Bare::Here, &["--config"], PYTHON),
    tool(
        &["ruff-check"],
        When::With(&["--fix", "--unsafe-fixes", "--fix-only", "--add-noqa"]),
        Bare::Here,
        &["--select", "--ignore", "--config", "--extend-select"],
        PYTHON,
    ),
    tool(
        &["autopep8", "yapf", "autoflake"],
        When::With(&["-i", "--in-place", "-ir", "-ri", "--inplace"]),
        Bare::Nothing,
        &[],
        PYTHON,
    ),
    tool(
        &["gofmt", "goimports", "gofumpt"],
        When::With(&["-w"]),
        Bare::Nothing,
        &["-r", "-local"],
        GO,
    ),
    tool(&["golangci-lint"], When::With(&["--fix"]), Bare::Here, &["-c"], GO),
    tool(&["go-fmt"], When::Unless(&["-n"]), Bare::Here, &[], GO),
    tool(
        &["rustfmt"],
        When::Unless(&["--check", "--emit=stdout"]),
        Bare::Nothing,
        &["--edition", "--config", "--emit", "--config-path"],
        RUST,
    ),
    tool(
        &["cargo-fmt"],
        When::Unless(&["--check"]),
        Bare::Project,
        &["-p", "--package", "--manifest-path"],
        RUST,
    ),
    tool(
        &["cargo-fix"],
        When::With(&["--allow-dirty", "--allow-no-vcs", "--broken-code"]),
        Bare::Project,
        &[],
        RUST,
    ),
    tool(&["clang-format"], When::With(&["-i"]), Bare::Nothing, &[], C),
    tool(&["shfmt"], When::With(&["-w", "--write"]), Bare::Nothing, &["-i", "-ln"], SHELL),
    tool(&["stylua"], When::Unless(&["--check"]), Bare::Nothing, &[], &["*.lua", "*.luau"]),
    tool(
        &["terraform", "tofu"],
        When::Verb(&["fmt"], &["-check", "-write=false"]),
        Bare::Here,
        &[],
        &["*.tf", "*.tfvars", "*.tftest.hcl"],
    ),
    tool(
        &["taplo"],
        When::Verb(&["fmt", "format"], &["--check", "-"]),
        Bare::Here,
        &[],
        &["*.toml"],
    ),
    tool(&["buf"], When::With(&["-w", "--write"]), Bare::Here, &[], &["*.proto"]),
    tool(
        &["mix"],
        When::Verb(&["format"], &["--check-formatted"]),
        Bare::Here,
        &[],
        &["*.ex", "*.exs"],
    ),
    tool(
        &["dart"],
        When::Verb(&["format", "fix"], &["-o", "--output=none", "--dry-run"]),
        Bare::Nothing,
        &[],
        &["*.dart"],
    ),
    tool(&["zig"], When::Verb(&["fmt"], &["--check"]), Bare::Nothing, &[], &["*.zig"]),
    tool(
        &["rubocop", "standardrb"],
        When::With(&[
            "-a",
            "-A",
            "--autocorrect",
            "--autocorrect-all",
            "--auto-correct",
            "--fix",
            "-x",
        ]),
        Bare::Here,
        &[],
        RUBY,
    ),
    tool(
        &["ktlint", "google-java-format"],
        When::With(&["-F", "--format", "-i", "-r", "--replace"]),
        Bare::Here,
        &[],
        &["*.kt", "*.kts", "*.java"],
    ),
    tool(&["swiftformat"], When::Unless(&["--lint", "--dryrun"]), Bare::Nothing, &[], &["*.swift"]),
    tool(&["php-cs-fixer"], When::Verb(&["fix"], &["--dry-run"]), Bare::Here, &[], &["*.php"]),
    tool(
        &["nixpkgs-fmt", "alejandra", "nixfmt"],
        When::Unless(&["--check", "-c"]),
        Bare::Nothing,
        &[],
        &["*.nix"],
    ),
    tool(
        &["sqlfluff"],
        When::Verb(&["fix", "format"], &[]),
        Bare::Nothing,
        &["--dialect"],
        &["*.sql"],
    ),
    tool(&["djlint"], When::With(&["--reformat"]), Bare::Nothing, &[], &["*.html", "*.jinja"]),
];

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
    .examples(&["pre-commit run", "lint-staged"], &["pre-commit install", "pre-commit --version"]),
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
        return call.place.write(&arg, Follow::All, &words).into_iter().collect();
    }
    let base = if pattern { before_pattern(text) } else { text };
    let Target::At(base) = call.place.literal(base, Follow::All) else {
        return call.place.write(&arg, Follow::All, &words).into_iter().collect();
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
    let everything = call.says(&["-a", "--all-files", "--version", "--help"]);
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
