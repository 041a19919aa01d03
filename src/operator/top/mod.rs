//! `octo top`: the live view. This file owns the terminal and the clock; what a key means is
//! `app`'s, what it looks like is `view`'s. Leaves the terminal as it found it, whatever happens.

mod app;
mod view;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::model::Snapshot;
use super::release;
use super::replay;
use super::screen::{Color, Screen, Voice};
use crate::journal::{self, Entry};
use crate::kernel::home::Home;
use crate::kernel::log;
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::What;
use crate::worktree::facts;
use app::{Action, App};

/// How often the table is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How much of a journal's end is read for its refusals.
const TAIL: u64 = 64 * 1024;
/// Refusals kept in the list.
const MOST: usize = 200;

/// A live view of sessions, lanes and denials.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo top\n\nKeys: arrows or j k move, / filter, s sort, a all, enter journal, c copy the remedy, r release, q quit"
)]
pub struct TopArgs {
    /// Ended and dead processes too.
    #[arg(long, short)]
    pub all: bool,
}

/// Runs `octo top`.
pub fn run(args: &TopArgs, context: &Context) -> Done {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(OperatorError::new(Trouble::Refused, "octo top wants a terminal")
            .hint("octo ps shows the same once"));
    }
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let failed =
        |why: std::io::Error| OperatorError::new(Trouble::File, format!("terminal: {why}"));
    let mut app = App::new(context.home.display().to_string(), context.screen.color, args.all);
    refresh(&mut app, &home, context);
    // Restores the terminal on a panic too.
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = turn(&mut terminal, &mut app, &home, context).map_err(failed);
    ratatui::try_restore().map_err(failed)?;
    ended
}

fn turn(
    terminal: &mut ratatui::DefaultTerminal,
    app: &mut App,
    home: &Home,
    context: &Context,
) -> std::io::Result<()> {
    let mut looked = Instant::now();
    loop {
        terminal.draw(|frame| view::draw(frame, app))?;
        let wait = EVERY.saturating_sub(looked.elapsed());
        if event::poll(wait)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            match app.key(key) {
                Action::None => {}
                Action::Quit => return Ok(()),
                Action::Copy(text) => copy(&text)?,
                Action::Journal(pid) => app.open_journal(&pid, journal_lines(home, &pid)),
                Action::Release(pid) => {
                    let quiet = Context {
                        screen: Screen { voice: Voice::Quiet, ..context.screen },
                        ..context.clone()
                    };
                    let said = match release::release_quietly(&pid, &quiet) {
                        Ok(count) => format!("released {count} lane(s)"),
                        Err(why) => why.message,
                    };
                    app.say(said);
                    refresh(app, home, context);
                }
            }
        }
        if looked.elapsed() >= EVERY {
            refresh(app, home, context);
            looked = Instant::now();
        }
    }
}

fn refresh(app: &mut App, home: &Home, context: &Context) {
    match Snapshot::take(home, context.settings.lease_seconds) {
        Ok(picture) => {
            let denials = denials(home, &picture);
            app.update(picture, denials);
            app.free_mb =
                AbsPath::new(&context.home).map_or(0, |home| facts::free_bytes(&home) >> 20);
        }
        Err(why) => app.say(why.message),
    }
}

/// The latest refusals of all processes that have any, newest first.
fn denials(home: &Home, picture: &Snapshot) -> Vec<Entry> {
    let mut all: Vec<Entry> = picture
        .processes
        .iter()
        .filter(|process| process.denials > 0)
        .flat_map(|process| tail(home, &process.pid))
        .filter(|entry| entry.kind == What::Deny)
        .collect();
    all.sort_by_key(|entry| std::cmp::Reverse((entry.at, entry.seq)));
    all.truncate(MOST);
    all
}

fn tail(home: &Home, pid: &str) -> Vec<Entry> {
    let Some(pid) = Pid::new(pid) else { return Vec::new() };
    let text = log::tail(home, &pid, TAIL);
    text.lines().filter_map(|line| journal::open(line).map(|(entry, _)| entry)).collect()
}

fn journal_lines(home: &Home, pid: &str) -> Vec<String> {
    let plain = Screen { width: 400, color: Color::Off, voice: Voice::Quiet };
    tail(home, pid).iter().map(|entry| replay::line(entry, &plain)).collect()
}

/// Puts text on the clipboard through the terminal, which works over ssh too.
fn copy(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "\u{1b}]52;c;{}\u{7}", base64(text.as_bytes()))?;
    out.flush()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place)) & 63;
            let known = DIGITS.get(digit as usize).map_or('=', |digit| char::from(*digit));
            out.push(if place <= chunk.len() { known } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_what_terminals_expect() {
        for (text, code) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("é?", "w6k/")]
        {
            assert_eq!(base64(text.as_bytes()), code);
        }
    }
}
