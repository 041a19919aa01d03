//! Owns command lines of forges that drive git: what they check out or move here.

use super::super::Call;
use super::super::options::{Style, parse};
use super::super::verbs::{Verb, program};
use crate::policy::facts::Effect;
use crate::policy::shell::Arg;

/// The row.
pub(super) const GH: Verb =
    program(&["gh", "glab"], "checks out or syncs the branch of a pull request", gh).examples(
        &[
            "gh pr checkout 12",
            "gh co 12",
            "gh repo sync",
            "gh pr merge 12 -d",
            "gh issue develop 3 --checkout",
            "glab mr checkout 3",
        ],
        &[
            "gh pr create --body 'git add -A'",
            "gh pr list",
            "gh release list",
            "gh pr checkout --help",
            "gh repo sync o/r",
            "gh issue develop 3",
        ],
    );

fn gh(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "R,repo=",
        "b,body=",
        "branch=",
        "F,body-file=",
        "t,subject=",
        "d,delete-branch",
        "s,squash",
        "m,merge",
        "r,rebase",
        "f,force",
        "detach",
        "c,checkout",
        "source=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let words: Vec<&str> = line.operands.iter().filter_map(Arg::exact).collect();
    let moves = match words.as_slice() {
        ["pr" | "mr", "checkout" | "co", ..] | ["co", ..] | ["repo", "sync"] => true,
        ["pr", "merge", ..] => line.has("delete-branch"),
        ["issue", "develop", ..] => line.has("checkout"),
        _ => false,
    };
    let root = call.place.root().filter(|_| moves);
    root.map(|root| Effect::Tree { root: root.path, words: call.words() }).into_iter().collect()
}
