//! The client's own way to a worktree, with octo as its engine: what `--worktree` gets is a tree
//! of octo's, and the checkout it was asked from stays as it was.

use crate::support::client::Mode;
use crate::support::office::{Office, on_every_client};
use crate::support::script::{bash, script};

#[test]
fn the_clients_worktree_is_one_of_ours_and_the_checkout_stays_as_it_was() {
    on_every_client(|client| {
        let office = Office::open(client, |_| {
            vec![script(
                "work",
                [vec![bash("pwd > where.txt && git add where.txt && git commit -qm made")]],
            )]
        });
        let launch = office.launch("work").mode(Mode::Bypass).args(&["--worktree", "feature"]);
        launch.finish().well();
        office.api.heard("work").ran(0);
        let repo = &office.repo;
        assert!(repo.content("where.txt").is_none() && repo.status().is_empty());
        let trees = repo.git(&["worktree", "list", "--porcelain"]);
        let home = office.machine.home.join(".octorato");
        let path = trees
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .find(|path| path.starts_with(home.to_str().unwrap()))
            .unwrap_or_else(|| panic!("no tree of ours in\n{trees}"));
        let branch = trees.lines().filter_map(|line| line.strip_prefix("branch refs/heads/"));
        assert!(branch.clone().any(|branch| branch.starts_with("dim/")), "{trees}");
        let said = repo.git(&["-C", path, "show", "HEAD:where.txt"]);
        assert!(said.trim().starts_with(path), "{said} is not in {path}");
    });
}
