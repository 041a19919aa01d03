//! The front page, kept: its transcript is what the real client's model is told, and a newcomer
//! who has nothing but an empty home gets in, past a denial and out again by it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::client::{Client, Pin};
use crate::support::heard::Heard;
use crate::support::machine::Machine;
use crate::support::office::{Office, on_every_client};
use crate::support::reply::Reply;
use crate::support::script::{
    Step, agent_behind, agent_waited_for, bash, gate, read, say, script, write,
};

/// What a tidy neighbour types.
const SWEEP: &str = "git add -A && git commit -m wip";
const RESET: &str = "git reset --hard HEAD~1";
const SED: &str = "sed -i s/core/kernel/ lib/core.rs";
/// What it types when it has read the refusals.
const OWN: &str = "git commit -m notes -- notes.md";

/// The command that the denial names, and work of one's own after it.
fn goes_there(request: &Value) -> Vec<Step> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let texts = messages.flat_map(|message| crate::support::heard::texts(&message["content"]));
    let named = texts.flat_map(str::lines).find_map(|line| {
        line.strip_prefix("cd ")?.split_once(" and go on there").map(|(tree, _)| tree.to_owned())
    });
    let Some(tree) = named else { return vec![say("no tree was named")] };
    vec![bash(&format!("cd {tree} && {SED} && git commit -am mine"))]
}

/// Calls and what the client said to each, as a person would have typed them.
fn transcript(heard: &Heard, calls: &[(usize, &str)], home: &Path) -> String {
    let mut text = String::new();
    for (number, command) in calls {
        let result = heard.result(*number).text;
        let said = result.find("octo: denied").map_or(result.as_str(), |at| &result[at..]);
        let _infallible = write!(text, "$ {command}\n{}\n\n", said.trim());
    }
    short(&text.replace(home.to_str().unwrap(), "~"))
}

/// Ids of sessions and agents by their first eight characters, as `octo ps` shows them.
fn short(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.find(|c: char| !c.is_ascii_hexdigit() && c != '-').unwrap_or(rest.len());
        let (id, after) = rest.split_at(run);
        let of_session = id.len() == 36 && id.matches('-').count() == 4;
        if of_session || (id.len() >= 16 && !id.contains('-')) {
            out.push_str(&id[..8]);
            rest = after;
        } else {
            let step = run.max(first.len_utf8());
            out.push_str(&rest[..step]);
            rest = &rest[step..];
        }
    }
    out
}

/// The same with everything that differs from run to run made alike: ids, ages, temporary names,
/// the width of columns.
fn alike(text: &str) -> String {
    let mut out = String::new();
    let mut run = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            run.push(c);
            continue;
        }
        let varies = run.len() >= 7 || run.chars().any(|c| c.is_ascii_digit());
        out.push_str(if varies { "#" } else { &run });
        run.clear();
        out.push(c);
    }
    // Columns are as wide as what stands in them.
    let lines = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.trim_end().replace("# min", "# s")
}

/// What stands between two markers of the README says this, or is made to.
pub(crate) fn readme_says(marker: &str, body: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {marker} -->\n"), format!("<!-- /{marker} -->\n"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    if alike(found) == alike(body) {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, format!("{before}{begin}{body}{end}{after}")).unwrap();
        return;
    }
    panic!("README.md is stale: UPDATE=1 cargo test front_page\n{found}\nnow is\n{body}");
}

#[test]
fn the_transcript_is_what_the_client_says() {
    let Some(client) = Client::pinned(Pin::Newest) else { return };
    let office = Office::on(Machine::new(), &client, |repo| {
        let (core, notes) = (repo.at("lib/core.rs"), repo.at("notes.md"));
        let first = [
            vec![agent_behind("builder")],
            vec![gate("builder works"), agent_waited_for("tidier")],
            vec![gate("end")],
        ];
        let builder = [vec![read(&core)], vec![write(&core, "core of A\n")], vec![gate("end")]];
        let tidier = [
            vec![read(&notes)],
            vec![write(&notes, "tidy notes\n")],
            vec![bash(SWEEP)],
            vec![bash(RESET)],
            vec![bash(SED)],
            vec![bash(OWN)],
        ];
        let second = [vec![bash(SWEEP)], vec![Step::From(goes_there)]];
        vec![
            script("first", first),
            script("builder", builder),
            script("tidier", tidier),
            script("second", second),
        ]
    });
    let first = office.session("first");
    office.api.reached("end");
    office.api.open("builder works");
    office.api.finished("tidier");
    office.finished("second");
    let (tidier, second) = (office.api.heard("tidier"), office.api.heard("second"));
    let home = &office.machine.home;
    let own = [(2, SWEEP), (3, RESET), (4, SED), (5, OWN)];
    let shown = transcript(&tidier, &own, home);
    let calls = transcript(&second, &[(0, SWEEP)], home);
    let tree = second.result(0).text;
    let tree = tree.lines().find_map(|line| line.strip_prefix("your own worktree is "));
    let tree = tree.and_then(|line| line.split(" (").next()).unwrap();
    let there = format!("cd {tree} && {SED} && git commit -am mine");
    let went = transcript(&second, &[(1, &there)], home);
    let whole = format!(
        "{shown}# and a second session, which has a worktree of its own from then on\n\n{calls}{went}"
    );
    readme_says("transcript", &format!("```console\n{}\n```\n", whole.trim()));
    let denial = transcript(&tidier, &[(4, SED)], home);
    let (_, denial) = denial.split_once('\n').unwrap();
    readme_says("denial", &format!("```text\n{}\n```\n", denial.trim()));
    assert_eq!(office.repo.content("lib/core.rs").unwrap(), "core of A\n");
    office.api.open("end");
    first.finish().well();
}

