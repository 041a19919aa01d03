//! PURE. Why a fenced command failed: finds, in what it printed, the kernel's refusals and the
//! closed path each is about. It must not call an ordinary failure ours: a line counts only when
//! it names a refusal and a path this fence closes.

use super::plan::{FencePlan, Mode, Why};
use crate::policy::facts::Hold;
use crate::policy::lane::AbsPath;

/// How the fence was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Somebody's lane.
    Held,
    /// A git directory in which somebody else is at work.
    GitDir,
    /// A folder that contains something held cannot be moved or removed, and nothing can be renamed
    /// across its border.
    Pinned,
    /// Closed to every command (the table's folder, a shared checkout).
    Closed,
    /// Outside the folders this command may write in.
    Outside,
}

impl Kind {
    /// The rule's id in denials and the journal.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Held => "fence.held",
            Self::GitDir => "fence.gitdir",
            Self::Pinned => "fence.pinned",
            Self::Closed => "fence.closed",
            Self::Outside => "fence.outside",
        }
    }

    /// What to do instead.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Held => "wait for the holder, or do this in a worktree of your own",
            Self::GitDir => {
                "name your own paths (git add PATH, git commit -- PATH), or use a worktree of \
                 your own"
            }
            Self::Pinned => "copy instead of renaming, or do this in a worktree of your own",
            Self::Closed => "work in your own worktree; this place is closed to every command",
            Self::Outside => {
                "write below your work tree or a temporary folder; the operator can open a folder \
                 with the setting fence_write"
            }
        }
    }
}

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// How.
    pub kind: Kind,
    /// The closed path.
    pub path: AbsPath,
    /// Whose it is.
    pub hold: Option<Hold>,
    /// The line that says so.
    pub line: String,
}

impl Hit {
    /// What to do instead.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        // A worktree shares it, so the usual advice would lead nowhere.
        if self.kind == Kind::GitDir && self.line.contains("config file") {
            return "the configuration is one for all worktrees: give the setting to one command \
                    (git -c NAME=VALUE ...), or let the operator make it";
        }
        self.kind.remedy()
    }
}

/// What the kernel says when it refuses, as C libraries and runtimes print it.
const REFUSALS: [(&str, Refusal); 17] = [
    ("Read-only file system", Refusal::ReadOnly),
    ("ReadOnlyFilesystem", Refusal::ReadOnly),
    ("EROFS", Refusal::ReadOnly),
    ("os error 30", Refusal::ReadOnly),
    ("Errno 30", Refusal::ReadOnly),
    ("Permission denied", Refusal::Denied),
    ("PermissionError", Refusal::Denied),
    ("EACCES", Refusal::Denied),
    ("os error 13", Refusal::Denied),
    ("Invalid cross-device link", Refusal::Across),
    ("EXDEV", Refusal::Across),
    ("os error 18", Refusal::Across),
    ("Cross-device link", Refusal::Across),
    ("Device or resource busy", Refusal::Busy),
    ("EBUSY", Refusal::Busy),
    ("os error 16", Refusal::Busy),
    ("Resource busy", Refusal::Busy),
];

/// What git says of its index without a word about where and why.
const UNWRITTEN: [&str; 3] =
    ["could not write index", "unable to write new index file", "Unable to write index"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    ReadOnly,
    Denied,
    Across,
    Busy,
}

/// Finds the refusals in `stderr`. A command that succeeded (`exit` 0) hit nothing that mattered.
#[must_use]
pub fn explain(stderr: &str, exit: Option<i32>, plan: &FencePlan) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    if exit == Some(0) {
        return hits;
    }
    for line in stderr.lines() {
        if UNWRITTEN.iter().any(|words| line.contains(words)) {
            hits.extend(index(line, plan).filter(|hit| !hits.iter().any(|h| h.path == hit.path)));
            continue;
        }
        let Some((_, refusal)) = REFUSALS.iter().find(|(word, _)| line.contains(word)) else {
            continue;
        };
        let words = paths(line, plan);
        let mut here: Vec<Hit> = words.iter().filter_map(|p| closed(p, line, plan)).collect();
        if here.is_empty() {
            here.extend(match refusal {
                Refusal::Across | Refusal::Busy => pinned(&words, line, plan),
                Refusal::Denied => outside(&words, line, plan),
                Refusal::ReadOnly => None,
            });
        }
        for hit in here {
            if !hits.iter().any(|h| h.kind == hit.kind && h.path == hit.path) {
                hits.push(hit);
            }
        }
    }
    hits
}

