//! PreToolUse: what would the call do, whom would it meet, may it run. The decision is taken
//! inside one transaction that also writes the claim; git is asked outside of it.

use super::asked::{Asked, Need};
use super::context::Context;
use super::fork::{self, Sent};
use super::gather::{self, Gather};
use super::observe::{self, Tool};
use super::site::Disk;
use super::{
    arms, claims, delegate, fencing, floor, keeping, notify, once, refuse, register, reply, trees,
    whose,
};
use crate::applet::Role;
use crate::kernel::beat::{self, Flight, Seen};
use crate::kernel::life::Registry;
use crate::kernel::store::{CallRow, Kernel, ProcessRow, Tx};
use crate::kernel::{StateError, log, reserve};
use crate::policy::facts::{Arms, Effect, Facts};
use crate::policy::rules::{self, ALL_GATES, Gate};
use crate::policy::verdict::{Denial, Outcome, Verdict};
use crate::policy::{self, telling};
use crate::shield::Reply;

/// Times a decision is taken again because git had to be asked.
const ROUNDS: usize = 4;

/// Which gates a name runs.
#[must_use]
pub fn gates(role: Role) -> &'static [Gate] {
    match role {
        Role::All => ALL_GATES,
        Role::Dimension => &[Gate::Dimension],
        Role::Write => &[Gate::Floor, Gate::Lane, Gate::Arm],
        Role::Bash => &[Gate::Floor, Gate::Tree, Gate::Lane, Gate::Arm, Gate::Guard],
        Role::Isolation => &[],
    }
}

/// Whether a name looks at a kind of tool at all.
fn concerns(role: Role, tool: Tool) -> bool {
    match role {
        Role::All => true,
        Role::Dimension | Role::Bash => tool == Tool::Command,
        Role::Write => matches!(tool, Tool::Write | Tool::Mcp | Tool::Delegate),
        Role::Isolation => false,
    }
}

/// Judges a call.
#[must_use]
pub fn run(context: &Context<'_>) -> Reply {
    let tool = Tool::of(context.payload.tool());
    if !concerns(context.role, tool) {
        return reply::pass();
    }
    let disk = Disk::new(context.home.user(), &context.payload.cwd, context.settings.clone())
        .standing_in(context.root.clone(), context.links.clone());
    let effects = match observe::effects(&context.payload, &disk) {
        Ok(effects) => effects,
        Err(e) => {
            let (_, _, remedy) = rules::find("gate.payload").unwrap_or_default();
            return reply::failure(context.event, "gate.payload", &e.to_string(), remedy);
        }
    };
    let flight = if observe::runs_ours(&context.payload) {
        Flight::Ours
    } else if effects.is_empty() {
        Flight::Reads
    } else {
        Flight::Writes
    };
    let call = context.payload.call().map(|id| (id, flight));
    let lost_ground = trees::lost_ground(context);
    let seen = beat::touch(&context.home, &context.actor.pid, call, context.now.unix);
    if effects.is_empty()
        && lost_ground.is_empty()
        && tool != Tool::Delegate
        && matches!(seen, Ok(Seen::Before { .. }))
        && !beat::has_word(&context.home, &context.actor.pid)
    {
        // Nothing to decide: the ticket, where there is a fence, says only whose command it is.
        let facts = Facts::about(context.actor.clone());
        return match fencing::admit(context, &disk, &effects, &facts) {
            Ok(()) => reply::pass(),
            Err(e) => without_state(context, &disk, &effects, &e),
        };
    }
    let silent = match seen {
        Ok(Seen::Before { silent }) => silent,
        Ok(Seen::First) | Err(_) => 0,
    };
    let reply = match judge(context, &disk, &effects, tool, silent) {
        Ok(reply) => reply,
        Err(e) => without_state(context, &disk, &effects, &e),
    };
    let reply = with_words(context, reply, &lost_ground);
    if let Some(id) = context.payload.call().filter(|_| reply.code != 0) {
        // What was refused is not under way. No harm when it can't be noted: it only looks busy.
        let over = Some((id, Flight::Over));
        drop(beat::touch(&context.home, &context.actor.pid, over, context.now.unix));
    }
    reply
}

/// What one try at deciding came to.
enum Round {
    /// Git must be asked first.
    Ask(Vec<Need>),
    /// Done.
    Settled(Box<Settled>),
}

