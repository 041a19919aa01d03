//! Ending lanes by hand: the operator's `ps --release`, and a holder's own `yield`. One
//! transaction each, journaled with who did it; neither touches a file.

use clap::Args;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::model::{Process, Snapshot};
use super::person::{name, require_person};
use super::screen::harmless;
use crate::git::{Follow, canonical};
use crate::kernel::StateError;
use crate::kernel::home::Home;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE, Tx};
use crate::policy::lane::{AbsPath, Pid};
use crate::policy::verdict::{Note, What};

/// Gives up own lanes, so that whoever waits for them can go on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo yield                  all own lanes\n  octo yield src/lib.rs       one path and all below it"
)]
pub struct YieldArgs {
    /// Paths to give up; all when none is named.
    pub paths: Vec<std::path::PathBuf>,
    /// Whose lanes; found out where it can be.
    #[arg(long = "as", value_name = "PID")]
    pub pid: Option<String>,
}

/// What a release ended.
struct Released {
    short: String,
    lanes: Vec<AbsPath>,
    custody: Vec<AbsPath>,
}

/// Runs `octo ps --release PID[@GENERATION]`.
pub fn release(word: &str, context: &Context) -> Done {
    let ended = end(word, context)?;
    if ended.lanes.is_empty() && ended.custody.is_empty() {
        context.screen.say(&format!("{} holds nothing", harmless(&ended.short)));
        return Ok(());
    }
    for (word, paths) in [("lane", &ended.lanes), ("custody", &ended.custody)] {
        for path in paths {
            context.screen.print(&format!("released {word} {}\n", harmless(&path.to_string())))?;
        }
    }
    Ok(())
}

/// The same for a view that prints by itself: how many lanes ended.
pub fn release_quietly(word: &str, context: &Context) -> Result<usize, OperatorError> {
    end(word, context).map(|ended| ended.lanes.len())
}

fn end(word: &str, context: &Context) -> Result<Released, OperatorError> {
    require_person("octo ps --release")?;
    let home = home()?;
    let picture = Snapshot::take(&home, context.settings.lease_seconds)?;
    let (word, generation) = match word.split_once('@') {
        Some((word, number)) => (word, Some(number)),
        None => (word, None),
    };
    let process = one(&picture, word)?;
    if generation.is_some_and(|number| number != process.generation.to_string()) {
        return Err(OperatorError::new(
            Trouble::Missing,
            format!("{} is of another generation: {}", process.pid, process.generation),
        ));
    }
    let pid = pid_of(&process.pid)?;
    let by = format!("operator {}", name());
    let (lanes, custody) = transact(&home, |tx| take_all(tx, &pid, &by))?;
    Ok(Released { short: process.short.clone(), lanes, custody })
}

fn take_all(
    tx: &mut Tx<'_>,
    pid: &Pid,
    by: &str,
) -> Result<(Vec<AbsPath>, Vec<AbsPath>), StateError> {
    let mut ended = (Vec::new(), Vec::new());
    for lane in tx.lanes_of(pid)? {
        tx.drop_lane(&lane.path)?;
        tx.journal(pid, What::Release, note(&lane.path, lane.root.as_ref(), by));
        ended.0.push(lane.path);
    }
    // A clean line ends custody in a rebuilt table too.
    for kept in tx.custody_of(pid)? {
        tx.drop_custody(&kept.path)?;
        tx.journal(pid, What::Clean, note(&kept.path, kept.root.as_ref(), by));
        ended.1.push(kept.path);
    }
    if !ended.0.is_empty() || !ended.1.is_empty() {
        let count = ended.0.len();
        tx.notify(pid, &format!("the operator released your {count} lane(s); claim them anew"))?;
    }
    Ok(ended)
}

