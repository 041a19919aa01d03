//! Set-ups of repositories, processes, lanes and damage, and one input each: the hook's verdict
//! must be the right one. Played with isolation off, so that every set-up can be played.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::cases::{fill, load, play, text};
use crate::support::machine::Machine;
use crate::support::puppet::Puppet;
use crate::support::reply::{Reply, Verdict};
use crate::support::repo::Repo;

/// Cases that have a test of their own, with the reason.
pub(crate) const ELSEWHERE: [(&str, &str); 2] = [
    ("race-001", "races have a module of their own"),
    ("race-004", "a forged line has a test of its own below"),
];

#[test]
fn every_scenario_gets_its_verdict() {
    let mut cases = load("scenarios.jsonl");
    cases.retain(|case| ELSEWHERE.iter().all(|(id, _)| text(case, "id") != *id));
    cases.retain(|case| text(case, "gate") != "session-start");
    assert!(cases.len() > 150, "the case file is cut");
    play(&cases, id, |case| {
        let stage = Stage::set(case);
        let reply = stage.judge(&stage.case["input"]);
        let mut wrong = Vec::new();
        let got = match reply.verdict() {
            Verdict::Pass => "allow",
            Verdict::Deny(_) => "deny",
        };
        let right = text(case, "right");
        if right != "either" && right != got {
            let input = case["input"]["tool_input"].to_string();
            let why = text(case, "why");
            let reason = reply.stderr.lines().next().unwrap_or_default().to_owned();
            wrong.push(format!("{right}, got {got}: {input} ({why}) {reason}"));
        }
        wrong.extend(stage.after(&stage.case["after"]));
        wrong
    });
}

#[test]
fn every_start_of_a_session_goes_on() {
    let mut cases = load("scenarios.jsonl");
    cases.retain(|case| text(case, "gate") == "session-start");
    assert!(cases.len() >= 4, "the case file is cut");
    play(&cases, id, |case| match std::panic::catch_unwind(|| start(case)) {
        Ok(()) => Vec::new(),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            vec![format!("{}: {}", text(case, "why"), said.unwrap_or_default())]
        }
    });
}

/// One start, on a machine as it is delivered: nothing blocks it, and where the session works
/// afterwards is what the case says.
fn start(case: &Value) {
    let machine = Machine::new();
    let (setup, input) = (&case["setup"], &case["input"]);
    assert_eq!(text(case, "right"), "allow", "no start is ever refused");
    let root = machine.home.join("proj/app");
    let is_git = setup["brain_is_git"] != false;
    if is_git {
        machine.repo("app", &[("a.txt", "a\n")]);
    }
    fs::create_dir_all(&root).unwrap();
    let trees = || {
        let repo = Repo::open(&root, &machine.home);
        repo.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count()
    };
    if input["argv"].is_string() {
        let repo = root.display().to_string();
        let words = ["--session-id", "argv-1111-2222", "worktree-init", "--repo", &repo];
        let made = machine.run("octo-dim", &words);
        let tree = PathBuf::from(made.stdout.trim());
        assert!(made.code == Some(0) && tree.join("a.txt").exists(), "{made:?}");
        assert!(!tree.starts_with(&root), "the tree lies in the repository: {made:?}");
        return;
    }
    let others = setup["other_live"].as_u64().unwrap_or(0);
    for number in 0..others {
        let other = machine.session(&format!("other-{number}"), &root);
        other.start();
        other.holds(&root.join(format!("other-{number}.txt")), "theirs\n");
    }
    let me = machine.session(text(input, "session_id"), &root);
    let begun = me.start();
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let listed = machine.run("octo", &["ps", "--json"]);
    assert!(listed.stdout.contains(me.pid()), "it is not registered: {listed:?}");
    let write = json!({ "file_path": root.join("mine.txt"), "content": "x" });
    if setup["already_forked"] == true {
        assert!(me.ask("Write", &write).denied());
        for source in ["resume", "clear", "compact"] {
            let again = me.fire("SessionStart", json!({ "source": source }));
            assert_eq!(again.code, Some(0), "{source}: {again:?}");
            assert!(me.ask("Write", &write).denied(), "{source}: it is back in the checkout");
        }
        assert_eq!(trees(), 2, "one tree and the checkout");
    } else {
        let written = me.write(&root.join("mine.txt"), "x");
        assert_eq!(written.verdict(), Verdict::Pass, "{written:?}");
        assert!(!is_git || trees() == 1, "a tree was made for nobody's sake");
    }
}

