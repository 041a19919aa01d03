//! What an installation did to one settings file, kept so that it can be undone to the byte:
//! the text before, the text after, and what was made for us. One file per settings file.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::{Done, OperatorError, Trouble};
use super::place::Place;
use crate::kernel::home::hex;
use crate::wiring::merge::Marks;

/// The receipt of one settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The settings file.
    pub path: PathBuf,
    /// Its text without us; none when it did not exist.
    pub before: Option<String>,
    /// Its text as we wrote it.
    pub after: String,
    /// What was made for us in it.
    pub marks: Marks,
    /// The version that wrote it.
    pub version: String,
}

impl Receipt {
    /// The receipt of a settings file, if there is one that can be read.
    #[must_use]
    pub fn of(place: &Place, path: &Path) -> Option<Self> {
        let text = fs::read_to_string(file(place, path)).ok()?;
        serde_json::from_str(&text).ok().filter(|receipt: &Self| receipt.path == path)
    }

    /// All receipts.
    #[must_use]
    pub fn all(place: &Place) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(folder(place)) else { return Vec::new() };
        let read = |path: PathBuf| serde_json::from_str(&fs::read_to_string(path).ok()?).ok();
        let mut all: Vec<Self> = entries.flatten().filter_map(|entry| read(entry.path())).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// Keeps the receipt.
    pub fn keep(&self, place: &Place) -> Done {
        let path = file(place, &self.path);
        let failed = |why| OperatorError::file(&path, &why);
        fs::create_dir_all(folder(place)).map_err(failed)?;
        let text = serde_json::to_string_pretty(self)
            .map_err(|why| OperatorError::new(Trouble::File, why.to_string()))?;
        let fresh = path.with_extension("new");
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)).map_err(failed)
    }

    /// Forgets the receipt.
    pub fn drop(&self, place: &Place) -> Done {
        let path = file(place, &self.path);
        fs::remove_file(&path).map_err(|why| OperatorError::file(&path, &why))?;
        drop(fs::remove_dir(folder(place)));
        Ok(())
    }
}

fn folder(place: &Place) -> PathBuf {
    place.state.join("receipts")
}

fn file(place: &Place, path: &Path) -> PathBuf {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    folder(place).join(format!("{}.json", hex(&digest, 8)))
}
