//! How a client's settings name us: the entries that should stand there, which of them do, and
//! the smallest edit between the two. Pure: texts in, texts out. Files belong to
//! `operator::install`; what a hook does about a settings change belongs to `hook`.

pub mod edit;
pub mod entry;
pub mod merge;
pub mod survey;
pub mod text;
