//! A session's tree through the real binary, by the verbs of its life: set up, fallen back,
//! required, brought home, pinned, laid to rest, handed on, forgotten and found again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::eventually;
use crate::support::puppet::Puppet;
use crate::support::reply::Reply;
use crate::support::repo::Repo;
use crate::support::yard::{Yard, reason};

impl Yard {
    /// A session at work in its own tree, with one change it has not committed.
    fn at_work(&self, id: &str) -> (PathBuf, Puppet<'_>) {
        let tree = self.made(id);
        let there = self.machine.session(id, &tree);
        there.start();
        there.holds(&tree.join("b.txt"), &format!("{id}'s\n"));
        (tree, there)
    }

    fn state_is(&self, id: &str, wanted: &str) {
        eventually(&format!("{id} to be {wanted}"), || {
            let state = self.listed(id)["state"].as_str().unwrap().to_owned();
            state.starts_with(wanted).then_some(())
        });
    }

    fn shown(&self, id: &str, wanted: &str) -> String {
        eventually(&format!("{id} to show {wanted}"), || {
            let shown = self.octo(&self.repo.root, &["worktree", "show", id]).stdout;
            shown.contains(wanted).then_some(shown)
        })
    }
}

#[track_caller]
fn well(reply: Reply) -> Reply {
    assert_eq!(reply.code, Some(0), "{reply:?}");
    reply
}

fn told(session: &Puppet<'_>) -> String {
    session.fire("UserPromptSubmit", json!({ "prompt": "go on" })).context()
}

#[test]
fn a_projects_setup_waits_for_a_person_who_approves_exactly_that_text() {
    let place = Yard::new();
    let setup = |command: &str| {
        place.repo.put(".octo.toml", &format!("[worktree]\nsetup = [\"{command}\"]\n"));
        place.repo.put(".gitignore", ".env\nbuilt.txt\n");
        place.repo.git(&["add", "--all"]);
        place.repo.git(&["commit", "--quiet", "--message", command]);
    };
    setup("echo one > built.txt");
    let waits = place.init("s-1");
    assert!(waits.stderr.contains("octo worktree approve"), "{waits:?}");
    let approved = well(place.octo(&place.repo.root, &["worktree", "approve"]));
    assert_eq!(approved.stdout, "approved: echo one > built.txt\n");
    let tree = place.made("s-2");
    place.shown("s-2", "setup    done");
    assert_eq!(fs::read_to_string(tree.join("built.txt")).unwrap(), "one\n");
    let session = place.machine.session("s-2", &tree);
    let word = session.start().context() + &told(&session);
    assert!(word.contains("is set up: ready"), "{word}");
    // Another text is another question.
    setup("echo two > built.txt");
    let waits = place.init("s-3");
    assert!(waits.stderr.contains("octo worktree approve"), "{waits:?}");
    assert!(place.shown("s-3", "setup    none").contains("wait for a person"));
    assert!(!place.tree("s-1").join("built.txt").exists());
}

