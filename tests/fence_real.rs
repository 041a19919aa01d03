//! The fence through the shipped binary and its table, and in the real client: what one process
//! claims by an ordinary write, no command of another can touch.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::fence::{raw, whole};
use crate::support::machine::{Machine, feed};
use crate::support::office::{Office, on_every_client};
use crate::support::puppet::Puppet;
use crate::support::reply::Reply;
use crate::support::script::{agent_behind, bash, gate, read, script, write};

/// Writes a file whose name stands nowhere in the text, and something of its own before.
const BUILD: &str = "import os\nopen('built.txt', 'w').write('built')\n\
                     print('built it')\nopen(os.sep.join(['src', 'held.rs']), 'w').write('mine now')\n";

fn stage() -> (Machine, crate::support::repo::Repo) {
    let machine = Machine::gates_only();
    let files = [("src/held.rs", "start\n"), ("src/free.rs", "free\n"), ("build.py", BUILD)];
    let repo = machine.repo("app", &files);
    (machine, repo)
}

/// A hook event of a client that runs its shell lines through our prefix.
fn fire(puppet: &Puppet<'_>, event: &str, more: Value) -> Reply {
    let mut hook = puppet.machine.command("octo-hook");
    hook.arg(event).env("CLAUDE_CODE_SHELL_PREFIX", puppet.machine.bin.join("octo-sh"));
    feed(hook, puppet.payload(event, more).to_string().as_bytes())
}

/// One Bash call as that client makes it: asked, run through the prefix, reported.
fn call(puppet: &Puppet<'_>, text: &str) -> Result<(Output, Reply), Reply> {
    call_where(puppet, text, None)
}

/// The same where the kernel has less to offer to the command.
fn call_where(
    puppet: &Puppet<'_>,
    text: &str,
    without: Option<&str>,
) -> Result<(Output, Reply), Reply> {
    let input = json!({"command": text, "description": "step"});
    let tool = json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": format!("toolu_{}", puppet.machine.number())});
    let asked = fire(puppet, "PreToolUse", tool.clone());
    if asked.denied() {
        return Err(asked);
    }
    let quoted = text.replace('\'', "'\"'\"'");
    let cwd = puppet.machine.base().join("cwd");
    let line = format!("true && eval '{quoted}' < /dev/null && pwd -P >| {}", cwd.display());
    let mut shell: Command = puppet.machine.command("octo-sh");
    if let Some(what) = without {
        let octo = shell.get_program().to_owned();
        shell = puppet.machine.command(raw().unwrap().to_str().unwrap());
        shell.args(["without", what]).arg(octo);
    }
    shell.env("CLAUDE_CODE_SESSION_ID", &puppet.session).current_dir(&puppet.cwd);
    let output = shell.arg(line).output().unwrap();
    let mut after = tool;
    let event = if output.status.success() {
        after["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
        "PostToolUse"
    } else {
        after["error"] = json!(format!("Exit code 1\n{}", String::from_utf8_lossy(&output.stderr)));
        "PostToolUseFailure"
    };
    let told = fire(puppet, event, after);
    Ok((output, told))
}

#[test]
fn a_lane_claimed_by_a_write_is_closed_to_every_command_of_another_process() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    a.holds(&repo.at("src/held.rs"), "by a\n");
    let head = repo.head();
    let run = |text: &str| {
        let mut exec = machine.command("octo");
        let exec = exec.args(["exec", "--as", "b", "--", "bash", "-c", text]);
        Reply::from(exec.current_dir(&repo.root).output().unwrap())
    };
    let own = run("echo by b > src/free.rs && echo n > src/new.rs && cat src/held.rs");
    assert_eq!((own.code, own.stdout.as_str()), (Some(0), "by a\n"), "{own:?}");
    for text in
        ["echo x > src/held.rs", "rm -rf src", "git add -A", "git commit -qam x", "git stash"]
    {
        let said = run(text);
        assert_ne!(said.code, Some(0), "{text}: {said:?}");
    }
    assert_eq!(repo.content("src/held.rs").unwrap(), "by a\n");
    assert_eq!((repo.head(), repo.staged()), (head, vec![]));
    // The holder's own commands are not fenced off from its own work.
    let mut exec = machine.command("octo");
    let exec = exec.args(["exec", "--as", "a", "--", "bash", "-c", "echo more >> src/held.rs"]);
    assert!(exec.current_dir(&repo.root).output().unwrap().status.success());
    assert_eq!(repo.content("src/held.rs").unwrap(), "by a\nmore\n");
}

