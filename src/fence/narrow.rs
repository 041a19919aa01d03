//! PURE. What Landlock alone can do. It grants by folder and cannot take back, so a held path is
//! closed by granting everything beside the way to it. New names directly in a folder on that way
//! are refused too; that is the price, and the reason the gates stay strict.

use super::plan::{Disk, FencePlan, Mode, There};
use crate::policy::lane::AbsPath;

/// Grants past this many cost more than they protect: the rest of the folder stays closed.
const MOST: usize = 4096;

/// The paths to grant write rights on when nothing can be mounted.
#[must_use]
pub(super) fn grants(plan: &FencePlan, disk: &dyn Disk) -> Vec<AbsPath> {
    let closed: Vec<&AbsPath> = plan
        .mounts
        .iter()
        .filter(|m| m.mode == Mode::ReadOnly)
        .map(|m| &m.path)
        .chain(&plan.absent)
        .chain(&plan.links)
        .collect();
    let open: Vec<&AbsPath> =
        plan.mounts.iter().filter(|m| m.mode == Mode::Open).map(|m| &m.path).collect();
    let mut out = Vec::new();
    let mut todo: Vec<AbsPath> = plan.write.clone();
    todo.extend(open.iter().map(|p| (*p).clone()));
    while let Some(path) = todo.pop() {
        if out.len() >= MOST {
            break;
        }
        let reopened = open.iter().any(|o| path.within(o));
        let shut =
            closed.iter().any(|c| path.within(c) && !(reopened && above_open(c, &path, &open)));
        if shut {
            continue;
        }
        if !closed.iter().any(|c| c.within(&path)) {
            out.push(path);
        } else if disk.there(&path) == There::Dir {
            todo.extend(disk.list(&path));
        }
    }
    out.sort();
    out.dedup();
    out
}

/// True when a reopened folder lies between a closed one and `path`.
fn above_open(closed: &AbsPath, path: &AbsPath, open: &[&AbsPath]) -> bool {
    open.iter().any(|o| path.within(o) && o.within(closed))
}
