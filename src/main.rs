//! octo.
fn main() {}
