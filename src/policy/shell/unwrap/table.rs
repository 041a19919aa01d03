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
    /// Words that must follow before it runs anything (`uv run`); a bar stands between choices.
    pub sub: &'static [&'static str],
    /// Options that take a value.
    pub(super) spec: Spec,
    /// Options that must be there (`gdb --args`).
    pub(super) needs: &'static [&'static str],
    /// Options under which nothing is run.
    pub(super) query: &'static [&'static str],
    /// Options whose value a shell runs (`npx -c`).
    pub(super) texts: &'static [&'static str],
    /// Where the command begins.
    begins: Begin,
    /// Run `rm x`.
    pub yes: &'static [&'static str],
    /// Do not run `rm`.
    pub no: &'static [&'static str],
}

/// Where a wrapper's command begins.
#[derive(Debug, Clone, Copy)]
enum Begin {
    /// Behind so many operands of its own.
    Operand(usize),
    /// Behind one of these words.
    After(&'static [&'static str]),
}

const NONE: Spec = Spec { short: "", attached: "", long: &[] };

const ROW: Wrapper = Wrapper {
    names: &[],
    sub: &[],
    spec: NONE,
    needs: &[],
    query: &["--help", "--version"],
    texts: &[],
    begins: Begin::Operand(0),
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
        begins: Begin::Operand(1),
        yes: &["taskset 0x1 rm x", "taskset -c 0 rm x"],
        no: &["taskset -p 12"],
        ..ROW
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        spec: spec("sk", &["signal", "kill-after"]),
        begins: Begin::Operand(1),
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
        begins: Begin::Operand(1),
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
        names: &[
            "unbuffer",
            "catchsegv",
            "fakeroot",
            "torsocks",
            "proxychains",
            "proxychains4",
            "chronic",
            "ifne",
            "rlwrap",
            "eatmydata",
            "nocache",
            "tini",
            "dumb-init",
        ],
        yes: &["unbuffer rm x", "unbuffer -p rm x", "fakeroot -- rm x", "chronic -v rm x"],
        ..ROW
    },
    Wrapper {
        // The architecture is a name of the program too.
        names: &["setarch", "linux32", "linux64", "x86_64", "i386", "i686", "aarch64", "uname26"],
        yes: &["setarch -R rm x", "setarch x86_64 -R rm x", "linux64 rm x"],
        ..ROW
    },
    Wrapper {
        names: &["chroot", "gosu", "su-exec", "setuidgid", "s6-setuidgid", "envdir"],
        spec: spec("", &["userspec", "groups"]),
        begins: Begin::Operand(1),
        yes: &["chroot / rm x", "chroot --userspec=u:g / rm x", "gosu nobody rm x"],
        ..ROW
    },
    Wrapper {
        names: &["nsenter"],
        spec: spec("tSG", &["target", "setuid", "setgid"]),
        yes: &["nsenter -t 1 -m rm x", "nsenter --target 1 --mount -- rm x"],
        ..ROW
    },
    Wrapper {
        names: &["cgexec", "sem"],
        spec: spec("gj", &["jobs", "id", "sticky"]),
        yes: &["cgexec -g cpu:x rm x", "sem -j2 --id z rm x"],
        ..ROW
    },
    Wrapper {
        names: &["perf"],
        sub: &["stat|record|trace"],
        spec: spec("eorpFcCdI", &["event", "output", "repeat", "pid"]),
        query: &["-p", "--pid"],
        yes: &["perf stat rm x", "perf record -o log -g -- rm x"],
        no: &["perf report rm", "perf stat -p 12"],
        ..ROW
    },
    Wrapper {
        names: &["bwrap"],
        begins: Begin::After(&["--"]),
        yes: &["bwrap --bind / / -- rm x"],
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
    Wrapper {
        names: &["faketime"],
        begins: Begin::Operand(1),
        yes: &["faketime '1 day ago' rm x"],
        ..ROW
    },
    Wrapper {
        names: &["pkexec"],
        spec: spec("", &["user"]),
        yes: &["pkexec --user root rm x"],
        ..ROW
    },
    Wrapper { names: &["entr"], yes: &["ls | entr -r rm x"], ..ROW },
    Wrapper {
        names: &["npx", "bunx", "pnpx"],
        spec: spec("pwc", &["package", "workspace", "call"]),
        texts: &["-c", "--call"],
        yes: &["npx rm x", "npx -y -p pkg rm x", "npx --yes rm x", "npx -c 'rm x'"],
        ..ROW
    },
    Wrapper {
        names: &["watchexec"],
        spec: spec("weifdsn", &["watch", "exts", "ignore", "filter", "debounce", "signal"]),
        yes: &["watchexec -w src -e rs -- rm x", "watchexec rm x"],
        ..ROW
    },
    Wrapper {
        names: &["nodemon", "nix-shell", "chokidar", "sg", "cargo-watch"],
        texts: &["--exec", "-x", "--run", "--command", "-c", "-s", "--shell"],
        begins: Begin::After(&[]),
        yes: &["nodemon --exec 'rm x'", "nix-shell -p jq --run 'rm x'", "sg wheel -c 'rm x'"],
        no: &["nodemon rm.js", "nix-shell -p rm"],
        ..ROW
    },
    Wrapper {
        names: &["cargo"],
        sub: &["watch"],
        texts: &["-s", "--shell"],
        begins: Begin::After(&["--"]),
        yes: &["cargo watch -s 'rm x'", "cargo watch -w src -- rm x"],
        no: &["cargo watch -x test", "cargo run -- rm x"],
        ..ROW
    },
    Wrapper {
        names: &["nix"],
        sub: &["develop|shell"],
        begins: Begin::After(&["-c", "--command"]),
        yes: &["nix develop -c rm x", "nix shell pkgs#jq --command rm x"],
        no: &["nix build .#rm"],
        ..ROW
    },
    Wrapper {
        names: &["op", "doppler", "infisical", "dotenvx", "teller", "aws-vault", "chamber"],
        sub: &["run|exec"],
        begins: Begin::After(&["--"]),
        yes: &["op run --env-file=.env -- rm x", "aws-vault exec me -- rm x"],
        no: &["op read rm", "doppler secrets"],
        ..ROW
    },
    Wrapper {
        names: &["conda", "mamba", "micromamba", "pixi", "devbox", "dotenv", "volta"],
        sub: &["run"],
        spec: spec("npe", &["name", "prefix", "cwd", "environment", "node"]),
        yes: &["conda run -n env rm x", "micromamba run --name env rm x", "dotenv run rm x"],
        no: &["conda install rm"],
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
        names: &["mise", "rtx"],
        sub: &["exec|x"],
        texts: &["-c", "--command"],
        begins: Begin::After(&["--"]),
        yes: &["mise exec -- rm x", "mise x node@20 -- rm x", "mise x -c 'rm x'"],
        no: &["mise install rm"],
        ..ROW
    },
    Wrapper {
        names: &["bundle", "pnpm", "yarn", "npm", "asdf", "pyenv", "rbenv", "nodenv", "fnm"],
        sub: &["exec|x"],
        spec: spec("pwc", &["package", "workspace", "call", "using"]),
        texts: &["-c", "--call"],
        yes: &["bundle exec rm x", "npm exec -- rm x", "npm exec -c 'rm x'", "asdf exec rm x"],
        no: &["npm run rm", "yarn rm"],
        ..ROW
    },
    Wrapper {
        names: &["direnv"],
        sub: &["exec"],
        begins: Begin::Operand(1),
        yes: &["direnv exec . rm x"],
        no: &["direnv allow ."],
        ..ROW
    },
    Wrapper {
        names: &["rustup"],
        sub: &["run"],
        begins: Begin::Operand(1),
        yes: &["rustup run stable rm x"],
        no: &["rustup update"],
        ..ROW
    },
];

/// Takes a plain wrapper off; reports what is none.
pub(super) fn peel(walker: &mut Walker<'_>, name: &str, call: &Call, via: Via) -> Failed {
    let args = call.argv.get(1..).unwrap_or_default();
    let row = WRAPPERS.iter().find(|row| {
        let said = |choices: &str, arg: &Arg| choices.split('|').any(|w| arg.exact() == Some(w));
        row.names.contains(&name)
            && row.sub.iter().zip(args).all(|(word, arg)| said(word, arg))
            && row.sub.len() <= args.len()
    });
    let Some(row) = row else {
        report(walker, name, call);
        return None;
    };
    let args = args.get(row.sub.len()..).unwrap_or_default();
    super::text::values(walker, args, row.texts, call);
    let scan = scan(args, row.spec);
    let command = match row.begins {
        Begin::Operand(own) => scan.rest.get(own..),
        Begin::After(words) => args
            .iter()
            .position(|arg| arg.exact().is_some_and(|word| words.contains(&word)))
            .and_then(|at| args.get(at + 1..)),
    };
    let command = command.unwrap_or_default();
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
