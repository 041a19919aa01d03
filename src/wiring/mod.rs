//! How a client's settings name us: the entries that should stand there, which of them do, and
//! the smallest edit between the two. Pure, except `files`, which finds and reads
//! settings files. Writing them belongs to `operator::install`; what a hook does about a change
//! belongs to `hook`.

pub mod edit;
pub mod entry;
pub mod files;
pub mod merge;
pub mod survey;
pub mod text;
