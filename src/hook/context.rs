//! One event, seen whole: who, where, when, under which settings. Asked once, handed around.

use std::path::Path;

use super::input::{Payload, PayloadError};
use crate::applet::{Event, Role};
use crate::config::load::{self, Fault, Places};
use crate::config::{Isolation, Settings};
use crate::git::discover;
use crate::git::paths::{self, Follow};
use crate::kernel::clock::{self, Now};
use crate::kernel::home::Home;
use crate::policy::facts::{Actor, Root};
use crate::policy::lane::AbsPath;

/// One event and what is around it.
pub struct Context<'p> {
    /// The payload.
    pub payload: Payload<'p>,
    /// The event.
    pub event: Event,
    /// Which gates were asked for.
    pub role: Role,
    /// Who.
    pub actor: Actor,
    /// The kernel's place.
    pub home: Home,
    /// When.
    pub now: Now,
    /// The directory of the event, canonical.
    pub cwd: Option<AbsPath>,
    /// The work tree of that directory.
    pub root: Option<Root>,
    /// The settings that hold there.
    pub settings: Settings,
    /// What is wrong with the settings files.
    pub faults: Vec<Fault>,
}

impl<'p> Context<'p> {
    /// Looks around an event.
    pub fn new(
        payload: Payload<'p>,
        event: Event,
        role: Role,
        home: Home,
    ) -> Result<Self, PayloadError> {
        let actor = payload.actor()?;
        let cwd = paths::canonical(Path::new(payload.cwd.as_ref()), Follow::All);
        let root = cwd.as_ref().and_then(discover::root_of);
        let project = root.as_ref().map(|r| r.path.as_path());
        let loaded = load::load(&Places::new(home.user(), project));
        let settings = loaded.settings;
        Ok(Self {
            payload,
            event,
            role,
            actor,
            home,
            now: clock::now(),
            cwd,
            root,
            settings,
            faults: loaded.faults,
        })
    }

    /// Isolation as it holds for this session: `isolation_bypass` where every call is approved.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        let bypass = self.payload.permission_mode.as_deref() == Some("bypassPermissions");
        match (bypass, self.settings.isolation) {
            (true, Isolation::Auto) => self.settings.isolation_bypass,
            (_, isolation) => isolation,
        }
    }
}
