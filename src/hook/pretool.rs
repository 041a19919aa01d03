//! PreToolUse: what would the call do, whom would it meet, may it run. The decision is taken
//! inside one transaction that also writes the claim; git is asked outside of it.

use super::asked::{Asked, Need};
use super::context::Context;
use super::fork::{self, Sent};
use super::gather::{self, Gather};
use super::observe::{self, Tool};
use super::site::Disk;
use super::{arms, claims, delegate, fencing, floor, notify, register, reply, trees};
use crate::applet::Role;
use crate::kernel::beat::{self, Flight, Seen};
use crate::kernel::life::Registry;
use crate::kernel::store::{CallRow, Kernel, Make, PATIENCE, ProcessRow, Tx};
use crate::kernel::{StateError, log};
use crate::policy::facts::{Arms, Effect, Facts};
use crate::policy::lane::Pid;
use crate::policy::rules::{self, ALL_GATES, Gate};
use crate::policy::verdict::{Denial, Note, Outcome, Party, Verdict, What};
use crate::policy::{self, telling};
use crate::shield::Reply;

/// Times a decision is taken again because git had to be asked.
const ROUNDS: usize = 4;
/// Most processes of a circle of waiting that are followed.
const LONGEST_RING: usize = 9;
/// A call seen again within this many seconds is the same call under another name.
const SAME_CALL: u64 = 120;

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
    let disk = Disk::new(context.home.user(), &context.payload.cwd, context.settings.clone());
    let effects = match observe::effects(&context.payload, &disk) {
        Ok(effects) => effects,
        Err(e) => {
            let (_, _, remedy) = rules::find("gate.payload").unwrap_or_default();
            return reply::failure(context.event, "gate.payload", &e.to_string(), remedy);
        }
    };
    let flight = if effects.is_empty() { Flight::Reads } else { Flight::Writes };
    let call = context.payload.call().map(|id| (id, flight));
    let seen = beat::touch(&context.home, &context.actor.pid, call, context.now.unix);
    if effects.is_empty()
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
    let mut kernel = Kernel::open(&context.home, Make::IfAbsent, PATIENCE)?;
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
                Finished::Said(reply) => return Ok(with_words(context, reply, &words)),
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
    let call = call_key(context);
    if let Some(said) = already_said(tx, context, call.as_deref())? {
        let outcome = Outcome {
            verdict: Verdict::Allow,
            claims: Vec::new(),
            keeps: Vec::new(),
            notices: Vec::new(),
            fork: None,
        };
        let said = Some(said);
        let settled = Settled { outcome, facts: still.clone(), row, notices: Vec::new(), said };
        return Ok(Round::Settled(Box::new(settled)));
    }
    let gathered =
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
    let mut gathered = gathered;
    match &outcome.verdict {
        Verdict::Allow => {
            if tool == Tool::Delegate {
                delegate::hand_over(tx, context)?;
            }
            // A name that does not judge lanes must not take any: it would take a live one.
            if gates(context.role).contains(&Gate::Lane) {
                claims::take(tx, context, &mut registry, &gathered.facts, effects, &outcome)?;
            }
            if !keeps_first(tx, context, call.as_deref(), &outcome)? {
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
            gathered.facts.own = gather::own(tx, &context.actor.pid)?;
            gathered.facts.dim = callable("octo-dim");
            record_denial(tx, context, denial, &mut row)?;
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
            Verdict::Deny(denial) => Some(told(denial, &gathered.facts, &row)),
        };
        // A session that is sent away may have to stay after all: that is judged anew.
        let sent_away = outcome.fork.is_some();
        if !sent_away && (verdict.is_some() || claims::needs_call(effects)) {
            let now = context.now.tick;
            tx.put_call(&CallRow { id, pid: context.actor.pid.clone(), at: now, verdict, roots })?;
        }
    }
    let facts = gathered.facts;
    Ok(Round::Settled(Box::new(Settled { outcome, facts, row, notices, said: None })))
}

/// A call's key in the table. Ids are unique in a client, not on a machine.
fn call_key(context: &Context<'_>) -> Option<String> {
    context.payload.call().map(|id| format!("{}/{id}", context.actor.pid))
}

/// What was said about this very call under another name: the words of its refusal, or nothing
/// when it passed all gates.
fn already_said(
    tx: &Tx<'_>,
    context: &Context<'_>,
    key: Option<&str>,
) -> Result<Option<String>, StateError> {
    let Some(key) = key else { return Ok(None) };
    let row = tx.call(key)?.filter(|row| context.now.tick.since(row.at) <= SAME_CALL);
    Ok(row.and_then(|row| row.verdict))
}

/// Whether this name of ours is the one that holds the bytes an allowed call is about to take:
/// one that judges lanes, and the first of them to see the call.
fn keeps_first(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    call: Option<&str>,
    outcome: &Outcome,
) -> Result<bool, StateError> {
    if outcome.keeps.is_empty() {
        return Ok(true);
    }
    if !gates(context.role).contains(&Gate::Lane) {
        return Ok(false);
    }
    let Some(id) = call.map(|call| format!("{call}#kept")) else { return Ok(true) };
    let now = context.now.tick;
    if tx.call(&id)?.is_some_and(|row| now.since(row.at) <= SAME_CALL) {
        return Ok(false);
    }
    let pid = context.actor.pid.clone();
    tx.put_call(&CallRow { id, pid, at: now, verdict: None, roots: Vec::new() })?;
    Ok(true)
}

