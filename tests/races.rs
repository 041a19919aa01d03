//! Many processes, few paths: of those that race for overlapping paths exactly one wins, a loser
//! is told who, and hooks killed at any moment lose nothing that was acknowledged.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::machine::Machine;
use crate::support::puppet::Puppet;
use crate::support::reply::{Reply, Verdict};

const PAIRS: usize = 1_000;
const ROUNDS: usize = 50;
const RACERS: usize = 64;
const KILLS: usize = 500;
/// Steps of the lives that are cut short here and there.
const LIVES: usize = 400;

/// Paths of which any two are equal or one above the other.
const CHAIN: [&str; 4] = ["", "/a", "/a/b", "/a/b/c.rs"];

#[test]
fn of_two_that_race_one_wins_and_goes_on() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let sessions = [machine.session("left", &repo.root), machine.session("right", &repo.root)];
    for session in &sessions {
        session.start();
    }
    for pair in 0..PAIRS {
        let base = format!("p{pair}");
        let depth = pair % CHAIN.len();
        let paths = [base.clone(), format!("{base}{}", CHAIN[depth])].map(|path| repo.at(&path));
        let runners: Vec<Runner<'_>> = sessions
            .iter()
            .zip(&paths)
            .map(|(session, path)| Runner::line_up(session, path))
            .collect();
        let winner = one_winner(&format!("pair {pair}"), runners);
        if pair % 5 == 0 {
            let again = winner.puppet.ask("Write", &write_to(&winner.path));
            assert!(!again.denied(), "pair {pair}: the winner can't go on: {again:?}");
        }
    }
}

#[test]
fn of_a_crowd_that_races_one_wins() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let lead = machine.session("lead", &repo.root);
    lead.start();
    let crowd: Vec<Puppet<'_>> =
        (0..RACERS).map(|n| lead.subagent(&format!("racer-{n:02}"))).collect();
    for round in 0..ROUNDS {
        let runners = crowd.iter().enumerate().map(|(number, puppet)| {
            let path = format!("r{round}{}", CHAIN[number % CHAIN.len()]);
            Runner::line_up(puppet, &repo.at(&path))
        });
        let winner = one_winner(&format!("round {round}"), runners.collect());
        let again = winner.puppet.ask("Write", &write_to(&winner.path));
        assert!(!again.denied(), "round {round}: the winner can't go on: {again:?}");
    }
}

