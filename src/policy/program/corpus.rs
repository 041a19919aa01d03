//! Owns the check of whole command lines, reader and programs together: what takes the held file
//! is seen, and ordinary work beside it is not mistaken for that.

use proptest::prelude::{any, prop, proptest};

use super::scene::{ROOT, Scene, invocation, reaches};
use super::{effects as effects_of, line_effects, verbs};
use crate::policy::facts::Effect;
use crate::policy::shell::{self, Arg, Piece};

const HELD: &str = "lib/core.rs";
const HARMFUL: &str = include_str!("../../../fixtures/programs_harmful.txt");
const HARMLESS: &str = include_str!("../../../fixtures/programs_harmless.txt");

/// Lines of a list. A line that opens a here-document gets a body that must stay text.
fn lines(list: &'static str) -> impl Iterator<Item = String> {
    let plain = list.lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    plain.map(|line| match line.split_once("<<").map(|(_, mark)| mark.trim_start()) {
        Some(mark) if mark.starts_with("'E") => {
            let end = mark.split('\'').nth(1).unwrap_or_default();
            let close = if line.contains("$(cat") { "\n)\"" } else { "" };
            format!("{line}\nrun rm -rf lib\n{end}{close}")
        }
        Some(_) | None => line.to_owned(),
    })
}

fn effects(line: &str) -> Vec<Effect> {
    let scene = Scene::gate();
    let reading = shell::read(line, ROOT, &scene);
    let mut out: Vec<Effect> =
        line_effects(&reading.invocations, &scene).into_iter().flatten().collect();
    out.extend(reading.unread.into_iter().map(|unread| Effect::Opaque {
        dir: None,
        why: unread.why,
        words: unread.words,
    }));
    out
}

#[test]
fn what_takes_the_held_file_is_seen() {
    let missed: Vec<String> =
        lines(HARMFUL).filter(|line| !reaches(&effects(line), HELD)).collect();
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
}

#[test]
fn ordinary_work_beside_it_is_left_alone() {
    let refused: Vec<String> = lines(HARMLESS)
        .filter(|line| reaches(&effects(line), HELD))
        .map(|line| format!("{line}  => {:?}", effects(&line)))
        .collect();
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

proptest! {
    #[test]
    fn any_arguments_of_any_program_are_read_to_the_end(
        row in any::<prop::sample::Index>(),
        words in prop::collection::vec(any::<prop::sample::Index>(), 0..7),
        odd in ".{0,12}",
    ) {
        let rows: Vec<_> = verbs().collect();
        let verb = row.get(&rows);
        let pool: Vec<&str> = rows
            .iter()
            .flat_map(|row| row.yes.iter().chain(row.no))
            .flat_map(|line| line.split(' '))
            .chain([odd.as_str(), "", "-", "--", "=", ":(", ":!", "{}", "\\"])
            .collect();
        let mut call = invocation(verb.program[0]);
        call.argv.extend(verb.sub.first().map(|sub| Arg::text(*sub)));
        for word in words {
            let word = *word.get(&pool);
            let unknown = word.contains('$').then_some(Piece::Any);
            let text = Piece::Text(word.trim_end_matches("$X").to_owned());
            let pieces = std::iter::once(text).chain(unknown).collect();
            call.argv.push(Arg { pieces, glob: word.contains('*').then(|| word.to_owned()) });
        }
        let scene = Scene::gate();
        let first = effects_of(&call, &scene);
        assert_eq!(first, effects_of(&call, &scene));
    }
}
