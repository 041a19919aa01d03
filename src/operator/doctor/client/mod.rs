//! The proof with the real client: the installed one is started in a home of its own, against a
//! model on loopback with a placeholder for a key, once for each permission mode it offers. Shows
//! that a session's tree can be written in and stayed in, and that a held file is refused.
//! Nothing outside the temporary folder is written, and no host is asked.

mod house;
mod http;
pub mod model;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use self::house::House;
use self::model::{Call, Model, Ran, Said};
use super::Finding;
use super::attack::{HOLDER, installed};
use super::machine::output;
use super::scene::Scene;
use crate::operator::context::Context;
use crate::operator::screen::harmless;

/// Longest that a client may take for a handful of calls.
const LIMIT: Duration = Duration::from_mins(2);
/// How often its end is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// Modes to try where the client does not list its own.
const MODES: &[&str] = &["default", "acceptEdits", "plan", "bypassPermissions"];
/// Nobody checks it; the client wants to have one.
const KEY: &str = "octo-doctor-no-key";

/// The numbers of the calls in a proof.
const PROJECT: usize = 0;
const TREE: usize = 1;
const HELD: usize = 2;
const WHERE: usize = 4;

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let Some(help) = output("claude", "--help") else {
        let text = "there is no `claude` on PATH that could be tried";
        return vec![Finding::warn("client.modes", text, "put the client on PATH")];
    };
    let entry = installed(context).into_iter().next();
    let modes = modes(&help);
    modes.iter().map(|mode| prove(context, mode, entry.as_deref())).collect()
}

/// The permission modes that a client says it has.
fn modes(help: &str) -> Vec<String> {
    let choices = help.split_once("--permission-mode").and_then(|(_, rest)| {
        let (_, rest) = rest.split_once("choices:")?;
        Some(rest.split_once(')')?.0)
    });
    let listed: Vec<String> =
        choices.unwrap_or_default().split('"').skip(1).step_by(2).map(str::to_owned).collect();
    if listed.is_empty() {
        return MODES.iter().map(|mode| (*mode).to_owned()).collect();
    }
    listed
}

/// Plays the proof in one mode.
fn prove(context: &Context, mode: &str, entry: Option<&str>) -> Finding {
    let played = Scene::set().and_then(|scene| {
        let house = House::furnish(context, scene)?;
        let held = entry.map_or(Ok(()), |line| hold(&house, line));
        held.and_then(|()| play(&house, mode))
            .map(|said| judge(mode, &said, &house.tree, entry.is_some()))
    });
    let untold = |why: String| {
        let text = format!("{mode}: could not be tried: {}", harmless(&why));
        Finding::warn("client.modes", text, "octo doctor --client again; see to TMPDIR and git")
    };
    played.unwrap_or_else(untold)
}

/// Another session takes a file of the repository.
fn hold(house: &House, line: &str) -> Result<(), String> {
    let held = house.scene.repo.join("held.txt");
    let input = json!({ "file_path": held, "content": "mine" });
    let claimed = house.scene.fire(line, HOLDER, "Write", &input)?;
    if !claimed.status.success() {
        return Err("the installed entry refuses a lone session".to_owned());
    }
    fs::write(&held, "mine").map_err(|why| why.to_string())
}

/// What the client said to each call.
type Answers = Vec<Option<Said>>;

fn play(house: &House, mode: &str) -> Result<Answers, String> {
    let told = |why: std::io::Error| why.to_string();
    let (scene, tree) = (&house.scene, &house.tree);
    let write = |path: &Path| Call {
        tool: "Write",
        input: json!({ "file_path": path, "content": "written by octo doctor\n" }),
    };
    let shell = |line: String| Call {
        tool: "Bash",
        input: json!({ "command": line, "description": "octo doctor" }),
    };
    let go = format!("cd {}", shell_words::quote(&tree.display().to_string()));
    let calls = vec![
        write(&scene.repo.join("own.txt")),
        write(&tree.join("own.txt")),
        write(&scene.repo.join("held.txt")),
        shell(go),
        shell("pwd".to_owned()),
    ];
    let count = calls.len();
    let model = Model::open(calls).map_err(told)?;
    let words = scene.top.join("words");
    let mut client = scene.command(Path::new("claude"));
    client.args(["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode]);
    // A person's yes, for the modes that would ask for one or take none later.
    client.args(["--allowedTools", "Write", "Bash", "--", "go"]);
    client.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", KEY);
    for switch in
        ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"]
    {
        client.env(switch, "1");
    }
    // Root may not bypass otherwise; what runs here is five calls of ours.
    client.env("IS_SANDBOX", "1");
    for folder in ["CLAUDE_CODE_TMPDIR", "TMPDIR"] {
        client.env(folder, scene.top.join("tmp"));
    }
    fs::create_dir_all(scene.top.join("tmp")).map_err(told)?;
    client.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&words).map_err(told)?);
    let child = client.process_group(0).spawn().map_err(told)?;
    let ended = wait(child);
    let answers: Answers = (0..count).map(|call| model.said(call)).collect();
    if answers.iter().all(Option::is_some) {
        return Ok(answers);
    }
    let said = fs::read_to_string(words).unwrap_or_default();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(ended);
    Err(last.to_owned())
}

