//! Journals: reading any text ends; a journal made from the bytes reads back as it was written,
//! and one changed byte in it is always noticed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use octo::journal::{Entry, GENESIS, Replay, read, seal};
use octo::policy::verdict::{Note, What};
use octo_fuzz::seeds;

fuzz_target!(
    init: seeds::lay(seeds::commands().take(300).map(|text| made(text.as_bytes()).0.into_bytes())),
    |bytes: &[u8]| { judge(bytes); }
);

fn judge(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let mut replay = Replay::default();
        read(text, None).entries.iter().for_each(|entry| replay.fold(entry));
    }
    let (text, entries) = made(bytes);
    let back = read(&text, None);
    assert!(back.flaws.is_empty(), "{:?}", back.flaws);
    assert_eq!(back.entries, entries);
    let Some(at) = bytes.first().map(|byte| usize::from(*byte) * 7 % text.len().max(1)) else {
        return;
    };
    let mut edited = text.clone().into_bytes();
    let Some(byte) = edited.get_mut(at).filter(|byte| byte.is_ascii()) else { return };
    *byte = if *byte == b'x' { b'y' } else { b'x' };
    let Ok(edited) = String::from_utf8(edited) else { return };
    assert!(!read(&edited, None).flaws.is_empty(), "a changed byte at {at} was not seen in {text}");
}

/// A journal whose lines tell of what the bytes say.
fn made(bytes: &[u8]) -> (String, Vec<Entry>) {
    let (mut text, mut entries, mut prev) = (String::new(), Vec::new(), GENESIS.to_owned());
    for (index, part) in bytes.split(|byte| *byte == b'\n').take(64).enumerate() {
        let kind = What::ALL[usize::from(part.first().copied().unwrap_or(0)) % What::ALL.len()];
        let words = String::from_utf8_lossy(part).into_owned();
        let note = Note {
            target: Some(words.clone()),
            reason: (part.len() % 2 == 0).then_some(words),
            ..Note::default()
        };
        let number = index as u64 + 1;
        let pid = format!("p{}", part.len() % 3);
        let entry = Entry { seq: number, at: number, tick: number, pid, kind, note, prev };
        let (line, its) = seal(&entry).expect("an entry renders");
        text.push_str(&line);
        entries.push(entry);
        prev = its;
    }
    (text, entries)
}
