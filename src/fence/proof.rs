//! PURE. When the git directory may be opened although somebody else is at work in the checkout:
//! only for a command of which every program is known to do nothing but what its words say. The
//! gates have judged those words; a script beside them has not been judged by anybody.

use super::GitWrite;
use crate::policy::shell::{Arg, Invocation, Reading};

/// Programs that start no others and, but for operands naming it, leave git directories alone.
const PLAIN: [&str; 36] = [
    ":", "[", "basename", "cat", "cd", "chmod", "cp", "cut", "date", "dirname", "echo", "exit",
    "export", "false", "grep", "head", "ln", "ls", "mkdir", "mv", "printf", "pwd", "rm", "rmdir",
    "set", "sleep", "sort", "tail", "tee", "test", "touch", "tr", "true", "uniq", "wait", "wc",
];

/// Git's verbs that run no program of the caller's choice (hooks are the repository's, and closed).
const VERBS: [&str; 21] = [
    "add",
    "branch",
    "checkout",
    "commit",
    "describe",
    "diff",
    "fetch",
    "log",
    "ls-files",
    "mv",
    "push",
    "reset",
    "restore",
    "rev-parse",
    "rm",
    "shortlog",
    "show",
    "stage",
    "status",
    "switch",
    "tag",
];

/// Variables a command may be given that choose no program and no other repository. A shell knows
/// many ways to set one (`PATH=x;`, `for PATH in x`, `((PATH=1))`), so every other name of the
/// environment's spelling that the text gives a value to proves nothing.
const VARIABLES: [&str; 9] = [
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "LANG",
    "LC_ALL",
    "TZ",
];

/// Settings on git's command line that choose no program.
const SETTINGS: [&str; 4] = ["user.name=", "user.email=", "commit.gpgsign=", "core.quotepath="];

/// Options that name a program to run.
const RUNS: [&str; 7] = [
    "--compress-program",
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
];

/// Words that are followed by a variable's name which they set.
const SETS: [&str; 2] = ["for ", "select "];

/// What a command proves: its text and how it was read.
#[must_use]
pub fn git_write(text: &str, reading: &Reading) -> GitWrite {
    let proved = reading.unread.is_empty()
        && !sets_environment(text)
        && reading.invocations.iter().any(is_git)
        && reading.invocations.iter().all(harmless);
    if proved { GitWrite::OwnIndex } else { GitWrite::None }
}

/// True when a text may give a value to a variable that could choose what is run.
fn sets_environment(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, after) = from.split_at(end.unwrap_or(from.len()));
        let environment = name.chars().all(|c| !c.is_ascii_lowercase())
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !VARIABLES.contains(&name);
        let given = ["=", ":=", "+=", "["].iter().any(|sign| after.starts_with(sign));
        let read = text.get(..text.len() - from.len()).unwrap_or_default().trim_end();
        let named = SETS.iter().any(|word| read.ends_with(word.trim_end())) && !before.is_empty();
        if environment && (given || named) {
            return true;
        }
        rest = after;
    }
    false
}

fn is_git(call: &Invocation) -> bool {
    call.argv.first().and_then(Arg::exact) == Some("git")
}

fn harmless(call: &Invocation) -> bool {
    let named = |(name, _): &(String, Arg)| VARIABLES.contains(&name.as_str());
    if !call.env.iter().all(named) || !call.redirects.iter().all(|r| outside_git(&r.target)) {
        return false;
    }
    let Some((program, args)) = call.argv.split_first() else { return true };
    match program.exact() {
        Some("git") => git(args),
        Some(name) => {
            let safe = |arg: &Arg| outside_git(arg) && !runs(arg.prefix());
            PLAIN.contains(&name) && !call.more && args.iter().all(safe) && !assigns(name, args)
        }
        None => false,
    }
}

/// True for the two plain programs that set a variable they are told the name of.
fn assigns(program: &str, args: &[Arg]) -> bool {
    let told = |option: &str| args.iter().any(|arg| arg.prefix().starts_with(option));
    (program == "printf" && told("-v")) || (program == "wait" && told("-"))
}

/// Git with nothing before its verb but a folder, and a verb that runs nothing.
fn git(args: &[Arg]) -> bool {
    let mut rest = args;
    loop {
        match rest {
            [flag, value, after @ ..] if flag.exact() == Some("-c") => {
                let known =
                    value.exact().is_some_and(|v| SETTINGS.iter().any(|s| v.starts_with(s)));
                if !known {
                    return false;
                }
                rest = after;
            }
            [flag, value, after @ ..] if flag.exact() == Some("-C") => {
                if !outside_git(value) {
                    return false;
                }
                rest = after;
            }
            [flag, after @ ..] if matches!(flag.exact(), Some("--no-pager" | "-P")) => rest = after,
            [verb, after @ ..] => {
                return verb.exact().is_some_and(|v| VERBS.contains(&v))
                    && !after.iter().any(|a| runs(a.prefix()) || in_git(a.prefix()));
            }
            [] => return true,
        }
    }
}

