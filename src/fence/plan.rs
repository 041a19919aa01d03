//! PURE. What a fence consists of: which paths become read-only, which stay open inside them, which
//! folders are pinned so that they cannot be moved away, and where writing is allowed at all.
//! It must never ask the disk itself: what is there, [`Disk`] answers.

use std::collections::BTreeMap;

use super::gitdir;
use super::{GitWrite, Holds, Level};
use crate::policy::facts::{Basis, Hold, Root};
use crate::policy::lane::AbsPath;

/// What stands at a path, without following a final link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// Nothing.
    Missing,
    /// A file with this many names.
    File {
        /// Names (hard links).
        links: u64,
    },
    /// A directory.
    Dir,
    /// A symbolic link: no mount can stand on it.
    Link,
}

/// What planning must know of the disk.
pub trait Disk {
    /// What stands at a path.
    fn there(&self, path: &AbsPath) -> There;
    /// The file of the branch that a work tree's HEAD stands on.
    fn branch_file(&self, root: &Root) -> Option<AbsPath>;
    /// Other names of what stands at a path, where a folder is mounted twice.
    fn others(&self, path: &AbsPath) -> Vec<AbsPath>;
    /// Everything in a folder.
    fn list(&self, dir: &AbsPath) -> Vec<AbsPath>;
}

/// Why a path is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Somebody's lane.
    Held(Hold),
    /// The git directory of a checkout in which somebody else is at work.
    GitDir {
        /// The checkout.
        root: AbsPath,
        /// Who is at work there.
        hold: Option<Hold>,
    },
    /// Never writable: the table's folder, a shared checkout.
    Closed,
}

/// What a mount does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing at or below it can change.
    ReadOnly,
    /// Open again inside something read-only.
    Open,
    /// Cannot be renamed or removed; open otherwise.
    Pin,
}

/// One mount of a path onto itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The path.
    pub path: AbsPath,
    /// What it does.
    pub mode: Mode,
}

/// A whole fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencePlan {
    /// Mounts in the order they are made: outer before inner.
    pub mounts: Vec<Mount>,
    /// Closed paths with their reasons, also those a closed folder above already covers.
    pub closed: Vec<(AbsPath, Why)>,
    /// Where writing is allowed at all.
    pub write: Vec<AbsPath>,
    /// Held paths that do not exist yet.
    pub absent: Vec<AbsPath>,
    /// Held files with more than one name.
    pub aliased: Vec<AbsPath>,
    /// Held links, on which no mount can stand.
    pub links: Vec<AbsPath>,
    /// The work trees the command may write in.
    pub trees: Vec<AbsPath>,
    /// Where the command starts.
    pub dir: AbsPath,
}

/// What the plan is made for.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// Who holds what, and where writing is allowed.
    pub holds: &'a Holds,
    /// What the reader has proved.
    pub git: GitWrite,
    /// Where the command starts.
    pub dir: &'a AbsPath,
    /// What the kernel will grant: without Landlock all ancestors are pinned.
    pub level: Level,
    /// Temporary and cache folders.
    pub scratch: &'a [AbsPath],
    /// Switches of the machine and of the fence itself.
    pub switches: &'a [AbsPath],
}

/// Turns what is held into a fence.
#[must_use]
pub fn plan(asked: &Asked<'_>, disk: &dyn Disk) -> FencePlan {
    let holds = asked.holds;
    let mut draft = Draft::default();
    let mut out = FencePlan {
        mounts: Vec::new(),
        closed: Vec::new(),
        write: writable(asked, disk),
        absent: Vec::new(),
        aliased: Vec::new(),
        links: Vec::new(),
        trees: holds.trees.iter().map(|t| t.path.clone()).collect(),
        dir: asked.dir.clone(),
    };
    for hold in holds.holds.iter().filter(|h| h.basis == Basis::Lane) {
        close_held(hold, disk, &mut draft, &mut out);
    }
    for path in holds.closed.iter().chain(asked.switches) {
        out.closed.push((path.clone(), Why::Closed));
        if disk.there(path) != There::Missing {
            draft.close(path);
        }
    }
    gitdir::rules(asked, disk, &mut draft, &mut out.closed);
    for tree in &holds.trees {
        // A work tree is never a path prefix of another: whoever holds the main checkout does
        // not hold the linked worktree inside it.
        let own = holds
            .holds
            .iter()
            .any(|h| h.path == tree.path && h.root.as_ref().is_none_or(|r| *r == tree.path));
        let shut = holds.closed.contains(&tree.path);
        if !own && !shut {
            draft.open(&tree.path);
        }
    }
    out.mounts = draft.finish(&out.write, asked.level);
    out.absent.sort();
    out.absent.dedup();
    out
}

