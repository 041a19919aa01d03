//! Where the installed program lives: one copy under the user's data folder, links with its other
//! names beside it, and two names on PATH for people and agents. Settings name the copy, so that
//! a rebuilt or removed source tree never unhooks a session; the copy is replaced by rename, so
//! that running sessions keep theirs. Touches nothing it did not make.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::error::{OperatorError, Trouble};

/// The program's own name.
pub const NAME: &str = "octo";

/// Its other names beside the copy: those that settings and people wire.
pub const LINKS: &[&str] = &[
    "octo-hook",
    "octo-dim",
    "octo-sh",
    "session-isolation-hook",
    "dimension-awareness-hook",
    "pretool-write-tree-owner",
    "pretool-bash-tree-owner",
];

/// Names that are put on PATH: what denials tell an agent to run, and what a person types.
pub const ON_PATH: &[&str] = &["octo", "octo-dim", "octo-hook"];

/// The folders of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Holds the copy and its links.
    pub bin: PathBuf,
    /// Holds receipts of what was installed.
    pub state: PathBuf,
    /// A folder of PATH in the user's home.
    pub path: PathBuf,
}

impl Place {
    /// The places under a home directory; the XDG folders where the environment names them.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        let folder = |variable: &str, usual: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from);
            set.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(usual)).join(NAME)
        };
        Self {
            bin: folder("XDG_DATA_HOME", ".local/share").join("bin"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            path: home.join(".local/bin"),
        }
    }

    /// The installed copy.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.bin.join(NAME)
    }

    /// One of its names.
    #[must_use]
    pub fn link(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Puts the running program there under all its names. Says what it changed.
    pub fn put(&self) -> Result<Vec<String>, OperatorError> {
        let running = std::env::current_exe()
            .map_err(|why| OperatorError::new(Trouble::File, format!("own program: {why}")))?;
        let mut done = Vec::new();
        fs::create_dir_all(&self.bin).map_err(|why| OperatorError::file(&self.bin, &why))?;
        let program = self.program();
        if !same_content(&running, &program) {
            copy(&running, &program).map_err(|why| OperatorError::file(&program, &why))?;
            done.push(format!("program {}", program.display()));
        }
        for name in LINKS {
            let link = self.link(name);
            if fs::read_link(&link).is_ok_and(|target| target == Path::new(NAME)) {
                continue;
            }
            relink(Path::new(NAME), &link).map_err(|why| OperatorError::file(&link, &why))?;
            done.push(format!("name {}", link.display()));
        }
        done.extend(self.put_on_path()?);
        Ok(done)
    }

    fn put_on_path(&self) -> Result<Vec<String>, OperatorError> {
        let mut done = Vec::new();
        fs::create_dir_all(&self.path).map_err(|why| OperatorError::file(&self.path, &why))?;
        for name in ON_PATH {
            let (link, target) = (self.path.join(name), self.link(name));
            match fs::symlink_metadata(&link) {
                Ok(_) if fs::read_link(&link).is_ok_and(|at| at == target) => {}
                // A program of that name that is not ours is left alone; doctor speaks of it.
                Ok(_) if !self.is_ours(&link) => {}
                Ok(_) | Err(_) => {
                    relink(&target, &link).map_err(|why| OperatorError::file(&link, &why))?;
                    done.push(format!("name {}", link.display()));
                }
            }
        }
        Ok(done)
    }

    fn is_ours(&self, link: &Path) -> bool {
        fs::read_link(link).is_ok_and(|target| target.starts_with(&self.bin))
    }

    /// Puts a stand-in in the place of the program: first step of a removal, so that no moment
    /// passes in which a live session calls an entry that closes.
    pub fn stand_in(&self, callers: &[u32]) -> Result<(), OperatorError> {
        for name in ["octo-hook", "octo-sh"] {
            let path = self.link(name);
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let text =
                if name == "octo-sh" { SHELL_STAND_IN.to_owned() } else { stand_in(callers) };
            write_program(&path, &text).map_err(|why| OperatorError::file(&path, &why))?;
        }
        Ok(())
    }

    /// Takes the copy and its names away; the stand-in stays while somebody may call it.
    pub fn take_away(&self, callers: &[u32]) -> Result<Vec<String>, OperatorError> {
        let mut done = Vec::new();
        for name in ON_PATH {
            let link = self.path.join(name);
            if self.is_ours(&link) {
                fs::remove_file(&link).map_err(|why| OperatorError::file(&link, &why))?;
                done.push(format!("name {}", link.display()));
            }
        }
        let stays = |name: &str| !callers.is_empty() && matches!(name, "octo-hook" | "octo-sh");
        for name in LINKS.iter().copied().chain([NAME]).filter(|name| !stays(name)) {
            let path = self.link(name);
            match fs::remove_file(&path) {
                Err(why) if why.kind() != ErrorKind::NotFound => {
                    return Err(OperatorError::file(&path, &why));
                }
                Ok(()) | Err(_) => {}
            }
        }
        done.push(format!("program {}", self.program().display()));
        for folder in [Some(self.bin.as_path()), self.bin.parent()].into_iter().flatten() {
            drop(fs::remove_dir(folder));
        }
        Ok(done)
    }
}