/// The paths a line may name: quoted pieces, and words with punctuation taken off. Relative ones
/// count from where the command started and from the top of its trees, as git prints them.
fn paths(line: &str, plan: &FencePlan) -> Vec<AbsPath> {
    let mut words: Vec<&str> = line.split(['\'', '"', '`', '\u{2018}', '\u{2019}']).collect();
    words.extend(line.split_whitespace());
    let bases: Vec<&AbsPath> = std::iter::once(&plan.dir).chain(&plan.trees).collect();
    let mut out = Vec::new();
    for word in words {
        let word = word.trim_matches(|c: char| "'\"`:,;()[]<>\u{2018}\u{2019}".contains(c));
        if word.is_empty() || word.len() > 4096 {
            continue;
        }
        match AbsPath::new(word) {
            Some(path) => out.push(path),
            None if word.starts_with('-') => {}
            None => out.extend(bases.iter().map(|base| base.join(word))),
        }
    }
    out
}

/// The innermost reason for which a path is closed: the one that is felt.
fn closed(path: &AbsPath, line: &str, plan: &FencePlan) -> Option<Hit> {
    let (at, why) = plan
        .closed
        .iter()
        .filter(|(at, _)| path.within(at))
        .max_by_key(|(at, _)| at.as_path().components().count())?;
    let kind = match why {
        Why::Held(_) => Kind::Held,
        Why::GitDir { .. } => Kind::GitDir,
        Why::Closed => Kind::Closed,
    };
    Some(Hit { kind, path: at.clone(), hold: holder(why), line: line.trim().to_owned() })
}

/// The closed git directory of the checkout the command started in.
fn index(line: &str, plan: &FencePlan) -> Option<Hit> {
    let here = |root: &AbsPath| plan.dir.within(root);
    let (at, why) = plan
        .closed
        .iter()
        .find(|(_, why)| matches!(why, Why::GitDir { root, hold: Some(_) } if here(root)))?;
    let line = line.trim().to_owned();
    Some(Hit { kind: Kind::GitDir, path: at.clone(), hold: holder(why), line })
}

/// A folder that cannot be moved, or across whose border nothing can: the folder the line names, or
/// the innermost one around what it names.
fn pinned(words: &[AbsPath], line: &str, plan: &FencePlan) -> Option<Hit> {
    let inside = |at: &AbsPath| plan.trees.iter().any(|t| at.within(t) && at != t);
    let named = words.iter().filter(|p| plan.closed.iter().any(|(at, _)| at.within(p)));
    let around = plan.mounts.iter().filter(|m| m.mode == Mode::Pin).map(|m| &m.path);
    let around = around.filter(|pin| inside(pin) && words.iter().any(|p| p.within(pin)));
    let at = named
        .filter(|p| inside(p))
        .chain(around)
        .max_by_key(|at| at.as_path().components().count())?;
    let hold = plan.closed.iter().filter(|(c, _)| c.within(at)).find_map(|(_, why)| holder(why));
    Some(Hit { kind: Kind::Pinned, path: at.clone(), hold, line: line.trim().to_owned() })
}

/// A path written out in the line that lies outside of every write folder.
fn outside(words: &[AbsPath], line: &str, plan: &FencePlan) -> Option<Hit> {
    let path = words
        .iter()
        .find(|p| line.contains(p.key().as_ref()) && !plan.write.iter().any(|w| p.within(w)))?;
    Some(Hit { kind: Kind::Outside, path: path.clone(), hold: None, line: line.trim().to_owned() })
}