/// True for an option that names a program; git takes any beginning of it that is its own.
fn runs(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    name.len() > "--".len() && RUNS.iter().any(|run| run.starts_with(name))
}

/// True for a known word that names nothing in a git directory.
fn outside_git(arg: &Arg) -> bool {
    arg.exact().is_some_and(|text| !in_git(text))
}

fn in_git(text: &str) -> bool {
    text.split(['/', '=']).any(|part| part == ".git")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::facts::Why;
    use crate::policy::shell::{Dir, Piece, Redirect, Stdin, Unread};

    /// A reading of plain words; `;` stands between commands, `VAR=x` before and `>f` behind them.
    fn reading(text: &str) -> Reading {
        let call = |words: &str| {
            let mut call = Invocation {
                argv: Vec::new(),
                dir: Dir::At("/w".into()),
                env: Vec::new(),
                stdin: Stdin::Inherited,
                redirects: Vec::new(),
                more: false,
                depth: 0,
                wrote: Vec::new(),
                quiet: false,
            };
            for word in words.split_whitespace() {
                match (word.strip_prefix('>'), word.split_once('=')) {
                    (Some(to), _) => {
                        call.redirects.push(Redirect { append: false, target: Arg::text(to) });
                    }
                    (None, Some((name, value))) if call.argv.is_empty() => {
                        call.env.push((name.into(), Arg::text(value)));
                    }
                    (None, _) => call.argv.push(Arg::text(word)),
                }
            }
            call
        };
        Reading { invocations: text.split(';').map(call).collect(), unread: Vec::new() }
    }

    #[test]
    fn only_words_that_do_what_they_say_open_the_git_directory() {
        for open in [
            "git commit -m x -- a.rs",
            "git add a.rs; git commit -m x -- a.rs",
            "cd lib; git -C .. add .gitignore; git --no-pager log",
            "mkdir -p x; touch x/y; git add x/y; git status >/dev/null",
            "GIT_AUTHOR_NAME=x git -c user.name=x commit -m x -- a.rs",
        ] {
            assert_eq!(git_write(open, &reading(open)), GitWrite::OwnIndex, "{open}");
        }
        for shut in [
            "make; git commit -m x -- a.rs",
            "python3 sweep.py; git add a.rs",
            "./x; git add a.rs",
            "npm run build",
            "git -c core.hooksPath=x commit -m x -- a.rs",
            "git -c alias.add=!x add a.rs",
            "git rebase --exec x main",
            "git ci",
            "git push --receive-pack=x",
            "git fetch --upload-pa=x .",
            "git push --exe=x",
            "git diff --output=.git/index",
            "git -C .git diff --output=index",
            "GIT_EDITOR=x git commit -m x",
            "PATH=x git add a.rs",
            "cp x .git/index; git add a.rs",
            "git log >.git/index",
            "echo x >sub/.git/HEAD; git log",
            "true",
        ] {
            assert_eq!(git_write(shut, &reading(shut)), GitWrite::None, "{shut}");
        }
    }

    #[test]
    fn what_was_not_read_proves_nothing() {
        let mut half = reading("git add a.rs");
        let unread = Unread { why: Why::Generated, dir: Dir::Unknown, words: "eval".into() };
        half.unread.push(unread);
        assert_eq!(git_write("git add a.rs; eval x", &half), GitWrite::None);
        let mut unknown = reading("git add a.rs");
        unknown.invocations[0].argv[1] = Arg { pieces: vec![Piece::Any], glob: None };
        assert_eq!(git_write("git add $x", &unknown), GitWrite::None);
    }

    #[test]
    fn a_value_for_the_environment_is_seen_in_every_spelling() {
        for shut in [
            "PATH=/x; git log",
            "PA\\\nTH=/x; git log",
            "PATH+=:/x; git log",
            "BASH_CMDS[git]=/x; git log",
            "BASH_ALIASES=([git]=/x); git log",
            "for PATH in /x; do git log; done",
            "for\tPATH in /x; do git log; done",
            "((PATH=1)); git log",
            "echo $((a,PATH=1)); git log",
            ": ${GIT_PAGER:=/x}; git log",
            ": ${GIT_PAGER=/x}; git log",
            "HOME=/x; git log",
            "_=x; git log",
        ] {
            assert!(sets_environment(shut), "{shut}");
        }
        for open in [
            "git commit -m 'Fix README and API' -- a.rs",
            "GIT_AUTHOR_NAME=x git commit -m y -- a.rs",
            "x=1; git log -n $x --format=%H HEAD~2 && echo $PATH ${HOME}",
        ] {
            assert!(!sets_environment(open), "{open}");
        }
        for shut in ["printf -v PATH x; git log", "wait -p PATH; git log"] {
            assert_eq!(git_write(shut, &reading(shut)), GitWrite::None, "{shut}");
        }
        let sorted = "sort --compress-prog=x a; git log";
        assert_eq!(git_write(sorted, &reading(sorted)), GitWrite::None);
    }
}
