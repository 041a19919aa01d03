//! Where the kernel lives and who may read it: one folder per OS user, 0700, its files 0600.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::policy::lane::Pid;

/// Longest id that becomes a file name as it is.
const PLAIN_NAME: usize = 96;

/// The folders and files of the kernel.
#[derive(Debug, Clone)]
pub struct Home {
    user: PathBuf,
    dir: PathBuf,
}

impl Home {
    /// The kernel of the user whose home directory is `user`.
    #[must_use]
    pub fn of(user: &Path) -> Self {
        // Links in the way (a dotfiles manager's `~/.claude`) are followed once, here.
        Self { user: user.to_path_buf(), dir: real(&user.join(".claude/.cache/kernel")) }
    }

    /// The kernel of the user this program runs for.
    #[must_use]
    pub fn discover() -> Option<Self> {
        std::env::home_dir().filter(|h| h.is_absolute()).map(|h| Self::of(&h))
    }

    /// The user's home directory.
    #[must_use]
    pub fn user(&self) -> &Path {
        &self.user
    }

    /// The kernel's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The client's own folder, whose repository is everybody's.
    #[must_use]
    pub fn brain(&self) -> PathBuf {
        real(&self.user.join(".claude"))
    }

    /// The process table.
    #[must_use]
    pub fn table(&self) -> PathBuf {
        self.dir.join("table.sqlite")
    }

    /// The lock in front of the table.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.dir.join("table.lock")
    }

    /// The folder of journals.
    #[must_use]
    pub fn journals(&self) -> PathBuf {
        self.dir.join("journal")
    }

    /// The journal of a process.
    #[must_use]
    pub fn journal(&self, pid: &Pid) -> PathBuf {
        self.journals().join(format!("{}.jsonl", file_name(pid)))
    }

    /// The folder of heartbeat files.
    #[must_use]
    pub fn beats(&self) -> PathBuf {
        self.dir.join("beat")
    }

    /// The heartbeat file of a process.
    #[must_use]
    pub fn beat(&self, pid: &Pid) -> PathBuf {
        self.beats().join(file_name(pid))
    }

    /// Says that words for a process wait in the table.
    #[must_use]
    pub fn word(&self, pid: &Pid) -> PathBuf {
        self.dir.join("word").join(file_name(pid))
    }

    /// Tickets left for the shell prefix.
    #[must_use]
    pub fn tickets(&self) -> PathBuf {
        self.dir.join("ticket")
    }

    /// What the kernel granted around a session's last fenced command.
    #[must_use]
    pub fn fence(&self, session: &Pid) -> PathBuf {
        self.dir.join("fence").join(file_name(session))
    }

    /// What a session's commands used, until a hook takes it in.
    #[must_use]
    pub fn meter(&self, session: &Pid) -> PathBuf {
        self.dir.join("fence").join(format!("{}.used", file_name(session)))
    }

    /// What this boot's kernel grants to fenced commands.
    #[must_use]
    pub fn offer(&self) -> PathBuf {
        self.dir.join("offer")
    }

    /// The operator's "hooks are off until" file; beside the table, so that a broken table
    /// cannot lock the operator out.
    #[must_use]
    pub fn off(&self) -> PathBuf {
        self.dir.join("off")
    }

    /// Says that the operator took us out: what live sessions see goes on is their own will.
    #[must_use]
    pub fn tombstone(&self) -> PathBuf {
        self.dir.join("uninstalled")
    }

    /// A settings file as it was when we were last put into it.
    #[must_use]
    pub fn wired(&self, settings: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        self.dir.join("wired").join(settings.chars().map(plain).collect::<String>())
    }

    /// Room kept back for a full disk.
    #[must_use]
    pub fn reserve(&self) -> PathBuf {
        self.dir.join("reserve")
    }

    /// Where what went wrong outside PreToolUse is written.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.dir.join("report.log")
    }

    /// Makes the folders, private.
    pub fn create(&self) -> io::Result<()> {
        let fence = self.dir.join("fence");
        let word = self.dir.join("word");
        for dir in [self.dir.clone(), self.journals(), self.beats(), self.tickets(), fence, word] {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(&dir)?;
        }
        let mode = fs::metadata(&self.dir)?.mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(&self.dir, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for known in path.ancestors() {
        if let (Ok(mut real), Ok(rest)) = (fs::canonicalize(known), path.strip_prefix(known)) {
            real.extend(rest);
            return real;
        }
    }
    path.to_path_buf()
}

/// Opens a private file for appending, made when absent, never through a link or a pipe.
pub fn open_private(path: &Path) -> io::Result<fs::File> {
    open_seen(path).map(|(file, _)| file)
}

/// As [`open_private`], with what was looked at anyway.
pub fn open_seen(path: &Path) -> io::Result<(fs::File, fs::Metadata)> {
    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, meta))
}

/// An id as a file name: itself where that is safe, else a digest.
#[must_use]
pub fn file_name(pid: &Pid) -> String {
    let id = pid.as_str();
    let plain = id.len() <= PLAIN_NAME
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if plain { id.to_owned() } else { format!("x-{}", hex(&Sha256::digest(id.as_bytes()), 16)) }
}

/// The first `bytes` bytes of a digest, as hexadecimal digits.
#[must_use]
pub fn hex(digest: &[u8], bytes: usize) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    digest
        .iter()
        .take(bytes)
        .flat_map(|b| [b >> 4, b & 15])
        .filter_map(|n| DIGITS.get(usize::from(n)).map(|d| char::from(*d)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_id_cannot_leave_the_folder() {
        let bad = Pid::new("../../etc/passwd").unwrap();
        assert!(!file_name(&bad).contains('/') && file_name(&bad).starts_with("x-"));
        let good = Pid::new("fb99b663-9d75").unwrap();
        assert_eq!(file_name(&good), "fb99b663-9d75");
    }

    #[test]
    fn folders_are_private_even_when_they_were_not() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        fs::create_dir_all(home.dir()).unwrap();
        fs::set_permissions(home.dir(), fs::Permissions::from_mode(0o755)).unwrap();
        home.create().unwrap();
        assert_eq!(fs::metadata(home.dir()).unwrap().mode() & 0o777, 0o700);
    }
}
