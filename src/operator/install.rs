//! `octo install`: the program in its place and our entries in the client's settings, planned as
//! a text and then applied. A person's to run; never touches what is not ours.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::context::Context;
use super::diff;
use super::doctor::machine::{Failing, failing, hole};
use super::error::{Done, OperatorError, Trouble};
use super::person::require_person;
use super::place::Place;
use super::receipt::Receipt;
use super::screen::Tone;
use super::settings_file::SettingsFile;
use crate::applet::{Always, Event, WIRES, Wire};
use crate::config::WorktreePlace;
use crate::fence::{Level, probe};
use crate::kernel::home::Home;
use crate::wiring::entry::Entry;
use crate::wiring::files::{self, Scope};
use crate::wiring::merge::{Marks, Wiring, holds, merge, unmerge};
use crate::wiring::survey::{Survey, survey};

/// The folder of worktrees when no setting names another.
pub const TREES: &str = ".octorato";

/// Which settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// Yours, for all projects.
    User,
    /// The project's, committed; inert for people without octo.
    Project,
    /// The project's, yours alone.
    Local,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::User => Self::User,
            ScopeArg::Project => Self::Project,
            ScopeArg::Local => Self::Local,
        }
    }
}

/// Puts the program in place and wires it into the client's settings.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo install --dry-run     show every change, make none\n  octo install               for all your projects\n  octo install --fence=no    shell commands run without the kernel's fence"
)]
pub struct InstallArgs {
    /// Whose settings.
    #[arg(long, value_enum, default_value = "user")]
    pub scope: ScopeArg,
    /// Show what would change and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Run the client's shell commands behind the fence: the first time wherever this machine
    /// grants all of it; later, left out, what was chosen before stays.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    pub fence: Option<FenceArg>,
    /// Who makes the client's own worktrees (`--worktree`, isolated agents).
    #[arg(long, value_enum)]
    pub worktrees: Option<Engine>,
    /// Leave out the check at the end.
    #[arg(long)]
    pub no_check: bool,
}

/// What a settings file would become.
#[derive(Debug)]
pub struct Change {
    /// The file as it is.
    pub file: SettingsFile,
    /// The text it would get; none when nothing is to be changed.
    pub next: Option<String>,
    /// The text without us and what we made.
    bare: Option<String>,
    marks: Marks,
}

/// All that a settings file of a scope should hold.
#[must_use]
pub fn wanted(context: &Context, place: &Place, scope: Scope, choice: Choice) -> Wiring {
    if scope == Scope::Project {
        // Committed: names nobody's home, and blocks nobody who does not have the program.
        let entries = wires(Engine::Client).map(Entry::plugin).collect();
        return Wiring { entries, ..Wiring::default() };
    }
    let program = place.link("octo-hook").display().to_string();
    Wiring {
        entries: wires(choice.engine).map(|row| Entry::installed(row, &program)).collect(),
        folders: vec![trees_of(context).display().to_string()],
        prefix: match choice.fence {
            Fencing::Yes => Some(place.link("octo-sh").display().to_string()),
            Fencing::No => None,
        },
    }
}

/// The folder of this person's trees, which a client must let sessions work in.
#[must_use]
pub fn trees_of(context: &Context) -> PathBuf {
    match &context.settings.worktree.location {
        WorktreePlace::Folder(folder) => expand(folder, &context.home),
        WorktreePlace::Home | WorktreePlace::Sibling => context.home.join(TREES),
    }
}

/// The events to wire. A client that does not know one ignores it (measured on the oldest).
fn wires(engine: Engine) -> impl Iterator<Item = &'static Wire> {
    WIRES.iter().filter(move |wire| match wire.always {
        Always::Yes | Always::NewClients => true,
        Always::Engine => engine == Engine::Octo,
    })
}

/// What a person chose at installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The fence.
    pub fence: Fencing,
    /// The client's worktrees.
    pub engine: Engine,
}

/// What a first installation has: the fence where this machine was shown to grant all of it, the
/// client stays closed without our program, and nobody else's stands where ours would.
fn fresh(survey: Option<&Survey>) -> Choice {
    let taken = survey.is_some_and(|survey| survey.prefix.is_some());
    let whole = !taken && failing() == Failing::Blocks && probe::probe().level == Level::Full;
    let fence = if whole { Fencing::Yes } else { Fencing::No };
    Choice { fence, engine: Engine::Octo }
}

/// What was chosen when the settings were written: an upgrade keeps it.
#[must_use]
pub fn chosen(survey: &Survey) -> Choice {
    let fenced = survey.prefix.as_deref().is_some_and(|prefix| prefix.ends_with("/octo-sh"));
    let engine = survey.ours().any(|hook| hook.event == Event::WorktreeCreate.wire().name);
    Choice {
        fence: if fenced { Fencing::Yes } else { Fencing::No },
        engine: if engine { Engine::Octo } else { Engine::Client },
    }
}

/// Who makes the client's own worktrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// octo, with everything its own trees have.
    Octo,
    /// The client.
    Client,
}

/// What a person says about the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FenceArg {
    /// The client's shell lines run through `octo-sh`.
    Yes,
    /// They run as they are.
    No,
    /// Through `octo-sh` even where the client lets calls through when that is missing.
    Anyway,
}

impl FenceArg {
    fn fencing(self) -> Result<Fencing, OperatorError> {
        match (self, hole()) {
            (Self::No, _) => Ok(Fencing::No),
            (Self::Yes, None) | (Self::Anyway, _) => Ok(Fencing::Yes),
            (Self::Yes, Some(why)) => {
                Err(OperatorError::new(Trouble::Refused, format!("no fence here: {why}")).hint(
                    "update the client, or say that you know it: octo install --fence=anyway",
                ))
            }
        }
    }
}

