//! The rules: one row each, in order of precedence. The id stands in the denial, the journal,
//! `octo explain` and the README's table; the judge is one pure function.

use super::facts::{Effect, Facts};
use super::gate::{arm, dimension, floor, lane, opaque, shared, tree};
use super::verdict::{Denial, RuleId};

/// A boundary and the rules that guard it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// What is the operator's.
    Floor,
    /// A forked session's shared checkout.
    Shared,
    /// Broad staging beside another session.
    Dimension,
    /// Verbs that take a whole tree, an index or a history.
    Tree,
    /// Paths somebody else works on.
    Lane,
    /// From one arm into another.
    Arm,
    /// Failures of the gate itself.
    Guard,
    /// What the kernel fence stopped.
    Fence,
}

/// Every gate that judges effects.
pub const ALL_GATES: &[Gate] =
    &[Gate::Floor, Gate::Shared, Gate::Dimension, Gate::Tree, Gate::Lane, Gate::Arm, Gate::Guard];

impl Gate {
    /// The gate's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Shared => "shared",
            Self::Dimension => "dimension",
            Self::Tree => "tree",
            Self::Lane => "lane",
            Self::Arm => "arm",
            Self::Guard => "guard",
            Self::Fence => "fence",
        }
    }
}

/// One rule.
pub struct Rule {
    /// `area.name`.
    pub id: RuleId,
    /// The boundary it guards.
    pub gate: Gate,
    /// Objects to an effect, or does not.
    pub judge: fn(&Effect, &Facts) -> Option<Denial>,
    /// What it refuses, for people.
    pub summary: &'static str,
    /// What to do instead, for people.
    pub remedy: &'static str,
}

/// All rules that judge effects, floor first.
pub static RULES: &[Rule] = &[
    Rule {
        id: floor::STATE,
        gate: Gate::Floor,
        judge: floor::state,
        summary: "a change to the kernel's own state, by any spelling of its path",
        remedy: "none for an agent: the table and journals are written by hooks only; an operator uses `octo ps --release`, `octo prune`, `octo doctor --repair`",
    },
    Rule {
        id: floor::WIRING,
        gate: Gate::Floor,
        judge: floor::wiring,
        summary: "a change that would lose or disable the hooks: settings entries, the plugin, the binary, its links, its configuration",
        remedy: "keep our entries as they are, or ask the operator (`octo uninstall`, `octo off --for 10m`)",
    },
    Rule {
        id: floor::OPERATOR,
        gate: Gate::Floor,
        judge: floor::operator,
        summary: "an operator's command run by an agent (`octo ps --release`, `octo off`, another process's id, a hook fed by hand)",
        remedy: "ask the person at the terminal; `octo ps`, `octo explain` and `octo yield` are yours",
    },
    Rule {
        id: shared::FORK,
        gate: Gate::Shared,
        judge: shared::fork,
        summary: "the first write of a session in a checkout that another live session was using before it",
        remedy: "work in the worktree the denial names; it was made for this session",
    },
    Rule {
        id: shared::READ_ONLY,
        gate: Gate::Shared,
        judge: shared::read_only,
        summary: "a write into the shared checkout by a session that has a worktree of its own",
        remedy: "use the same path in your own worktree; the denial names it",
    },
    Rule {
        id: dimension::STAGING,
        gate: Gate::Dimension,
        judge: dimension::staging,
        summary: "broad staging (`git add -A`, `git add .`, `git commit -a`) in a checkout that another live session is using",
        remedy: "stage explicit paths, or work in a worktree of your own",
    },
    Rule {
        id: tree::STAGING,
        gate: Gate::Tree,
        judge: tree::staging,
        summary: "staging or committing paths somebody else is working on or left uncommitted",
        remedy: "stage your own paths by name",
    },
    Rule {
        id: tree::COMMIT,
        gate: Gate::Tree,
        judge: tree::commit,
        summary: "a bare commit while the index holds somebody else's staged work, or a commit whose hooks sweep the tree",
        remedy: "`git commit -- PATHS` with your own paths",
    },
    Rule {
        id: tree::INDEX,
        gate: Gate::Tree,
        judge: tree::index,
        summary: "taking somebody else's staged work out of the index",
        remedy: "name your own paths: `git restore --staged -- PATHS`",
    },
    Rule {
        id: tree::WHOLE,
        gate: Gate::Tree,
        judge: tree::whole,
        summary: "a verb that takes the whole tree or moves its HEAD (`checkout BRANCH`, `reset --hard`, `stash`, `clean -f`, `pull`, `merge`, `rebase`) while somebody else has work in it",
        remedy: "run it in a worktree of your own",
    },
    Rule {
        id: tree::PATHSPEC,
        gate: Gate::Tree,
        judge: tree::pathspec,
        summary: "throwing away uncommitted content of paths that are somebody else's (`checkout -- p`, `restore p`)",
        remedy: "name your own paths",
    },
    Rule {
        id: tree::HISTORY,
        gate: Gate::Tree,
        judge: tree::history,
        summary: "replacing or moving away from a commit that is somebody else's while they live (`commit --amend`, `reset --soft`, `update-ref HEAD`)",
        remedy: "make a commit of your own, or work in a worktree of your own",
    },
    Rule {
        id: tree::STASH,
        gate: Gate::Tree,
        judge: tree::stash,
        summary: "taking or dropping a stash entry that is not your own (the stack is shared by all worktrees)",
        remedy: "`git stash list`, then `git stash apply SHA` of your own entry; keep work in a commit instead",
    },
    Rule {
        id: tree::OPERATION,
        gate: Gate::Tree,
        judge: tree::operation,
        summary: "continuing or aborting a merge, rebase, cherry-pick or revert that somebody else began",
        remedy: "leave it to who began it, or work in a worktree of your own",
    },
    Rule {
        id: tree::BRANCH,
        gate: Gate::Tree,
        judge: tree::branch,
        summary: "deleting or moving a branch, or removing a worktree, that a live session works on",
        remedy: "wait until the session has ended; `octo worktree list` shows who uses what",
    },
    Rule {
        id: lane::HELD,
        gate: Gate::Lane,
        judge: lane::held,
        summary: "a write to a path another live process holds, by equality or prefix; the parent is not privileged",
        remedy: "wait for the holder, or work in a worktree of your own",
    },
    Rule {
        id: lane::TAKEN,
        gate: Gate::Lane,
        judge: lane::taken,
        summary: "removing or moving a path that holds somebody else's lane or uncommitted work",
        remedy: "remove only what is yours, by name",
    },
    Rule {
        id: arm::CROSS,
        gate: Gate::Arm,
        judge: arm::cross,
        summary: "a write from one declared arm into another",
        remedy: "ask a session of that arm, or the brain",
    },
    Rule {
        id: arm::UNREADABLE,
        gate: Gate::Arm,
        judge: arm::unreadable,
        summary: "a write that leaves the session's own repository while the arms' boundary file can't be read",
        remedy: "the operator mends `company/config/arms-paths.json`; `octo doctor` shows where it breaks",
    },
    Rule {
        id: opaque::OPAQUE,
        gate: Gate::Guard,
        judge: opaque::opaque,
        summary: "a command that could not be read, where somebody else has work at stake",
        remedy: "write the command plainly (no generated text, names instead of run-time values), or run it in a worktree of your own",
    },
];

