//! How far the fence reaches: what it takes in while a command runs, what it does when the kernel
//! gives less, and, by name, what passes it. Every gap here is listed in SECURITY.md.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use octo::fence::GitWrite;
use serde_json::json;

use crate::support::fence::{Scratch, User, driver, run, whole};

/// A fenced shell that says when it has come to a point and waits there.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(scratch: &Scratch, text: &str) -> Self {
        let mut command = scratch.fenced_command();
        command.args(["bash", "-c", text]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// The next line it says.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn go_on(&mut self) {
        self.input.write_all(b"go\n").unwrap();
    }

    fn ends(mut self) -> (Option<i32>, String) {
        drop(self.input);
        let mut words = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        (self.child.wait().unwrap().code(), words)
    }
}

/// Waits in the fenced shell until a path is a mount of its own there.
const UNTIL_CLOSED: &str = "
    closed() { for i in $(seq 2000); do grep -q \" $1 ro,\" /proc/self/mountinfo && return; sleep 0.005; done; echo never >&2; }";

#[test]
fn a_lane_claimed_while_a_command_runs_is_closed_in_it() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let scratch = Scratch::new(user);
        let text = format!(
            "{UNTIL_CLOSED}
            echo early > lib/a.txt && echo wrote; read -r _; closed $R/lib/a.txt
            cd lib; echo late > a.txt; echo $?; mv $R/lib $R/lib2; rm -f $R/lib/a.txt; cat $R/lib/a.txt"
        );
        let mut running = Running::start(&scratch, &text);
        assert_eq!(running.says(), "wrote");
        scratch.hold(&["src/auth/held.txt", "lib/a.txt"]);
        running.go_on();
        assert_eq!(running.says(), "1");
        assert_eq!(running.says(), "early");
        let (code, words) = running.ends();
        assert_eq!(code, Some(0), "{words}");
        assert!(words.contains("Read-only file system") && !words.contains("never"), "{words}");
    }
}

#[test]
fn a_lane_claimed_under_a_standing_process_is_closed_for_its_relative_names() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let text = format!(
        "{UNTIL_CLOSED}
        cd src/auth; echo here; read -r _; closed $R/src/auth/free.txt
        echo late > free.txt; echo $?; echo late > ./free.txt; echo $?"
    );
    let mut running = Running::start(&scratch, &text);
    assert_eq!(running.says(), "here");
    scratch.hold(&["src/auth/free.txt"]);
    running.go_on();
    assert_eq!((running.says(), running.says()), ("1".to_owned(), "1".to_owned()));
    assert_eq!(running.ends().0, Some(0));
}

#[test]
fn a_held_file_replaced_by_its_holder_is_closed_again() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let scratch = Scratch::new(user);
        let text = format!(
            "{UNTIL_CLOSED}
            echo begun; read -r _; sleep 0.3; echo begun; read -r _; closed $H
            echo x > $H; echo $?; rm -f $H; cat $H"
        );
        let mut running = Running::start(&scratch, &text);
        let (new, held) = (scratch.beside("new"), scratch.repo().join("src/auth/held.txt"));
        for round in ["first\n", "second\n"] {
            assert_eq!(running.says(), "begun");
            fs::write(&new, round).unwrap();
            fs::rename(&new, &held).unwrap();
            running.go_on();
        }
        assert_eq!(running.says(), "1");
        assert_eq!(running.says(), "second");
        assert_eq!(running.ends().0, Some(0));
    }
}

#[test]
fn a_held_path_that_does_not_exist_is_closed_from_the_moment_it_does() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    scratch.hold(&["src/auth/new.txt", "fresh/deep/file.txt"]);
    let text = format!(
        "{UNTIL_CLOSED}
        echo begun; read -r _; closed $R/src/auth/new.txt; closed $R/fresh/deep/file.txt
        echo x > src/auth/new.txt; echo x > fresh/deep/file.txt; cat src/auth/new.txt fresh/deep/file.txt"
    );
    let mut running = Running::start(&scratch, &text);
    assert_eq!(running.says(), "begun");
    fs::write(scratch.repo().join("src/auth/new.txt"), "holder\n").unwrap();
    fs::create_dir_all(scratch.repo().join("fresh/deep")).unwrap();
    fs::write(scratch.repo().join("fresh/deep/file.txt"), "holder\n").unwrap();
    running.go_on();
    assert_eq!((running.says(), running.says()), ("holder".to_owned(), "holder".to_owned()));
    let log = scratch.log();
    assert!(log.contains("absent") && log.contains("fresh/deep/file.txt"), "{log}");
    assert_eq!(running.ends().0, Some(0));
}

