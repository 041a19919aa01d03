//! `octo explain` shows a command as it was read: a tree of the programs it would run, each below
//! the text it stood in, with a mark at the one thing the verdict hangs on.

use crate::support::machine::Machine;

/// What explain says about a command of `rival-1`, line by line.
fn explained(machine: &Machine, cwd: &std::path::Path, command: &str) -> Vec<String> {
    let mut octo = machine.command("octo");
    octo.args(["explain", "--as", "rival-1", command]).current_dir(cwd);
    let said = octo.output().unwrap();
    String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn the_tree_marks_the_word_that_decided_and_no_other() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n"), ("lib/b.txt", "b\n")]);
    machine.session("holder-1", &repo.root).holds(&repo.at("lib/b.txt"), "held\n");
    machine.session("rival-1", &repo.root).start();
    for (command, decided) in [
        ("echo hi > a.txt && rm lib/b.txt", "rm lib/b.txt"),
        ("touch a.txt; if true; then bash -c 'rm -r lib; ls'; fi", "rm -r lib"),
        ("git status; (cd lib && tee b.txt < ../a.txt)", "tee b.txt"),
        ("GIT_EDITOR='rm lib/b.txt; true' git commit --allow-empty -- a.txt", "rm lib/b.txt"),
    ] {
        let lines = explained(&machine, &repo.root, command);
        let marks: Vec<usize> =
            (0..lines.len()).filter(|n| lines[*n].contains("← this decided")).collect();
        let [mark] = marks[..] else { panic!("{command}: {} marks in {lines:#?}", marks.len()) };
        // The program stands above what it would do, less deep.
        let depth = |line: &str| line.len() - line.trim_start().len();
        let above = lines[..mark].iter().rev().find(|line| depth(line) < depth(&lines[mark]));
        let program = above.map(|line| line.trim()).unwrap_or_default();
        assert_eq!(program, decided, "{command}: {lines:#?}");
    }
    let lines = explained(&machine, &repo.root, "echo hi > a.txt && cat lib/b.txt");
    assert!(lines.iter().any(|line| line.contains("cat lib/b.txt")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("decided")), "{lines:#?}");
}

#[test]
fn what_runs_inside_a_text_stands_below_it() {
    let machine = Machine::gates_only();
    let repo = machine.repo("app", &[("a.txt", "a\n")]);
    machine.session("rival-1", &repo.root).start();
    let lines = explained(&machine, &repo.root, "ls; bash -c 'wc a.txt; eval \"rm a.txt\"'");
    let depth = |words: &str| {
        let line = lines.iter().find(|line| line.trim() == words);
        let line = line.unwrap_or_else(|| panic!("no {words} in {lines:#?}"));
        line.len() - line.trim_start().len()
    };
    assert!(depth("ls") < depth("wc a.txt") && depth("wc a.txt") < depth("rm a.txt"), "{lines:#?}");
}
