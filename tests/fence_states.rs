//! The fence on machines that grant less: each state is made by really taking a part of the kernel
//! away, then what is closed, what doctor says of it and what a person's settings make of it are
//! looked at. What a weaker fence cannot close stands in SECURITY.md.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::client::skip;
use crate::support::fence::{Row, Scratch, User, driver, raw, whole};
use crate::support::machine::Machine;

/// Every attack under a fence that is not the full one. Rows marked `weak` change what write rights
/// alone do not cover.
fn attack(user: User, without: &'static str, level: &str) {
    if raw().is_none() || !User::all().contains(&user) {
        println!("SKIPPED: no compiler, or not root");
        return;
    }
    let only = std::env::var("FENCE_ONLY").ok();
    let mut failed = Vec::new();
    for row in Row::all("attacks.sh") {
        let wanted = only.as_ref().is_none_or(|o| row.name.contains(o.as_str()));
        let possible = row.lacks().is_none() && (user.is_root() || !row.marked("root"));
        let weak = level == "landlock-only" && row.marked("weak");
        if !wanted || !possible || weak {
            continue;
        }
        let mut scratch = Scratch::new(user).without(without);
        let before = scratch.work();
        let said = scratch.fenced(&row.text);
        let (after, log) = (scratch.work(), scratch.log());
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        if after != before {
            failed.push(format!("{user:?} {}: HARMED\n{before}---\n{after}{words}", row.name));
        }
        if !log.contains(&format!("granted B {level}")) || !log.contains("metered B") {
            failed.push(format!("{user:?} {}: not run at {level}\n{log}{words}", row.name));
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn without_landlock_the_mounts_alone_withstand_every_attack() {
    if !whole() {
        return;
    }
    attack(User::Me, "landlock", "mounts-only");
}

#[test]
fn without_namespaces_write_rights_alone_keep_content_index_and_head() {
    if !whole() {
        return;
    }
    attack(if User::Me.is_root() { User::Nobody } else { User::Me }, "namespaces", "landlock-only");
}

#[test]
fn gap_modes_and_times_are_open_where_only_write_rights_are_narrowed() {
    if !whole() {
        return;
    }
    if raw().is_none() {
        println!("SKIPPED: no compiler");
        return;
    }
    let mut scratch = Scratch::new(User::Me).without("namespaces");
    let said = scratch.fenced("chmod 600 $H && touch -d 2001-01-01 $H && echo x > $H");
    assert!(!said.status.success(), "the content is closed");
    let held = fs::metadata(scratch.repo().join("src/auth/held.txt")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mtime(&held), 978_307_200);
}

#[test]
fn without_anything_a_command_runs_as_it_would_and_nothing_is_claimed() {
    if !whole() {
        return;
    }
    if raw().is_none() {
        println!("SKIPPED: no compiler");
        return;
    }
    let mut scratch = Scratch::new(User::Me).without("landlock,namespaces");
    let said = scratch.fenced("echo ran");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "ran\n", "{said:?}");
    assert!(scratch.log().contains("granted B none"), "{}", scratch.log());
    need_full(&scratch);
    let said = scratch.fenced("echo ran");
    assert_eq!((said.status.code(), said.stdout.len()), (Some(126), 0), "{said:?}");
}

fn need_full(scratch: &Scratch) {
    let text = fs::read_to_string(scratch.place()).unwrap();
    let mut table: Value = serde_json::from_str(&text).unwrap();
    table["need"] = json!("full");
    scratch.table(&table);
}

#[test]
fn a_claim_made_while_the_fence_is_built_counts() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let text = fs::read_to_string(scratch.place()).unwrap();
    let mut now: Value = serde_json::from_str(&text).unwrap();
    let mut next = now.clone();
    let own = scratch.repo().join("lib/a.txt");
    let more = json!({"path": own, "root": scratch.repo(), "holder": "A"});
    next["holds"].as_array_mut().unwrap().push(more);
    let place = scratch.beside("kernel/next.json");
    fs::write(&place, next.to_string()).unwrap();
    now["next"] = json!(place);
    scratch.table(&now);
    let mut command = scratch.fenced_command();
    let said = command.args(["bash", "-c", "echo x > lib/a.txt"]).output().unwrap();
    assert!(!said.status.success(), "{said:?}");
    assert_eq!(fs::read_to_string(own).unwrap(), "lib\n");
}

/// A command of the operator's, or the fence's driver, in a user namespace in which `prepare` ran.
fn inside(prepare: &str, mut command: Command) -> Output {
    let program = command.get_program().to_owned();
    let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut outer = Command::new("unshare");
    outer.args(["-Ur", "bash", "-c", &format!("{prepare}; exec \"$@\""), "_"]);
    outer.arg(program).args(args).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            outer.env(name, value);
        }
    }
    outer.current_dir(command.current_dir("/").get_current_dir().unwrap()).output().unwrap()
}

