//! Owns the request for a published branch: which host the remote is of, that host's own program
//! where it is installed, and the exact command and address where it is not.
//! Must never show a name or password that stands in a remote's address, nor count a program's
//! refusal as a loss: the branch is on the remote already.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::worktree::keep::snapshot::one_line;

/// A host that does not answer must not hold a session's end up.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The tree to work in.
    pub folder: &'a Path,
    /// The remote's address.
    pub url: &'a str,
    /// The branch that was pushed.
    pub branch: &'a str,
    /// Where it should go; the host's default when nobody knows.
    pub target: Option<&'a str>,
}

/// Kinds of hosts whose program is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    GitHub,
    GitLab,
    Other,
}

/// Where a remote lies.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    kind: Kind,
    host: String,
    path: String,
}

/// Opens a request, or says how. The words are for a person.
#[must_use]
pub fn open(wanted: &Wanted<'_>) -> String {
    let Some(place) = place(wanted.url) else { return by_hand(wanted, None) };
    let Some(words) = command(&place, wanted) else { return by_hand(wanted, Some(&place)) };
    let Some((program, args)) = words.split_first() else {
        return by_hand(wanted, Some(&place));
    };
    let how = by_hand(wanted, Some(&place));
    let mut run = Command::new(program);
    run.args(args).current_dir(wanted.folder).env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    let Some(out) = finished(run) else { return how };
    let said = [out.stdout, b"\n".to_vec(), out.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let address = said.split_whitespace().find(|word| word.starts_with("https://"));
    match (out.status.success(), address) {
        (true, Some(address)) => format!("request opened: {}", one_line(address)),
        (true, None) => format!("request opened for {}", wanted.branch),
        // An older request for the branch: it shows what was pushed now.
        (false, Some(address)) if said.contains("already exists") => {
            format!("request is open: {}", one_line(address))
        }
        (false, _) => {
            let why = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            format!("{program} refused ({}); {how}", one_line(why.trim()))
        }
    }
}

/// What a program said, if it could be started and came to an end in time.
fn finished(mut program: Command) -> Option<Output> {
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().ok()?;
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            drop(child.kill());
            drop(child.wait());
            return None;
        }
        std::thread::sleep(PAUSE);
    }
    child.wait_with_output().ok()
}

/// The host's own command for this.
fn command(place: &Place, wanted: &Wanted<'_>) -> Option<Vec<String>> {
    let Wanted { branch, target, .. } = wanted;
    let (head, names, rest): (&[&str], _, &[&str]) = match place.kind {
        Kind::GitHub => (&["gh", "pr", "create"], ["--head", "--base"], &["--fill"]),
        Kind::GitLab => (
            &["glab", "mr", "create"],
            ["--source-branch", "--target-branch"],
            &["--fill", "--yes"],
        ),
        Kind::Other => return None,
    };
    let [source, into] = names;
    let mut words: Vec<&str> = head.to_vec();
    words.extend([source, branch]);
    words.extend(target.iter().flat_map(|target| [into, *target]));
    words.extend(rest);
    Some(words.into_iter().map(str::to_owned).collect())
}

/// What a person types or opens.
fn by_hand(wanted: &Wanted<'_>, place: Option<&Place>) -> String {
    let Wanted { branch, target, .. } = wanted;
    let into = target.unwrap_or("the default branch");
    let plain = format!("{branch} is pushed: open a request into {into}");
    let Some(place) = place else { return plain };
    let (host, path) = (&place.host, &place.path);
    let address = match place.kind {
        Kind::GitHub => {
            let base = target.map_or(String::new(), |target| format!("{target}..."));
            format!("https://{host}/{path}/compare/{base}{branch}?expand=1")
        }
        Kind::GitLab => {
            let base = target.map_or(String::new(), |target| {
                format!("&merge_request%5Btarget_branch%5D={target}")
            });
            format!(
                "https://{host}/{path}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}{base}"
            )
        }
        Kind::Other => return format!("{plain} at {host}/{path}"),
    };
    let typed = command(place, wanted).map(|words| shell_words::join(&words)).unwrap_or_default();
    format!("{plain}: {address}\nor: {typed}")
}

/// The host and the repository's path on it, from any of git's ways to write an address.
fn place(url: &str) -> Option<Place> {
    let (authority, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        // The short form of ssh; a colon behind a slash is part of a file's name.
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = authority.rsplit('@').next()?;
    let name = host.split(':').next()?.to_ascii_lowercase();
    let path = path.trim_matches('/').trim_end_matches(".git").to_owned();
    if name.is_empty() || path.is_empty() {
        return None;
    }
    let labelled = |label: &str| name.split('.').any(|part| part == label);
    let kind = if labelled("github") {
        Kind::GitHub
    } else if labelled("gitlab") {
        Kind::GitLab
    } else {
        Kind::Other
    };
    Some(Place { kind, host: name, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_address_names_its_host_and_hides_who_logs_in() {
        let at = |url: &str| place(url).map(|p| (p.kind, p.host, p.path));
        let hub = Some((Kind::GitHub, "github.com".to_owned(), "o/r".to_owned()));
        for url in [
            "https://github.com/o/r.git",
            "https://user:secret@github.com/o/r",
            "git@github.com:o/r.git",
            "ssh://git@github.com:22/o/r.git",
        ] {
            assert_eq!(at(url), hub, "{url}");
        }
        let lab = at("git@gitlab.example.org:group/sub/r.git").unwrap();
        assert_eq!((lab.0, lab.2.as_str()), (Kind::GitLab, "group/sub/r"));
        assert_eq!(at("https://notgithub.com/o/r").unwrap().0, Kind::Other);
        assert_eq!(at("/srv/git/r.git"), None);
        assert_eq!(at("../up.git"), None);
    }

    #[test]
    fn what_is_typed_by_hand_is_whole() {
        let wanted = |url, target| {
            let wanted = Wanted { folder: Path::new("/"), url, branch: "dim/s-1", target };
            by_hand(&wanted, place(url).as_ref())
        };
        let hub = wanted("https://tok@github.com/o/r", Some("main"));
        assert_eq!(
            hub,
            "dim/s-1 is pushed: open a request into main: \
             https://github.com/o/r/compare/main...dim/s-1?expand=1\n\
             or: gh pr create --head dim/s-1 --base main --fill"
        );
        assert!(wanted("git@gitlab.com:o/r.git", None).contains("source_branch%5D=dim/s-1\n"));
        assert!(wanted("https://git.example.org/o/r", None).ends_with("at git.example.org/o/r"));
        assert!(wanted("/srv/r.git", Some("main")).ends_with("into main"));
    }
}
