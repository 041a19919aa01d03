//! Documents that tables generate stay as the tables say. `UPDATE=1 cargo test documents` writes
//! them anew.

use std::fs;
use std::path::{Path, PathBuf};

use octo::applet::{Always, WIRES};
use octo::config::{commented_default, schema};
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
    RULES.iter().for_each(|rule| table += &row(rule.id.0, rule.summary, rule.remedy));
    GUARDS.iter().for_each(|rule| table += &row(rule.id.0, rule.summary, rule.remedy));
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
    let wires = WIRES.iter().filter(|wire| wire.always != Always::Engine);
    let entries = wires.map(|wire| Entry::installed(wire, "/path/to/octo-hook")).collect();
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
