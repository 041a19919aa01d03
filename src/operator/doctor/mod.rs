//! `octo doctor`: is a session guarded here, and if not, why and what to do. Each finding names
//! its fix. Changes nothing unless asked with `--fix` or `--repair`.

mod attack;
pub mod client;
mod kernel;
pub(super) mod machine;
mod program;
mod repair;
mod repository;
mod scene;
mod wiring;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::person::require_person;
use super::screen::{Tone, harmless};
use crate::kernel::home::Home;
use crate::kernel::reserve;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};

/// Checks the whole installation, with a real attack through the installed entries.
#[derive(Debug, Args, Default)]
#[command(
    after_help = "Examples:\n  octo doctor            every finding with its fix\n  octo doctor --fix      mend what is safe to mend\n  octo doctor --client   also try the real client in each permission mode\n  octo doctor --repair   rebuild the process table from the journals\n\nExit: 0 all well, 1 warnings, 2 sessions are not guarded"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct DoctorArgs {
    /// Rebuild the process table from the journals; the old one is kept beside it.
    #[arg(long)]
    pub repair: bool,
    /// Mend what is safe: program, names, wiring drift, modes, second names, the reserve.
    #[arg(long)]
    pub fix: bool,
    /// Also start the client itself, in a temporary home without a network, once for each of its
    /// permission modes.
    #[arg(long)]
    pub client: bool,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// To be looked at.
    Warn,
    /// Sessions are not guarded.
    Bad,
}

/// What `--fix` can do about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mend {
    /// Put the program and its names in place.
    Program,
    /// Put the wiring right.
    Wiring,
    /// Make the kernel's folder private.
    Modes,
    /// Keep room back for a full disk again.
    Reserve,
    /// Give the kernel's files bytes of their own.
    Links,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `area.name`, stable.
    pub id: &'static str,
    /// How bad.
    pub level: Level,
    /// What was found.
    pub text: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// What `--fix` does about it.
    pub mend: Option<Mend>,
}

impl Finding {
    fn ok(id: &'static str, text: impl Into<String>) -> Self {
        Self { id, level: Level::Ok, text: text.into(), fix: None, mend: None }
    }

    fn warn(id: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, level: Level::Warn, text: text.into(), fix: Some(fix.into()), mend: None }
    }

    fn bad(id: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, level: Level::Bad, text: text.into(), fix: Some(fix.into()), mend: None }
    }

    fn mended_by(mut self, mend: Mend) -> Self {
        self.mend = Some(mend);
        self
    }
}

/// Runs `octo doctor`.
pub fn run(args: &DoctorArgs, context: &Context) -> Done {
    if args.fix || args.repair || args.client {
        require_person("octo doctor --fix, --repair and --client")?;
    }
    if args.repair {
        repair::rebuild(context)?;
    }
    let mut findings = examine(context);
    if args.fix && mend(&findings, context)? {
        findings = examine(context);
    }
    if args.client {
        context.screen.say("starting the client once for each permission mode");
        findings.extend(client::check(context));
    }
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    if args.json {
        let value = json!({"verdict": worst, "findings": findings});
        context.screen.json("doctor", value)?;
    } else {
        context.screen.print(&draw(&findings, context))?;
    }
    match worst {
        Level::Ok => Ok(()),
        Level::Warn => Err(OperatorError::new(Trouble::Refused, "guarded, with warnings")),
        Level::Bad => Err(OperatorError::new(Trouble::Unguarded, "sessions are NOT guarded here")),
    }
}

fn examine(context: &Context) -> Vec<Finding> {
    let mut findings = program::check(context);
    findings.extend(wiring::check(context));
    findings.extend(machine::check(context));
    findings.extend(kernel::check(context));
    findings.extend(repository::check(context));
    findings.extend(config(context));
    findings.extend(attack::check(context));
    findings
}

fn config(context: &Context) -> Vec<Finding> {
    if context.loaded.faults.is_empty() {
        return vec![Finding::ok("config.files", "settings files are right")];
    }
    let finding = |fault: &crate::config::load::Fault| {
        Finding::warn("config.files", harmless(&fault.to_string()), "octo config edit")
    };
    context.loaded.faults.iter().map(finding).collect()
}

fn mend(findings: &[Finding], context: &Context) -> Result<bool, OperatorError> {
    let asked = |mend| findings.iter().any(|finding| finding.mend == Some(mend));
    if asked(Mend::Program) {
        for line in super::place::Place::new(&context.home).put()? {
            context.screen.say(&format!("mended {line}"));
        }
    }
    if asked(Mend::Wiring) {
        wiring::mend(context)?;
    }
    if let Some(home) = Home::discover() {
        let failed = |why| OperatorError::file(home.dir(), &why);
        if asked(Mend::Modes) {
            home.create().map_err(failed)?;
        }
        if asked(Mend::Reserve) {
            reserve::keep(&home).map_err(failed)?;
        }
        if asked(Mend::Links) {
            Kernel::open(&home, Make::Never, OPERATOR_PATIENCE)?.part_links()?;
        }
    }
    Ok(findings.iter().any(|finding| finding.mend.is_some()))
}

fn draw(findings: &[Finding], context: &Context) -> String {
    let screen = &context.screen;
    let mut lines = Vec::new();
    for finding in findings {
        let (tone, mark) = match finding.level {
            Level::Ok => (Tone::Good, "ok  "),
            Level::Warn => (Tone::Warn, "warn"),
            Level::Bad => (Tone::Bad, "BAD "),
        };
        let mark = screen.paint(tone, mark);
        let id = screen.paint(Tone::Dim, &format!("{:18}", finding.id));
        lines.push(format!("{mark} {id} {}", finding.text));
        if let Some(fix) = &finding.fix {
            lines.push(format!("     {:18} fix: {fix}", ""));
        }
    }
    lines.join("\n") + "\n"
}
