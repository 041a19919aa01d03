//! What ships: the formula is filled in whole, scripts are shell that a plain `sh` reads, and the
//! workflows call them by the names they have.

use std::fs;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn text(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).unwrap()
}

#[test]
fn scripts_are_read_by_a_plain_shell() {
    for script in [".ci/run", "packaging/archive", "packaging/formula"] {
        let path = Path::new(ROOT).join(script);
        let done = Command::new("sh").arg("-n").arg(&path).output().unwrap();
        assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
        assert_eq!(mode & 0o111, 0o111, "{script} can't be executed");
    }
}

#[test]
fn a_formula_has_no_gap_left() {
    let archive = tempfile::NamedTempFile::new().unwrap();
    let done = Command::new(Path::new(ROOT).join("packaging/formula"))
        .args(["https://example.invalid", "https://example.invalid/octo.tar.gz"])
        .arg(archive.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let formula = String::from_utf8(done.stdout).unwrap();
    assert!(formula.starts_with("class Octo < Formula") && !formula.contains('@'), "{formula}");
    // The digest of nothing.
    assert!(formula.contains("e3b0c44298fc1c149afbf4c8996fb924"), "{formula}");
    assert!(formula.contains(env!("CARGO_PKG_VERSION")), "{formula}");
}

#[test]
fn workflows_call_what_there_is() {
    let release = text(".github/workflows/release.yml");
    assert!(release.contains("packaging/archive ${{ matrix.target }} out"));
    assert!(text(".github/workflows/check.yml").contains("run: .ci/run"));
    let tests = "\ncargo test --locked\n";
    assert!(text("README.md").contains(tests) && text(".ci/run").contains(tests));
    for target in
        ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "aarch64-apple-darwin"]
    {
        assert!(release.contains(target), "{target} is not released");
    }
}
