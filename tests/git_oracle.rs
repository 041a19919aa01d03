//! Git itself as the judge of our reading of git: which paths a pathspec takes, and whether a
//! command line changes a file, its index entry, the branch or HEAD. What git did and we did not
//! see is lost work; the other way round is only checked for pathspecs, where we are exact.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use octo::config::Settings;
use octo::hook::observe::of_command;
use octo::hook::site::Disk;
use octo::policy::facts::{CommitScope, Effect, Scope};
use octo::policy::lane::AbsPath;

use crate::support::machine::{Machine, clean};
use crate::support::repo::Repo;

const FILES: &[(&str, &str)] = &[
    ("lib/core.rs", "core\n"),
    ("lib/util.rs", "util\n"),
    ("docs/a.md", "a\n"),
    ("docs/deep/b.md", "b\n"),
    ("notes.md", "notes\n"),
];

fn scope_of(repo: &Repo, home: &Path, dir: &str, spec: &str) -> Option<Scope> {
    let cwd = repo.at(dir).to_string_lossy().into_owned();
    let disk = Disk::new(home, &cwd, Settings::default());
    let line = format!("git add -- {}", shell_words::quote(spec));
    of_command(&line, &cwd, &disk).into_iter().find_map(|effect| {
        let Effect::Stage { scope, .. } = effect else { return None };
        Some(scope)
    })
}

