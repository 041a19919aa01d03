//! What the fuzz targets share: a repository in memory in which somebody else holds
//! `lib/core.rs`, the verdict on what a line would do there, and seeds made from the fixtures.
//! Never touches the disk, except to lay seeds into a corpus that is empty.

pub mod scene;
pub mod seeds;
pub mod verdict;
