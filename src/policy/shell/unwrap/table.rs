//! Wrappers that are nothing but options, some operands of their own, and then the command: one
//! row each. Every `yes` runs `rm x` once the wrapper is off, no `no` runs `rm`; both are tests.

use super::options::{Spec, scan};
use super::{Failed, instead, report};
use crate::policy::shell::Arg;
use crate::policy::shell::walk::{Call, Via, Walker};

/// A wrapper, as a row.
#[derive(Debug)]
pub struct Wrapper {
    /// Its names.
    pub names: &'static [&'static str],
    /// Words that must follow before it runs anything (`uv run`).
    pub sub: &'static [&'static str],
    /// Options that take a value.
    pub(super) spec: Spec,
    /// Options that must be there (`gdb --args`).
    pub(super) needs: &'static [&'static str],
    /// Options under which nothing is run.
    pub(super) query: &'static [&'static str],
    /// Operands of its own in front of the command.
    pub(super) operands: usize,
    /// Run `rm x`.
    pub yes: &'static [&'static str],
    /// Do not run `rm`.
    pub no: &'static [&'static str],
}

const NONE: Spec = Spec { short: "", attached: "", long: &[] };

const ROW: Wrapper = Wrapper {
    names: &[],
    sub: &[],
    spec: NONE,
    needs: &[],
    query: &["--help", "--version"],
    operands: 0,
    yes: &[],
    no: &[],
};

const fn spec(short: &'static str, long: &'static [&'static str]) -> Spec {
    Spec { short, attached: "", long }
}

/// All of them.
pub const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["command"],
        query: &["-v", "-V"],
        yes: &["command rm x", "command -p rm x", "command -- rm x"],
        no: &["command -v rm", "command -V rm"],
        ..ROW
    },
    Wrapper { names: &["builtin"], yes: &["builtin command rm x"], ..ROW },
    Wrapper {
        names: &["exec"],
        spec: spec("a", &[]),
        yes: &["exec rm x", "exec -a name rm x", "exec -cl rm x"],
        no: &["exec > log"],
        ..ROW
    },
    Wrapper { names: &["nohup", "setsid"], yes: &["nohup rm x", "setsid -w rm x"], ..ROW },
    Wrapper {
        names: &["nice"],
        spec: spec("n", &["adjustment"]),
        yes: &["nice rm x", "nice -n5 rm x", "nice -n 5 rm x", "nice -10 rm x"],
        ..ROW
    },
    Wrapper {
        names: &["ionice"],
        spec: spec("cnpPu", &["class", "classdata", "pid", "pgid", "uid"]),
        query: &["-p", "-P", "-u", "--pid"],
        yes: &["ionice -c3 rm x", "ionice -c 2 -n 7 -t rm x"],
        no: &["ionice -p 12"],
        ..ROW
    },
    Wrapper {
        names: &["taskset"],
        spec: spec("p", &["pid"]),
        query: &["-p", "--pid"],
        operands: 1,
        yes: &["taskset 0x1 rm x", "taskset -c 0 rm x"],
        no: &["taskset -p 12"],
        ..ROW
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        spec: spec("sk", &["signal", "kill-after"]),
        operands: 1,
        yes: &["timeout 5 rm x", "timeout --signal=KILL 5 rm x", "timeout -k 1 -s KILL 5s rm x"],
        ..ROW
    },
    Wrapper {
        names: &["stdbuf"],
        spec: spec("ioe", &["input", "output", "error"]),
        yes: &["stdbuf -oL rm x", "stdbuf -o L rm x"],
        ..ROW
    },
    Wrapper {
        names: &["time"],
        spec: spec("fo", &["format", "output"]),
        yes: &["/usr/bin/time -v rm x", "env time -f %e rm x"],
        ..ROW
    },
    Wrapper {
        names: &["chrt"],
        spec: spec("pTPD", &["pid"]),
        query: &["-p", "--pid"],
        operands: 1,
        yes: &["chrt -i 0 rm x"],
        ..ROW
    },
    Wrapper {
        names: &["numactl"],
        spec: spec(
            "iNmCplw",
            &["interleave", "cpunodebind", "membind", "physcpubind", "preferred"],
        ),
        yes: &["numactl -N 0 -m 0 rm x", "numactl --membind=0 rm x"],
        ..ROW
    },
    Wrapper {
        names: &["unbuffer", "catchsegv", "fakeroot", "torsocks", "proxychains", "proxychains4"],
        yes: &["unbuffer rm x", "unbuffer -p rm x", "fakeroot -- rm x"],
        ..ROW
    },
    Wrapper {
        names: &["caffeinate"],
        spec: spec("tw", &[]),
        yes: &["caffeinate -dims rm x", "caffeinate -t 60 rm x"],
        ..ROW
    },
    Wrapper {
        names: &["strace", "ltrace"],
        spec: spec("oepsuaEISXOPbnl", &["output", "trace", "attach"]),
        query: &["-p", "--attach"],
        yes: &["strace -f -o log rm x", "ltrace -e malloc rm x"],
        no: &["strace -p 12"],
        ..ROW
    },
    Wrapper {
        names: &["gdb"],
        spec: spec("x", &["ex", "command", "eval-command"]),
        needs: &["--args", "-args"],
        yes: &["gdb --args rm x", "gdb --batch --ex run --args rm x"],
        no: &["gdb rm core"],
        ..ROW
    },
    Wrapper { names: &["valgrind"], yes: &["valgrind --leak-check=full rm x"], ..ROW },
    Wrapper {
        names: &["prlimit"],
        spec: spec("po", &["pid", "output"]),
        query: &["-p", "--pid"],
        yes: &["prlimit --nofile=64 rm x"],
        ..ROW
    },
    Wrapper {
        names: &["unshare", "firejail", "systemd-inhibit", "dbus-run-session", "ssh-agent"],
        yes: &["unshare -rn rm x", "dbus-run-session -- rm x"],
        no: &["ssh-agent -s"],
        ..ROW
    },
    Wrapper {
        names: &["setpriv", "chpst", "softlimit", "capsh", "cpulimit", "schedtool"],
        spec: spec("ulepc", &["reuid", "regid", "groups", "user"]),
        yes: &["setpriv --nnp rm x", "setpriv --reuid 1000 --clear-groups rm x", "chpst -u x rm x"],
        ..ROW
    },
    Wrapper {
        names: &["systemd-run"],
        spec: spec("pEut", &["property", "setenv", "unit", "slice"]),
        yes: &["systemd-run --user --scope -p CPUQuota=50% rm x"],
        ..ROW
    },
    Wrapper {
        names: &["xvfb-run"],
        spec: spec("sefnpw", &["server-args", "server-num", "error-file", "auth-file"]),
        yes: &["xvfb-run -a -s '-screen 0 1x1x8' rm x"],
        ..ROW
    },
    Wrapper { names: &["faketime"], operands: 1, yes: &["faketime '1 day ago' rm x"], ..ROW },
    Wrapper {
        names: &["pkexec"],
        spec: spec("", &["user"]),
        yes: &["pkexec --user root rm x"],
        ..ROW
    },
    Wrapper { names: &["entr"], yes: &["ls | entr -r rm x"], ..ROW },
    Wrapper {
        names: &["npx", "bunx", "pnpx"],
        spec: spec("pw", &["package", "workspace"]),
        yes: &["npx rm x", "npx -y -p pkg rm x", "npx --yes rm x"],
        ..ROW
    },
    Wrapper {
        names: &["uv", "poetry", "pdm", "pipenv", "rye", "hatch"],
        sub: &["run"],
        spec: spec("pC", &["with", "python", "project", "directory", "extra", "group", "env-file"]),
        yes: &["uv run rm x", "uv run --with pkg rm x", "poetry run rm x"],
        no: &["uv pip install rm", "poetry add rm"],
        ..ROW
    },
    Wrapper {
        names: &["bundle", "pnpm", "yarn", "npm", "mise", "rtx"],
        sub: &["exec"],
        yes: &["bundle exec rm x", "npm exec -- rm x", "mise exec -- rm x"],
        no: &["npm run rm", "yarn rm"],
        ..ROW
    },
    Wrapper {
        names: &["direnv"],
        sub: &["exec"],
        operands: 1,
        yes: &["direnv exec . rm x"],
        no: &["direnv allow ."],
        ..ROW
    },
    Wrapper {
        names: &["rustup"],
        sub: &["run"],
        operands: 1,
        yes: &["rustup run stable rm x"],
        no: &["rustup update"],
        ..ROW
    },
];