#[test]
fn a_setup_that_fails_leaves_a_usable_tree_and_says_so_everywhere() {
    let place = Yard::new();
    place.machine.configure("[worktree]\nsetup = [\"echo no luck >&2; exit 3\"]\n");
    let tree = place.made("s-1");
    let shown = place.shown("s-1", "failed, usable");
    assert!(shown.contains("exit status: 3"), "{shown}");
    let log = shown.split("log ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(fs::read_to_string(log).unwrap(), "no luck\n");
    let session = place.machine.session("s-1", &tree);
    let word = session.start().context() + &told(&session);
    assert!(word.contains("its setup failed"), "{word}");
    let ps = place.json(&["ps", "--json"]).to_string();
    assert!(ps.contains("ready, usable, its setup failed"), "{ps}");
}

#[test]
fn where_no_tree_can_be_made_a_plain_copy_serves() {
    let place = Yard::new();
    place.machine.configure("fallback = \"~/copies\"\n");
    fs::write(place.machine.home.join(".octorato"), "in the way").unwrap();
    place.session("first").holds(&place.repo.at("a.txt"), "first's\n");
    let second = place.session("second");
    let said = reason(&second.write(&place.repo.at("b.txt"), "x\n"));
    let copy = place.machine.home.join("copies/second");
    assert!(said.contains("NOT isolated") && said.contains(copy.to_str().unwrap()), "{said}");
    assert_eq!(fs::read_to_string(copy.join("lib/c.rs")).unwrap(), "c\n");
    assert!(!copy.join(".git").exists());
    let again = reason(&second.write(&place.repo.at("b.txt"), "x\n"));
    assert!(again.contains(copy.join("b.txt").to_str().unwrap()), "{again}");
    let there = place.machine.session("second", &copy);
    assert!(!there.write(&copy.join("b.txt"), "second's\n").denied());
    assert_eq!(place.repo.content("b.txt").unwrap(), "b\n");
}

#[test]
fn required_isolation_that_fails_stops_the_prompt_until_it_is_mended() {
    let place = Yard::new();
    place.machine.configure("require = true\n");
    let way = place.machine.home.join(".octorato");
    fs::write(&way, "in the way").unwrap();
    place.session("first").holds(&place.repo.at("a.txt"), "first's\n");
    let second = place.session("second");
    let said = reason(&second.write(&place.repo.at("b.txt"), "x\n"));
    assert!(said.contains("NOT isolated"), "{said}");
    let prompt = json!({ "prompt": "go on" });
    let stopped = second.fire("UserPromptSubmit", prompt.clone());
    assert_eq!(stopped.code, Some(2), "{stopped:?}");
    assert!(stopped.stderr.contains("NOT isolated"), "{stopped:?}");
    let ps = place.octo(&place.repo.root, &["ps"]);
    assert!(ps.stdout.contains("NOT isolated: "), "{ps:?}");
    let again = second.fire("SessionStart", json!({ "source": "resume" }));
    assert!(again.context().contains("NOT isolated in"), "{again:?}");
    fs::remove_file(way).unwrap();
    assert_eq!(second.fire("UserPromptSubmit", prompt).code, Some(0));
    assert!(place.tree("second").join("b.txt").exists());
    let ps = place.octo(&place.repo.root, &["ps"]);
    assert!(!ps.stdout.contains("NOT isolated"), "{ps:?}");
}

#[test]
fn at_its_end_a_sessions_work_goes_where_the_setting_says() {
    let place = Yard::new();
    place.machine.configure("land = \"auto\"\n");
    place.at_work("s-auto").1.end();
    place.state_is("s-auto", "landed");
    assert_eq!(place.repo.content("b.txt").unwrap(), "s-auto's\n");

    place.machine.configure("land = \"never\"\n");
    let (never, session) = place.at_work("s-never");
    session.end();
    place.machine.configure("land = \"ask\"\n");
    let (asked, session) = place.at_work("s-ask");
    session.end();
    place.state_is("s-ask", "ready to land: its session has ended");
    // M126: an end deletes nothing and decides nothing.
    assert_eq!(fs::read_to_string(asked.join("b.txt")).unwrap(), "s-ask's\n");
    assert_eq!(fs::read_to_string(never.join("b.txt")).unwrap(), "s-never's\n");
    assert_eq!(place.listed("s-never")["state"], "ready");
    assert_eq!(place.repo.content("b.txt").unwrap(), "s-auto's\n");
    // It stays in sight until it is settled.
    let ps = place.octo(&place.repo.root, &["ps"]);
    assert!(ps.stdout.contains("to land it: octo save s-ask"), "{ps:?}");
    let session = place.machine.session("s-ask", &asked);
    session.fire("SessionStart", json!({ "source": "resume" }));
    place.state_is("s-ask", "ready");
    well(place.octo(&asked, &["save", "--no-land"]));
    assert_eq!(Repo::open(&asked, &place.machine.home).status(), [""; 0]);
}

/// A host's program that notes how it was called.
fn host(place: &Yard, name: &str, says: &str) -> PathBuf {
    let notes = place.machine.home.join(format!("{name}-called"));
    let text = format!("#!/bin/sh\necho \"$PWD: $*\" >> {}\n{says}\n", notes.display());
    let program = place.machine.bin.join(name);
    fs::write(&program, text).unwrap();
    fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
    notes
}

fn remote(place: &Yard, url: &str) -> Repo {
    let bare = place.machine.home.join("up.git");
    place.repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    place.repo.git(&["remote", "add", "origin", url]);
    place.repo.git(&["remote", "set-url", "--push", "origin", bare.to_str().unwrap()]);
    Repo::open(&bare, &place.machine.home)
}

#[test]
fn a_request_is_opened_by_the_hosts_own_program() {
    let place = Yard::new();
    let up = remote(&place, "https://name:secret@github.com/o/r.git");
    let called = host(&place, "gh", "echo https://github.com/o/r/pull/7");
    place.machine.configure("land = \"pr\"\n");
    let (tree, session) = place.at_work("s-1");
    session.end();
    let call = eventually("gh to be called", || fs::read_to_string(&called).ok());
    let wanted = "pr create --head dim/s-1 --base main --fill";
    assert_eq!(call, format!("{}: {wanted}\n", tree.display()));
    assert_eq!(up.git(&["show", "dim/s-1:b.txt"]), "s-1's");
    assert_eq!(place.repo.content("b.txt").unwrap(), "b\n", "nothing is merged here");
    let again = well(place.octo(&tree, &["save", "--pr"]));
    assert_eq!(again.stdout, "request opened: https://github.com/o/r/pull/7\n");
    host(&place, "gh", "echo 'already exists: https://github.com/o/r/pull/7' >&2; exit 1");
    let there = well(place.octo(&tree, &["save", "--pr"]));
    assert_eq!(there.stdout, "request is open: https://github.com/o/r/pull/7\n");
    host(&place, "gh", "echo 'not logged in' >&2; exit 4");
    let refused = well(place.octo(&tree, &["save", "--pr"]));
    assert!(
        refused.stdout.contains("not logged in") && refused.stdout.contains(wanted),
        "{refused:?}"
    );
    assert!(!refused.stdout.contains("secret"), "{refused:?}");
}

#[test]
fn without_the_hosts_program_the_exact_command_and_address_are_printed() {
    let place = Yard::new();
    remote(&place, "git@gitlab.com:group/r.git");
    let (tree, _) = place.at_work("s-1");
    let said = well(place.octo(&tree, &["save", "--pr"])).stdout;
    let typed = "glab mr create --source-branch dim/s-1 --target-branch main --fill --yes";
    assert!(said.contains(typed), "{said}");
    assert!(said.contains("https://gitlab.com/group/r/-/merge_requests/new?"), "{said}");
    place.repo.git(&["remote", "set-url", "origin", "/somewhere/else"]);
    let plain = well(place.octo(&tree, &["save", "--pr"])).stdout;
    assert_eq!(plain, "dim/s-1 is pushed: open a request into main\n");
}

#[test]
fn ports_and_container_names_are_a_trees_own_and_free_again_after_it() {
    let place = Yard::new();
    place.machine.configure("[worktree]\nports = 4\n");
    let told = |tree: &Path| fs::read_to_string(tree.join(".env.octo")).unwrap();
    let (one, two) = (told(&place.made("s-1")), told(&place.made("s-2")));
    assert!(one.starts_with("COMPOSE_PROJECT_NAME=app-s-1\nOCTO_PORT_0="), "{one}");
    let ports = |text: &str| -> Vec<u16> {
        let lines = text.lines().filter(|line| line.starts_with("OCTO_PORT_"));
        lines.map(|line| line.split('=').nth(1).unwrap().parse().unwrap()).collect()
    };
    assert_eq!((ports(&one).len(), ports(&two).len()), (4, 4));
    assert!(ports(&one).iter().all(|port| !ports(&two).contains(port)), "{one} {two}");
    // It is no part of anybody's commit, and goes into the session's environment.
    let (tree, session) = place.at_work("s-1");
    session.end();
    place.state_is("s-1", "ready to land");
    well(place.octo(&place.repo.root, &["archive", "s-1"]));
    assert!(!tree.exists());
    let later = told(&place.made("s-3"));
    assert_eq!(ports(&later), ports(&one), "the block was not freed");
    assert_eq!(place.repo.git(&["ls-tree", "-r", "--name-only", "HEAD", "--", ".env.octo"]), "");
}

#[test]
fn archive_saves_then_lays_to_rest_and_recreate_brings_it_back() {
    let place = Yard::new();
    let tree = place.made("s-1");
    fs::write(tree.join("b.txt"), "s-1's\n").unwrap();
    fs::write(tree.join(".env"), "OWN=1\n").unwrap();
    let done = well(place.octo(&place.repo.root, &["archive", "s-1", "-m", "What s-1 did"]));
    assert!(done.stdout.starts_with("landed on main as "), "{done:?}");
    assert!(done.stderr.contains("laid to rest"), "{done:?}");
    assert!(!tree.exists());
    assert_eq!(place.repo.content("b.txt").unwrap(), "s-1's\n");
    assert!(place.repo.git(&["log", "--format=%s"]).contains("What s-1 did"));
    assert_eq!(place.listed("s-1")["state"], "archived");
    let made = well(place.octo(&place.repo.root, &["worktree", "recreate", "s-1"]));
    assert_eq!(made.stdout, format!("{}\n", tree.display()));
    assert_eq!(fs::read_to_string(tree.join("b.txt")).unwrap(), "s-1's\n");
    // The ignored file was its own: it is held, not lost.
    let keep = place.keeps().into_iter().find_map(|keep| {
        let name = keep["name"].as_str().unwrap().to_owned();
        let shown = place.octo(&place.repo.root, &["keep", "show", &name]);
        shown.stdout.contains(".env").then_some(name)
    });
    well(place.octo(&tree, &["keep", "restore", &keep.unwrap()]));
    assert_eq!(fs::read_to_string(tree.join(".env")).unwrap(), "OWN=1\n");
}

#[test]
fn reclaim_shows_first_and_takes_only_what_may_go() {
    let place = Yard::new();
    let reclaim = |words: &[&str]| {
        let words: Vec<&str> = ["worktree", "reclaim"].iter().chain(words).copied().collect();
        place.octo(&place.repo.root, &words)
    };
    let (done, open) = (place.made("s-done"), place.made("s-open"));
    fs::write(done.join("b.txt"), "done\n").unwrap();
    well(place.octo(&done, &["save"]));
    fs::write(open.join("b.txt"), "saved\n").unwrap();
    well(place.octo(&open, &["save", "--no-land"]));
    fs::write(open.join("a.txt"), "open\n").unwrap();
    well(place.octo(&place.repo.root, &["worktree", "pin", "s-done"]));
    let pinned = reclaim(&["s-done", "--yes"]);
    assert_eq!(pinned.code, Some(1), "{pinned:?}");
    assert!(pinned.stdout.contains("kept s-done: it is pinned"), "{pinned:?}");
    well(place.octo(&place.repo.root, &["worktree", "unpin", "s-done"]));
    let dry = well(reclaim(&[]));
    assert!(dry.stdout.contains("would remove s-done"), "{dry:?}");
    assert!(dry.stdout.contains("keeps s-open: 1 changed"), "{dry:?}");
    assert!(done.exists() && dry.stderr.contains("nothing was done"), "{dry:?}");
    let gone = well(reclaim(&["--yes"]));
    assert!(gone.stdout.contains("removed s-done; back with: "), "{gone:?}");
    assert!(!done.exists() && open.exists());
    assert_eq!(place.repo.git(&["branch", "--list", "dim/s-done"]), "");
    // One flag a risk: dirty alone is not enough for what has not landed.
    let half = reclaim(&["s-open", "--yes", "--dirty"]);
    assert_eq!(half.code, Some(1), "{half:?}");
    well(reclaim(&["s-open", "--yes", "--dirty", "--unlanded"]));
    assert!(!open.exists());
    assert_eq!(place.repo.git(&["show", "dim/s-open:a.txt"]), "open");
    assert_eq!(reclaim(&["app", "--yes"]).code, Some(1), "M131: the main checkout is no tree");
}

#[test]
fn a_session_whose_tree_was_handed_on_moves_and_is_told() {
    let place = Yard::new();
    let tree = place.made("s-1");
    let path = tree.to_str().unwrap();
    well(place.octo(&place.repo.root, &["worktree", "adopt", path, "--session", "s-2"]));
    let former = place.machine.session("s-1", &place.repo.root);
    let word = former.fire("SessionStart", json!({ "source": "resume" })).context();
    assert!(word.contains("was handed on to session s-2"), "{word}");
    let fresh = place.tree("s-1-2");
    assert!(word.contains(&format!("you work in {}", fresh.display())), "{word}");
    assert!(fresh.join("a.txt").exists());
    let heir = place.machine.session("s-2", &tree).start().context();
    assert!(heir.contains(&format!("isolated at {}", tree.display())), "{heir}");
    // The next start finds it there and says no more of moving.
    let word = former.fire("SessionStart", json!({ "source": "resume" })).context();
    assert!(word.contains("isolated at") && !word.contains("handed on"), "{word}");
}

#[test]
fn trees_that_the_table_forgot_are_shown_and_repair_takes_them_back() {
    let place = Yard::new();
    let (tree, session) = place.at_work("s-1");
    session.end();
    let table = place.machine.kernel().join("table.sqlite");
    fs::remove_file(&table).unwrap();
    let list = well(place.octo(&place.repo.root, &["worktree", "list"]));
    let adopt = format!("octo worktree adopt {} --session s-1", tree.display());
    assert!(list.stdout.contains("s-1") && list.stderr.contains(&adopt), "{list:?}");
    let doctor = place.octo(&place.repo.root, &["doctor"]);
    assert!(doctor.stdout.contains("trees.forgotten"), "{doctor:?}");
    let repaired = place.octo(&place.repo.root, &["doctor", "--repair"]);
    assert!(repaired.stderr.contains("is session s-1's again"), "{repaired:?}");
    assert_eq!(place.listed("s-1")["dirty"], 1);
    let doctor = place.octo(&place.repo.root, &["doctor"]);
    assert!(!doctor.stdout.contains("trees.forgotten"), "{doctor:?}");
    // A table that can still be read gives its rows to the new one whole.
    well(place.octo(&place.repo.root, &["worktree", "pin", "s-1"]));
    place.octo(&place.repo.root, &["doctor", "--repair"]);
    assert_eq!(place.listed("s-1")["pinned"], true);
    well(place.octo(&tree, &["save"]));
    assert_eq!(place.repo.content("b.txt").unwrap(), "s-1's\n");
}

#[test]
fn a_big_checkout_is_filled_behind_the_session_and_a_flag_of_the_call_is_not_lost() {
    let place = Yard::new();
    for n in 0..4_200 {
        place.repo.put(&format!("many/{}/{n}.txt", n % 40), "x");
    }
    place.repo.git(&["add", "--all"]);
    place.repo.git(&["commit", "--quiet", "--message", "many"]);
    place.made("s-1");
    place.shown("s-1", "state    ready");
    assert!(place.tree("s-1").join("many/39/4199.txt").exists());
    let root = place.repo.root.to_str().unwrap();
    let words =
        ["--session-id", "s-2", "worktree-init", "--repo", root, "--sparse", "lib", "--wait"];
    well(place.person("octo-dim", &place.repo.root, &words));
    assert!(place.tree("s-2").join("lib/c.rs").exists());
    assert!(!place.tree("s-2").join("many").exists(), "the cone was lost on the way");
}

#[test]
fn a_tree_stays_its_conversations_over_compaction_and_clear() {
    let place = Yard::new();
    place.session("first").holds(&place.repo.at("a.txt"), "first's\n");
    let session = place.session("s-1");
    reason(&session.write(&place.repo.at("b.txt"), "x\n"));
    let at = format!("isolated at {}", place.tree("s-1").display());
    let compacted = session.fire("SessionStart", json!({ "source": "compact" })).context();
    assert!(compacted.contains(&at), "{compacted}");
    session.fire("SessionEnd", json!({ "reason": "clear" }));
    let after = place.machine.session("s-2", &place.repo.root);
    let cleared = after.fire("SessionStart", json!({ "source": "clear" })).context();
    assert!(cleared.contains(&at), "{cleared}");
    let said = reason(&after.write(&place.repo.at("b.txt"), "x\n"));
    assert!(said.contains(place.tree("s-1").join("b.txt").to_str().unwrap()), "{said}");
    assert!(!place.tree("s-2").exists());
    // A child works where its session works.
    let child = place.machine.session("s-2", &place.tree("s-1")).subagent("a-1");
    child.start();
    assert!(!child.write(&place.tree("s-1").join("b.txt"), "the child's\n").denied());
}

#[test]
fn settings_say_who_is_isolated_and_a_folder_without_git_is_left_in_peace() {
    let place = Yard::new();
    let second = |id: &str, mode: &str| {
        let session = place.session(id);
        let call = json!({
            "permission_mode": mode, "tool_name": "Write", "tool_use_id": id,
            "tool_input": { "file_path": place.repo.at("b.txt"), "content": "x" },
        });
        session.fire("PreToolUse", call).denied()
    };
    // Alone a session stays where it is, unless a setting says otherwise.
    assert!(!second("s-auto", "default"));
    place.session("s-auto").end();
    place.machine.configure("isolation_bypass = \"always\"\n");
    assert!(!second("s-careful", "default"));
    place.session("s-careful").end();
    assert!(second("s-bypass", "bypassPermissions"));
    assert!(place.tree("s-bypass").join("b.txt").exists());
    // Subagents in trees of their own: the call goes on with one more field.
    place.machine.configure("subagents = \"worktree\"\n");
    let session = place.session("s-parent");
    let input = json!({ "description": "child", "prompt": "go", "subagent_type": "builder" });
    let said = session.ask("Agent", &input);
    let mut wanted = input.clone();
    wanted["isolation"] = json!("worktree");
    let said: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["hookSpecificOutput"]["updatedInput"], wanted);
    // Without git there is nothing to isolate, and nothing to say.
    place.machine.configure("isolation = \"always\"\n");
    let plain = place.machine.home.join("plain");
    fs::create_dir(&plain).unwrap();
    let session = place.machine.session("s-plain", &plain);
    assert_eq!(session.start().stdout, "");
    let said = session.write(&plain.join("x.txt"), "x\n");
    assert!(!said.denied() && said.stdout.is_empty(), "{said:?}");
}