/// Passes everything for sessions that were wired when octo went, then removes itself: their
/// client may still call an entry that closes when its program is missing.
fn stand_in(callers: &[u32]) -> String {
    let pids: Vec<String> = callers.iter().map(u32::to_string).collect();
    format!(
        "#!/bin/sh\n\
         # octo was uninstalled. This passes every call of sessions that began before, and goes\n\
         # with the last of them.\n\
         [ \"$1\" = SessionEnd ] || exit 0\n\
         live=0\n\
         for pid in {}; do kill -0 \"$pid\" 2>/dev/null && live=$((live + 1)); done\n\
         [ \"$live\" -gt 1 ] || rm -f \"$0\" \"${{0%/*}}/octo-sh\"\n\
         exit 0\n",
        pids.join(" ")
    )
}

/// Runs the shell line it is given, as the client would have without a prefix.
const SHELL_STAND_IN: &str = "#!/bin/sh\n# octo was uninstalled: runs the line unfenced.\n\
exec \"${SHELL:-/bin/sh}\" -c \"$1\"\n";

fn same_content(a: &Path, b: &Path) -> bool {
    let sizes = (fs::metadata(a).map(|m| m.len()), fs::metadata(b).map(|m| m.len()));
    let same_file = match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.ino() == b.ino() && a.dev() == b.dev(),
        _ => false,
    };
    let same_size = matches!(sizes, (Ok(a), Ok(b)) if a == b);
    same_file || (same_size && matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let fresh = to.with_extension("new");
    fs::copy(from, &fresh)?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755))?;
    fs::rename(&fresh, to)
}

fn write_program(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text)?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755))?;
    fs::rename(&fresh, path)
}

fn relink(target: &Path, link: &Path) -> io::Result<()> {
    let fresh = link.with_extension("new");
    drop(fs::remove_file(&fresh));
    symlink(target, &fresh)?;
    fs::rename(&fresh, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_stays_and_what_is_goes() {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            bin: home.path().join("share/octo/bin"),
            state: home.path().join("state"),
            path: home.path().join("bin"),
        };
        fs::create_dir_all(&place.path).unwrap();
        fs::write(place.path.join("octo-dim"), "somebody else's").unwrap();
        place.put().unwrap();
        assert!(place.put().unwrap().is_empty(), "a second run changes nothing");
        assert_eq!(fs::read_link(place.path.join("octo")).unwrap(), place.link("octo"));
        assert_eq!(fs::read_to_string(place.path.join("octo-dim")).unwrap(), "somebody else's");
        place.take_away(&[]).unwrap();
        assert!(!place.bin.exists() && !place.path.join("octo").exists());
        assert!(place.path.join("octo-dim").exists());
    }

    #[test]
    fn a_stand_in_passes_and_goes_with_the_last_session() {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            bin: home.path().join("share/octo/bin"),
            state: home.path().join("state"),
            path: home.path().join("bin"),
        };
        place.put().unwrap();
        place.stand_in(&[std::process::id()]).unwrap();
        place.take_away(&[std::process::id()]).unwrap();
        let run = |event: &str| {
            std::process::Command::new(place.link("octo-hook")).arg(event).status().unwrap()
        };
        assert!(run("PreToolUse").success() && place.link("octo-hook").exists());
        assert!(run("SessionEnd").success() && !place.link("octo-hook").exists());
        assert!(!place.link("octo-sh").exists());
    }
}