/// Closes one held path under all its names, or notes why it cannot be.
fn close_held(hold: &Hold, disk: &dyn Disk, draft: &mut Draft, out: &mut FencePlan) {
    out.closed.push((hold.path.clone(), Why::Held(hold.clone())));
    match disk.there(&hold.path) {
        There::Missing => return out.absent.push(hold.path.clone()),
        There::Link => return out.links.push(hold.path.clone()),
        There::File { links } if links > 1 => out.aliased.push(hold.path.clone()),
        There::File { .. } | There::Dir => {}
    }
    draft.close(&hold.path);
    for other in disk.others(&hold.path) {
        draft.close(&other);
        out.closed.push((other, Why::Held(hold.clone())));
    }
}

/// Everything writing is allowed in: trees, their git directories, folders, scratch.
fn writable(asked: &Asked<'_>, disk: &dyn Disk) -> Vec<AbsPath> {
    let mut all: Vec<AbsPath> = Vec::new();
    for tree in &asked.holds.trees {
        all.extend([tree.path.clone(), tree.git_dir.clone(), tree.common.clone()]);
    }
    all.extend(asked.holds.folders.iter().cloned());
    all.extend(asked.scratch.iter().cloned());
    if all.iter().any(|path| path.parent().is_none()) {
        let machine: Vec<AbsPath> = MACHINE.iter().filter_map(AbsPath::new).collect();
        all.retain(|path| path.parent().is_some());
        all.extend(disk.list(&AbsPath::root()).into_iter().filter(|p| !machine.contains(p)));
    }
    outermost(all)
}

/// No work tree, even where the whole disk is one: a write there is not to a file.
const MACHINE: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];

/// Sorted, without paths that lie below another.
#[must_use]
pub(super) fn outermost(mut all: Vec<AbsPath>) -> Vec<AbsPath> {
    all.sort();
    let mut kept: Vec<AbsPath> = Vec::new();
    for path in all {
        if !kept.last().is_some_and(|k| path.within(k)) {
            kept.push(path);
        }
    }
    kept
}

/// Closed and reopened paths while they are gathered.
#[derive(Debug, Default)]
pub(super) struct Draft {
    marks: BTreeMap<AbsPath, Mode>,
}

impl Draft {
    /// Makes a path read-only; wins over everything else said about the same path.
    pub(super) fn close(&mut self, path: &AbsPath) {
        self.marks.insert(path.clone(), Mode::ReadOnly);
    }

    /// Opens a path again, unless it was closed itself.
    pub(super) fn open(&mut self, path: &AbsPath) {
        self.marks.entry(path.clone()).or_insert(Mode::Open);
    }

