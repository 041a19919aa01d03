//! `octo config`: what holds and why, whether the files are right, the files in an editor, and
//! the schema for one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::person::require_person;
use super::screen::Tone;
use super::table::{Column, Lean, lay_out};
use crate::config::load::Fault;
use crate::config::{Origin, ROWS, commented_default, schema};

/// Shows, checks and edits the settings.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo config show --origin   every setting and which file decided it\n  octo config check           are the files right (1 when not)\n  octo config edit            yours, in $EDITOR, checked afterwards"
)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: ConfigVerb,
}

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Every setting as it holds here.
    Show {
        /// Say which file decided.
        #[arg(long)]
        origin: bool,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Every problem with its place.
    Check,
    /// Open a file in $VISUAL or $EDITOR; made from the commented default when missing.
    Edit {
        /// Which file.
        #[arg(value_enum, default_value = "user")]
        file: Which,
    },
    /// The JSON schema, for editors.
    Schema,
    /// The commented default file.
    Default,
}

/// A settings file of octo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Yours.
    User,
    /// This machine's.
    Machine,
    /// The repository's; may only tighten.
    Project,
}

/// Runs `octo config`.
pub fn run(args: &ConfigArgs, context: &Context) -> Done {
    match &args.verb {
        ConfigVerb::Show { origin, json } => {
            say_faults(context);
            if *json { show_json(context) } else { show(context, *origin) }
        }
        ConfigVerb::Check => check(context),
        ConfigVerb::Edit { file } => edit(*file, context),
        ConfigVerb::Schema => {
            let text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
            context.screen.print(&format!("{text}\n"))
        }
        ConfigVerb::Default => context.screen.print(&commented_default()),
    }
}

/// Each setting with its value, origin and the place it stands.
fn rows(context: &Context) -> Vec<[String; 4]> {
    let file = |origin| match origin {
        Origin::User => Some(context.places.user.display().to_string()),
        Origin::Machine => Some(context.places.machine.display().to_string()),
        Origin::Project => context.places.project.as_ref().map(|path| path.display().to_string()),
        Origin::Default | Origin::Session => None,
    };
    let row = |row: &crate::config::Row| match context.loaded.resolved.get(row.key) {
        None => [row.key.to_owned(), row.default.to_owned(), "default".to_owned(), String::new()],
        Some((origin, placed)) => [
            row.key.to_owned(),
            placed.value.to_string(),
            origin.word().to_owned(),
            file(*origin).map(|file| format!("{file}:{}", placed.line)).unwrap_or_default(),
        ],
    };
    ROWS.iter().map(row).collect()
}

fn show(context: &Context, origin: bool) -> Done {
    const COLUMNS: &[Column] = &[
        Column { title: "SETTING", lean: Lean::Left, least: 20 },
        Column { title: "VALUE", lean: Lean::Left, least: 10 },
        Column { title: "FROM", lean: Lean::Left, least: 7 },
        Column { title: "WHERE", lean: Lean::Left, least: 12 },
    ];
    let columns = if origin { COLUMNS } else { COLUMNS.get(..2).unwrap_or(COLUMNS) };
    let rows: Vec<Vec<String>> = rows(context).into_iter().map(Vec::from).collect();
    let mut out = String::new();
    for (at, line) in lay_out(columns, &rows, context.screen.width).iter().enumerate() {
        let tone = if at == 0 { Tone::Strong } else { Tone::Plain };
        out.push_str(&context.screen.paint(tone, line));
        out.push('\n');
    }
    context.screen.print(&out)
}

fn show_json(context: &Context) -> Done {
    let mut all = Map::new();
    for [key, value, origin, place] in rows(context) {
        let value: Value = serde_json::from_str(&value).unwrap_or(Value::String(value));
        all.insert(key, json!({"value": value, "origin": origin, "where": place}));
    }
    context.screen.json("config", json!({ "settings": all }))
}

fn say_faults(context: &Context) {
    for fault in &context.loaded.faults {
        context.screen.say(&context.screen.paint(Tone::Bad, &fault.to_string()));
    }
}

fn check(context: &Context) -> Done {
    for fault in &context.loaded.faults {
        context.screen.print(&format!("{fault}\n"))?;
    }
    match context.loaded.faults.len() {
        0 => context.screen.print("settings are right\n"),
        count => Err(OperatorError::new(
            Trouble::Settings,
            format!("{count} problem(s); a file with one counts for nothing"),
        )
        .hint("octo config edit")),
    }
}

fn edit(which: Which, context: &Context) -> Done {
    require_person("octo config edit")?;
    let path = match which {
        Which::User => context.places.user.clone(),
        Which::Machine => context.places.machine.clone(),
        Which::Project => context.places.project.clone().ok_or_else(|| {
            OperatorError::new(Trouble::Missing, "this folder is in no repository")
        })?,
    };
    if !path.exists() {
        begin(&path)?;
    }
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    let words = shell_words::split(&editor)
        .map_err(|why| OperatorError::new(Trouble::Usage, format!("EDITOR: {why}")))?;
    let (program, rest) = words
        .split_first()
        .ok_or_else(|| OperatorError::new(Trouble::Usage, "EDITOR names no program"))?;
    let status = std::process::Command::new(program)
        .args(rest)
        .arg(&path)
        .status()
        .map_err(|why| OperatorError::file(Path::new(program), &why))?;
    if !status.success() {
        return Err(OperatorError::new(Trouble::File, format!("{program} ended with {status}")));
    }
    let loaded = crate::config::load::load(&context.places);
    let faults: Vec<&Fault> =
        loaded.faults.iter().filter(|fault| fault.file == path.display().to_string()).collect();
    for fault in &faults {
        context.screen.print(&format!("{fault}\n"))?;
    }
    if faults.is_empty() {
        context.screen.say("settings are right; sessions that start from now on follow them");
        return Ok(());
    }
    Err(OperatorError::new(Trouble::Settings, "the file is not right yet").hint("octo config edit"))
}

fn begin(path: &PathBuf) -> Done {
    let failed = |why| OperatorError::file(path, &why);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, commented_default()).map_err(failed)
}
