//! Paths as text: joining and the lexical `..` of a logical `cd`. Never asks the disk.

/// What a process sees of itself: links that lead somewhere else in every process that asks.
const OWN: [(&str, Own); 4] = [
    ("/proc/self/cwd", Own::Directory),
    ("/proc/thread-self/cwd", Own::Directory),
    ("/proc/self/root", Own::Root),
    ("/proc/thread-self/root", Own::Root),
];

/// Where such a link leads.
#[derive(Clone, Copy)]
enum Own {
    Directory,
    Root,
}

/// `path` as seen from `dir`; `..` stays as it is, because a link may stand before it.
pub(in crate::policy) fn join(dir: &str, path: &str) -> String {
    let own = OWN.iter().find_map(|(link, own)| {
        let rest = path.strip_prefix(link).filter(|r| r.is_empty() || r.starts_with('/'))?;
        Some((own, rest))
    });
    if let Some((own, rest)) = own {
        let start = match own {
            Own::Directory => dir.trim_end_matches('/'),
            Own::Root => "",
        };
        format!("{start}{}", if rest.is_empty() { "/" } else { rest })
    } else if path.starts_with('/') {
        path.to_owned()
    } else if path.is_empty() {
        dir.to_owned()
    } else {
        format!("{}/{path}", dir.trim_end_matches('/'))
    }
}

/// `.` and `..` taken out by name alone, as bash does for `cd` and `$PWD`.
pub(super) fn logical(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// `.` and doubled slashes taken out; `..` stays.
pub(super) fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    format!("/{}", parts.join("/"))
}

/// The last component.
pub(super) fn base(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// All but the last component, as `dirname` prints it.
pub(super) fn parent(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/",
        Some((dir, _)) => dir.trim_end_matches('/'),
        None if path.starts_with('/') => "/",
        None => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::{base, join, logical, parent};

    #[test]
    fn paths_are_put_together_as_bash_does() {
        assert_eq!(join("/a/", "b"), "/a/b");
        assert_eq!(join("/", "b"), "/b");
        assert_eq!(join("/a", "/b"), "/b");
        assert_eq!(join("/a", "/proc/self/cwd/b"), "/a/b");
        assert_eq!(join("/a", "/proc/self/root/b"), "/b");
        assert_eq!(join("/a", "/proc/self/cwdx"), "/proc/self/cwdx");
        assert_eq!(logical("/a/./b/../../c//d/"), "/c/d");
        assert_eq!(logical("/.."), "/");
        assert_eq!((base("/a/b/"), base("b")), ("b", "b"));
        assert_eq!((parent("/a/b"), parent("b"), parent("/b")), ("/a", ".", "/"));
    }
}