/// Takes a plain wrapper off; reports what is none.
pub(super) fn peel(walker: &mut Walker<'_>, name: &str, call: &Call, via: Via) -> Failed {
    let args = call.argv.get(1..).unwrap_or_default();
    let row = WRAPPERS.iter().find(|row| {
        row.names.contains(&name)
            && row.sub.iter().zip(args).all(|(word, arg)| arg.exact() == Some(word))
            && row.sub.len() <= args.len()
    });
    let Some(row) = row else {
        report(walker, name, call);
        return None;
    };
    let scan = scan(args.get(row.sub.len()..).unwrap_or_default(), row.spec);
    let command = scan.rest.get(row.operands..).unwrap_or_default();
    let lacks = !row.needs.is_empty() && !scan.has(row.needs);
    if command.is_empty() || lacks || scan.has(row.query) {
        if name == "exec" {
            walker.emit_redirects(call);
        } else {
            report(walker, name, call);
        }
        return None;
    }
    if let Some(file) = scan.value(&["-o", "--output"]).filter(|_| traces(name)) {
        walker.emit(&Call { argv: vec![Arg::text("tee"), file.clone()], ..Call::default() });
    }
    let inner = instead(call, command);
    let failed = walker.dispatch(inner, via);
    if name == "exec" { None } else { failed }
}

/// Wrappers whose `-o` names a file they write.
fn traces(name: &str) -> bool {
    matches!(name, "time" | "strace" | "ltrace")
}

#[cfg(test)]
mod tests {
    use super::WRAPPERS;
    use crate::policy::shell::tests::{lines, reading};

    #[test]
    fn every_example_of_every_row_is_right() {
        for row in WRAPPERS {
            assert!(!row.yes.is_empty(), "{row:?}");
            for text in row.yes {
                assert!(lines(text).iter().any(|line| line == "rm x"), "{text}: {:?}", lines(text));
                assert!(reading(text).unread.is_empty(), "{text}");
                let wrapper = text.split([' ', '/']).find(|word| row.names.contains(word));
                assert!(wrapper.is_some(), "{text} is no example of {:?}", row.names);
            }
            for text in row.no {
                let ran = lines(text).iter().any(|line| line == "rm" || line.starts_with("rm "));
                assert!(!ran, "{text}: {:?}", lines(text));
            }
        }
    }
}
