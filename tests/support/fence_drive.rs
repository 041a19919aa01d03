//! Drives the fence's applets from a JSON file that stands for the table: who holds what, in which
//! roots. Only for tests: `fence_drive TABLE octo-sh LINE`, `fence_drive TABLE exec --as P -- CMD`.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test program: what it is given wrong may end it"
)]

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use octo::fence::{
    Company, FenceError, Granted, HoldSource, Holds, Level, Metering, Signals, Who, run_exec,
    run_prefix,
};
use octo::policy::facts::{Basis, Hold, Root, RootKind};
use octo::policy::lane::{AbsPath, Pid};
use octo::policy::verdict::Holder;
use serde_json::Value;

/// The table, read anew each time it is asked.
struct Table(PathBuf);

fn paths(value: &Value) -> Vec<AbsPath> {
    value.as_array().into_iter().flatten().filter_map(path).collect()
}

fn path(value: &Value) -> Option<AbsPath> {
    value.as_str().and_then(AbsPath::new)
}

fn roots(value: &Value) -> Vec<Root> {
    let root = |v: &Value| {
        let (at, common) = (path(&v["path"])?, path(&v["common"])?);
        let git_dir = path(&v["git_dir"])?;
        let kind = if git_dir == common {
            RootKind::Main
        } else {
            RootKind::Linked { main: common.parent()? }
        };
        Some(Root { path: at, kind, git_dir, common })
    };
    value.as_array().into_iter().flatten().filter_map(root).collect()
}

/// Who is asked about; nobody in particular is everybody's stranger.
fn name(who: &Who) -> &str {
    match who {
        Who::Process { pid, .. } => pid.as_str(),
        Who::Unknown { .. } => "?",
    }
}

fn holds(value: &Value, me: &str) -> Vec<Hold> {
    let hold = |v: &Value| {
        let pid = Pid::new(v["holder"].as_str()?)?;
        let holder =
            Holder { session: pid.clone(), pid, kind: "session".to_owned(), age: 1, silent: 1 };
        let basis = if v["custody"] == true { Basis::Custody } else { Basis::Lane };
        Some(Hold { path: path(&v["path"])?, root: path(&v["root"]), basis, holder })
    };
    let all = value.as_array().into_iter().flatten().filter_map(hold);
    all.filter(|h| h.holder.pid.as_str() != me).collect()
}

impl Table {
    fn value(&self) -> Result<Value, FenceError> {
        let text = std::fs::read(&self.0).map_err(|e| FenceError::State(e.to_string()))?;
        serde_json::from_slice(&text).map_err(|e| FenceError::State(e.to_string()))
    }

    fn note(&self, line: &str) {
        let Ok(value) = self.value() else { return };
        let Some(log) = value["log"].as_str() else { return };
        let file = std::fs::File::options().append(true).create(true).open(log);
        let _written = file.and_then(|mut f| writeln!(f, "{line}"));
    }
}

impl HoldSource for Table {
    fn holds_for(&self, who: &Who, _dir: &AbsPath) -> Result<Holds, FenceError> {
        let value = self.value()?;
        // Somebody claims something in the moment after the table was read.
        if let Some(next) = value["next"].as_str() {
            let _moved = std::fs::rename(next, &self.0);
        }
        let need = match value["need"].as_str() {
            Some("full") => Level::Full,
            _ => Level::None,
        };
        Ok(Holds {
            company: if value["alone"] == true { Company::Alone } else { Company::Others },
            holds: holds(&value["holds"], name(who)),
            trees: roots(&value["trees"]),
            folders: paths(&value["folders"]),
            closed: paths(&value["closed"]),
            roots: roots(&value["roots"]),
            signals: if value["signals"] == "inside" {
                Signals::Inside
            } else {
                Signals::default()
            },
            need,
        })
    }

    fn wakes(&self) -> Vec<AbsPath> {
        AbsPath::new(&self.0).into_iter().collect()
    }

    fn offer_file(&self) -> Option<PathBuf> {
        None
    }

    fn tickets(&self) -> AbsPath {
        let value = self.value().unwrap_or_default();
        path(&value["tickets"]).or_else(|| AbsPath::new("/nowhere")).expect("an absolute path")
    }

    fn granted(&self, who: &Who, granted: &Granted) {
        let why = granted.short.as_deref().unwrap_or("-");
        self.note(&format!("granted {} {} {why}", name(who), granted.level.word()));
        for path in &granted.aliased {
            self.note(&format!("aliased {path}"));
        }
        for path in &granted.absent {
            self.note(&format!("absent {path}"));
        }
    }

    fn metered(&self, who: &Who, _command: &str, used: &Metering) {
        let Metering { wall_us, user_us, system_us, peak_kib, exit } = used;
        let who = name(who);
        self.note(&format!("metered {who} {wall_us} {user_us} {system_us} {peak_kib} {exit}"));
    }
}

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let table = Table(args.next().map(PathBuf::from).expect("a table"));
    let applet = args.next().expect("an applet");
    let rest: Vec<OsString> = args.collect();
    match applet.to_str() {
        Some("octo-sh") => run_prefix(&rest, &table).into(),
        Some("exec") => run_exec(&rest, &table).into(),
        _ => ExitCode::from(2),
    }
}