/// Runs `octo yield`.
pub fn give_up(args: &YieldArgs, context: &Context) -> Done {
    let home = home()?;
    let picture = Snapshot::take(&home, context.settings.lease_seconds)?;
    let process = match &args.pid {
        Some(word) => one(&picture, word)?,
        None => super::caller::caller(&home, &picture)?,
    };
    let pid = pid_of(&process.pid)?;
    let absolute = |path: &std::path::PathBuf| canonical(context.cwd.join(path), Follow::All);
    let wanted: Vec<AbsPath> = args.paths.iter().filter_map(absolute).collect();
    let ended = transact(&home, |tx| {
        let mut ended = Vec::new();
        for lane in tx.lanes_of(&pid)? {
            if wanted.is_empty() || wanted.iter().any(|path| lane.path.within(path)) {
                tx.drop_lane(&lane.path)?;
                tx.journal(&pid, What::Release, note(&lane.path, lane.root.as_ref(), "yield"));
                ended.push(lane.path);
            }
        }
        Ok(ended)
    })?;
    if ended.is_empty() {
        context.screen.say("no such lane of yours");
    }
    for path in ended {
        context.screen.print(&format!("yielded {}\n", harmless(&path.to_string())))?;
    }
    Ok(())
}

fn note(path: &AbsPath, root: Option<&AbsPath>, reason: &str) -> Note {
    Note {
        target: Some(path.to_string()),
        root: root.map(ToString::to_string),
        reason: Some(reason.to_owned()),
        ..Note::default()
    }
}

fn home() -> Result<Home, OperatorError> {
    Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))
}

fn pid_of(text: &str) -> Result<Pid, OperatorError> {
    Pid::new(text).ok_or_else(|| OperatorError::new(Trouble::Missing, "that is no process id"))
}

fn transact<T>(
    home: &Home,
    work: impl FnMut(&mut Tx<'_>) -> Result<T, StateError>,
) -> Result<T, OperatorError> {
    let mut kernel = Kernel::open(home, Make::Never, OPERATOR_PATIENCE)?;
    Ok(kernel.transact(work)?)
}

/// The one process a word names.
pub fn one<'p>(picture: &'p Snapshot, word: &str) -> Result<&'p Process, OperatorError> {
    match picture.named(word).as_slice() {
        [process] => Ok(process),
        [] => Err(OperatorError::new(Trouble::Missing, format!("no process {}", harmless(word)))
            .hint("octo ps --all lists them")),
        several => {
            let names: Vec<_> = several.iter().map(|process| process.pid.as_str()).collect();
            let message = format!("{} names {} processes", harmless(word), several.len());
            Err(OperatorError::new(Trouble::Usage, message).hint(names.join("\n  ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::store::LaneRow;
    use crate::policy::lane::Tick;

    fn lane(path: &str, holder: &Pid) -> LaneRow {
        LaneRow {
            path: AbsPath::new(path).unwrap(),
            root: AbsPath::new("/w"),
            holder: holder.clone(),
            claimed: Tick(1),
            written: None,
            identity: None,
            call: None,
            family: false,
        }
    }

    #[test]
    fn a_release_ends_the_lanes_of_one_process_and_says_who_did_it() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        let (a, b) = (Pid::new("a").unwrap(), Pid::new("b").unwrap());
        let mut kernel = Kernel::open(&home, Make::IfAbsent, OPERATOR_PATIENCE).unwrap();
        kernel
            .transact(|tx| {
                tx.put_lane(&lane("/w/x", &a))?;
                tx.put_lane(&lane("/w/y", &b))
            })
            .unwrap();
        let ended = kernel.transact(|tx| take_all(tx, &a, "operator dev")).unwrap();
        assert_eq!(ended.0.len(), 1);
        let left = kernel.look(|tx| tx.lanes()).unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].holder, b);
        let journal = std::fs::read_to_string(home.journal(&a)).unwrap();
        assert!(journal.contains("\"release\"") && journal.contains("operator dev"), "{journal}");
        let again = kernel.transact(|tx| take_all(tx, &a, "operator dev")).unwrap();
        assert!(again.0.is_empty(), "a second release finds nothing");
    }
}