/// Waits for the client's end, or ends it with all it started.
fn wait(mut child: Child) -> &'static str {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let begun = Instant::now();
    let ended = loop {
        if matches!(child.try_wait(), Ok(Some(_))) {
            break "the client ended early and said nothing";
        }
        if begun.elapsed() > LIMIT {
            break "the client took too long";
        }
        std::thread::sleep(LOOK);
    };
    // Already gone is as good.
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    drop(child.wait());
    ended
}

/// What the answers mean.
fn judge(mode: &str, answers: &[Option<Said>], tree: &Path, guarded: bool) -> Finding {
    let of = |call: usize| answers.get(call).and_then(Option::as_ref);
    let ran = |call: usize| of(call).is_some_and(|said| said.ran == Ran::Yes);
    let words = |call: usize| {
        let text = of(call).map(|said| said.text.as_str()).unwrap_or_default();
        harmless(text.lines().next().unwrap_or_default())
    };
    let stays = Path::new(words(WHERE).trim()) == tree;
    if guarded && ran(HELD) {
        let text = format!("{mode}: a file that another session holds was written over");
        return Finding::bad("client.modes", text, "octo doctor --fix, then octo doctor --client");
    }
    let reach = "octo doctor --fix: the client must know the folder of the trees";
    if ran(PROJECT) != ran(TREE) {
        let text = format!("{mode}: a session can't write in its own tree: {}", words(TREE));
        return Finding::warn("client.modes", text, reach);
    }
    if !stays {
        let text = format!("{mode}: a session can't stay in its own tree: {}", words(WHERE));
        return Finding::warn("client.modes", text, reach);
    }
    let writes = if ran(TREE) { "writes in its own tree" } else { "writes nowhere" };
    let held = match (guarded, ran(PROJECT)) {
        (true, true) => "; a held file is refused",
        (true, false) | (false, _) => "",
    };
    Finding::ok("client.modes", format!("{mode}: a session {writes} and stays there{held}"))
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn modes_are_the_clients_own() {
        let help = "  --permission-mode <mode>  Mode to use for the session\n    (choices: \"acceptEdits\",\n  \"plan\")\n  --x (choices: \"no\")";
        assert_eq!(modes(help), ["acceptEdits", "plan"]);
        assert_eq!(modes("an old client"), MODES);
    }

    #[test]
    fn each_way_to_fall_short_is_told_apart() {
        let said = |ran, text: &str| Some(Said { ran, text: text.to_owned() });
        let answers = |project, tree, held, at: &str| {
            vec![
                said(project, "p"),
                said(tree, "t"),
                said(held, "h"),
                said(Ran::Yes, ""),
                said(Ran::Yes, at),
            ]
        };
        let level = |answers: &[Option<Said>]| judge("m", answers, Path::new("/t"), true).level;
        assert_eq!(level(&answers(Ran::Yes, Ran::Yes, Ran::No, "/t\n")), Level::Ok);
        assert_eq!(level(&answers(Ran::No, Ran::No, Ran::No, "/t")), Level::Ok);
        assert_eq!(level(&answers(Ran::Yes, Ran::No, Ran::No, "/t")), Level::Warn);
        assert_eq!(level(&answers(Ran::Yes, Ran::Yes, Ran::No, "/repo")), Level::Warn);
        assert_eq!(level(&answers(Ran::Yes, Ran::Yes, Ran::Yes, "/t")), Level::Bad);
    }
}
