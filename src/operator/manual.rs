//! What is generated from the command line itself: man pages, the line that switches completion
//! on, the one-screen help and the way to the reference.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};

use super::cli::Cli;
use super::context::Context;
use super::error::{Done, OperatorError, Trouble};
use super::reference;

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

/// Writes the man pages, one a command, and the reference.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo man ~/.local/share/man\n  man octo-doctor\n  man octo-reference"
)]
pub struct ManArgs {
    /// The folder they go to, as `man1` and `man7`.
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
    let [commands, more] = ["man1", "man7"].map(|section| args.folder.join(section));
    for section in [&commands, &more] {
        std::fs::create_dir_all(section).map_err(failed)?;
    }
    clap_mangen::generate_to(Cli::command(), &commands).map_err(failed)?;
    let page = more.join(format!("{}.7", reference::PAGE));
    std::fs::write(&page, reference::page()).map_err(failed)?;
    context.screen.say(&format!("man pages are in {}", args.folder.display()));
    Ok(())
}

/// An overview, a command's own help, or the whole reference.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  octo help\n  octo help worktree\n  octo help --reference | less"
)]
pub struct HelpArgs {
    /// The command to say more about.
    pub command: Option<String>,
    /// Every rule, setting, event, file and exit code.
    #[arg(long, conflicts_with = "command")]
    pub reference: bool,
}

/// Runs `octo help`.
pub fn tell(args: &HelpArgs, context: &Context) -> Done {
    if args.reference {
        return context.screen.print(&reference::text(context.screen.width));
    }
    let Some(name) = &args.command else { return context.screen.print(&help()) };
    let mut command = Cli::command();
    command.build();
    match command.find_subcommand_mut(name) {
        Some(sub) => context.screen.print(&sub.render_long_help().to_string()),
        None => Err(OperatorError::new(Trouble::Usage, format!("there is no command {name:?}"))
            .hint("octo help names them all")),
    }
}

/// One screen of 24 lines: what there is, in the order a person needs it.
#[must_use]
pub fn help() -> String {
    let command = Cli::command();
    let mut lines = vec![
        "octo: concurrent sessions and their subagents can't take each other's work".to_owned(),
    ];
    for (title, names) in GROUPS {
        let mut title = *title;
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            lines.push(format!("{title:8}{:12} {about}", sub.get_name()));
            title = "";
        }
    }
    lines.push(
        "Exit: 0 done, 1 refused or missing, 2 wrong usage or denied, 70 our own error.".into(),
    );
    lines.push("More: octo COMMAND --help, octo help --reference".into());
    lines.join("\n") + "\n"
}

/// The commands by what a person wants.
const GROUPS: &[(&str, &[&str])] = &[
    ("look", &["ps", "top", "replay", "explain", "doctor", "statusline"]),
    ("work", &["save", "worktree", "keep", "scope", "recover", "archive", "yield"]),
    ("set up", &["install", "uninstall", "config", "completions", "man"]),
    ("operate", &["off", "on", "prune"]),
];

#[cfg(test)]
mod tests {
    use super::super::error::CODES;
    use super::*;

    #[test]
    fn help_fits_a_screen_and_forgets_no_command() {
        let text = help();
        assert!(
            text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for sub in Cli::command().get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = sub.get_name();
            assert!(text.contains(&format!(" {name} ")), "help forgets {name}");
        }
        // Each code of the table, and no other.
        let codes = text.lines().find_map(|line| line.strip_prefix("Exit: ")).unwrap();
        let told = codes.split(", ").filter_map(|part| part.split(' ').next()?.parse().ok());
        let known: Vec<u8> = CODES.iter().map(|(code, _)| *code).collect();
        assert_eq!(told.collect::<Vec<u8>>(), known);
    }

    #[test]
    fn every_command_shows_examples_that_it_understands() {
        for sub in Cli::command().get_subcommands() {
            let (name, help) = (sub.get_name(), sub.get_after_help().map(ToString::to_string));
            let help = help.unwrap_or_else(|| panic!("{name} shows no example"));
            let (_, shown) = help.split_once("Examples:\n").unwrap();
            let shown = shown.lines().take_while(|line| line.starts_with("  "));
            let mut own = 0;
            for line in shown.map(str::trim).filter(|line| line.starts_with("octo ")) {
                let line = line.split("  ").next().unwrap().split(['|', '>']).next().unwrap();
                let words = shell_words::split(line.trim()).unwrap();
                if let Err(why) = Cli::command().try_get_matches_from(&words) {
                    panic!("{name} shows {line:?}: {why}");
                }
                own += usize::from(words.get(1).is_some_and(|word| word == name));
            }
            assert!(own > 0, "{name} shows no example of itself: {help}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