/// A decision and what is still to do for it outside the transaction.
pub struct Settled {
    /// The outcome.
    pub outcome: Outcome,
    /// The facts it was taken on.
    pub facts: Facts,
    /// The caller's row.
    pub row: ProcessRow,
    /// Who gives way, where processes wait for each other.
    pub advice: Option<String>,
    /// Words left for the caller.
    pub notices: Vec<String>,
    /// The same call was judged before under another name: its words, or none when it passed.
    pub said: Option<String>,
}

fn judge(
    context: &Context<'_>,
    disk: &Disk,
    effects: &[Effect],
    tool: Tool,
    silent: u64,
) -> Result<Reply, StateError> {
    let mut kernel = context.kernel()?;
    let mut still = gather::still(effects, context, disk);
    still.floor = floor::facts(effects, context);
    still.fenced = fencing::standing(context);
    still.arms = if effects.is_empty() { Arms::default() } else { arms::facts(context) };
    let mut asked = Asked::default();
    let mut words: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        let last = round + 1 == ROUNDS;
        let out = kernel.transact(|tx| {
            decide(tx, context, disk, effects, &still, &asked, tool, silent, last)
        })?;
        match out {
            Round::Ask(needs) => needs.iter().for_each(|need| asked.ask(need)),
            Round::Settled(settled) => match finish(context, disk, effects, &mut kernel, &settled)?
            {
                Finished::Said(reply) => {
                    kernel.abandon();
                    return Ok(with_words(context, reply, &words));
                }
                Finished::Again(word) => words.push(word),
            },
        }
    }
    Err(StateError::Table("git's answers never settled".to_owned()))
}

#[expect(clippy::too_many_arguments, reason = "one transaction's whole surroundings")]
fn decide(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    disk: &Disk,
    effects: &[Effect],
    still: &Facts,
    asked: &Asked,
    tool: Tool,
    silent: u64,
    last: bool,
) -> Result<Round, StateError> {
    let row = register::ensure(tx, context, silent)?;
    let mut registry = Registry::new(context.settings.lease_seconds);
    let call = once::key(context);
    if let Some(said) = once::said(tx, context, call.as_deref())? {
        let outcome = Outcome {
            verdict: Verdict::Allow,
            claims: Vec::new(),
            keeps: Vec::new(),
            notices: Vec::new(),
            fork: None,
        };
        let said = Some(said);
        let facts = still.clone();
        let settled = Settled { outcome, facts, row, advice: None, notices: Vec::new(), said };
        return Ok(Round::Settled(Box::new(settled)));
    }
    let mut gathered =
        Gather { tx, registry: &mut registry, context, disk, asked }.run(effects, still)?;
    let mut outcome = policy::decide(effects, &gathered.facts, gates(context.role));
    if let Verdict::Deny(denial) = &outcome.verdict
        && !last
        && !gathered.needs.is_empty()
        && hangs_on_git(denial)
    {
        return Ok(Round::Ask(gathered.needs));
    }
    for hold in &gathered.ended {
        claims::end_clean(tx, hold)?;
    }
    let mut row = row;
    let mut advice = None;
    match &outcome.verdict {
        Verdict::Allow => {
            if tool == Tool::Delegate {
                delegate::hand_over(tx, context)?;
            }
            // A name that does not judge lanes must not take any: it would take a live one.
            if gates(context.role).contains(&Gate::Lane) {
                let facts = &gathered.facts;
                let unowned = claims::take(tx, context, &mut registry, facts, effects, &outcome)?;
                outcome.keeps.extend(keeping::overwritten(&unowned, facts));
            }
            if !once::keeps(tx, context, call.as_deref(), &outcome)? {
                outcome.keeps.clear();
                outcome.notices.clear();
            }
            if row.waits_for.is_some() || row.in_a_row > 0 && !effects.is_empty() {
                row.waits_for = None;
                row.in_a_row = 0;
                tx.put_process(&row)?;
            }
        }
        Verdict::Deny(denial) => {
            // What else is the caller's own, for the remedy; nobody else needs it.
            gathered.facts.own = whose::own(tx, &context.actor.pid)?;
            gathered.facts.dim = refuse::callable("octo-dim");
            advice = refuse::record(tx, context, denial, &mut row)?;
        }
    }
    // Who is sent to a tree of its own hears the rest at its next event.
    let notices =
        if outcome.fork.is_some() { Vec::new() } else { tx.take_notices(&context.actor.pid)? };
    if !effects.is_empty()
        && let Some(id) = call
    {
        let roots = claims::tips_before(effects, &gathered.facts);
        let verdict = match &outcome.verdict {
            Verdict::Allow => None,
            Verdict::Deny(denial) => Some(refuse::told(denial, &gathered.facts, &row)),
        };
        // A session that is sent away may have to stay after all: that is judged anew.
        let sent_away = outcome.fork.is_some();
        if !sent_away && (verdict.is_some() || claims::needs_call(effects)) {
            let now = context.now.tick;
            tx.put_call(&CallRow { id, pid: context.actor.pid.clone(), at: now, verdict, roots })?;
        }
    }
    let facts = gathered.facts;
    Ok(Round::Settled(Box::new(Settled { outcome, facts, row, advice, notices, said: None })))
}