#[test]
fn gap_a_held_path_that_does_not_exist_can_be_created_by_the_command() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    scratch.hold(&["src/auth/new.txt"]);
    let said = scratch.fenced("echo x > src/auth/new.txt");
    assert!(said.status.success());
    assert!(scratch.log().contains("absent"), "the holder must be told");
}

#[test]
fn gap_a_hard_link_made_before_the_hold_reaches_the_content() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let repo = scratch.repo();
    fs::hard_link(repo.join("src/auth/held.txt"), repo.join("lib/alias")).unwrap();
    let said = scratch.fenced("echo x > lib/alias");
    assert!(said.status.success());
    assert_eq!(fs::read_to_string(repo.join("src/auth/held.txt")).unwrap(), "x\n");
    assert!(scratch.log().contains("aliased"), "the holder must be told");
}

#[test]
fn gap_a_descriptor_open_before_the_claim_goes_on_writing() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let text = format!(
        "{UNTIL_CLOSED}
        exec 7>>lib/a.txt; echo open; read -r _; closed $R/lib/a.txt
        echo through >&7; echo $?; echo x >> lib/a.txt; echo $?"
    );
    let mut running = Running::start(&scratch, &text);
    assert_eq!(running.says(), "open");
    scratch.hold(&["lib/a.txt"]);
    running.go_on();
    assert_eq!((running.says(), running.says()), ("0".to_owned(), "1".to_owned()));
    assert_eq!(running.ends().0, Some(0));
    assert_eq!(fs::read_to_string(scratch.repo().join("lib/a.txt")).unwrap(), "lib\nthrough\n");
}

#[test]
fn gap_a_daemon_outside_writes_what_it_is_asked_to() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let listener = UnixListener::bind(scratch.beside("t/daemon")).unwrap();
    let held = scratch.repo().join("src/auth/held.txt");
    let daemon = std::thread::spawn(move || {
        let (mut asked, _) = listener.accept().unwrap();
        let mut text = String::new();
        asked.read_to_string(&mut text).unwrap();
        fs::write(held, text).unwrap();
    });
    let ask =
        "import socket; s=socket.socket(socket.AF_UNIX); s.connect('$T/daemon'); s.send(b'x')";
    let said = scratch.fenced(&format!("python3 -c \"{ask}\""));
    assert!(said.status.success());
    daemon.join().unwrap();
    assert_eq!(fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap(), "x");
}

#[test]
fn what_a_command_leaves_running_stays_guarded() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let scratch = Scratch::new(user);
        let text = format!(
            "{UNTIL_CLOSED}
            (closed $R/lib/a.txt; echo late > lib/a.txt; echo $? > $T/verdict.new; mv $T/verdict.new $T/verdict) \
                < /dev/null > /dev/null 2>&1 & exit 5"
        );
        let running = Running::start(&scratch, &text);
        assert_eq!(running.ends().0, Some(5));
        scratch.hold(&["lib/a.txt"]);
        let verdict = scratch.beside("t/verdict");
        let said = (0..4000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            fs::read_to_string(&verdict).ok()
        });
        assert_eq!(said.as_deref(), Some("1\n"));
        assert_eq!(fs::read_to_string(scratch.repo().join("lib/a.txt")).unwrap(), "lib\n");
    }
}

#[test]
fn a_descriptor_from_before_does_not_lead_around() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let folder = fs::File::open(scratch.repo().join("src/auth")).unwrap();
    let held = fs::File::open(scratch.repo().join("src/auth/held.txt")).unwrap();
    let free = fs::File::open(scratch.repo().join("lib/a.txt")).unwrap();
    for file in [&folder, &held, &free] {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    }
    let (a, b, c) = (folder.as_raw_fd(), held.as_raw_fd(), free.as_raw_fd());
    let text = format!(
        "echo x > /proc/self/fd/{a}/held.txt; echo x > /proc/self/fd/{b}; cat <&{c}; echo x > /dev/stdin"
    );
    let mut command = scratch.fenced_command();
    let stdin = fs::File::open(scratch.repo().join("src/auth/held.txt")).unwrap();
    let said = command.args(["bash", "-c", &text]).stdin(stdin).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "lib\n");
    let content = fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap();
    assert_eq!(content, "held\nmine\n", "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn a_fence_inside_a_fence_narrows_and_never_widens() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let inner = "$DRIVE $TABLE exec --as C -- bash -c";
    let text = format!(
        "{inner} 'echo ok > lib/a.txt; echo x > $H; exit 9'; echo $?; \
         {inner} 'exec '\"$DRIVE\"' '\"$TABLE\"' exec --as D -- cat lib/a.txt'"
    );
    let said = scratch.fenced(&text);
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "9\nok\n", "{words}");
    assert!(words.contains("Read-only file system"), "{words}");
}

