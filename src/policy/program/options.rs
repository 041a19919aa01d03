//! Owns reading a program's own options: clusters, values glued or apart, unique abbreviations
//! of long names, `--`. Must never know a program: what it accepts comes as a grammar.
//!
//! A grammar is one line per option: short letters and long name by commas (`"q,quiet"`), `=`
//! when it takes a value, `?` when a value may be glued to it.

use crate::policy::shell::{Arg, Piece};

/// Where options may stand and how they are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Options and operands mixed, as GNU tools read them.
    Gnu,
    /// The same with `--no-x` for every `--x`, as git reads them.
    Git,
    /// Options end at the first operand.
    Leading,
}

/// One option as found.
#[derive(Debug, Clone)]
struct Found {
    name: &'static str,
    value: Option<Arg>,
    on: bool,
}

/// A command line taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Parsed {
    found: Vec<Found>,
    /// What is no option.
    pub(super) operands: Vec<Arg>,
    /// How many operands stand before `--`, when there is one.
    pub(super) dashes: Option<usize>,
    /// The program would refuse the line: an ambiguous abbreviation or a missing value.
    pub(super) refused: bool,
}

impl Parsed {
    /// Whether an option is on; the last spelling wins.
    pub(super) fn has(&self, name: &str) -> bool {
        self.found.iter().rev().find(|f| f.name == name).is_some_and(|f| f.on)
    }

