//! Scratch repositories with held files, run with and without the fence, as this user and as
//! nobody. Owns the places; never decides what is right.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use octo::fence::ticket::{self, Run, Ticket};
use octo::fence::{GitWrite, Level};
use octo::policy::lane::{AbsPath, Pid};
use serde_json::{Value, json};

/// Who runs the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Me,
    /// An ordinary user without any rights; only root can become one.
    Nobody,
}

impl User {
    /// The users this machine lets us be.
    pub(crate) fn all() -> Vec<Self> {
        if root() { vec![Self::Me, Self::Nobody] } else { vec![Self::Me] }
    }

    /// True for uid 0.
    pub(crate) fn is_root(self) -> bool {
        self == Self::Me && root()
    }

    fn command(self, program: &Path) -> Command {
        match self {
            Self::Me => Command::new(program),
            Self::Nobody => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
                command
            }
        }
    }
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this machine grants the whole fence, without which its tests show nothing. Where
/// `OCTO_TEST_FENCE` is set, it has to.
#[track_caller]
pub(crate) fn whole() -> bool {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    let level = *LEVEL.get_or_init(|| {
        // In a process of its own: a trial forks, which threads forbid.
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_octo"));
        let said = doctor.arg("doctor").env("HOME", env!("CARGO_TARGET_TMPDIR")).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let line = said.lines().find(|line| line.contains("fence.level")).unwrap_or_default();
        let levels = [Level::Landlock, Level::Mounts, Level::Full];
        levels.into_iter().find(|l| line.contains(l.word())).unwrap_or(Level::None)
    });
    if level != Level::Full {
        let reason = format!("this machine grants no whole fence: {}", level.word());
        assert!(std::env::var_os("OCTO_TEST_FENCE").is_none(), "{reason}");
        println!("SKIPPED: {reason}");
    }
    level == Level::Full
}

/// A row of a fixture file.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// What it does.
    pub(crate) name: String,
    /// The shell text.
    pub(crate) text: String,
    /// Marks (`#= …`).
    pub(crate) marks: Vec<String>,
    /// What was done before, outside of any fence (`#< …`).
    pub(crate) before: String,
}

impl Row {
    /// Reads `#: name`, `#= marks`, text.
    pub(crate) fn all(file: &str) -> Vec<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fence").join(file);
        let mut rows: Vec<Self> = Vec::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            if let Some(name) = line.strip_prefix("#: ") {
                let (text, before) = (String::new(), String::new());
                rows.push(Self { name: name.into(), text, marks: Vec::new(), before });
            } else if let Some(row) = rows.last_mut() {
                match (line.strip_prefix("#= "), line.strip_prefix("#< ")) {
                    (Some(marks), _) => row.marks.extend(marks.split(' ').map(str::to_owned)),
                    (None, Some(text)) => row.before = format!("{}{text}\n", row.before),
                    (None, None) => row.text = format!("{}{line}\n", row.text),
                }
            }
        }
        rows
    }

    /// The rest of a mark that begins so.
    pub(crate) fn value(&self, start: &str) -> Option<&str> {
        self.marks.iter().find_map(|m| m.strip_prefix(start))
    }

    /// True when a mark stands there.
    pub(crate) fn marked(&self, mark: &str) -> bool {
        self.marks.iter().any(|m| m == mark)
    }

    /// The first thing it needs that is missing here: a program, or a kernel (`linux=6.12`).
    pub(crate) fn lacks(&self) -> Option<&str> {
        if let Some(version) = self.value("linux=").filter(|v| numbers(v) > kernel()) {
            return Some(version);
        }
        let needed = self.marks.iter().filter_map(|m| m.strip_prefix("needs="));
        needed.into_iter().find(|program| {
            !["/usr/bin", "/bin", "/usr/local/bin"]
                .iter()
                .any(|d| Path::new(d).join(program).exists())
        })
    }
}

/// This kernel's version.
fn kernel() -> Vec<u32> {
    numbers(&rustix::system::uname().release().to_string_lossy())
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|n| n.parse().ok()).take(2).collect()
}

