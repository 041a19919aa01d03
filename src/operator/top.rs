//! stub
use super::context::Context;
use super::error::Done;
use clap::Args;
/// x
#[derive(Debug, Args)]
pub struct TopArgs {}
/// x
pub fn run(_a: &TopArgs, _c: &Context) -> Done {
    Ok(())
}
