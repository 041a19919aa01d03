//! Hooks played in one process, for tests that need to look into the table or to die at a given
//! moment. What the binary does is tested in `tests/`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::context::Context;
use super::{dispatch, input};
use crate::applet::Role;
use crate::config::{Isolation, Settings};
use crate::kernel::home::Home;
use crate::kernel::store::{Kernel, Make, OPERATOR_PATIENCE};
use crate::shield::Reply;

/// A home folder with a repository, and the settings its hooks get.
pub(super) struct Rehearsal {
    pub(super) home: Home,
    pub(super) work: PathBuf,
    pub(super) settings: fn(&mut Settings),
}

impl Rehearsal {
    pub(super) fn new(folder: &Path, settings: fn(&mut Settings)) -> Self {
        let folder = fs::canonicalize(folder).unwrap();
        // No scratch folder: what lies there is nobody's lane.
        let work = folder.join("home/work");
        fs::create_dir_all(work.join(".git/objects")).unwrap();
        fs::create_dir_all(work.join(".git/refs")).unwrap();
        fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Self { home: Home::of(&folder.join("home")), work, settings }
    }

    /// Fires an event of a session, or of an agent in it.
    pub(super) fn fire(&self, pid: &str, session: &str, event: &str, more: Value) -> Reply {
        let mut body = json!({ "session_id": session, "cwd": self.work, "hook_event_name": event });
        let fields = body.as_object_mut().unwrap();
        if pid != session {
            fields.insert("agent_id".into(), pid.into());
            fields.insert("agent_type".into(), "builder".into());
        }
        if let Value::Object(more) = more {
            fields.extend(more);
        }
        let text = body.to_string();
        let (payload, event) = input::decode(text.as_bytes(), None).unwrap();
        let mut context = Context::new(payload, event, Role::All, self.home.clone()).unwrap();
        context.settings.isolation = Isolation::Off;
        (self.settings)(&mut context.settings);
        dispatch(&context)
    }

    pub(super) fn kernel(&self) -> Kernel {
        Kernel::open(&self.home, Make::IfAbsent, OPERATOR_PATIENCE).unwrap()
    }
}
