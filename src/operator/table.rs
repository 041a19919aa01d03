//! A table for a terminal: columns as wide as they must be, the widest give way first, nothing
//! wraps. Pure; the caller paints.

use super::screen::fit;

/// Which side a column leans to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lean {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Its side.
    pub lean: Lean,
    /// It never gets narrower than this.
    pub least: usize,
}

/// Lays rows out in at most `width` columns; the first line is the heading. Lines have no
/// trailing space.
#[must_use]
pub fn lay_out(columns: &[Column], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let cell = |row: &[String], at: usize| row.get(at).map_or(0, |text| text.chars().count());
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let widest = rows.iter().map(|row| cell(row, at)).max().unwrap_or(0);
            widest.max(column.title.chars().count())
        })
        .collect();
    let gaps = 2 * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let room = |(at, now): (usize, &usize)| {
            let least = columns.get(at).map_or(0, |column| column.least);
            (now.saturating_sub(least), at)
        };
        let Some((spare, at)) = widths.iter().enumerate().map(room).max() else { break };
        if spare == 0 {
            break;
        }
        if let Some(widest) = widths.get_mut(at) {
            *widest -= 1;
        }
    }
    let heading: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let line = |row: &Vec<String>| {
        let mut out = String::new();
        for ((text, column), width) in row.iter().zip(columns).zip(&widths) {
            if !out.is_empty() {
                out.push_str("  ");
            }
            let text = fit(text, *width);
            let pad = " ".repeat(width.saturating_sub(text.chars().count()));
            match column.lean {
                Lean::Left => out.extend([text, pad]),
                Lean::Right => out.extend([pad, text]),
            }
        }
        out.trim_end().to_owned()
    };
    std::iter::once(&heading).chain(rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column { title: "NAME", lean: Lean::Left, least: 4 },
        Column { title: "PATH", lean: Lean::Left, least: 8 },
        Column { title: "N", lean: Lean::Right, least: 1 },
    ];

    #[test]
    fn the_widest_column_gives_way_first_and_numbers_lean_right() {
        let rows = vec![vec!["a".to_owned(), "/home/dev/project/lib".to_owned(), "12".to_owned()]];
        let lines = lay_out(COLUMNS, &rows, 24);
        assert_eq!(lines[0], "NAME  PATH             N");
        assert!(lines.iter().all(|line| line.chars().count() <= 24), "{lines:?}");
        assert!(lines[1].contains('…') && lines[1].ends_with("12"));
    }

    #[test]
    fn too_narrow_a_terminal_keeps_the_least_widths() {
        let rows = vec![vec!["abcdef".to_owned(), "0123456789".to_owned(), "1".to_owned()]];
        let lines = lay_out(COLUMNS, &rows, 1);
        assert_eq!(lines[1].chars().count(), 4 + 2 + 8 + 2 + 1);
    }
}
