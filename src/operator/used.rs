//! PURE. What commands behind the fence used: of one journal line, and of a process in all. Reads
//! what the fence measured; a line without a measurement counts as nothing.

use serde::Serialize;

use crate::journal::Entry;
use crate::policy::verdict::Note;

/// What the commands of a process used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Used {
    /// How many were measured.
    pub commands: u64,
    /// CPU milliseconds of all.
    pub cpu_ms: u64,
    /// The most memory one had at once, in KiB.
    pub peak_kib: u64,
    /// Wall milliseconds of all.
    pub wall_ms: u64,
}

impl Used {
    /// What one line says.
    #[must_use]
    pub fn of(note: &Note) -> Option<Self> {
        Some(Self {
            commands: 1,
            cpu_ms: note.cpu_ms?,
            peak_kib: note.peak_kib.unwrap_or_default(),
            wall_ms: note.wall_ms.unwrap_or_default(),
        })
    }

    /// Of all lines of a journal; none when nothing was measured.
    #[must_use]
    pub fn of_all(entries: &[Entry]) -> Option<Self> {
        entries.iter().filter_map(|entry| Self::of(&entry.note)).reduce(|all, one| Self {
            commands: all.commands + one.commands,
            cpu_ms: all.cpu_ms + one.cpu_ms,
            peak_kib: all.peak_kib.max(one.peak_kib),
            wall_ms: all.wall_ms + one.wall_ms,
        })
    }

    /// As a person reads it.
    #[must_use]
    pub fn words(&self) -> String {
        let (cpu, wall) = (time(self.cpu_ms), time(self.wall_ms));
        format!("{cpu} CPU, {} at most, {wall}", memory(self.peak_kib))
    }
}

fn time(milliseconds: u64) -> String {
    match milliseconds {
        0..=999 => format!("{milliseconds} ms"),
        1_000..=119_999 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        120_000.. => super::screen::age(milliseconds / 1_000),
    }
}

fn memory(kib: u64) -> String {
    if kib < 10_240 { format!("{kib} KB") } else { format!("{} MB", kib / 1_024) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::verdict::What;

    fn entry(cpu: Option<u64>, peak: u64, wall: u64) -> Entry {
        let note =
            Note { cpu_ms: cpu, peak_kib: Some(peak), wall_ms: Some(wall), ..Note::default() };
        let (pid, prev) = ("a".to_owned(), String::new());
        Entry { seq: 1, at: 0, tick: 0, pid, kind: What::Tool, note, prev }
    }

    #[test]
    fn times_add_up_and_of_memory_the_most_counts() {
        let lines = [entry(Some(40), 9_000, 60), entry(None, 7, 7), entry(Some(2_300), 20_480, 9)];
        let used = Used::of_all(&lines).unwrap();
        assert_eq!(used, Used { commands: 2, cpu_ms: 2_340, peak_kib: 20_480, wall_ms: 69 });
        assert_eq!(used.words(), "2.3 s CPU, 20 MB at most, 69 ms");
        assert_eq!(Used::of_all(&lines[1..2]), None);
    }
}
