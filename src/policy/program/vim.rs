//! Owns editors that run without a person: `ed`, `ex`, `vim -c`. Without commands they change
//! nothing, because nobody types.

use super::options::{Style, parse};
use super::verbs::{Verb, program};
use super::{Call, Follow, nested};
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, Stdin};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["ed", "red"], "writes its operand when its input says w", ed).examples(
        &["ed -s lib/core.rs <<< wq", "ed -s notes.md <<< 'w lib/core.rs'"],
        &["ed lib/core.rs", "ed -s lib/core.rs <<< p"],
    ),
    program(
        &["ex", "vi", "vim", "nvim", "view", "vimdiff"],
        "runs its -c commands: w writes its operands",
        vim,
    )
    .examples(
        &[
            "ex -sc '%s/A/B/|x' lib/core.rs",
            "vim -es -c wq lib/core.rs",
            "nvim --headless +wqa lib/core.rs",
            "vim -c 'w lib/core.rs' notes.md",
            "vim -c '!rm -rf lib' notes.md",
        ],
        &["vim --version", "vim lib/core.rs", "vim -c q lib/core.rs", "ex -sc q lib/core.rs"],
    ),
];

fn ed(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, &["s,quiet", "p,prompt=", "E", "G", "l", "r", "v"], Style::Gnu);
    let silent = match &call.invocation.stdin {
        Stdin::Inherited => true,
        Stdin::Text(text) => !text.lines().any(|l| l.contains(['w', 'W', '!'])),
        Stdin::Unknown | Stdin::File(_) => false,
    };
    if line.idle() || silent {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut whole = !matches!(call.invocation.stdin, Stdin::Text(_));
    if let Stdin::Text(text) = &call.invocation.stdin {
        for step in text.lines().map(str::trim) {
            let behind = |mark: char| step.split_once(mark).map(|(_, rest)| rest.trim());
            match (behind('!'), behind('w').or_else(|| behind('W'))) {
                (Some(command), _) if step.starts_with('!') => {
                    out.extend(nested::shell(call, command, call.place.dir));
                }
                (_, Some(file)) if step.contains(' ') && !file.is_empty() => {
                    out.extend(call.writes([&Arg::text(file)]));
                }
                (_, Some(_)) => whole = true,
                _ => {}
            }
        }
    }
    out.extend(call.writes(line.operands.first().filter(|_| whole)));
    out
}

const VIM: &[&str] = &[
    "c=",
    "cmd=",
    "S=",
    "s",
    "e",
    "E",
    "u=",
    "U=",
    "i=",
    "T=",
    "t=",
    "w=",
    "W=",
    "N",
    "n",
    "R",
    "headless",
    "clean",
    "noplugin",
    "not-a-term",
];

/// Longest command file that is read.
const SOURCE: usize = 1 << 16;

fn vim(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, VIM, Style::Gnu);
    if line.idle() {
        return Vec::new();
    }
    let plus = |arg: &&Arg| arg.prefix().starts_with('+');
    let files: Vec<&Arg> = line.operands.iter().filter(|a| !plus(a)).collect();
    let mut commands: Vec<String> = line.values("c").chain(line.values("cmd")).map(shown).collect();
    commands.extend(line.operands.iter().filter(plus).map(shown));
    commands.extend(line.values("S").filter_map(|file| call.place.read(file, SOURCE)));
    let scripted = call.name == "ex" || line.any(&["e", "E"]);
    match &call.invocation.stdin {
        Stdin::Text(text) if scripted => commands.push(text.clone()),
        Stdin::Unknown | Stdin::File(_) if scripted => commands.push("wq".to_owned()),
        Stdin::Text(_) | Stdin::Unknown | Stdin::File(_) | Stdin::Inherited => {}
    }
    let mut out = Vec::new();
    for command in commands.iter().flat_map(|text| text.split(['\n', '|'])) {
        out.extend(run(call, command.trim().trim_start_matches([':', '+', ' ', '%']), &files));
    }
    out
}

fn shown(arg: &Arg) -> String {
    arg.exact().unwrap_or("wq").to_owned()
}

/// What one command of the editor does.
fn run(call: &Call<'_>, command: &str, files: &[&Arg]) -> Vec<Effect> {
    if let Some(text) = command.strip_prefix('!') {
        return nested::shell(call, text, call.place.dir);
    }
    let end = command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len());
    let (verb, rest) = command.split_at(end);
    let saves = matches!(
        verb,
        "w" | "write"
            | "wq"
            | "x"
            | "xit"
            | "exit"
            | "up"
            | "update"
            | "wa"
            | "wall"
            | "wqa"
            | "wqall"
            | "xa"
            | "xall"
            | "sav"
            | "saveas"
            | "normal"
    );
    if !saves {
        return Vec::new();
    }
    let named = rest.trim_start_matches('!').trim().trim_start_matches(">>").trim();
    if named.is_empty() || verb == "normal" {
        return call.writes(files.iter().copied());
    }
    call.place.write(&Arg::text(named), Follow::All, &call.words())
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn ed_writes_when_its_input_says_so() {
        let scene = Scene::gate();
        assert!(reaches(&scene.feed("ed -s lib/core.rs", "1d\nw\n"), "lib/core.rs"));
        assert!(!reaches(&scene.feed("ed -s lib/core.rs", "1p\nq\n"), "lib/core.rs"));
        assert!(reaches(&scene.feed("ex -s lib/core.rs", "g/x/d\nx\n"), "lib/core.rs"));
    }
}
