//! Owns programs that git is told to run by its environment, by `-c` or by an option: editors,
//! pagers, external diffs. Configuration files are the user's own and not looked into.

use super::super::options::{Style, parse};
use super::super::{Call, nested};
use super::Globals;
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, HOLE, Piece};

/// Variables of the environment that hold a command.
const VARIABLES: &[&str] = &[
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "VISUAL",
    "EDITOR",
    "GIT_PAGER",
    "PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
];

/// Keys of the configuration that hold a command; a star stands for a name.
const KEYS: &[(&str, &str)] = &[
    ("core.", "editor"),
    ("core.", "pager"),
    ("core.", "fsmonitor"),
    ("core.", "sshcommand"),
    ("core.", "askpass"),
    ("sequence.", "editor"),
    ("diff.", "external"),
    ("diff.", ".command"),
    ("diff.", ".textconv"),
    ("merge.", ".driver"),
    ("filter.", ".clean"),
    ("filter.", ".smudge"),
    ("filter.", ".process"),
    ("difftool.", ".cmd"),
    ("mergetool.", ".cmd"),
    ("credential.", "helper"),
    ("pager.", ""),
    ("interactive.", "difffilter"),
    ("gpg.", "program"),
    ("trailer.", ".command"),
    ("trailer.", ".cmd"),
];

/// What the programs do that git is told to run.
pub(super) fn effects(call: &Call<'_>, globals: &Globals, verb: &str, args: &[Arg]) -> Vec<Effect> {
    let env = call.invocation.env.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str()));
    let mut texts: Vec<String> = env.map(|(_, value)| holed(value)).collect();
    let keys = globals.config.iter().filter(|(key, _)| names_a_command(key));
    texts.extend(keys.map(|(_, value)| value.trim_start_matches('!').to_owned()));
    texts.extend(option(verb, args).as_ref().map(holed));
    texts.retain(|text| text.chars().any(|c| c.is_whitespace() || matches!(c, ';' | '>' | '&')));
    texts.iter().flat_map(|text| nested::shell(call, text, &globals.dir)).collect()
}

fn names_a_command(key: &str) -> bool {
    KEYS.iter()
        .any(|(section, name)| key.strip_prefix(section).is_some_and(|rest| rest.ends_with(name)))
}

/// A command that stands in an option of the verb.
fn option(verb: &str, args: &[Arg]) -> Option<Arg> {
    let (grammar, name): (&[&str], &str) = match verb {
        "difftool" => (&["x,extcmd=", "t,tool=", "y", "g", "d"], "extcmd"),
        "grep" => (&["O,open-files-in-pager?", "e=", "f=", "C=", "A=", "B=", "m="], "O"),
        _ => return None,
    };
    let line = parse(args, grammar, Style::Git);
    line.value(name).or_else(|| line.value("open-files-in-pager")).cloned()
}

/// A text with what is not known marked.
fn holed(arg: &Arg) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Any | Piece::Fresh => HOLE.to_string(),
    };
    arg.pieces.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Scene, reaches};

    #[test]
    fn what_git_is_told_to_run_counts() {
        let scene = Scene::gate();
        for line in [
            "GIT_EXTERNAL_DIFF='rm -f lib/core.rs' git diff",
            "EDITOR='sh -c \"rm lib/core.rs\"' git commit --allow-empty",
            "git -c core.editor='rm lib/core.rs; true' commit",
            "git -c core.fsmonitor='rm lib/core.rs' status",
            "git -c diff.x.textconv='rm lib/core.rs; cat' log -p",
            "git difftool -y -x 'rm lib/core.rs; true' HEAD",
            "git difftool --extcmd='rm lib/core.rs; true'",
            "git grep -O'rm lib/core.rs; true' notes",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='checkout -f' git z",
        ] {
            assert!(reaches(&scene.run(line), "lib/core.rs"), "{line}");
        }
        for line in [
            "GIT_EDITOR=true git commit --amend -m x --dry-run",
            "GIT_PAGER=cat git log",
            "git -c core.pager='less -R' log",
            "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git status",
            "GIT_SSH_COMMAND='ssh -i ~/.ssh/k' git fetch",
            "git -c core.hooksPath=/dev/null status",
            "git grep -e core -- lib",
        ] {
            assert!(!reaches(&scene.run(line), "lib/core.rs"), "{line}");
        }
    }
}