#[test]
fn where_watches_have_run_out_claims_are_still_seen() {
    if !whole() {
        return;
    }
    let scratch = Scratch::new(User::Me);
    let mut command = scratch.fenced_command();
    let text = "for i in $(seq 1000); do [ -e $T/claimed ] && break; sleep 0.01; done; \
                for i in $(seq 500); do echo x 2>/dev/null >> lib/a.txt || exit 3; sleep 0.01; done";
    command.args(["bash", "-c", text]);
    let claim = || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        scratch.hold(&["src/auth/held.txt", "lib/a.txt"]);
        fs::write(scratch.beside("t/claimed"), "").unwrap();
    };
    let said = std::thread::scope(|threads| {
        threads.spawn(claim);
        inside("echo 0 > /proc/sys/user/max_inotify_instances", command)
    });
    assert_eq!(said.status.code(), Some(3), "{said:?}");
}

/// What doctor says about the fence.
fn doctor(said: &Output) -> String {
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let from = text.find("fence.level").unwrap_or_else(|| panic!("{said:?}"));
    text[from..].to_owned()
}

/// `octo doctor` where part of the kernel is missing.
fn doctor_without(machine: &Machine, what: &str) -> String {
    let octo = machine.command("octo");
    let mut command = machine.command(raw().unwrap().to_str().unwrap());
    command.args(["without", what]).arg(octo.get_program()).arg("doctor");
    doctor(&command.output().unwrap())
}

#[test]
fn doctor_names_what_is_missing_and_the_exact_repair() {
    if !whole() {
        return;
    }
    if raw().is_none() {
        println!("SKIPPED: no compiler");
        return;
    }
    let machine = Machine::new();
    let said = doctor_without(&machine, "landlock");
    for word in ["mounts-only", "offers no Landlock", "lsm="] {
        assert!(said.contains(word), "no {word}: {said}");
    }
    let said = doctor_without(&machine, "namespaces");
    // Root's filter is a container's; an ordinary user's comes with a promise, as a sandbox's does.
    let words = if User::Me.is_root() {
        ["landlock-only", "container's seccomp profile", "--security-opt seccomp="]
    } else {
        ["landlock-only", "another sandbox is around", "switch one of the two off"]
    };
    for word in words {
        assert!(said.contains(word), "no {word}: {said}");
    }
    let mut octo = machine.command("octo");
    octo.arg("doctor");
    let said = doctor(&inside("echo 0 > /proc/sys/user/max_user_namespaces", octo));
    for word in ["landlock-only", "no user namespaces are allowed", "sysctl -w user.max_user"] {
        assert!(said.contains(word), "no {word}: {said}");
    }
}

/// A command as an ordinary user of a machine that restricts namespaces as Ubuntu does: the switch
/// is shown, and a namespace comes without rights in it.
fn on_ubuntu(home: &Path) -> Command {
    let restrict = "mount -t tmpfs none /proc/sys/kernel && \
                    echo 1 > /proc/sys/kernel/apparmor_restrict_unprivileged_userns && \
                    exec setpriv --reuid=65534 --regid=65534 --clear-groups \
                    \"$RAW\" without mounts \"$@\"";
    let mut command = Command::new("unshare");
    command.env_clear().env("RAW", raw().unwrap()).env("HOME", home).env("LC_ALL", "C");
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    command.args(["-m", "bash", "-c", restrict, "_"]);
    command
}

#[test]
fn ubuntus_restriction_is_recognised_by_trying_and_explained() {
    if !whole() {
        return;
    }
    if raw().is_none() || !User::Me.is_root() {
        println!("SKIPPED: no compiler, or not root");
        return;
    }
    let scratch = Scratch::new(User::Nobody);
    let mut command = on_ubuntu(&scratch.beside("home"));
    let text = "echo x > src/auth/held.txt; echo own > lib/a.txt && echo own";
    command.arg(driver()).arg(scratch.place()).args(["exec", "--as", "B", "--", "bash", "-c"]);
    let said = command.arg(text).current_dir(scratch.repo()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "own\n", "{said:?}");
    let log = scratch.log();
    assert!(log.contains("granted B landlock-only AppArmor restricts"), "{log}");
    // The program itself, where that user can run it.
    let octo = scratch.beside("octo");
    fs::copy(env!("CARGO_BIN_EXE_octo"), &octo).unwrap();
    let mut command = on_ubuntu(&scratch.beside("home"));
    let said = command.arg(octo).arg("doctor").current_dir(scratch.repo()).output().unwrap();
    let said = doctor(&said);
    for word in ["landlock-only", "AppArmor restricts", "userns,", "apparmor_parser -r"] {
        assert!(said.contains(word), "no {word}: {said}");
    }
}

