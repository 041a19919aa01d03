//! What a command prints on: width, colour and quiet decided once, text made harmless, a closed
//! pipe taken calmly. Results go to stdout, narration to stderr; nothing else prints.

use std::io::{self, IsTerminal, Write};

use serde_json::{Map, Value};

use super::error::{Done, OperatorError, Trouble};

/// Version of every `--json` answer; grows only when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// With ANSI colours.
    On,
    /// Plain.
    Off,
}

/// How something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// A heading.
    Strong,
    /// Well.
    Good,
    /// To be looked at.
    Warn,
    /// Wrong.
    Bad,
}

/// Whether narration is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Say what is done.
    Normal,
    /// Results and errors only.
    Quiet,
}

/// The output of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    pub width: usize,
    /// Colour.
    pub color: Color,
    /// Narration.
    pub voice: Voice,
}

impl Screen {
    /// The screen as this process has it.
    #[must_use]
    pub fn detect(voice: Voice) -> Self {
        let terminal = io::stdout().is_terminal();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let color = if set("NO_COLOR") || dumb || !(terminal || set("CLICOLOR_FORCE")) {
            Color::Off
        } else {
            Color::On
        };
        Self { width: columns().unwrap_or(100), color, voice }
    }

    /// Text in a tone.
    #[must_use]
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Dim => "2",
            Tone::Strong => "1",
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "31",
        };
        match self.color {
            Color::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Color::Off => text.to_owned(),
        }
    }

    /// Prints a result.
    pub fn print(&self, text: &str) -> Done {
        write_all(&mut io::stdout().lock(), text)
    }

    /// Prints a result for programs: one JSON object that says its kind and schema.
    pub fn json(&self, kind: &str, value: Value) -> Done {
        let mut all = Map::new();
        all.insert("schema".to_owned(), SCHEMA.into());
        all.insert("kind".to_owned(), kind.into());
        match value {
            Value::Object(map) => all.extend(map),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)) => {
                all.insert("items".to_owned(), other);
            }
        }
        let text = serde_json::to_string_pretty(&Value::Object(all)).unwrap_or_default();
        self.print(&format!("{text}\n"))
    }

    /// Says what is being done, unless quiet.
    pub fn say(&self, text: &str) {
        if self.voice == Voice::Normal {
            drop(write_all(&mut io::stderr().lock(), &format!("{text}\n")));
        }
    }

    /// Says what went wrong, always.
    pub fn fail(&self, why: &OperatorError) {
        drop(write_all(&mut io::stderr().lock(), &format!("{why}\n")));
    }
}

fn write_all(out: &mut impl Write, text: &str) -> Done {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader (`head`, a closed pager) has seen enough.
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(why) => Err(OperatorError::new(Trouble::File, format!("can't write: {why}"))),
        Ok(()) => Ok(()),
    }
}

fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    let size = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|s| usize::from(s.ws_col));
    said.or_else(size).filter(|width| *width > 0).map(|width| width.clamp(40, 400))
}

/// Text from outside (paths, commands, agent names) with control characters made visible, so that
/// a file name can't move the cursor or forge a line.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let bidi = matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if c.is_control() || bidi { c.escape_unicode().collect() } else { vec![c] }
        })
        .collect()
}

/// Seconds as a person says them: `41 s`, `12 min`, `3 h`, `2 d`.
#[must_use]
pub fn age(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} d", seconds / 86_400),
    }
}

/// The middle of a text that is too long gives way: both ends of a path tell something.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(1);
    let (head, tail) = (keep / 3, keep - keep / 3);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_text_cannot_move_the_cursor() {
        assert_eq!(harmless("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(harmless("é\u{202e}x"), "é\\u{202e}x");
    }

    #[test]
    fn a_long_path_keeps_both_ends() {
        assert_eq!(fit("/home/dev/project/src/lib.rs", 12), "/ho…c/lib.rs");
        assert_eq!(fit("short", 12), "short");
        assert_eq!(fit("anything", 12).chars().count(), 8);
    }

    #[test]
    fn ages_read_as_said() {
        for (seconds, said) in [(41, "41 s"), (720, "12 min"), (10_800, "3 h"), (200_000, "2 d")] {
            assert_eq!(age(seconds), said);
        }
    }
}
