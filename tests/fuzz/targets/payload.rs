//! Hook payloads on any bytes: decoding ends, what was cut off is never taken for whole, and a
//! field nobody knows changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use octo::hook::input::{Payload, decode};
use octo_fuzz::seeds;

fuzz_target!(
    init: seeds::lay(seeds::payloads()),
    |bytes: &[u8]| { judge(bytes); }
);

fn judge(bytes: &[u8]) {
    let Ok((payload, event)) = decode(bytes, None) else { return };
    let whole = bytes.trim_ascii_end();
    if !whole.ends_with(b"}") {
        return; // A list of values decodes as well; no client sends one.
    }
    for cut in [whole.len() - 1, whole.len() / 2] {
        assert!(decode(&whole[..cut], None).is_err(), "cut off at {cut} and taken for whole");
    }
    let mut more = whole[..whole.len() - 1].to_vec();
    more.extend_from_slice(b",\"a field of tomorrow\":[{\"x\":1}]}");
    let (again, same) = decode(&more, None).expect("a field nobody knows is in the way");
    assert_eq!(event, same);
    assert_eq!(said(&payload), said(&again));
}

fn said(payload: &Payload<'_>) -> String {
    let actor = payload.actor().map(|actor| format!("{actor:?}")).unwrap_or_default();
    let input = payload.tool_input.map(|input| input.get()).unwrap_or_default();
    format!("{actor} {} {:?} {} {input}", payload.tool(), payload.call(), payload.cwd)
}
