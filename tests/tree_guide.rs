//! The guide to a session's tree in the README, kept: every command in it is run in the order in
//! which it is shown, and says what is shown.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::front_page::readme_says;
use crate::support::yard::Yard;

const ID: &str = "3f2a91c0";

struct Guide {
    place: Yard,
    text: String,
}

impl Guide {
    fn remark(&mut self, words: &str) {
        let _infallible = writeln!(self.text, "# {words}");
    }

    /// A command as a person types it, and all it says.
    fn types(&mut self, folder: &Path, line: &str) {
        let home = self.place.machine.home.to_str().unwrap().to_owned();
        let words = shell_words::split(&line.replace('~', &home)).unwrap();
        let (program, words) = words.split_first().unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = self.place.person(program, folder, &words);
        let all = format!("{}{}", said.stderr, said.stdout).replace(&home, "~");
        let lines: Vec<&str> = all.lines().map(str::trim_end).collect();
        let _infallible = writeln!(self.text, "$ {line}\n{}\n", lines.join("\n").trim_end());
    }
}

#[test]
fn the_guide_says_what_each_verb_says() {
    let mut guide = Guide { place: Yard::new(), text: String::new() };
    let app = guide.place.repo.root.clone();
    let tree = guide.place.tree(ID);
    guide.types(&app, &format!("octo-dim --session-id {ID} worktree-init --repo ~/proj/app"));
    guide.remark("the session works there; bring the work home, as often as you like");
    fs::write(tree.join("lib/c.rs"), "fn main() {}\n").unwrap();
    guide.types(&tree, "octo save -m 'Begin the core'");
    guide.remark("where everybody stands");
    guide.types(&app, "octo worktree list");
    guide.remark("a person has changed the same file in the meantime: nothing is touched");
    fs::write(tree.join("b.txt"), "the session's\n").unwrap();
    guide.place.repo.put("b.txt", "a person's, not yet committed\n");
    guide.types(&tree, "octo save");
    guide.place.repo.git(&["checkout", "--quiet", "--", "b.txt"]);
    guide.remark("once the file is free again");
    guide.types(&app, &format!("octo save {ID}"));
    guide.remark("tools that keep memory by folder ask which project a path stands for");
    guide.types(&tree, "octo scope lib/c.rs");
    guide.remark("what could go, and why the rest stays; with --yes it goes");
    guide.types(&app, "octo worktree reclaim");
    guide.types(&app, &format!("octo archive {ID}"));
    guide.types(&app, &format!("octo worktree recreate {ID}"));
    guide.remark("an agent threw away what a person had not committed: it was held first");
    guide.place.repo.put("a.txt", "a person's\n");
    guide.place.session("5f93c5c1").bash("git checkout -- a.txt").well();
    let keeps = guide.place.keeps();
    let is_ours = |keep: &&serde_json::Value| keep["before"].as_str().unwrap().starts_with("Bash");
    let name = keeps.iter().find(is_ours).unwrap()["name"].as_str().unwrap().to_owned();
    guide.types(&app, &format!("octo keep show {name}"));
    guide.types(&app, &format!("octo keep restore {name}"));
    assert_eq!(guide.place.repo.content("a.txt").unwrap(), "a person's\n");
    readme_says("trees", &format!("```console\n{}\n```\n", guide.text.trim()));
}
