//! Owns our own commands when a hooked process types them: what is anybody's passes, the rest is
//! the operator's, in every spelling clap would accept.

use super::Call;
use super::paths::base_name;
use super::verbs::{Verb, program};
use crate::policy::facts::{Effect, OperatorUse};
use crate::policy::shell::Arg;

/// The rows.
pub(super) const ROWS: &[Verb] = &[program(
    &[
        "octo",
        "octo.py",
        "octo-dim",
        "octo-dim.py",
        "octo-hook",
        "octo-hook.py",
        "octo-sh",
        "session-isolation-hook",
        "dimension-awareness-hook",
        "pretool-write-tree-owner",
        "pretool-bash-tree-owner",
    ],
    "verbs that are a person's",
    own,
)
.examples(
    &[
        "octo ps --release 7",
        "octo ps --rel=7",
        "octo keep list --pr",
        "octo release 7",
        "octo worktree reclaim",
        "octo worktree rec --prune",
        "octo keep prune",
        "octo install",
        "octo off",
        "octo-hook PreToolUse",
        "octo octo-hook",
        "octo pretool-bash-tree-owner",
        "octo-sh -c ls",
        "pretool-write-tree-owner PreToolUse",
        "octo-dim prune",
        "octo exec --as 7 ls",
        "octo-dim worktree-init --session-id other",
        "octo-dim reclaim",
    ],
    &[
        "octo ps",
        "octo ps --json",
        "octo ps --all",
        "octo-dim list",
        "octo-dim release lib/core.rs",
        "octo --help",
        "octo install --help",
        "octo save",
        "octo save --pr",
        "octo yield lib",
        "octo explain 'git add -A'",
        "octo keep list",
        "octo keep restore x",
        "octo worktree list",
        "octo worktree recreate x",
        "octo worktree reclaim --dry-run",
        "octo worktree-init",
        "octo-dim worktree-init",
        "octo replay --last 5",
        "octo help ps",
        "octo",
    ],
)];

/// Names under which the binary is a hook.
const HOOKS: &[&str] = &[
    "octo-hook",
    "session-isolation-hook",
    "dimension-awareness-hook",
    "pretool-write-tree-owner",
    "pretool-bash-tree-owner",
];

/// Verbs that are anybody's.
const FREE: &[&str] = &[
    "save",
    "yield",
    "scope",
    "explain",
    "ps",
    "replay",
    "worktree-init",
    "archive",
    "recover",
    "help",
    "version",
    "completions",
    "man",
    "statusline",
    "lane",
];

/// Verbs of which some second words are anybody's.
const PARTLY: &[(&str, &[&str])] = &[
    ("keep", &["list", "show", "restore", "help"]),
    ("worktree", &["list", "show", "recreate", "init", "help"]),
    (
        "dim",
        &[
            "worktree-init",
            "archive",
            "recover",
            "list",
            "claim",
            "release",
            "register",
            "heartbeat",
            "unregister",
            "help",
        ],
    ),
];

/// Options that make a free verb the operator's, also shortened.
const RESERVED: &[&str] = &["--release", "--prune", "--force"];

/// Options that name a process.
const IDS: &[&str] = &["--session-id", "--session", "--pid", "--agent-id", "--id", "--as"];

/// Whether a script is one of ours.
pub(super) fn is_ours(script: &Arg) -> bool {
    let name = script.exact().map(base_name).unwrap_or_default();
    matches!(name, "octo.py" | "octo-dim.py" | "octo-hook.py" | "octo" | "octo-dim" | "octo-hook")
}

fn own(call: &Call<'_>) -> Vec<Effect> {
    ours(&call.name, &call.args, call)
}

/// What one of our commands does, by the name it is called by.
pub(super) fn ours(name: &str, args: &[Arg], call: &Call<'_>) -> Vec<Effect> {
    let words: Vec<&str> = args.iter().map(|a| a.exact().unwrap_or("…")).collect();
    judge(name.trim_end_matches(".py"), &words, &call.words(), 0)
        .into_iter()
        .map(Effect::Operator)
        .collect()
}

