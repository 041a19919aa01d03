//! Settings: what a person decided, as typed values. The table in `rows` is the only list of
//! settings; parsing, the commented default, the schema and the documentation come from it.
//! Pure, except `load`, which reads the three files. A project's file may only tighten.

mod layer;
pub mod load;
mod nearest;
mod render;
mod rows;
mod settings;
mod tighten;

pub use layer::{Layer, Placed, Problem, Value, parse};
pub use render::{commented_default, describe, schema, wrap};
pub use rows::{Kind, Project, ROWS, Row};
pub use settings::{
    Base, Fence, Isolation, Land, Retention, Settings, Subagents, Worktree, WorktreePlace,
};
pub use tighten::{Origin, Resolved, resolve};
