//! Documents that tables generate stay as the tables say. `UPDATE=1 cargo test documents` writes
//! them anew.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use octo::applet::{Always, WIRES};
use octo::config::{commented_default, schema};
use octo::operator::cli::Cli;
use octo::operator::error::CODES;
use octo::policy::rules::{GUARDS, RULES};
use octo::wiring::entry::{Entry, hooks_of};
use octo::wiring::merge::{Wiring, merge};
use serde_json::{Value, json};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The file says exactly this, or is made to.
fn is(name: &str, text: &str) {
    let path = file(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{name} is stale: UPDATE=1 cargo test documents");
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// Replaces what stands between two markers.
fn between(name: &str, marker: &str, body: &str) {
    let text = fs::read_to_string(file(name)).unwrap();
    let (begin, end) = (format!("<!-- {marker} -->\n"), format!("<!-- /{marker} -->\n"));
    let start = text.find(&begin).unwrap_or_else(|| panic!("{name} has no {begin}")) + begin.len();
    let stop = text.find(&end).unwrap_or_else(|| panic!("{name} has no {end}"));
    is(name, &format!("{}{body}{}", &text[..start], &text[stop..]));
}

fn rule_table() -> String {
    let mut table = String::from("| rule | refuses | instead |\n|---|---|---|\n");
    let row = |id: &str, summary: &str, remedy: &str| {
        format!("| `{id}` | {summary} | {remedy} |\n").replace("a | b", "a \\| b")
    };
    for rule in RULES {
        table += &row(rule.id.0, rule.summary, rule.remedy);
    }
    for rule in GUARDS {
        table += &row(rule.id.0, rule.summary, rule.remedy);
    }
    table
}

#[test]
fn the_plugins_hooks_are_the_wiring_table() {
    // Without its program a plugin is inert, and a WorktreeCreate entry that prints no folder
    // would stop the client from making its own.
    let wires = WIRES.iter().filter(|wire| wire.always != Always::Engine);
    let entries: Vec<Entry> = wires.map(Entry::plugin).collect();
    let document = json!({
        "description": "octo: one entry for every event that can change somebody's work",
        "hooks": hooks_of(&entries),
    });
    is("hooks/hooks.json", &pretty(&document));
}

#[test]
fn the_settings_example_is_what_install_writes() {
    let entries = WIRES.iter().map(|wire| Entry::installed(wire, "/path/to/octo-hook")).collect();
    let folders = vec!["/path/to/.octorato".to_owned()];
    let (text, _) = merge("{}\n", &Wiring { entries, folders, prefix: None }).unwrap();
    is("config/settings.example.json", &text);
}

#[test]
fn the_commented_settings_and_their_schema_are_the_table_of_settings() {
    is("config/octo.toml", &commented_default());
    is("config/octo.schema.json", &pretty(&schema()));
}

#[test]
fn the_readmes_rules_are_the_rules() {
    between("README.md", "rules", &rule_table());
}

#[test]
fn the_readmes_exit_codes_are_the_programs() {
    let rows = CODES.iter().map(|(code, text)| format!("| {code} | {text} |\n"));
    let table: String = rows.collect();
    between("README.md", "codes", &format!("| code | meaning |\n|---|---|\n{table}"));
}

#[test]
fn the_skill_knows_every_rule_an_agent_can_meet() {
    let rows = RULES.iter().map(|rule| format!("- `{}`: {}\n", rule.id.0, rule.remedy));
    between("skills/session-isolation/SKILL.md", "rules", &rows.collect::<String>());
}

#[test]
fn plugin_and_program_have_one_version() {
    let plugin: Value =
        serde_json::from_str(&fs::read_to_string(file(".claude-plugin/plugin.json")).unwrap())
            .unwrap();
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn example_arms_are_read_as_arms() {
    let text = fs::read_to_string(file("config/arms-paths.example.json")).unwrap();
    let arms = octo::hook::arms::parse(&text, Path::new("/home/dev")).unwrap();
    assert_eq!(arms.len(), 3);
}

/// Every `octo …` that a document shows, in code spans and in blocks; generated tables aside.
fn commands_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut block, mut generated) = (false, false);
    for line in text.lines() {
        generated = line == "<!-- rules -->" || (generated && line != "<!-- /rules -->");
        if generated {
            continue;
        }
        if line.starts_with("```") {
            block = !block;
            continue;
        }
        if block {
            found.extend(line.split(" && ").map(str::trim).map(str::to_owned));
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found.retain(|command| command.starts_with("octo ") && !command.contains('…'));
    found
}

#[test]
fn every_command_shown_is_one_that_octo_understands() {
    let mut shown = 0;
    for name in [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "skills/session-isolation/SKILL.md",
        "skills/landing-work/SKILL.md",
        "skills/worktree-cleanup/SKILL.md",
        "skills/recovering/SKILL.md",
    ] {
        for command in commands_in(&fs::read_to_string(file(name)).unwrap()) {
            let words = shell_words::split(&command).unwrap();
            // `octo exec` and `octo dim` are applets with an argv of their own.
            if words.get(1).is_some_and(|verb| verb == "exec" || verb == "dim") {
                continue;
            }
            if let Err(why) = Cli::try_parse_from(&words) {
                let help = matches!(why.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
                assert!(help, "{name} shows `{command}`: {why}");
            }
            shown += 1;
        }
    }
    assert!(shown > 30, "only {shown} commands were found");
}

#[test]
fn every_hint_of_the_rules_is_a_command_that_octo_understands() {
    let remedies =
        RULES.iter().map(|rule| rule.remedy).chain(GUARDS.iter().map(|rule| rule.remedy));
    for command in remedies.flat_map(commands_in) {
        // A bare verb stands for the command with its arguments.
        let words = shell_words::split(&command).unwrap();
        let known = Cli::command();
        let verb = words.get(1).unwrap();
        assert!(known.find_subcommand(verb).is_some(), "a remedy names `{command}`");
    }
}
