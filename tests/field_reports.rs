//! Situations that people reported, reduced to one command each: a neighbour S2 lives in the
//! checkout, holds `b.txt` and `src/x.rs` edited and `notes.md` new, and S1 runs the command.
//! Rows carry the report's stable number.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::cases::play;
use crate::support::machine::{Machine, feed};
use crate::support::puppet::Puppet;
use crate::support::reply::Verdict;
use crate::support::repo::Repo;

/// Where S1 stands when it runs the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seat {
    /// The shared checkout.
    Root,
    /// A folder of it.
    Src,
    /// S1's own linked worktree.
    Own,
    /// Outside every repository.
    Outside,
}
use Seat::{Outside, Own, Root, Src};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Deny,
    Pass,
}
use Right::{Deny, Pass};

/// `{R}` is the checkout, `{W}` S1's own worktree, `{H}` the home folder.
const ROWS: &[(&str, Seat, &str, Right)] = &[
    ("M1", Root, "git add -A && git commit -m wip", Deny),
    ("M1", Own, "git add -A && git commit -m wip", Pass),
    ("M2", Root, "git add '.'", Deny),
    ("M2", Root, "git add \"./\"", Deny),
    ("M2", Root, "git add :/", Deny),
    ("M2", Root, "git add ':(top)'", Deny),
    ("M2", Root, "git add -- .", Deny),
    ("M2", Src, "git add ..", Deny),
    ("M2", Root, "git add *", Deny),
    ("M2", Root, "git add \"$PWD\"", Deny),
    ("M2", Outside, "git -C {R} add {R}", Deny),
    ("M8", Root, "GIT_INDEX_FILE=/tmp/s1.idx git commit -m x", Deny),
    ("M15", Root, "git reset --hard", Deny),
    ("M15", Root, "git reset --hard HEAD~1", Deny),
    ("M15", Root, "git reset --merge", Deny),
    ("M15", Root, "git reset --keep HEAD", Deny),
    ("M15", Outside, "git -C {R} reset --hard", Deny),
    ("M15", Root, "git checkout -f", Deny),
    ("M15", Root, "git checkout .", Deny),
    ("M15", Root, "git restore .", Deny),
    ("M15", Root, "git clean -fd", Deny),
    ("M15", Root, "git clean -nd", Pass),
    ("M16", Own, "git stash pop", Deny),
    ("M16", Own, "git stash drop", Deny),
    ("M16", Own, "git stash clear", Deny),
    ("M16", Own, "git stash apply", Deny),
    ("M16", Own, "git stash list", Pass),
    ("M16", Own, "git stash show", Pass),
    ("M53", Root, "bash -c 'rm -f b.txt'", Deny),
    ("M53", Root, "sh -lc \"rm b.txt\"", Deny),
    ("M53", Root, "env -S 'rm b.txt'", Deny),
    ("M53", Outside, "env -C {R} rm b.txt", Deny),
    ("M53", Root, "sudo -u u rm b.txt", Deny),
    ("M53", Root, "nohup nice -n5 rm b.txt", Deny),
    ("M53", Root, "timeout 5 rm b.txt", Deny),
    ("M53", Root, "xargs rm <<< b.txt", Deny),
    ("M53", Root, "echo b.txt | xargs rm", Deny),
    ("M53", Root, "eval \"rm b.txt\"", Deny),
    ("M53", Root, "bash -c \"bash -c 'bash -c \\\"rm b.txt\\\"'\"", Deny),
    ("M53", Root, "bash <<'E'\nrm b.txt\nE", Deny),
    ("M54", Root, "(cd src && rm x.rs)", Deny),
    ("M54", Root, "if true; then rm b.txt; fi", Deny),
    ("M54", Root, "case x in x) rm b.txt;; esac", Deny),
    ("M54", Root, "for f in b.txt; do rm \"$f\"; done", Deny),
    ("M54", Root, "f(){ rm b.txt; }; f", Deny),
    ("M54", Root, "{ rm b.txt; }", Deny),
    ("M54", Root, "! rm b.txt", Deny),
    ("M54", Root, "time rm b.txt", Deny),
    ("M54", Root, "echo $(rm b.txt)", Deny),
    ("M54", Root, "echo `rm b.txt`", Deny),
    ("M54", Root, "cat <(rm b.txt)", Deny),
    ("M54", Root, "echo hi > $(rm b.txt)", Deny),
    ("M54", Root, "f() { local x=$(rm b.txt); }; f", Deny),
    ("M54", Root, "[[ $(rm b.txt) ]]", Deny),
    ("M55", Root, "sed -i s/x/y/ b.txt c.txt", Deny),
    ("M55", Root, "rm b.txt c.txt", Deny),
    ("M55", Root, "tee b.txt c.txt </dev/null", Deny),
    ("M55", Root, "mv b.txt c.txt src/", Deny),
    ("M55", Root, "truncate -s0 b.txt c.txt", Deny),
    ("M55", Root, "perl -pi -e 's/x/y/' b.txt c.txt", Deny),
    ("M55", Root, "touch c.txt; cp c.txt b.txt", Deny),
    ("M55", Root, "cp b.txt a.txt docs/", Pass),
    ("M55", Root, "cp -t docs b.txt", Pass),
    ("M55", Root, "cat b.txt a.txt > d.txt", Pass),
    ("M56", Outside, "git -C {R} add -A", Deny),
    ("M56", Outside, "cd {R} && git add -A", Deny),
    ("M56", Outside, "pushd {R}; git add -A", Deny),
    ("M56", Outside, "git --git-dir={R}/.git --work-tree={R} add -A", Deny),
    ("M56", Outside, "GIT_DIR={R}/.git GIT_WORK_TREE={R} git add -A", Deny),
    ("M56", Outside, "git -c core.x=y -C {R} add -A", Deny),
    ("M56", Root, "git -C {W} add -A", Pass),
    ("M61", Own, "python3 -c \"import pathlib; pathlib.Path('{R}/b.txt').write_text('x')\"", Deny),
    ("M64", Root, "git worktree remove ..\r/../own", Deny),
    ("M67", Root, "git commit -m \"never run git add -A or rm -rf b.txt\" -- a.txt", Pass),
    ("M67", Root, "gh pr create --title \"ban git reset --hard\"", Pass),
    ("M67", Root, "echo 'git stash pop'", Pass),
    ("M67", Root, "printf '%s' \"git checkout .\"", Pass),
    ("M67", Root, "grep -rn \"git add -A\" docs", Pass),
    ("M67", Root, "# git clean -fd", Pass),
    ("M67", Root, "git log --grep='reset --hard'", Pass),
    ("M71", Root, "T=/tmp/out; echo x > $T/f", Pass),
    ("M71", Root, "for d in docs build; do echo x > \"$d/README\"; done", Pass),
    ("M71", Root, "for d in docs b.txt; do echo x > \"$d\"; done", Deny),
    ("M71", Root, "echo x > \"$OUT/f\"", Deny),
    ("M71", Root, "D=$(mktemp -d); cp a.txt \"$D/\"", Pass),
    ("M71", Root, "echo x > \"$HOME/notes\"", Pass),
    ("M76", Root, "tee /tmp/claude-1000/x </dev/null", Pass),
    ("M77", Root, "git add -A \"unterminated", Deny),
    ("M77", Root, "cat <<EOF\nrm b.txt", Pass),
    ("M78", Root, "gh issue create --body \"don't use --no-verify\"", Pass),
    ("M79", Root, "python3 - <<'E'\nopen('b.txt','w')\nE", Deny),
];

