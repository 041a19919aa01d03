//! Owns a tree's own ports and container names, and the file that tells its programs.
//! Must never give two trees one port, nor put its file into anybody's commit.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};

use super::row::{Ports, TreeRow};
use super::{Context, TreeError, io};
use crate::policy::facts::Root;

/// Below the range that systems hand out by themselves.
const RANGE: std::ops::Range<u16> = 20_000..32_000;
/// Read by whatever the project starts its services with.
pub const FILE: &str = ".env.octo";

/// Gives a tree its ports when the settings ask for some, and writes them down.
pub fn give(ctx: &Context<'_>, row: &mut TreeRow, root: &Root) -> Result<(), TreeError> {
    if ctx.prefs.ports == 0 {
        return Ok(());
    }
    row.ports = ctx.registry.ports(&row.path, ctx.prefs.ports, &free)?;
    if row.ports.is_none() {
        row.notes.push("no free block of ports was found".to_owned());
    }
    exclude(root)?;
    let path = root.path.join(FILE);
    std::fs::write(path.as_path(), text(row)).map_err(io(path.as_path()))
}

/// The first block of `count` ports in the range that meets none of `taken` and no stranger.
/// The register calls it inside the transaction that writes the block down.
#[must_use]
pub fn block(taken: &[Ports], count: u16, free: &dyn Fn(u16) -> bool) -> Option<Ports> {
    let step = usize::from(count.max(1));
    RANGE.step_by(step).map(|first| Ports { first, count }).find(|block| {
        let end = u32::from(block.first) + u32::from(count);
        let apart = |t: &Ports| {
            end <= u32::from(t.first)
                || u32::from(t.first) + u32::from(t.count) <= u32::from(block.first)
        };
        taken.iter().all(apart) && (0..count).all(|n| free(block.first.saturating_add(n)))
    })
}

/// The lines of the environment file.
#[must_use]
pub fn text(row: &TreeRow) -> String {
    let mut lines = vec![format!("COMPOSE_PROJECT_NAME={}", project(row))];
    if let Some(ports) = row.ports {
        let line = |at| format!("OCTO_PORT_{at}={}", ports.first.saturating_add(at));
        lines.extend((0..ports.count).map(line));
    }
    lines.join("\n") + "\n"
}

/// Container tools take lower case, digits, `-` and `_` only.
fn project(row: &TreeRow) -> String {
    let name = row.main.as_path().file_name().map(|n| n.to_string_lossy().into_owned());
    let name = format!("{}-{}", name.unwrap_or_default(), row.id).to_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    name.chars().map(plain).collect::<String>().trim_start_matches(['-', '_']).to_owned()
}

/// Nobody listens there.
fn free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// git has no ignore file per worktree; the repository's private one keeps the file out of
/// every `git add -A`.
fn exclude(root: &Root) -> Result<(), TreeError> {
    let path = root.common.join("info/exclude");
    let line = format!("/{FILE}");
    let now = std::fs::read_to_string(path.as_path()).unwrap_or_default();
    if now.lines().any(|l| l == line) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent.as_path()).map_err(io(parent.as_path()))?;
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path.as_path());
    let mut file = file.map_err(io(path.as_path()))?;
    let gap = if now.is_empty() || now.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{gap}{line}\n").as_bytes()).map_err(io(path.as_path()))
}
