//! `octo replay`: what happened, from the journals; and whether they are whole. Reads files and
//! folds lines; never writes to the kernel.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::screen::{Screen, Tone, harmless};
use super::used::Used;
use crate::journal::{self, Entry, Flaw, Head};
use crate::kernel::StateError;
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::log;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};
use crate::policy::lane::Pid;
use crate::policy::verdict::What;

/// Shows what happened, in order of time.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo replay --denies --since 1h     who was refused what\n  octo replay 3f2a91c0                one process\n  octo replay --verify                are the journals whole\n  octo replay --html day.html         a page to look at"
)]
pub struct ReplayArgs {
    /// Only this process (its id or the beginning of it).
    #[arg(add = ArgValueCandidates::new(super::completion::pids))]
    pub pid: Option<String>,
    /// The process's whole session, agents included.
    #[arg(long, value_name = "SESSION", conflicts_with = "pid")]
    pub session: Option<String>,
    /// Refusals only.
    #[arg(long)]
    pub denies: bool,
    /// Only the last 90s, 10m, 2h, 1d.
    #[arg(long, value_name = "TIME", value_parser = super::pause::duration)]
    pub since: Option<u64>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
    /// Check every journal's chain instead of showing it; 1 when one is edited, missing or cut.
    #[arg(long)]
    pub verify: bool,
    /// Write a page that shows the same as a timeline.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A journal and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Its process.
    pub pid: String,
    /// The lines that hold.
    pub entries: Vec<Entry>,
    /// What does not.
    pub flaws: Vec<Flaw>,
    /// Lines at the end of hooks that were killed before the table heard of them.
    pub unsure: usize,
}

/// Runs `octo replay`.
pub fn run(args: &ReplayArgs, context: &Context) -> Done {
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let journals = read(&home)?;
    if args.verify {
        return verify(&journals, args, context);
    }
    let from = args.since.map_or(0, |since| clock::unix_seconds().saturating_sub(since));
    let entries = select(&journals, args, from)?;
    if let Some(file) = &args.html {
        let page = super::page::render(&entries, context.settings.lease_seconds);
        std::fs::write(file, page).map_err(|why| OperatorError::file(file, &why))?;
        context.screen.say(&format!("wrote {}", file.display()));
        return Ok(());
    }
    if args.json {
        let items = serde_json::to_value(&entries).unwrap_or_default();
        return context.screen.json("replay", json!({ "entries": items }));
    }
    if entries.is_empty() {
        return context.screen.print("nothing happened\n");
    }
    let mut out = String::new();
    for entry in &entries {
        out.push_str(&line(entry, &context.screen));
        out.push('\n');
    }
    context.screen.print(&out)
}

/// All journals with what the table acknowledged of them.
pub fn read(home: &Home) -> Result<Vec<Journal>, OperatorError> {
    let known = acknowledged(home);
    let mut journals = Vec::new();
    let mut seen = Vec::new();
    for (name, parts) in log::all(home)? {
        let mut lines = parts.iter().flat_map(|part| part.text.lines());
        let pid = lines.find_map(|line| journal::open(line).map(|(entry, _)| entry.pid));
        let pid = pid.unwrap_or_else(|| name.clone());
        let row = known.iter().find(|row| row.pid.as_str() == pid);
        let read = journal::read_all(&parts, row.map(|r| &r.head), row.map_or(1, |r| r.kept));
        seen.push(pid.clone());
        let (entries, flaws, unsure) = (read.entries, read.flaws, read.unsure);
        journals.push(Journal { pid, entries, flaws, unsure });
    }
    for row in known.iter().filter(|row| !seen.iter().any(|s| s == row.pid.as_str())) {
        let what = format!("the whole journal is missing ({} lines)", row.head.seq);
        let flaws = vec![Flaw { line: 0, what }];
        journals.push(Journal { pid: row.pid.to_string(), flaws, ..Journal::default() });
    }
    Ok(journals)
}

/// What the table knows of a journal.
struct Known {
    pid: Pid,
    head: Head,
    kept: u64,
}

/// Without a table the chains alone are checked: a cut end can't be seen then.
fn acknowledged(home: &Home) -> Vec<Known> {
    let read = |kernel: &mut Kernel| {
        kernel.look(|tx| {
            let mut rows = Vec::new();
            for pid in tx.journaled()? {
                if let Some(head) = tx.head(&pid)? {
                    rows.push(Known { kept: tx.kept(&pid)?, pid, head });
                }
            }
            Ok(rows)
        })
    };
    let opened = Kernel::open(home, Make::Never, OPERATOR_PATIENCE);
    opened.and_then(|mut kernel| read(&mut kernel)).unwrap_or_else(|why: StateError| {
        drop(why);
        Vec::new()
    })
}

