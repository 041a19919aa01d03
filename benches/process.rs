//! Whole-process benchmarks.
fn main() {}
