//! One event, seen whole: who, where, when, under which settings. Asked once, handed around.

use std::path::Path;
use std::rc::Rc;

use super::input::{Payload, PayloadError};
use crate::applet::{Event, Role};
use crate::config::load::{self, Fault, Places};
use crate::config::{Isolation, Settings};
use crate::git::discover;
use crate::git::paths::{Follow, Links};
use crate::kernel::StateError;
use crate::kernel::clock::{self, Now};
use crate::kernel::home::Home;
use crate::kernel::store::{Kernel, Make, PATIENCE, Tx};
use crate::policy::facts::{Actor, Root};
use crate::policy::lane::{AbsPath, Pid};

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
    /// What this event found out about symbolic links.
    pub links: Rc<Links>,
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
        let links = Rc::new(Links::default());
        let cwd = links.canonical(Path::new(payload.cwd.as_ref()), Follow::All);
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
            links,
        })
    }

    /// The kernel, made when absent, with the patience of a hook.
    pub fn kernel(&self) -> Result<Kernel, StateError> {
        let opened = Kernel::open(&self.home, Make::IfAbsent, PATIENCE)?;
        Ok(opened.with_segments(self.settings.retention.journal_kilobytes))
    }

    /// Isolation as it holds for this session: what the settings said when it began, and
    /// `isolation_bypass` where every call is approved. An agent that edits a project's settings
    /// must not change its own.
    pub fn isolation(&self, tx: &Tx<'_>) -> Result<Isolation, StateError> {
        let noted = tx.meta(&bound(&self.actor.session))?;
        let (usual, all_approved) = noted
            .as_deref()
            .and_then(|text| text.split_once(' '))
            .map_or((self.settings.isolation, self.settings.isolation_bypass), |(a, b)| {
                (isolation_named(a), isolation_named(b))
            });
        let bypass = self.payload.permission_mode.as_deref() == Some("bypassPermissions");
        Ok(if bypass && usual == Isolation::Auto { all_approved } else { usual })
    }

    /// Notes the isolation that the settings of this moment give the session.
    pub fn bind_isolation(&self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        let (usual, all_approved) = (self.settings.isolation, self.settings.isolation_bypass);
        let text = format!("{} {}", isolation_word(usual), isolation_word(all_approved));
        tx.set_meta(&bound(&self.actor.session), &text)
    }
}

fn bound(session: &Pid) -> String {
    format!("isolation/{session}")
}

fn isolation_word(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Off => "off",
        Isolation::Auto => "auto",
        Isolation::Always => "always",
    }
}

fn isolation_named(word: &str) -> Isolation {
    match word {
        "off" => Isolation::Off,
        "always" => Isolation::Always,
        _ => Isolation::Auto,
    }
}