fn holder(why: &Why) -> Option<Hold> {
    match why {
        Why::Held(hold) => Some(hold.clone()),
        Why::GitDir { hold, .. } => hold.clone(),
        Why::Closed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::plan::Mount;
    use crate::policy::facts::Basis;
    use crate::policy::lane::Pid;
    use crate::policy::verdict::Holder;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn plan() -> FencePlan {
        let pid = Pid::new("a-1").unwrap();
        let holder =
            Holder { session: pid.clone(), pid, kind: "builder".into(), age: 9, silent: 4 };
        let hold = Hold {
            path: abs("/w/src/auth/held.rs"),
            root: Some(abs("/w")),
            basis: Basis::Lane,
            holder,
        };
        let git = Why::GitDir { root: abs("/w"), hold: Some(hold.clone()) };
        FencePlan {
            mounts: vec![Mount { path: abs("/w/src/auth"), mode: Mode::Pin }],
            closed: vec![
                (abs("/w/src/auth/held.rs"), Why::Held(hold)),
                (abs("/w/.git"), git),
                (abs("/h/kernel"), Why::Closed),
            ],
            write: vec![abs("/w"), abs("/tmp")],
            absent: Vec::new(),
            aliased: Vec::new(),
            links: Vec::new(),
            trees: vec![abs("/w")],
            dir: abs("/w/src"),
        }
    }

    fn kinds(text: &str) -> Vec<(&'static str, String)> {
        let hits = explain(text, Some(1), &plan());
        hits.iter().map(|h| (h.kind.rule(), h.path.to_string())).collect()
    }

    #[test]
    fn a_refusal_is_recognised_however_it_is_worded() {
        let held = ("fence.held", "/w/src/auth/held.rs".to_owned());
        for line in [
            "bash: line 1: auth/held.rs: Read-only file system",
            "bash: /w/src/auth/held.rs: Read-only file system",
            "cp: cannot create regular file '/w/src/auth/held.rs': Read-only file system",
            "rm: cannot remove \u{2018}auth/held.rs\u{2019}: Device or resource busy",
            "error: unable to unlink old 'src/auth/held.rs': Device or resource busy",
            "OSError: [Errno 30] Read-only file system: '/w/src/auth/held.rs'",
            "Error: EROFS: read-only file system, open '/w/src/auth/held.rs'",
            "failed to write `/w/src/auth/held.rs`: Read-only file system (os error 30)",
        ] {
            assert_eq!(kinds(line), vec![held.clone()], "{line}");
        }
        let git = ("fence.gitdir", "/w/.git".to_owned());
        let lock = "fatal: Unable to create '/w/.git/index.lock': Read-only file system";
        assert_eq!(kinds(lock), vec![git.clone()]);
        assert_eq!(kinds("error: could not write index"), vec![git.clone()]);
        let config = "error: could not lock config file .git/config: Read-only file system";
        let hits = explain(config, Some(255), &FencePlan { dir: abs("/w"), ..plan() });
        assert!(
            hits.iter().all(|h| h.path.to_string() == git.1 && h.remedy().contains("git -c")),
            "{hits:?}"
        );
        let across = "fatal: renaming 'src/auth/free.rs' failed: Invalid cross-device link";
        assert_eq!(kinds(across), vec![("fence.pinned", "/w/src/auth".to_owned())]);
        let outside = "touch: cannot touch '/etc/x': Permission denied";
        assert_eq!(kinds(outside), vec![("fence.outside", "/etc/x".to_owned())]);
    }

    #[test]
    fn what_others_refuse_is_not_called_ours() {
        for line in [
            "cat: /w/src/auth/held.rs: No such file or directory",
            "bash: /w/run.sh: Permission denied",
            "umount: /mnt: target is busy.",
            "mount: /mnt: WARNING: source write-protected, mounted read-only",
            "error[E0308]: mismatched types in src/auth/held.rs",
            "rm: cannot remove '/w/lib/x': Device or resource busy",
        ] {
            assert_eq!(kinds(line), vec![], "{line}");
        }
        let fine = "bash: auth/held.rs: Read-only file system";
        assert!(explain(fine, Some(0), &plan()).is_empty());
    }
}