#[test]
fn inside_a_sandbox_what_can_be_closed_is_closed() {
    if !whole() {
        return;
    }
    if Command::new("bwrap").arg("--version").output().is_err() {
        skip("no bubblewrap");
        return;
    }
    let boxes: [(&[&str], &str); 2] = [
        // As the client's own sandbox is built.
        (&["--unshare-net", "--unshare-pid", "--proc", "/proc"], ""),
        (&["--unshare-user", "--disable-userns", "--unshare-pid"], "landlock-only"),
    ];
    for (more, level) in boxes {
        let mut scratch = Scratch::new(User::Me);
        let before = scratch.work();
        let fenced = scratch.fenced_command();
        let mut command = Command::new("bwrap");
        command.args(["--dev-bind", "/", "/", "--die-with-parent"]).args(more);
        let text = "echo x > src/auth/held.txt; rm -rf src docs notes.txt; git add -A; \
                    mv src src2; echo own > lib/a.txt && echo own";
        command.arg(fenced.get_program()).args(fenced.get_args()).args(["bash", "-c", text]);
        command.env_clear().current_dir(scratch.repo());
        command.envs(fenced.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "own\n", "{more:?} {said:?}");
        assert_eq!(scratch.work(), before, "{more:?}");
        assert!(scratch.log().contains(&format!("granted B {level}")), "{}", scratch.log());
    }
}

#[test]
fn a_required_fence_that_is_not_there_refuses_the_command_and_doctor_says_so() {
    if !whole() {
        return;
    }
    if raw().is_none() {
        println!("SKIPPED: no compiler");
        return;
    }
    let machine = Machine::gates_only();
    machine.configure("isolation = \"off\"\nfence = \"require\"\n");
    let repo = machine.repo("app", &[("src/held.rs", "start\n")]);
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    a.holds(&repo.at("src/held.rs"), "by a\n");
    let octo = machine.command("octo");
    let run = |what: &str| {
        let mut command = machine.command(raw().unwrap().to_str().unwrap());
        command.args(["without", what]).arg(octo.get_program());
        command.args(["exec", "--as", "b", "--", "touch", "ran"]).current_dir(&repo.root);
        command.output().unwrap()
    };
    let said = run("namespaces");
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(126), "{words}");
    assert!(words.contains("needs the full fence, here there is landlock-only"), "{words}");
    assert!(words.contains("octo doctor") && !repo.at("ran").exists(), "{words}");
    assert!(run("nothing").status.success() && repo.at("ran").exists());
    let said = doctor_without(&machine, "namespaces");
    assert!(said.contains("required, but landlock-only"), "{said}");
    let said = machine.operator(&["doctor"]).stdout;
    assert!(said.contains("required, but shell commands run without it"), "{said}");
}

#[test]
fn a_client_that_lets_calls_through_without_us_gets_no_fence_unasked() {
    let machine = Machine::new();
    let client = |version: &str| {
        let text = format!("#!/bin/sh\necho '{version} (Claude Code)'\n");
        let place = machine.bin.join("claude");
        fs::write(&place, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(place, mode).unwrap();
    };
    let prefix = || {
        let text = fs::read_to_string(machine.home.join(".claude/settings.json"));
        text.unwrap_or_default().contains("octo-sh")
    };
    client("2.1.294");
    let refused = machine.operator(&["install", "--no-check", "--fence"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for word in ["2.1.294", "2.1.295", "octo-sh is missing", "--fence=anyway"] {
        assert!(refused.stderr.contains(word), "no {word}: {refused:?}");
    }
    assert!(!machine.home.join(".claude/settings.json").exists(), "nothing was changed");
    assert_eq!(machine.operator(&["install", "--no-check"]).code, Some(0));
    assert!(!prefix());
    assert_eq!(machine.operator(&["install", "--no-check", "--fence=anyway"]).code, Some(0));
    assert!(prefix());
    let said = machine.operator(&["doctor"]).stdout;
    assert!(said.contains("lets every call through when octo-sh is missing"), "{said}");
    client("2.1.295");
    let said = machine.operator(&["doctor"]).stdout;
    assert!(!said.contains("when octo-sh is missing"), "{said}");
    assert_eq!(machine.operator(&["install", "--no-check", "--fence"]).code, Some(0));
}