/// Whether the fence is part of the wiring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fencing {
    /// The client's shell lines run through `octo-sh`.
    Yes,
    /// They run as they are.
    No,
}

fn expand(folder: &str, home: &Path) -> PathBuf {
    match folder.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => home.join(folder),
    }
}

/// Works out what wiring does to a settings file.
pub fn plan(place: &Place, path: &Path, wiring: &Wiring) -> Result<Change, OperatorError> {
    let file = SettingsFile::read(path)?;
    let refused = |why: &dyn std::fmt::Display| {
        OperatorError::new(Trouble::Settings, format!("{}: {why}", file.path.display()))
            .hint("nothing was changed; put the file right and run it again")
    };
    let current = file.text.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    if holds(current, wiring).map_err(|why| refused(&why))? {
        return Ok(Change { file, next: None, bare: None, marks: Marks::default() });
    }
    let bare = without_us(place, &file, current).map_err(|why| refused(&why))?;
    let (next, marks) = merge(&bare, wiring).map_err(|why| refused(&why))?;
    let bare = file.text.is_some().then_some(bare);
    Ok(Change { next: Some(next), bare, marks, file })
}

/// The text as it is without us.
pub fn without_us(
    place: &Place,
    file: &SettingsFile,
    current: &str,
) -> Result<String, crate::wiring::edit::EditError> {
    match Receipt::of(place, &file.path) {
        Some(receipt) if receipt.after == current => {
            Ok(receipt.before.unwrap_or_else(|| "{}\n".to_owned()))
        }
        Some(receipt) => unmerge(current, Some(&receipt.marks)),
        None => unmerge(current, None),
    }
}

/// Makes a planned change: backup, receipt, then the file.
pub fn apply(place: &Place, change: &Change) -> Result<Option<PathBuf>, OperatorError> {
    let Some(next) = &change.next else { return Ok(None) };
    let earlier = Receipt::of(place, &change.file.path);
    let made_by_us = earlier.is_some_and(|receipt| receipt.before.is_none());
    let backup = change.file.back_up()?;
    Receipt {
        path: change.file.path.clone(),
        before: if made_by_us { None } else { change.bare.clone() },
        after: next.clone(),
        marks: change.marks.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
    .keep(place)?;
    change.file.write(next)?;
    Ok(backup)
}

/// Runs `octo install`.
pub fn install(args: &InstallArgs, context: &Context) -> Done {
    if !args.dry_run {
        require_person("octo install")?;
    }
    let place = Place::new(&context.home);
    let scope = Scope::from(args.scope);
    let path = files::path(scope, &context.home, &context.project);
    let earlier = SettingsFile::read(&path)?.text.and_then(|text| survey(&text).ok());
    let ours = earlier.as_ref().filter(|survey| survey.ours().count() > 0);
    let earlier = ours.map_or_else(|| fresh(earlier.as_ref()), chosen);
    let choice = Choice {
        fence: args.fence.map_or(Ok(earlier.fence), FenceArg::fencing)?,
        engine: args.worktrees.unwrap_or(earlier.engine),
    };
    let wiring = wanted(context, &place, scope, choice);
    let change = plan(&place, &path, &wiring)?;
    let screen = &context.screen;
    if args.dry_run {
        let before = change.file.text.as_deref().unwrap_or_default();
        screen.say(&format!("would put the program at {}", place.program().display()));
        return match &change.next {
            None => screen.print(&format!("{} needs no change\n", change.file.path.display())),
            Some(next) => {
                screen.say(&format!("would change {}", change.file.path.display()));
                screen.print(&diff::render(before, next))
            }
        };
    }
    for line in place.put()? {
        screen.say(&format!("{} {line}", screen.paint(Tone::Good, "installed")));
    }
    for folder in &wiring.folders {
        std::fs::create_dir_all(folder)
            .map_err(|why| OperatorError::file(Path::new(folder), &why))?;
    }
    let text = change.next.as_deref().or(change.file.text.as_deref()).unwrap_or_default();
    remember(&path, &change.file.path, text)?;
    match (&change.next, apply(&place, &change)?) {
        (None, _) => screen.say(&format!("{} needs no change", change.file.path.display())),
        (Some(_), backup) => {
            let kept = backup.map(|path| format!(" (before: {})", path.display()));
            let path = change.file.path.display();
            screen.say(&format!(
                "{} {} entries in {path}{}",
                screen.paint(Tone::Good, "wired"),
                wiring.entries.len(),
                kept.unwrap_or_default()
            ));
        }
    }
    if args.no_check {
        return Ok(());
    }
    // Warnings are said and don't undo an installation; an unguarded session is its failure.
    match super::doctor::run(&super::doctor::DoctorArgs::default(), context) {
        Err(why) if why.kind == Trouble::Refused => {
            screen.say(&why.message);
            Ok(())
        }
        other => other,
    }
}

/// Tells hooks of live sessions that we are there again, and what the file held of us then: a
/// later change is measured against that.
fn remember(path: &Path, real: &Path, text: &str) -> Done {
    let Some(home) = Home::discover() else { return Ok(()) };
    home.create().map_err(|why| OperatorError::file(home.dir(), &why))?;
    let tombstone = home.tombstone();
    if tombstone.exists() {
        std::fs::remove_file(&tombstone).map_err(|why| OperatorError::file(&tombstone, &why))?;
    }
    for named in [path, real] {
        let copy = home.wired(&named.display().to_string());
        let folder = copy.parent().unwrap_or(&copy);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&copy, text))
            .map_err(|why| OperatorError::file(&copy, &why))?;
    }
    Ok(())
}