/// A repository with work of somebody else in it, and a folder beside it.
pub(crate) struct Scratch {
    keep: tempfile::TempDir,
    user: User,
    outer: Option<Child>,
    lacks: Option<&'static str>,
}

impl Scratch {
    /// A fresh one, copied from a template made once.
    pub(crate) fn new(user: User) -> Self {
        let keep = tempfile::Builder::new().prefix("fence").tempdir().unwrap();
        let at = |name: &str| keep.path().join(name);
        copy(template(), &at("repo"));
        for folder in ["t", "home", "kernel"] {
            fs::create_dir(at(folder)).unwrap();
        }
        if user == User::Nobody {
            run(Command::new("chown").args(["-R", "65534:65534"]).arg(keep.path()));
        }
        let scratch = Self { keep, user, outer: None, lacks: None };
        scratch.hold(&["src/auth/held.txt", "notes.txt", "docs/plan"]);
        scratch
    }

    /// The repository.
    pub(crate) fn repo(&self) -> PathBuf {
        self.keep.path().join("repo")
    }

    /// A file beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    /// The table's file.
    pub(crate) fn place(&self) -> PathBuf {
        self.beside("kernel/table.json")
    }

    /// Says which paths of the repository process A holds.
    pub(crate) fn hold(&self, paths: &[&str]) {
        let repo = self.repo();
        let root = json!({"path": repo, "git_dir": repo.join(".git"), "common": repo.join(".git")});
        let holds: Vec<Value> = paths
            .iter()
            .map(|p| json!({"path": repo.join(p), "root": repo, "holder": "A"}))
            .collect();
        self.table(&json!({
            "trees": [root], "roots": [root], "holds": holds, "folders": [],
            "closed": [self.beside("kernel")],
        }));
    }

    /// Writes the table, all at once as a database would.
    pub(crate) fn table(&self, table: &Value) {
        let (draft, place) = (self.beside("kernel/table.new"), self.place());
        let mut table = table.clone();
        table["log"] = json!(self.beside("kernel/log"));
        table["tickets"] = json!(self.beside("kernel/tickets"));
        let text = serde_json::to_vec(&table).unwrap();
        if place.exists() {
            fs::write(place, text).unwrap();
        } else {
            fs::write(&draft, text).unwrap();
            fs::rename(draft, place).unwrap();
        }
    }

