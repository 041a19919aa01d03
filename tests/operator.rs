//! What a person types, through the real binary: installation that is undone to the byte, a
//! doctor that attacks, listings, the record, and the doors that are closed to agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::eventually;
use crate::support::machine::{Machine, feed};
use crate::support::reply::Reply;

/// Settings as people have them; none is no file at all.
const SETTINGS: &[Option<&str>] = &[
    None,
    Some("{}"),
    Some("{\n  \"model\": \"opus\"\n}\n"),
    Some(
        "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [ ]\r\n\t},\r\n\t\"permissions\": {\"allow\": [\"Bash\"]}\r\n}",
    ),
    Some(
        "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"guard\"}]}]}}\n\n",
    ),
];

fn settings(machine: &Machine) -> PathBuf {
    machine.home.join(".claude/settings.json")
}

fn with_settings(text: Option<&str>) -> Machine {
    let machine = Machine::gates_only();
    fs::create_dir_all(machine.home.join(".claude")).unwrap();
    if let Some(text) = text {
        fs::write(settings(&machine), text).unwrap();
    }
    machine
}

#[track_caller]
fn done(reply: &Reply) {
    assert_eq!(reply.code, Some(0), "{reply:?}");
}

fn json_of(reply: &Reply) -> Value {
    serde_json::from_str(&reply.stdout).unwrap_or_else(|why| panic!("{why}: {reply:?}"))
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_gives_back_the_bytes() {
    for text in SETTINGS {
        let machine = with_settings(*text);
        done(&machine.operator(&["install", "--no-check"]));
        let installed = fs::read_to_string(settings(&machine)).unwrap();
        done(&machine.operator(&["install", "--no-check"]));
        assert_eq!(fs::read_to_string(settings(&machine)).unwrap(), installed);
        done(&machine.operator(&["uninstall"]));
        assert_eq!(fs::read_to_string(settings(&machine)).ok().as_deref(), *text);
        for left in [".local/share/octo", ".local/bin/octo", ".claude/settings.json.octo-backup"] {
            assert!(!machine.home.join(left).exists(), "{left} was left behind");
        }
    }
}

#[test]
fn edits_made_while_installed_survive_the_removal() {
    let machine = with_settings(Some("{\n  \"model\": \"opus\"\n}\n"));
    done(&machine.operator(&["install", "--no-check"]));
    let installed = fs::read_to_string(settings(&machine)).unwrap();
    fs::write(settings(&machine), installed.replace("opus", "sonnet")).unwrap();
    done(&machine.operator(&["uninstall"]));
    assert_eq!(fs::read_to_string(settings(&machine)).unwrap(), "{\n  \"model\": \"sonnet\"\n}\n");
}

#[test]
fn a_linked_settings_file_stays_a_link_with_its_mode() {
    let machine = with_settings(None);
    let real = machine.home.join("dotfiles.json");
    fs::write(&real, "{}\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, settings(&machine)).unwrap();
    done(&machine.operator(&["install", "--no-check"]));
    assert!(fs::symlink_metadata(settings(&machine)).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    done(&machine.operator(&["uninstall"]));
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
}

#[test]
fn a_file_that_two_readers_could_read_differently_is_refused_with_its_place() {
    for (text, place) in [
        ("{\n  // mine\n  \"a\": 1\n}\n", "line 2, column 3"),
        ("{\"a\": 1, \"a\": 2}\n", "line 1, column 10"),
        ("{\"a\": 1,}\n", "line 1, column 9"),
    ] {
        let machine = with_settings(Some(text));
        let refused = machine.operator(&["install", "--no-check"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(place), "{refused:?}");
        assert_eq!(fs::read_to_string(settings(&machine)).unwrap(), text);
    }
}

#[test]
fn a_dry_run_shows_the_difference_and_makes_none() {
    let machine = with_settings(Some("{}\n"));
    let shown = machine.run("octo", &["install", "--dry-run"]);
    done(&shown);
    assert!(shown.stdout.contains('+') && shown.stdout.contains("PreToolUse"), "{shown:?}");
    assert_eq!(fs::read_to_string(settings(&machine)).unwrap(), "{}\n");
    assert!(!machine.home.join(".local").exists());
}

#[test]
fn an_upgrade_keeps_what_was_chosen_before() {
    let machine = with_settings(Some("{}\n"));
    let holds = |word| fs::read_to_string(settings(&machine)).unwrap().contains(word);
    done(&machine.operator(&["install", "--no-check", "--fence"]));
    assert!(holds("WorktreeCreate") && holds("octo-sh"));
    done(&machine.operator(&["install", "--no-check", "--worktrees", "client"]));
    assert!(!holds("WorktreeCreate") && holds("octo-sh"));
    done(&machine.operator(&["install", "--no-check", "--fence=no"]));
    assert!(!holds("WorktreeCreate") && !holds("octo-sh"));
}

#[test]
fn a_first_installation_has_the_fence_where_the_machine_grants_all_of_it() {
    let machine = with_settings(Some("{}\n"));
    let said = machine.operator(&["doctor"]).stdout;
    let whole =
        said.contains("full, but shell commands run") && said.contains("blocks when a hook");
    let fenced = |machine: &Machine| {
        fs::read_to_string(settings(machine)).unwrap().contains("CLAUDE_CODE_SHELL_PREFIX")
    };
    done(&machine.operator(&["install", "--no-check"]));
    assert_eq!(fenced(&machine), whole);
    let said = machine.operator(&["doctor"]);
    assert_eq!(said.stdout.contains("full: shell commands run behind it"), whole, "{said:?}");
    let machine = with_settings(Some("{}\n"));
    done(&machine.operator(&["install", "--no-check", "--fence=no"]));
    assert!(!fenced(&machine));
    // Somebody else's program stands there: it stays, and nobody asked for ours.
    let theirs = "{\"env\": {\"CLAUDE_CODE_SHELL_PREFIX\": \"/opt/theirs\"}}\n";
    let machine = with_settings(Some(theirs));
    done(&machine.operator(&["install", "--no-check"]));
    let text = fs::read_to_string(settings(&machine)).unwrap();
    assert!(text.contains("/opt/theirs") && !text.contains("octo-sh"), "{text}");
}

#[test]
fn what_loosens_a_guard_is_closed_to_agents_and_to_pipes() {
    let machine = with_settings(Some("{}\n"));
    for args in [
        &["install"][..],
        &["uninstall"],
        &["prune"],
        &["doctor", "--fix"],
        &["doctor", "--repair"],
        &["off", "--for", "10m"],
        &["on"],
        &["config", "edit"],
        &["ps", "--release", "anybody"],
    ] {
        let mut command = machine.command("octo");
        let refused: Reply = command.args(args).env("CLAUDECODE", "1").output().unwrap().into();
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("the operator's"), "{args:?}: {refused:?}");
    }
    let piped = machine.operator(&["off", "--for", "10m"]);
    assert!(piped.stderr.contains("a person at a terminal"), "{piped:?}");
    assert_eq!(fs::read_to_string(settings(&machine)).unwrap(), "{}\n");
}

#[test]
fn doctor_says_not_guarded_until_the_attack_is_denied() {
    let machine = with_settings(Some("{}\n"));
    let before = machine.operator(&["doctor", "--json"]);
    assert_eq!(before.code, Some(2), "{before:?}");
    assert_eq!(json_of(&before)["verdict"], "bad");
    done(&machine.operator(&["install"]));
    let after = machine.operator(&["doctor", "--json"]);
    assert!(matches!(after.code, Some(0 | 1)), "{after:?}");
    let findings = json_of(&after)["findings"].clone();
    let attack = findings.as_array().unwrap().iter().find(|f| f["id"] == "attack.denied").unwrap();
    assert_eq!(attack["level"], "ok", "{attack}");
}

#[test]
fn doctor_finds_each_way_of_not_being_guarded_and_mends_what_it_may() {
    let machine = with_settings(Some("{}\n"));
    done(&machine.operator(&["install", "--no-check"]));
    let program = machine.home.join(".local/share/octo/bin/octo");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(machine.operator(&["doctor"]).code, Some(2));
    fs::remove_file(&program).unwrap();
    assert_eq!(machine.operator(&["doctor"]).code, Some(2));
    let mended = machine.operator(&["doctor", "--fix"]);
    assert!(matches!(mended.code, Some(0 | 1)), "{mended:?}");

    let text = fs::read_to_string(settings(&machine)).unwrap();
    let shut = text.replacen('{', "{\"disableAllHooks\": true, ", 1);
    fs::write(settings(&machine), shut).unwrap();
    let found = machine.operator(&["doctor"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(found.stdout.contains("disableAllHooks"), "{found:?}");

    let drifted = text.replace("\"timeout\": 30", "\"timeout\": 1");
    fs::write(settings(&machine), drifted).unwrap();
    let found = machine.operator(&["doctor"]);
    assert!(found.stdout.contains("another version"), "{found:?}");
    machine.operator(&["doctor", "--fix"]);
    assert_eq!(fs::read_to_string(settings(&machine)).unwrap(), text);
}

#[test]
fn listings_make_nothing_where_nothing_is() {
    let machine = Machine::new();
    for args in [&["ps"][..], &["replay"], &["explain", "git add -A"], &["statusline"]] {
        done(&machine.run("octo", args));
    }
    assert!(!machine.home.join(".claude").exists());
}

#[test]
fn a_holder_is_seen_explained_recorded_and_released() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let holder = machine.session("holder-1", &repo.root);
    holder.holds(&repo.at("a.txt"), "held\n");
    let rival = machine.session("rival-1", &repo.root);
    let write = json!({"file_path": repo.at("a.txt"), "content": "taken"});
    assert_eq!(rival.ask("Write", &write).rule(), "lane.held");

    let seen = json_of(&machine.run("octo", &["ps", "--json"]));
    assert_eq!(seen["schema"], 1);
    let processes = seen["processes"].as_array().unwrap();
    let row = processes.iter().find(|p| p["pid"] == "holder-1").unwrap();
    assert_eq!(row["lanes"][0]["path"], repo.at("a.txt").to_str().unwrap());
    assert_eq!(processes.iter().find(|p| p["pid"] == "rival-1").unwrap()["denials"], 1);

    let before = machine.journal("rival-1").len();
    let target = repo.at("a.txt").display().to_string();
    let asked = machine.run("octo", &["explain", "--json", "--as", "rival-1", "--write", &target]);
    assert_eq!(json_of(&asked)["denial"]["rule"], "lane.held", "{asked:?}");
    assert_eq!(machine.journal("rival-1").len(), before, "explaining is not doing");

    let told = machine.run("octo", &["replay", "--denies"]);
    assert!(told.stdout.contains("[lane.held]") && told.stdout.lines().count() == 1, "{told:?}");

    let gone = machine.operator(&["ps", "--release", "holder-1"]);
    done(&gone);
    assert!(gone.stdout.contains("a.txt"), "{gone:?}");
    assert!(!rival.ask("Write", &write).denied());
    let lines = machine.journal("holder-1");
    let release = lines.iter().find(|line| line["kind"] == "release").unwrap();
    assert!(release["reason"].as_str().unwrap().starts_with("operator"), "{release}");
    let again = machine.operator(&["ps", "--release", "nobody-1"]);
    assert_eq!(again.code, Some(1), "{again:?}");
}

#[test]
fn a_release_that_means_an_earlier_life_of_an_id_does_nothing() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let wrong = machine.operator(&["ps", "--release", "holder-1@1"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let seen = json_of(&machine.run("octo", &["ps", "--json"]));
    let generation = seen["processes"][0]["generation"].to_string();
    done(&machine.operator(&["ps", "--release", &format!("holder-1@{generation}")]));
}

#[test]
fn an_edited_record_is_found_and_a_whole_one_is_not_accused() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    done(&machine.run("octo", &["replay", "--verify"]));
    let journal = machine.kernel().join("journal/holder-1.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    for damaged in [
        text.replacen("a.txt", "b.txt", 1),
        text.split_inclusive('\n').skip(1).collect(),
        text[..text.len() - 10].to_owned(),
        String::new(),
    ] {
        fs::write(&journal, damaged).unwrap();
        let found = machine.run("octo", &["replay", "--verify"]);
        assert_eq!(found.code, Some(1), "{found:?}");
    }
    fs::remove_file(&journal).unwrap();
    assert_eq!(machine.run("octo", &["replay", "--verify"]).code, Some(1));
    fs::write(&journal, text).unwrap();
    done(&machine.run("octo", &["replay", "--verify"]));
}

#[test]
fn a_ruined_table_is_rebuilt_with_its_live_lanes() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    fs::write(machine.kernel().join("table.sqlite"), "no table any more").unwrap();
    assert_eq!(machine.operator(&["doctor"]).code, Some(2));
    let mended = machine.operator(&["doctor", "--repair"]);
    assert!(mended.stderr.contains("1 lanes"), "{mended:?}");
    let rival = machine.session("rival-1", &repo.root);
    let write = json!({"file_path": repo.at("a.txt"), "content": "taken"});
    assert_eq!(rival.ask("Write", &write).rule(), "lane.held");
    done(&machine.run("octo", &["replay", "--verify"]));
}

#[test]
fn settings_are_checked_with_place_and_the_nearest_right_word() {
    let machine = Machine::new();
    machine.configure("isolation = \"of\"\nlease_secnds = 900\n");
    let wrong = machine.run("octo", &["config", "check"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stdout.contains("config.toml:1:13:") && wrong.stdout.contains("\"off\""));
    assert!(wrong.stdout.contains("config.toml:2:1:") && wrong.stdout.contains("`lease_seconds`"));

    machine.configure("fence = \"require\"\n");
    let repo = machine.repo("app", &[(".octo.toml", "fence = \"off\"\nland = \"never\"\n")]);
    let mut command = machine.command("octo");
    command.args(["config", "show", "--json"]).current_dir(&repo.root);
    let shown = json_of(&command.output().unwrap().into());
    let of = |key: &str| {
        (shown["settings"][key]["value"].clone(), shown["settings"][key]["origin"].clone())
    };
    assert_eq!(of("fence"), (json!("require"), json!("user")));
    assert_eq!(of("land"), (json!("never"), json!("project")));
    assert_eq!(of("isolation"), (json!("auto"), json!("default")));
}

#[test]
fn the_command_line_answers_as_people_expect() {
    let machine = Machine::new();
    for args in [&[][..], &["help"], &["--help"], &["--version"], &["ps", "--help"]] {
        done(&machine.run("octo", args));
    }
    for args in [&["nonsense"][..], &["ps", "--nonsense"], &["off"], &["explain"]] {
        assert_eq!(machine.run("octo", args).code, Some(2), "{args:?}");
    }
    let mut command = machine.command("octo");
    let words: Reply = command
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "1")
        .args(["--", "octo", "rep"])
        .output()
        .unwrap()
        .into();
    assert!(words.stdout.contains("replay"), "{words:?}");
    let pages = machine.home.join("man");
    done(&machine.run("octo", &["man", pages.to_str().unwrap()]));
    assert!(pages.join("man1/octo-ps.1").is_file());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let machine = Machine::new();
    let mut shell = machine.command("sh");
    let reply: Reply =
        shell.args(["-c", "octo config schema | head -n 1"]).output().unwrap().into();
    assert_eq!((reply.code, reply.stdout.as_str(), reply.stderr.as_str()), (Some(0), "{\n", ""));
}

#[test]
fn the_third_refusal_of_one_call_reaches_a_person() {
    let machine = Machine::new();
    let note = machine.home.join("note");
    let tell = machine.home.join("tell");
    fs::write(
        &tell,
        format!("#!/bin/sh\nprintf '%s' \"$2\" > '{}.new'; mv '{0}.new' '{0}'\n", note.display()),
    )
    .unwrap();
    fs::set_permissions(&tell, fs::Permissions::from_mode(0o755)).unwrap();
    machine.configure(&format!("isolation = \"off\"\nnotify = \"{} --app\"\n", tell.display()));
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let rival = machine.session("rival-1", &repo.root);
    let write = json!({"file_path": repo.at("a.txt"), "content": "taken"});
    for _ in 0..2 {
        assert!(rival.ask("Write", &write).denied());
    }
    assert!(!note.exists());
    assert!(rival.ask("Write", &write).denied());
    let text = eventually("the notice", || fs::read_to_string(&note).ok());
    assert!(text.contains("rival-1") && text.contains("[lane.held]"), "{text}");
}

#[test]
fn a_trace_tells_each_call_with_its_answer() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("a.txt"), "held\n");
    let write = json!({"file_path": repo.at("a.txt"), "content": "taken"});
    let payload = machine.session("rival-1", &repo.root).question("Write", &write);
    let trace = machine.home.join("trace");
    let mut command = machine.command("octo-hook");
    command.arg("PreToolUse").env("OCTO_LOG", &trace);
    assert!(feed(command, payload.to_string().as_bytes()).denied());
    let text = fs::read_to_string(trace).unwrap();
    assert!(text.contains(" PreToolUse 2 ") && text.contains("[lane.held]"), "{text}");
    assert_eq!(text.lines().count(), 1);
}
