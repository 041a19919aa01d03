//! The replay as a page, opened in a real browser at the widths of a phone and of a desk: no
//! complaint on the console, nothing wider than the window, every denial within reach.

use std::fs;
use std::path::PathBuf;

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
    loaded: view.performance.getEntriesByType('resource').length,\
    paper: view.getComputedStyle(view.document.body).backgroundColor\
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
    let page = machine.home.join("day.html");
    let made = machine.run("octo", &["replay", "--html", page.to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // Kept beside the build for a person to look at.
    let seen = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("day.html");
    fs::copy(&page, seen).unwrap();
    page
}

#[test]
fn the_page_fits_a_phone_and_a_desk_without_a_complaint() {
    let machine = Machine::gates_only();
    let page = a_day(&machine);
    for width in [375, 1280] {
        let Some(shown) = show(&page, width, LOOK) else { return };
        assert!(shown.console.is_empty(), "at {width}: {:#?}", shown.console);
        let seen = &shown.answer;
        assert_eq!(seen["width"], width, "{seen}");
        assert_eq!(seen["wide"], width, "the page overflows: {seen}");
        assert_eq!(seen["wider"], json!([]), "at {width}");
        assert_eq!((&seen["tracks"], &seen["hidden"]), (&json!(6), &json!(0)), "{seen}");
        assert_eq!((&seen["marks"], &seen["lost"]), (&json!(4), &json!(0)), "{seen}");
        assert_eq!(seen["loaded"], 0, "the page fetched something");
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