/// Runs the fence where no further user namespace is to be had, as in many containers.
fn without_namespaces(scratch: &Scratch, text: &str) -> std::process::Output {
    let mut command = scratch.command(Path::new("unshare"));
    let none = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    command.args(["-Ur", "bash", "-c", none, "_"]).arg(driver()).arg(scratch.place());
    command.args(["exec", "--as", "B", "--", "bash", "-c", text]).output().unwrap()
}

#[test]
fn without_namespaces_held_paths_are_still_closed_by_write_rights() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let mut scratch = Scratch::new(user);
        let before = scratch.work();
        let text = "echo x > lib/a.txt && echo own; echo x > $H; rm -f $H; mv src src2; rm -rf $D; \
                    git add -A; git commit -qam x; echo x > $U; echo n > lib/new && echo new; \
                    echo n > src/auth/new && echo beside";
        let said = without_namespaces(&scratch, text);
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "own\nnew\n", "{words}");
        assert_eq!(scratch.work(), before);
        assert!(scratch.log().contains("granted B landlock-only"), "{}", scratch.log());
    }
}

#[test]
fn a_command_that_needs_the_full_fence_is_refused_under_a_weaker_one() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let mut table: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.place()).unwrap()).unwrap();
    table["need"] = json!("full");
    scratch.table(&table);
    let said = without_namespaces(&scratch, "echo ran");
    assert_eq!(said.status.code(), Some(126));
    assert!(said.stdout.is_empty());
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(words.contains("needs the full fence, here there is landlock-only"), "{words}");
}

#[test]
fn a_person_alone_gets_no_fence_and_no_process_in_between() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let mut table: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.place()).unwrap()).unwrap();
    table["alone"] = json!(true);
    scratch.table(&table);
    // What was started is what runs: its parent is ours.
    let said = scratch.fenced("echo x > $H; echo $PPID; exit 3");
    assert_eq!(said.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), std::process::id().to_string());
    assert_eq!(fs::read_to_string(scratch.repo().join("src/auth/held.txt")).unwrap(), "x\n");
    assert_eq!(scratch.log(), "");
}

#[test]
fn what_a_fenced_command_used_is_measured() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let said = scratch.fenced("python3 -c 'sum(range(9**6))'; exit 3");
    assert_eq!(said.status.code(), Some(3));
    let log = scratch.log();
    let meter = log.lines().find_map(|l| l.strip_prefix("metered B ")).unwrap();
    let meter: Vec<u64> = meter.split(' ').map(|n| n.parse().unwrap()).collect();
    let [wall, user, _system, peak, exit] = meter[..] else { panic!("{log}") };
    assert!(wall > 0 && user > 0 && peak > 1000 && exit == 3, "{log}");
}

#[test]
fn a_later_command_can_stop_what_an_earlier_one_left_running() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let mut scratch = Scratch::new(user);
        let said = scratch.fenced("sleep 300 < /dev/null > /dev/null 2>&1 & echo $!");
        let job = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let said = scratch.fenced(&format!("kill {job} && echo sent"));
        assert_eq!(String::from_utf8_lossy(&said.stdout), "sent\n", "{said:?}");
        let state = PathBuf::from(format!("/proc/{job}/comm"));
        let gone = (0..2000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            fs::read_to_string(&state).map_or(true, |name| name.trim() != "sleep")
        });
        assert!(gone, "still there");
    }
}

#[test]
fn gap_a_signal_reaches_every_process_of_the_user() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let before = scratch.work();
    assert!(before.contains("alive: true"), "{before}");
    scratch.fenced("kill -9 $OUTER");
    let gone = (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        scratch.work().contains("alive: false")
    });
    assert!(gone);
}

