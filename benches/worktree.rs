//! What a session's own tree costs, beside what git alone takes for the same on the same machine:
//! making one, bringing work home, the list of fifty, and a snapshot before a verb that throws
//! work away. Prints the table that the README shows; nothing here fails for being slow.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark runs processes and prints a table"
)]

mod installed;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use installed::Installed;

/// Files of the small and of the large repository.
const SIZES: [usize; 2] = [100, 50_000];
/// Trees in the list.
const TREES: usize = 50;
/// Changed files that a snapshot holds.
const DIRTY: usize = 20;

struct Stage {
    home: PathBuf,
    repo: PathBuf,
    octo: PathBuf,
    files: usize,
}

impl Stage {
    fn new(octo: &Path, files: usize) -> Self {
        let home = std::env::temp_dir().join(format!("octo-trees-{}-{files}", std::process::id()));
        let repo = home.join("src/app");
        for n in 0..files {
            let path = repo.join(format!("d{}/f{n}.txt", n % 250));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("file {n}\nwith a line or two\nof its own\n")).unwrap();
        }
        let stage = Self { home, repo, octo: octo.to_owned(), files };
        let identity = "[user]\n\tname = b\n\temail = b@example.invalid\n[gc]\n\tauto = 0\n";
        fs::write(stage.home.join(".gitconfig"), identity).unwrap();
        stage.git(&stage.repo, &["init", "-q", "-b", "main"]);
        stage.git(&stage.repo, &["add", "-A"]);
        stage.git(&stage.repo, &["commit", "-qm", "base"]);
        stage
    }

    fn run(&self, program: &Path, folder: &Path, args: &[&str], input: Option<&str>) -> Duration {
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).env_clear().env("HOME", &self.home);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_CONFIG_NOSYSTEM", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input.unwrap_or_default().as_bytes()).unwrap();
        drop(pipe);
        let out = child.wait_with_output().unwrap();
        let took = began.elapsed();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{} {args:?}: {said}", program.display());
        took
    }

    fn git(&self, folder: &Path, args: &[&str]) -> Duration {
        self.run(Path::new("git"), folder, args, None)
    }

    fn octo(&self, folder: &Path, args: &[&str]) -> Duration {
        self.run(&self.octo, folder, args, None)
    }

    fn init(&self, id: &str, more: &[&str]) -> Duration {
        let repo = self.repo.to_str().unwrap();
        let mut args = vec!["octo-dim", "--session-id", id, "worktree-init", "--repo", repo];
        args.extend(more);
        self.octo(&self.repo, &args)
    }

    fn tree(&self, id: &str) -> PathBuf {
        self.home.join(".octorato/arm/app").join(id)
    }

    /// What the client pays before a command runs.
    fn hook(&self, command: &str, call: usize) -> Duration {
        let body = serde_json::json!({
            "session_id": "5e551000-0000-4000-8000-000000000001",
            "transcript_path": self.home.join("t.jsonl"), "cwd": self.repo,
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command }, "tool_use_id": format!("toolu_{call}"),
        });
        let input = body.to_string();
        self.run(&self.octo, &self.repo, &["octo-hook", "PreToolUse"], Some(&input))
    }

    fn soil(&self, round: usize) {
        for n in 0..DIRTY {
            let path = self.repo.join(format!("d{}/f{n}.txt", n % 250));
            fs::write(path, format!("changed in round {round}\n")).unwrap();
        }
        fs::write(self.repo.join("untracked.txt"), format!("round {round}\n")).unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.home));
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn line(what: &str, ours: Vec<Duration>, theirs: &str, base: Vec<Duration>) {
    let (ours, base) = (median(ours), median(base));
    println!("| {what} | {ours:.0} ms | {theirs} | {base:.0} ms | {:.2} |", ours / base);
}

fn create(stage: &Stage, runs: usize) {
    let (mut ours, mut base, mut handed) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..runs {
        let (path, branch) = (format!("../plain-{n}"), format!("plain-{n}"));
        base.push(stage.git(&stage.repo, &["worktree", "add", "-q", "-b", &branch, &path]));
        ours.push(stage.init(&format!("s-{n}"), &["--wait"]));
        handed.push(stage.init(&format!("h-{n}"), &[]));
        // What goes on behind it must not run into the next round.
        stage.init(&format!("h-{n}"), &["--wait"]);
    }
    let what = |more: &str| format!("a tree of {} files{more}", stage.files);
    line(&what(", filled"), ours, "`git worktree add`", base.clone());
    line(&what(", as a session waits for it"), handed, "`git worktree add`", base);
}

fn save(stage: &Stage, runs: usize) {
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    let plain = stage.home.join("src/plain-0");
    let tree = stage.tree("s-0");
    for n in 0..runs {
        fs::write(plain.join("plain.txt"), format!("{n}\n")).unwrap();
        let began = Instant::now();
        stage.git(&plain, &["add", "-A"]);
        stage.git(&plain, &["commit", "-qm", "work"]);
        stage.git(&stage.repo, &["merge", "-q", "--no-ff", "--no-edit", "plain-0"]);
        base.push(began.elapsed());
        fs::write(tree.join("own.txt"), format!("{n}\n")).unwrap();
        ours.push(stage.octo(&tree, &["save"]));
    }
    let what = format!("`octo save` on {} files", stage.files);
    line(&what, ours, "`git add`, `commit`, `merge --no-ff`", base);
}

fn list(stage: &Stage, runs: usize) {
    for n in 0..TREES {
        stage.init(&format!("l-{n}"), &["--wait"]);
    }
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let began = Instant::now();
        for n in 0..TREES {
            stage.git(&stage.tree(&format!("l-{n}")), &["status", "--porcelain"]);
        }
        base.push(began.elapsed());
        ours.push(stage.octo(&stage.repo, &["worktree", "list"]));
    }
    line(&format!("the list with {TREES} trees"), ours, "`git status` in each", base);
}

fn keep(stage: &Stage, runs: usize) {
    for command in ["git reset --hard", "git stash", "git checkout -- ."] {
        let (mut ours, mut base) = (Vec::new(), Vec::new());
        for n in 0..runs {
            stage.soil(n);
            ours.push(stage.hook(command, n));
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            base.push(stage.git(&stage.repo, &words));
        }
        let what = format!("snapshot before `{command}`, {} files", stage.files);
        line(&what, ours, "the verb itself", base);
        stage.git(&stage.repo, &["reset", "-q", "--hard"]);
        stage.git(&stage.repo, &["clean", "-fdq"]);
    }
}

fn main() {
    let installed = Installed::new();
    let octo = installed.path();
    println!("| what | octo | beside | git | ratio |\n|---|---|---|---|---|");
    for files in SIZES {
        let runs = if files > 1_000 { 5 } else { 15 };
        let stage = Stage::new(&octo, files);
        create(&stage, runs.min(5));
        save(&stage, runs);
        if files == SIZES[0] {
            list(&stage, runs);
        }
        // Its hooks make this process a session's client, who may not make trees for others.
        keep(&stage, runs);
    }
}
