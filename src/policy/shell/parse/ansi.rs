//! What the escapes of `$'…'` (and of `printf` and `echo -e`) stand for.

/// Decodes the inside of `$'…'`; bash ends it at a NUL.
pub(in crate::policy::shell) fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.extend_from_slice(plain.as_bytes());
        rest = escape(escaped, &mut out);
    }
    out.extend_from_slice(rest.as_bytes());
    let end = out.iter().position(|b| *b == 0).unwrap_or(out.len());
    String::from_utf8_lossy(out.get(..end).unwrap_or_default()).into_owned()
}

/// Decodes one escape behind its backslash and returns what follows.
fn escape<'t>(text: &'t str, out: &mut Vec<u8>) -> &'t str {
    let mut chars = text.chars();
    let Some(kind) = chars.next() else {
        out.push(b'\\');
        return "";
    };
    let rest = chars.as_str();
    let single = match kind {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'v' => 11,
        '\\' | '\'' | '"' | '?' => kind as u8,
        'x' => return number(rest, 16, 2, Unit::Byte, kind, out),
        'u' => return number(rest, 16, 4, Unit::Char, kind, out),
        'U' => return number(rest, 16, 8, Unit::Char, kind, out),
        '0'..='7' => return number(text, 8, 3, Unit::Byte, kind, out),
        'c' => {
            let control = chars.next();
            out.extend(control.and_then(|c| u8::try_from(c).ok()).map(|c| c & 0x1f));
            return chars.as_str();
        }
        other => {
            out.push(b'\\');
            out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            return rest;
        }
    };
    out.push(single);
    rest
}

/// What a numeric escape names.
#[derive(Clone, Copy)]
enum Unit {
    Byte,
    Char,
}

fn number<'t>(
    text: &'t str,
    radix: u32,
    most: usize,
    unit: Unit,
    kind: char,
    out: &mut Vec<u8>,
) -> &'t str {
    let digits = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let (number, rest) = text.split_at_checked(digits).unwrap_or((text, ""));
    match (u32::from_str_radix(number, radix), unit) {
        (Err(_), _) => out.extend([b'\\', kind as u8]),
        (Ok(value), Unit::Byte) => out.push((value & 0xff) as u8),
        (Ok(value), Unit::Char) => {
            let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_become_what_bash_makes_of_them() {
        for (text, right) in [
            (r"\x72\x6d", "rm"),
            (r"\u0041\t.", "A\t."),
            (r"it\'s", "it's"),
            (r"\101\60", "A0"),
            (r"a\0b", "a"),
            (r"\q\x", r"\q\x"),
            ("é\\n", "é\n"),
            ("tail\\", "tail\\"),
        ] {
            assert_eq!(decode(text), right, "{text}");
        }
    }
}
