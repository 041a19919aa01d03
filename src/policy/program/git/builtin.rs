//! Owns the names of git's own verbs that touch nobody's work. Git never lets an alias stand in
//! for one of them, so no configuration is looked up.

/// Verbs that read, or write where nobody works.
const READING: &[&str] = &[
    "annotate",
    "blame",
    "bugreport",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "cherry",
    "clone",
    "column",
    "commit-graph",
    "commit-tree",
    "count-objects",
    "credential",
    "describe",
    "diagnose",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "fetch-pack",
    "for-each-ref",
    "for-each-repo",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "hook",
    "index-pack",
    "init",
    "interpret-trailers",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "maintenance",
    "merge-base",
    "merge-tree",
    "mktag",
    "mktree",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "push",
    "range-diff",
    "remote",
    "repack",
    "rerere",
    "rev-list",
    "rev-parse",
    "send-pack",
    "shortlog",
    "show-branch",
    "show-index",
    "show-ref",
    "status",
    "stripspace",
    "tag",
    "unpack-objects",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "write-tree",
];

/// Whether a verb is git's own and harmless.
pub(super) fn reads(verb: &str) -> bool {
    READING.binary_search(&verb).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted_and_no_row_s() {
        assert!(READING.is_sorted());
        for verb in READING {
            let row = super::super::verbs().any(|row| row.is_git(verb));
            assert!(!row && reads(verb), "{verb}");
        }
    }
}