struct Town {
    machine: Machine,
    repo: Repo,
    own: PathBuf,
}

impl Town {
    fn build() -> Self {
        let machine = Machine::gates_only();
        let files = [
            ("a.txt", "a\n"),
            ("b.txt", "b\n"),
            ("c.txt", "c\n"),
            ("src/x.rs", "x\n"),
            ("docs/a.md", "docs\n"),
            ("build/keep", ""),
            (".gitignore", ".env\nnode_modules/\n"),
        ];
        let repo = machine.repo("app", &files);
        let own = machine.home.join("proj/own");
        repo.git(&["worktree", "add", "--quiet", "-b", "own", &own.display().to_string()]);
        Self { machine, repo, own }
    }

    fn neighbour(&self) -> Puppet<'_> {
        let s2 = self.machine.session("s2", &self.repo.root);
        s2.start();
        s2.holds(&self.repo.at("b.txt"), "of S2\n");
        s2.holds(&self.repo.at("src/x.rs"), "of S2\n");
        s2.holds(&self.repo.at("notes.md"), "of S2\n");
        s2
    }

    fn me(&self, from: Seat) -> Puppet<'_> {
        let src = self.repo.at("src");
        let cwd: &Path = match from {
            Root => &self.repo.root,
            Src => &src,
            Own => &self.own,
            Outside => &self.machine.home,
        };
        self.machine.session("s1", cwd)
    }

    fn fill(&self, command: &str) -> String {
        let shown = |path: &Path| path.display().to_string();
        let command = command.replace("{R}", &shown(&self.repo.root));
        command.replace("{W}", &shown(&self.own)).replace("{H}", &shown(&self.machine.home))
    }
}

fn number(row: &(&str, Seat, &str, Right)) -> String {
    row.0.to_owned()
}

#[test]
fn every_reported_command_beside_a_neighbour() {
    play(ROWS, number, |(_, from, command, right)| {
        let town = Town::build();
        town.neighbour();
        let me = town.me(*from);
        me.start();
        let command = town.fill(command);
        let reply = me.ask("Bash", &json!({ "command": command, "description": "x" }));
        let got = if reply.denied() { Deny } else { Pass };
        let reason = reply.stderr.lines().next().unwrap_or_default();
        let wrong = got != *right;
        let word = format!("{right:?}, got {got:?}: {command:?} {reason}");
        wrong.then_some(word).into_iter().collect()
    });
}

