//! The operator's pause: until when, and where, hooks let everything pass. A file beside the
//! table, so that a broken table can't lock the operator out. Unreadable means no pause.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::home::Home;

/// Longest file that is read; the longest possible list of pauses is far shorter.
const LIMIT: u64 = 64 * 1024;

/// One pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Its end, in seconds since 1970.
    pub until: u64,
    /// The folder it holds in; everywhere when absent.
    pub root: Option<String>,
    /// Who set it.
    pub by: String,
}

impl Pause {
    /// True when it holds for a path at a time.
    #[must_use]
    pub fn covers(&self, path: &Path, unix: u64) -> bool {
        unix < self.until && self.root.as_ref().is_none_or(|root| path.starts_with(root))
    }
}

/// The pauses that have not ended. The usual answer is none, at the price of one failed open.
#[must_use]
pub fn pauses(home: &Home, unix: u64) -> Vec<Pause> {
    let mut text = String::new();
    let read = open(&home.off()).and_then(|file| file.take(LIMIT).read_to_string(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    let all: Vec<Pause> = serde_json::from_str(&text).unwrap_or_default();
    all.into_iter().filter(|pause| unix < pause.until).collect()
}

/// Replaces the pauses; none removes the file.
pub fn set(home: &Home, pauses: &[Pause]) -> io::Result<()> {
    let path = home.off();
    if pauses.is_empty() {
        return match std::fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    home.create()?;
    let text = serde_json::to_string(pauses).map_err(io::Error::other)?;
    let fresh = path.with_extension("new");
    drop(std::fs::remove_file(&fresh));
    let mut file = super::home::open_private(&fresh)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    std::fs::rename(&fresh, &path)
}

fn open(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_holds_where_it_was_set_and_nonsense_is_none() {
        let tmp = tempfile::tempdir().unwrap();
        let home = Home::of(tmp.path());
        assert!(pauses(&home, 5).is_empty());
        let pause = Pause { until: 10, root: Some("/w/app".into()), by: "dev".into() };
        set(&home, std::slice::from_ref(&pause)).unwrap();
        assert_eq!(pauses(&home, 9), vec![pause.clone()]);
        assert!(pauses(&home, 10).is_empty());
        assert!(pause.covers(Path::new("/w/app/x"), 9) && !pause.covers(Path::new("/w/app2"), 9));
        std::fs::write(home.off(), "nonsense").unwrap();
        assert!(pauses(&home, 5).is_empty());
        set(&home, &[]).unwrap();
        assert!(!home.off().exists());
    }
}
