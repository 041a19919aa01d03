//! Time and place: a clock that counts sleep, and the ids of machine, boot and pid namespace.
//! Liveness compares these, so that a row of another boot or container is never misread.

#[cfg(target_os = "linux")]
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::policy::lane::Tick;

/// Seconds a file time may lie in the future and still count as life (a clock set back).
pub const SKEW: u64 = 120;

/// Which machine, boot and pid namespace a row belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The machine's id.
    pub machine: String,
    /// This boot's id.
    pub boot: String,
    /// The pid namespace.
    pub namespace: u64,
}

/// The time of one event, taken once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Boot clock.
    pub tick: Tick,
    /// Seconds since 1970, for people and file times.
    pub unix: u64,
}

/// The clock and place of this process.
#[must_use]
pub fn now() -> Now {
    Now { tick: boot_tick(), unix: unix_seconds() }
}

/// Seconds since 1970.
#[must_use]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn boot_tick() -> Tick {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    Tick(u64::try_from(time.tv_sec).unwrap_or(0))
}

/// Where this process runs.
#[cfg(target_os = "linux")]
#[must_use]
pub fn place() -> Place {
    use std::os::unix::fs::MetadataExt;
    let read = |path: &str| start_of_file(path).map(|t| t.trim().to_owned());
    let machine = read("/etc/machine-id").ok().filter(|m| !m.is_empty());
    Place {
        machine: machine.unwrap_or_else(host_name),
        boot: read("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        namespace: fs::metadata("/proc/self/ns/pid").map_or(0, |m| m.ino()),
    }
}

/// Where this process runs.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn place() -> Place {
    Place { machine: host_name(), boot: boot_time(), namespace: 0 }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// No boot id outside Linux: the second the machine came up, rounded so that a clock that is
/// corrected by a little does not look like a new boot.
#[cfg(not(target_os = "linux"))]
fn boot_time() -> String {
    let up = boot_tick().0;
    format!("up-{}", unix_seconds().saturating_sub(up) / 60)
}

/// A client process: its pid and the time it began, which together are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// Process id.
    pub pid: u32,
    /// Start time in the kernel's own unit.
    pub start: u64,
}

/// What is known of a client process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientLife {
    /// It runs.
    Runs,
    /// It is gone, or its pid belongs to another process now.
    Gone,
    /// Can't be told here.
    Unknown,
}

/// Whether the client with this pid and start time still runs.
#[must_use]
pub fn client_life(client: Client) -> ClientLife {
    match start_of(client.pid) {
        Some((start, _)) if start == client.start => ClientLife::Runs,
        Some(_) => ClientLife::Gone,
        None if cfg!(target_os = "linux") => ClientLife::Gone,
        None => ClientLife::Unknown,
    }
}

/// Start time and parent of a process.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<(u64, u32)> {
    stat(&start_of_file(&format!("/proc/{pid}/stat")).ok()?)
        .map(|(_, start, parent)| (start, parent))
}

/// Name, start time and parent, from a process's line.
#[cfg(target_os = "linux")]
fn stat(line: &str) -> Option<(&str, u64, u32)> {
    // The name stands in parentheses and may hold anything, so count from the last one.
    let (before, rest) = line.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((name, start, parent))
}

/// The start of a small file of the kernel's, in one read: it has no size to ask for.
#[cfg(target_os = "linux")]
fn start_of_file(path: &str) -> std::io::Result<String> {
    use std::io::Read;
    let mut bytes = [0; 1024];
    let length = fs::File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned())
}

#[cfg(not(target_os = "linux"))]
fn start_of(_pid: u32) -> Option<(u64, u32)> {
    None
}

/// The client among the ancestors of this process, and whether its name says that it is one: the
/// nearest one that is no shell and none of our own names.
#[cfg(target_os = "linux")]
#[must_use]
pub fn client() -> Option<(Client, bool)> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..8 {
        if pid <= 1 {
            return None;
        }
        let line = start_of_file(&format!("/proc/{pid}/stat")).ok()?;
        let (name, start, parent) = stat(&line)?;
        if !is_carrier(name) {
            let by_name = name == "claude";
            return Some((Client { pid, start }, by_name));
        }
        pid = parent;
    }
    None
}

/// The client among the ancestors of this process.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn client() -> Option<(Client, bool)> {
    None
}

/// Programs that only carry a hook from the client to us.
#[cfg(target_os = "linux")]
fn is_carrier(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "timeout" | "env" | "sudo" | "octo")
        || name.starts_with("octo-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_pid_and_start_time() {
        let me = std::process::id();
        let (start, _) = start_of(me).unwrap();
        assert_eq!(client_life(Client { pid: me, start }), ClientLife::Runs);
        assert_eq!(client_life(Client { pid: me, start: start + 1 }), ClientLife::Gone);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_hold_what_ends_names() {
        let numbers: Vec<String> = (5..=22).map(|n| n.to_string()).collect();
        let line = format!("12 (a (b) c) S 4 {}", numbers.join(" "));
        assert_eq!(stat(&line), Some(("a (b) c", 22, 4)));
        assert_eq!(stat("12 (a) Z 4 5"), None);
    }
}