    /// Drops what is redundant and adds the pins. A `BTreeMap` of paths yields parents first.
    fn finish(self, write: &[AbsPath], level: Level) -> Vec<Mount> {
        let mut kept: BTreeMap<AbsPath, Mode> = BTreeMap::new();
        for (path, mode) in self.marks {
            let shut = nearest(&kept, &path) == Some(Mode::ReadOnly);
            let needed = match mode {
                Mode::ReadOnly => !shut,
                Mode::Open => shut,
                Mode::Pin => false,
            };
            if needed {
                kept.insert(path, mode);
            }
        }
        let mut all = kept.clone();
        for path in kept.keys() {
            let mut at = path.parent();
            while let Some(dir) = at {
                at = dir.parent();
                let Some(above) = &at else { break };
                if all.contains_key(&dir) {
                    continue;
                }
                let movable = level == Level::Mounts || write.iter().any(|w| above.within(w));
                if movable && nearest(&kept, &dir) != Some(Mode::ReadOnly) {
                    all.insert(dir, Mode::Pin);
                }
            }
        }
        all.into_iter().map(|(path, mode)| Mount { path, mode }).collect()
    }
}

/// What the closest marked folder above a path says.
fn nearest(kept: &BTreeMap<AbsPath, Mode>, path: &AbsPath) -> Option<Mode> {
    let mut at = path.parent();
    while let Some(dir) = at {
        if let Some(mode) = kept.get(&dir) {
            return Some(*mode);
        }
        at = dir.parent();
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fence::{Company, Signals, narrow, seatbelt};
    use crate::policy::facts::RootKind;
    use crate::policy::lane::Pid;
    use crate::policy::verdict::Holder;

    /// A disk of a few paths: files end in a dot and letters, everything else is a folder.
    #[derive(Default)]
    pub(crate) struct Paper {
        pub(crate) there: Vec<&'static str>,
        pub(crate) linked: Vec<&'static str>,
        pub(crate) branch: Option<&'static str>,
        pub(crate) twin: Option<(&'static str, &'static str)>,
    }

    pub(crate) fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    impl Disk for Paper {
        fn there(&self, path: &AbsPath) -> There {
            if self.linked.iter().any(|l| abs(l) == *path) {
                return There::File { links: 2 };
            }
            let file = path.as_path().extension().is_some();
            match self.there.iter().map(|p| abs(p)).find(|p| p.within(path)) {
                None => There::Missing,
                Some(at) if at == *path && file => There::File { links: 1 },
                Some(_) => There::Dir,
            }
        }

        fn branch_file(&self, _root: &Root) -> Option<AbsPath> {
            self.branch.map(abs)
        }

        fn others(&self, path: &AbsPath) -> Vec<AbsPath> {
            let twin = self.twin.filter(|(from, _)| path.within(&abs(from)));
            let other = |(from, to): (&str, &str)| Some(abs(to).join(path.below(&abs(from))?));
            twin.and_then(other).into_iter().collect()
        }

        fn list(&self, dir: &AbsPath) -> Vec<AbsPath> {
            let below = self.there.iter().map(|p| abs(p)).filter(|p| p.within(dir) && p != dir);
            let child = |p: AbsPath| {
                let first = p.below(dir)?.components().next()?;
                Some(dir.join(first.as_os_str()))
            };
            let mut all: Vec<AbsPath> = below.filter_map(child).collect();
            all.sort();
            all.dedup();
            all
        }
    }

    pub(crate) fn main_root(path: &str) -> Root {
        let git = abs(path).join(".git");
        Root { path: abs(path), kind: RootKind::Main, git_dir: git.clone(), common: git }
    }

    pub(crate) fn linked_root(path: &str, main: &str, id: &str) -> Root {
        let common = abs(main).join(".git");
        let git_dir = common.join("worktrees").join(id);
        Root { path: abs(path), kind: RootKind::Linked { main: abs(main) }, git_dir, common }
    }

    pub(crate) fn hold(path: &str, root: &str, basis: Basis) -> Hold {
        let pid = Pid::new("other").unwrap();
        let holder =
            Holder { session: pid.clone(), pid, kind: "session".into(), age: 1, silent: 1 };
        Hold { path: abs(path), root: Some(abs(root)), basis, holder }
    }

    pub(crate) fn held(holds: Vec<Hold>, trees: Vec<Root>, roots: Vec<Root>) -> Holds {
        Holds {
            company: Company::Others,
            holds,
            trees,
            folders: Vec::new(),
            closed: Vec::new(),
            roots,
            signals: Signals::Inside,
            need: Level::None,
        }
    }

    pub(crate) fn planned(holds: &Holds, git: GitWrite, level: Level, disk: &Paper) -> FencePlan {
        let dir = holds.trees.first().map_or_else(|| abs("/w"), |t| t.path.clone());
        plan(&Asked { holds, git, dir: &dir, level, scratch: &[abs("/tmp")], switches: &[] }, disk)
    }

    /// The mounts as `mode path`, in order.
    pub(crate) fn shown(plan: &FencePlan) -> Vec<String> {
        let word = |mode| match mode {
            Mode::ReadOnly => "ro",
            Mode::Open => "open",
            Mode::Pin => "pin",
        };
        plan.mounts.iter().map(|m| format!("{} {}", word(m.mode), m.path)).collect()
    }

    fn disk() -> Paper {
        Paper {
            there: vec![
                "/w/src/a.rs",
                "/w/src/b.rs",
                "/w/lib/c.rs",
                "/w/docs/x.md",
                "/w/.git/HEAD",
            ],
            ..Paper::default()
        }
    }

    #[test]
    fn a_held_file_is_closed_its_folders_are_pinned_and_the_git_directory_is_closed() {
        let holds = vec![hold("/w/src/a.rs", "/w", Basis::Lane)];
        let holds = held(holds, vec![main_root("/w")], vec![main_root("/w")]);
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk());
        assert_eq!(shown(&plan), ["ro /w/.git", "pin /w/src", "ro /w/src/a.rs"]);
        assert_eq!(plan.write, [abs("/tmp"), abs("/w")]);
    }

    #[test]
    fn what_lies_below_a_closed_folder_needs_no_mount_of_its_own() {
        let holds = vec![
            hold("/w/src", "/w", Basis::Lane),
            hold("/w/src/a.rs", "/w", Basis::Lane),
            hold("/w/src/new.rs", "/w", Basis::Lane),
        ];
        let holds = held(holds, vec![main_root("/w")], vec![]);
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk());
        assert_eq!(shown(&plan), ["ro /w/src"]);
        assert_eq!(plan.absent, [abs("/w/src/new.rs")]);
    }

    #[test]
    fn a_command_that_starts_at_the_top_of_the_disk_gets_no_devices() {
        let mut holds = held(vec![hold("/w/src/a.rs", "/w", Basis::Lane)], vec![], vec![]);
        holds.folders = vec![abs("/")];
        let there = vec!["/w/src/a.rs", "/dev/sda", "/proc/sys", "/sys/x", "/run/x", "/home/u"];
        let plan = planned(&holds, GitWrite::None, Level::Full, &Paper { there, ..disk() });
        assert_eq!(plan.write, [abs("/home"), abs("/tmp"), abs("/w")]);
        assert_eq!(shown(&plan), ["pin /w/src", "ro /w/src/a.rs"]);
    }

    #[test]
    fn custody_closes_the_git_directory_and_not_the_file() {
        let holds = vec![hold("/w/src/a.rs", "/w", Basis::Custody)];
        let holds = held(holds, vec![main_root("/w")], vec![main_root("/w")]);
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk());
        assert_eq!(shown(&plan), ["ro /w/.git"]);
    }

    #[test]
    fn a_tree_in_a_writable_folder_is_pinned_itself_and_without_landlock_everything_above_is() {
        let holds = vec![hold("/tmp/w/a.rs", "/tmp/w", Basis::Lane)];
        let holds = held(holds, vec![main_root("/tmp/w")], vec![]);
        let disk = Paper { there: vec!["/tmp/w/a.rs"], ..Paper::default() };
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk);
        assert_eq!(shown(&plan), ["pin /tmp/w", "ro /tmp/w/a.rs"]);
        let plan = planned(&holds, GitWrite::None, Level::Mounts, &disk);
        assert_eq!(shown(&plan), ["pin /tmp", "pin /tmp/w", "ro /tmp/w/a.rs"]);
    }

    #[test]
    fn a_worktree_inside_a_held_or_closed_checkout_stays_open() {
        let tree = linked_root("/w/.claude/worktrees/t", "/w", "t");
        let there = vec!["/w/.claude/worktrees/t/a.rs", "/w/.git/worktrees/t/HEAD", "/w/src/a.rs"];
        let disk = Paper { there, ..Paper::default() };
        let lane = vec![hold("/w", "/w", Basis::Lane)];
        let mut holds = held(lane, vec![tree], vec![main_root("/w")]);
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk);
        let mounts = shown(&plan);
        assert!(mounts.contains(&"ro /w".to_owned()), "{mounts:?}");
        assert!(mounts.contains(&"open /w/.claude/worktrees/t".to_owned()), "{mounts:?}");
        assert!(mounts.contains(&"open /w/.git".to_owned()), "{mounts:?}");
        holds.closed = vec![abs("/w/.claude/worktrees/t")];
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk);
        assert!(!shown(&plan).contains(&"open /w/.claude/worktrees/t".to_owned()));
    }

    #[test]
    fn a_second_name_of_a_held_file_is_closed_too() {
        let lanes = vec![hold("/w/src/a.rs", "/w", Basis::Lane)];
        let holds = held(lanes, vec![main_root("/w")], vec![]);
        let disk = Paper { twin: Some(("/w", "/mnt/w")), ..disk() };
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk);
        assert_eq!(shown(&plan), ["ro /mnt/w/src/a.rs", "pin /w/src", "ro /w/src/a.rs"]);
    }

    #[test]
    fn what_cannot_be_mounted_on_is_told_apart() {
        let lanes = ["/w/src/a.rs", "/w/gone.rs"].map(|p| hold(p, "/w", Basis::Lane)).to_vec();
        let holds = held(lanes, vec![main_root("/w")], vec![]);
        let disk = Paper { linked: vec!["/w/src/a.rs"], ..disk() };
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk);
        assert_eq!(
            (plan.absent, plan.aliased),
            (vec![abs("/w/gone.rs")], vec![abs("/w/src/a.rs")])
        );
    }

    #[test]
    fn landlock_alone_grants_everything_beside_the_way_to_what_is_held() {
        let lanes = vec![hold("/w/src/a.rs", "/w", Basis::Lane)];
        let holds = held(lanes, vec![main_root("/w")], vec![main_root("/w")]);
        let disk = disk();
        let plan = planned(&holds, GitWrite::None, Level::Landlock, &disk);
        let grants: Vec<String> =
            narrow::grants(&plan, &disk).iter().map(ToString::to_string).collect();
        assert_eq!(grants, ["/tmp", "/w/docs", "/w/lib", "/w/src/b.rs"]);
    }

    #[test]
    fn the_same_plan_reads_as_a_seatbelt_profile() {
        let lanes = vec![
            hold("/w/src/a.rs", "/w", Basis::Lane),
            hold("/w/src/\"new\".rs", "/w", Basis::Lane),
        ];
        let holds = held(lanes, vec![main_root("/w")], vec![main_root("/w")]);
        let plan = planned(&holds, GitWrite::None, Level::Full, &disk());
        let text = seatbelt::profile(&plan, Signals::Inside);
        let want = "(version 1)\n(allow default)\n(deny file-write*)\n\
            (allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") \
            (literal \"/dev/ptmx\") (regex #\"^/dev/ttys\"))\n\
            (allow file-write* (subpath \"/tmp\"))\n\
            (allow file-write* (subpath \"/w\"))\n\
            (deny file-write* (subpath \"/w/.git\"))\n\
            (deny file-write* (literal \"/w/src\"))\n\
            (deny file-write* (subpath \"/w/src/a.rs\"))\n\
            (deny file-write* (subpath \"/w/src/\\\"new\\\".rs\"))\n\
            (deny signal)\n(allow signal (target same-sandbox))\n";
        assert_eq!(text, want);
    }
}
