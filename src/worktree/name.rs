//! Owns which ids can name a session for its whole life, and how a client's name for a tree fits
//! into a folder and a branch.
//! PURE. Must never cut an id: two sessions once met in one tree because theirs began alike.

use super::refusal::Refusal;

/// Whether an id can name a session, its branch and its folder.
pub fn stable(id: &str, host: &str) -> Result<(), Refusal> {
    let no = |why| Err(Refusal::Id(id.to_owned(), why));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let stem =
        id.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', '.', ':']);
    let host_stem = host.split('.').next().unwrap_or(host);
    if id.is_empty() {
        return no("it is empty");
    }
    if id.bytes().all(|b| b.is_ascii_digit()) {
        return no("it looks like a process number, which the next process will have too");
    }
    if !host_stem.is_empty() && [id, stem].iter().any(|s| *s == host || *s == host_stem) {
        return no("it is made from the machine's name, which all its sessions share");
    }
    if !id.chars().all(plain) || id.len() > 200 {
        return no("a branch and a folder must be able to carry it whole");
    }
    let odd = id.starts_with(['-', '.']) || id.ends_with('.') || id.contains("..");
    let lock = id.rsplit_once('.').is_some_and(|(_, end)| end == "lock");
    if odd || lock {
        return no("git refuses it as a branch name");
    }
    Ok(())
}

/// A name as a folder and a branch can carry it; told apart by the session's id before it.
pub(super) fn folder_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = name.chars().take(60).map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "tree".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_others_would_have_too_is_none() {
        for id in ["634c7e8c-12bc-45f7-9b49-090bd838430f", "s-1", "build.7"] {
            assert!(stable(id, "host.example.org").is_ok(), "{id}");
        }
        for id in ["", "4711", "host", "host-4711", "host.example.org", "host.example.org:99"] {
            assert!(stable(id, "host.example.org").is_err(), "{id}");
        }
        for id in ["-x", ".x", "a..b", "x.", "x.lock", "a/b", "a b", "é", &"x".repeat(201)] {
            assert!(stable(id, "host").is_err(), "{id}");
        }
    }

    #[test]
    fn a_clients_name_becomes_a_folders() {
        assert_eq!(folder_name("feature/foo bar"), "feature-foo-bar");
        assert_eq!(folder_name("../.."), "tree");
        assert_eq!(folder_name(&"n".repeat(99)).len(), 60);
    }
}