#[test]
fn killed_hooks_claim_at_most_once_and_lose_no_line() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let sessions: Vec<Puppet<'_>> =
        (0..8).map(|n| machine.session(&format!("s{n}"), &repo.root)).collect();
    for session in &sessions {
        session.start();
    }
    let mut chance = Chance(20_261_129);
    let mut acknowledged: Vec<(usize, PathBuf)> = Vec::new();
    let mut killed = 0;
    for number in 0.. {
        if killed == KILLS {
            break;
        }
        let (who, path) = (number % sessions.len(), repo.at(&format!("k{number}")));
        let runner = Runner::line_up(&sessions[who], &path);
        let passed = match runner.killed_after(Duration::from_micros(chance.below(9_000))) {
            None => {
                killed += 1;
                None
            }
            Some(reply) => Some(!reply.denied()),
        };
        if passed == Some(true) {
            acknowledged.push((who, path.clone()));
        }
        // The next call works, and it and the killed one are never both let in.
        let other = &sessions[(who + 1) % sessions.len()];
        let next = other.ask("Write", &write_to(&path));
        match (passed, next.verdict()) {
            (Some(true), Verdict::Pass) => panic!("{number}: two claims on one path"),
            (_, Verdict::Deny(reason)) => {
                let holder = sessions[who].pid();
                assert!(reason.contains(holder), "{number}: the kernel is stuck: {reason}");
            }
            (_, Verdict::Pass) => {
                let late = sessions[who].ask("Write", &write_to(&path));
                assert!(late.denied(), "{number}: two claims on one path");
            }
        }
    }
    assert!(!acknowledged.is_empty(), "every hook was killed: nothing was shown");
    let journals: Vec<String> =
        sessions.iter().map(|s| claims(&machine.journal(s.pid()))).collect();
    for (who, path) in &acknowledged {
        let line = path.display().to_string();
        assert!(journals[*who].contains(&line), "an acknowledged claim of {line} is gone");
    }
    let verified = machine.operator(&["replay", "--verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn any_life_with_kills_leaves_one_holder_and_a_whole_record() {
    let machine = Machine::gates_only();
    machine.configure("isolation = \"off\"\n[retention]\njournal_kilobytes = 16\n");
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    let sessions: Vec<Puppet<'_>> =
        (0..3).map(|n| machine.session(&format!("life-{n}"), &repo.root)).collect();
    let agents = sessions.iter().map(|s| s.subagent(&format!("{}-agent", s.pid())));
    let cast: Vec<Puppet<'_>> = sessions.iter().cloned().chain(agents).collect();
    let mut chance = Chance(4_711);
    for step in 0..LIVES {
        let who = &cast[usize::try_from(chance.below(6)).unwrap()];
        let path = repo.at(&format!("x{}", CHAIN[usize::try_from(chance.below(4)).unwrap()]));
        let end = if who.agent.is_some() { "SubagentStop" } else { "SessionEnd" };
        let write = who.question("Write", &write_to(&path));
        let kill = Some(Duration::from_micros(chance.below(9_000)));
        match chance.below(10) {
            0..4 => drop(play(who, "PreToolUse", &write, kill)),
            4..7 => {
                let passed = play(who, "PreToolUse", &write, None);
                if passed.is_some_and(|reply| !reply.denied()) {
                    drop(play(who, "PostToolUse", &write, kill));
                }
            }
            7 => drop(play(who, end, &who.payload(end, json!({ "reason": "other" })), kill)),
            8 => drop(play(who, "Stop", &who.payload("Stop", json!({})), kill)),
            _ => drop(who.bash("octo yield")),
        }
        if step % 20 == 0 {
            one_holder_each(&machine, step);
        }
        if step % 80 == 0 {
            let verified = machine.operator(&["replay", "--verify"]);
            assert_eq!(verified.code, Some(0), "step {step}: {verified:?}");
        }
    }
    // Each journal goes on once more, so that no last line is one of a killed hook.
    for (n, who) in cast.iter().enumerate() {
        who.holds(&repo.at(&format!("last-{n}")), "x");
    }
    let before = one_holder_each(&machine, LIVES);
    assert!(before.len() >= cast.len(), "nothing is held: nothing is shown");
    std::fs::write(machine.kernel().join("table.sqlite"), "gone").unwrap();
    machine.operator(&["doctor", "--repair"]);
    let after = one_holder_each(&machine, LIVES);
    let lost: Vec<_> = before.iter().filter(|lane| !after.contains(lane)).collect();
    assert!(lost.is_empty(), "held before, and not in the journals: {lost:#?}");
    assert_eq!(machine.operator(&["replay", "--verify"]).code, Some(0));
}

/// Fires an event and kills its hook after a moment; its answer when it was faster.
fn play(who: &Puppet<'_>, event: &str, payload: &Value, kill: Option<Duration>) -> Option<Reply> {
    let mut payload = payload.clone();
    payload["hook_event_name"] = json!(event);
    let mut command = who.machine.command("octo-hook");
    command.arg(event).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let path = PathBuf::new();
    let mut runner = Runner { puppet: who.clone(), path, payload: payload.to_string(), child };
    if let Some(moment) = kill {
        return runner.killed_after(moment);
    }
    runner.go();
    Some(runner.reply())
}

/// Lanes of live processes with their holders; no two of different holders overlap.
#[track_caller]
fn one_holder_each(machine: &Machine, step: usize) -> Vec<(String, String)> {
    let told = machine.run("octo", &["ps", "--all", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let mut held = Vec::new();
    for process in told["processes"].as_array().unwrap().iter().filter(|p| p["state"] == "live") {
        let pid = process["pid"].as_str().unwrap().to_owned();
        let lanes = process["lanes"].as_array().unwrap();
        held.extend(lanes.iter().map(|l| (l["path"].as_str().unwrap().to_owned(), pid.clone())));
    }
    for (n, (one, holder)) in held.iter().enumerate() {
        for (two, other) in &held[n + 1..] {
            let overlap = Path::new(one).starts_with(two) || Path::new(two).starts_with(one);
            assert!(!overlap || holder == other, "step {step}: {holder} {one}, {other} {two}");
        }
    }
    held
}

fn claims(journal: &[Value]) -> String {
    let targets = journal.iter().filter(|line| line["kind"] == "claim");
    targets.filter_map(|line| line["target"].as_str()).collect::<Vec<_>>().join("\n")
}

fn write_to(path: &Path) -> Value {
    json!({ "file_path": path, "content": "x" })
}

/// A hook process that has started and waits for its payload.
struct Runner<'m> {
    puppet: Puppet<'m>,
    path: PathBuf,
    payload: String,
    child: Child,
}

impl<'m> Runner<'m> {
    fn line_up(puppet: &Puppet<'m>, path: &Path) -> Self {
        let payload = puppet.question("Write", &write_to(path)).to_string();
        let mut command = puppet.machine.command("octo-hook");
        command.arg("PreToolUse");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        Self { puppet: puppet.clone(), path: path.to_path_buf(), payload, child }
    }

    /// Gives it its payload: from now on it races.
    fn go(&mut self) {
        drop(self.child.stdin.take().map(|mut pipe| pipe.write_all(self.payload.as_bytes())));
    }

    fn reply(self) -> Reply {
        self.child.wait_with_output().unwrap().into()
    }

    /// Kills it after a moment; its answer when it was faster.
    fn killed_after(mut self, moment: Duration) -> Option<Reply> {
        self.go();
        thread::sleep(moment);
        self.child.kill().unwrap();
        let reply = self.reply();
        reply.code.is_some().then_some(reply)
    }
}

struct Winner<'m> {
    puppet: Puppet<'m>,
    path: PathBuf,
}

/// Lets them race; exactly one passes, and all others are told its name.
#[track_caller]
fn one_winner<'m>(race: &str, mut runners: Vec<Runner<'m>>) -> Winner<'m> {
    for runner in &mut runners {
        runner.go();
    }
    let mut winners = Vec::new();
    let mut reasons = Vec::new();
    for runner in runners {
        let (puppet, path) = (runner.puppet.clone(), runner.path.clone());
        match runner.reply().verdict() {
            Verdict::Pass => winners.push(Winner { puppet, path }),
            Verdict::Deny(reason) => reasons.push(reason),
        }
    }
    let names: Vec<&str> = winners.iter().map(|winner| winner.puppet.pid()).collect();
    assert_eq!(winners.len(), 1, "{race}: {names:?} won; the others heard {reasons:#?}");
    let winner = winners.remove(0);
    for reason in reasons {
        assert!(reason.contains(winner.puppet.pid()), "{race}: a loser is told: {reason}");
    }
    winner
}

/// A fixed sequence of numbers, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
