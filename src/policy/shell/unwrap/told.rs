//! Commands that git is told to run: by its environment, by configuration given on the line, by
//! an option, by hooks that the text itself put in place. Each is read like any text a shell
//! gets. Configuration files are the user's own and not looked into.

use super::options::{Scan, words};
use crate::policy::shell::text::{HOLE, Text};
use crate::policy::shell::walk::{Call, Walker, runs_in_shell};
use crate::policy::shell::{Arg, Piece};

/// What git puts behind a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Nothing that matters.
    Nothing,
    /// A file of git's own (a message, a list of steps).
    OwnFile,
    /// Files of the work tree.
    Files,
}
use Behind::{Files, Nothing, OwnFile};

/// Variables of the environment that hold a command.
const VARIABLES: &[(&str, Behind)] = &[
    ("GIT_EDITOR", OwnFile),
    ("GIT_SEQUENCE_EDITOR", OwnFile),
    ("VISUAL", OwnFile),
    ("EDITOR", OwnFile),
    ("GIT_PAGER", Nothing),
    ("PAGER", Nothing),
    ("GIT_EXTERNAL_DIFF", Files),
    ("GIT_SSH_COMMAND", Nothing),
    ("GIT_SSH", Nothing),
    ("GIT_ASKPASS", Nothing),
    ("SSH_ASKPASS", Nothing),
    ("GIT_PROXY_COMMAND", Nothing),
];

/// Keys of the configuration that hold a command: how they begin and end.
const KEYS: &[(&str, &str, Behind)] = &[
    ("core.", "editor", OwnFile),
    ("sequence.", "editor", OwnFile),
    ("core.", "pager", Nothing),
    ("core.", "fsmonitor", Nothing),
    ("core.", "sshcommand", Nothing),
    ("core.", "askpass", Nothing),
    ("core.", "gitproxy", Nothing),
    ("core.", "alternaterefscommand", Nothing),
    ("diff.", "external", Files),
    ("diff.", ".command", Files),
    ("diff.", ".textconv", Files),
    ("merge.", ".driver", Nothing),
    ("filter.", ".clean", Nothing),
    ("filter.", ".smudge", Nothing),
    ("filter.", ".process", Nothing),
    ("difftool.", ".cmd", Nothing),
    ("mergetool.", ".cmd", Nothing),
    ("guitool.", ".cmd", Nothing),
    ("browser.", ".cmd", Nothing),
    ("man.", ".cmd", Nothing),
    ("tar.", ".command", Nothing),
    ("credential.", "helper", Nothing),
    ("pager.", "", Nothing),
    ("interactive.", "difffilter", Nothing),
    ("gpg.", "program", OwnFile),
    ("gpg.", ".defaultkeycommand", Nothing),
    ("trailer.", ".command", Nothing),
    ("trailer.", ".cmd", Nothing),
    ("remote.", ".uploadpack", Nothing),
    ("remote.", ".receivepack", Nothing),
    ("submodule.", ".update", Nothing),
    ("uploadpack.", "packobjectshook", Nothing),
    ("sendemail.", "cmd", OwnFile),
    ("hook.", ".command", Nothing),
];
/// The key that says where hooks are.
const HOOKS: &str = "core.hookspath";
/// Hooks a folder on the disk may hold.
const NAMES: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-merge-commit",
    "post-merge",
    "pre-rebase",
    "post-rewrite",
    "post-checkout",
    "pre-push",
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
];
/// Verbs with options that hold a command, and what stands behind it.
const OPTIONS: &[(&str, &[&str], Behind)] = &[
    ("difftool", &["-x", "--extcmd"], Files),
    ("grep", &["-O", "--open-files-in-pager"], Files),
    ("rebase", &["-x", "--exec"], Nothing),
    ("clone", &["-u", "--upload-pack"], Nothing),
    ("fetch", &["--upload-pack"], Nothing),
    ("pull", &["--upload-pack"], Nothing),
    ("ls-remote", &["--upload-pack", "--exec"], Nothing),
    ("push", &["--receive-pack", "--exec"], Nothing),
    ("archive", &["--exec"], Nothing),
];

fn variable(name: &str) -> Option<Behind> {
    VARIABLES.iter().find(|(own, _)| *own == name).map(|(_, behind)| *behind)
}

fn key(name: &str) -> Option<Behind> {
    let fits = |(begin, end, _): &&(&str, &str, Behind)| {
        name.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end))
    };
    KEYS.iter().find(fits).map(|(_, _, behind)| *behind)
}

/// Configuration that holds for one call: what the line set before, the environment's, `-c`.
pub(super) fn settings(
    walker: &Walker<'_>,
    call: &Call,
    globals: &Scan<'_>,
) -> Vec<(String, Text)> {
    let mut told = walker.configured().to_vec();
    let env = walker.environment(call, |name| name.starts_with("GIT_CONFIG_"));
    for (name, value) in &env {
        if name == "GIT_CONFIG_PARAMETERS" {
            told.extend(words(&value.holed()).iter().filter_map(|word| pair(&Arg::text(word))));
        }
        let Some(number) = name.strip_prefix("GIT_CONFIG_KEY_") else { continue };
        let named = format!("GIT_CONFIG_VALUE_{number}");
        let given = env.iter().rev().find(|(name, _)| *name == named);
        let both = value.exact().zip(given);
        told.extend(both.map(|(key, (_, value))| (key.to_lowercase(), value.clone())));
    }
    for (option, value) in &globals.options {
        match (option.as_str(), value) {
            ("-c", Some(value)) => told.extend(pair(value)),
            ("--config-env", Some(value)) => {
                let Some((key, lent)) = value.exact().and_then(|v| v.rsplit_once('=')) else {
                    continue;
                };
                let found = walker.environment(call, |name| name == lent).pop();
                told.extend(found.map(|(_, value)| (key.to_lowercase(), value)));
            }
            _ => {}
        }
    }
    told
}

