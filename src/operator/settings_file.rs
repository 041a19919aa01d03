//! A client's settings file on disk: read through a link, backed up once per change, written by
//! rename with its mode kept. Knows bytes and files; what to change is `wiring`'s.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::{Done, OperatorError, Trouble};

/// Mode of a settings file that did not exist.
const MODE: u32 = 0o600;

/// A settings file and what it held when it was read.
#[derive(Debug)]
pub struct SettingsFile {
    /// The file behind all links.
    pub path: PathBuf,
    /// Its text; none when it does not exist.
    pub text: Option<String>,
    mode: u32,
}

impl SettingsFile {
    /// Reads a settings file; a link is followed, so that a dotfiles manager keeps its file.
    pub fn read(path: &Path) -> Result<Self, OperatorError> {
        let path = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(why) if why.kind() == ErrorKind::NotFound => dangling(path)?,
            Err(why) => return Err(OperatorError::file(path, &why)),
        };
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            Err(why) if why.kind() == ErrorKind::NotFound => {
                return Ok(Self { path, text: None, mode: MODE });
            }
            Err(why) => return Err(OperatorError::file(&path, &why)),
        };
        if !meta.is_file() {
            let message = format!("{} is not a plain file", path.display());
            return Err(OperatorError::new(Trouble::Settings, message));
        }
        let bytes = fs::read(&path).map_err(|why| OperatorError::file(&path, &why))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            OperatorError::new(Trouble::Settings, format!("{} is not UTF-8", path.display()))
        })?;
        Ok(Self { path, text: Some(text), mode: meta.permissions().mode() & 0o7777 })
    }

    /// Writes a new text in one step, unless the file changed since it was read.
    pub fn write(&self, text: &str) -> Done {
        let failed = |why| OperatorError::file(&self.path, &why);
        let now = Self::read(&self.path)?;
        if now.text != self.text {
            let message = format!("{} changed meanwhile", self.path.display());
            return Err(OperatorError::new(Trouble::Settings, message).hint("run it again"));
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let fresh = self.beside("octo-new");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(self.mode)
            .open(&fresh)
            .map_err(failed)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.set_permissions(fs::Permissions::from_mode(self.mode)))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&fresh, &self.path))
            .map_err(failed)
    }

    /// Removes the file (it exists only because of us).
    pub fn remove(&self) -> Done {
        fs::remove_file(&self.path).map_err(|why| OperatorError::file(&self.path, &why))
    }

    /// Keeps the text as it is now beside the file, and says where.
    pub fn back_up(&self) -> Result<Option<PathBuf>, OperatorError> {
        let Some(text) = &self.text else { return Ok(None) };
        let backup = self.beside("octo-backup");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(self.mode)
            .open(&backup)
            .map_err(|why| OperatorError::file(&backup, &why))?;
        file.write_all(text.as_bytes()).map_err(|why| OperatorError::file(&backup, &why))?;
        Ok(Some(backup))
    }

    /// Removes a backup that holds nothing but what the file holds again.
    pub fn drop_backup(&self, restored: &str) {
        let backup = self.beside("octo-backup");
        if fs::read(&backup).is_ok_and(|bytes| bytes == restored.as_bytes()) {
            drop(fs::remove_file(backup));
        }
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_os_string();
        name.push(".");
        name.push(suffix);
        self.path.with_file_name(name)
    }
}

/// The path a missing file has once the links of its folder are resolved.
fn dangling(path: &Path) -> Result<PathBuf, OperatorError> {
    if fs::symlink_metadata(path).is_ok() {
        let message = format!("{} is a link to nothing", path.display());
        return Err(
            OperatorError::new(Trouble::Settings, message).hint("repair or remove the link")
        );
    }
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let name = path.file_name();
    Ok(folder.zip(name).map_or_else(|| path.to_path_buf(), |(folder, name)| folder.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_and_the_mode_is_kept() {
        let tmp = tempfile::tempdir().unwrap();
        let (real, link) = (tmp.path().join("dot.json"), tmp.path().join("settings.json"));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let file = SettingsFile::read(&link).unwrap();
        let backup = file.back_up().unwrap().unwrap();
        file.write("{\"a\": 1}").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "{\"a\": 1}");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(backup).unwrap(), "{}");
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        let file = SettingsFile::read(&path).unwrap();
        fs::write(&path, "{\"user\": 1}").unwrap();
        assert!(file.write("{}").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"user\": 1}");
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        assert!(SettingsFile::read(tmp.path()).is_err());
        let bytes = tmp.path().join("settings.json");
        fs::write(&bytes, [0xff, 0xfe]).unwrap();
        assert!(SettingsFile::read(&bytes).is_err());
        let dangling = tmp.path().join("link.json");
        std::os::unix::fs::symlink(tmp.path().join("none"), &dangling).unwrap();
        assert!(SettingsFile::read(&dangling).is_err());
    }
}