#[test]
fn the_fence_cannot_be_switched_off_from_behind_it() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    a.holds(&repo.at("src/held.rs"), "by a\n");
    std::fs::create_dir_all(machine.home.join(".config")).unwrap();
    std::fs::create_dir_all(machine.home.join(".local/state")).unwrap();
    let text = "mkdir -p ~/.config/octo ~/.config/git ~/.local/state/octo; mv ~/.config/octo ~/.config/o; \
                echo 'fence = \"off\"' > ~/.config/octo/config.toml; \
                echo 'fence = \"off\"' > ~/.local/state/octo/machine.toml; \
                git config -f ~/.config/git/config core.fsmonitor true; echo own > ~/.config/own";
    let mut exec = machine.command("octo");
    let exec = exec.args(["exec", "--as", "b", "--", "bash", "-c", text]);
    let said = Reply::from(exec.current_dir(&repo.root).output().unwrap());
    assert!(machine.home.join(".config/own").exists(), "other settings are open: {said:?}");
    let files =
        [".config/octo/config.toml", ".local/state/octo/machine.toml", ".config/git/config"];
    for file in files.map(|f| machine.home.join(f)) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(!text.contains("fence =") && !text.contains("fsmonitor"), "{}", file.display());
    }
    assert!(!machine.home.join(".config/o").exists(), "{said:?}");
}

#[test]
fn what_no_reader_sees_is_stopped_and_explained() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    let (first, _) = call(&b, "true").unwrap();
    assert!(first.status.success());
    a.holds(&repo.at("src/held.rs"), "by a\n");
    let (again, _) = call(&b, "true").unwrap();
    assert!(again.status.success(), "{again:?}");
    let (built, told) = call(&b, "python3 build.py").unwrap();
    assert_eq!(String::from_utf8_lossy(&built.stdout), "built it\n", "{built:?}");
    assert!(!built.status.success());
    assert_eq!(repo.content("built.txt").unwrap(), "built");
    assert_eq!(repo.content("src/held.rs").unwrap(), "by a\n");
    for word in ["fence.held", "src/held.rs", "worktree"] {
        assert!(told.context().contains(word), "no {word}: {told:?}");
    }
    let lines = machine.journal("b");
    let stopped = lines.iter().find(|l| l["rule"] == "fence.held").expect("a line of it");
    assert_eq!((&stopped["kind"], &stopped["holder"]["pid"]), (&json!("deny"), &json!("a")));
    assert!(stopped["target"].as_str().unwrap().ends_with("src/held.rs"), "{stopped}");
    let used = lines.iter().find(|l| l["target"] == "python3 build.py").expect("measured");
    assert!(used["peak_kib"].as_u64() > Some(1000) && used["wall_ms"].is_u64(), "{used}");
    // What a person sees of it.
    let replay = machine.run("octo", &["replay", "b"]).stdout;
    let line = replay.lines().find(|l| l.contains("python3 build.py")).expect("a line of it");
    assert!(line.contains(" CPU, ") && line.contains(" at most, "), "{line}");
    let long = machine.run("octo", &["ps", "--long"]).stdout;
    for word in ["3 commands used ", " CPU, ", "commands run behind the fence: full"] {
        assert!(long.contains(word), "no {word}: {long}");
    }
    let json = machine.run("octo", &["ps", "--long", "--json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json.to_string().contains("\"peak_kib\":"), "{json}");
    assert!(!machine.run("octo", &["ps"]).stdout.contains("commands used"));
}

/// A command that no reader can read, and that does no harm.
const UNREAD: &str = "eval \"$(tr a-z a-z <<< 'echo ran > own.txt')\"";

#[test]
fn what_cannot_be_read_runs_behind_a_whole_fence_and_is_refused_under_a_weaker_one() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    a.holds(&repo.at("src/held.rs"), "by a\n");
    let refused = call(&b, UNREAD).expect_err("no fence has stood yet");
    assert!(refused.rule().contains("opaque"), "{refused:?}");
    assert!(call(&b, "true").unwrap().0.status.success());
    let (ran, _) = call(&b, UNREAD).expect("the fence stands");
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(repo.content("own.txt").unwrap(), "ran\n");
    let sweep = UNREAD.replace("own.txt", "src/held.rs");
    let (stopped, told) = call(&b, &sweep).expect("the fence stands");
    assert!(!stopped.status.success() && told.context().contains("fence.held"), "{told:?}");
    assert_eq!(repo.content("src/held.rs").unwrap(), "by a\n");
    // Let through for a whole fence, it does not run without one.
    if raw().is_none() {
        println!("SKIPPED: no compiler");
        return;
    }
    let (weak, _) = call_where(&b, UNREAD, Some("namespaces")).expect("judged by the last command");
    assert_eq!(weak.status.code(), Some(126), "{weak:?}");
    assert!(call_where(&b, "true", Some("namespaces")).unwrap().0.status.success());
    let refused = call(&b, UNREAD).expect_err("the last fence was weaker");
    assert!(refused.rule().contains("opaque"), "{refused:?}");
}

