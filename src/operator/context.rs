//! What every command needs to know about where it runs: home, project, settings, screen. Looked
//! up once at the door, so that commands stay testable with places of their own.

use std::path::PathBuf;

use super::error::{OperatorError, Trouble};
use super::screen::{Screen, Voice};
use crate::config::Settings;
use crate::config::load::{Loaded, Places, load};
use crate::git::{Follow, canonical, root_of};

/// Where and how a command runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// The person's home directory.
    pub home: PathBuf,
    /// The directory it was typed in.
    pub cwd: PathBuf,
    /// The top of the work tree there, or the directory itself.
    pub project: PathBuf,
    /// The settings files and what they say.
    pub places: Places,
    /// The same, read.
    pub loaded: Loaded,
    /// The settings that hold.
    pub settings: Settings,
    /// Where it prints.
    pub screen: Screen,
}

impl Context {
    /// The context of this process.
    pub fn here(voice: Voice) -> Result<Self, OperatorError> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let Some(home) = home else {
            return Err(OperatorError::new(Trouble::Missing, "there is no home directory")
                .hint("set HOME to an absolute path"));
        };
        let cwd = std::env::current_dir().unwrap_or_else(|_| home.clone());
        let root = canonical(&cwd, Follow::All).and_then(|path| root_of(&path));
        let project =
            root.as_ref().map_or_else(|| cwd.clone(), |root| root.path.as_path().to_path_buf());
        let places = Places::new(&home, root.as_ref().map(|root| root.path.as_path()));
        let loaded = load(&places);
        let settings = loaded.settings.clone();
        Ok(Self { home, cwd, project, places, loaded, settings, screen: Screen::detect(voice) })
    }
}
