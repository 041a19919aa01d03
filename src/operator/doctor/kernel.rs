//! The kernel's health: the table opens and holds, the journals are whole, the folder is private,
//! on a local disk and of bearable size.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::{Finding, Mend};
use crate::git::{self, Follow, canonical};
use crate::kernel::StateError;
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::links;
use crate::kernel::off::pauses;
use crate::kernel::reserve::{self as kept, Plenty, Reserve};
use crate::kernel::store::{Kernel, Make};
use crate::operator::context::Context;
use crate::operator::model::{Snapshot, Standing};
use crate::operator::replay;
use crate::operator::screen::{age, harmless};
use crate::worktree::Registry;
use crate::worktree::engine::Engine;
use crate::worktree::lost;
use crate::worktree::table::Table;

/// Long enough for any healthy holder of the lock.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let Some(home) = Home::discover() else {
        return vec![Finding::bad("kernel.home", "there is no home directory", "set HOME")];
    };
    if !home.dir().exists() {
        return vec![Finding::ok("kernel.table", "no hook has run yet")];
    }
    let mut findings = vec![table(&home), size(&home, context), journals(&home)];
    findings.extend(sessions(&home, context));
    findings.extend(orphans(&home, context));
    findings.push(reserve(&home));
    findings.extend(modes(&home));
    findings.extend(second_names(&home));
    findings.extend(network(&home));
    findings.extend(off(&home));
    findings.extend(forgotten(&home, context));
    findings
}

fn table(home: &Home) -> Finding {
    let opened = Kernel::open(home, Make::Never, PATIENCE);
    let checked = opened.and_then(|mut kernel| {
        kernel.check()?;
        kernel.transact(|tx| Ok((tx.processes()?.len(), tx.lanes()?.len())))
    });
    match checked {
        Ok((processes, lanes)) => Finding::ok(
            "kernel.table",
            format!("table holds {processes} processes and {lanes} lanes"),
        ),
        Err(StateError::Absent) => Finding::ok("kernel.table", "no hook has run yet"),
        Err(why @ StateError::Locked(_)) => Finding::bad(
            "kernel.table",
            why.to_string(),
            "find the stopped process that holds it (fuser on the lock file) and end it",
        ),
        Err(why @ StateError::Newer { .. }) => {
            Finding::bad("kernel.table", why.to_string(), "install the newer octo again")
        }
        Err(why @ StateError::Full(_)) => {
            Finding::bad("kernel.table", why.to_string(), "free some space: octo prune")
        }
        Err(why @ (StateError::Damaged(_) | StateError::Io(..) | StateError::Table(_))) => {
            Finding::bad("kernel.table", why.to_string(), "octo doctor --repair")
        }
    }
}

/// Trees that stand although the table has forgotten them.
fn forgotten(home: &Home, context: &Context) -> Option<Finding> {
    let engine = Engine::new(home, Some(&context.project))?;
    let common = canonical(&context.project, Follow::All).as_ref().and_then(git::root_of);
    let found = lost::find(&engine.context(), common.map(|root| root.common).as_ref()).ok()?;
    let first = found.first()?;
    let text = format!("{} trees are not in the table, such as {}", found.len(), first.path);
    Some(Finding::warn("trees.forgotten", harmless(&text), "octo doctor --repair takes them back"))
}

/// When each live session was last heard through a hook, and which need a person.
fn sessions(home: &Home, context: &Context) -> Vec<Finding> {
    let Ok(picture) = Snapshot::take(home, context.settings.lease_seconds) else {
        return Vec::new();
    };
    let live = || picture.processes.iter().filter(|process| process.state == Standing::Live);
    let heard: Vec<String> = live()
        .filter(|process| process.kind == "session")
        .map(|process| format!("{} {} ago", harmless(&process.short), age(process.seen)))
        .collect();
    let mut findings = Vec::new();
    if !heard.is_empty() {
        let text = format!("last hook of each live session: {}", heard.join(", "));
        findings.push(Finding::ok("session.heard", text));
    }
    for process in live().filter(|process| process.in_a_row >= STUCK) {
        let short = harmless(&process.short);
        let text = format!("{short} was refused the same call {} times", process.in_a_row);
        let fix = format!("octo replay {short} --denies");
        findings.push(Finding::warn("session.stuck", text, fix));
    }
    for process in &picture.processes {
        for tree in process.trees.iter().filter(|tree| tree.retry.is_some()) {
            let text = format!("{} is {}", harmless(&tree.branch), harmless(&tree.state));
            let fix = harmless(tree.retry.as_deref().unwrap_or_default());
            findings.push(Finding::warn("session.landing", text, fix));
        }
    }
    findings
}

