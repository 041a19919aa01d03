//! `octo uninstall`: our entries and the program away again, every other byte as it was, also
//! while sessions are live: they are told that it is the operator's will, and a stand-in passes
//! what they still call. The record stays.

use std::path::{Path, PathBuf};

use clap::Args;

use super::context::Context;
use super::diff;
use super::error::{Done, OperatorError, Trouble};
use super::install::{ScopeArg, TREES, without_us};
use super::person::{name, require_person};
use super::place::Place;
use super::receipt::Receipt;
use super::screen::harmless;
use super::settings_file::SettingsFile;
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};
use crate::wiring::files::{self, Scope};

/// Takes our entries and the program away; every other byte of the settings stays.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo uninstall --dry-run    show every change, make none\n  octo uninstall              also while sessions run: they go on unguarded"
)]
pub struct UninstallArgs {
    /// Only these settings; the program goes with the last.
    #[arg(long, value_enum)]
    pub scope: Option<ScopeArg>,
    /// Show what would change and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs `octo uninstall`.
pub fn uninstall(args: &UninstallArgs, context: &Context) -> Done {
    if !args.dry_run {
        require_person("octo uninstall")?;
    }
    let place = Place::new(&context.home);
    let paths = wired_files(&place, args, context);
    let last = Receipt::all(&place).iter().all(|receipt| paths.contains(&receipt.path));
    let callers = live_clients();
    if last && !args.dry_run {
        say_farewell()?;
        place.stand_in(&callers)?;
    }
    for path in paths {
        undo(&place, &path, args, context)?;
    }
    if !last || args.dry_run {
        return Ok(());
    }
    // Both go only when they are empty.
    drop(std::fs::remove_dir(context.home.join(TREES)));
    drop(std::fs::remove_dir(&place.state));
    let screen = &context.screen;
    for line in place.take_away(&callers)? {
        screen.say(&format!("removed {line}"));
    }
    if !callers.is_empty() {
        let count = callers.len();
        screen.say(&format!(
            "{count} live session(s) go on unguarded; a stand-in passes their calls"
        ));
    }
    if let Some(home) = Home::discover().filter(|home| home.dir().exists()) {
        screen.say(&format!("the record stays in {}", home.dir().display()));
    }
    Ok(())
}

/// The settings files to take us out of: the named scope's, else every one that has us.
fn wired_files(place: &Place, args: &UninstallArgs, context: &Context) -> Vec<PathBuf> {
    let real = |scope: Scope| {
        let path = files::path(scope, &context.home, &context.project);
        std::fs::canonicalize(&path).unwrap_or(path)
    };
    if let Some(scope) = args.scope {
        return vec![real(scope.into())];
    }
    let mut paths: Vec<PathBuf> =
        Receipt::all(place).into_iter().map(|receipt| receipt.path).collect();
    for path in [Scope::User, Scope::Project, Scope::Local].map(real) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn undo(place: &Place, path: &Path, args: &UninstallArgs, context: &Context) -> Done {
    let file = SettingsFile::read(path)?;
    let receipt = Receipt::of(place, &file.path);
    let shown = harmless(&file.path.display().to_string());
    let Some(current) = file.text.as_deref() else {
        return receipt.map_or(Ok(()), |receipt| receipt.drop(place));
    };
    let bare = without_us(place, &file, current).map_err(|why| {
        OperatorError::new(Trouble::Settings, format!("{shown}: {why}"))
            .hint("put the file right (our entries call octo-hook), then run it again")
    })?;
    if !args.dry_run {
        forget(path, &file.path)?;
    }
    let ours_alone = receipt.as_ref().is_some_and(|receipt| receipt.before.is_none());
    let empty = bare.trim() == "{}";
    if args.dry_run {
        return context.screen.print(&diff::render(current, &bare));
    }
    if ours_alone && empty {
        file.remove()?;
        context.screen.say(&format!("removed {shown}, which only we had made"));
    } else if bare != current {
        file.write(&bare)?;
        file.drop_backup(&bare);
        context.screen.say(&format!("restored {shown}"));
    }
    receipt.map_or(Ok(()), |receipt| receipt.drop(place))
}

/// Tells live sessions that the removal is the operator's, so that they let it happen.
fn say_farewell() -> Done {
    let Some(home) = Home::discover().filter(|home| home.dir().exists()) else { return Ok(()) };
    let path = home.tombstone();
    let text = format!("{} {}\n", clock::unix_seconds(), name());
    std::fs::write(&path, text).map_err(|why| OperatorError::file(&path, &why))
}

/// Forgets what a settings file held of us, so that no hook minds its loss.
fn forget(path: &Path, real: &Path) -> Done {
    let Some(home) = Home::discover() else { return Ok(()) };
    for named in [path, real] {
        let copy = home.wired(&named.display().to_string());
        match std::fs::remove_file(&copy) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                return Err(OperatorError::file(&copy, &why));
            }
            Ok(()) | Err(_) => {}
        }
        drop(copy.parent().map(std::fs::remove_dir));
    }
    Ok(())
}

/// Process ids of clients that run now and had a hook of ours.
fn live_clients() -> Vec<u32> {
    let rows = Home::discover()
        .and_then(|home| Kernel::open(&home, Make::Never, OPERATOR_PATIENCE).ok())
        .and_then(|mut kernel| kernel.look(|tx| tx.processes()).ok())
        .unwrap_or_default();
    let here = clock::place();
    let mut pids: Vec<u32> = rows
        .into_iter()
        .filter(|row| row.place == here)
        .filter_map(|row| row.client)
        .filter(|client| clock::client_life(*client) == clock::ClientLife::Runs)
        .map(|client| client.pid)
        .collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}
