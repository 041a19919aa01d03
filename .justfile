# Short names for what CONTRIBUTING says. `just` alone lists them.

default:
    @just --justfile .justfile --list

# What must hold before anything is sent
check: format lint test deny

format:
    cargo fmt --check

lint:
    cargo clippy --locked --all-targets -- -D warnings

test:
    cargo test --locked

# One fuzz target until it finds something: reader, git_argv, payload, journal
fuzz target:
    cargo fuzz run --fuzz-dir tests/fuzz --sanitizer none {{target}} -- -timeout=20

deny:
    cargo deny --config .deny.toml check

# Writes every generated document anew
documents:
    UPDATE=1 cargo test --test it documents

# The shipped program, and its table of costs
bench:
    cargo bench --bench process
