//! The settings as the program uses them: one typed field per row. Built from resolved values
//! only, so a field can't hold what its row does not allow. Pure.

use super::layer::Value;
use super::tighten::Resolved;

/// When a session gets its own tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Never.
    Off,
    /// Beside other live sessions.
    Auto,
    /// From its first write.
    Always,
}

/// What becomes of a branch when its session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Land {
    /// Merged.
    Auto,
    /// Pushed, a request opened.
    Pr,
    /// Offered.
    Ask,
    /// Left alone.
    Never,
}

impl Land {
    const ALL: [Self; 4] = [Self::Auto, Self::Pr, Self::Ask, Self::Never];

    /// Its name in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pr => "pr",
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|land| land.word() == word)
    }
}

/// Where subagents work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subagents {
    /// In their session's tree.
    Shared,
    /// Each in its own.
    Worktree,
}

/// Whether shell commands run behind the kernel's fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// No.
    Off,
    /// Where the machine can.
    On,
    /// Refused where it cannot.
    Require,
}

/// Where worktrees are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreePlace {
    /// `~/.octorato`.
    Home,
    /// `<repo>-worktrees` beside the checkout.
    Sibling,
    /// A folder; a leading `~` is the edge's to resolve.
    Folder(String),
}

/// What a worktree starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// HEAD of the checkout it is made from.
    Head,
    /// The published default branch.
    Fresh,
    /// A ref.
    Ref(String),
}

/// Settings of worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Where they are made.
    pub location: WorktreePlace,
    /// What they start from.
    pub base: Base,
    /// Commands run in a new one.
    pub setup: Vec<String>,
    /// Patterns of ignored files to copy.
    pub copy: Vec<String>,
    /// Ports for each.
    pub ports: u16,
    /// Megabytes that stay free.
    pub min_free_mb: u64,
}

/// How long records stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Days.
    pub days: u64,
    /// Megabytes of journals.
    pub megabytes: u64,
    /// Kilobytes of a journal's segment.
    pub journal_kilobytes: u64,
}

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// When a session gets its own tree.
    pub isolation: Isolation,
    /// The same for sessions that approve every call.
    pub isolation_bypass: Isolation,
    /// Where subagents work.
    pub subagents: Subagents,
    /// What becomes of a session's branch.
    pub land: Land,
    /// Stop the prompt when isolation fails.
    pub require: bool,
    /// Folder for a plain copy when isolation fails.
    pub fallback: Option<String>,
    /// Fence for shell commands.
    pub fence: Fence,
    /// More folders a fenced command may write in; a leading `~` is the edge's to resolve.
    pub fence_write: Vec<String>,
    /// Seconds of silence that end a process's lanes.
    pub lease_seconds: u64,
    /// Seconds without a write that end one lane.
    pub lane_idle_seconds: Option<u64>,
    /// Commands that stage everything, as words.
    pub broad_stagers: Vec<Vec<String>>,
    /// Command that settles conflicts.
    pub resolver: Option<String>,
    /// Command that gets notices.
    pub notify: Option<String>,
    /// Worktrees.
    pub worktree: Worktree,
    /// Records.
    pub retention: Retention,
}

impl Default for Settings {
    /// No file anywhere: constants, no TOML. `defaults_are_the_tables` holds it to the table.
    fn default() -> Self {
        Self {
            isolation: Isolation::Auto,
            isolation_bypass: Isolation::Auto,
            subagents: Subagents::Shared,
            land: Land::Ask,
            require: false,
            fallback: None,
            fence: Fence::On,
            fence_write: Vec::new(),
            lease_seconds: crate::policy::lane::LEASE,
            lane_idle_seconds: None,
            broad_stagers: Vec::new(),
            resolver: None,
            notify: None,
            worktree: Worktree {
                location: WorktreePlace::Home,
                base: Base::Head,
                setup: Vec::new(),
                copy: vec!["/.env*".to_owned()],
                ports: 0,
                min_free_mb: 512,
            },
            retention: Retention { days: 30, megabytes: 512, journal_kilobytes: 4096 },
        }
    }
}

impl Settings {
    /// Settings from resolved values; what no file sets keeps its default.
    #[must_use]
    pub fn from_resolved(resolved: &Resolved) -> Self {
        let mut settings = Self::default();
        for (key, (_, placed)) in resolved {
            settings.set(key, &placed.value);
        }
        settings
    }