#[test]
fn a_line_forged_into_a_journal_frees_nothing() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("lib/core.rs", "a\n")]);
    let holder = machine.session("holder", &repo.root);
    holder.start();
    holder.holds(&repo.at("lib/core.rs"), "mine\n");
    let journal = machine.kernel().join("journal/holder.jsonl");
    let mut lines = fs::read_to_string(&journal).unwrap();
    lines.push_str("{\"kind\":\"exit\"}\n");
    fs::write(&journal, lines).unwrap();
    let other = machine.session("other", &repo.root);
    let input = json!({ "file_path": repo.at("lib/core.rs"), "content": "x" });
    assert!(other.ask("Write", &input).denied());
}

fn id(case: &Value) -> String {
    text(case, "id").to_owned()
}

/// One case brought to life.
pub(crate) struct Stage {
    pub(crate) machine: Machine,
    root: PathBuf,
    pub(crate) case: Value,
    main_of_linked: Option<PathBuf>,
    table_before: Vec<u8>,
}

impl Stage {
    pub(crate) fn set(case: &Value) -> Self {
        let machine = Machine::gates_only();
        let root = machine.home.join("proj/app");
        let solo = machine.home.join("proj/solo");
        let kernel = machine.kernel();
        let marks: [(&str, &Path); 4] =
            [("{ROOT}", &root), ("{HOME}", &machine.home), ("{SOLO}", &solo), ("{STATE}", &kernel)];
        let case = fill(case, &marks);
        let mut stage =
            Self { machine, root, case, main_of_linked: None, table_before: Vec::new() };
        let setup = stage.case["setup"].clone();
        stage.disk(&setup);
        stage.processes(&setup);
        stage.damage(&setup);
        stage.table_before = fs::read(stage.table()).unwrap_or_default();
        stage
    }

    fn table(&self) -> PathBuf {
        self.machine.kernel().join("table.sqlite")
    }

