//! The command line as a person types it. One variant a command; each command's arguments and
//! work are in its own file.

use clap::{Parser, Subcommand};

use super::context::Context;
use super::error::Done;
use super::screen::Voice;
use super::{
    config_cmd, doctor, explain, install, keep, manual, pause, prune, ps, recover, release, replay,
    save, scope, statusline, top, uninstall, worktree,
};

/// Keeps concurrent sessions and their subagents from taking each other's work.
#[derive(Debug, Parser)]
#[command(name = "octo", version, disable_help_subcommand = true, arg_required_else_help = false)]
pub struct Cli {
    /// Results and errors only.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do; the one-screen help when left out.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows processes, what they hold and how they stand.
    Ps(ps::PsArgs),
    /// A live view of sessions, lanes and denials.
    Top(top::TopArgs),
    /// Shows what happened, and whether the record is whole.
    Replay(replay::ReplayArgs),
    /// Says what the gates would decide about a command, and why.
    Explain(explain::ExplainArgs),
    /// Checks the installation with a real attack.
    Doctor(doctor::DoctorArgs),
    /// Prints a segment for the client's status line.
    Statusline(statusline::StatuslineArgs),
    /// Gives up own lanes, so that others can go on.
    #[command(name = "yield")]
    Yield(release::YieldArgs),
    /// Commits a session's work and lands its branch.
    Save(save::SaveArgs),
    /// Saves, then lays the tree to rest.
    #[command(
        after_help = "Examples:\n  octo archive                  the tree around this directory\n  octo archive dim/3f2a91c0"
    )]
    Archive(save::SaveArgs),
    /// The trees of sessions.
    Worktree(worktree::WorktreeArgs),
    /// What was held before it could be lost.
    Keep(keep::KeepArgs),
    /// The project a path in a tree stands for, and back.
    Scope(scope::ScopeArgs),
    /// After a collision: holds loose work, finds lost changes.
    Recover(recover::RecoverArgs),
    /// Puts the program in place and wires the client's settings.
    Install(install::InstallArgs),
    /// Takes everything of ours away again.
    Uninstall(uninstall::UninstallArgs),
    /// Shows, checks and edits the settings.
    Config(config_cmd::ConfigArgs),
    /// Lets everything pass for a while (a person at a terminal).
    Off(pause::OffArgs),
    /// Ends every pause.
    On(pause::OnArgs),
    /// Removes old records.
    Prune(prune::PruneArgs),
    /// Prints the line that switches completion on.
    Completions(manual::CompletionsArgs),
    /// Writes the man pages.
    Man(manual::ManArgs),
    /// This overview.
    #[command(hide = true)]
    Help(manual::HelpArgs),
}

/// Runs a parsed command line.
pub fn run(cli: &Cli) -> Done {
    let voice = if cli.quiet { Voice::Quiet } else { Voice::Normal };
    let context = Context::here(voice)?;
    match &cli.command {
        None => context.screen.print(&manual::help()),
        Some(Command::Help(args)) => manual::tell(args, &context),
        Some(Command::Ps(args)) => ps::run(args, &context),
        Some(Command::Top(args)) => top::run(args, &context),
        Some(Command::Replay(args)) => replay::run(args, &context),
        Some(Command::Explain(args)) => explain::run(args, &context),
        Some(Command::Doctor(args)) => doctor::run(args, &context),
        Some(Command::Statusline(args)) => statusline::run(args, &context),
        Some(Command::Yield(args)) => release::give_up(args, &context),
        Some(Command::Save(args)) => save::run(args, &context),
        Some(Command::Archive(args)) => save::archive(args, &context),
        Some(Command::Worktree(args)) => worktree::run(args, &context),
        Some(Command::Keep(args)) => keep::run(args, &context),
        Some(Command::Scope(args)) => scope::run(args, &context),
        Some(Command::Recover(args)) => recover::run(args, &context),
        Some(Command::Install(args)) => install::install(args, &context),
        Some(Command::Uninstall(args)) => uninstall::uninstall(args, &context),
        Some(Command::Config(args)) => config_cmd::run(args, &context),
        Some(Command::Off(args)) => pause::off(args, &context),
        Some(Command::On(args)) => pause::on(args, &context),
        Some(Command::Prune(args)) => prune::run(args, &context),
        Some(Command::Completions(args)) => manual::completions(args, &context),
        Some(Command::Man(args)) => manual::man(args, &context),
    }
}