/// Whether more of git could change this denial.
fn hangs_on_git(denial: &Denial) -> bool {
    denial.rule.0.starts_with("tree.")
        || denial.rule.0.starts_with("lane.")
        || denial.rule.0.starts_with("shell.")
        || denial.rule.0.starts_with("shared.")
}

/// How a shell calls one of our names: plainly where it is on PATH, else by its whole path.
fn callable(name: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join(name).is_file()) {
        return name.to_owned();
    }
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(std::path::Path::parent).map(|dir| dir.join(name));
    beside
        .filter(|path| path.is_file())
        .map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

fn record_denial(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    denial: &Denial,
    row: &mut ProcessRow,
) -> Result<(), StateError> {
    let gate = rules::find(denial.rule.0).map(|(gate, ..)| gate.to_owned());
    let note = Note {
        rule: Some(denial.rule.0.to_owned()),
        gate,
        target: Some(
            denial
                .target
                .as_ref()
                .map_or_else(|| telling::plain(&denial.what), ToString::to_string),
        ),
        root: denial.root.as_ref().map(ToString::to_string),
        holder: denial.holder.as_ref().map(|(h, _)| Party::from(h)),
        tool: Some(context.payload.tool().to_owned()),
        call: context.payload.call().map(str::to_owned),
        ..Note::default()
    };
    tx.journal(&row.pid, What::Deny, note);
    let key = format!("{} {}", denial.rule.0, denial.what);
    row.in_a_row = if row.last_denied.as_deref() == Some(&key) { row.in_a_row + 1 } else { 1 };
    row.last_denied = Some(key);
    row.denials += 1;
    row.seen = context.now.tick;
    row.waits_for = denial.holder.as_ref().map(|(h, _)| h.pid.clone());
    tx.put_process(row)?;
    if let Some((holder, _)) = &denial.holder
        && denial.rule.0.starts_with("lane.")
        && row.in_a_row == 1
    {
        let text = format!(
            "octo: {} was refused {} because you hold it; if you are done with it: octo yield {}",
            row.pid,
            telling::plain(&denial.what),
            denial.target.as_ref().map_or(String::new(), ToString::to_string)
        );
        tx.notify(&holder.pid, &text)?;
    }
    Ok(())
}

/// The words of a denial, with what only the table knows: repetition and waiting in a circle.
fn told(denial: &Denial, facts: &Facts, row: &ProcessRow) -> String {
    let mut text = telling::tell(denial, facts);
    if row.in_a_row >= notify::PATIENCE {
        text = format!(
            "the same command was refused {}x; repeating it won't help. A person can look: octo ps{}\n{text}",
            row.in_a_row,
            denial
                .holder
                .as_ref()
                .map_or(String::new(), |(h, _)| format!("; octo ps --release {}", h.pid)),
        );
    }
    text
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
            let mut lines = vec![told(denial, &settled.facts, &settled.row)];
            if settled.row.in_a_row == notify::PATIENCE {
                let who = context.actor.pid.as_str();
                notify::person(
                    &context.settings,
                    &format!("{who} needs a person: [{}] {}", denial.rule.0, denial.what),
                );
            }
            if let Some((holder, _)) = &denial.holder {
                lines.extend(circle(kernel, &settled.row, &holder.pid));
            }
            lines.extend(settled.notices.iter().cloned());
            Ok(Finished::Said(reply::deny(&lines.join("\n"))))
        }
        Verdict::Allow => {
            let mut words = settled.notices.clone();
            words.extend(settled.outcome.notices.iter().cloned());
            match trees::keep(context, kernel, &settled.outcome) {
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

/// Processes that wait for each other in a circle: the one that began last gives way, and is told
/// so at its next event when it is not the caller.
fn circle(kernel: &mut Kernel, me: &ProcessRow, holder: &Pid) -> Option<String> {
    let told = kernel.transact(|tx| {
        let mut ring = vec![me.clone()];
        let mut at = holder.clone();
        while at != me.pid {
            let Some(row) = tx.process(&at)?.filter(|_| ring.len() < LONGEST_RING) else {
                return Ok(None);
            };
            let next = row.waits_for.clone();
            ring.push(row);
            let Some(next) = next else { return Ok(None) };
            at = next;
        }
        let last = ring.into_iter().max_by(|a, b| (a.started, &a.pid).cmp(&(b.started, &b.pid)));
        let Some(last) = last else { return Ok(None) };
        if last.pid == me.pid {
            return Ok(Some(format!(
                "{holder} waits for you as well; you began later, so give way: octo yield, then go on when it is done"
            )));
        }
        let word = format!(
            "octo: {} waits for what you hold, as you wait for others; you began later, so give way: octo yield",
            me.pid
        );
        tx.notify(&last.pid, &word)?;
        Ok(Some(format!(
            "{holder} waits for you as well; {} began later and is told to give way",
            last.pid
        )))
    });
    told.ok().flatten()
}

/// The table can't be used. Beside others that is a denial; a person alone is not locked out.
fn without_state(
    context: &Context<'_>,
    disk: &Disk,
    effects: &[Effect],
    error: &StateError,
) -> Reply {
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
