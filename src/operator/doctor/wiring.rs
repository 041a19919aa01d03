//! Does the client call us: entries as they should stand, nothing that switches hooks off, no
//! double installation, no other hook that gets in the way.

use std::path::PathBuf;

use super::{Finding, Mend};
use crate::applet::{Always, Event, WIRES};
use crate::config::WorktreePlace;
use crate::operator::context::Context;
use crate::operator::error::Done;
use crate::operator::install::{apply, chosen, plan, trees_of, wanted};
use crate::operator::place::Place;
use crate::operator::screen::harmless;
use crate::wiring::files::{Found, Scope, found, path};
use crate::wiring::merge::{Wiring, holds};
use crate::wiring::survey::{Owner, Survey, Switch};

/// The plugin's name in the client's list of plugins.
const PLUGIN: &str = "octo@";

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let files = found(&context.home, &context.project);
    let mut findings = Vec::new();
    for file in &files {
        if let Err(why) = &file.content {
            let text = format!("{}: {}", file.path.display(), harmless(why));
            findings.push(Finding::bad(
                "wiring.file",
                text,
                "put the file right: the client may drop all of it",
            ));
        }
    }
    let wired: Vec<(&Found, &Survey)> =
        surveys(&files).filter(|(_, s)| s.ours().count() > 0).collect();
    let plugin = surveys(&files).any(|(_, survey)| has_plugin(survey));
    findings.push(presence(&wired, plugin));
    findings.extend(wired.iter().flat_map(|(file, survey)| drift(file, survey, context)));
    findings.extend(surveys(&files).flat_map(|(file, survey)| switches(file, survey)));
    findings.extend(double(&wired, plugin));
    findings.extend(surveys(&files).flat_map(|(file, survey)| others(file, survey)));
    if plugin || !wired.is_empty() {
        findings.push(reach(&files, context));
    }
    findings
}

fn surveys(files: &[Found]) -> impl Iterator<Item = (&Found, &Survey)> {
    files.iter().filter_map(|file| file.content.as_ref().ok().map(|survey| (file, survey)))
}

fn has_plugin(survey: &Survey) -> bool {
    survey.plugins.iter().any(|name| name.starts_with(PLUGIN))
}

fn presence(wired: &[(&Found, &Survey)], plugin: bool) -> Finding {
    match (wired.first(), plugin) {
        (None, false) => {
            Finding::bad("wiring.entries", "no settings file wires us", "octo install")
        }
        (None, true) => Finding::ok("wiring.entries", "wired by the plugin"),
        (Some((file, _)), _) => {
            Finding::ok("wiring.entries", format!("wired in {}", file.path.display()))
        }
    }
}

/// What an entry lacks of what it should be.
fn drift(file: &Found, survey: &Survey, context: &Context) -> Vec<Finding> {
    let place = Place::new(&context.home);
    let choice = chosen(survey);
    let wiring = wanted(context, &place, file.scope, choice);
    let missing: Vec<&str> = WIRES
        .iter()
        .filter(|wire| wire.always == Always::Yes)
        .filter(|wire| !survey.ours().any(|hook| hook.event == wire.name))
        .map(|wire| wire.name)
        .collect();
    let fix = "octo doctor --fix (or octo install)";
    if missing.contains(&Event::PreToolUse.wire().name) {
        let text = format!("{}: PreToolUse is not wired: nothing is denied", file.path.display());
        return vec![Finding::bad("wiring.drift", text, fix).mended_by(Mend::Wiring)];
    }
    if !missing.is_empty() {
        let text = format!("{}: not wired: {}", file.path.display(), missing.join(", "));
        return vec![Finding::warn("wiring.drift", text, fix).mended_by(Mend::Wiring)];
    }
    let text = std::fs::read_to_string(&file.path).unwrap_or_default();
    if holds(&text, &wiring) == Ok(true) {
        return vec![Finding::ok("wiring.drift", "every entry is as this version writes it")];
    }
    let text = format!("{}: entries of another version", file.path.display());
    vec![Finding::warn("wiring.drift", text, fix).mended_by(Mend::Wiring)]
}

