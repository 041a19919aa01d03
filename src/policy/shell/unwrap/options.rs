//! Options in front of a command, as getopt reads them when it stops at the first operand.

use crate::policy::shell::Arg;

/// Which options of a program take a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spec {
    /// Short options with a value.
    pub(super) short: &'static str,
    /// Short options whose value, if any, is attached.
    pub(super) attached: &'static str,
    /// Long options with a value, without the dashes.
    pub(super) long: &'static [&'static str],
}

/// Options as written, and what follows them.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    /// Names (`-x`, `--long`) with their values.
    pub(super) options: Vec<(String, Option<Arg>)>,
    /// From the first operand on.
    pub(super) rest: &'a [Arg],
}

impl Scan<'_> {
    /// The last value given to an option under any of its names.
    pub(super) fn value(&self, names: &[&str]) -> Option<&Arg> {
        let given = self.options.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
        given.and_then(|(_, value)| value.as_ref())
    }

    /// True when an option is there under any of its names.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }
}

/// Reads options up to the first operand.
pub(super) fn scan(args: &[Arg], spec: Spec) -> Scan<'_> {
    let mut options = Vec::new();
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let prefix = first.prefix();
        if prefix == "--" && first.exact().is_some() {
            rest = tail;
            break;
        }
        if !prefix.starts_with('-') || first.exact() == Some("-") {
            break;
        }
        rest = tail;
        let taken = if prefix.starts_with("--") {
            long(first, tail, spec, &mut options)
        } else {
            short(first, tail, spec, &mut options)
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    Scan { options, rest }
}

/// Reads a long option; returns how many further words it takes.
fn long(arg: &Arg, tail: &[Arg], spec: Spec, options: &mut Vec<(String, Option<Arg>)>) -> usize {
    let prefix = arg.prefix();
    if let Some((name, _)) = prefix.split_once('=') {
        options.push((name.to_owned(), Some(without(arg, name.len() + 1))));
        return 0;
    }
    let bare = prefix.trim_start_matches('-');
    // getopt takes any unique beginning of a long option.
    let known = spec.long.iter().find(|name| **name == bare);
    let known = known.or_else(|| spec.long.iter().find(|name| name.starts_with(bare)));
    let name = known.map_or_else(|| prefix.to_owned(), |name| format!("--{name}"));
    options.push((name, known.and_then(|_| tail.first().cloned())));
    usize::from(known.is_some())
}

/// Reads a cluster of short options; returns how many further words it takes.
fn short(arg: &Arg, tail: &[Arg], spec: Spec, options: &mut Vec<(String, Option<Arg>)>) -> usize {
    let prefix = arg.prefix();
    for (at, c) in prefix.char_indices().skip(1) {
        let name = format!("-{c}");
        let behind = at + c.len_utf8();
        if spec.attached.contains(c) {
            options.push((name, Some(without(arg, behind))));
            return 0;
        }
        if spec.short.contains(c) {
            let attached = behind < prefix.len() || arg.pieces.len() > 1;
            let value = if attached { Some(without(arg, behind)) } else { tail.first().cloned() };
            options.push((name, value));
            return usize::from(!attached);
        }
        options.push((name, None));
    }
    0
}

/// An argument without its first bytes.
pub(super) fn without(arg: &Arg, bytes: usize) -> Arg {
    use crate::policy::shell::Piece;
    let mut pieces = arg.pieces.clone();
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        *text = text.get(bytes..).unwrap_or("").to_owned();
        if text.is_empty() {
            pieces.remove(0);
        }
    }
    Arg { pieces, glob: None }
}

/// Splits text at blanks, quotes and backslashes taken off: `env -S`, `xargs`.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_ascii_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::{Spec, scan, words};
    use crate::policy::shell::Arg;

    #[test]
    fn options_end_where_the_command_begins() {
        let spec = Spec { short: "un", attached: "i", long: &["user", "chdir"] };
        for (line, rest) in [
            ("-u root rm -rf x", "rm -rf x"),
            ("-uroot rm", "rm"),
            ("-vu root rm", "rm"),
            ("--user root rm", "rm"),
            ("--us root rm", "rm"),
            ("--user=root rm", "rm"),
            ("-i{} rm", "rm"),
            ("-x -- -y", "-y"),
            ("rm -u", "rm -u"),
            ("- rm", "- rm"),
        ] {
            let args: Vec<Arg> = line.split(' ').map(Arg::text).collect();
            let scan = scan(&args, spec);
            let left: Vec<&str> = scan.rest.iter().filter_map(Arg::exact).collect();
            assert_eq!(left.join(" "), rest, "{line}");
        }
    }

    #[test]
    fn words_lose_their_quotes() {
        assert_eq!(words("rm 'a b' \"c\"d \\ e\n''"), ["rm", "a b", "cd", " e", ""]);
    }
}