    /// What the fence said about itself.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.beside("kernel/log")).unwrap_or_default()
    }

    /// A process of the same user outside the fence.
    fn outer(&mut self) -> u32 {
        let held = self.repo().join("src/auth/held.txt");
        let mut command = self.user.command(Path::new("bash"));
        let text = match raw() {
            Some(_) => "exec 9<>$0; exec $1 puppet $0 $2",
            None => "exec 9<>$0; touch $2; exec sleep 60",
        };
        let place = self.beside("t/puppet");
        command.args(["-c", text]).arg(held).arg(raw().unwrap_or(Path::new("-"))).arg(&place);
        // None of ours to inherit: the attacks write to all it has.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.current_dir(self.repo()).spawn().unwrap();
        let pid = child.id();
        self.outer = Some(child);
        for _ in 0..5000 {
            if place.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        pid
    }

    /// A command with the scratch's environment, in the repository.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = self.user.command(program);
        let repo = self.repo();
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.beside("home"))
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("H", repo.join("src/auth/held.txt"))
            .env("U", repo.join("notes.txt"))
            .env("D", repo.join("docs/plan"))
            .env("T", self.beside("t"))
            .env("R", &repo)
            .env("DRIVE", driver())
            .env("TABLE", self.place())
            .env("RAW", raw().unwrap_or(Path::new("-")))
            .current_dir(&repo)
            .stdin(Stdio::null());
        command
    }

    /// The same place where the kernel has less to offer (`landlock`, `namespaces`, `mounts`).
    pub(crate) fn without(mut self, what: &'static str) -> Self {
        self.lacks = Some(what);
        self
    }

    /// A command for process B under the fence.
    pub(crate) fn fenced_command(&self) -> Command {
        let mut command = match self.lacks {
            None => self.command(driver()),
            Some(what) => {
                let mut command = self.command(raw().unwrap());
                command.args(["without", what]).arg(driver());
                command
            }
        };
        command.env("FENCED", "1").arg(self.place()).args(["exec", "--as", "B", "--"]);
        command
    }

    /// Ten paths held by A.
    pub(crate) fn hold_ten(&self) {
        let more = ["1", "2", "3", "4", "5", "6", "7"].map(|n| format!("more/deep/{n}"));
        let mut all = vec!["src/auth/held.txt", "notes.txt", "docs/plan"];
        all.extend(more.iter().map(String::as_str));
        self.hold(&all);
    }

    /// A shell line in the client's frame, as its prefix gets it.
    pub(crate) fn framed(&self, text: &str) -> String {
        let quoted = text.replace('\'', "'\"'\"'");
        let head = "source /dev/null 2>/dev/null || true";
        format!("{head} && eval '{quoted}' < /dev/null && pwd -P >| {}", self.cwd().display())
    }

    /// Where a framed line leaves its folder.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.beside("t/cwd")
    }

    /// The fence's prefix with one shell line of the session S.
    pub(crate) fn prefix(&self, line: &str) -> Command {
        let mut command = self.command(driver());
        command.env("CLAUDE_CODE_SESSION_ID", "S");
        command.arg(self.place()).args(["octo-sh", line]);
        command
    }

    /// Leaves a ticket of process B in session S for a text.
    pub(crate) fn ticket(&self, text: &str, git: GitWrite) {
        self.ticket_of("B", "toolu_1", text, git);
    }

    /// Leaves a ticket for one tool call.
    pub(crate) fn ticket_of(&self, whose: &str, call: &str, text: &str, git: GitWrite) {
        let folder = self.tickets();
        let ticket = Ticket { pid: pid(whose), git, need: Level::None, run: Run::Fenced };
        ticket::leave(&folder, &pid("S"), text, call, &ticket).unwrap();
        run(Command::new("chmod").args(["-R", "a+rX"]).arg(folder.as_path()));
    }

    /// Takes a ticket back.
    pub(crate) fn retire(&self, call: &str, text: &str) {
        ticket::retire(&self.tickets(), &pid("S"), text, call);
    }

    fn tickets(&self) -> AbsPath {
        AbsPath::new(self.beside("kernel/tickets")).unwrap()
    }

    /// Every file outside `.git` with mode and content.
    pub(crate) fn files(&self) -> String {
        let script = "find . -path ./.git -prune -o -printf '%p %y %m %l\\n' | sort; \
                      find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum";
        let mut bash = Command::new("bash");
        let said = bash.args(["-c", script]).current_dir(self.repo()).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    /// Text with this scratch's own folder taken out.
    pub(crate) fn plain(&self, text: &[u8]) -> String {
        let here = self.keep.path().to_string_lossy().into_owned();
        String::from_utf8_lossy(text).replace(&here, "SCRATCH")
    }

    /// Runs a shell text without the fence.
    pub(crate) fn free(&mut self, text: &str) -> Output {
        let outer = self.outer();
        let mut command = self.command(Path::new("timeout"));
        let command = command.args(["-k1", "30", "bash", "-c", text]);
        command.env("OUTER", outer.to_string()).output().unwrap()
    }

    /// Runs a shell text as process B under the fence.
    pub(crate) fn fenced(&mut self, text: &str) -> Output {
        let outer = self.outer();
        let mut command = self.fenced_command();
        let command = command.args(["bash", "-c", text]);
        command.env("OUTER", outer.to_string()).output().unwrap()
    }

    /// Everything about the holder's work that must stay as it is.
    pub(crate) fn work(&mut self) -> String {
        let repo = self.repo();
        let mut out = String::new();
        let mut files = vec![repo.join("src/auth/held.txt"), repo.join("notes.txt")];
        files.push(repo.join("docs/plan"));
        let inside = fs::read_dir(repo.join("docs/plan")).into_iter().flatten().flatten();
        files.extend(inside.map(|e| e.path()));
        files.sort();
        files.push(repo.join(".git"));
        for file in files {
            let what = match fs::symlink_metadata(&file) {
                Err(_) => "gone".to_owned(),
                Ok(m) => {
                    let text = fs::read(&file).unwrap_or_default();
                    let mut value = [0_u8; 16];
                    let tagged = rustix::fs::lgetxattr(&file, "user.x", &mut value).is_ok();
                    let when = (m.mtime(), m.mtime_nsec());
                    let text = String::from_utf8_lossy(&text).into_owned();
                    let when = if file.ends_with(".git") { (0, 0) } else { when };
                    format!("{} {:o} {} {when:?} {tagged} {text:?}", m.ino(), m.mode(), m.uid())
                }
            };
            out = format!("{out}{}: {what}\n", file.display());
        }
        let held = ["ls-files", "-s", "-v", "--", ":/src/auth/held.txt", ":/docs", ":/notes.txt"];
        let asked: [&[&str]; 4] = [
            &held,
            &["rev-parse", "HEAD"],
            &["symbolic-ref", "HEAD"],
            &["config", "-l", "--local"],
        ];
        for args in asked {
            let mut git = Command::new("git");
            git.args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false"]).args(args);
            git.env("GIT_DIR", repo.join(".git")).env("GIT_WORK_TREE", &repo);
            let said = git.current_dir(self.keep.path()).output().unwrap();
            out = format!("{out}{args:?}: {}", String::from_utf8_lossy(&said.stdout));
        }
        let hooks = fs::read_dir(repo.join(".git/hooks")).map_or(0, Iterator::count);
        let alive = self.outer.as_mut().is_none_or(|o| o.try_wait().unwrap().is_none());
        format!("{out}hooks: {hooks}\noutside process alive: {alive}\n")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(outer) = &mut self.outer {
            let _gone = outer.kill();
            let _gone = outer.wait();
        }
    }
}