fn judge(name: &str, words: &[&str], shown: &str, hops: u8) -> Option<OperatorUse> {
    let options = words.iter().take_while(|w| **w != "--");
    if options.clone().any(|w| matches!(*w, "--help" | "-h" | "--version" | "-V")) {
        return None;
    }
    let reserved = || Some(OperatorUse::Verb(shown.to_owned()));
    if HOOKS.contains(&name) {
        return Some(OperatorUse::HookByHand);
    }
    // What runs a command without the hooks having read it is nobody's to type.
    if name == "octo-sh" {
        return reserved();
    }
    let plain: Vec<&str> = operands(words);
    // `--pr` of these two is a word of its own, and no beginning of `--prune`.
    let saves = matches!(plain.first(), Some(&("save" | "archive")));
    if options.clone().any(|w| shortens(w, RESERVED) && !(saves && *w == "--pr")) {
        return reserved();
    }
    let named = words.iter().enumerate().find_map(|(at, w)| id(w, words.get(at + 1).copied()));
    let dry = options.clone().any(|w| w.len() > 4 && "--dry-run".starts_with(w) || *w == "-n");
    let verbs = if name == "octo-dim" { [&["dim"], plain.as_slice()].concat() } else { plain };
    let free = match verbs.as_slice() {
        [] => true,
        [verb, rest @ ..] if (verb.starts_with("octo-") || HOOKS.contains(verb)) && hops == 0 => {
            return judge(verb.trim_end_matches(".py"), rest, shown, hops + 1);
        }
        ["hook", ..] => return Some(OperatorUse::HookByHand),
        ["worktree" | "dim", verb, ..] if dry && shortens(verb, &["reclaim"]) => true,
        ["reclaim", ..] if dry => true,
        [verb, rest @ ..] => match PARTLY.iter().find(|(name, _)| name == verb) {
            Some((_, subs)) => rest.first().is_none_or(|sub| subs.contains(sub)),
            None => only(verb),
        },
    };
    if !free {
        return reserved();
    }
    named.map(|id| OperatorUse::ForId { id: id.to_owned(), words: shown.to_owned() })
}

/// Whether a verb, perhaps shortened, can only mean a free one.
fn only(verb: &str) -> bool {
    FREE.contains(&verb) || (verb.len() > 2 && FREE.iter().any(|free| free.starts_with(verb)))
}

/// Whether a word is one of the options or a shortening of it.
fn shortens(word: &str, full: &[&str]) -> bool {
    let word = word.split('=').next().unwrap_or(word);
    let long = word.trim_start_matches('-');
    long.len() > 1 && full.iter().any(|name| name.starts_with(word))
}

/// Options of ours that take the next word.
const VALUED: &[&str] = &["--last", "--repo", "--root", "--since", "--limit", "--format", "--path"];

fn operands<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if IDS.contains(word) || VALUED.contains(word) {
            rest.next();
        } else if !word.starts_with('-') {
            out.push(*word);
        }
    }
    out
}

/// The id an option names.
fn id<'a>(word: &'a str, next: Option<&'a str>) -> Option<&'a str> {
    match word.split_once('=') {
        Some((name, value)) if IDS.contains(&name) => Some(value),
        None if IDS.contains(&word) => next,
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use super::*;

    #[test]
    fn ids_are_left_to_the_judge_and_hooks_are_never_fed_by_hand() {
        let scene = Scene::gate();
        let use_of = |line: &str| match scene.run(line).pop() {
            Some(Effect::Operator(used)) => used,
            other => panic!("{line}: {other:?}"),
        };
        assert!(matches!(
            use_of("octo-dim --session-id s1 worktree-init"),
            OperatorUse::ForId { id, .. } if id == "s1"
        ));
        assert_eq!(use_of("octo-hook PreToolUse"), OperatorUse::HookByHand);
        assert_eq!(use_of("octo hook PreToolUse"), OperatorUse::HookByHand);
        assert_eq!(use_of("/opt/bin/octo octo-hook x"), OperatorUse::HookByHand);
        assert!(matches!(use_of("./octo.py ps --rel 7"), OperatorUse::Verb(_)));
    }
}
