//! What is generated from the command line itself: man pages, the line that switches completion
//! on, and the one-screen help.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};

use super::cli::Cli;
use super::context::Context;
use super::error::{CODES, Done, OperatorError};

/// Prints the line that switches completion on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  echo 'source <(octo completions bash)' >> ~/.bashrc\n  octo completions fish > ~/.config/fish/completions/octo.fish"
)]
pub struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Shells with completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// Writes the man pages, one a command.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder they go to.
    pub folder: PathBuf,
}

/// Runs `octo completions`.
pub fn completions(args: &CompletionsArgs, context: &Context) -> Done {
    let text = match args.shell {
        Shell::Bash => "source <(COMPLETE=bash octo)\n",
        Shell::Zsh => "source <(COMPLETE=zsh octo)\n",
        Shell::Fish => "COMPLETE=fish octo | source\n",
    };
    context.screen.print(text)
}

/// Runs `octo man`.
pub fn man(args: &ManArgs, context: &Context) -> Done {
    let failed = |why| OperatorError::file(&args.folder, &why);
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(failed)?;
    context.screen.say(&format!("man pages are in {}", args.folder.display()));
    Ok(())
}

/// One screen: what there is, in the order a person needs it.
#[must_use]
pub fn help() -> String {
    let command = Cli::command();
    let title = "octo: concurrent sessions and their subagents can't take each other's work";
    let mut lines = vec![title.to_owned()];
    for (title, names) in GROUPS {
        lines.push((*title).to_owned());
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            lines.push(format!("  {:12} {about}", sub.get_name()));
        }
    }
    lines.push("Exit codes".to_owned());
    lines.extend(CODES.iter().map(|(code, text)| format!("  {code:<12} {text}")));
    lines.push(
        "More with --help after each command. NO_COLOR and --json work everywhere.".to_owned(),
    );
    lines.join("\n") + "\n"
}

/// The commands by what a person wants.
const GROUPS: &[(&str, &[&str])] = &[
    ("Look", &["ps", "top", "replay", "explain", "doctor", "statusline"]),
    ("Work", &["save", "worktree", "keep", "scope", "recover", "archive", "yield"]),
    ("Set up", &["install", "uninstall", "config", "completions", "man"]),
    ("Operate", &["off", "on", "prune"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_a_screen_and_forgets_no_command() {
        let text = help();
        assert!(
            text.lines().count() <= 36 && text.lines().all(|line| line.chars().count() <= 110),
            "{text}"
        );
        for sub in Cli::command().get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = sub.get_name();
            assert!(text.contains(&format!("  {name} ")), "help forgets {name}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