    fn disk(&mut self, setup: &Value) {
        let files: Vec<&str> = list(&setup["files"]).iter().filter_map(Value::as_str).collect();
        for repo in list(&setup["repos"]) {
            let root = Path::new(text(repo, "root"));
            if text(repo, "git") == "file" {
                self.linked(root);
            } else {
                let main = Repo::make(root, &self.machine.home, &[]);
                // Files of a worktree nested below come with that worktree.
                let own = |file: &&&str| {
                    Path::new(file).starts_with(root) && !file.contains("/worktrees/")
                };
                for file in files.iter().filter(own) {
                    put(Path::new(file));
                }
                main.git(&["add", "--all"]);
                main.git(&["commit", "--quiet", "--allow-empty", "--message=files"]);
            }
        }
        for file in &files {
            put(Path::new(file));
        }
        for (link, target) in setup["symlinks"].as_object().into_iter().flatten() {
            symlink(target.as_str().unwrap(), link).unwrap();
        }
        let arms = match &setup["arms"] {
            Value::Null => return,
            Value::String(raw) => raw.clone(),
            object @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                object.to_string()
            }
        };
        let folder = self.machine.home.join(".claude/company/config");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("arms-paths.json"), arms).unwrap();
    }

    /// Makes `root` a linked worktree of the repository around it, or of one elsewhere.
    fn linked(&mut self, root: &Path) {
        let around = root.ancestors().skip(1).find(|above| above.join(".git").exists());
        let main = match around {
            Some(main) => main.to_path_buf(),
            None => self.machine.home.join("proj/main-of-linked"),
        };
        let repo = Repo::make(&main, &self.machine.home, &[]);
        let target = root.display().to_string();
        repo.git(&["worktree", "add", "--quiet", "-b", "linked", &target]);
        self.main_of_linked = around.is_none().then_some(main);
    }

    fn processes(&self, setup: &Value) {
        let mut cast: Vec<(Puppet<'_>, &Value)> = Vec::new();
        for process in list(&setup["processes"]) {
            let pid = text(process, "pid");
            let puppet = match process["ppid"].as_str() {
                None => self.machine.session(pid, &self.root),
                Some(parent) => self.machine.session(parent, &self.root).spawn(pid),
            };
            if puppet.agent.is_none() {
                puppet.start();
            }
            cast.push((puppet, process));
        }
        for session in list(&setup["sessions"]) {
            let home = self.main_of_linked.as_ref().unwrap_or(&self.root);
            let cwd = session["worktree"].as_str().map_or(home.as_path(), Path::new);
            let puppet = self.machine.session(text(session, "id"), cwd);
            puppet.start();
            cast.push((puppet, session));
        }
        for (puppet, role) in &cast {
            for lane in list(&role["lanes"]).iter().filter_map(Value::as_str) {
                let lane = Path::new(lane);
                puppet.holds(lane, &format!("work of {}\n", puppet.pid()));
                if text(&setup["repos"][0], "git") == "real" {
                    let name = lane.strip_prefix(&self.root).unwrap().display();
                    puppet.bash(&format!("git commit -qm done -- {name}")).well();
                }
            }
        }
        for (puppet, role) in &cast {
            if let Some(age) = role["age"].as_i64() {
                self.machine.silent_for(puppet.pid(), age);
            }
        }
    }

    fn damage(&self, setup: &Value) {
        match setup["table"].as_str() {
            None => {}
            Some("zero") => fs::write(self.table(), "").unwrap(),
            Some("array") => fs::write(self.table(), "[]").unwrap(),
            Some(other) => panic!("unknown damage {other}"),
        }
    }

    pub(crate) fn judge(&self, input: &Value) -> Reply {
        if let Some(raw) = input["raw"].as_str() {
            return self.machine.feed("octo-hook", &["PreToolUse"], raw.as_bytes());
        }
        let steps = list(&input["sequence"]);
        let Some((last, before)) = steps.split_last() else { return self.ask(input) };
        for step in before {
            self.play(&step["payload"]);
        }
        self.ask(&last["payload"])
    }

    pub(crate) fn actor(&self, payload: &Value) -> Puppet<'_> {
        let session =
            self.machine.session(text(payload, "session_id"), Path::new(text(payload, "cwd")));
        payload["agent_id"].as_str().map_or(session.clone(), |agent| session.subagent(agent))
    }

    fn ask(&self, payload: &Value) -> Reply {
        self.actor(payload).ask(text(payload, "tool_name"), &payload["tool_input"])
    }

    /// A step before the judged one: the call and its deed.
    fn play(&self, payload: &Value) {
        let (actor, input) = (self.actor(payload), &payload["tool_input"]);
        match text(payload, "tool_name") {
            "Write" => actor.holds(Path::new(text(input, "file_path")), "written\n"),
            "Bash" => actor.bash(text(input, "command")).well(),
            tool => {
                let launched = json!({ "isAsync": true, "status": "async_launched" });
                assert!(!actor.call(tool, input, launched).denied());
            }
        }
    }

    /// What must be true afterwards, said as a complaint where it is not.
    fn after(&self, wanted: &Value) -> Option<String> {
        let (holder, path) = match (wanted["has_lane"].as_str(), &wanted["session_lane"]) {
            (Some(path), _) => (text(wanted, "row"), path),
            (None, Value::Array(pair)) => (pair[0].as_str()?, pair[1].as_str()?),
            (None, _) => return self.after_files(wanted),
        };
        let probe = self.machine.session("probe", &self.root);
        let reply = probe.ask("Write", &json!({ "file_path": path, "content": "x" }));
        match reply.verdict() {
            Verdict::Deny(reason) if reason.contains(holder) => None,
            Verdict::Deny(reason) => Some(format!("held by another than {holder}: {reason}")),
            Verdict::Pass => Some(format!("{holder} did not get {path}")),
        }
    }

    fn after_files(&self, wanted: &Value) -> Option<String> {
        if let Some(pid) = wanted["journal"].as_str() {
            let missing = self.machine.journal(pid).is_empty();
            return missing.then(|| format!("{pid} has no journal"));
        }
        let same = fs::read(self.table()).unwrap() == self.table_before;
        (wanted["table_unchanged"] == true && !same).then(|| "the table was rewritten".to_owned())
    }
}

fn put(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("a file: {}\n", path.file_name().unwrap().display())).unwrap();
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
