//! stub
use super::context::Context;
use super::error::Done;
use clap::Args;
/// x
#[derive(Debug, Args)]
pub struct PruneArgs {}
/// x
pub fn run(_a: &PruneArgs, _c: &Context) -> Done {
    Ok(())
}
