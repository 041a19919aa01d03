//! Owns the map between a session's tree and the project it stands for, for tools that key
//! memory or history by folder.
//! PURE. Must never guess: a path outside every tree maps to itself.

use super::row::TreeRow;
use crate::policy::lane::{AbsPath, Pid};

/// The project path that a path in a tree stands for; itself when it is in no tree.
#[must_use]
pub fn logical(rows: &[TreeRow], path: &AbsPath) -> AbsPath {
    let within = rows.iter().filter(|r| path.within(&r.path));
    // A tree may lie inside another one's folder: the innermost is meant.
    let innermost = within.max_by_key(|r| r.path.as_path().components().count());
    let mapped = innermost.and_then(|r| path.below(&r.path).map(|rest| r.main.join(rest)));
    mapped.unwrap_or_else(|| path.clone())
}

/// Where a session's copy of a project path is; itself when the session has no tree there.
#[must_use]
pub fn physical(rows: &[TreeRow], session: &Pid, path: &AbsPath) -> AbsPath {
    let own = rows.iter().filter(|r| r.session == *session && r.stands() && r.name.is_none());
    let named = rows.iter().filter(|r| r.session == *session && r.stands());
    let fits = own.chain(named).find(|r| path.within(&r.main) && !path.within(&r.path));
    let mapped = fits.and_then(|r| path.below(&r.main).map(|rest| r.path.join(rest)));
    mapped.unwrap_or_else(|| path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree::{Pin, Setup, State};

    fn row(session: &str, path: &str) -> TreeRow {
        let at = |p: &str| AbsPath::new(p).unwrap();
        TreeRow {
            id: session.into(),
            session: Pid::new(session).unwrap(),
            name: None,
            alias: None,
            common: at("/w/app/.git"),
            main: at("/w/app"),
            path: at(path),
            branch: format!("dim/{session}"),
            target: None,
            base: String::new(),
            state: State::Ready,
            created: 0,
            seen: 0,
            pin: Pin::Loose,
            ports: None,
            setup: Setup::None,
            copied: Vec::new(),
            sub: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn there_and_back_and_nowhere_else() {
        let rows = [row("s-1", "/t/s-1"), row("s-2", "/w/app/.trees/s-2")];
        let at = |p: &str| AbsPath::new(p).unwrap();
        assert_eq!(logical(&rows, &at("/t/s-1/src/x.rs")), at("/w/app/src/x.rs"));
        assert_eq!(logical(&rows, &at("/t/s-1")), at("/w/app"));
        assert_eq!(logical(&rows, &at("/t/s-10/x")), at("/t/s-10/x"));
        assert_eq!(logical(&rows, &at("/w/app/.trees/s-2/x")), at("/w/app/x"));
        let s1 = Pid::new("s-1").unwrap();
        assert_eq!(physical(&rows, &s1, &at("/w/app/src/x.rs")), at("/t/s-1/src/x.rs"));
        assert_eq!(physical(&rows, &s1, &at("/elsewhere")), at("/elsewhere"));
        let s2 = Pid::new("s-2").unwrap();
        assert_eq!(physical(&rows, &s2, &at("/w/app/.trees/s-2/x")), at("/w/app/.trees/s-2/x"));
    }
}
