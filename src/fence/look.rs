//! What planning wants to know, read from the disk: what stands at a path, which branch a checkout
//! is on, which temporary and cache folders there are. Never writes.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::plan::{Disk, There};
use super::twice::Places;
use crate::policy::facts::Root;
use crate::policy::lane::AbsPath;

/// The real disk, with the machine's mounts as they were before any fence.
#[derive(Debug, Clone, Default)]
pub struct RealDisk {
    places: Places,
}

impl RealDisk {
    /// Looks at the mounts once.
    #[must_use]
    pub fn look() -> Self {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self { places: Places::read(&table) }
    }
}

impl Disk for RealDisk {
    fn there(&self, path: &AbsPath) -> There {
        let Ok(meta) = fs::symlink_metadata(path.as_path()) else { return There::Missing };
        if meta.is_dir() {
            There::Dir
        } else if meta.file_type().is_symlink() {
            There::Link
        } else {
            There::File { links: meta.nlink() }
        }
    }

    fn branch_file(&self, root: &Root) -> Option<AbsPath> {
        let head = fs::read_to_string(root.git_dir.join("HEAD").as_path()).ok()?;
        let name = head.trim_end().strip_prefix("ref: ")?;
        let file = root.common.join(name);
        file.within(&root.common).then_some(file)
    }

    fn others(&self, path: &AbsPath) -> Vec<AbsPath> {
        self.places.others(path)
    }

    fn list(&self, dir: &AbsPath) -> Vec<AbsPath> {
        let Ok(entries) = fs::read_dir(dir.as_path()) else { return Vec::new() };
        entries.flatten().filter_map(|e| AbsPath::new(e.path())).collect()
    }
}

/// Folders everybody may write in: nothing there is one process's work.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"];

/// Caches and tool state below the home folder. Writing there is part of building and testing.
const BELOW_HOME: [&str; 34] = [
    ".android",
    ".bun",
    ".bundle",
    ".cache",
    ".cargo",
    ".ccache",
    ".composer",
    ".conda",
    ".config",
    ".deno",
    ".docker",
    ".dotnet",
    ".gem",
    ".gnupg",
    ".gradle",
    ".hex",
    ".ipython",
    ".ivy2",
    ".jupyter",
    ".kube",
    ".local",
    ".m2",
    ".mix",
    ".npm",
    ".nuget",
    ".nvm",
    ".pnpm-store",
    ".pub-cache",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sbt",
    ".yarn",
    "go",
];

/// Variables that move such folders elsewhere.
const NAMED: [&str; 16] = [
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CCACHE_DIR",
    "GNUPGHOME",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GRADLE_USER_HOME",
    "PIP_CACHE_DIR",
    "PNPM_HOME",
    "RUSTUP_HOME",
    "TMPDIR",
    "UV_CACHE_DIR",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "npm_config_cache",
];

/// What makes the kernel run a program outside of any fence, or stop. Only root can write there.
const SWITCHES: [&str; 5] =
    ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// A folder with nothing in it but this program and its names, which are links and cannot be
/// closed one by one.
const OWN_FOLDER: &str = "octo/bin";

/// Switches that must stay closed: this program itself, and for root the machine's.
#[must_use]
pub fn switches(user: Rights) -> Vec<AbsPath> {
    let own = std::env::current_exe().ok().and_then(AbsPath::new).map(|program| {
        let folder = program.parent().filter(|f| f.as_path().ends_with(OWN_FOLDER));
        folder.unwrap_or(program)
    });
    let machine: &[&str] = match user {
        Rights::Root => &SWITCHES,
        Rights::Ordinary => &[],
    };
    own.into_iter().chain(machine.iter().filter_map(AbsPath::new)).collect()
}

/// Whose command it is to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Uid 0.
    Root,
    /// Everybody else.
    Ordinary,
}

/// Temporary and cache folders that exist here, links resolved. A variable that names the home
/// folder or one around it is not believed: it would open everything.
#[must_use]
pub fn scratch(env: &dyn Fn(&str) -> Option<String>) -> Vec<AbsPath> {
    let home = env("HOME").and_then(AbsPath::new).and_then(|h| real(&h));
    let around = |p: &AbsPath| home.as_ref().is_some_and(|h| h.within(p)) || p.parent().is_none();
    let named = NAMED.iter().filter_map(|name| env(name)).filter_map(AbsPath::new);
    let mut all: Vec<AbsPath> = named.filter_map(|p| real(&p)).filter(|p| !around(p)).collect();
    all.extend(SHARED.iter().filter_map(AbsPath::new).filter_map(|p| real(&p)));
    if let Some(home) = &home {
        all.extend(BELOW_HOME.iter().filter_map(|name| entry(&home.join(name))));
    }
    all.sort();
    all.dedup();
    all
}

/// The cache folder a path would lie in, where that is not there yet: rights can be given only to
/// what exists, so whoever uses a tool for the first time is refused.
#[must_use]
pub fn missing_cache(path: &AbsPath, home: &AbsPath) -> Option<AbsPath> {
    let folders = BELOW_HOME.iter().map(|name| home.join(name));
    folders
        .into_iter()
        .find(|folder| path.within(folder) && fs::symlink_metadata(folder.as_path()).is_err())
}

fn real(path: &AbsPath) -> Option<AbsPath> {
    fs::canonicalize(path.as_path()).ok().and_then(AbsPath::new)
}

/// The same for an entry of a folder that is already real: one question instead of one per part.
fn entry(path: &AbsPath) -> Option<AbsPath> {
    let meta = fs::symlink_metadata(path.as_path()).ok()?;
    if meta.is_symlink() { real(path) } else { Some(path.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cache_folder_that_is_not_there_is_missing() {
        let tmp = tempfile::tempdir().unwrap();
        let home = AbsPath::new(tmp.path()).unwrap();
        fs::create_dir(tmp.path().join(".cargo")).unwrap();
        let missing = |path: &str| missing_cache(&home.join(path), &home);
        assert_eq!(missing(".npm/_cacache/tmp"), Some(home.join(".npm")));
        assert_eq!(missing(".npm"), Some(home.join(".npm")));
        for other in [".cargo/registry", ".npmrc", ".bashrc", "proj/.npm"] {
            assert_eq!(missing(other), None, "{other}");
        }
    }
}
