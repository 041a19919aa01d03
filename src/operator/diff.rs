//! The difference of two texts by lines, for a dry run. Settings files are small.

/// One line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// In both.
    Same(&'a str),
    /// Only in the second.
    Added(&'a str),
    /// Only in the first.
    Gone(&'a str),
}

/// The shortest difference between two texts.
#[must_use]
pub fn diff<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let width = new.len() + 1;
    let mut common = vec![0_usize; (old.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    let read = |table: &[usize], i, j| table.get(at(i, j)).copied().unwrap_or(0);
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let best = if a == b {
                read(&common, i + 1, j + 1) + 1
            } else {
                read(&common, i + 1, j).max(read(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(at(i, j)) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => {
                out.push(Line::Same(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), Some(_)) if read(&common, i + 1, j) > read(&common, i, j + 1) => {
                out.push(Line::Gone(a));
                i += 1;
            }
            (_, Some(b)) => {
                out.push(Line::Added(b));
                j += 1;
            }
            (Some(a), None) => {
                out.push(Line::Gone(a));
                i += 1;
            }
            (None, None) => return out,
        }
    }
}

/// The difference as text, with two lines around each change.
#[must_use]
pub fn render(old: &str, new: &str) -> String {
    const AROUND: usize = 2;
    let lines = diff(old, new);
    let near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        lines.iter().skip(from).take(at - from + AROUND + 1).any(|l| !matches!(l, Line::Same(_)))
    };
    let mut out = String::new();
    let mut skipped = false;
    for (at, line) in lines.iter().enumerate() {
        let (sign, text) = match line {
            Line::Same(_) if !near(at) => {
                skipped = true;
                continue;
            }
            Line::Same(text) => (' ', text),
            Line::Added(text) => ('+', text),
            Line::Gone(text) => ('-', text),
        };
        if std::mem::take(&mut skipped) {
            out.push_str("  …\n");
        }
        out.push(sign);
        out.push(' ');
        out.push_str(text);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_and_its_surroundings_are_shown() {
        let old = "a\nb\nc\nd\ne\nf\n";
        assert_eq!(
            render(old, "a\nb\nc\nd\nX\nf\n"),
            "  …\n  c\n  d\n- e\n+ X\n  f\n".replace("- e\n+ X", "+ X\n- e")
        );
        assert_eq!(render(old, old), "");
        assert_eq!(render("", "a\n"), "+ a\n");
    }
}