#[test]
fn without_a_ticket_or_with_two_everybodys_holds_apply() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let text = "echo x > src/auth/held.txt || echo closed";
    let held = scratch.repo().join("src/auth/held.txt");
    // A's own command, without a ticket: A's own lane is closed as well.
    let said = scratch.prefix(&scratch.framed(text)).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "closed\n");
    assert!(scratch.log().contains("granted ? full"), "{}", scratch.log());
    scratch.ticket_of("A", "toolu_1", text, GitWrite::None);
    scratch.ticket_of("B", "toolu_2", text, GitWrite::None);
    let said = scratch.prefix(&scratch.framed(text)).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "closed\n");
    scratch.retire("toolu_2", text);
    let said = scratch.prefix(&scratch.framed(text)).output().unwrap();
    assert!(said.stdout.is_empty() && said.status.success());
    assert_eq!(fs::read_to_string(held).unwrap(), "x\n");
}

#[test]
fn hooks_and_tool_servers_pass_and_an_unknown_frame_does_not() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let line = "echo x > $H && echo \"$0 wrote\"";
    let mut hook = scratch.prefix(line);
    let said = hook.env("CLAUDE_PROJECT_DIR", scratch.repo()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "bash wrote\n");
    let said = scratch.prefix(line).output().unwrap();
    assert!(!said.status.success() && said.stdout.is_empty());
}

#[test]
fn a_linked_worktree_has_its_own_part_of_the_git_directory() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let (repo, tree) = (scratch.repo(), scratch.beside("t/tree"));
    let script =
        "git worktree add -q -b mine $1 && git worktree add -q -b theirs $2 && git pack-refs --all";
    let mut git = scratch.command(Path::new("bash"));
    run(git.args(["-c", script, "_"]).args([&tree, &scratch.beside("t/other")]));
    let common = repo.join(".git");
    let linked = |path: &Path, id: &str| json!({"path": path, "git_dir": common.join("worktrees").join(id), "common": common});
    let main = json!({"path": repo, "git_dir": common, "common": common});
    let other = scratch.beside("t/other");
    scratch.table(&json!({
        "trees": [linked(&tree, "tree")],
        "roots": [main, linked(&other, "other")],
        "holds": [
            {"path": repo.join("src/auth/held.txt"), "root": repo, "holder": "A"},
            {"path": other.join("lib/a.txt"), "root": other, "holder": "C"},
        ],
        "closed": [scratch.beside("kernel"), repo],
    }));
    let can = "echo x > a.txt; git add a.txt; git commit -qm own; git commit -q --allow-empty -m more; \
               git checkout -qb side; git branch -D mine; git stash list; git tag t1; git pack-refs --all; \
               git log --format=%s | head -2";
    let mut fenced = scratch.fenced_command();
    let said = fenced.args(["bash", "-ec", can]).current_dir(&tree).output().unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{words}");
    assert!(String::from_utf8_lossy(&said.stdout).ends_with("more\nown\n"), "{words}");
    let before = scratch.files();
    for cannot in [
        "echo x > $R/lib/a.txt",
        "echo x > $T/other/lib/a.txt",
        "git config user.name x",
        "echo x > $R/.git/info/exclude",
        "mkdir -p $R/.git/hooks; echo x > $R/.git/hooks/pre-commit",
        "echo x > $R/.git/HEAD",
        "echo x > $R/.git/index",
        "echo x > $R/.git/worktrees/other/HEAD",
        "git -C $R add -A",
        "git -C $R checkout -f other",
        "git -C $T/other commit -q --allow-empty -m x",
        "echo x > $R/.git/config.worktree.new; mv $R/.git/config.worktree.new $R/.git/config",
        "git worktree remove --force $T/other",
    ] {
        let mut fenced = scratch.fenced_command();
        let said = fenced.args(["bash", "-c", cannot]).current_dir(&tree).output().unwrap();
        assert!(!said.status.success(), "{cannot}");
    }
    assert_eq!(scratch.files(), before);
}

