//! The verdict on a line: read, worked out, and judged by the product's own rules while somebody
//! else holds `lib/core.rs`, edited and staged.

use octo::policy::decide;
use octo::policy::facts::{Actor, Basis, Effect, Facts, Hold, Kind, Neighbour, Staged};
use octo::policy::lane::{AbsPath, Pid};
use octo::policy::program::{Site, line_effects};
use octo::policy::rules::ALL_GATES;
use octo::policy::shell::{Dir, Invocation, Reading, read};
use octo::policy::verdict::{Holder, Verdict};

use crate::scene::{ROOT, Scene};

/// What a line is read as in the work tree.
pub fn reading(line: &str) -> Reading {
    read(line, ROOT, &Scene)
}

/// Everything a reading would do, what could not be read included.
pub fn effects(reading: &Reading) -> Vec<Effect> {
    let mut effects = of(&reading.invocations);
    for unread in &reading.unread {
        let dir = match &unread.dir {
            Dir::At(at) => AbsPath::new(at),
            Dir::Unknown => None,
            Dir::Fresh => continue,
        };
        effects.push(Effect::Opaque { dir, why: unread.why, words: unread.words.clone() });
    }
    effects
}

/// Everything programs would do.
pub fn of(invocations: &[Invocation]) -> Vec<Effect> {
    line_effects(invocations, &Scene).into_iter().flatten().collect()
}

/// Whether somebody who does not hold the file may do this.
pub fn denied(effects: &[Effect]) -> bool {
    let facts = facts();
    decide(effects, &facts, ALL_GATES).verdict != Verdict::Allow
}

fn facts() -> Facts {
    let known = |id| Pid::new(id).expect("an id");
    let pid = known("me");
    let actor = Actor { session: pid.clone(), pid, kind: Kind::Session, agent_type: None };
    let mut facts = Facts::about(actor);
    let root = AbsPath::new(ROOT).expect("absolute");
    let pid = known("other");
    let session = pid.clone();
    let holder = Holder { pid, session, kind: "session".to_owned(), age: 1, silent: 0 };
    let path = root.join("lib/core.rs");
    for basis in [Basis::Lane, Basis::Custody] {
        let hold = Hold {
            path: path.clone(),
            root: Some(root.clone()),
            basis,
            holder: holder.clone(),
        };
        facts.holds.push(hold);
    }
    facts.staged.push(Staged { root: root.clone(), paths: Some(vec![path]) });
    facts.neighbours.push(Neighbour { root: root.clone(), holder, forked: false });
    facts.roots.extend(Scene.root_of(&root));
    facts
}
