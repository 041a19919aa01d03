//! Room kept back for a full disk: a file of real blocks beside the table, given up when there is
//! no room left, so that claims, denials and journals go on until somebody has made some. Made
//! anew only where plenty is free.

use std::fs::{self, File};
use std::io;

use super::home::{Home, open_private};

/// Its size: some thousand calls' worth of table and journals.
pub const BYTES: u64 = 2 * 1024 * 1024;
/// So many times its size must be free before it is made.
const PLENTY: u64 = 16;

/// How the reserve stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserve {
    /// It is there.
    Kept,
    /// It was given up, and this is free on the volume, in bytes.
    Gone {
        /// Free bytes.
        free: u64,
        /// That is plenty: it can be made again.
        plenty: Plenty,
    },
}

/// Whether there is room to make the reserve again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plenty {
    /// There is.
    Yes,
    /// There is not.
    No,
}

/// How the reserve stands now.
pub fn state(home: &Home) -> io::Result<Reserve> {
    match fs::symlink_metadata(home.reserve()) {
        Ok(meta) if meta.is_file() && meta.len() >= BYTES => return Ok(Reserve::Kept),
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(_) | Err(_) => {}
    }
    let volume = rustix::fs::statvfs(home.dir())?;
    let free = volume.f_bavail.saturating_mul(volume.f_frsize);
    let plenty = if free >= BYTES * PLENTY { Plenty::Yes } else { Plenty::No };
    Ok(Reserve::Gone { free, plenty })
}

/// Makes the reserve where it is missing and there is plenty of room.
pub fn keep(home: &Home) -> io::Result<()> {
    let Reserve::Gone { plenty: Plenty::Yes, .. } = state(home)? else { return Ok(()) };
    let file = open_private(&home.reserve())?;
    fill(&file).inspect_err(|_| drop(fs::remove_file(home.reserve())))
}

/// Real blocks, where the system can promise them; else bytes, which no file system skips.
fn fill(mut file: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, BYTES).is_ok() {
        return Ok(());
    }
    file.set_len(0)?;
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = Vec::with_capacity(4096);
    for _ in 0..BYTES / 4096 {
        block.clear();
        while block.len() < 4096 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            block.extend_from_slice(&word.to_le_bytes());
        }
        io::Write::write_all(&mut file, &block)?;
    }
    Ok(())
}

/// Gives the room up. Somebody else may have done so a moment ago, which is as good.
pub fn give_up(home: &Home) {
    drop(fs::remove_file(home.reserve()));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn it_has_real_blocks_and_is_made_again_after_it_was_given_up() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        home.create().unwrap();
        assert!(matches!(state(&home).unwrap(), Reserve::Gone { .. }));
        for _ in 0..2 {
            keep(&home).unwrap();
            assert_eq!(state(&home).unwrap(), Reserve::Kept);
            let meta = fs::metadata(home.reserve()).unwrap();
            assert!(meta.blocks() * 512 >= BYTES);
            assert_eq!(meta.mode() & 0o777, 0o600);
            give_up(&home);
            assert!(matches!(state(&home).unwrap(), Reserve::Gone { .. }));
        }
    }

    #[test]
    fn bytes_do_where_blocks_cannot_be_promised() {
        let file = tempfile::tempfile().unwrap();
        fill(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), BYTES);
    }
}