/// What nobody answers for any more: trees whose folder or session is gone, uncommitted work of
/// sessions that have ended.
fn orphans(home: &Home, context: &Context) -> Vec<Finding> {
    let lease = context.settings.lease_seconds;
    let Ok(picture) = Snapshot::take(home, lease) else { return Vec::new() };
    let rows = Table::new(home.clone(), lease).rows(None).unwrap_or_default();
    let standing = || rows.iter().filter(|row| row.stands());
    let lost = standing().filter(|row| !row.path.as_path().is_dir()).count();
    let gone = |state| matches!(state, Standing::Ended | Standing::Dead);
    let lives = |session: &str| {
        picture.processes.iter().any(|process| process.pid == session && !gone(process.state))
    };
    let left = standing()
        .filter(|row| row.path.as_path().is_dir() && !lives(row.session.as_str()))
        .count();
    let ended = picture.processes.iter().filter(|process| gone(process.state));
    let loose: usize = ended.map(|process| process.custody.len()).sum();
    let mut findings = Vec::new();
    if lost > 0 {
        let text = format!("{lost} trees of sessions have lost their folder");
        let fix = "octo worktree list --all; bring one back: octo worktree recreate ID";
        findings.push(Finding::warn("kernel.orphans", text, fix));
    }
    if left > 0 {
        let text = format!("{left} trees belong to sessions that have ended");
        let fix = "octo worktree reclaim says what may go";
        findings.push(Finding::warn("kernel.orphans", text, fix));
    }
    if loose > 0 {
        let text = format!("{loose} uncommitted paths were left by sessions that have ended");
        findings.push(Finding::warn("kernel.orphans", text, "octo ps --all shows whose"));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("kernel.orphans", "no tree and no work without a session"));
    }
    findings
}

fn journals(home: &Home) -> Finding {
    let journals = match replay::read(home) {
        Ok(journals) => journals,
        Err(why) => {
            return Finding::warn("kernel.journals", why.message, "octo replay --verify");
        }
    };
    let flawed = journals.iter().filter(|journal| !journal.flaws.is_empty()).count();
    if flawed == 0 {
        let text = format!("{} journals are whole", journals.len());
        return Finding::ok("kernel.journals", text);
    }
    let text = format!("{flawed} of {} journals were changed outside octo", journals.len());
    Finding::warn("kernel.journals", text, "octo replay --verify")
}

/// Refusals of one call in a row that only a person ends.
const STUCK: u64 = 3;

/// Bytes of all files below a folder.
pub(super) fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

fn size(home: &Home, context: &Context) -> Finding {
    let megabytes = bytes_below(home.dir()) / (1 << 20);
    let limit = context.settings.retention.megabytes;
    if megabytes > limit {
        let text = format!("state fills {megabytes} MB, more than retention.megabytes ({limit})");
        return Finding::warn("kernel.size", text, "octo prune");
    }
    Finding::ok("kernel.size", format!("state fills {megabytes} MB of {limit}"))
}

fn modes(home: &Home) -> Option<Finding> {
    let open = |path: &Path| std::fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 != 0);
    let loose = [home.dir().to_path_buf(), home.table()].into_iter().find(|path| open(path))?;
    let text = format!("{} can be read or changed by other users", loose.display());
    Some(Finding::warn("kernel.modes", text, "octo doctor --fix").mended_by(Mend::Modes))
}

/// The room kept back for a full disk.
fn reserve(home: &Home) -> Finding {
    let id = "kernel.reserve";
    match kept::state(home) {
        Ok(Reserve::Kept) => {
            Finding::ok(id, format!("{} MB are kept back for a full disk", kept::BYTES >> 20))
        }
        Ok(Reserve::Gone { plenty: Plenty::Yes, .. }) => {
            Finding::warn(id, "nothing is kept back for a full disk", "octo doctor --fix")
                .mended_by(Mend::Reserve)
        }
        Ok(Reserve::Gone { free, plenty: Plenty::No }) => {
            let text = format!("nothing is kept back for a full disk: {} MB free", free >> 20);
            Finding::warn(id, text, "free some space, then: octo doctor --fix")
        }
        Err(why) => Finding::warn(id, format!("the reserve can't be read: {why}"), "octo prune"),
    }
}

fn second_names(home: &Home) -> Option<Finding> {
    let shared = links::shared(home);
    let first = shared.first()?;
    let text = format!(
        "{} of the kernel's files have a second name (hard link), as {}: a write there is one here",
        shared.len(),
        first.display()
    );
    Some(Finding::bad("kernel.links", text, "octo doctor --fix").mended_by(Mend::Links))
}

#[cfg(target_os = "linux")]
fn network(home: &Home) -> Option<Finding> {
    // NFS, SMB, CIFS, SMB2, FUSE (sshfs and the like), Ceph, 9p.
    const REMOTE: &[i64] =
        &[0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x00c3_6400, 0x0102_1997];
    let stat = rustix::fs::statfs(home.dir()).ok()?;
    #[expect(clippy::allow_attributes, reason = "the type differs between targets")]
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "see above"
    )]
    let kind = i64::try_from(stat.f_type).unwrap_or(0);
    REMOTE.contains(&kind).then(|| {
        let text = "state lies on a network file system: locks may not hold between machines";
        Finding::warn("kernel.network", text, "keep ~/.claude/.cache on a local disk")
    })
}

#[cfg(not(target_os = "linux"))]
fn network(_home: &Home) -> Option<Finding> {
    None
}

fn off(home: &Home) -> Option<Finding> {
    let unix = clock::unix_seconds();
    let pause = pauses(home, unix).into_iter().next()?;
    let left = age(pause.until.saturating_sub(unix));
    Some(Finding::bad("kernel.off", format!("the gates are off for {left} more"), "octo on"))
}