fn select(journals: &[Journal], args: &ReplayArgs, from: u64) -> Result<Vec<Entry>, OperatorError> {
    let word = args.pid.as_deref().or(args.session.as_deref());
    let chosen: Vec<&Journal> = match word {
        None => journals.iter().collect(),
        Some(word) => {
            let exact = journals.iter().filter(|journal| journal.pid == word).collect::<Vec<_>>();
            let begins = || journals.iter().filter(|journal| journal.pid.starts_with(word));
            let found = if exact.is_empty() { begins().collect() } else { exact };
            if found.is_empty() {
                let message = format!("no journal of {}", harmless(word));
                return Err(OperatorError::new(Trouble::Missing, message)
                    .hint("octo ps --all lists the processes"));
            }
            found
        }
    };
    let sessions: Vec<&str> = chosen.iter().map(|journal| journal.pid.as_str()).collect();
    let of_session = |journal: &&Journal| {
        let start = journal.entries.iter().find_map(|entry| entry.note.session.as_deref());
        sessions.contains(&journal.pid.as_str())
            || start.is_some_and(|session| sessions.contains(&session))
    };
    let chosen: Vec<&Journal> =
        if args.session.is_some() { journals.iter().filter(of_session).collect() } else { chosen };
    let entries: Vec<Entry> = chosen
        .into_iter()
        .flat_map(|journal| journal.entries.iter())
        .filter(|entry| entry.at >= from)
        .filter(|entry| !args.denies || entry.kind == What::Deny)
        .cloned()
        .collect();
    Ok(in_order(entries))
}

/// Entries in order of time. Clocks count seconds: within one, each journal keeps the order it is
/// given in, and a refusal comes after what other journals did, which it is the answer to.
#[must_use]
pub fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| (a.at, a.tick, &a.pid).cmp(&(b.at, b.tick, &b.pid)));
    let mut ordered = Vec::with_capacity(entries.len());
    for moment in entries.chunk_by(|a, b| (a.at, a.tick) == (b.at, b.tick)) {
        let mut journals: Vec<std::slice::Iter<'_, Entry>> =
            moment.chunk_by(|a, b| a.pid == b.pid).map(<[Entry]>::iter).collect();
        let rank = |journal: &std::slice::Iter<'_, Entry>| match journal.as_slice().first() {
            None => 2,
            Some(entry) if entry.kind == What::Deny => 1,
            Some(_) => 0,
        };
        while let Some(next) = journals.iter_mut().min_by_key(|journal| rank(journal)) {
            let Some(entry) = next.next() else { break };
            ordered.push(entry.clone());
        }
    }
    ordered
}

fn verify(journals: &[Journal], args: &ReplayArgs, context: &Context) -> Done {
    let flawed: Vec<&Journal> =
        journals.iter().filter(|journal| !journal.flaws.is_empty()).collect();
    let lines: usize = journals.iter().map(|journal| journal.entries.len()).sum();
    let unsure: usize = journals.iter().map(|journal| journal.unsure).sum();
    if args.json {
        let flaws: Vec<_> = flawed
            .iter()
            .map(|journal| json!({"pid": journal.pid, "flaws": journal.flaws}))
            .collect();
        let value = json!({
            "journals": journals.len(), "lines": lines, "unacknowledged": unsure, "flawed": flaws,
        });
        context.screen.json("verify", value)?;
    } else {
        for journal in &flawed {
            for flaw in &journal.flaws {
                let pid = harmless(&journal.pid);
                let text = format!("{pid}: line {}: {}\n", flaw.line, harmless(&flaw.what));
                context.screen.print(&context.screen.paint(Tone::Bad, &text))?;
            }
        }
        let (all, bad) = (journals.len(), flawed.len());
        let killed = match unsure {
            0 => String::new(),
            lines => format!(", {lines} of hooks that were killed"),
        };
        let text = format!("{all} journals, {lines} lines{killed}, {bad} flawed\n");
        context.screen.print(&text)?;
    }
    if flawed.is_empty() {
        return Ok(());
    }
    Err(OperatorError::new(Trouble::State, "the record was changed outside octo")
        .hint("a copy of the folder is evidence; the table is not affected"))
}