/// The program that drives the fence from a table in a file.
pub(crate) fn driver() -> &'static Path {
    static PLACE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PLACE.get_or_init(|| {
        let here = std::env::current_exe().unwrap();
        let built = here.parent().unwrap().parent().unwrap().join("examples/fence_drive");
        assert!(built.exists(), "first: cargo build --example fence_drive");
        // Where nobody can reach it.
        let place = tempfile::Builder::new().prefix("drive").tempdir().unwrap();
        let path = place.path().join("fence_drive");
        fs::copy(built, &path).unwrap();
        run(Command::new("chmod").arg("755").arg(place.path()).arg(&path));
        (place, path)
    });
    path
}

/// The program of rare system calls; none where there is no compiler.
pub(crate) fn raw() -> Option<&'static Path> {
    static PLACE: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let made = PLACE.get_or_init(|| {
        let place = tempfile::Builder::new().prefix("raw").tempdir().unwrap();
        let path = place.path().join("raw");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fence/raw.c");
        let built = Command::new("gcc").args(["-w", "-o"]).arg(&path).arg(source).output();
        let built = built.ok()?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        run(Command::new("chmod").arg("755").arg(place.path()).arg(&path));
        Some((place, path))
    });
    made.as_ref().map(|(_, path)| path.as_path())
}

/// A repository with two branches, the holder's uncommitted line and an untracked note.
fn template() -> &'static Path {
    static PLACE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PLACE.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        let repo = place.path().join("repo");
        let script = "
            set -e
            git init -q -b main $1; cd $1; rm -rf .git/hooks/*
            git config user.name n; git config user.email n@example.invalid; git config gc.auto 0
            mkdir -p src/auth lib docs/plan more/deep
            for i in 1 2 3 4 5 6 7; do echo $i > more/deep/$i; done
            echo held > src/auth/held.txt; echo free > src/auth/free.txt; echo lib > lib/a.txt
            echo plan > docs/plan/one.md; git add -A; git commit -qm init
            git checkout -qb other; echo other > src/auth/held.txt; echo other > docs/plan/one.md
            git commit -qam other; git checkout -q main
            echo mine >> src/auth/held.txt; echo mine > notes.txt; git tag lib-tag";
        run(Command::new("bash").args(["-c", script, "_"]).arg(&repo));
        (place, repo)
    });
    path
}

/// A process's name.
pub(crate) fn pid(name: &str) -> Pid {
    Pid::new(name).unwrap()
}

fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").arg(from).arg(to));
}

/// Runs a helper that must succeed.
pub(crate) fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}