/// How a newcomer gets it, as the page says.
const INSTALL: &str = "cargo install --locked --path . && octo install";

#[test]
fn the_pages_install_command_works_in_an_empty_home() {
    let root = env!("CARGO_MANIFEST_DIR");
    let page = fs::read_to_string(Path::new(root).join("README.md")).unwrap();
    assert!(page.contains(&format!("```sh\n{INSTALL}\n```")), "the page says something else");
    let machine = Machine::new();
    for entry in fs::read_dir(&machine.bin).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    let cargo_home = std::env::var("CARGO_HOME")
        .unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap()));
    let tools = Path::new(env!("CARGO")).parent().unwrap().display();
    // The same but for speed: unoptimised, from what was fetched for this very build, and kept
    // apart from the program that the other tests run.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer");
    let (build, wire) = INSTALL.split_once(" && ").unwrap();
    let build = build.replace("cargo install", "cargo install --debug --quiet");
    let search = format!("{tools}:{}:{}", machine.home.join("bin").display(), machine.path());
    let mut shell = machine.command("sh");
    shell.args(["-c", &build]).current_dir(root).env("PATH", &search);
    shell.env("CARGO_HOME", cargo_home).env("CARGO_INSTALL_ROOT", &machine.home);
    shell.env("CARGO_TARGET_DIR", folder).env("CARGO_NET_OFFLINE", "true");
    let made: Reply = shell.env("CARGO_PROFILE_DEV_DEBUG", "0").output().unwrap().into();
    assert_eq!(made.code, Some(0), "{made:?}");
    let line = format!("PATH='{search}'; {wire}");
    let done = machine.operator_with("sh", &["-c", &line]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("a rival's write, rm and broad staging are denied"), "{done:?}");

    let settings = machine.home.join(".claude/settings.json");
    assert!(settings.is_file());
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let hook = machine.programs().join("octo-hook").display().to_string();
    let fire = |session: &str, event: &str, more: &Value| {
        let mut payload = machine.session(session, &repo.root).payload(event, more.clone());
        payload["permission_mode"] = "default".into();
        machine.feed(&hook, &[event], payload.to_string().as_bytes())
    };
    let write = serde_json::json!({
        "tool_name": "Write",
        "tool_input": { "file_path": repo.at("a.txt"), "content": "of A\n" },
        "tool_use_id": "toolu_1",
    });
    assert!(!fire("first", "PreToolUse", &write).denied());
    assert_eq!(fire("second", "PreToolUse", &write).rule(), "shared.fork");
    let gone = machine.operator(&["uninstall"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert!(!settings.exists());
}

#[test]
fn a_newcomer_gets_in_past_a_denial_and_out_again() {
    on_every_client(|client| {
        // An empty home: what git and the client want of it is all there is.
        let machine = Machine::new();
        let settings = machine.home.join(".claude/settings.json");
        assert!(!machine.home.join(".claude").exists());
        let office = Office::on(machine, client, |repo| {
            let core = repo.at("lib/core.rs");
            let first = [vec![read(&core)], vec![write(&core, "of A\n")], vec![gate("end")]];
            let second = [vec![bash(SWEEP)], vec![Step::From(goes_there)]];
            let after = [vec![bash("git add -A && git commit -qm all")]];
            vec![script("first", first), script("second", second), script("after", after)]
        });
        let doctor = office.machine.operator(&["doctor"]);
        assert!(doctor.stdout.contains("attack.denied"), "{doctor:?}");
        let first = office.session("first");
        office.api.reached("end");
        let tip = office.repo.head();
        office.finished("second");
        let heard = office.api.heard("second");
        heard.refused(0, &["octo: denied [shared.fork]", "your own worktree is"]);
        heard.ran(1);
        assert_eq!(office.repo.head(), tip, "the shared checkout moved");
        assert_eq!(office.repo.content("lib/core.rs").unwrap(), "of A\n");
        let branches = office.repo.git(&["log", "--format=%s", "--branches=dim/*", "-1"]);
        assert_eq!(branches, "mine", "the way past the denial led nowhere");
        let told = office.machine.run("octo", &["replay", "--denies"]);
        assert!(told.stdout.contains("[shared.fork]"), "{told:?}");
        office.api.open("end");
        first.finish().well();

        let gone = office.machine.operator(&["uninstall"]);
        assert_eq!(gone.code, Some(0), "{gone:?}");
        assert!(!settings.exists(), "{}", fs::read_to_string(&settings).unwrap());
        for left in [".local/share/octo", ".local/bin/octo"] {
            assert!(!office.machine.home.join(left).exists(), "{left} was left behind");
        }
        office.finished("after");
        office.api.heard("after").ran(0);
        assert_ne!(office.repo.head(), tip, "somebody still guards");
    });
}