#[test]
fn a_commit_of_own_paths_passes_and_a_script_beside_it_gets_no_index() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    assert!(call(&b, "true").unwrap().0.status.success());
    a.holds(&repo.at("src/held.rs"), "by a\n");
    assert!(call(&b, "true").unwrap().0.status.success());
    repo.put("src/free.rs", "by b\n");
    let (own, _) = call(&b, "git commit -qm own -- src/free.rs").unwrap();
    assert!(own.status.success(), "{own:?}");
    assert_eq!(repo.committed("src/free.rs").unwrap().trim(), "by b");
    assert_eq!(repo.committed("src/held.rs").unwrap().trim(), "start");
    let sweep = "import subprocess as s\ns.call(['git'] + ['add', '-A'])\n";
    repo.put("sweep.py", sweep);
    repo.put("src/free.rs", "again\n");
    match call(&b, "python3 sweep.py; git commit -qm own -- src/free.rs") {
        Ok((ran, _)) => assert_eq!(repo.staged(), Vec::<String>::new(), "{ran:?}"),
        Err(denied) => println!("refused before it ran: {}", denied.rule()),
    }
    assert_eq!(repo.committed("src/held.rs").unwrap().trim(), "start");
}

#[test]
fn a_subagents_build_in_the_real_client_cannot_write_its_siblings_file() {
    if !whole() {
        return;
    }
    on_every_client(|client| {
        let office = Office::open(client, |repo| {
            let held = repo.at("lib/core.rs");
            let one = script(
                "one",
                [
                    vec![read(&held)],
                    vec![write(&held, "by one\n")],
                    vec![gate("one wrote")],
                    vec![gate("two done")],
                ],
            );
            let make = "import os\nopen('built.txt', 'w').write('built')\nprint('built it')\n\
                        open(os.sep.join(['lib', 'core.rs']), 'w').write('by two')\n";
            let build = repo.at("build.py");
            let two = script(
                "two",
                [
                    vec![gate("two starts"), bash("true")],
                    vec![bash("true")],
                    vec![bash("python3 build.py")],
                    vec![gate("two ends")],
                ],
            );
            std::fs::write(build, make).unwrap();
            vec![script("parent", [vec![agent_behind("one"), agent_behind("two")]]), one, two]
        });
        let fenced = office.machine.operator(&["install", "--scope", "user", "--fence=anyway"]);
        assert!(matches!(fenced.code, Some(0 | 1)), "{fenced:?}");
        let (api, repo) = (&office.api, &office.repo);
        let parent = office.session("parent");
        api.reached("two starts");
        api.reached("one wrote");
        api.open("two starts");
        api.reached("two ends");
        assert_eq!(repo.content("lib/core.rs").unwrap(), "by one\n");
        assert_eq!(repo.content("built.txt").unwrap(), "built");
        api.open("two ends");
        api.open("one wrote");
        api.open("two done");
        parent.finish().well();
        let two = api.heard("two");
        two.ran(0);
        two.ran(1);
        let result = two.result(2);
        assert!(result.failed && result.text.contains("built it"), "{}", result.text);
        assert!(result.text.contains("Read-only file system"), "{}", result.text);
        assert!(two.mentions("fence.held"), "{}", result.text);
        let journals = office.machine.run("octo", &["replay", "--denies"]).stdout;
        let line = journals.lines().find(|l| l.contains("[fence.held]")).expect("in the journal");
        assert!(line.contains("lib/core.rs") && line.contains("held by "), "{line}");
        assert!(!two.mentions("Permission denied"), "{}", result.text);
    });
}

#[test]
fn a_link_to_the_git_directory_opens_nothing() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    std::os::unix::fs::symlink(".git", repo.at("g")).unwrap();
    a.holds(&repo.at("src/held.rs"), "by a\n");
    assert!(call(&b, "true").unwrap().0.status.success());
    let index = std::fs::read(repo.at(".git/index")).unwrap();
    let head = repo.head();
    for text in [
        "cp build.py g/index; git log -1",
        "cd g && git diff --output=index",
        "git -C g diff --output=index",
        "git diff --output=g/index",
        "git log > g/index",
        "rm -f g/index; git log -1",
        "mv build.py g/HEAD; git log -1",
        "tee g/refs/heads/main < build.py; git log -1",
        "git fetch --upload-pa='git add -A;' .",
    ] {
        match call(&b, text) {
            Ok((ran, _)) => println!("ran: {text}: {ran:?}"),
            Err(denied) => println!("refused: {text}: {}", denied.rule()),
        }
        assert_eq!(std::fs::read(repo.at(".git/index")).unwrap(), index, "{text}");
        assert_eq!(repo.head(), head, "{text}");
    }
}

