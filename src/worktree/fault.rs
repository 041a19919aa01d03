//! Owns the named points at which a test may kill the process, as a power button would.
//! Must never exist in the shipped binary: outside tests a point compiles to nothing.

/// A point between two steps; a test child told to die here does.
#[cfg(not(test))]
#[inline]
pub(crate) fn point(_name: &str) {}

/// A point between two steps; a test child told to die here does.
#[cfg(test)]
pub(crate) fn point(name: &str) {
    if std::env::var("OCTO_TEST_DIE_AT").is_ok_and(|at| at == name) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::thread::sleep(std::time::Duration::from_secs(5));
    }
}
