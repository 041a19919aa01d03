//! The fence of a running command: takes in what is claimed meanwhile and puts back what got lost.
//! Replacing a held file from outside (as an editor does) silently takes its mount away, so the
//! kernel's mount table is watched as well as the claims. It never loosens anything.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify;

use super::apply::Inside;
use super::look::RealDisk;
use super::plan::{Asked, FencePlan, Mode, plan};
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
    table: File,
    watch: OwnedFd,
    outside: OwnedFd,
}

/// Something new in a folder.
const NEW: inotify::WatchFlags = inotify::WatchFlags::CREATE.union(inotify::WatchFlags::MOVED_TO);
/// The table was written.
const WRITTEN: inotify::WatchFlags = inotify::WatchFlags::MODIFY.union(NEW);

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
}

impl<'a> Live<'a> {
    /// Starts watching. Must be called inside the namespace whose mounts are guarded.
    pub(super) fn start(parts: Parts<'a>) -> io::Result<Self> {
        let Parts { inside, outside, plan, who, git, source, scratch } = parts;
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let table = File::open("/proc/self/mountinfo")?;
        let live = Self { inside, plan, who, git, source, scratch, table, watch, outside };
        for path in live.source.wakes() {
            live.look_at(&path, WRITTEN);
        }
        live.look_at_absent();
        Ok(live)
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

    /// Claims and folders of absent paths: readable says that something changed.
    pub(super) fn watch(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Empties the queue of changes; what they were is looked up afresh anyway.
    pub(super) fn drain(&self) {
        let mut space = [0_u8; 4096];
        while rustix::io::read(&self.watch, &mut space).is_ok_and(|n| n > 0) {}
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
            };
            let new = plan(&asked, &RealDisk);
            for mount in new.mounts {
                if !self.plan.mounts.contains(&mount) && mount.mode != Mode::Open {
                    self.plan.mounts.push(mount);
                }
            }
            self.plan.absent = new.absent;
        }
        self.repair();
        self.look_at_absent();
    }

    /// Closes first, pins after: a process that already stands in a folder keeps looking through
    /// the old mount, where the closed file must be closed as well.
    fn repair(&mut self) {
        let inside = &self.inside;
        for mount in self.plan.mounts.iter().filter(|m| m.mode == Mode::ReadOnly) {
            if inside.read_only(&mount.path) == Some(false) {
                // Lost only when the path vanished again: then the next change brings us back.
                let _again = inside.mount(&mount.path, Mode::ReadOnly);
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
        for path in &self.plan.absent {
            let mut at = path.parent();
            while let Some(dir) = at {
                if self.look_at(&dir, NEW) {
                    break;
                }
                at = dir.parent();
            }
        }
    }

    fn look_at(&self, path: &AbsPath, flags: inotify::WatchFlags) -> bool {
        inotify::add_watch(&self.watch, path.as_path(), flags).is_ok()
    }
}
