//! Everyday work beside ten foreign holds is the same with and without the fence, and what cannot
//! be done is explained by name. Rows live in `fixtures/fence/{ordinary,cannot}.sh`.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use octo::fence::explain::explain;
use octo::fence::look::RealDisk;
use octo::fence::plan::{Asked, FencePlan, plan};
use octo::fence::{Company, GitWrite, Holds, Level, Signals};
use octo::policy::facts::{Basis, Hold, Root, RootKind};
use octo::policy::lane::AbsPath;
use octo::policy::verdict::Holder;

use crate::support::fence::{Row, Scratch, User, pid, run, whole};
use crate::support::tools::tools;

fn git_of(row: &Row) -> GitWrite {
    if row.marked("own") { GitWrite::OwnIndex } else { GitWrite::None }
}

/// The toolchain that runs these tests, for rows that build.
fn path() -> String {
    let tools = Path::new(env!("CARGO")).parent().unwrap().display();
    format!("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{tools}")
}

/// Whether a row can be done here, as this user.
fn possible(row: &Row, user: User) -> bool {
    let mine = user == User::Me || !(row.marked("me") || row.marked("tools"));
    let rights = user.is_root() || !row.marked("root");
    mine && rights && row.lacks().is_none() && (!row.marked("tools") || tools().is_some())
}

/// A row's environment besides the scratch's.
fn furnish(command: &mut Command, row: &Row) {
    command.env("PATH", path());
    if let Some(tools) = tools().filter(|_| row.marked("tools")) {
        command.env("TOOLS", tools);
    }
}

fn prepare(scratch: &Scratch, user: User, row: &Row) {
    scratch.hold_ten();
    let mut before = scratch.command(Path::new("bash"));
    before.args(["-ec", &row.before]);
    furnish(&mut before, row);
    run(&mut before);
    let hooks = scratch.beside("t/hooks");
    let script = "mkdir -p $1 && printf '#!/bin/sh\\nsed -i s/x/formatted/ lib/a.txt\\n' > \
                  $1/pre-commit && chmod -R a+rx $1";
    run(Command::new("bash").args(["-c", script, "_"]).arg(&hooks));
    if user == User::Nobody {
        run(Command::new("chown").args(["-R", "65534"]).arg(hooks));
    }
}

/// What a caller can see of a finished command.
fn seen(scratch: &Scratch, said: &Output) -> String {
    let cwd = std::fs::read(scratch.cwd()).unwrap_or_default();
    format!(
        "exit {:?} signal {:?}\n{}\ncwd {}\n{}",
        said.status.code(),
        said.status.signal(),
        scratch.plain(&said.stdout),
        scratch.plain(&cwd),
        scratch.files(),
    )
}

