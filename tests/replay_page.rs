//! The replay as a page, opened in a real browser at the widths of a phone and of a desk: no
//! complaint on the console, nothing wider than the window, every denial within reach.

use std::fs;
use std::path::{Path, PathBuf};

use octo::journal::Entry;
use octo::operator::page::render;
use octo::policy::verdict::{Note, Party, What};
use serde_json::json;

use crate::support::browser::show;
use crate::support::machine::Machine;
use crate::support::puppet::Puppet;

/// Everything the tests ask of a page, in the page's own words.
const LOOK: &str = "{\
    width: view.innerWidth,\
    wide: view.document.documentElement.scrollWidth,\
    wider: [...view.document.querySelectorAll('h1,p,.who,svg,.scroll')]\
        .filter(e => e.getBoundingClientRect().right > view.innerWidth + 0.5)\
        .map(e => e.outerHTML.slice(0, 80)),\
    tracks: view.document.querySelectorAll('svg').length,\
    hidden: [...view.document.querySelectorAll('svg, .who')]\
        .filter(e => e.getBoundingClientRect().height < 10).length,\
    marks: view.document.querySelectorAll('svg a').length,\
    lost: [...view.document.querySelectorAll('svg a')]\
        .filter(a => !view.document.querySelector(a.getAttribute('href'))).length,\
    pushed: [...view.document.querySelectorAll('.scroll')]\
        .filter(e => e.scrollWidth > e.clientWidth).length,\
    loaded: view.performance.getEntriesByType('resource').length\
}";

/// A day of three sessions and their agents, with long names and hostile ones.
fn a_day(machine: &Machine) -> PathBuf {
    let repo = machine.repo("application-with-a-long-name", &[("a.txt", "a\n")]);
    let id = |n: usize| format!("{n}7e0aa12-5c1d-4e0b-9a55-0d6c3f2a91c{n}");
    let sessions: Vec<Puppet<'_>> = (0..3).map(|n| machine.session(&id(n), &repo.root)).collect();
    for session in &sessions {
        session.start();
    }
    let deep = repo.at("packages/interface/components/navigation/breadcrumbs/Breadcrumbs.test.tsx");
    let agents: Vec<Puppet<'_>> = sessions
        .iter()
        .enumerate()
        .map(|(n, session)| session.spawn(&format!("a1b2c3d4e5f60718{n}")))
        .collect();
    agents[0].holds(&deep, "x");
    sessions[1].holds(&repo.at("a.txt"), "x");
    sessions[2].holds(&repo.at("<b>bold & \"quoted\" 'name'.txt"), "x");
    for rival in [&agents[1], &sessions[2], &agents[2]] {
        assert!(rival.ask("Write", &json!({ "file_path": deep, "content": "y" })).denied());
    }
    assert!(sessions[0].ask("Bash", &json!({ "command": "git add -A" })).denied());
    agents[0].end();
    repo.git(&["commit", "-qam", "done"]);
    sessions[1].end();
    let page = machine.home.join("short.html");
    let made = machine.run("octo", &["replay", "--html", page.to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{made:?}");
    page
}

/// Two days, a session with agents every few hours, as the page draws them.
fn two_days(machine: &Machine) -> PathBuf {
    let mut entries = Vec::new();
    let mut line = |at: u64, pid: &str, kind, note| {
        let (at, pid) = (1_796_000_000 + at, pid.to_owned());
        entries.push(Entry { seq: 1, at, tick: at, pid, kind, note, prev: String::new() });
    };
    let path = |file: String| Some(format!("/home/dev/projects/shop/packages/{file}"));
    for n in 0..8_u64 {
        let (session, begin) = (format!("{n}7e0aa12-5c1d-4e0b-9a55-0d6c3f2a91c{n}"), n * 20_000);
        line(begin, &session, What::Start, Note::default());
        for m in 0..n % 4 {
            let (pid, at) = (format!("a1b2c3d4e5f6071{n}{m}"), begin + 900 + m * 2_000);
            let kind = Some("code-reviewer".to_owned());
            let parent = Some(session.clone());
            line(at, &pid, What::Start, Note { parent, agent_type: kind, ..Note::default() });
            let target = path(format!("cart/src/components/checkout/step-{m}/Form.test.tsx"));
            let note = Note { target: target.clone(), ..Note::default() };
            line(at + 60, &pid, What::Claim, note.clone());
            let holder =
                Some(Party { pid: pid.clone(), kind: "code-reviewer".into(), age: 900, silent: 4 });
            let rule = Some("lane.held".to_owned());
            line(at + 960, &session, What::Deny, Note { rule, target, holder, ..Note::default() });
            line(at + 1_900, &pid, What::Release, note);
            line(at + 2_000, &pid, What::Exit, Note::default());
        }
        let note = Note { target: path(format!("api/{n}.rs")), ..Note::default() };
        line(begin + 8_000, &session, What::Claim, note);
        let note = Note { reason: Some("other".to_owned()), ..Note::default() };
        line(begin + 15_000, &session, What::Exit, note);
    }
    let page = machine.home.join("two-days.html");
    fs::write(&page, render(&entries, 900)).unwrap();
    page
}

#[test]
fn the_page_fits_a_phone_and_a_desk_without_a_complaint() {
    let machine = Machine::gates_only();
    for (page, tracks, marks) in [(a_day(&machine), 6, 4), (two_days(&machine), 20, 12)] {
        // Kept beside the build for a person to look at.
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(page.file_name().unwrap());
        fs::copy(&page, kept).unwrap();
        for width in [375, 1280] {
            let Some(shown) = show(&page, width, LOOK) else { return };
            assert!(shown.console.is_empty(), "at {width}: {:#?}", shown.console);
            let seen = &shown.answer;
            assert_eq!(seen["width"], width, "{seen}");
            assert_eq!(seen["wide"], width, "the page overflows: {seen}");
            assert_eq!(seen["wider"], json!([]), "at {width}");
            assert_eq!((&seen["tracks"], &seen["hidden"]), (&json!(tracks), &json!(0)), "{seen}");
            assert_eq!((&seen["marks"], &seen["lost"]), (&json!(marks), &json!(0)), "{seen}");
            assert_eq!(seen["loaded"], 0, "the page fetched something");
            // Nothing needs a sideways push, not even inside the table.
            assert_eq!(seen["pushed"], 0, "the table is cut at {width}: {seen}");
        }
    }
}

#[test]
fn a_complaint_and_an_overflow_would_be_seen() {
    let machine = Machine::new();
    let page = machine.home.join("bad.html");
    fs::write(&page, "<p style=\"width:900px\">wide<script>console.error('bad')</script>").unwrap();
    let Some(shown) = show(&page, 375, LOOK) else { return };
    assert!(shown.answer["wide"].as_u64() > Some(375), "{shown:?}");
    assert!(shown.console.iter().any(|line| line.contains("bad")), "{shown:?}");
}
