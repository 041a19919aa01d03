//! PURE. Second ways to the same file: a folder that is mounted at two places of the machine (a
//! container's workspace, a bind mount). A mount over a path closes that path only, so the other
//! one has to be closed as well. Reads the kernel's mount table as text.

use crate::policy::lane::AbsPath;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    device: String,
    root: AbsPath,
    place: AbsPath,
}

/// The mounts of a machine, in the order they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    lines: Vec<Line>,
    /// Where something lies that lies at another place as well: on most machines nowhere.
    twins: Vec<AbsPath>,
}

impl Places {
    /// Reads `/proc/self/mountinfo`. A line that is not understood is left out.
    #[must_use]
    pub fn read(table: &str) -> Self {
        let line = |text: &str| {
            let mut parts = text.split(' ').skip(2);
            let device = parts.next()?.to_owned();
            let root = AbsPath::new(plain(parts.next()?))?;
            Some(Line { device, root, place: AbsPath::new(plain(parts.next()?))? })
        };
        let lines: Vec<Line> = table.lines().filter_map(line).collect();
        let twin = |l: &&Line| {
            let same = lines.iter().filter(|o| o.device == l.device && o.root.overlaps(&l.root));
            same.count() > 1
        };
        let twins = lines.iter().filter(twin).map(|l| l.place.clone()).collect();
        Self { lines, twins }
    }

    /// Where else what stands at `path` would be found.
    #[must_use]
    pub fn others(&self, path: &AbsPath) -> Vec<AbsPath> {
        if !self.twins.iter().any(|place| path.within(place)) {
            return Vec::new();
        }
        let Some(own) = self.around(path) else { return Vec::new() };
        let Some(inside) = path.below(&own.place).map(|rest| own.root.join(rest)) else {
            return Vec::new();
        };
        let same = self.lines.iter().filter(|l| l.device == own.device && inside.within(&l.root));
        let mut found: Vec<AbsPath> = same
            .filter_map(|l| inside.below(&l.root).map(|rest| l.place.join(rest)))
            .filter(|other| {
                other != path
                    && self
                        .around(other)
                        .is_some_and(|l| l.device == own.device && inside.within(&l.root))
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// The mount a path lies in: the innermost, and of several at one place the last.
    fn around(&self, path: &AbsPath) -> Option<&Line> {
        let depth = |l: &&Line| l.place.as_path().components().count();
        self.lines.iter().filter(|l| path.within(&l.place)).max_by_key(depth)
    }
}

/// Undoes the table's octal escapes.
fn plain(text: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"].iter().fold(text.to_owned(), |text, pair| {
        let (code, sign) = pair.split_at(4);
        text.replace(code, sign)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(table: &str, path: &str) -> Vec<String> {
        let found = Places::read(table).others(&AbsPath::new(path).unwrap());
        found.iter().map(ToString::to_string).collect()
    }

    const MACHINE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /dev rw - devtmpfs dev rw
30 22 8:1 /home/u/work /mnt/my\\040work rw - ext4 /dev/sda1 rw
31 22 8:2 / /data rw - ext4 /dev/sdb1 rw
32 22 8:1 /etc/hosts /run/hosts ro - ext4 /dev/sda1 rw";

    #[test]
    fn a_folder_mounted_twice_has_two_names_for_each_file() {
        assert_eq!(others(MACHINE, "/home/u/work/r/a.rs"), ["/mnt/my work/r/a.rs"]);
        assert_eq!(others(MACHINE, "/mnt/my work/r/a.rs"), ["/home/u/work/r/a.rs"]);
        assert_eq!(others(MACHINE, "/etc/hosts"), ["/run/hosts"]);
    }

    #[test]
    fn what_is_mounted_once_has_one() {
        for path in ["/home/u/other/a.rs", "/data/home/u/work/a.rs", "/dev/null"] {
            assert!(others(MACHINE, path).is_empty(), "{path}");
        }
        assert!(others("garbage\n", "/a").is_empty() && others("", "/a").is_empty());
    }

    #[test]
    fn a_name_that_is_covered_by_another_mount_leads_elsewhere() {
        let covered = format!("{MACHINE}\n40 30 8:2 / /mnt/my\\040work/r rw - ext4 /dev/sdb1 rw");
        assert!(others(&covered, "/home/u/work/r/a.rs").is_empty());
        assert_eq!(others(&covered, "/home/u/work/q/a.rs"), ["/mnt/my work/q/a.rs"]);
    }
}
