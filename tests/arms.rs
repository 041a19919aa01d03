//! Arms: a write from one into another is refused, with all their linked worktrees; the brain may
//! write into an arm; no file means no boundary, an unreadable one closes what leaves the repository.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::machine::Machine;
use crate::support::reply::Reply;
use crate::support::repo::Repo;

struct Arms {
    machine: Machine,
    alpha: Repo,
    beta: Repo,
    brain: Repo,
}

impl Arms {
    fn declared(config: Option<&str>) -> Self {
        let machine = Machine::gates_only();
        let make = |name| machine.repo(name, &[("x.rs", "x\n")]);
        let (alpha, beta, brain) = (make("alpha"), make("beta"), make("brain"));
        if let Some(text) = config {
            let folder = machine.home.join(".claude/company/config");
            fs::create_dir_all(&folder).unwrap();
            let text = text.replace("{H}", &machine.home.display().to_string());
            fs::write(folder.join("arms-paths.json"), text).unwrap();
        }
        Self { machine, alpha, beta, brain }
    }

    fn write(&self, from: &Path, to: &Path) -> Reply {
        let me = self.machine.session("me", from);
        me.ask("Write", &json!({ "file_path": to, "content": "x" }))
    }
}

const SPELLINGS: [&str; 4] = [
    r#"{"alpha": "proj/alpha", "beta": "proj/beta"}"#,
    r#"{"alpha": "~/proj/alpha", "beta": ["~/elsewhere", "~/proj/beta"]}"#,
    r#"{"alpha": "{H}/proj/alpha/", "beta": "{H}/proj/./beta"}"#,
    r#"{"alpha": ["gone", "proj/alpha"], "beta": ["proj/beta"]}"#,
];

#[test]
fn arm_to_arm_is_refused_however_it_is_declared() {
    for spelling in SPELLINGS {
        let arms = Arms::declared(Some(spelling));
        let reply = arms.write(&arms.alpha.root, &arms.beta.at("x.rs"));
        assert!(reply.denied(), "{spelling}");
        assert!(reply.rule().starts_with("arm."), "{spelling}: {reply:?}");
        assert!(!arms.write(&arms.alpha.root, &arms.alpha.at("x.rs")).denied(), "{spelling}");
        assert!(!arms.write(&arms.brain.root, &arms.beta.at("x.rs")).denied(), "{spelling}");
    }
}

#[test]
fn a_linked_worktree_belongs_to_its_arm() {
    let arms = Arms::declared(Some(SPELLINGS[0]));
    let tree = arms.machine.home.join("trees/alpha-1");
    fs::create_dir_all(tree.parent().unwrap()).unwrap();
    arms.alpha.git(&["worktree", "add", "--quiet", &tree.display().to_string()]);
    assert!(arms.write(&tree, &arms.beta.at("x.rs")).denied());
    assert!(arms.write(&arms.beta.root, &tree.join("x.rs")).denied());
    assert!(!arms.write(&tree, &arms.alpha.at("y.rs")).denied());
}

#[test]
fn the_shell_is_held_to_the_same_boundary() {
    let arms = Arms::declared(Some(SPELLINGS[0]));
    let me = arms.machine.session("me", &arms.alpha.root);
    let beta = arms.beta.root.display();
    for command in [
        format!("echo x > {beta}/x.rs"),
        format!("cd {beta} && rm x.rs"),
        format!("git -C {beta} checkout -- x.rs"),
        "cp x.rs ../beta/y.rs".to_owned(),
    ] {
        let reply = me.ask("Bash", &json!({ "command": command, "description": "x" }));
        assert!(reply.denied(), "{command}");
        assert!(reply.rule().starts_with("arm."), "{command}: {reply:?}");
    }
    let read = format!("cat {beta}/x.rs && git -C {beta} log --oneline");
    assert!(!me.ask("Bash", &json!({ "command": read, "description": "x" })).denied());
}

#[test]
fn no_file_is_no_boundary() {
    let arms = Arms::declared(None);
    assert!(!arms.write(&arms.alpha.root, &arms.beta.at("x.rs")).denied());
}

#[test]
fn an_unreadable_file_closes_what_leaves_the_repository() {
    for broken in ["{oops", "[]", "{\"alpha\": 7}", ""] {
        let arms = Arms::declared(Some(broken));
        let reply = arms.write(&arms.alpha.root, &arms.beta.at("x.rs"));
        assert!(reply.denied(), "{broken:?}");
        assert!(reply.stderr.contains("arms-paths.json"), "{broken:?}: {reply:?}");
        assert!(!arms.write(&arms.alpha.root, &arms.alpha.at("x.rs")).denied(), "{broken:?}");
    }
}
