//! What the kernel fence adds to a shell command, measured as the client pays it: `bash -c true`
//! through `octo-sh` beside the same without, in pairs of one run. Prints the table that the
//! README shows; nothing here fails for being slow.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark runs processes and prints a table"
)]

mod installed;
mod sample;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use installed::Installed;
use octo::fence::ticket::{self, Run, Ticket};
use octo::fence::{GitWrite, Level};
use octo::kernel::home::Home;
use octo::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, PresenceRow};
use octo::kernel::{beat, clock};
use octo::policy::lane::{AbsPath, Pid};

/// Pairs of each case.
const PAIRS: usize = 150;
/// Files of the checkout that is measured.
const FILES: usize = 10_000;

struct Stage {
    home: PathBuf,
    repo: PathBuf,
}

impl Stage {
    fn new(name: &str) -> Self {
        let home = std::env::temp_dir().join(format!("octo-fence-{}-{name}", std::process::id()));
        let repo = home.join("src/app");
        fs::create_dir_all(repo.join("held")).unwrap();
        let stage = Self { home, repo };
        stage.git(&["init", "-q", "-b", "main"]);
        for n in 0..1000 {
            fs::write(stage.repo.join(format!("held/{n}.rs")), "theirs\n").unwrap();
        }
        stage.git(&["add", "."]);
        stage.git(&["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "base"]);
        stage
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        let done = git.args(args).current_dir(&self.repo).env("HOME", &self.home).output();
        assert!(done.unwrap().status.success(), "git {args:?}");
    }

    /// The table: `me`, and when anybody holds anything, `them` with that many files.
    fn table(&self, company: Others, holds: usize) {
        let home = Home::of(&self.home);
        let mut kernel = Kernel::open(&home, Make::IfAbsent, OPERATOR_PATIENCE).unwrap();
        let root = AbsPath::new(fs::canonicalize(&self.repo).unwrap()).unwrap();
        let them: &[&str] = match company {
            Others::Nobody => &["me"],
            Others::One => &["me", "them"],
        };
        for name in them {
            beat::touch(&home, &Pid::new(name).unwrap(), None, clock::unix_seconds()).unwrap();
        }
        kernel
            .transact(|tx| {
                for name in them {
                    let pid = Pid::new(name).unwrap();
                    let row = sample::session(tx, &pid);
                    tx.put_process(&row)?;
                    tx.put_presence(&PresenceRow {
                        root: root.clone(),
                        session: pid,
                        since: tx.now().tick,
                        wrote: true,
                        forked: None,
                    })?;
                }
                let them = Pid::new("them").unwrap();
                for n in 0..holds {
                    let row = sample::lane(tx, &root, &format!("held/{n}.rs"), &them);
                    tx.put_lane(&row)?;
                }
                Ok(())
            })
            .unwrap();
    }

    /// A repository of many files beside the first, and the command that writes them all out.
    fn checkout(&self) -> String {
        let big = self.home.join("big");
        let big = big.display();
        let script = format!(
            "mkdir -p {big}; cd {big}; git init -q; for i in $(seq {FILES}); do echo $i > f$i; \
             done; git add .; git -c user.name=b -c user.email=b@b commit -qm b"
        );
        assert!(Command::new("bash").args(["-c", &script]).status().unwrap().success());
        format!("git -C {big} checkout-index -fa --prefix={}/out/", self.home.display())
    }

    /// That the fence which is measured is really there.
    fn proves(&self, octo: &Path, holds: usize) {
        let mut exec = Command::new(octo);
        exec.args(["exec", "--as", "me", "--", "sh", "-c", "echo x > held/0.rs"]);
        let said = exec.env("HOME", &self.home).current_dir(&self.repo).output().unwrap();
        assert_eq!(said.status.success(), holds == 0, "{said:?}");
    }

    fn ticket(&self, text: &str) {
        let folder = AbsPath::new(Home::of(&self.home).tickets()).unwrap();
        let me = Pid::new("me").unwrap();
        let ticket =
            Ticket { pid: me.clone(), git: GitWrite::None, need: Level::None, run: Run::Fenced };
        ticket::leave(&folder, &me, text, "toolu_1", &ticket).unwrap();
    }

    fn line(&self, text: &str) -> String {
        format!(
            "true && eval '{text}' < /dev/null && pwd -P >| {}",
            self.home.join("cwd").display()
        )
    }

    fn time(&self, octo: Option<&Path>, text: &str) -> Duration {
        let line = self.line(text);
        let mut command = Command::new(octo.unwrap_or_else(|| Path::new("bash")));
        if octo.is_some() {
            command.arg0("octo-sh").arg(line);
        } else {
            command.args(["-c", &line]);
        }
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("SHELL", "/bin/bash")
            .env("CLAUDE_CODE_SESSION_ID", "me")
            .current_dir(&self.repo)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit());
        let began = Instant::now();
        let ended = command.status().unwrap();
        assert!(ended.success(), "{ended:?}");
        began.elapsed()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.home));
    }
}

/// Whether anybody else is in the checkout.
#[derive(Clone, Copy)]
enum Others {
    Nobody,
    One,
}

/// The time that one of `parts` runs stays under.
fn within(times: &mut [f64], parts: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / parts]
}

/// One row: pairs of a command with and without the fence. On a machine that does other things
/// too, the fastest tenth says what the fence costs and the median what it waits.
fn row(stage: &Stage, name: &str, text: &str, pairs: usize, octo: &Path) {
    stage.ticket(text);
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for n in 0..pairs + 3 {
        let plain = stage.time(None, text).as_secs_f64() * 1e3;
        let fenced = stage.time(Some(octo), text).as_secs_f64() * 1e3;
        if n >= 3 {
            base.push(plain);
            ours.push(fenced);
        }
    }
    let (plain, fenced) = (within(&mut base, 10), within(&mut ours, 10));
    let median = within(&mut ours, 2) / within(&mut base, 2);
    let (more, ratio) = (fenced - plain, fenced / plain);
    println!(
        "| {name} | {plain:.2} ms | {fenced:.2} ms | {more:+.2} ms | {ratio:.2} | {median:.2} |"
    );
}

fn main() {
    let installed = Installed::new();
    let octo = installed.path();
    println!(
        "| fastest tenth | without | with | added | ratio | median ratio |\n|---|---|---|---|---|---|"
    );
    let alone = Stage::new("alone");
    alone.table(Others::Nobody, 0);
    row(&alone, "nobody else about", "true", PAIRS, &octo);
    for holds in [0, 1, 10, 100, 1000] {
        let stage = Stage::new(&format!("{holds}"));
        stage.table(Others::One, holds);
        stage.proves(&octo, holds);
        row(&stage, &format!("{holds} held"), "true", PAIRS, &octo);
        if holds == 10 {
            row(&stage, "10 held, git status", "git status --short", PAIRS / 3, &octo);
            let text = stage.checkout();
            row(&stage, "10 held, checkout of 10,000 files", &text, 9, &octo);
        }
    }
}