    fn set(&mut self, key: &str, value: &Value) {
        match (key, value) {
            ("isolation", Value::Choice(word)) => self.isolation = isolation(word),
            ("isolation_bypass", Value::Choice(word)) => self.isolation_bypass = isolation(word),
            ("subagents", Value::Choice(word)) => {
                self.subagents =
                    if *word == "worktree" { Subagents::Worktree } else { Subagents::Shared };
            }
            ("land", Value::Choice(word)) => {
                self.land = Land::named(word).unwrap_or(Land::Ask);
            }
            ("require", Value::Flag(flag)) => self.require = *flag,
            ("fallback", Value::Text(text)) => self.fallback = some(text),
            ("fence", Value::Choice(word)) => {
                self.fence = match *word {
                    "off" => Fence::Off,
                    "require" => Fence::Require,
                    _ => Fence::On,
                };
            }
            ("fence_write", Value::List(list)) => self.fence_write.clone_from(list),
            ("lease_seconds", Value::Number(number)) => self.lease_seconds = *number,
            ("lane_idle_seconds", Value::Number(number)) => {
                self.lane_idle_seconds = (*number > 0).then_some(*number);
            }
            ("broad_stagers", Value::List(list)) => {
                let words = |line: &String| line.split_whitespace().map(str::to_owned).collect();
                self.broad_stagers = list.iter().map(words).collect();
            }
            ("resolver", Value::Text(text)) => self.resolver = some(text),
            ("notify", Value::Text(text)) => self.notify = some(text),
            (other, value) => self.set_nested(other, value),
        }
    }

    fn set_nested(&mut self, key: &str, value: &Value) {
        match (key, value) {
            ("worktree.location", Value::Text(text)) => {
                self.worktree.location = match text.as_str() {
                    "" => WorktreePlace::Home,
                    "sibling" => WorktreePlace::Sibling,
                    folder => WorktreePlace::Folder(folder.to_owned()),
                };
            }
            ("worktree.base", Value::Text(text)) => {
                self.worktree.base = match text.as_str() {
                    "" | "head" => Base::Head,
                    "fresh" => Base::Fresh,
                    name => Base::Ref(name.to_owned()),
                };
            }
            ("worktree.setup", Value::List(list)) => self.worktree.setup.clone_from(list),
            ("worktree.copy", Value::List(list)) => self.worktree.copy.clone_from(list),
            ("worktree.ports", Value::Number(number)) => {
                self.worktree.ports = u16::try_from(*number).unwrap_or(u16::MAX);
            }
            ("worktree.min_free_mb", Value::Number(number)) => self.worktree.min_free_mb = *number,
            ("retention.days", Value::Number(number)) => self.retention.days = *number,
            ("retention.megabytes", Value::Number(number)) => self.retention.megabytes = *number,
            ("retention.journal_kilobytes", Value::Number(number)) => {
                self.retention.journal_kilobytes = *number;
            }
            (_, _) => {}
        }
    }
}

fn isolation(word: &str) -> Isolation {
    match word {
        "off" => Isolation::Off,
        "always" => Isolation::Always,
        _ => Isolation::Auto,
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layer::{Layer, Placed, value_of_default as default_of};
    use crate::config::rows::ROWS;
    use crate::config::tighten::{Origin, resolve};

    fn from(values: Vec<(&'static str, Value)>) -> Settings {
        let placed = |value| Placed { value, line: 1, column: 1 };
        let layer: Layer = values.into_iter().map(|(key, value)| (key, placed(value))).collect();
        Settings::from_resolved(&resolve(&[(Origin::User, layer)]))
    }

    #[test]
    fn defaults_are_the_tables() {
        let rows = ROWS.iter().map(|row| (row.key, default_of(row).unwrap())).collect();
        assert_eq!(from(rows), Settings::default());
    }

    #[test]
    fn every_row_reaches_a_field() {
        for row in ROWS {
            let other = match default_of(row).unwrap() {
                Value::Choice(word) => {
                    let crate::config::Kind::Choice(words) = row.kind else { unreachable!() };
                    Value::Choice(words.iter().find(|other| **other != word).unwrap())
                }
                Value::Flag(flag) => Value::Flag(!flag),
                Value::Number(number) => Value::Number(number + 60),
                Value::Text(text) => Value::Text(text + "x"),
                Value::List(_) => Value::List(vec!["other words".to_owned()]),
            };
            assert_ne!(from(vec![(row.key, other)]), Settings::default(), "{} is dead", row.key);
        }
    }
}