#[test]
fn alone_every_reported_command_passes_in_silence() {
    play(ROWS, number, |(_, from, command, _)| {
        let town = Town::build();
        let me = town.me(*from);
        me.start();
        let command = town.fill(command);
        let reply = me.ask("Bash", &json!({ "command": command, "description": "x" }));
        let said = reply.denied() || !reply.stdout.is_empty() || !reply.stderr.is_empty();
        let word = format!("alone, {command:?}: {reply:?}");
        said.then_some(word).into_iter().collect()
    });
}

#[test]
fn m16_ones_own_stash_entry_may_be_popped() {
    let town = Town::build();
    town.neighbour();
    let me = town.me(Own);
    me.start();
    me.holds(&town.own.join("a.txt"), "of S1\n");
    me.bash("git stash push -- a.txt").well();
    me.bash("git stash pop").well();
    assert_eq!(std::fs::read_to_string(town.own.join("a.txt")).unwrap(), "of S1\n");
}

#[test]
fn m25_a_write_over_a_finished_neighbours_bytes_is_told_whose_they_are() {
    let town = Town::build();
    let s2 = town.machine.session("s2", &town.repo.root);
    s2.start();
    let (agent, other) = (s2.spawn("a1"), s2.spawn("a2"));
    agent.holds(&town.repo.at("a.txt"), "of A1\n");
    agent.end();
    let reply = other.write(&town.repo.at("a.txt"), "of A2\n");
    assert_eq!(reply.verdict(), Verdict::Pass);
    // What an agent leaves is its parent's from then on.
    assert!(reply.context().contains("s2"), "the writer is not told: {reply:?}");
}

#[test]
fn m32_the_first_edit_claims_without_being_asked_to() {
    let town = Town::build();
    let (one, two) = (town.me(Root), town.machine.session("s2", &town.repo.root));
    one.holds(&town.repo.at("a.txt"), "of S1\n");
    let input = json!({ "file_path": town.repo.at("a.txt"), "old_string": "a", "new_string": "b" });
    assert_eq!(two.ask("Edit", &input).rule(), "lane.held");
}

#[test]
fn m42_the_payloads_folder_is_believed_not_the_projects() {
    let town = Town::build();
    town.neighbour();
    let me = town.me(Own);
    me.start();
    let input = json!({ "command": "git add -A", "description": "x" });
    let payload = me.question("Bash", &input).to_string();
    let mut hook = town.machine.command("octo-hook");
    hook.env("CLAUDE_PROJECT_DIR", &town.repo.root).arg("PreToolUse");
    assert_eq!(feed(hook, payload.as_bytes()).verdict(), Verdict::Pass);
}

#[test]
fn m75_a_command_repeated_against_the_refusal_is_told_so() {
    let town = Town::build();
    town.neighbour();
    let me = town.me(Root);
    let input = json!({ "command": "git add -A", "description": "x" });
    let replies = [(); 3].map(|()| me.ask("Bash", &input));
    let Verdict::Deny(third) = replies[2].verdict() else { panic!("passed: {replies:?}") };
    assert!(third.contains('3'), "the third refusal does not count: {third}");
    assert_ne!(replies[0].verdict(), Verdict::Deny(third));
}

#[test]
fn m76_a_refusal_names_the_resolved_path_and_the_rule() {
    let town = Town::build();
    town.neighbour();
    let reply =
        town.me(Src).ask("Bash", &json!({ "command": "rm ../src/x.rs", "description": "x" }));
    let Verdict::Deny(reason) = reply.verdict() else { panic!("passed") };
    assert!(reason.contains("src/x.rs") && reason.contains("s2"), "{reason}");
    assert!(!reason.contains("../src"), "not resolved: {reason}");
    assert!(reply.rule().contains('.'));
}

#[test]
fn m145_any_event_of_the_holder_keeps_its_lanes() {
    let town = Town::build();
    let s2 = town.neighbour();
    town.machine.silent_for("s2", 1_000);
    s2.call("Read", &json!({ "file_path": town.repo.at("a.txt") }), json!({}));
    let write = json!({ "file_path": town.repo.at("b.txt"), "content": "x" });
    assert!(town.me(Root).ask("Write", &write).denied());
    town.machine.silent_for("s2", 901);
    assert!(!town.me(Root).ask("Write", &write).denied());
}

#[test]
fn m153_a_takeover_is_on_record_on_both_sides() {
    let town = Town::build();
    town.neighbour();
    town.machine.silent_for("s2", 1_000);
    town.me(Root).holds(&town.repo.at("b.txt"), "of S1\n");
    let path = town.repo.at("b.txt").display().to_string();
    let has = |pid: &str, kind: &str| {
        let lines = town.machine.journal(pid);
        lines.iter().any(|line| line["kind"] == kind && line["target"].as_str() == Some(&path))
    };
    assert!(has("s2", "expire"), "{:#?}", town.machine.journal("s2"));
    assert!(has("s1", "claim"), "{:#?}", town.machine.journal("s1"));
}
