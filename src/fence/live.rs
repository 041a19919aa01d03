//! The fence of a running command: takes in what is claimed meanwhile and puts back what got lost.
//! Replacing a held file from outside (as an editor does) silently takes its mount away, so the
//! kernel's mount table is watched as well as the claims. It never loosens anything.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::fs::inotify;

use super::apply::Inside;
use super::look::RealDisk;
use super::plan::{Asked, FencePlan, Mode, Why, plan};
use super::{GitWrite, HoldSource, Level, Who};
use crate::policy::lane::AbsPath;

/// What wakes the guard of a running command.
pub(super) struct Live<'a> {
    /// The command's view of the files.
    pub(super) inside: Inside,
    /// The fence as it stands.
    pub(super) plan: FencePlan,
    /// Whose it is.
    pub(super) who: &'a Who,
    /// What was proved.
    pub(super) git: GitWrite,
    /// Where claims are read.
    pub(super) source: &'a dyn HoldSource,
    /// Temporary and cache folders.
    pub(super) scratch: &'a [AbsPath],
    /// Switches of the machine and of the fence.
    pub(super) switches: &'a [AbsPath],
    /// The disk, with the mounts from before the fence.
    pub(super) disk: RealDisk,
    table: File,
    watch: Option<OwnedFd>,
    stamps: Vec<Stamp>,
    outside: OwnedFd,
    waiting: Waiting,
}

/// Whether something is still to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// All is closed.
    No,
    /// A git directory, for the git that is at work in it.
    ForGit,
}

/// What a file looked like, and how it began.
pub(super) type Stamp = Option<(u64, u64, i64, i64, [u8; HEAD])>;

/// So much of a table tells one of its states from the next (a database counts its changes there);
/// times alone don't: two changes within one tick of the kernel's clock bear the same.
const HEAD: usize = 32;

/// Something new in a folder.
const NEW: inotify::WatchFlags = inotify::WatchFlags::CREATE.union(inotify::WatchFlags::MOVED_TO);
/// The table was written.
const WRITTEN: inotify::WatchFlags = inotify::WatchFlags::MODIFY.union(NEW);

/// How often a path is tried to be closed, a millisecond apart.
const ATTEMPTS: u32 = 100;

/// Everything a guard is made of besides what it opens itself.
pub(super) struct Parts<'a> {
    /// The command's view.
    pub(super) inside: Inside,
    /// The root of the view from before the fence.
    pub(super) outside: OwnedFd,
    /// The fence as built.
    pub(super) plan: FencePlan,
    /// Whose it is.
    pub(super) who: &'a Who,
    /// What was proved.
    pub(super) git: GitWrite,
    /// Where claims are read.
    pub(super) source: &'a dyn HoldSource,
    /// Temporary and cache folders.
    pub(super) scratch: &'a [AbsPath],
    /// Switches of the machine and of the fence.
    pub(super) switches: &'a [AbsPath],
    /// The disk, with the mounts from before the fence.
    pub(super) disk: RealDisk,
    /// What the claims looked like before they were read for this fence.
    pub(super) before: Vec<Stamp>,
}

/// What the claims look like now. To be taken before they are read: a claim made while the fence is
/// built is then seen as a change.
pub(super) fn stamps(source: &dyn HoldSource) -> Vec<Stamp> {
    let with_head = |path: &AbsPath| {
        let (ino, len, at, nanos, mut head) = stamp(path)?;
        let read = File::open(path.as_path()).and_then(|mut file| file.read(&mut head));
        // One that can't be read is told by its times, as one that is not there.
        read.map_or(stamp(path), |_| Some((ino, len, at, nanos, head)))
    };
    source.wakes().iter().map(with_head).collect()
}

fn stamp(path: &AbsPath) -> Stamp {
    let meta = fs::symlink_metadata(path.as_path()).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec(), [0; HEAD]))
}

impl<'a> Live<'a> {
    /// Starts guarding. Must be called inside the namespace whose mounts are guarded.
    pub(super) fn start(parts: Parts<'a>) -> io::Result<Self> {
        let Parts { inside, outside, plan, who, git, source, scratch, switches, disk, before } =
            parts;
        let table = File::open("/proc/self/mountinfo")?;
        let mut live = Self {
            inside,
            plan,
            who,
            git,
            source,
            scratch,
            switches,
            disk,
            table,
            watch: None,
            stamps: Vec::new(),
            outside,
            waiting: Waiting::No,
        };
        live.stamps = live.look();
        // Gone when its mount was to be made, and there again now.
        let back = live.plan.absent.iter().any(|p| live.inside.read_only(p).is_some());
        if back || !live.stamps.starts_with(&before) {
            live.refresh();
        }
        Ok(live)
    }

