//! `octo explain`: what the gates would decide about a command or a write, by which rule, and as
//! what it was read. Asks the same judges with the same facts as a hook, and changes nothing: the
//! table is only looked at.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::explain_tree::{Step, decides, reading, tree};
use super::model::Snapshot;
use super::screen::{Tone, harmless};
use crate::applet::{Event, Role};
use crate::hook::asked::Asked;
use crate::hook::context::Context as HookContext;
use crate::hook::gather::{Gather, still};
use crate::hook::site::Disk;
use crate::hook::{arms, floor, input, observe};
use crate::kernel::StateError;
use crate::kernel::home::Home;
use crate::kernel::life::Registry;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};
use crate::policy::facts::{CommitScope, Effect, Facts, Scope};
use crate::policy::rules::{self, ALL_GATES};
use crate::policy::verdict::{Outcome, Verdict};
use crate::policy::{decide, telling};

/// Times git may be asked before the last answer stands.
const ROUNDS: usize = 4;
/// Who asks when nobody is named: a session that holds nothing.
const NEWCOMER: &str = "a-newcomer";

/// Says what the gates would decide, and why.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo explain 'git add -A'                  as a newcomer, here\n  octo explain 'rm -rf lib' --as 3f2a91c0    as that process\n  octo explain --write src/lib.rs            an edit instead of a command\n  octo explain --rule tree.whole             what a rule refuses and what to do instead"
)]
pub struct ExplainArgs {
    /// The command, quoted as one word.
    #[arg(required_unless_present_any = ["write", "rule"])]
    pub command: Option<String>,
    /// A file that would be written, instead of a command.
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    pub write: Option<PathBuf>,
    /// A rule to look up, instead of a call.
    #[arg(long, value_name = "RULE", conflicts_with_all = ["command", "write"])]
    pub rule: Option<String>,
    /// Where it would run.
    #[arg(long)]
    pub cwd: Option<PathBuf>,
    /// Who would run it.
    #[arg(long = "as", value_name = "PID", add = ArgValueCandidates::new(super::completion::pids))]
    pub pid: Option<String>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// What came of asking.
pub(super) struct Answer {
    /// The command as it was read, each program with what it would do; none for a write.
    pub(super) reading: Vec<Step>,
    /// Everything the call would do.
    pub(super) effects: Vec<Effect>,
    /// What was known.
    facts: Facts,
    /// The verdict.
    pub(super) outcome: Outcome,
}

/// Runs `octo explain`.
pub fn run(args: &ExplainArgs, context: &Context) -> Done {
    if let Some(rule) = &args.rule {
        return explain_rule(rule, args, context);
    }
    let home = Home::discover()
        .ok_or_else(|| OperatorError::new(Trouble::Missing, "there is no home directory"))?;
    let payload = payload(args, &home, context)?;
    let answer = ask(&payload, home)?;
    if args.json {
        return context.screen.json("explain", as_json(&answer));
    }
    context.screen.print(&draw(&answer, context))
}

fn explain_rule(id: &str, args: &ExplainArgs, context: &Context) -> Done {
    let Some((gate, summary, remedy)) = rules::find(id) else {
        let known: Vec<&str> = rules::RULES.iter().map(|rule| rule.id.0).collect();
        return Err(OperatorError::new(Trouble::Missing, format!("no rule {}", harmless(id)))
            .hint(format!("there are {}", known.join(", "))));
    };
    if args.json {
        let value = json!({"rule": id, "gate": gate, "refuses": summary, "remedy": remedy});
        return context.screen.json("rule", value);
    }
    context
        .screen
        .print(&format!("[{id}] of the {gate} gate\nrefuses: {summary}\ninstead: {remedy}\n"))
}

/// The payload a client would send for this call.
fn payload(args: &ExplainArgs, home: &Home, context: &Context) -> Result<String, OperatorError> {
    let cwd = context.cwd.join(args.cwd.as_deref().unwrap_or(&context.cwd));
    let (pid, session, kind) = match &args.pid {
        None => (NEWCOMER.to_owned(), NEWCOMER.to_owned(), "session".to_owned()),
        Some(word) => {
            let picture = Snapshot::take(home, context.settings.lease_seconds)?;
            let process = super::release::one(&picture, word)?;
            (process.pid.clone(), process.session.clone(), process.kind.clone())
        }
    };
    let (tool, tool_input) = match (&args.command, &args.write) {
        (Some(command), _) => ("Bash", json!({ "command": command })),
        (None, Some(path)) => ("Write", json!({"file_path": cwd.join(path), "content": ""})),
        (None, None) => return Err(OperatorError::new(Trouble::Usage, "nothing to explain")),
    };
    let mut payload = json!({
        "session_id": session,
        "transcript_path": "",
        "cwd": cwd,
        "hook_event_name": Event::PreToolUse.wire().name,
        "tool_name": tool,
        "tool_input": tool_input,
    });
    if pid != session
        && let Some(map) = payload.as_object_mut()
    {
        map.insert("agent_id".to_owned(), pid.into());
        map.insert("agent_type".to_owned(), kind.into());
    }
    Ok(payload.to_string())
}

fn ask(payload: &str, home: Home) -> Result<Answer, OperatorError> {
    let unread = |why: input::PayloadError| OperatorError::new(Trouble::Usage, why.to_string());
    let (payload, event) =
        input::decode(payload.as_bytes(), Some(Event::PreToolUse)).map_err(unread)?;
    let context = HookContext::new(payload, event, Role::All, home).map_err(unread)?;
    let disk = Disk::new(context.home.user(), &context.payload.cwd, context.settings.clone());
    let effects = observe::effects(&context.payload, &disk).map_err(unread)?;
    let mut quiet = still(&effects, &context, &disk);
    quiet.floor = floor::facts(&effects, &context);
    quiet.arms = arms::facts(&context);
    let mut kernel = match Kernel::open(&context.home, Make::Never, OPERATOR_PATIENCE) {
        Ok(kernel) => kernel,
        Err(StateError::Absent) => {
            let outcome = decide(&effects, &quiet, ALL_GATES);
            return Ok(Answer {
                reading: reading(&context, &disk),
                effects,
                facts: quiet,
                outcome,
            });
        }
        Err(why) => return Err(why.into()),
    };
    let mut asked = Asked::default();
    let mut round = 0;
    loop {
        let gathered = kernel.look(|tx| {
            let mut registry = Registry::new(context.settings.lease_seconds);
            let registry = &mut registry;
            Gather { tx, registry, context: &context, disk: &disk, asked: &asked }
                .run(&effects, &quiet)
        })?;
        round += 1;
        if gathered.needs.is_empty() || round == ROUNDS {
            let outcome = decide(&effects, &gathered.facts, ALL_GATES);
            let reading = reading(&context, &disk);
            return Ok(Answer { reading, effects, facts: gathered.facts, outcome });
        }
        gathered.needs.iter().for_each(|need| asked.ask(need));
    }
}

fn draw(answer: &Answer, context: &Context) -> String {
    let screen = &context.screen;
    let mut lines = Vec::new();
    match &answer.outcome.verdict {
        Verdict::Allow => lines.push(screen.paint(Tone::Good, "allowed")),
        Verdict::Deny(denial) => {
            let told = telling::tell(denial, &answer.facts);
            let tone = |at| if at == 0 { Tone::Bad } else { Tone::Plain };
            lines.extend(told.lines().enumerate().map(|(at, line)| screen.paint(tone(at), line)));
        }
    }
    if answer.effects.is_empty() {
        lines.push("read as: writes nothing, moves nothing".to_owned());
    } else {
        lines.push("read as:".to_owned());
    }
    lines.extend(tree(answer, screen));
    lines.extend(answer.outcome.notices.iter().map(|text| format!("note: {}", harmless(text))));
    lines.join("\n") + "\n"
}

fn as_json(answer: &Answer) -> Value {
    let effects: Vec<Value> = answer
        .effects
        .iter()
        .map(|effect| {
            let (what, words) = describe(effect);
            json!({"effect": what, "words": words})
        })
        .collect();
    let denial = match &answer.outcome.verdict {
        Verdict::Allow => None,
        Verdict::Deny(denial) => Some(json!({
            "rule": denial.rule.0,
            "what": denial.what,
            "target": denial.target.as_ref().map(ToString::to_string),
            "root": denial.root.as_ref().map(ToString::to_string),
            "holder": denial.holder.as_ref().map(|(holder, _)| holder.pid.to_string()),
            "text": telling::tell(denial, &answer.facts),
        })),
    };
    let verdict = if denial.is_some() { "deny" } else { "allow" };
    let reading: Vec<Value> = answer
        .reading
        .iter()
        .map(|step| {
            let does: Vec<String> = step.effects.iter().map(|effect| describe(effect).0).collect();
            let decided = step.effects.iter().any(|effect| decides(effect, answer));
            json!({"words": step.words, "depth": step.depth, "does": does, "decided": decided})
        })
        .collect();
    json!({"verdict": verdict, "denial": denial, "effects": effects, "reading": reading})
}

fn scope(scope: &Scope) -> String {
    match scope {
        Scope::All => "everything".to_owned(),
        Scope::Tracked => "every tracked path".to_owned(),
        Scope::Paths { take, .. } => {
            let names: Vec<String> = take.iter().map(ToString::to_string).collect();
            names.join(", ")
        }
        Scope::Matched { .. } => "what the patterns match".to_owned(),
    }
}

/// An effect in words, and the words of the command that it was read from.
pub(super) fn describe(effect: &Effect) -> (String, Option<&str>) {
    match effect {
        Effect::Check { path } => (format!("may write {path}"), None),
        Effect::Write { path } => (format!("writes {path}"), None),
        Effect::Remove { path } => (format!("removes or moves {path}"), None),
        Effect::Meta { path, .. } => (format!("changes mode, owner or times of {path}"), None),
        Effect::Stage { root, scope: what, words } => {
            (format!("stages {} in {root}", scope(what)), Some(words))
        }
        Effect::Unstage { root, scope: what, words } => {
            (format!("unstages {} in {root}", scope(what)), Some(words))
        }
        Effect::Commit { root, scope: what, words, .. } => {
            let what = match what {
                CommitScope::Index => "what the index holds".to_owned(),
                CommitScope::Tracked => "every tracked path".to_owned(),
                CommitScope::Only(what) | CommitScope::Include(what) => scope(what),
            };
            (format!("commits {what} in {root}"), Some(words))
        }
        Effect::Tree { root, words } => (format!("may change any file of {root}"), Some(words)),
        Effect::Pathspec { root, scope: what, words } => {
            (format!("throws away changes to {} in {root}", scope(what)), Some(words))
        }
        Effect::Untracked { root, scope: what, words, .. } => {
            (format!("throws away what git does not track in {root}: {}", scope(what)), Some(words))
        }
        Effect::Head { root, words, .. } => (format!("moves HEAD of {root}"), Some(words)),
        Effect::Sequencer { root, operation, words } => {
            (format!("goes on with or ends a {operation} in {root}"), Some(words))
        }
        Effect::Stash { root, words, .. } => {
            (format!("takes from the stash in {root}"), Some(words))
        }
        Effect::Branch { branch, words, .. } => {
            (format!("deletes or moves branch {branch}"), Some(words))
        }
        Effect::Worktree { path, words } => {
            (format!("removes or moves worktree {path}"), Some(words))
        }
        Effect::Operator(_) => ("does what is the operator's".to_owned(), None),
        Effect::Opaque { dir, words, .. } => {
            let place = dir.as_ref().map_or("anywhere".to_owned(), ToString::to_string);
            (format!("could be anything in {place}"), Some(words))
        }
    }
}
