//! PURE. The same plan as a macOS Seatbelt profile. Later rules win there, so the order is: nothing
//! may be written, the write folders may, closed paths may not, reopened ones may again. Untested
//! on a real Mac.

use std::fmt::Write as _;

use super::Signals;
use super::plan::{FencePlan, Mode};
use crate::policy::lane::AbsPath;

/// Devices every program writes to.
const DEVICES: &str = "(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") \
                       (literal \"/dev/tty\") (literal \"/dev/ptmx\") (regex #\"^/dev/ttys\"))";

/// Renders the profile for `sandbox-exec -p`.
#[must_use]
pub fn profile(plan: &FencePlan, signals: Signals) -> String {
    let mut out = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    out.push_str(DEVICES);
    out.push('\n');
    let mut line = |verb: &str, filter: &str, path: &AbsPath| {
        // Writing to a string does not fail.
        let _written = writeln!(out, "({verb} file-write* ({filter} \"{}\"))", quoted(path));
    };
    for path in &plan.write {
        line("allow", "subpath", path);
    }
    for mount in &plan.mounts {
        match mount.mode {
            Mode::ReadOnly => line("deny", "subpath", &mount.path),
            Mode::Open => line("allow", "subpath", &mount.path),
            Mode::Pin => line("deny", "literal", &mount.path),
        }
    }
    // Unlike a mount, a rule also holds for what is not there yet.
    for path in plan.absent.iter().chain(&plan.links) {
        line("deny", "subpath", path);
    }
    if signals == Signals::Inside {
        out.push_str("(deny signal)\n(allow signal (target same-sandbox))\n");
    }
    out
}

fn quoted(path: &AbsPath) -> String {
    path.key().replace('\\', "\\\\").replace('"', "\\\"")
}