    /// Has the kernel say when something changes, instead of looking. Not from the start: letting a
    /// watch go costs a process ten milliseconds of its exit, which a short command would feel.
    pub(super) fn watch_from_now_on(&mut self) -> io::Result<()> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let watch = inotify::init(flags)?;
        for path in self.source.wakes() {
            add(&watch, &path, WRITTEN);
        }
        self.watch = Some(watch);
        self.refresh();
        Ok(())
    }

    /// True while something is left to be closed as soon as that does no damage.
    pub(super) fn waits(&self) -> bool {
        self.waiting == Waiting::ForGit
    }

    /// Looks whether claims or absent paths have changed since it was asked last.
    pub(super) fn changed(&mut self) -> bool {
        let now = self.look();
        let changed = now != self.stamps;
        self.stamps = now;
        changed
    }

    fn look(&self) -> Vec<Stamp> {
        let mut all = stamps(self.source);
        all.extend(self.plan.absent.iter().map(stamp));
        all
    }

    /// Goes back to the view without the fence, so that the table stays writable for us even where
    /// it lies inside the fenced tree. Only after the command has been forked off.
    pub(super) fn step_outside(&self) -> io::Result<()> {
        rustix::process::fchdir(&self.outside)?;
        Ok(rustix::process::chroot(".")?)
    }

    /// The kernel's mount table: an exceptional condition says that it changed.
    pub(super) fn table(&self) -> BorrowedFd<'_> {
        self.table.as_fd()
    }

    /// Claims and folders of absent paths, once they are watched: readable when one changed.
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Empties the queue of changes; what they were is looked up afresh anyway.
    pub(super) fn drain(&self) {
        let Some(watch) = &self.watch else { return };
        let mut space = [0_u8; 4096];
        while rustix::io::read(watch, &mut space).is_ok_and(|n| n > 0) {}
    }

    /// Reads the claims again and closes what is not closed. An unreadable table changes nothing:
    /// the fence that stands goes on standing.
    pub(super) fn refresh(&mut self) {
        if let Ok(holds) = self.source.holds_for(self.who, &self.plan.dir) {
            let asked = Asked {
                holds: &holds,
                git: self.git,
                dir: &self.plan.dir,
                level: Level::Full,
                scratch: self.scratch,
                switches: self.switches,
            };
            let new = plan(&asked, &self.disk);
            for mount in new.mounts {
                if !self.plan.mounts.contains(&mount) && mount.mode != Mode::Open {
                    self.plan.mounts.push(mount);
                }
            }
            self.plan.absent = new.absent;
            self.plan.closed = new.closed;
        }
        self.repair();
        self.look_at_absent();
    }

    /// Closes first, pins after: a process that already stands in a folder keeps looking through
    /// the old mount, where the closed file must be closed as well.
    fn repair(&mut self) {
        let inside = &self.inside;
        self.waiting = Waiting::No;
        for mount in self.plan.mounts.iter().filter(|m| m.mode == Mode::ReadOnly) {
            // Closed half-way through its work, git would leave a lock that nobody can remove.
            if inside.read_only(&mount.path) == Some(false) && locked(&self.plan, &mount.path) {
                self.waiting = Waiting::ForGit;
            } else {
                close(inside, &mount.path);
            }
        }
        let pins: Vec<AbsPath> = self
            .plan
            .mounts
            .iter()
            .filter(|m| m.mode == Mode::Pin && !inside.is_mount(&m.path))
            .map(|m| m.path.clone())
            .collect();
        for path in pins {
            let _again = inside.mount(&path, Mode::Pin);
        }
    }

    fn look_at_absent(&self) {
        let Some(watch) = &self.watch else { return };
        for path in &self.plan.absent {
            let mut at = path.parent();
            while let Some(dir) = at {
                if add(watch, &dir, NEW) {
                    break;
                }
                at = dir.parent();
            }
        }
    }
}

/// True for a git directory in which git is at work.
fn locked(plan: &FencePlan, path: &AbsPath) -> bool {
    let git = plan.closed.iter().any(|(at, why)| at == path && matches!(why, Why::GitDir { .. }));
    let lock = |name: &str| fs::symlink_metadata(path.join(name).as_path()).is_ok();
    git && (lock("index.lock") || lock("HEAD.lock"))
}

/// Closes a path again. The kernel tells of a replaced file a moment before its new name can be
/// mounted on, so a failure is not final.
fn close(inside: &Inside, path: &AbsPath) {
    for _attempt in 0..ATTEMPTS {
        if inside.read_only(path) != Some(false) || inside.mount(path, Mode::ReadOnly).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn add(watch: &OwnedFd, path: &AbsPath, flags: inotify::WatchFlags) -> bool {
    inotify::add_watch(watch, path.as_path(), flags).is_ok()
}