/// One line of the replay.
#[must_use]
pub fn line(entry: &Entry, screen: &Screen) -> String {
    let pid: String = entry.pid.chars().take(8).collect();
    let what = word(entry.kind);
    let mut parts = Vec::new();
    let note = &entry.note;
    if let Some(rule) = &note.rule {
        parts.push(format!("[{}]", harmless(rule)));
    }
    if let Some(target) = &note.target {
        parts.push(harmless(target));
    }
    if let Some(holder) = &note.holder {
        let pid: String = holder.pid.chars().take(8).collect();
        parts.push(format!("held by {} {}", harmless(&holder.kind), harmless(&pid)));
    }
    if let Some(kind) = &note.agent_type {
        parts.push(format!("({})", harmless(kind)));
    }
    if let Some(tool) = &note.tool {
        parts.push(format!("by {}", harmless(tool)));
    }
    if let Some(reason) = &note.reason {
        parts.push(format!("({})", harmless(reason)));
    }
    if let Some(used) = Used::of(note) {
        parts.push(format!("({})", used.words()));
    }
    if let Some(restore) = &note.restore {
        parts.push(format!("back with: {}", harmless(restore)));
    }
    let tone = match entry.kind {
        What::Deny => Tone::Bad,
        What::Override | What::Drift | What::Expire => Tone::Warn,
        What::Start | What::Exit | What::Fork => Tone::Strong,
        What::Tool
        | What::Claim
        | What::Confirm
        | What::Release
        | What::Clean
        | What::Keep
        | What::Notice => Tone::Plain,
    };
    let head = format!("{} {:8}", moment(entry.at), harmless(&pid));
    format!("{} {:8} {}", head, screen.paint(tone, what), parts.join(" ")).trim_end().to_owned()
}

/// The word of a line's kind.
#[must_use]
pub fn word(kind: What) -> &'static str {
    match kind {
        What::Start => "start",
        What::Tool => "tool",
        What::Claim => "claim",
        What::Confirm => "confirm",
        What::Release => "release",
        What::Expire => "expire",
        What::Clean => "clean",
        What::Deny => "deny",
        What::Override => "override",
        What::Drift => "drift",
        What::Keep => "keep",
        What::Fork => "fork",
        What::Notice => "notice",
        What::Exit => "exit",
    }
}

/// A time as `2026-05-04 13:02:11Z`: the same on every machine that reads the record.
#[must_use]
pub fn moment(unix: u64) -> String {
    let (days, rest) = (unix / 86_400, unix % 86_400);
    // Civil date from days, by the usual era arithmetic with years beginning in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest % 3_600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::super::screen::{Color, Voice};
    use super::*;
    use crate::policy::verdict::{Note, Party};

    #[test]
    fn moments_are_civil_dates() {
        assert_eq!(moment(0), "1970-01-01 00:00:00Z");
        assert_eq!(moment(951_782_400), "2000-02-29 00:00:00Z");
        assert_eq!(moment(4_107_542_399), "2100-02-28 23:59:59Z");
        assert_eq!(moment(4_107_542_400), "2100-03-01 00:00:00Z");
    }

    #[test]
    fn within_a_second_a_refusal_comes_after_the_claim_it_answers() {
        let entry = |pid: &str, seq, kind| Entry {
            seq,
            at: 5,
            tick: 5,
            pid: pid.to_owned(),
            kind,
            note: Note::default(),
            prev: String::new(),
        };
        let ordered = in_order(vec![
            entry("a", 1, What::Start),
            entry("a", 2, What::Deny),
            entry("a", 3, What::Claim),
            entry("b", 1, What::Start),
            entry("b", 2, What::Claim),
        ]);
        let told: Vec<_> = ordered.iter().map(|entry| (entry.pid.as_str(), entry.seq)).collect();
        assert_eq!(told, [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3)]);
    }

    #[test]
    fn a_denial_reads_as_a_sentence_and_forges_nothing() {
        let note = Note {
            rule: Some("lane.held".to_owned()),
            target: Some("/w/app/a\nb.rs".to_owned()),
            holder: Some(Party {
                pid: "a1b2c3d4e5f6".to_owned(),
                kind: "builder".to_owned(),
                age: 9,
                silent: 3,
            }),
            ..Note::default()
        };
        let entry = Entry {
            seq: 1,
            at: 0,
            tick: 0,
            pid: "3f2a91c0-5d2e".to_owned(),
            kind: What::Deny,
            note,
            prev: String::new(),
        };
        let screen = Screen { width: 100, color: Color::Off, voice: Voice::Normal };
        assert_eq!(
            line(&entry, &screen),
            "1970-01-01 00:00:00Z 3f2a91c0 deny     [lane.held] /w/app/a\\u{a}b.rs held by builder a1b2c3d4"
        );
    }
}
