//! A journal that went on in new segments, read as one: every segment is checked by itself, and
//! the first line of each must name the end of the one before. Pure.

use super::{Entry, Flaw, Head, Read, read};

/// One segment of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its number; none for the one that is still written.
    pub number: Option<u64>,
    /// Its lines.
    pub text: String,
}

/// Where a segment ended, as far as it could be read.
struct End {
    number: Option<u64>,
    seq: u64,
    seal: String,
    bytes: u64,
}

/// Reads all segments of a journal, oldest first. `kept` is the oldest that was not let go on
/// purpose; what the table acknowledged speaks of the one that is still written.
#[must_use]
pub fn read_all(parts: &[Part], acknowledged: Option<&Head>, kept: u64) -> Read {
    let mut out = Read::default();
    let mut before: Option<End> = None;
    let spoken_of = acknowledged.and_then(|head| holds(parts, head));
    for (at, part) in parts.iter().enumerate() {
        let nothing = Head::default();
        let one = match (spoken_of, part.number) {
            (Some(known), _) if known == at => read(&part.text, acknowledged),
            // Begun by somebody who was killed before the table heard of it.
            (Some(known), None) if known + 1 == at => read(&part.text, Some(&nothing)),
            (_, None) => read(&part.text, acknowledged),
            (_, Some(_)) => read(&part.text, None),
        };
        let named = |what: String| match part.number {
            Some(number) => format!("{what} (segment {number})"),
            None => what,
        };
        if let Some(what) = misfit(one.entries.first(), part.number, before.as_ref(), kept) {
            out.flaws.push(Flaw { line: 1, what: named(what) });
        }
        out.flaws.extend(one.flaws.into_iter().map(|f| Flaw { what: named(f.what), ..f }));
        out.unsure += one.unsure;
        before = Some(End {
            number: part.number,
            seq: one.entries.last().map_or(0, |e| e.seq),
            seal: one.seal,
            bytes: part.text.len() as u64,
        });
        out.entries.extend(one.entries);
    }
    let live = parts.iter().any(|part| part.number.is_none());
    let begun = spoken_of.is_some_and(|known| known + 1 == parts.len());
    if let (false, Some(head)) = (live || begun || parts.is_empty(), acknowledged) {
        let what = format!("the segment being written is missing ({} lines)", head.seq);
        out.flaws.push(Flaw { line: 0, what });
    }
    out
}

/// The segment that holds the line the table acknowledged last.
fn holds(parts: &[Part], head: &Head) -> Option<usize> {
    let end = super::end_of_line(&head.seal);
    parts.iter().rposition(|part| part.text.contains(&end))
}

/// What is wrong between a segment's first line and the segment before it.
fn misfit(
    first: Option<&Entry>,
    number: Option<u64>,
    before: Option<&End>,
    kept: u64,
) -> Option<String> {
    let after = first.and_then(|entry| entry.note.after.as_ref());
    match (after, before) {
        (None, None) if number.is_none_or(|n| n <= 1) => None,
        (None, None) => Some("it does not say what it follows".to_owned()),
        (None, Some(before)) => {
            let number = before.number.unwrap_or(0);
            Some(format!("it begins anew, as if there were no segment {number}"))
        }
        (Some(after), None) if after.segment < kept => None,
        (Some(after), before) => match before {
            Some(end) if end.number == Some(after.segment) => {
                let fits = (end.seq, &end.seal, end.bytes) == (after.seq, &after.seal, after.bytes);
                let what = || format!("segment {} does not end as this one says", after.segment);
                (!fits).then(what)
            }
            Some(_) | None => {
                Some(format!("segment {} is missing ({} lines)", after.segment, after.seq))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, seal};
    use super::*;
    use crate::policy::verdict::{After, Note, What};

    /// A segment of `count` lines that follows `after`, and how the next one names it.
    fn segment(number: Option<u64>, after: Option<&After>, count: u64) -> (Part, After) {
        let (mut text, mut head) = (String::new(), Head::default());
        for n in 0..count {
            let target = Some(format!("/w/{number:?}/{n}"));
            let after = after.filter(|_| n == 0).cloned();
            let entry = Entry {
                seq: n + 1,
                at: 100,
                tick: 1,
                pid: "p".into(),
                kind: What::Claim,
                note: Note { target, after, ..Note::default() },
                prev: head.seal.clone(),
            };
            let (line, seal) = seal(&entry).unwrap();
            text.push_str(&line);
            head = Head { seq: entry.seq, seal, bytes: text.len() as u64 };
        }
        let end =
            After { segment: number.unwrap_or(0), seq: count, seal: head.seal, bytes: head.bytes };
        (Part { number, text }, end)
    }

    fn three() -> (Vec<Part>, Head) {
        let (one, end) = segment(Some(1), None, 3);
        let (two, end) = segment(Some(2), Some(&end), 4);
        let (live, end) = segment(None, Some(&end), 2);
        (vec![one, two, live], Head { seq: end.seq, seal: end.seal, bytes: end.bytes })
    }

    #[test]
    fn whole_segments_read_as_one_journal() {
        let (parts, head) = three();
        let read = read_all(&parts, Some(&head), 1);
        assert_eq!((read.entries.len(), read.flaws), (9, vec![]));
    }

    #[test]
    fn a_removed_segment_is_a_flaw_unless_it_was_let_go() {
        let (parts, head) = three();
        for gone in 0..3 {
            let mut left = parts.clone();
            left.remove(gone);
            assert!(!read_all(&left, Some(&head), 1).flaws.is_empty(), "part {gone}");
        }
        assert!(read_all(&parts[1..], Some(&head), 2).flaws.is_empty());
        assert!(read_all(&parts[2..], Some(&head), 3).flaws.is_empty());
        // What was let go is only the oldest.
        assert!(!read_all(&[parts[0].clone(), parts[2].clone()], Some(&head), 2).flaws.is_empty());
        assert!(!read_all(&parts[2..], Some(&head), 2).flaws.is_empty());
    }

    #[test]
    fn an_edited_cut_or_lengthened_segment_is_a_flaw() {
        let (parts, head) = three();
        for at in 0..2 {
            let lines: Vec<&str> = parts[at].text.split_inclusive('\n').collect();
            let cut = lines[..lines.len() - 1].concat();
            let edited = parts[at].text.replace("/w/", "/x/");
            let longer = parts[at].text.clone() + "{}\n";
            let headless = lines[1..].concat();
            for text in [cut, edited, longer, headless, String::new()] {
                let mut bad = parts.clone();
                bad[at].text = text;
                assert!(!read_all(&bad, Some(&head), 1).flaws.is_empty(), "segment {at}");
            }
        }
    }

    #[test]
    fn a_kill_between_two_segments_is_no_flaw() {
        let (one, end) = segment(Some(1), None, 3);
        let head = Head { seq: end.seq, seal: end.seal.clone(), bytes: end.bytes };
        let (live, _) = segment(None, Some(&end), 2);
        let read = read_all(&[one.clone(), live], Some(&head), 1);
        assert!(read.flaws.is_empty() && read.unsure == 2, "{:?}", read.flaws);
        assert!(read_all(&[one], Some(&head), 1).flaws.is_empty());
    }

    #[test]
    fn a_segment_put_in_from_elsewhere_is_a_flaw() {
        let (parts, head) = three();
        let (foreign, _) = segment(Some(3), None, 2);
        let mixed = vec![parts[0].clone(), parts[1].clone(), foreign, parts[2].clone()];
        assert!(!read_all(&mixed, Some(&head), 1).flaws.is_empty());
    }
}
