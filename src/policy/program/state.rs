//! Owns the last look at the kernel's own state: a program nobody here knows, or program text, that
//! names the state's folder may do anything to it. Programs with rows are judged by their rows.

use super::verbs::verbs;
use crate::policy::shell::{Invocation, Stdin};

/// How the folder is spelled below whatever stands for the home directory.
const FOLDER: &str = ".claude/.cache/kernel";

/// Programs that only look, whatever they are given.
const READERS: &[&str] = &[
    "[",
    "basename",
    "bat",
    "cat",
    "cd",
    "cmp",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "false",
    "fgrep",
    "file",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "od",
    "printf",
    "pushd",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sha256sum",
    "stat",
    "strings",
    "tail",
    "test",
    "tree",
    "true",
    "wc",
    "xxd",
];

/// Programs whose arguments are programs themselves.
const CODE: &[&str] =
    &["python", "python3", "perl", "ruby", "node", "php", "awk", "gawk", "lua", "deno", "bun"];

/// Whether an invocation names the kernel's state in a way that no row explains.
#[must_use]
pub fn is_named(invocation: &Invocation) -> bool {
    let Some((program, rest)) = invocation.argv.split_first() else { return false };
    let named = rest.iter().any(|arg| {
        arg.pieces.iter().any(|piece| matches!(piece, super::Piece::Text(text) if spells(text)))
    });
    let fed = matches!(&invocation.stdin, Stdin::Text(text) if spells(text));
    if !named && !fed {
        return false;
    }
    let Some(name) = program.exact().map(super::paths::base_name) else { return true };
    let code = CODE.iter().any(|c| {
        name == *c || name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == *c
    });
    let known = READERS.contains(&name) || verbs().any(|verb| verb.program.contains(&name));
    code || named && !known
}

/// Whether a text names the folder itself, and not a sibling whose name begins alike.
fn spells(text: &str) -> bool {
    text.match_indices(FOLDER).any(|(at, _)| {
        let next = text.get(at + FOLDER.len()..).and_then(|rest| rest.chars().next());
        next.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::{Arg, Dir};

    fn asks(words: &[&str]) -> bool {
        is_named(&Invocation {
            argv: words.iter().map(|w| Arg::text(*w)).collect(),
            dir: Dir::Unknown,
            env: Vec::new(),
            stdin: Stdin::Inherited,
            redirects: Vec::new(),
            more: false,
            depth: 0,
            wrote: Vec::new(),
            quiet: false,
        })
    }

    #[test]
    fn unknown_programs_and_code_that_name_the_state_are_no_readers() {
        assert!(asks(&["sqlite3", "/h/.claude/.cache/kernel/table.sqlite", "delete from lane"]));
        assert!(asks(&[
            "python3",
            "-c",
            "sqlite3.connect('/h/.claude/.cache/kernel/table.sqlite')"
        ]));
        assert!(!asks(&["cat", "/h/.claude/.cache/kernel/journal/a.jsonl"]));
        assert!(!asks(&["sqlite3", "/h/.claude/.cache/kernel2/x"]));
        assert!(!asks(&["rsync", "-a", "/h/.claude/.cache/kernel/", "/tmp/copy"]));
    }
}