/// `KEY=VALUE`.
fn pair(arg: &Arg) -> Option<(String, Text)> {
    let (key, _) = arg.prefix().split_once('=')?;
    let value = super::options::without(arg, key.len() + 1);
    Some((key.to_lowercase(), Text::of(&value)))
}

/// Takes note of `git config KEY VALUE` for the commands that follow.
pub(super) fn learn(walker: &mut Walker<'_>, args: &[Arg]) {
    for two in args.windows(2) {
        let [name, value] = two else { continue };
        let Some(name) = name.exact().map(str::to_lowercase) else { continue };
        if name == HOOKS || key(&name).is_some() {
            walker.configure(name, Text::of(value));
        }
    }
}

/// Runs what git is told to run under a verb.
pub(super) fn run(
    walker: &mut Walker<'_>,
    call: &Call,
    told: &[(String, Text)],
    verb: &str,
    args: &[Arg],
) {
    let env = walker.environment(call, |name| variable(name).is_some());
    let by_variable = env.iter().map(|(name, text)| (variable(name), text.clone()));
    let by_key = told.iter().map(|(name, text)| (key(name), text.clone()));
    let mut commands: Vec<(Behind, Text)> = by_variable
        .chain(by_key)
        .filter_map(|(behind, text)| Some((behind?, text)))
        .filter(|(behind, text)| *behind == Files || says_more_than_a_name(text))
        .collect();
    for (_, names, behind) in OPTIONS.iter().filter(|(own, _, _)| *own == verb) {
        commands.extend(given(args, names).map(|arg| (*behind, Text::of(&arg))));
    }
    // A command of git's that runs git would be told the same again, for ever.
    let names: Vec<String> = env.into_iter().map(|(name, _)| name).collect();
    let mut inner = Call { holes: call.holes, hops: call.hops + 1, ..Call::default() };
    inner.env = call.env.iter().filter(|(name, _)| !names.contains(name)).cloned().collect();
    walker.without(&names, |walker| {
        for (behind, text) in commands {
            walker.run_told(&inner, &completed(behind, &text));
        }
        hooks(walker, &inner, told);
    });
}

/// False for a lone program name, of which nothing is known.
fn says_more_than_a_name(text: &Text) -> bool {
    text.holed().contains(|c: char| c.is_whitespace() || ";>&|/$`(".contains(c))
}

/// A command with what git puts behind it and into it.
fn completed(behind: Behind, text: &Text) -> Text {
    let hole = HOLE.to_string();
    let plain = text.holed();
    let plain = plain.trim_start_matches('!').replace("%f", &hole).replace("%P", &hole);
    let mut out = Text::known(&plain);
    out.push(" ");
    match behind {
        Nothing => {}
        OwnFile => out.append(&Text::fresh()),
        Files => out.add(Piece::Any),
    }
    out
}

/// The values of options, abbreviated or not.
fn given<'a>(args: &'a [Arg], names: &'a [&'a str]) -> impl Iterator<Item = Arg> + 'a {
    args.iter().enumerate().filter_map(move |(at, arg)| {
        let word = arg.prefix();
        let next = || args.get(at + 1).cloned();
        names.iter().find_map(|name| {
            if !name.starts_with("--") {
                let rest = word.strip_prefix(name)?;
                let attached = !rest.is_empty() || arg.pieces.len() > 1;
                let value = super::options::without(arg, name.len());
                return if attached { Some(value) } else { next() };
            }
            let (said, value) = match word.split_once('=') {
                Some((said, _)) => (said, Some(super::options::without(arg, said.len() + 1))),
                None => (word, None),
            };
            (said.len() >= SHORTEST && name.starts_with(said)).then(|| value.or_else(next))?
        })
    })
}
/// Bytes of an abbreviated option that could still be another's.
const SHORTEST: usize = 4;

/// Hooks the text itself put in place, and those of a folder it names.
fn hooks(walker: &mut Walker<'_>, call: &Call, told: &[(String, Text)]) {
    let named = told.iter().rev().find(|(key, _)| key == HOOKS);
    let Some((_, folder)) = named else {
        let own = |folder: &str| folder.ends_with("/hooks") && folder.contains("/.git/");
        for text in walker.written_in(own) {
            hook(walker, call, &text);
        }
        return;
    };
    let Some(folder) = walker.absolute(&folder.clone().into_arg()) else { return };
    for text in walker.written_in(|at| at == folder) {
        hook(walker, call, &text);
    }
    for name in NAMES {
        let file = Arg::text(format!("{folder}/{name}"));
        let Some(text) = walker.stored(&file) else { continue };
        if runs_in_shell(&text).unwrap_or(true) {
            walker.child(call, Text::of(&file), None, |walker| walker.run_file(&text));
        }
    }
}

fn hook(walker: &mut Walker<'_>, call: &Call, text: &Text) {
    if runs_in_shell(&text.holed()).unwrap_or(true) {
        walker.run_told(call, text);
    }
}