fn work_is_the_same(user: User) {
    if !User::all().contains(&user) {
        println!("skipped: only root can become another user");
        return;
    }
    let only = std::env::var("FENCE_ONLY").ok();
    let mut failed = Vec::new();
    for row in Row::all("ordinary.sh") {
        let wanted = only.as_ref().is_none_or(|o| row.name.contains(o.as_str()));
        if !wanted || !possible(&row, user) {
            continue;
        }
        let open = Scratch::new(user);
        prepare(&open, user, &row);
        let mut command = open.command(Path::new("bash"));
        command.args(["-c", &open.framed(&row.text)]);
        furnish(&mut command, &row);
        let said = command.output().unwrap();
        let want = seen(&open, &said);
        if said.status.success() == row.marked("fails") {
            let words = String::from_utf8_lossy(&said.stderr).into_owned();
            failed.push(format!("{}: not what it says\n{want}{words}", row.name));
        }

        let fenced = Scratch::new(user);
        prepare(&fenced, user, &row);
        fenced.ticket(&row.text, git_of(&row));
        let mut command = fenced.prefix(&fenced.framed(&row.text));
        furnish(&mut command, &row);
        let said = command.output().unwrap();
        let got = seen(&fenced, &said);
        let log = fenced.log();
        if want != got || !log.contains("granted B full") || !log.contains("metered B") {
            let words = String::from_utf8_lossy(&said.stderr).into_owned();
            failed.push(format!("{}:\n--- want\n{want}--- got\n{got}{words}{log}", row.name));
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn everyday_work_beside_ten_holds_is_the_same() {
    if !whole() {
        return;
    }
    work_is_the_same(User::Me);
}

#[test]
fn everyday_work_of_an_ordinary_user_is_the_same() {
    if !whole() {
        return;
    }
    work_is_the_same(User::Nobody);
}

/// The fence that B meets in a scratch.
fn fence(scratch: &Scratch, git: GitWrite) -> FencePlan {
    let abs = |p: &Path| AbsPath::new(p).unwrap();
    let repo = scratch.repo();
    let git_dir = abs(&repo.join(".git"));
    let root =
        Root { path: abs(&repo), kind: RootKind::Main, git_dir: git_dir.clone(), common: git_dir };
    let holder =
        Holder { pid: pid("A"), session: pid("A"), kind: "session".into(), age: 1, silent: 1 };
    let hold = |p: &str| Hold {
        path: abs(&repo.join(p)),
        root: Some(root.path.clone()),
        basis: Basis::Lane,
        holder: holder.clone(),
    };
    let holds = Holds {
        company: Company::Others,
        holds: vec![hold("src/auth/held.txt"), hold("notes.txt"), hold("docs/plan")],
        trees: vec![root.clone()],
        folders: Vec::new(),
        closed: Vec::new(),
        roots: vec![root.clone()],
        signals: Signals::default(),
        need: Level::None,
    };
    let scratch_folders = [abs(Path::new("/tmp"))];
    let asked = Asked {
        holds: &holds,
        git,
        dir: &root.path,
        level: Level::Full,
        scratch: &scratch_folders,
        switches: &[],
    };
    plan(&asked, &RealDisk::look())
}

#[test]
fn what_cannot_be_done_is_explained_by_path_and_holder() {
    if !whole() {
        return;
    }
    let only = std::env::var("FENCE_ONLY").ok();
    let mut failed = Vec::new();
    for row in Row::all("cannot.sh") {
        let wanted = only.as_ref().is_none_or(|o| row.name.contains(o.as_str()));
        if !wanted || !possible(&row, User::Me) {
            continue;
        }
        let open = Scratch::new(User::Me);
        prepare(&open, User::Me, &row);
        let mut command = open.command(Path::new("bash"));
        furnish(&mut command, &row);
        let said = command.args(["-c", &row.text]).output().unwrap();
        if !said.status.success() {
            failed.push(format!("{}: fails without the fence: {said:?}", row.name));
        }
        let fenced = Scratch::new(User::Me);
        prepare(&fenced, User::Me, &row);
        fenced.ticket(&row.text, git_of(&row));
        let mut command = fenced.prefix(&fenced.framed(&row.text));
        furnish(&mut command, &row);
        let said = command.output().unwrap();
        // The client tells its hooks of both.
        let words = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
        let hits = explain(&words, said.status.code(), &fence(&fenced, git_of(&row)));
        let (kind, at) = (row.value("kind=").unwrap(), row.value("path=").unwrap());
        let named = hits.iter().any(|h| {
            h.kind.rule() == kind && h.path.as_path() == fenced.repo().join(at) && {
                kind == "fence.outside" || h.hold.as_ref().is_some_and(|h| h.holder.pid == pid("A"))
            }
        });
        let way_out = match kind {
            "fence.outside" => "fence_write",
            _ if row.marked("config") => "git -c",
            _ => "worktree",
        };
        let others = hits.iter().any(|h| h.kind.rule() != kind || !h.remedy().contains(way_out));
        if said.status.success() || !named || others {
            failed.push(format!("{}: {:?}\n{words}{hits:#?}", row.name, said.status));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
