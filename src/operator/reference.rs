//! The reference: everything that is fixed by a table, read out of that table. One list of
//! chapters, set as plain text for a terminal and as a man page. Says nothing that the program
//! does not say somewhere else.

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory;

use super::cli::Cli;
use super::error::CODES;
use crate::applet::{Always, OnError, WIRES};
use crate::config::{ROWS, describe, wrap};
use crate::kernel::home::Home;
use crate::policy::rules::{GUARDS, RULES};
use crate::policy::verdict::What;

/// The name of its man page.
pub const PAGE: &str = "octo-reference";

/// A chapter: what it is about, and a list of terms with what they mean.
#[derive(Debug)]
pub struct Chapter {
    /// Its heading.
    pub title: &'static str,
    /// What the list is.
    pub intro: &'static str,
    /// Term and meaning, the meaning in paragraphs.
    pub rows: Vec<(String, Vec<String>)>,
}

/// The whole reference.
#[must_use]
pub fn chapters() -> Vec<Chapter> {
    vec![
        words(),
        commands(),
        events(),
        rules(),
        guards(),
        settings(),
        environment(),
        files(),
        journal(),
        codes(),
    ]
}

fn row(term: impl Into<String>, meaning: impl Into<String>) -> (String, Vec<String>) {
    (term.into(), vec![meaning.into()])
}

fn words() -> Chapter {
    let rows = WORDS.iter().map(|(term, meaning)| row(*term, *meaning)).collect();
    Chapter { title: "Words", intro: "What denials, listings and the record speak of.", rows }
}

fn commands() -> Chapter {
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let rows = shown.map(|sub| {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let more = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = more.lines().skip(1).take_while(|line| line.starts_with("  "));
        let told =
            std::iter::once(format!("{about}.")).chain(examples.map(|line| line.trim().to_owned()));
        (format!("octo {}", sub.get_name()), told.collect())
    });
    let intro = "Each has its own page (octo-NAME(1)) and says its options with --help. --quiet leaves \
                 results and errors alone; --json, where a command has it, prints one object that begins \
                 with its schema and kind.";
    Chapter { title: "Commands", intro, rows: rows.collect() }
}

fn events() -> Chapter {
    let rows = WIRES.iter().map(|wire| {
        let tools = match wire.matcher {
            "" => String::new(),
            matcher => format!(" for {}", matcher.replace('|', ", ")),
        };
        let wired = match wire.always {
            Always::Yes => "Wired always",
            Always::NewClients => "Wired where the client knows it",
            Always::Engine => "Wired when octo makes the client's worktrees",
        };
        let fails = match wire.on_error {
            OnError::Deny => "an error of ours denies the call",
            OnError::Report => "an error of ours is reported and blocks nothing",
        };
        let (own, client) = (wire.budget_ms / 1000, wire.timeout_s);
        row(
            wire.name,
            format!(
                "{wired}{tools}; gives up after {own} s (the client after {client} s); {fails}."
            ),
        )
    });
    let intro =
        "What of the client's events reaches octo. One entry an event, one program, one decision.";
    Chapter { title: "Hook events", intro, rows: rows.collect() }
}

fn rules() -> Chapter {
    let rows = RULES.iter().map(|rule| judged(rule.id.0, rule.summary, rule.remedy)).collect();
    let intro = "Why a call is refused, in order of precedence, and what works instead.";
    Chapter { title: "Rules", intro, rows }
}

fn guards() -> Chapter {
    let rows = GUARDS.iter().map(|rule| judged(rule.id.0, rule.summary, rule.remedy)).collect();
    let intro = "Refusals that come from no rule: the gate itself could not judge, or the kernel's fence \
                 stopped a running command.";
    Chapter { title: "Guards", intro, rows }
}

fn judged(id: &str, summary: &str, remedy: &str) -> (String, Vec<String>) {
    (id.to_owned(), vec![format!("Refuses {summary}."), format!("Instead: {remedy}.")])
}