fn switches(file: &Found, survey: &Survey) -> Vec<Finding> {
    let finding = |switch: &Switch| {
        let text = format!("{}: {} is set: {}", file.path.display(), switch.key, switch.effect);
        if file.scope == Scope::Managed && switch.key == "allowManagedHooksOnly" {
            return Finding::bad("wiring.switch", text, "ask the administrator to add our entries");
        }
        match switch.key.as_str() {
            "allowManagedHooksOnly" => {
                Finding::warn("wiring.switch", text, "it counts in managed settings only")
            }
            key => Finding::bad("wiring.switch", text, format!("take {key} out")),
        }
    };
    survey.switches.iter().map(finding).collect()
}

fn double(wired: &[(&Found, &Survey)], plugin: bool) -> Option<Finding> {
    let scopes: Vec<String> = wired.iter().map(|(file, _)| file.scope.to_string()).collect();
    let mut all = scopes.clone();
    if plugin {
        all.push("plugin".to_owned());
    }
    (all.len() > 1).then(|| {
        let text =
            format!("wired {} times: {}; each call is judged once", all.len(), all.join(", "));
        Finding::warn(
            "wiring.double",
            text,
            "keep one: octo uninstall --scope SCOPE, or disable the plugin",
        )
    })
}

fn others(file: &Found, survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    let foreign = survey.hooks.iter().filter(|hook| hook.owner == Owner::Other);
    for hook in foreign {
        if hook.event == "WorktreeCreate" {
            let text = format!(
                "{}: another tool makes worktrees: {}",
                file.path.display(),
                harmless(&hook.command)
            );
            findings.push(Finding::warn(
                "wiring.others",
                text,
                "keep one of the two: octo install --worktrees client leaves it to the other",
            ));
        }
    }
    if let Some(prefix) = survey.prefix.as_deref().filter(|prefix| !prefix.ends_with("/octo-sh")) {
        let text = format!("{}: shell lines run through {}", file.path.display(), harmless(prefix));
        findings.push(Finding::warn(
            "wiring.prefix",
            text,
            "the fence needs that place for itself",
        ));
    }
    findings
}

/// Whether the client lets sessions work where their trees are put. A plugin can't say so.
fn reach(files: &[Found], context: &Context) -> Finding {
    let beside = context.settings.worktree.location == WorktreePlace::Sibling;
    let trees = if beside {
        let mut name = context.project.clone().into_os_string();
        name.push("-worktrees");
        PathBuf::from(name)
    } else {
        trees_of(context)
    };
    let within = |folder: &String| match folder.strip_prefix("~/") {
        Some(rest) => trees.starts_with(context.home.join(rest)),
        None => trees.starts_with(folder),
    };
    let shown = trees.display();
    if surveys(files).any(|(_, survey)| survey.folders.iter().any(within)) {
        return Finding::ok("wiring.reach", format!("sessions may work in {shown}"));
    }
    let text = format!("the client keeps sessions out of {shown}, where their trees are");
    if beside {
        let fix = "put that folder into permissions.additionalDirectories of your settings";
        return Finding::warn("wiring.reach", text, fix);
    }
    Finding::warn("wiring.reach", text, "octo doctor --fix").mended_by(Mend::Wiring)
}

/// Puts the entries of every wired file as this version writes them; where only the plugin wires
/// us, the folder of the trees into the person's own settings.
pub(super) fn mend(context: &Context) -> Done {
    let place = Place::new(&context.home);
    let files = found(&context.home, &context.project);
    if surveys(&files).all(|(_, survey)| survey.ours().count() == 0) {
        let folders = vec![trees_of(context).display().to_string()];
        let path = path(Scope::User, &context.home, &context.project);
        let change = plan(&place, &path, &Wiring { folders, ..Wiring::default() })?;
        apply(&place, &change)?;
        if change.next.is_some() {
            context.screen.say(&format!("mended {}", path.display()));
        }
    }
    for (file, survey) in surveys(&files).filter(|(_, survey)| survey.ours().count() > 0) {
        let wiring = wanted(context, &place, file.scope, chosen(survey));
        let change = plan(&place, &file.path, &wiring)?;
        if change.next.is_some() {
            apply(&place, &change)?;
            context.screen.say(&format!("mended {}", file.path.display()));
        }
    }
    Ok(())
}