#[test]
fn root_cannot_reach_the_switches_that_start_programs_outside() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    if !User::Me.is_root() {
        println!("skipped: only root could");
        return;
    }
    // Opened for writing and left alone: nothing of the machine is changed when this works.
    let text = "for f in sys/kernel/core_pattern sys/kernel/modprobe sys/kernel/panic; do \
                if exec 5>>/proc/$f; then echo open $f; fi; done 2>/dev/null; \
                for d in /dev/loop-control /dev/loop[0-9] /dev/vda /dev/sda /dev/mem; do \
                if [ -e $d ] && exec 5>>$d; then echo open $d; fi; done 2>/dev/null; \
                if mknod $T/disk b 7 7 && exec 5>>$T/disk; then echo open node; fi 2>/dev/null; \
                if mknod $T/port c 1 4; then echo made port; fi 2>/dev/null; true";
    let said = scratch.free(text);
    assert!(String::from_utf8_lossy(&said.stdout).contains("open"), "without the fence");
    let said = scratch.fenced(text);
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
    let said = without_namespaces(&scratch, text);
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
    let said =
        scratch.fenced("echo 500 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj");
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "500", "a process's own knob");
}

#[test]
fn the_command_dies_with_a_supervisor_that_is_killed() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let mut running = Running::start(&scratch, "echo $$; exec sleep 60");
    let command = running.says();
    running.child.kill().unwrap();
    let place = format!("/proc/{command}");
    let gone = (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let state = fs::read_to_string(format!("{place}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z")
    });
    assert!(gone, "still there");
}

#[test]
fn signals_reach_the_command_once_and_its_end_is_the_callers() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let text = "n=0; trap 'n=$((n+1))' TERM; echo ready; read -r _; \
                while [ $n -eq 0 ]; do sleep 0.01; done; echo $n; exit 4";
    let mut running = Running::start(&scratch, text);
    assert_eq!(running.says(), "ready");
    run(Command::new("kill").args(["-TERM", &running.child.id().to_string()]));
    running.go_on();
    assert_eq!(running.says(), "1");
    assert_eq!(running.ends().0, Some(4));
    // Whoever runs the tests in the background has SIGINT ignored, and so has all that it starts.
    let text = r#"exec perl -e '$SIG{INT} = "DEFAULT"; $| = 1; print "ready\n"; sleep 60'"#;
    let mut running = Running::start(&scratch, text);
    assert_eq!(running.says(), "ready");
    run(Command::new("kill").args(["-INT", &running.child.id().to_string()]));
    let ended = running.child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(2));
}

#[test]
fn git_at_work_is_not_cut_off_in_the_middle() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    scratch.hold(&[]);
    let text = format!(
        "{UNTIL_CLOSED}
        touch .git/index.lock; echo locked; read -r _; closed $R/lib/a.txt
        echo x > .git/still-open && rm .git/still-open .git/index.lock && echo unlocked
        closed $R/.git; git add -A 2>/dev/null || echo closed"
    );
    let mut running = Running::start(&scratch, &text);
    assert_eq!(running.says(), "locked");
    scratch.hold(&["lib/a.txt"]);
    running.go_on();
    assert_eq!((running.says(), running.says()), ("unlocked".to_owned(), "closed".to_owned()));
    assert_eq!(running.ends().0, Some(0));
}

#[test]
fn a_removed_working_folder_is_no_reason_to_refuse() {
    if !whole() {
        return;
    }
    let mut scratch = Scratch::new(User::Me);
    let inner = "exec $DRIVE $TABLE exec --as B -- bash -c 'echo ran; echo x > $H'";
    let text = format!("mkdir $T/gone && cd $T/gone && rmdir $T/gone && {inner}");
    let said = scratch.free(&text);
    assert!(String::from_utf8_lossy(&said.stdout).contains("ran"));
    assert!(String::from_utf8_lossy(&said.stderr).contains("Read-only file system"));
}

#[test]
fn a_held_file_is_closed_at_a_second_place_where_its_folder_is_mounted() {
    if !whole() {
        return;
    }
    for user in User::all() {
        let mut scratch = Scratch::new(user);
        let before = scratch.work();
        let twice = "mkdir -p $T/twin && mount --bind $R $T/twin && exec \"$@\"";
        let text = "cd $T/twin; echo x > src/auth/held.txt; rm -f $T/twin/src/auth/held.txt; \
                    mv $T/twin/src $T/twin/src2; echo own > $T/twin/lib/a.txt && echo own";
        let mut command = scratch.command(Path::new("unshare"));
        command.args(["-Urm", "bash", "-c", twice, "_"]).arg(driver()).arg(scratch.place());
        let said = command.args(["exec", "--as", "B", "--", "bash", "-c", text]).output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "own\n", "{words}");
        assert_eq!(scratch.work(), before);
        assert!(scratch.log().contains("granted B full"), "{}", scratch.log());
    }
}
