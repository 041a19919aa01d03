//! argv → applet → exit code. Entered as the C runtime enters a program: what Rust's own start
//! prepares, the shield prepares better, and a hook pays for both.
#![cfg_attr(not(test), no_main)]

#[cfg(not(test))]
octo::program!(octo::start);
