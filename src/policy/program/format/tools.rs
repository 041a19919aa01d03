//! Owns the table of formatters and fixers: when each writes, and which files are its own.

/// When a tool writes.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// Always, unless one of these stands there.
    Unless(&'static [&'static str]),
    /// Only with one of these.
    With(&'static [&'static str]),
    /// Only with this verb, unless one of these stands there.
    Verb(&'static [&'static str], &'static [&'static str]),
}

/// What a tool takes when nothing is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    /// The directory it runs in.
    Here,
    /// The whole work tree.
    Project,
    /// Nothing.
    Nothing,
}

/// One tool.
pub(super) struct Tool {
    /// What it is called; a verb of another tool is joined to it (`cargo-fmt`).
    pub(super) names: &'static [&'static str],
    /// When it writes.
    pub(super) when: When,
    /// What it takes when nothing is named.
    pub(super) bare: Bare,
    /// Options whose value is no file.
    pub(super) valued: &'static [&'static str],
    /// What its files are called.
    pub(super) files: &'static [&'static str],
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

/// All tools.
pub(super) const TOOLS: &[Tool] = &[
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
        &["-p", "--package", "--manifest-path", "--config", "--config-path", "--edition"],
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
