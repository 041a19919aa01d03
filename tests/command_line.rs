//! What holds for every command: an answer for programs begins with its schema and kind, colours
//! and narration go when asked to, and codes are those of the one table.

use clap::CommandFactory;
use octo::operator::cli::Cli;
use octo::operator::error::CODES;
use serde_json::Value;

use crate::commands_shown::{Day, NEWCOMER};
use crate::support::reply::Reply;

/// The commands that have `--json`, by their words.
fn for_programs(command: &clap::Command, above: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let words = [above, &[sub.get_name().to_owned()]].concat();
        if sub.get_arguments().any(|argument| argument.get_id() == "json") {
            found.push(words.clone());
        }
        found.extend(for_programs(sub, &words));
    }
    found
}

/// What a command needs to be named beside `--json`.
fn needs(words: &[String], day: &Day) -> Vec<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let path = day.tree.join("lib/core.rs").display().to_string();
    match words.as_slice() {
        ["explain"] => vec!["git add -A".to_owned()],
        ["scope"] => vec![path],
        ["keep", "show"] => vec![day.keep()],
        ["worktree", "show"] => vec![format!("dim/{NEWCOMER}")],
        _ => Vec::new(),
    }
}

#[test]
fn every_answer_for_programs_says_its_schema_and_kind() {
    let all = for_programs(&Cli::command(), &[]);
    assert!(all.len() >= 10, "{all:?}");
    for words in all {
        let day = Day::begin();
        let line = [words.clone(), needs(&words, &day), vec!["--json".to_owned()]].concat();
        let quoted = line.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let script = format!("cd '{}' && octo {quoted}", day.tree.display());
        let said = day.machine.operator_with("sh", &["-c", &script]);
        let answer: Value = serde_json::from_str(&said.stdout)
            .unwrap_or_else(|why| panic!("{line:?}: {why}: {said:?}"));
        assert_eq!(answer["schema"], 1, "{line:?}: {answer}");
        assert!(answer["kind"].as_str().is_some_and(|kind| !kind.is_empty()), "{line:?}");
    }
}

#[test]
fn colours_come_when_forced_and_never_against_a_persons_word() {
    let day = Day::begin();
    let ps = |variables: &[(&str, &str)]| -> Reply {
        let mut command = day.machine.command("octo");
        command.args(["ps"]).envs(variables.iter().copied()).output().unwrap().into()
    };
    assert!(!ps(&[]).stdout.contains('\u{1b}'), "colours in a pipe");
    assert!(ps(&[("CLICOLOR_FORCE", "1")]).stdout.contains('\u{1b}'));
    for refusal in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let said = ps(&[("CLICOLOR_FORCE", "1"), refusal]);
        assert!(!said.stdout.contains('\u{1b}'), "{refusal:?}: {said:?}");
    }
}

#[test]
fn quiet_leaves_results_and_errors_alone() {
    let day = Day::begin();
    let folder = day.machine.home.join("pages");
    let man = |words: &[&str]| {
        let mut command = day.machine.command("octo");
        let said: Reply = command.args(words).arg("man").arg(&folder).output().unwrap().into();
        said
    };
    assert!(!man(&[]).stderr.is_empty());
    let quiet = man(&["--quiet"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
    let loud = day.machine.run("octo", &["--quiet", "ps", "--release", "nobody"]);
    assert!(loud.code == Some(1) && !loud.stderr.is_empty(), "{loud:?}");
    let result = day.machine.run("octo", &["--quiet", "ps"]);
    assert!(result.stdout.contains("3f2a91c0"), "{result:?}");
}

#[test]
fn help_leads_to_every_page_and_to_the_reference() {
    let day = Day::begin();
    let told = day.machine.run("octo", &["help", "worktree"]);
    assert!(told.code == Some(0) && told.stdout.contains("octo worktree list"), "{told:?}");
    assert_eq!(day.machine.run("octo", &["help", "nonsense"]).code, Some(2));
    let book = day.machine.run("octo", &["help", "--reference"]);
    assert_eq!(book.code, Some(0));
    for (code, text) in CODES {
        assert!(book.stdout.contains(&format!("  {code}\n      {text}")), "{code}");
    }
}