#[test]
fn a_variable_that_chooses_the_program_opens_nothing() {
    if !whole() {
        return;
    }
    let (machine, repo) = stage();
    let (a, b) = (machine.session("a", &repo.root), machine.session("b", &repo.root));
    a.start();
    b.start();
    let evil = machine.base().join("evil");
    std::fs::create_dir_all(&evil).unwrap();
    let program = "#!/bin/sh\necho swept > .git/index\n";
    std::fs::write(evil.join("git"), program).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(evil.join("git"), mode).unwrap();
    a.holds(&repo.at("src/held.rs"), "by a\n");
    repo.put("src/free.rs", "by b\n");
    assert!(call(&b, "true").unwrap().0.status.success());
    let index = std::fs::read(repo.at(".git/index")).unwrap();
    let evil = evil.display();
    for text in [
        format!("PATH={evil}:/usr/bin; git log -1"),
        format!("export PATH={evil}:/usr/bin; git log -1"),
        format!("export PATH={evil}; git log -1"),
        format!("printf -v PATH %s {evil}; git log -1"),
        format!("export GIT_EXTERNAL_DIFF={evil}/git; git diff"),
        format!("set -a; GIT_EXTERNAL_DIFF={evil}/git; git diff"),
        format!("set -a; : ${{GIT_EXTERNAL_DIFF:={evil}/git}}; git diff"),
        format!("set -a; printf -v GIT_EXTERNAL_DIFF %s {evil}/git; git diff"),
        format!("export GIT_EXTERNAL_DIFF; printf -v GIT_EXTERNAL_DIFF %s {evil}/git; git diff"),
        format!("export GIT_PAGER={evil}/git PAGER={evil}/git; git -p log -1"),
        format!("cd {evil}; PATH=.:$PATH; cd {}; git log -1", repo.root.display()),
        format!("BASH_CMDS[git]={evil}/git; git log -1"),
        format!("export GIT_SSH_COMMAND={evil}/git; git fetch ssh://localhost/x"),
        format!("export GIT_EXEC_PATH={evil}; git log -1"),
        format!("ls {evil}; {evil}/git log"),
        format!("declare -n x=PATH; x={evil}:/usr/bin; git log -1"),
        format!("declare PATH={evil}:/usr/bin; git log -1"),
        format!("readonly PATH={evil}:/usr/bin; git log -1"),
        format!("read -r PATH <<< {evil}:/usr/bin; git log -1"),
        format!("mapfile -t PATH <<< {evil}:/usr/bin; git log -1"),
        format!("for PATH in {evil}:/usr/bin; do git log -1; done"),
        format!("hash -p {evil}/git git; git log -1"),
        format!("shopt -s expand_aliases\nalias git={evil}/git\ngit log -1"),
        format!("BASH_ALIASES[git]={evil}/git; shopt -s expand_aliases\ngit log -1"),
        format!("mkdir -p 1; cp {evil}/git 1/git; ((PATH=1)); git log -1"),
        format!("mkdir -p 1; cp {evil}/git 1/git; let PATH=1; git log -1"),
        format!("git() {{ {evil}/git; }}; git log -1"),
        format!("trap '{evil}/git' EXIT; git log -1"),
        format!("trap '{evil}/git' DEBUG; git log -1"),
        format!("PROMPT_COMMAND={evil}/git; git log -1"),
        format!("coproc {evil}/git; git log -1"),
        format!("getopts a PATH -a; mkdir -p a; cp {evil}/git a/git; git log -1"),
        format!("enable -f {evil}/git x; git log -1"),
        format!(
            "printf '[core]\\n\\tfsmonitor = {evil}/git\\n' > {evil}/.gitconfig; HOME={evil}; git status"
        ),
        format!("exec 3<> .git/index; git log -1; printf x >&3"),
        format!("git log -1; {{ printf x; }} > .git/index"),
    ] {
        match call(&b, &text) {
            Ok((ran, _)) => println!("ran: {text}: {ran:?}"),
            Err(denied) => println!("refused: {text}: {}", denied.rule()),
        }
        assert_eq!(std::fs::read(repo.at(".git/index")).unwrap(), index, "{text}");
    }
}
