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

/// Variables a command may be given that choose no program and no other repository.
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
const RUNS: [&str; 6] = [
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
];

/// What a command's reading proves.
#[must_use]
pub fn git_write(reading: &Reading) -> GitWrite {
    let proved = reading.unread.is_empty()
        && reading.invocations.iter().any(is_git)
        && reading.invocations.iter().all(harmless);
    if proved { GitWrite::OwnIndex } else { GitWrite::None }
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
        Some(name) => PLAIN.contains(&name) && !call.more && args.iter().all(outside_git),
        None => false,
    }
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
                if value.exact().is_none() {
                    return false;
                }
                rest = after;
            }
            [flag, after @ ..] if matches!(flag.exact(), Some("--no-pager" | "-P")) => rest = after,
            [verb, after @ ..] => {
                return verb.exact().is_some_and(|v| VERBS.contains(&v))
                    && !after.iter().any(|a| RUNS.iter().any(|r| a.prefix().starts_with(r)));
            }
            [] => return true,
        }
    }
}

/// True for a known word that names nothing in a git directory.
fn outside_git(arg: &Arg) -> bool {
    arg.exact().is_some_and(|text| !text.split(['/', '=']).any(|part| part == ".git"))
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
            assert_eq!(git_write(&reading(open)), GitWrite::OwnIndex, "{open}");
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
            "GIT_EDITOR=x git commit -m x",
            "PATH=x git add a.rs",
            "cp x .git/index; git add a.rs",
            "git log >.git/index",
            "echo x >sub/.git/HEAD; git log",
            "true",
        ] {
            assert_eq!(git_write(&reading(shut)), GitWrite::None, "{shut}");
        }
    }

    #[test]
    fn what_was_not_read_proves_nothing() {
        let mut half = reading("git add a.rs");
        let unread = Unread { why: Why::Generated, dir: Dir::Unknown, words: "eval".into() };
        half.unread.push(unread);
        assert_eq!(git_write(&half), GitWrite::None);
        let mut unknown = reading("git add a.rs");
        unknown.invocations[0].argv[1] = Arg { pieces: vec![Piece::Any], glob: None };
        assert_eq!(git_write(&unknown), GitWrite::None);
    }
}
