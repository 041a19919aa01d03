//! stub
use super::context::Context;
use super::error::Done;
use clap::Args;
/// x
#[derive(Debug, Args)]
pub struct ExplainArgs {}
/// x
pub fn run(_a: &ExplainArgs, _c: &Context) -> Done {
    Ok(())
}
