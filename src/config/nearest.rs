//! The nearest right word to a wrong one: a typing slip, or a key that stands in the wrong table.

/// The candidate that a person most likely meant, if any is near enough.
#[must_use]
pub(super) fn nearest<'a>(word: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(2);
    among
        .map(|candidate| (rank(word, candidate), candidate))
        .min()
        .filter(|(rank, _)| *rank <= limit)
        .map(|(_, candidate)| candidate)
}

/// The distance to the whole key or, nearly as good, to its part after the dot.
fn rank(word: &str, candidate: &str) -> usize {
    let tail = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let whole = distance(word, candidate);
    let part = distance(&tail(word), &tail(candidate)) + 1;
    whole.min(part)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.to_lowercase().replace('-', "_").chars().collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let mut older: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut here = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&above, j) + usize::from(x != y);
            let mut best = replaced.min(at(&above, j + 1) + 1).min(at(&here, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&older, j - 1) + 1);
            }
            here.push(best);
        }
        older = std::mem::replace(&mut above, here);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_wrong_tables_are_understood_and_nonsense_is_not() {
        let keys = ["isolation", "lease_seconds", "worktree.location", "land"];
        let near = |word| nearest(word, keys.into_iter());
        assert_eq!(near("isolaiton"), Some("isolation"));
        assert_eq!(near("lease-seconds"), Some("lease_seconds"));
        assert_eq!(near("location"), Some("worktree.location"));
        assert_eq!(near("worktree.locaton"), Some("worktree.location"));
        assert_eq!(near("colour"), None);
    }
}
