//! Whole-process benchmarks: what a hook costs as the client pays it, as ratios to `/bin/true` in
//! the same run (machines differ and are noisy; ratios travel). `cargo bench` prints the table
//! that the README shows; nothing here fails for being slow.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark runs processes and prints a table"
)]

mod installed;
mod sample;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use installed::Installed;
use octo::kernel::home::Home;
use octo::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};
use octo::policy::lane::{AbsPath, Pid};

/// Runs of each case alone.
const RUNS: usize = 400;
/// Rounds of processes at once.
const ROUNDS: usize = 12;
/// Processes at once.
const AT_ONCE: usize = 64;

/// How a hook is started.
#[derive(Clone, Copy)]
enum How {
    /// As it is.
    Bare,
    /// Through a shell, as PreToolUse is wired.
    Shell,
}

struct Stage {
    home: PathBuf,
    repo: PathBuf,
    inputs: PathBuf,
    number: usize,
}

impl Stage {
    fn new(name: &str) -> Self {
        let home = std::env::temp_dir().join(format!("octo-bench-{}-{name}", std::process::id()));
        let repo = home.join("src/app");
        let inputs = home.join("inputs");
        fs::create_dir_all(&repo).unwrap();
        fs::create_dir_all(&inputs).unwrap();
        let git = |args: &[&str]| {
            let done =
                Command::new("git").args(args).current_dir(&repo).env("HOME", &home).output();
            assert!(done.unwrap().status.success(), "git {args:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        fs::write(repo.join("mine.rs"), "mine\n").unwrap();
        fs::write(repo.join("theirs.rs"), "theirs\n").unwrap();
        git(&["add", "."]);
        git(&["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "base"]);
        Self { home, repo, inputs, number: 0 }
    }

    fn payload(&mut self, agent: &str, tool: &str, input: &serde_json::Value) -> PathBuf {
        self.number += 1;
        let body = serde_json::json!({
            "session_id": "5e551000-0000-4000-8000-000000000001",
            "agent_id": agent, "agent_type": "builder",
            "transcript_path": self.home.join("t.jsonl"),
            "cwd": self.repo, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
            "tool_use_id": format!("toolu_{}", self.number),
        });
        let path = self.inputs.join(format!("{}.json", self.number));
        fs::write(&path, body.to_string()).unwrap();
        path
    }

    fn write(&mut self, agent: &str, file: &str) -> PathBuf {
        let path = self.repo.join(file);
        self.payload(agent, "Write", &serde_json::json!({"file_path": path, "content": "x"}))
    }

    fn bash(&mut self, agent: &str, command: &str) -> PathBuf {
        self.payload(agent, "Bash", &serde_json::json!({"command": command}))
    }

    /// Lanes of a thousand other processes in the same repository.
    fn crowd(&self, lanes: usize) {
        let home = Home::of(&self.home);
        let mut kernel = Kernel::open(&home, Make::IfAbsent, OPERATOR_PATIENCE).unwrap();
        let root = AbsPath::new(fs::canonicalize(&self.repo).unwrap()).unwrap();
        kernel
            .transact(|tx| {
                let pids: Vec<Pid> =
                    (0..lanes.min(1000)).filter_map(|n| Pid::new(&format!("crowd-{n}"))).collect();
                for pid in &pids {
                    let row = sample::session(tx, pid);
                    tx.put_process(&row)?;
                }
                for (n, pid) in (0..lanes).zip(pids.iter().cycle()) {
                    let row = sample::lane(tx, &root, &format!("crowd/{}/{n}.rs", n % 100), pid);
                    tx.put_lane(&row)?;
                }
                Ok(())
            })
            .unwrap();
    }

    /// A call as the client makes it: `how` says whether through the shell of the wiring.
    fn command(&self, program: &Path, input: &Path, how: How) -> Command {
        let mut command = match how {
            How::Bare => Command::new(program),
            How::Shell => Command::new("/bin/sh"),
        };
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("OCTO_ISOLATION", "off")
            .stdin(File::open(input).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match how {
            How::Shell => {
                let line = format!("{} octo-hook PreToolUse || exit 2", program.display());
                command.args(["-c", &line])
            }
            How::Bare if program.ends_with("true") => &mut command,
            How::Bare => command.args(["octo-hook", "PreToolUse"]),
        };
        command
    }

    fn time(&self, program: &Path, input: &Path, how: How) -> Duration {
        let mut command = self.command(program, input, how);
        let began = Instant::now();
        command.status().unwrap();
        began.elapsed()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.home));
    }
}

fn at(times: &mut [Duration], share: f64) -> f64 {
    times.sort();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = ((times.len() - 1) as f64 * share).round() as usize;
    times[index].as_secs_f64() * 1e6
}

/// One case alone: pairs of a hook and `/bin/true`. On a machine that does other things too, the
/// fastest tenth says what a call costs and the median what it waits.
fn alone(stage: &Stage, name: &str, inputs: &[PathBuf], octo: &Path, how: How) {
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for n in 0..RUNS {
        base.push(stage.time(Path::new("/bin/true"), &inputs[0], How::Bare));
        ours.push(stage.time(octo, &inputs[n % inputs.len()], how));
    }
    let mut ratio = |share| at(&mut ours, share) / at(&mut base, share);
    let (tenth, median, p99) = (ratio(0.1), ratio(0.5), ratio(0.99));
    println!("| {name} | {tenth:.2} | {median:.2} | {p99:.2} | {:.0} µs |", at(&mut ours, 0.1));
}

/// Many at once: the worst of a crowd, beside a crowd of no-ops.
fn crowd(stage: &Stage, name: &str, inputs: &[PathBuf], octo: &Path) {
    let run = |program: &Path| {
        let mut times = Vec::new();
        for round in 0..ROUNDS {
            let barrier = Barrier::new(AT_ONCE);
            let round = std::thread::scope(|scope| {
                let workers: Vec<_> = (0..AT_ONCE)
                    .map(|n| {
                        let input = &inputs[(round * AT_ONCE + n) % inputs.len()];
                        let barrier = &barrier;
                        scope.spawn(move || {
                            barrier.wait();
                            stage.time(program, input, How::Bare)
                        })
                    })
                    .collect();
                workers.into_iter().map(|w| w.join().unwrap()).collect::<Vec<_>>()
            });
            times.extend(round);
        }
        times
    };
    let mut base = run(Path::new("/bin/true"));
    let mut ours = run(octo);
    let (ours, base) = (at(&mut ours, 0.99), at(&mut base, 0.99));
    println!("| {name} | {:.1} ms | {:.1} ms | {:.2} |", ours / 1000.0, base / 1000.0, ours / base);
}

fn long_command() -> String {
    let mut text = String::from("set -euo pipefail\n");
    while text.len() < 6000 {
        text.push_str(
            "for f in src/*.rs; do grep -n 'todo!' \"$f\" | head -3 || true; done # notes\n",
        );
    }
    text
}

fn main() {
    let installed = Installed::new();
    let octo = installed.path();
    println!("binary: {} KB\n", fs::metadata(&octo).unwrap().len() / 1000);
    for lanes in [0, 10_000] {
        let mut stage = Stage::new(&format!("{lanes}"));
        let seen = stage.bash("a1", "true");
        stage.time(&octo, &seen, How::Bare);
        let mine = stage.write("a1", "mine.rs");
        stage.time(&octo, &mine, How::Bare);
        let rival = stage.bash("a3", "true");
        stage.time(&octo, &rival, How::Bare);
        let theirs = stage.write("a2", "theirs.rs");
        stage.time(&octo, &theirs, How::Bare);
        if lanes > 0 {
            stage.crowd(lanes);
        }
        println!(
            "| alone, {lanes} lanes of others | fastest tenth / true | median / true | p99 / true | \
             fastest tenth |\n|---|---|---|---|---|"
        );
        let nothing = vec![stage.bash("a1", "ls -la && git status --short")];
        alone(&stage, "nothing to decide", &nothing, &octo, How::Bare);
        alone(&stage, "the same, wired through a shell", &nothing, &octo, How::Shell);
        let held = vec![stage.write("a1", "mine.rs")];
        alone(&stage, "allowed, path held by me", &held, &octo, How::Bare);
        let first: Vec<_> = (0..RUNS).map(|n| stage.write("a1", &format!("new/{n}.rs"))).collect();
        alone(&stage, "first claim", &first, &octo, How::Bare);
        let denied: Vec<_> = (0..RUNS).map(|_| stage.write("a3", "theirs.rs")).collect();
        alone(&stage, "denial", &denied, &octo, How::Bare);
        let long = long_command();
        let long = vec![stage.bash("a1", &long)];
        alone(&stage, "6 KB of bash, nothing to decide", &long, &octo, How::Bare);
        println!(
            "\n| 64 at once, {lanes} lanes of others | p99 | p99 of 64 × true | ratio |\n|---|---|---|---|"
        );
        crowd(&stage, "nothing to decide", &nothing, &octo);
        let agents: Vec<_> =
            (0..AT_ONCE).map(|n| stage.write(&format!("r{n}"), &format!("crowd-{n}.rs"))).collect();
        crowd(&stage, "claims", &agents, &octo);
        let denied: Vec<_> =
            (0..AT_ONCE).map(|n| stage.write(&format!("r{n}"), "theirs.rs")).collect();
        crowd(&stage, "denials", &denied, &octo);
        println!();
    }
}
