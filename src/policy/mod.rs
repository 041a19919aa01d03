//! The decision: facts in, outcome out. No file system, environment, process, clock or table.

pub mod effect;
pub mod facts;
pub mod gate;
pub mod lane;
pub mod program;
#[cfg(test)]
mod properties;
pub mod rules;
pub mod scope;
pub mod shell;
pub mod telling;
pub mod verdict;

use std::collections::HashSet;

use facts::{Effect, Facts, Scope, Stand, Untracked};
use rules::{Gate, RULES};
use verdict::{Denial, Keep, Kept, Outcome, Verdict};

/// Judges what a call would do. The strictest rule that objects to any effect wins: rules stand in
/// order of precedence, effects in the order of the text. Only the rules of `gates` are asked.
pub fn decide(effects: &[Effect], facts: &Facts, gates: &[Gate]) -> Outcome {
    let objection = RULES.iter().filter(|rule| gates.contains(&rule.gate)).find_map(|rule| {
        effects.iter().find_map(|effect| (rule.judge)(effect, facts)).map(|denial| (rule, denial))
    });
    let denial = objection.map(|(rule, denial)| Denial { rule: rule.id, ..denial });
    match denial {
        Some(denial) => refuse(denial),
        None => allow(effects, facts),
    }
}

fn refuse(denial: Denial) -> Outcome {
    let fork = (denial.rule == gate::shared::FORK).then(|| denial.root.clone()).flatten();
    Outcome {
        verdict: Verdict::Deny(Box::new(denial)),
        claims: Vec::new(),
        keeps: Vec::new(),
        notices: Vec::new(),
        fork,
    }
}

fn allow(effects: &[Effect], facts: &Facts) -> Outcome {
    let mut outcome = Outcome {
        verdict: Verdict::Allow,
        claims: Vec::new(),
        keeps: Vec::new(),
        notices: Vec::new(),
        fork: None,
    };
    let loose: HashSet<&lane::AbsPath> = facts.loose.iter().collect();
    let mut claimed = HashSet::new();
    for effect in effects {
        if let Effect::Write { path } = effect {
            if !loose.contains(path) && claimed.insert(path) {
                outcome.claims.push(path.clone());
            }
            build_on(path, facts, &mut outcome);
        }
        for keep in threatened(effect, effects, facts) {
            if !outcome.keeps.contains(&keep) {
                outcome.keeps.push(keep);
            }
        }
    }
    once(&mut outcome.keeps);
    outcome
}

/// A tree whose loose files are all held needs no second snapshot of those git does not know.
fn once(keeps: &mut Vec<Keep>) {
    let whole = |keep: &&Keep| keep.what == Kept::Loose && keep.path.is_none();
    let roots: Vec<lane::AbsPath> = keeps.iter().filter(whole).map(|k| k.root.clone()).collect();
    keeps.retain(|k| k.what != Kept::Untracked(Untracked::Unknown) || !roots.contains(&k.root));
    for keep in keeps.iter_mut().filter(|k| roots.contains(&k.root)) {
        if keep.what == Kept::Untracked(Untracked::Both) {
            keep.what = Kept::Untracked(Untracked::Ignored);
        }
    }
}

/// What an effect throws away that git would not give back. A moved HEAD is not among it: the
/// reflogs of HEAD and of the branch name every commit it leaves.
fn threatened(effect: &Effect, all: &[Effect], facts: &Facts) -> Vec<Keep> {
    let keep = |root: &lane::AbsPath, path: Option<&lane::AbsPath>, what| Keep {
        root: root.clone(),
        path: path.cloned(),
        what,
        whose: None,
    };
    match effect {
        Effect::Remove { path } => {
            let loose = facts.loose.contains(path);
            let what = if loose { Kept::Ignored } else { Kept::Loose };
            facts.root_of(path).map(|root| keep(&root.path, Some(path), what)).into_iter().collect()
        }
        Effect::Tree { root, words } | Effect::Pathspec { root, words, .. } => {
            let cleans = |e: &Effect| matches!(e, Effect::Untracked { words: w, .. } if w == words);
            if all.iter().any(cleans) { Vec::new() } else { vec![keep(root, None, Kept::Loose)] }
        }
        Effect::Untracked { root, scope: Scope::Paths { take, .. }, which, .. } => {
            take.iter().map(|path| keep(root, Some(path), Kept::Untracked(*which))).collect()
        }
        Effect::Untracked { root, which, .. } => vec![keep(root, None, Kept::Untracked(*which))],
        Effect::Worktree { path, .. } => vec![keep(path, None, Kept::WorkTree)],
        Effect::Branch { root, branch, .. } => {
            vec![keep(root, None, Kept::Branch(branch.clone()))]
        }
        Effect::Stash { root, take, .. } => vec![keep(root, None, Kept::Stash(take.clone()))],
        Effect::Write { .. }
        | Effect::Check { .. }
        | Effect::Meta { .. }
        | Effect::Stage { .. }
        | Effect::Unstage { .. }
        | Effect::Commit { .. }
        | Effect::Head { .. }
        | Effect::Sequencer { .. }
        | Effect::Operator(_)
        | Effect::Opaque { .. } => Vec::new(),
    }
}

/// A write onto somebody else's uncommitted bytes passes, says so, and the bytes are kept.
fn build_on(path: &lane::AbsPath, facts: &Facts, outcome: &mut Outcome) {
    let Some(left) = facts.left.iter().find(|l| l.path.overlaps(path)) else { return };
    let (who, owner) = (&left.writer, &left.owner);
    let now = if owner.pid == who.pid {
        String::new()
    } else {
        format!(", now with {} {}", owner.kind, owner.pid)
    };
    outcome.notices.push(format!(
        "{path} has uncommitted work of {} {}{now}: you build on it; the bytes you replace were kept",
        who.kind, who.pid
    ));
    if let Some(root) = &left.root {
        outcome.keeps.push(Keep {
            root: root.clone(),
            path: Some(left.path.clone()),
            what: Kept::Loose,
            whose: Some(owner.pid.clone()),
        });
    }
}

/// Where the session stands in a root.
#[must_use]
pub fn stand<'f>(facts: &'f Facts, root: &lane::AbsPath) -> &'f Stand {
    static RESIDENT: Stand = Stand::Resident;
    facts.stands.iter().find(|(r, _)| r == root).map_or(&RESIDENT, |(_, s)| s)
}
