//! Owns the names of calls that write, remove or run, and where a name must stand to mean it: a
//! row each. Reads nothing.

/// What a call does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// Writes the first.
    Write,
    /// Removes the first, or all of them.
    Remove,
    /// Renames the first to the second.
    Rename,
    /// Moves the first to the second.
    Move,
    /// Copies the first to the second.
    Copy,
    /// Opens the first in the mode of the second.
    Open,
    /// Runs the first in a shell, or all as a program.
    Run,
    /// Goes to the first.
    Enter,
    /// Rewrites the first where it is told to.
    InPlace,
    /// Does what the first says, in the same language.
    Code,
}

/// Where a name must stand to mean it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// Anywhere.
    Any,
    /// Alone, or on one of these.
    Bare(&'static [&'static str]),
    /// On one of these.
    Only(&'static [&'static str]),
}

pub(super) const FS: &[&str] =
    &["fs", "fsp", "promises", "fsPromises", "Deno", "fse", "os", "shutil"];

/// Names of calls.
pub(super) const CALLS: &[(&[&str], Does, On)] = &[
    (
        &[
            "writeFileSync",
            "appendFileSync",
            "createWriteStream",
            "truncateSync",
            "outputFileSync",
            "outputFile",
            "writeJsonSync",
            "writeJSONSync",
            "writeFile",
            "appendFile",
            "writeTextFile",
            "writeTextFileSync",
            "file_put_contents",
            "binwrite",
        ],
        Does::Write,
        On::Any,
    ),
    (&["write", "truncate"], Does::Write, On::Only(&["File", "IO", "Bun", "Pathname", "fs", "os"])),
    (
        &[
            "unlinkSync",
            "rmSync",
            "rmdirSync",
            "removeSync",
            "rmtree",
            "rm_rf",
            "rm_r",
            "rm_f",
            "remove_dir",
            "remove_entry",
            "removedirs",
            "remove_tree",
        ],
        Does::Remove,
        On::Any,
    ),
    (
        &["remove", "rm", "rmdir", "delete"],
        Does::Remove,
        On::Only(&[
            "fs",
            "fsp",
            "promises",
            "fsPromises",
            "Deno",
            "fse",
            "os",
            "File",
            "FileUtils",
            "Dir",
        ]),
    ),
    (&["unlink"], Does::Remove, On::Bare(&["fs", "fsp", "promises", "os", "File", "FileUtils"])),
    (&["renameSync", "renames"], Does::Rename, On::Any),
    (&["rename"], Does::Rename, On::Bare(&["fs", "fsp", "promises", "os", "File", "Deno"])),
    (&["replace"], Does::Rename, On::Only(&["os"])),
    (&["move", "moveSync", "mv"], Does::Move, On::Bare(&["shutil", "fs", "fse", "FileUtils"])),
    (&["copyFileSync", "cpSync", "copySync", "copytree", "copyfile", "copy2"], Does::Copy, On::Any),
    (
        &["copy", "cp", "copyFile", "cp_r"],
        Does::Copy,
        On::Bare(&["shutil", "fs", "fsp", "promises", "fse", "FileUtils", "File", "Deno"]),
    ),
    (
        &["open", "fopen", "openSync"],
        Does::Open,
        On::Bare(&["io", "codecs", "File", "fs", "gzip", "os", "builtins", "promises", "fsp"]),
    ),
    (
        &[
            "system",
            "execSync",
            "check_call",
            "check_output",
            "getoutput",
            "getstatusoutput",
            "Popen",
            "popen",
            "shell_exec",
            "passthru",
            "spawnSync",
            "execFileSync",
            "execv",
            "execve",
            "execvp",
            "execvpe",
            "execl",
            "execlp",
            "posix_spawn",
            "posix_spawnp",
        ],
        Does::Run,
        On::Any,
    ),
    (&["run", "call"], Does::Run, On::Only(&["subprocess", "sp"])),
    (&["exec", "spawn", "execFile"], Does::Run, On::Bare(&["child_process", "cp", "Kernel"])),
    (&["eval"], Does::Code, On::Bare(&[])),
    (&["chdir"], Does::Enter, On::Any),
    (&["input", "FileInput"], Does::InPlace, On::Only(&["fileinput"])),
];

/// Methods of a path.
pub(super) const METHODS: &[&str] =
    &["write_text", "write_bytes", "touch", "unlink", "rmtree", "rename", "replace", "open"];
