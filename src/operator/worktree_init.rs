//! `octo-dim worktree-init`: the session's own worktree by hand.

use std::path::Path;

use super::context::Context;
use super::error::{Done, OperatorError, Trouble};

/// Makes (or finds) the worktree of session `id` for `repo` and prints its path.
pub fn run(id: &str, repo: Option<&Path>, context: &Context) -> Done {
    let _ = (id, repo, context);
    Err(OperatorError::new(Trouble::Missing, "not built yet"))
}
