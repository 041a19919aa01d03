//! The way home with the real client: two isolated sessions save and land side by side; where
//! they disagree one is told, and nothing of it is lost.

use serde_json::Value;

use crate::support::client::Client;
use crate::support::machine::Machine;
use crate::support::office::{Office, on_every_client};
use crate::support::repo::Repo;
use crate::support::script::{Script, Step, bash, gate, say, script, write};

/// The tree that the denial named.
fn tree(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let texts = messages.flat_map(|message| crate::support::heard::texts(&message["content"]));
    texts.flat_map(str::lines).find_map(|line| {
        line.strip_prefix("cd ")?.split_once(" and go on there").map(|(tree, _)| tree.to_owned())
    })
}

fn there(request: &Value, line: &str) -> Vec<Step> {
    match tree(request) {
        Some(tree) => vec![bash(&format!("cd {tree} && {line}"))],
        None => vec![say("no tree was named")],
    }
}

fn lands_one(request: &Value) -> Vec<Step> {
    there(request, "echo one > one.txt && octo save -m 'One file'")
}

fn lands_two(request: &Value) -> Vec<Step> {
    there(request, "echo two > two.txt && octo save -m 'Another file'")
}

fn lands_first(request: &Value) -> Vec<Step> {
    there(request, "echo 'of one' > a.txt && octo save")
}

fn lands_second(request: &Value) -> Vec<Step> {
    there(request, "echo 'of two' > a.txt && octo save")
}

fn worker(name: &str, repo: &Repo, steps: [fn(&Value) -> Vec<Step>; 2]) -> Script {
    let [own, shared] = steps;
    script(
        name,
        [
            vec![write(repo.at("start.txt"), "first write\n")],
            vec![Step::From(own)],
            vec![gate(&format!("{name} meets the other")), Step::From(shared)],
        ],
    )
}

#[test]
fn two_isolated_sessions_land_side_by_side_and_a_conflict_loses_nothing() {
    on_every_client(side_by_side);
}

fn side_by_side(client: &Client) {
    let machine = Machine::new();
    machine.configure("isolation = \"always\"\n");
    let office = Office::on(machine, client, |repo| {
        vec![
            worker("one", repo, [lands_one, lands_first]),
            worker("two", repo, [lands_two, lands_second]),
        ]
    });
    let (api, repo) = (&office.api, &office.repo);
    let (one, two) = (office.session("one"), office.session("two"));
    for name in ["one", "two"] {
        api.reached(&format!("{name} meets the other"));
        api.heard(name).refused(0, &["octo: denied [shared.", "your own worktree is"]);
        api.heard(name).ran(1);
    }
    assert_eq!(repo.content("one.txt").unwrap(), "one\n");
    assert_eq!(repo.content("two.txt").unwrap(), "two\n");
    assert!(repo.content("start.txt").is_none() && repo.status().is_empty());
    assert_eq!(repo.git(&["log", "--merges", "--format=%s"]).lines().count(), 2);
    api.open("one meets the other");
    api.finished("one");
    let main = repo.head();
    assert_eq!(repo.content("a.txt").unwrap(), "of one\n");
    api.open("two meets the other");
    one.finish().well();
    let id = two.finish().well().session();
    let told = api.heard("two").result(2).text;
    assert!(told.contains("conflicts with main in a.txt"), "{told}");
    assert!(told.contains("of one") && told.contains("of two"), "{told}");
    assert!(told.contains(&format!("octo save {id} --resolve")), "{told}");
    assert_eq!(repo.head(), main, "nothing moved");
    assert!(repo.status().is_empty());
    assert_eq!(repo.git(&["show", &format!("dim/{id}:a.txt")]), "of two");
    let list = office.machine.operator(&["worktree", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let trees = list["trees"].as_array().unwrap();
    let waiting = trees.iter().find(|tree| tree["id"] == id.as_str()).unwrap();
    assert_eq!(waiting["retry"], format!("octo save {id} --resolve"));
}
