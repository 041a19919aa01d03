//! What tests share.

pub(crate) mod fence;
