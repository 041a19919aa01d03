//! Is the program where the wiring calls it, is it this version, and do denials' remedies work in
//! an agent's shell.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{Finding, Mend};
use crate::operator::context::Context;
use crate::operator::place::{LINKS, NAME, ON_PATH, Place};

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let place = Place::new(&context.home);
    let mut findings = vec![copy(&place)];
    findings.extend(links(&place));
    findings.extend(on_path(&place));
    findings
}

fn copy(place: &Place) -> Finding {
    let program = place.program();
    let shown = program.display();
    let Ok(meta) = fs::metadata(&program) else {
        return Finding::warn("program.copy", format!("no program at {shown}"), "octo install")
            .mended_by(Mend::Program);
    };
    if meta.permissions().mode() & 0o111 == 0 {
        return Finding::bad(
            "program.copy",
            format!("{shown} can't be executed"),
            "octo doctor --fix",
        )
        .mended_by(Mend::Program);
    }
    let running = std::env::current_exe().ok();
    let same = running.is_some_and(|running| {
        fs::canonicalize(&running).ok() == fs::canonicalize(&program).ok()
            || matches!((fs::read(&running), fs::read(&program)), (Ok(a), Ok(b)) if a == b)
    });
    if same {
        return Finding::ok(
            "program.copy",
            format!("{shown} is this octo {}", env!("CARGO_PKG_VERSION")),
        );
    }
    Finding::warn(
        "program.copy",
        format!("{shown} is another build than the octo that runs now"),
        "octo install puts this one there; sessions keep working meanwhile",
    )
    .mended_by(Mend::Program)
}

fn links(place: &Place) -> Option<Finding> {
    let broken: Vec<&str> =
        LINKS.iter().copied().filter(|name| fs::metadata(place.link(name)).is_err()).collect();
    if broken.is_empty() || !place.bin.exists() {
        return None;
    }
    let text = format!("missing names of the program: {}", broken.join(", "));
    Some(Finding::warn("program.links", text, "octo doctor --fix").mended_by(Mend::Program))
}

fn on_path(place: &Place) -> Vec<Finding> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let first = |name: &str| {
        folders.iter().map(|folder| folder.join(name)).find(|file| fs::metadata(file).is_ok())
    };
    let ours = fs::canonicalize(place.program()).ok();
    let mut findings = Vec::new();
    for name in ON_PATH {
        match first(name) {
            None => findings.push(
                Finding::warn(
                    "program.path",
                    format!(
                        "`{name}` is not on PATH: what denials tell an agent to run won't work"
                    ),
                    format!("put {} on PATH", place.path.display()),
                )
                .mended_by(Mend::Program),
            ),
            Some(found) if *name == NAME || fs::canonicalize(&found).ok() == ours => {}
            Some(found) => findings.push(Finding::warn(
                "program.path",
                format!("another `{name}` comes first: {}", found.display()),
                format!("put {} before it on PATH", place.path.display()),
            )),
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("program.path", "octo, octo-dim and octo-hook are on PATH"));
    }
    findings
}