#[test]
fn pathspecs_take_what_git_says_they_take() {
    let machine = Machine::new();
    let repo = machine.repo("app", FILES);
    let root = AbsPath::new(&repo.root).unwrap();
    let specs = [
        ".",
        "lib",
        "lib/",
        "./lib",
        "lib/core.rs",
        "*",
        "*.rs",
        "*.md",
        "lib/*",
        "l?b/core.rs",
        "[ln]*",
        "docs/*.md",
        "docs/**",
        "**/b.md",
        ":/",
        ":/docs",
        ":(top)lib",
        ":(top,glob)*.md",
        ":(glob)docs/*.md",
        ":(glob)**/*.md",
        ":(icase)LIB",
        ":(icase)*.RS",
        ":(literal)*",
        "lib/../docs",
        "deep",
        "core.rs",
        "nothing",
        "n*",
        ":(top)*.rs",
        "lib/c*",
        "docs/d*",
        ":!docs",
        ":^lib/*.rs",
        ":(exclude)*.md",
        ":(exclude,icase)DOCS",
        ":(top,exclude)lib",
        ":(glob)*.md",
        ":(glob)*/*.md",
        ":(glob)docs/**/b.md",
        ":(glob,icase)**/*.MD",
        ":(top,icase)LIB/*",
        ":(literal,top)lib/core.rs",
        ":(top,literal)lib/c*",
        "[!l]*",
        "[^n]*",
        "*/deep/*",
        "**",
        "lib/**/core.rs",
        "doc?",
        "docs/deep/",
        "../notes.md",
        "../lib",
        "*e*",
        "\\*",
        "n\\otes.md",
        "docs//a.md",
        "./*.md",
    ];
    for (file, _) in FILES {
        repo.put(file, "changed\n");
    }
    let mut wrong = Vec::new();
    for dir in ["", "docs", "lib"] {
        for spec in specs {
            let at = repo.at(dir).to_string_lossy().into_owned();
            let (added, good) = repo.try_git(&["-C", &at, "add", "--dry-run", "--", spec]);
            if !good {
                continue; // Git refuses it, and with it the whole command.
            }
            let taken: Vec<&str> = added.split('\'').skip(1).step_by(2).collect();
            let scope = scope_of(&repo, &machine.home, dir, spec);
            for (file, _) in FILES {
                let path = root.join(file);
                let ours = scope.as_ref().is_some_and(|s| s.overlaps(&root, &path));
                if ours != taken.contains(file) {
                    wrong.push(format!("in {dir:?} {spec}: {file}: git {}, we {ours}", !ours));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What A owns: the file, its index entry, the branch, HEAD. A commit of other paths moves HEAD
/// without harm.
fn state(repo: &Repo, line: &str) -> [String; 4] {
    let content = repo.content("lib/core.rs").unwrap_or_default();
    let head = if line.starts_with("git commit") {
        repo.committed("lib/core.rs").unwrap_or_default()
    } else {
        repo.head()
    };
    [content, repo.index("lib/core.rs"), repo.branch(), head]
}

/// Whether a judge would have something to object to.
fn seen(effects: &[Effect], root: &AbsPath) -> bool {
    let held = root.join("lib/core.rs");
    effects.iter().any(|effect| match effect {
        Effect::Stage { scope, .. }
        | Effect::Unstage { scope, .. }
        | Effect::Pathspec { scope, .. } => scope.overlaps(root, &held),
        Effect::Commit { scope, .. } => match scope {
            CommitScope::Index | CommitScope::Tracked => true,
            CommitScope::Only(s) | CommitScope::Include(s) => s.overlaps(root, &held),
        },
        Effect::Write { path } | Effect::Remove { path } => path.overlaps(&held),
        Effect::Tree { .. }
        | Effect::Head { .. }
        | Effect::Stash { .. }
        | Effect::Opaque { .. }
        | Effect::Sequencer { .. } => true,
        Effect::Check { .. }
        | Effect::Untracked { .. }
        | Effect::Meta { .. }
        | Effect::Branch { .. }
        | Effect::Worktree { .. }
        | Effect::Operator(_) => false,
    })
}

/// Command lines: verbs with options, then operands.
const LINES: &[(&str, &[&str], &[&str])] = &[
    (
        "add",
        &["", "-A", "--al", "-u", "-v", "-n", "-f", "-N", "--chmod=+x", "--ren"],
        &["", ".", "lib", "docs", "'*.rs'", "':!lib'", "-- lib/core.rs"],
    ),
    (
        "commit -m x",
        &["", "-a", "--al", "-i", "-o", "--amend", "--dry", "-va", "--allow-empty"],
        &["", "lib", "docs", "-- notes.md", "."],
    ),
    (
        "checkout",
        &["", "-f", "-q", "--detach", "--ours", "-m", "--forc", "-b new"],
        &["", "other", "-- lib", "lib/core.rs", "other -- docs", "HEAD -- .", "-"],
    ),
    (
        "restore",
        &["", "--staged", "-S -W", "--sta", "-s other", "--wor"],
        &["lib", "docs", ".", "'*.rs'"],
    ),
    (
        "reset",
        &["", "--hard", "--har", "--soft", "--mixed", "--keep", "--merge", "-q", "-N"],
        &["", "HEAD", "other", "lib", "-- docs"],
    ),
    ("stash", &["", "push", "-u", "push -k", "push --stag", "save"], &["", "-- docs", "-- lib"]),
    ("clean -f", &["", "-d", "-n", "-x", "-dx"], &["", "docs", "lib"]),
    ("rm", &["-f", "-rf", "--cached -r", "-n -f", "-r --cach -f"], &["lib", "lib/core.rs", "docs"]),
    ("mv", &["", "-f", "-n", "-k"], &["lib l2", "notes.md docs/", "-f notes.md lib/core.rs"]),
    ("switch", &["", "-c new", "--det", "-f", "--disc"], &["", "other", "main"]),
    ("read-tree", &["-m", "--reset -u", "-u -m", "-n -m"], &["HEAD", "other"]),
    ("checkout-index", &["-f", "-a", "-fa", "-n -f"], &["", "lib/core.rs", "notes.md"]),
    ("update-index", &["", "--force-remove", "--refresh", "--again"], &["lib/core.rs", "notes.md"]),
    ("merge", &["", "--no-commit", "--squash", "--abort", "--ff-only"], &["other"]),
    ("cherry-pick", &["", "-n", "--abort", "--quit"], &["other"]),
    ("branch", &["-m", "-M", "-f", "-D"], &["main", "renamed", "main renamed", "other"]),
    ("update-ref", &["", "-d"], &["HEAD other", "refs/heads/main other", "refs/tags/t other"]),
    ("symbolic-ref", &["", "-q"], &["HEAD", "HEAD refs/heads/other"]),
];

#[test]
fn whatever_git_changes_was_seen() {
    let machine = Machine::new();
    let repo = machine.repo("app", FILES);
    repo.branch_with("other", &[("docs/a.md", "other\n"), ("lib/util.rs", "other\n")]);
    repo.put("lib/core.rs", "somebody's unfinished work\n");
    let spare = machine.base().join("spare");
    copy(&repo.root, &spare);
    let root = AbsPath::new(&repo.root).unwrap();
    let mut missed = Vec::new();
    let lines = LINES.iter().flat_map(|(verb, options, operands)| {
        options
            .iter()
            .flat_map(move |o| operands.iter().map(move |p| format!("git {verb} {o} {p}")))
    });
    for line in lines {
        let cwd = repo.root.to_string_lossy().into_owned();
        let disk = Disk::new(&machine.home, &cwd, Settings::default());
        let effects = of_command(&line, &cwd, &disk);
        if seen(&effects, &root) {
            continue;
        }
        let before = state(&repo, &line);
        let mut command = Command::new("bash");
        clean(&mut command, &machine.home);
        command.args(["-c", &line]).current_dir(&repo.root).stdin(Stdio::null());
        command.output().unwrap();
        if state(&repo, &line) != before {
            missed.push(format!("{line}: {effects:?}"));
            fs::remove_dir_all(&repo.root).unwrap();
            copy(&spare, &repo.root);
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Verbs whose options are held against git's own list, and operands they are tried with.
const OPTIONED: &[(&str, &str)] = &[
    ("add", "docs"),
    ("commit", "docs"),
    ("checkout", "docs"),
    ("switch", "other"),
    ("restore", "docs"),
    ("reset", "docs"),
    ("clean", "docs"),
    ("rm", "docs"),
    ("mv", "docs new"),
    ("stash push", "docs"),
    ("branch", "other"),
    ("apply", "docs"),
    ("read-tree", "HEAD"),
    ("checkout-index", "docs/a.md"),
    ("update-index", "docs/a.md"),
];
/// Options of these verbs that take the words behind them in a way of their own.
const OWN_WAY: &[&str] =
    &["--add", "--remove", "--cacheinfo", "--chmod", "--index-info", "--stdin"];

/// An option of a verb as git itself lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    name: String,
    valued: bool,
}

fn listed(repo: &Repo, verb: &str) -> Vec<Listed> {
    let words: Vec<&str> = verb.split(' ').chain(["--git-completion-helper-all"]).collect();
    let text = repo.git(&words);
    let option = |word: &str| {
        let name = word.trim_end_matches('=').to_owned();
        (name.len() > 2).then(|| Listed { valued: word.ends_with('='), name })
    };
    text.split_whitespace().filter_map(option).collect()
}

/// What a line would do, apart from the words it is told in.
fn deeds(machine: &Machine, repo: &Repo, line: &str) -> Vec<String> {
    let cwd = repo.root.to_string_lossy().into_owned();
    let disk = Disk::new(&machine.home, &cwd, Settings::default());
    let effects = of_command(line, &cwd, &disk);
    let told = |effect: &Effect| {
        let text = format!("{effect:?}");
        let (head, tail) = text.split_once("words: \"").unwrap_or((&text, ""));
        format!("{head}{}", tail.split_once('"').map_or("", |(_, rest)| rest))
    };
    effects.iter().map(told).collect()
}

#[test]
fn options_take_what_git_says_they_take() {
    let machine = Machine::new();
    let repo = machine.repo("app", FILES);
    repo.branch_with("other", &[("docs/a.md", "other\n")]);
    let mut wrong = Vec::new();
    for (verb, operands) in OPTIONED {
        let options = listed(&repo, verb);
        assert!(options.len() > 4, "git lists no options of {verb}");
        for Listed { name, valued } in
            options.iter().filter(|o| !OWN_WAY.contains(&o.name.as_str()))
        {
            let pair = if *valued {
                [
                    format!("git {verb} {name} zz {operands}"),
                    format!("git {verb} {name}=zz {operands}"),
                ]
            } else {
                [format!("git {verb} {name} {operands}"), format!("git {verb} {operands} {name}")]
            };
            let [one, other] = pair.each_ref().map(|line| deeds(&machine, &repo, line));
            if one != other {
                wrong.push(format!("{pair:?}: {one:?} is not {other:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_git_takes_as_an_abbreviation_is_read_as_the_whole() {
    let machine = Machine::new();
    let repo = machine.repo("app", FILES);
    repo.branch_with("other", &[("docs/a.md", "other\n")]);
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (verb, operands) in OPTIONED {
        let options = listed(&repo, verb);
        for Listed { name, valued } in
            options.iter().filter(|o| !OWN_WAY.contains(&o.name.as_str()))
        {
            let value = if *valued { "=zz" } else { "" };
            let whole = deeds(&machine, &repo, &format!("git {verb} {name}{value} {operands}"));
            for end in 3..name.len() {
                let Some(part) = name.get(..end).filter(|_| !name.starts_with("--no-")) else {
                    continue;
                };
                let unique = options.iter().filter(|o| o.name.starts_with(part)).count() == 1;
                if !unique {
                    continue;
                }
                tried += 1;
                let line = format!("git {verb} {part}{value} {operands}");
                let short = deeds(&machine, &repo, &line);
                if short != whole {
                    wrong.push(format!("{line}: {short:?} is not {name}: {whole:?}"));
                }
            }
        }
    }
    assert!(tried > 300, "only {tried} abbreviations");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}
