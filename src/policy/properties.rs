//! Laws of the decision, tried on random calls and surroundings: somebody else's claim can only
//! make a verdict stricter, and its end only milder. Pure.

use proptest::prelude::*;

use super::decide;
use super::facts::{
    Actor, Basis, CommitScope, Effect, Facts, Hold, Kind, Neighbour, Root, RootKind, Scope, Staged,
    StashUse, Why,
};
use super::lane::{AbsPath, Pid};
use super::rules::ALL_GATES;
use super::verdict::{Holder, Verdict};

const PATHS: [&str; 8] = [
    "/w/app",
    "/w/app/a",
    "/w/app/a/b",
    "/w/app/a/b/c.rs",
    "/w/app/d.rs",
    "/w/app/.git/index",
    "/w/other/e",
    "/w",
];
const ROOTS: [&str; 2] = ["/w/app", "/w/other"];

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn any_path() -> impl Strategy<Value = AbsPath> {
    prop::sample::select(PATHS.to_vec()).prop_map(path)
}

fn any_root() -> impl Strategy<Value = AbsPath> {
    prop::sample::select(ROOTS.to_vec()).prop_map(path)
}

fn any_scope() -> impl Strategy<Value = Scope> {
    let some = || prop::collection::vec(any_path(), 0..3);
    prop_oneof![
        Just(Scope::All),
        Just(Scope::Tracked),
        (some(), some()).prop_map(|(take, leave)| Scope::Paths { take, leave }),
    ]
}

fn any_commit() -> impl Strategy<Value = CommitScope> {
    prop_oneof![
        Just(CommitScope::Index),
        Just(CommitScope::Tracked),
        any_scope().prop_map(CommitScope::Only),
        any_scope().prop_map(CommitScope::Include),
    ]
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let words = String::from("words");
    let (w1, w2, w3, w4, w5, w6, w7, w8, w9) = (
        words.clone(),
        words.clone(),
        words.clone(),
        words.clone(),
        words.clone(),
        words.clone(),
        words.clone(),
        words.clone(),
        words,
    );
    let whys = vec![Why::Operand, Why::Program, Why::Directory, Why::Unterminated];
    prop_oneof![
        any_path().prop_map(|path| Effect::Write { path }),
        any_path().prop_map(|path| Effect::Check { path }),
        any_path().prop_map(|path| Effect::Remove { path }),
        (any_root(), any_scope()).prop_map(move |(root, scope)| Effect::Stage {
            root,
            scope,
            words: w1.clone()
        }),
        (any_root(), any_scope()).prop_map(move |(root, scope)| Effect::Unstage {
            root,
            scope,
            words: w2.clone()
        }),
        (any_root(), any_commit(), any::<bool>()).prop_map(move |(root, scope, amend)| {
            Effect::Commit { root, scope, amend, words: w3.clone() }
        }),
        any_root().prop_map(move |root| Effect::Tree { root, words: w4.clone() }),
        (any_root(), any_scope()).prop_map(move |(root, scope)| Effect::Pathspec {
            root,
            scope,
            words: w5.clone()
        }),
        any_root().prop_map(move |root| Effect::Head { root, words: w6.clone() }),
        any_root().prop_map(move |root| Effect::Stash {
            root,
            take: StashUse::Clear,
            words: w7.clone()
        }),
        any_path().prop_map(move |path| Effect::Worktree { path, words: w8.clone() }),
        (prop::option::of(any_path()), prop::sample::select(whys))
            .prop_map(move |(dir, why)| { Effect::Opaque { dir, why, words: w9.clone() } }),
    ]
}

fn somebody(name: &str) -> Holder {
    let pid = Pid::new(name).unwrap();
    Holder { session: pid.clone(), pid, kind: "session".into(), age: 1, silent: 0 }
}

fn any_hold() -> impl Strategy<Value = Hold> {
    (any_path(), prop::sample::select(vec![Basis::Lane, Basis::Custody])).prop_map(
        |(path, basis)| {
            let root = ROOTS.iter().map(|r| AbsPath::new(r).unwrap()).find(|r| path.within(r));
            Hold { path, root, basis, holder: somebody("other") }
        },
    )
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let staged = prop::option::of(prop::collection::vec(any_path(), 0..3));
    let holds = prop::collection::vec(any_hold(), 0..4);
    let flags = (any::<bool>(), any::<bool>());
    (holds, staged, prop::collection::vec(any_path(), 0..2), flags).prop_map(
        |(holds, staged, loose, (neighbour, sweeps))| {
            let pid = Pid::new("me").unwrap();
            let actor = Actor { session: pid.clone(), pid, kind: Kind::Session, agent_type: None };
            let mut facts = Facts::about(actor);
            for root in ROOTS.map(path) {
                facts.staged.push(Staged { root: root.clone(), paths: staged.clone() });
                if sweeps {
                    facts.sweeping.push(root.clone());
                }
                if neighbour {
                    let holder = somebody("beside");
                    facts.neighbours.push(Neighbour { root: root.clone(), holder, forked: false });
                }
                let git_dir = root.join(".git");
                let common = git_dir.clone();
                facts.roots.push(Root { path: root, kind: RootKind::Main, git_dir, common });
            }
            facts.holds = holds;
            facts.loose = loose;
            facts
        },
    )
}

fn denied(effects: &[Effect], facts: &Facts) -> bool {
    decide(effects, facts, ALL_GATES).verdict != Verdict::Allow
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..Default::default() })]

    #[test]
    fn one_more_claim_of_somebody_else_never_opens_anything(
        effects in prop::collection::vec(any_effect(), 1..4),
        facts in any_facts(),
        hold in any_hold(),
        place in any::<prop::sample::Index>(),
    ) {
        let mut more = facts.clone();
        more.holds.insert(place.index(facts.holds.len() + 1), hold);
        prop_assert!(!denied(&effects, &facts) || denied(&effects, &more));
    }

    #[test]
    fn the_end_of_somebody_elses_claim_never_closes_anything(
        effects in prop::collection::vec(any_effect(), 1..4),
        facts in any_facts(),
        gone in any::<prop::sample::Index>(),
    ) {
        if !facts.holds.is_empty() {
            let mut less = facts.clone();
            less.holds.remove(gone.index(facts.holds.len()));
            prop_assert!(denied(&effects, &facts) || !denied(&effects, &less));
        }
    }

    #[test]
    fn one_more_effect_never_opens_anything(
        effects in prop::collection::vec(any_effect(), 1..4),
        one in any_effect(),
        facts in any_facts(),
    ) {
        let mut more = effects.clone();
        more.push(one);
        prop_assert!(!denied(&effects, &facts) || denied(&more, &facts));
    }

    #[test]
    fn what_is_claimed_meets_no_lane_of_somebody_else(
        effects in prop::collection::vec(any_effect(), 1..4),
        facts in any_facts(),
    ) {
        let outcome = decide(&effects, &facts, ALL_GATES);
        for claim in &outcome.claims {
            let met = facts.holds.iter().find(|h| h.basis == Basis::Lane && h.path.overlaps(claim));
            prop_assert!(met.is_none(), "{} meets {:?}", claim, met);
        }
    }
}
