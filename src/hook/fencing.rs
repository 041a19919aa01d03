//! The hook's side of the kernel fence: the ticket a command gets before it runs, and the words
//! for what the fence stopped after it ran.

use super::context::Context;
use super::observe::Tool;
use crate::applet;
use crate::config::Fence;
use crate::fence::explain::{Kind, explain};
use crate::fence::fill;
use crate::fence::look::{RealDisk, scratch};
use crate::fence::meter;
use crate::fence::plan::{Asked, plan};
use crate::fence::proof;
use crate::fence::table::Table;
use crate::fence::ticket::{self, Run, Ticket};
use crate::fence::{GitWrite, HoldSource, Level, Who, probe};
use crate::kernel::StateError;
use crate::kernel::store::Kernel;
use crate::policy::facts::{Effect, Facts, Fenced};
use crate::policy::lane::AbsPath;
use crate::policy::shell::{self, Reading};
use crate::policy::verdict::{Note, Party, What};

use super::site::Disk;
use serde::Deserialize;

/// The client's variable that runs every shell line through a program.
const PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    command: Option<String>,
}

/// Whether commands of this client run through our prefix at all.
#[must_use]
pub fn is_wired(context: &Context<'_>) -> bool {
    Tool::of(context.payload.tool()) == Tool::Command
        && context.settings.fence != Fence::Off
        && std::env::var_os(PREFIX)
            .is_some_and(|p| std::path::Path::new(&p).file_name().is_some_and(|n| n == "octo-sh"))
}

/// Whether the next command will run under the whole fence: the last one did. The first command
/// of a session is judged as if there were none.
#[must_use]
pub fn standing(context: &Context<'_>) -> Fenced {
    if !is_wired(context) {
        return Fenced::No;
    }
    let granted = std::fs::read_to_string(context.home.fence(&context.actor.session));
    let whole = granted.is_ok_and(|word| word == Level::Full.word());
    if whole { Fenced::Whole } else { Fenced::No }
}

fn command(context: &Context<'_>) -> Option<String> {
    let input: Input = serde_json::from_str(context.payload.tool_input?.get()).ok()?;
    input.command
}

fn folder(context: &Context<'_>) -> Option<AbsPath> {
    AbsPath::new(context.home.tickets())
}

/// Leaves the ticket of a command that may run.
pub fn admit(
    context: &Context<'_>,
    disk: &Disk,
    effects: &[Effect],
    facts: &Facts,
) -> Result<(), StateError> {
    if !is_wired(context) {
        return Ok(());
    }
    let (Some(text), Some(folder), Some(call)) =
        (command(context), folder(context), context.payload.call())
    else {
        return Ok(());
    };
    let unread = effects.iter().any(|e| matches!(e, Effect::Opaque { .. }));
    let reading = shell::read(&text, &context.payload.cwd, disk);
    let ticket = Ticket {
        pid: context.actor.pid.clone(),
        git: proof::git_write(&text, &reading),
        // What was let through only because the fence stands must not run without it.
        need: if unread && facts.fenced == Fenced::Whole && !facts.holds.is_empty() {
            Level::Full
        } else {
            Level::None
        },
        run: if is_ours(&reading) { Run::Own } else { Run::Fenced },
    };
    ticket::leave(&folder, &context.actor.session, &text, call, &ticket)
        .map_err(|e| StateError::io(folder.as_path(), e))
}

/// One of our own verbs and nothing else.
fn is_ours(reading: &Reading) -> bool {
    let [only] = reading.invocations.as_slice() else { return false };
    let name = only.argv.first().and_then(|a| a.exact());
    reading.unread.is_empty()
        && only.redirects.is_empty()
        && only.env.is_empty()
        && only.depth == 0
        && name.is_some_and(|n| applet::find(n).is_some())
}

/// The call is over: its ticket is taken back. True when a fence stood around something of this
/// session since the last call, which [`after`] has to tell.
#[must_use]
pub fn over(context: &Context<'_>) -> bool {
    if !is_wired(context) {
        return false;
    }
    let session = &context.actor.session;
    if let (Some(text), Some(folder), Some(call)) =
        (command(context), folder(context), context.payload.call())
    {
        ticket::retire(&folder, session, &text, call);
    }
    meter::is_waiting(&context.home, session)
}

/// Takes in what fenced commands used, and tells what the fence stopped.
pub fn after(context: &Context<'_>, kernel: &mut Kernel) -> Result<Vec<String>, StateError> {
    if !is_wired(context) {
        return Ok(Vec::new());
    }
    let used = meter::take(&context.home, &context.actor.session);
    if !used.is_empty() {
        kernel.transact(|tx| {
            for one in &used {
                one.note(tx);
            }
            Ok(())
        })?;
    }
    let Some(said) = context.payload.error.as_deref() else { return Ok(Vec::new()) };
    told(context, kernel, said)
}

fn told(context: &Context<'_>, kernel: &mut Kernel, said: &str) -> Result<Vec<String>, StateError> {
    let Some(dir) = &context.cwd else { return Ok(Vec::new()) };
    let table = Table::here();
    let who =
        Who::Process { session: context.actor.session.clone(), pid: context.actor.pid.clone() };
    let Ok(holds) = table.holds_for(&who, dir) else { return Ok(Vec::new()) };
    let scratch = scratch(&|name| std::env::var(name).ok());
    let level = probe::offer(Some(&context.home.offer())).level;
    let asked =
        Asked { holds: &holds, git: GitWrite::None, dir, level, scratch: &scratch, switches: &[] };
    let hits = explain(said, None, &plan(&asked, &RealDisk::look()));
    let home = AbsPath::new(context.home.user());
    let mut words = Vec::new();
    for hit in hits {
        let by = hit
            .hold
            .as_ref()
            .map_or(String::new(), |h| format!(", held by {} {}", h.holder.kind, h.holder.pid));
        let made = match hit.kind {
            Kind::Outside => home.as_ref().and_then(|home| fill::cache(&hit.path, home)),
            Kind::Held | Kind::GitDir | Kind::Pinned | Kind::Closed => None,
        };
        let way = made.map_or(hit.remedy().to_owned(), |folder| {
            format!("run it again: {folder} was missing and is there now")
        });
        let (rule, path) = (hit.kind.rule(), &hit.path);
        words.push(format!("octo: stopped [{rule}] {path}{by}\nwhat to do: {way}"));
        let note = Note {
            rule: Some(hit.kind.rule().to_owned()),
            gate: Some("fence".to_owned()),
            target: Some(hit.path.to_string()),
            holder: hit.hold.as_ref().map(|h| Party::from(&h.holder)),
            tool: Some(context.payload.tool().to_owned()),
            call: context.payload.call().map(str::to_owned),
            ..Note::default()
        };
        let me = context.actor.pid.clone();
        kernel.transact(|tx| {
            tx.journal(&me, What::Deny, note.clone());
            Ok(())
        })?;
    }
    Ok(words)
}
