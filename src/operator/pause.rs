//! `octo off` and `octo on`: the gates pass everything for a while. A person at a terminal only,
//! never for ever, in the journal, and shown by every `ps`.

use clap::Args;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::person::{name, require_terminal};
use super::screen::{age, harmless};
use crate::git::{Follow, canonical};
use crate::kernel::clock;
use crate::kernel::home::Home;
use crate::kernel::off::{Pause, pauses, set};
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};
use crate::policy::lane::Pid;
use crate::policy::verdict::{Note, What};

/// Longest pause: a guard that is off tomorrow was forgotten.
const LONGEST: u64 = 12 * 3_600;
/// The journal of what the operator does to everybody.
const OPERATOR: &str = "operator";

/// Lets everything pass for a while.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo off --for 10m                everywhere, ten minutes\n  octo off --for 1h --root ~/app    in one folder"
)]
pub struct OffArgs {
    /// How long: 90s, 10m, 2h; at most 12h.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: u64,
    /// Only in this folder.
    #[arg(long)]
    pub root: Option<std::path::PathBuf>,
}

/// Ends every pause.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  octo on")]
pub struct OnArgs {}

/// Reads `90s`, `10m`, `2h`.
pub fn duration(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err("a number and s, m, h or d: 90s, 10m, 2h".to_owned()),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    seconds.filter(|seconds| *seconds > 0).ok_or_else(|| "more than nothing".to_owned())
}

/// Runs `octo off`.
pub fn off(args: &OffArgs, context: &Context) -> Done {
    require_terminal("octo off")?;
    if args.time > LONGEST {
        let message = format!("at most {} at a time", age(LONGEST));
        return Err(OperatorError::new(Trouble::Usage, message));
    }
    let home = home()?;
    let root = match &args.root {
        None => None,
        Some(path) => {
            let folder = canonical(context.cwd.join(path), Follow::All);
            // A slip here would leave the gates on while somebody relies on their being off.
            let there = folder.filter(|folder| folder.as_path().is_dir());
            Some(there.ok_or_else(|| {
                let message = format!("{} is no folder", path.display());
                OperatorError::new(Trouble::Usage, message)
            })?)
        }
    };
    let unix = clock::unix_seconds();
    let mut all = pauses(&home, unix);
    let root = root.map(|root| root.to_string());
    all.retain(|pause| pause.root != root);
    all.push(Pause { until: unix + args.time, root: root.clone(), by: name() });
    let place = root.clone().unwrap_or_else(|| "everywhere".to_owned());
    // First the record, then the deed: a pause without a line must not exist.
    journal(&home, &format!("off for {} s", args.time), root)?;
    set(&home, &all).map_err(|why| OperatorError::file(&home.off(), &why))?;
    context.screen.say(&format!(
        "gates are off, {}, for {}: octo on ends it",
        harmless(&place),
        age(args.time)
    ));
    Ok(())
}

/// Runs `octo on`.
pub fn on(_args: &OnArgs, context: &Context) -> Done {
    require_terminal("octo on")?;
    let home = home()?;
    if pauses(&home, clock::unix_seconds()).is_empty() {
        context.screen.say("gates are on");
        return Ok(());
    }
    set(&home, &[]).map_err(|why| OperatorError::file(&home.off(), &why))?;
    journal(&home, "on", None)?;
    context.screen.say("gates are on again");
    Ok(())
}

/// A broken table must not keep the operator from a way out: then the report file has it.
fn journal(home: &Home, reason: &str, root: Option<String>) -> Done {
    let note = Note {
        reason: Some(format!("{reason}, {}", name())),
        root,
        rule: Some("gate.off".to_owned()),
        ..Note::default()
    };
    let Some(pid) = Pid::new(OPERATOR) else { return Ok(()) };
    let kept = Kernel::open(home, Make::IfAbsent, OPERATOR_PATIENCE).and_then(|mut kernel| {
        kernel.transact(|tx| {
            tx.journal(&pid, What::Override, note.clone());
            Ok(())
        })
    });
    if kept.is_ok() {
        return Ok(());
    }
    let failed = |why: std::io::Error| OperatorError::file(&home.report(), &why);
    home.create().map_err(failed)?;
    let mut file = crate::kernel::home::open_private(&home.report()).map_err(failed)?;
    let line = format!("{} octo {reason}, {}\n", clock::unix_seconds(), name());
    std::io::Write::write_all(&mut file, line.as_bytes()).map_err(failed)
}

fn home() -> Result<Home, OperatorError> {
    Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("2h", 7_200), ("1d", 86_400)] {
            assert_eq!(duration(text), Ok(seconds));
        }
        for text in ["", "10", "m", "0m", "1.5h", "-1m", "99999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