    /// Whether any of the options is on.
    pub(super) fn any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// The last value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&Arg> {
        self.found.iter().rev().find(|f| f.name == name && f.on)?.value.as_ref()
    }

    /// All values of an option, in order.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &Arg> {
        self.found.iter().filter(move |f| f.name == name && f.on).filter_map(|f| f.value.as_ref())
    }

    /// True when nothing is done: help, version, or a line the program refuses.
    pub(super) fn idle(&self) -> bool {
        self.refused || self.has("help") || self.has("version")
    }

    /// The operands before and after `--`; all are after it when there is none.
    pub(super) fn split(&self) -> (&[Arg], &[Arg]) {
        self.operands.split_at(self.dashes.unwrap_or(0).min(self.operands.len()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Glued,
}

/// The parts of one grammar line.
fn line(spec: &'static str) -> (&'static str, Takes) {
    match spec.as_bytes().last() {
        Some(b'=') => (spec.trim_end_matches('='), Takes::Value),
        Some(b'?') => (spec.trim_end_matches('?'), Takes::Glued),
        _ => (spec, Takes::Nothing),
    }
}

fn canonical(names: &'static str) -> &'static str {
    names.rsplit(',').next().unwrap_or(names)
}

fn find_short(grammar: &[&'static str], letter: char) -> Option<(&'static str, Takes)> {
    grammar.iter().map(|spec| line(spec)).find_map(|(names, takes)| {
        names
            .split(',')
            .any(|n| n.chars().eq(std::iter::once(letter)))
            .then(|| (canonical(names), takes))
    })
}

/// What a long name stands for.
enum Long {
    One(&'static str, Takes),
    Ambiguous,
    Unknown,
}

fn find_long(grammar: &[&'static str], name: &str, style: Style) -> Long {
    let mut hit: Option<(&'static str, Takes)> = None;
    let mut several = false;
    for (names, takes) in grammar.iter().map(|spec| line(spec)) {
        for long in names.split(',').filter(|n| n.len() > 1) {
            if long == name {
                return Long::One(canonical(names), takes);
            }
            // Git answers `--help` itself, and only when it is written out.
            if long.starts_with(name) && !(long == HELP && style == Style::Git) {
                several |= hit.is_some_and(|(seen, _)| seen != canonical(names));
                hit = Some((canonical(names), takes));
            }
        }
    }
    match hit {
        Some(_) if several => Long::Ambiguous,
        Some((name, takes)) => Long::One(name, takes),
        None => Long::Unknown,
    }
}

/// The argument without its first `bytes`, which must be known text.
pub(super) fn after(arg: &Arg, bytes: usize) -> Arg {
    let mut pieces = arg.pieces.clone();
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        *text = text.get(bytes..).unwrap_or_default().to_owned();
        if text.is_empty() {
            pieces.remove(0);
        }
    }
    Arg { pieces, glob: None }
}

/// The option that every program has.
const HELP: &str = "help";
const EVERYWHERE: &[&str] = &[HELP, "version"];
const GIT_EVERYWHERE: &[&str] = &["h,help"];

/// Takes a command line apart.
pub(super) fn parse(args: &[Arg], grammar: &[&'static str], style: Style) -> Parsed {
    let common = if style == Style::Git { GIT_EVERYWHERE } else { EVERYWHERE };
    let all: Vec<&'static str> = grammar.iter().chain(common).copied().collect();
    let mut out = Parsed::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.prefix();
        let ended = style == Style::Leading && !out.operands.is_empty();
        if out.dashes.is_some() || ended || !text.starts_with('-') || arg.exact() == Some("-") {
            out.operands.push(arg.clone());
        } else if arg.exact() == Some("--") {
            out.dashes = Some(out.operands.len());
        } else if text.starts_with("--") {
            long(arg, &all, style, &mut rest, &mut out);
        } else {
            cluster(arg, &all, &mut rest, &mut out);
        }
    }
    out
}

type Rest<'a> = std::slice::Iter<'a, Arg>;

fn long(arg: &Arg, all: &[&'static str], style: Style, rest: &mut Rest<'_>, out: &mut Parsed) {
    let body = arg.prefix().get(2..).unwrap_or_default();
    let (name, glued) = match body.find('=') {
        Some(at) => (body.get(..at).unwrap_or_default(), Some(after(arg, at + 3))),
        None if arg.exact().is_some() => (body, None),
        None => return,
    };
    let (mut hit, mut on) = (find_long(all, name, style), true);
    if let (Long::Unknown, Style::Git, Some(positive)) = (&hit, style, name.strip_prefix("no-")) {
        (hit, on) = (find_long(all, positive, style), false);
    }
    match hit {
        Long::Ambiguous => out.refused = true,
        Long::Unknown => {}
        Long::One(name, takes) => {
            let value = match (takes, glued) {
                (Takes::Value, None) if on => {
                    let Some(next) = rest.next() else {
                        out.refused = true;
                        return;
                    };
                    Some(next.clone())
                }
                (_, glued) => glued,
            };
            out.found.push(Found { name, value, on });
        }
    }
}

fn cluster(arg: &Arg, all: &[&'static str], rest: &mut Rest<'_>, out: &mut Parsed) {
    let text = arg.prefix();
    for (at, letter) in text.char_indices().skip(1) {
        let Some((name, takes)) = find_short(all, letter) else { continue };
        let tail = after(arg, at + letter.len_utf8());
        let glued = (!tail.pieces.is_empty()).then_some(tail);
        let value = match takes {
            Takes::Nothing => None,
            Takes::Glued => glued,
            Takes::Value => match glued.or_else(|| rest.next().cloned()) {
                None => {
                    out.refused = true;
                    return;
                }
                value => value,
            },
        };
        out.found.push(Found { name, value, on: true });
        if takes != Takes::Nothing {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: &[&str] =
        &["a,all", "allow-empty", "amend", "m,message=", "S,gpg-sign?", "q", "hard"];

    fn read(line: &str, style: Style) -> Parsed {
        let args: Vec<Arg> = shell_words::split(line).unwrap().into_iter().map(Arg::text).collect();
        parse(&args, GRAMMAR, style)
    }

    fn texts(args: &[Arg]) -> Vec<&str> {
        args.iter().filter_map(Arg::exact).collect()
    }

    #[test]
    fn clusters_take_their_value_from_the_rest_or_the_next_word() {
        let p = read("-qam x file", Style::Git);
        assert!(p.any(&["all"]) && p.has("q"));
        assert_eq!(p.value("message").and_then(Arg::exact), Some("x"));
        assert_eq!(texts(&p.operands), ["file"]);
        assert_eq!(read("-mx -a", Style::Git).value("message").and_then(Arg::exact), Some("x"));
        assert!(!read("-Sa", Style::Git).has("all"));
    }

    #[test]
    fn abbreviations_are_unique_or_refused() {
        assert!(read("--har", Style::Git).has("hard"));
        assert!(read("--al", Style::Git).refused);
        assert!(read("--all", Style::Git).has("all"));
        assert!(!read("--all --no-all", Style::Git).has("all"));
        assert!(read("--message", Style::Git).refused);
        assert!(read("--hel", Style::Gnu).idle());
        assert!(read("--ha", Style::Git).has("hard") && read("--h", Style::Git).has("hard"));
        assert!(read("--help", Style::Git).idle());
    }

    #[test]
    fn dashes_end_the_options() {
        let p = read("x -- --all y", Style::Git);
        assert!(!p.has("all"));
        let (before, behind) = p.split();
        assert_eq!((texts(before), texts(behind)), (vec!["x"], vec!["--all", "y"]));
        assert_eq!(texts(&read("x -a", Style::Leading).operands), ["x", "-a"]);
    }

    #[test]
    fn a_value_may_be_partly_unknown() {
        let args = [Arg {
            pieces: vec![Piece::Text("--message=/tmp/".to_owned()), Piece::Any],
            glob: None,
        }];
        let p = parse(&args, GRAMMAR, Style::Gnu);
        assert_eq!(p.value("message").map(Arg::prefix), Some("/tmp/"));
    }
}