/// Whether more of git could change this denial.
fn hangs_on_git(denial: &Denial) -> bool {
    denial.rule.0.starts_with("tree.")
        || denial.rule.0.starts_with("lane.")
        || denial.rule.0.starts_with("shell.")
        || denial.rule.0.starts_with("shared.")
}

/// What came of a decision.
enum Finished {
    /// The reply.
    Said(Reply),
    /// The ground changed (no tree could be made): decide again, and say this.
    Again(String),
}

/// Words that came up on the way, in front of a reply that lets the call pass.
fn with_words(context: &Context<'_>, reply: Reply, words: &[String]) -> Reply {
    if words.is_empty() || reply.code != 0 || !reply.stdout.is_empty() {
        return reply;
    }
    reply::context(context.event, words)
}

fn finish(
    context: &Context<'_>,
    disk: &Disk,
    effects: &[Effect],
    kernel: &mut Kernel,
    settled: &Settled,
) -> Result<Finished, StateError> {
    if let Some(said) = &settled.said {
        let reply = if said.is_empty() { reply::pass() } else { reply::deny(said) };
        return Ok(Finished::Said(reply));
    }
    match &settled.outcome.verdict {
        Verdict::Deny(denial) => {
            if let Some(root) = &settled.outcome.fork {
                return Ok(match fork::send(context, kernel, settled, root)? {
                    Sent::Told(reply) => Finished::Said(reply),
                    Sent::Stays(word) => Finished::Again(word),
                });
            }
            let mut lines = vec![refuse::told(denial, &settled.facts, &settled.row)];
            if settled.row.in_a_row == notify::PATIENCE {
                let who = context.actor.pid.as_str();
                notify::person(
                    &context.settings,
                    &format!("{who} needs a person: [{}] {}", denial.rule.0, denial.what),
                );
            }
            lines.extend(settled.advice.iter().chain(&settled.notices).cloned());
            Ok(Finished::Said(reply::deny(&lines.join("\n"))))
        }
        Verdict::Allow => {
            let mut words = settled.notices.clone();
            words.extend(settled.outcome.notices.iter().cloned());
            match keeping::keep(context, kernel, &settled.outcome) {
                Ok(kept) => words.extend(kept),
                Err(refusal) => {
                    words.insert(0, refusal);
                    return Ok(Finished::Said(reply::deny(&words.join("\n"))));
                }
            }
            fencing::admit(context, disk, effects, &settled.facts)?;
            Ok(Finished::Said(match delegate::isolate(context, &words) {
                Some(reply) => reply,
                None => reply::context(context.event, &words),
            }))
        }
    }
}

/// The table can't be used. Beside others that is a denial; a person alone is not locked out.
fn without_state(
    context: &Context<'_>,
    disk: &Disk,
    effects: &[Effect],
    error: &StateError,
) -> Reply {
    if matches!(error, StateError::Full(_)) {
        // Something beside the table found no room; the next call shall.
        reserve::give_up(&context.home);
    }
    if effects.is_empty() {
        // Nothing that could meet anybody: a broken table is no reason to refuse a look around.
        log::report(&context.home, context.now, &error.to_string());
        return reply::pass();
    }
    let mut facts = gather::still(effects, context, disk);
    facts.floor = floor::facts(effects, context);
    facts.arms = arms::facts(context);
    let floor = [Gate::Floor, Gate::Arm];
    if let Verdict::Deny(denial) = policy::decide(effects, &facts, &floor).verdict {
        return reply::deny(&telling::tell(&denial, &facts));
    }
    let mine = [&context.actor.pid, &context.actor.session];
    let lease = context.settings.lease_seconds;
    if beat::others_about(&context.home, &mine, lease, context.now.unix) {
        let (_, _, remedy) = rules::find("gate.state").unwrap_or_default();
        let what = format!("{error}, and others are about");
        return reply::failure(context.event, "gate.state", &what, remedy);
    }
    log::report(&context.home, context.now, &error.to_string());
    reply::context(
        context.event,
        &[format!(
            "octo: {error}; you are alone, so nothing is refused. Mend: octo doctor --repair"
        )],
    )
}