/// A rule whose denial is made by the gate's own failure, not by an effect.
pub struct GuardRule {
    /// `gate.name` or `fence.name`.
    pub id: RuleId,
    /// What happened.
    pub summary: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// Rules outside the judging of effects.
pub static GUARDS: &[GuardRule] = &[
    GuardRule {
        id: RuleId("gate.payload"),
        summary: "the hook's input could not be read",
        remedy: "`octo doctor` shows whether the wiring matches the client",
    },
    GuardRule {
        id: RuleId("gate.size"),
        summary: "the hook's input is larger than 64 MiB",
        remedy: "split the change",
    },
    GuardRule {
        id: RuleId("gate.state"),
        summary: "the process table can't be used while others are about",
        remedy: "the operator runs `octo doctor --repair` in a terminal",
    },
    GuardRule {
        id: RuleId("gate.panic"),
        summary: "an internal error",
        remedy: "the operator runs `octo doctor`; the report is in the kernel's folder",
    },
    GuardRule {
        id: RuleId("gate.deadline"),
        summary: "the decision took too long (slow disk, stuck lock)",
        remedy: "try again; if it stays, the operator runs `octo doctor`",
    },
    GuardRule {
        id: RuleId("gate.crash"),
        summary: "the gate crashed",
        remedy: "the operator runs `octo doctor`",
    },
    GuardRule {
        id: RuleId("gate.config"),
        summary: "the configuration can't be read",
        remedy: "the operator runs `octo config check`",
    },
    GuardRule {
        id: RuleId("gate.off"),
        summary: "nothing: the operator switched the gates off for a while (`octo off`)",
        remedy: "`octo on`",
    },
    GuardRule {
        id: RuleId("keep.bounds"),
        summary: "a destructive verb over somebody else's uncommitted work that is too big to be kept first",
        remedy: "wait until they have committed, or work in a worktree of your own",
    },
    GuardRule {
        id: RuleId("fence.held"),
        summary: "a running command touched a path the kernel fence keeps for its holder",
        remedy: "wait for the holder, or do this in a worktree of your own",
    },
    GuardRule {
        id: RuleId("fence.gitdir"),
        summary: "a running command changed a git directory in which somebody else is at work",
        remedy: "name your own paths (git add PATH, git commit -- PATH), or use a worktree of your own",
    },
    GuardRule {
        id: RuleId("fence.pinned"),
        summary: "a running command moved a folder that contains something held, or renamed across its border",
        remedy: "copy instead of renaming, or do this in a worktree of your own",
    },
    GuardRule {
        id: RuleId("fence.closed"),
        summary: "a running command wrote where every command is kept out (the table's folder, the checkout a session was sent away from)",
        remedy: "work in your own worktree",
    },
    GuardRule {
        id: RuleId("fence.outside"),
        summary: "a running command wrote outside the folders it may write in",
        remedy: "write below your work tree or a temporary folder; the operator opens folders with the setting fence_write",
    },
];

/// A rule by its id.
#[must_use]
pub fn find(id: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let judged = RULES.iter().find(|r| r.id.0 == id).map(|r| (r.gate.name(), r.summary, r.remedy));
    judged.or_else(|| {
        GUARDS.iter().find(|r| r.id.0 == id).map(|r| {
            let gate = if r.id.0.starts_with("fence.") { Gate::Fence } else { Gate::Guard };
            (gate.name(), r.summary, r.remedy)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_have_an_area() {
        let ids: Vec<_> =
            RULES.iter().map(|r| r.id.0).chain(GUARDS.iter().map(|r| r.id.0)).collect();
        for id in &ids {
            assert_eq!(ids.iter().filter(|i| *i == id).count(), 1, "{id}");
            assert!(id.split_once('.').is_some_and(|(a, n)| !a.is_empty() && !n.is_empty()));
        }
    }

    #[test]
    fn floor_rules_stand_first() {
        let first = RULES.iter().position(|r| r.gate != Gate::Floor).unwrap();
        assert!(RULES.iter().skip(first).all(|r| r.gate != Gate::Floor));
    }
}
