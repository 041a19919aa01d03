//! The settings, one row each: key, kind, default, what it does, what a project may do with it.
//! Choices stand from loosest to tightest, so "tighter" is a position and not an opinion.

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of these words, loosest first.
    Choice(&'static [&'static str]),
    /// `true` or `false`; `true` is tighter.
    Flag,
    /// A whole number.
    Number {
        /// Smallest that is taken.
        min: u64,
        /// Largest that is taken.
        max: u64,
    },
    /// Free text; the empty text means "not set".
    Text,
    /// A list of texts.
    List,
}

/// What the file of a repository may do with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Project {
    /// Set it: it says how the repository is worked on, and protects nobody.
    Free,
    /// Set it tighter than the person has it; a looser value has no effect.
    Tighten,
    /// Nothing: it runs a program, names a folder of the machine, or is the person's own taste.
    Never,
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its name in the file, a dot for a table.
    pub key: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// The default, as TOML.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What a project may do with it.
    pub project: Project,
}

const fn row(
    key: &'static str,
    kind: Kind,
    default: &'static str,
    project: Project,
    doc: &'static str,
) -> Row {
    Row { key, kind, default, doc, project }
}

const DAY: u64 = 86_400;
const MANY: u64 = 1 << 40;

/// All settings, in the order of the documentation.
pub const ROWS: &[Row] = &[
    row(
        "isolation",
        Kind::Choice(&["off", "auto", "always"]),
        "\"auto\"",
        Project::Free,
        "When a session gets a worktree of its own: `auto` at its first write beside another live \
         session, `always` at its first write, `off` never.",
    ),
    row(
        "isolation_bypass",
        Kind::Choice(&["off", "auto", "always"]),
        "\"auto\"",
        Project::Free,
        "The same for sessions that approve every call by themselves.",
    ),
    row(
        "subagents",
        Kind::Choice(&["shared", "worktree"]),
        "\"shared\"",
        Project::Tighten,
        "Whether subagents work in their session's tree or each in a tree of its own.",
    ),
    row(
        "land",
        Kind::Choice(&["auto", "pr", "ask", "never"]),
        "\"ask\"",
        Project::Tighten,
        "What happens to a session's branch when it ends: merged, pushed with a request opened, \
         offered, or left alone. Never deleted.",
    ),
    row(
        "require",
        Kind::Flag,
        "false",
        Project::Tighten,
        "Stop the prompt when a worktree could not be made, instead of working in the shared \
         checkout.",
    ),
    row(
        "fallback",
        Kind::Text,
        "\"\"",
        Project::Never,
        "Folder for a plain copy when a worktree could not be made.",
    ),
    row(
        "fence",
        Kind::Choice(&["off", "on", "require"]),
        "\"on\"",
        Project::Tighten,
        "Run shell commands behind the kernel's fence: `on` where the machine can, `require` \
         refuses where it cannot.",
    ),
    row(
        "fence_write",
        Kind::List,
        "[]",
        Project::Never,
        "More folders that a command behind the fence may write in, besides its work trees, \
         temporary folders and caches.",
    ),
    row(
        "lease_seconds",
        Kind::Number { min: 60, max: 7 * DAY },
        "900",
        Project::Tighten,
        "Seconds of silence after which a process loses its lanes. Longer is tighter.",
    ),
    row(
        "lane_idle_seconds",
        Kind::Number { min: 0, max: 7 * DAY },
        "0",
        Project::Never,
        "Seconds without a write after which a single lane ends while its holder works on \
         elsewhere; 0 for never.",
    ),
    row(
        "broad_stagers",
        Kind::List,
        "[]",
        Project::Tighten,
        "Commands that stage everything they find, like `ai-push`: judged as `git add -A`. A \
         project adds to the list.",
    ),
    row(
        "resolver",
        Kind::Text,
        "\"\"",
        Project::Never,
        "Command that is started in a prepared worktree to settle a conflict.",
    ),
    row(
        "notify",
        Kind::Text,
        "\"\"",
        Project::Never,
        "Command that gets a notice for a person as its last argument; `desktop` for the desktop's \
         own.",
    ),
    row(
        "worktree.location",
        Kind::Text,
        "\"\"",
        Project::Never,
        "Where worktrees are made: empty for ~/.octorato, `sibling` for <repo>-worktrees beside \
         the checkout, or a folder.",
    ),
    row(
        "worktree.base",
        Kind::Text,
        "\"head\"",
        Project::Free,
        "What a worktree starts from: `head` of the checkout, `fresh` for the published default \
         branch, or any ref.",
    ),
    row(
        "worktree.setup",
        Kind::List,
        "[]",
        Project::Free,
        "Commands run in the background in a new worktree. A project's own run only after a \
         person approved that exact text.",
    ),
    row(
        "worktree.copy",
        Kind::List,
        "[\"/.env*\"]",
        Project::Free,
        "Ignored files that a new worktree gets copies of, as .gitignore patterns.",
    ),
    row(
        "worktree.ports",
        Kind::Number { min: 0, max: 100 },
        "0",
        Project::Free,
        "Ports reserved for each worktree and written to its environment file; 0 for none.",
    ),
    row(
        "worktree.min_free_mb",
        Kind::Number { min: 0, max: MANY },
        "512",
        Project::Tighten,
        "Megabytes that must stay free on the volume when a worktree is made.",
    ),
    row(
        "retention.days",
        Kind::Number { min: 1, max: 36_500 },
        "30",
        Project::Never,
        "Days that journals of ended sessions and kept snapshots stay.",
    ),
    row(
        "retention.megabytes",
        Kind::Number { min: 16, max: MANY },
        "512",
        Project::Never,
        "Megabytes that journals may fill before the oldest ended ones go.",
    ),
    row(
        "retention.journal_kilobytes",
        Kind::Number { min: 16, max: MANY },
        "4096",
        Project::Never,
        "Kilobytes after which a session's journal goes on in a new segment; `octo prune` lets \
         old segments go while the session lives on.",
    ),
];

/// The row of a key.
#[must_use]
pub(super) fn find(key: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layer::{Layer, parse};

    #[test]
    fn every_default_is_a_value_of_its_own_row() {
        for row in ROWS {
            let line = match row.key.split_once('.') {
                Some((table, key)) => format!("[{table}]\n{key} = {}\n", row.default),
                None => format!("{} = {}\n", row.key, row.default),
            };
            let layer: Layer = parse(&line).unwrap_or_else(|why| panic!("{line}: {why:?}"));
            assert!(layer.contains_key(row.key));
        }
    }

    #[test]
    fn keys_are_unique() {
        for (at, row) in ROWS.iter().enumerate() {
            assert!(ROWS[at + 1..].iter().all(|other| other.key != row.key), "{}", row.key);
        }
    }
}
