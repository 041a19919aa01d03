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
        let Some((_, refusal)) = REFUSALS.iter().find(|(word, _)| line.contains(word)) else {
            continue;
        };
        for path in paths(line, plan) {
            let Some(hit) = closed(&path, *refusal, line, plan) else { continue };
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

fn closed(path: &AbsPath, refusal: Refusal, line: &str, plan: &FencePlan) -> Option<Hit> {
    let hit = |kind, at: &AbsPath, hold: Option<&Hold>| {
        Some(Hit { kind, path: at.clone(), hold: hold.cloned(), line: line.trim().to_owned() })
    };
    // The innermost reason is the one that is felt.
    let inner = plan
        .closed
        .iter()
        .filter(|(at, _)| path.within(at))
        .max_by_key(|(at, _)| at.as_path().components().count());
    if let Some((at, why)) = inner {
        return match why {
            Why::Held(hold) => hit(Kind::Held, at, Some(hold)),
            Why::GitDir { hold, .. } => hit(Kind::GitDir, at, hold.as_ref()),
            Why::Closed => hit(Kind::Closed, at, None),
        };
    }
    let pin = plan.mounts.iter().find(|m| m.mode == Mode::Pin && path.within(&m.path));
    let above = plan.closed.iter().find(|(at, _)| at.within(path) && at != path);
    match refusal {
        Refusal::Across | Refusal::Busy => {
            let hold = above.and_then(|(_, why)| match why {
                Why::Held(hold) => Some(hold),
                Why::GitDir { hold, .. } => hold.as_ref(),
                Why::Closed => None,
            });
            let at = pin.map(|m| &m.path).or(above.map(|_| path))?;
            hit(Kind::Pinned, at, hold)
        }
        // A plain word of the sentence joined to a folder is inside that folder, so only what is
        // outside of all of them can be meant here.
        Refusal::Denied if !plan.write.iter().any(|w| path.within(w)) && line.contains('/') => {
            let written = line.contains(path.key().as_ref());
            written.then(|| hit(Kind::Outside, path, None)).flatten()
        }
        Refusal::Denied | Refusal::ReadOnly => None,
    }
}