fn settings() -> Chapter {
    let rows = ROWS.iter().map(|setting| {
        let told = format!("{} (default {})", describe(setting), setting.default);
        (setting.key.to_owned(), vec![setting.doc.to_owned(), told])
    });
    let intro = "In ~/.config/octo/config.toml; for this machine alone in ~/.local/state/octo/machine.toml; \
                 in .octo.toml at the root of a repository as far as each says.";
    Chapter { title: "Settings", intro, rows: rows.collect() }
}

fn environment() -> Chapter {
    let rows = ENVIRONMENT.iter().map(|(term, meaning)| row(*term, *meaning)).collect();
    Chapter {
        title: "Environment",
        intro: "What is read where the client or octo is started.",
        rows,
    }
}

fn files() -> Chapter {
    let home = Home::of(Path::new("~"));
    let shown = |path: std::path::PathBuf| path.display().to_string();
    let mut rows = vec![
        row(shown(home.table()), "The process table: who lives, holds and owns. Additive schema."),
        row(shown(home.lock()), "The lock in front of it."),
        row(
            format!("{}/*.jsonl", home.journals().display()),
            "The record, a chain of lines a process.",
        ),
        row(shown(home.beats()), "When each process was last heard of: the times of these files."),
        row(
            shown(home.off()),
            "The operator's pause, beside the table so that a broken one can't lock anybody out.",
        ),
        row(shown(home.report()), "What went wrong where nothing may be blocked."),
    ];
    rows.extend(FILES.iter().map(|(term, meaning)| row(*term, *meaning)));
    let intro = "Nothing of octo's is anywhere else but in git: refs/octo/keep/ has what was kept before it \
                 could be lost, dim/ the branches of sessions.";
    Chapter { title: "Files", intro, rows }
}

fn journal() -> Chapter {
    let name = |what: What| serde_json::to_string(&what).unwrap_or_default().replace('"', "");
    let rows = What::ALL.iter().map(|what| row(name(*what), meaning(*what))).collect();
    let intro =
        "The kinds of lines in the record. octo replay shows them, --verify proves their chain.";
    Chapter { title: "Record", intro, rows }
}

fn codes() -> Chapter {
    let rows = CODES.iter().map(|(code, text)| row(code.to_string(), format!("{text}."))).collect();
    Chapter { title: "Exit codes", intro: "The same for every command, hook and applet.", rows }
}

fn meaning(what: What) -> &'static str {
    match what {
        What::Start => "A process was seen for the first time, or came back.",
        What::Tool => "A tool call that touches something.",
        What::Claim => "A lane was taken.",
        What::Confirm => "The claimed path was written: its bytes are the holder's now.",
        What::Release => "A lane was given up, handed on, or taken by the operator.",
        What::Expire => "A lane lapsed in silence.",
        What::Clean => "The path was committed or is clean again.",
        What::Deny => "A call was refused: rule, holder, target.",
        What::Override => "The operator or a setting let something pass.",
        What::Drift => "A path of somebody else's changed without having been named.",
        What::Keep => "Bytes were kept before they were replaced.",
        What::Fork => "A session got a worktree of its own, or could not.",
        What::Notice => "A word to the operator or to a session.",
        What::Exit => "A process ended.",
    }
}

const WORDS: &[(&str, &str)] = &[
    ("process", "A session's main thread or one of its subagents."),
    ("root", "A git work tree: the main checkout or a linked worktree."),
    (
        "lane",
        "An exclusive lease on a path. Taken by writing; ends with the commit of the path, the holder's end, octo yield, or silence.",
    ),
    ("custody", "Whose uncommitted bytes a path has. Outlives the lane."),
    (
        "denial",
        "A refused call: the rule, who stands in the way, and a command that works instead.",
    ),
    ("own tree", "The linked worktree of a session, on its branch dim/ID."),
    ("arm", "A declared folder that only its own sessions write in."),
    ("operator", "The person at the terminal. What loosens a guard is theirs."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "OCTO_ISOLATION",
        "off, auto or always: the setting isolation for the sessions of one client.",
    ),
    (
        "OCTO_LOG",
        "An absolute path: each hook call adds a line with event, exit code, time and reason.",
    ),
    ("NO_COLOR", "Set to anything: no colours. CLICOLOR_FORCE: colours also into a pipe."),
    (
        "CLAUDE_CONFIG_DIR",
        "Where the client keeps its settings; the kernel stays in ~/.claude, so that all accounts of a user meet.",
    ),
    (
        "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME",
        "Move the settings, the receipts and the installed program.",
    ),
];

