//! The program under test, as an installation puts it.

use std::path::PathBuf;
use std::{env, fs};

/// The program under test, copied as `octo install` copies it: a linker leaves a file in small
/// pieces of memory and a copy in large ones, which is worth a fifth of a millisecond a start.
/// `OCTO_BENCH` names another build than this one.
pub(crate) struct Installed(tempfile::TempDir);

impl Installed {
    pub(crate) fn new() -> Self {
        let built = env::var_os("OCTO_BENCH")
            .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_octo")), PathBuf::from);
        let folder = tempfile::tempdir().unwrap();
        fs::copy(built, folder.path().join("octo")).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("octo")
    }
}
