//! One test binary that runs the real `octo` under its real names, and where it says so the
//! real client. Each module is one capability; what several need lives in `support`.
//! Pure code is tested beside itself, never here.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "I/O boundary: tests run processes and read files")]

mod arms;
mod bash_gate;
mod client_driver;
mod command_line;
mod commands_shown;
mod doctor_rows;
mod documents;
mod explained;
mod fail_closed;
mod fence_attacks;
mod fence_gaps;
mod fence_reach;
mod fence_real;
mod fence_states;
mod fence_work;
mod field_reports;
mod floor;
mod foreign_rows;
mod front_page;
mod full_disk;
mod git_oracle;
mod guards;
mod lane_life;
mod mcp_writes;
mod notices;
mod operator;
mod operator_terminal;
mod ordinary;
mod packaging;
mod plugin;
mod races;
mod real_agents;
mod real_doctor;
mod real_endings;
mod real_forks;
mod real_landing;
mod real_sessions;
mod real_wiring;
mod real_worktree;
mod remedies;
mod replay_page;
mod rotation;
mod rungs;
mod scenarios;
mod shell_oracle;
mod shells;
mod support;
mod tree_guide;
mod tree_keeps;
mod tree_life;
mod tree_reports;
mod turns;
mod upgrade;
mod wiring_loss;
mod worktrees;