const FILES: &[(&str, &str)] = &[
    ("~/.local/share/octo/bin", "The installed program and its names."),
    ("~/.local/state/octo", "Receipts of what was installed: what makes the removal exact."),
    ("~/.config/octo/config.toml", "Your settings."),
    (
        "~/.octorato/arm/REPOSITORY/ID",
        "The trees of sessions; ~/.octorato/dim/ID for those of ~/.claude.",
    ),
    ("~/.claude/company/config/arms-paths.json", "The declared arms."),
];

/// The reference as text for a screen of this width.
#[must_use]
pub fn text(width: usize) -> String {
    let width = width.min(100);
    let mut out = String::new();
    for chapter in chapters() {
        let _infallible = writeln!(out, "{}\n", chapter.title.to_uppercase());
        for line in wrap(chapter.intro, width) {
            let _infallible = writeln!(out, "{line}");
        }
        for (term, paragraphs) in &chapter.rows {
            let _infallible = writeln!(out, "\n  {term}");
            for line in paragraphs.iter().flat_map(|paragraph| wrap(paragraph, width - 6)) {
                let _infallible = writeln!(out, "      {line}");
            }
        }
        out.push('\n');
    }
    out
}

/// The reference as a man page.
#[must_use]
pub fn page() -> String {
    let mut out = format!(
        ".TH OCTO\\-REFERENCE 7 \"\" \"octo {}\"\n.SH NAME\nocto\\-reference \\- rules, settings, events, files and exit codes of octo\n",
        env!("CARGO_PKG_VERSION")
    );
    for chapter in chapters() {
        let title = chapter.title.to_uppercase();
        let _infallible = writeln!(out, ".SH \"{title}\"\n{}", roff(chapter.intro));
        for (term, paragraphs) in &chapter.rows {
            let told: Vec<String> = paragraphs.iter().map(|text| roff(text)).collect();
            let _infallible =
                writeln!(out, ".TP\n\\fB{}\\fR\n{}", roff(term), told.join("\n.br\n"));
        }
    }
    out.push_str(
        ".SH \"SEE ALSO\"\nocto(1), octo\\-explain(1), octo\\-doctor(1), octo\\-replay(1)\n",
    );
    out
}

/// Text that the page setter takes as it stands.
fn roff(text: &str) -> String {
    let safe = text.replace('\\', "\\e").replace('-', "\\-");
    if safe.starts_with(['.', '\'']) { format!("\\&{safe}") } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_table_has_its_place() {
        let text = text(80);
        let terms = RULES
            .iter()
            .map(|rule| rule.id.0)
            .chain(GUARDS.iter().map(|rule| rule.id.0))
            .chain(ROWS.iter().map(|row| row.key))
            .chain(WIRES.iter().map(|wire| wire.name));
        for term in terms {
            assert!(text.lines().any(|line| line == format!("  {term}")), "{term} is missing");
        }
        assert!(text.contains("~/.claude/.cache/kernel/table.sqlite"), "{text}");
        let wide = text.lines().find(|line| line.chars().count() > 80 && line.contains(' '));
        assert_eq!(wide.filter(|line| line.trim().contains(' ')), None);
    }

    #[test]
    fn no_text_is_taken_for_a_command_of_the_page_setter() {
        assert_eq!(roff(".octo.toml -x \\n"), "\\&.octo.toml \\-x \\en");
        let known = [".TH ", ".SH ", ".TP", ".br"];
        let page = page();
        for line in page.lines().filter(|line| line.starts_with('.')) {
            assert!(known.iter().any(|word| line.starts_with(word)), "{line}");
        }
    }
}
