//! Owns downloads: which file an address lands in.

use super::Call;
use super::options::{Parsed, Style, parse};
use super::paths::{base_name, join};
use super::verbs::{Verb, program};
use crate::policy::facts::Effect;
use crate::policy::shell::{Arg, Entry};

/// The rows.
pub(super) const ROWS: &[Verb] = &[
    program(&["curl"], "writes -o, or with -O the name in the address", curl).examples(
        &[
            "curl -o lib/core.rs http://h/x",
            "curl -sSLo lib/core.rs u",
            "curl -O http://h/notes.md",
        ],
        &["curl http://h/x", "curl -o - u", "curl -o /dev/null u", "curl -d @lib/core.rs u"],
    ),
    program(&["wget"], "writes -O, or the name in the address where it is free", wget).examples(
        &["wget -O lib/core.rs u", "wget -qO lib/core.rs u", "wget http://h/new.txt"],
        &["wget -O - u", "wget -qO- u", "wget http://h/notes.md", "wget --spider u"],
    ),
];

const CURL: &[&str] = &[
    "#",
    "0",
    "1",
    "2",
    "3",
    "4",
    "6",
    "a",
    "B",
    "f,fail",
    "g",
    "G,get",
    "i",
    "I,head",
    "j",
    "J,remote-header-name",
    "k",
    "l",
    "L",
    "M",
    "n",
    "N",
    "O,remote-name",
    "remote-name-all",
    "p",
    "q",
    "R",
    "s",
    "S",
    "v",
    "V",
    "Z",
    "A=",
    "b,cookie=",
    "c,cookie-jar=",
    "C=",
    "d,data=",
    "data-raw=",
    "data-binary=",
    "data-urlencode=",
    "D,dump-header=",
    "e=",
    "E=",
    "F,form=",
    "H,header=",
    "json=",
    "K,config=",
    "m=",
    "o,output=",
    "output-dir=",
    "P=",
    "Q=",
    "r=",
    "t=",
    "T=",
    "u,user=",
    "U=",
    "w,write-out=",
    "x=",
    "X,request=",
    "y=",
    "Y=",
    "z=",
    "trace=",
    "trace-ascii=",
    "stderr=",
    "retry=",
    "max-time=",
    "connect-timeout=",
    "url=",
    "cacert=",
];

fn curl(call: &Call<'_>) -> Vec<Effect> {
    let line = parse(&call.args, CURL, Style::Gnu);
    if line.idle() || line.has("V") {
        return Vec::new();
    }
    let mut files = named(&line, &["cookie-jar", "dump-header", "trace", "trace-ascii", "stderr"]);
    let dir = line.value("output-dir").cloned();
    let put = |arg: Arg| match &dir {
        Some(dir) => super::copy::inside(dir, arg.exact()),
        None => arg,
    };
    files.extend(named(&line, &["output"]).into_iter().map(put));
    if line.any(&["remote-name", "remote-name-all"]) {
        let urls = line.operands.iter().filter_map(Arg::exact).map(url_name);
        files.extend(urls.map(|name| put(Arg::text(name))));
    }
    call.writes(&files)
}

/// Values of options that name files, without standard output.
fn named(line: &Parsed, options: &[&str]) -> Vec<Arg> {
    let values = options.iter().flat_map(|name| line.values(name));
    values.filter(|arg| arg.exact() != Some("-")).cloned().collect()
}

/// The file name in an address.
fn url_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    if path.contains('/') { base_name(path) } else { "index.html" }
}

fn wget(call: &Call<'_>) -> Vec<Effect> {
    let grammar: &[&str] = &[
        "b",
        "c",
        "d",
        "E",
        "F",
        "H",
        "k",
        "K",
        "L",
        "m,mirror",
        "N,timestamping",
        "p",
        "q",
        "r,recursive",
        "S",
        "v",
        "x",
        "4",
        "6",
        "spider",
        "no-clobber",
        "a,append-output=",
        "A=",
        "B=",
        "D=",
        "e=",
        "i=",
        "I=",
        "l=",
        "o,output-file=",
        "O,output-document=",
        "P,directory-prefix=",
        "Q=",
        "R=",
        "t,tries=",
        "T=",
        "U=",
        "w=",
        "X=",
        "header=",
        "post-data=",
        "post-file=",
        "user=",
        "password=",
        "save-cookies=",
        "load-cookies=",
    ];
    let line = parse(&call.args, grammar, Style::Gnu);
    if line.idle() || line.has("spider") {
        return Vec::new();
    }
    let mut files = named(&line, &["append-output", "output-file", "save-cookies"]);
    if line.value("output-document").is_some() {
        files.extend(named(&line, &["output-document"]));
        return call.writes(&files);
    }
    let dir = line.value("directory-prefix").and_then(Arg::exact).unwrap_or(".");
    for url in line.operands.iter().filter_map(Arg::exact) {
        let place = Arg::text(join(dir, url_name(url)));
        // A name that is taken gets a number, unless it is to be kept up to date.
        let free = call.place.kind(&place) == Entry::Missing;
        if free || line.any(&["timestamping", "mirror", "c"]) {
            files.push(place);
        }
    }
    call.writes(&files)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, reaches};

    #[test]
    fn the_name_in_the_address_is_the_file() {
        let scene = Scene::gate();
        assert!(reaches(&scene.run("curl -O http://h/p/notes.md?x=1"), "notes.md"));
        assert!(!reaches(&scene.run("curl -O --output-dir /tmp http://h/notes.md"), "notes.md"));
    }
}
