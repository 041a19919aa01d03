//! The words of a denial: what, who holds it, since when, by which rule, and a command that works
//! instead. Pure text; nothing that came from a command can move the cursor or fake a line.

use super::facts::{Basis, Facts, RootKind, Why};
use super::gate::opaque::reason;
use super::lane::AbsPath;
use super::rules;
use super::verdict::{Denial, Holder};

/// Longest piece of somebody's text that is repeated.
const LONGEST: usize = 240;
/// Most own paths named in a remedy.
const MOST_PATHS: usize = 12;

/// Text without control characters, cut to a bearable length.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == LONGEST {
            out.push('…');
            break;
        }
        let shown = match c {
            '\n' | '\t' => ' ',
            c if c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) => '\u{fffd}',
            c => c,
        };
        out.push(shown);
    }
    out
}

/// A length of time for people.
#[must_use]
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A denial as the agent reads it.
#[must_use]
pub fn tell(denial: &Denial, facts: &Facts) -> String {
    format!("{}\n{}", head(denial, facts), remedy(denial, facts))
}

/// What was refused, by which rule, and who stands in the way.
#[must_use]
pub fn head(denial: &Denial, facts: &Facts) -> String {
    let mut lines = vec![format!("octo: denied [{}] {}", denial.rule.0, plain(&denial.what))];
    if let Some((holder, basis)) = &denial.holder {
        lines.push(held_by(holder, *basis, denial, facts));
    }
    if let Some(detail) = &denial.detail {
        lines.push(plain(detail));
    }
    lines.join("\n")
}

fn held_by(holder: &Holder, basis: Basis, denial: &Denial, facts: &Facts) -> String {
    let shared = denial.rule.0.starts_with("shared.") || denial.rule.0.starts_with("dimension.");
    let what = match (basis, shared) {
        (_, true) => "in use".to_owned(),
        (Basis::Lane, false) => match &denial.target {
            Some(path) => format!("{path} is held"),
            None => "held".to_owned(),
        },
        (Basis::Custody, false) => match &denial.target {
            Some(path) => format!("{path} has uncommitted work"),
            None => "made".to_owned(),
        },
    };
    let family = if holder.session == facts.actor.session { " of this session" } else { "" };
    let kind = if holder.kind == "session" {
        "session".to_owned()
    } else {
        format!("agent ({})", plain(&holder.kind))
    };
    format!(
        "{what} by {kind} {}{family}, for {}, last heard of {} ago",
        plain(holder.pid.as_str()),
        span(holder.age),
        span(holder.silent)
    )
}

/// Quotes for a shell.
fn quote(text: &str) -> String {
    shell_words::quote(text).into_owned()
}

/// The command that gives the session a tree of its own.
#[must_use]
pub fn own_tree(facts: &Facts, root: &AbsPath) -> String {
    // Trees are made from the main checkout, never from a linked one.
    let kind = facts.roots.iter().find(|known| known.path == *root).map(|known| &known.kind);
    let root = match kind {
        Some(RootKind::Linked { main }) => main,
        Some(RootKind::Main | RootKind::Unreadable) | None => root,
    };
    format!(
        "{} --session-id {} worktree-init --repo {}",
        quote(&facts.dim),
        quote(facts.actor.session.as_str()),
        quote(&root.to_string())
    )
}

/// The actor's own uncommitted paths in a root that nobody else claims, relative to it.
fn own_paths(facts: &Facts, root: &AbsPath) -> Vec<String> {
    facts
        .own
        .iter()
        .filter(|p| !facts.holds.iter().any(|h| h.path.overlaps(p)))
        .filter_map(|p| p.below(root))
        .map(|rest| quote(&rest.to_string_lossy()))
        .take(MOST_PATHS)
        .collect()
}

fn remedy(denial: &Denial, facts: &Facts) -> String {
    let Some(root) = &denial.root else { return general(denial) };
    let tree = own_tree(facts, root);
    let in_root = format!("git -C {}", quote(&root.to_string()));
    let own = own_paths(facts, root);
    let is_commit = denial.what.contains("commit");
    match denial.rule.0 {
        "dimension.staging" | "tree.staging" | "tree.commit" if !own.is_empty() && is_commit => {
            format!(
                "commit your own paths: {in_root} add -- {own} && {in_root} commit -m 'your message' -- {own}",
                own = own.join(" ")
            )
        }
        "dimension.staging" | "tree.staging" if !own.is_empty() => {
            format!("stage your own paths: {in_root} add -- {}", own.join(" "))
        }
        "dimension.staging" | "tree.staging" | "tree.commit" => format!(
            "name the paths that are yours (git add -- PATHS, git commit -- PATHS), or work in your own worktree: {tree}"
        ),
        "tree.index" if !own.is_empty() => {
            format!("name your own paths: {in_root} restore --staged -- {}", own.join(" "))
        }
        "tree.pathspec" if !own.is_empty() => {
            format!("name your own paths: {in_root} restore -- {}", own.join(" "))
        }
        "tree.stash" => format!(
            "see whose entries there are: {in_root} stash list; keep your own work as a commit in your own worktree: {tree}"
        ),
        "shared.readonly" => match &denial.target {
            Some(path) => format!("your own worktree has it: {path}"),
            None => format!("work in your own worktree: {tree}"),
        },
        "lane.held" => format!("wait for it, or edit in your own worktree: {tree}"),
        "shell.opaque" if denial.detail.as_deref() == Some(reason(Why::TooLong)) => format!(
            "put long text into a file with the Write tool and name that file, make several commands of it, or run it in your own worktree: {tree}"
        ),
        "shell.opaque" => format!(
            "write it plainly (names instead of values that are only known at run time), or run it in your own worktree: {tree}"
        ),
        _ if denial.rule.0.starts_with("floor.") || denial.rule.0.starts_with("arm.") => {
            general(denial)
        }
        _ => format!("do it in your own worktree: {tree}"),
    }
}

fn general(denial: &Denial) -> String {
    match rules::find(denial.rule.0) {
        Some((_, _, remedy)) => format!("what to do: {remedy}"),
        None => "ask the operator: octo doctor".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_command_can_fake_a_line() {
        assert_eq!(plain("a\nb\u{1b}[2K\u{202e}c"), "a b\u{fffd}[2K\u{fffd}c");
        assert!(plain(&"x".repeat(1000)).chars().count() <= LONGEST + 1);
    }
}
