//! The outer ring: write rights through Landlock for named folders only, and signals only to what
//! runs inside. It also takes mounting, unmounting and tracing away from the command, without
//! which the inner ring could be taken off. Never grants read rights away.

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::Signals;
use crate::policy::lane::AbsPath;

/// The newest rights asked for; an older kernel gives what it has.
const KNOWN: ABI = ABI::V7;

/// Devices a command writes to as a matter of course. Block devices are not among them: a disk
/// written raw is every file on it.
const DEVICES: [&str; 14] = [
    "/dev/dri",
    "/dev/full",
    "/dev/fuse",
    "/dev/kvm",
    "/dev/null",
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/snd",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// Whether processes may write their own knobs (`oom_score_adj`, `comm`, id maps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proc {
    /// Yes: the kernel guards the machine's, or mounts do.
    Open,
    /// No: the machine's lie in the same tree, and nothing else keeps root from them.
    Closed,
}

/// Rights ready to be taken on by the command's process.
#[derive(Debug)]
pub(super) struct Rights(RulesetCreated);

/// Prepares write rights on `write` and everything below.
pub(super) fn prepare(
    write: &[AbsPath],
    signals: Signals,
    proc: Proc,
) -> Result<Rights, RulesetError> {
    let all = AccessFs::from_write(KNOWN);
    let mut set =
        Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
    match signals {
        Signals::Inside => set = set.scope(Scope::Signal)?,
        Signals::Anywhere => {}
    }
    let mut set = set.create()?;
    for path in write {
        let access = if path.as_path().is_dir() { all } else { all & AccessFs::from_file(KNOWN) };
        set = grant(set, path.as_path(), access)?;
    }
    let device: BitFlags<AccessFs> = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for path in DEVICES {
        set = grant(set, path.as_ref(), device)?;
    }
    if proc == Proc::Open {
        set = grant(set, "/proc".as_ref(), AccessFs::WriteFile | AccessFs::Truncate)?;
    }
    Ok(Rights(set))
}

/// Grants `access` on one path; what is not there needs no right.
fn grant(
    set: RulesetCreated,
    path: &std::path::Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(fd) => set.add_rule(PathBeneath::new(fd, access)),
        Err(_) => Ok(set),
    }
}

impl Rights {
    /// Takes them on for good. True when the kernel really enforces them.
    pub(super) fn take(self) -> Result<bool, RulesetError> {
        let status = self.0.restrict_self()?;
        Ok(status.ruleset != RulesetStatus::NotEnforced)
    }
}
