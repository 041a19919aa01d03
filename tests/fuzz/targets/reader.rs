//! The reader on any text: it ends, reads the same twice, and what stands around a command never
//! makes its verdict milder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use octo::policy::facts::Why;
use octo_fuzz::{seeds, verdict};

fuzz_target!(
    init: seeds::lay(seeds::commands().map(String::into_bytes)),
    |text: &str| { judge(text); }
);

fn judge(text: &str) {
    let plain = verdict::reading(text);
    assert_eq!(plain, verdict::reading(text), "read differently the second time");
    if !verdict::denied(&verdict::effects(&plain)) {
        return;
    }
    // What stands around a broken text may mend it; a backslash at the end takes it for its own.
    let broken = |why| matches!(why, Why::Syntax | Why::Unterminated);
    if text.ends_with('\\') || plain.unread.iter().any(|unread| broken(unread.why)) {
        return;
    }
    let quoted = text.replace('\'', "'\\''");
    for nested in [
        format!("({text}\n)"),
        format!("{{ {text}\n}}"),
        format!("if true; then {text}\nfi"),
        format!("bash -c -- '{quoted}' \"$0\""),
        format!("eval -- '{quoted}'"),
    ] {
        let nested_reading = verdict::reading(&nested);
        let effects = verdict::effects(&nested_reading);
        assert!(verdict::denied(&effects), "milder when nested: {nested:?}\n{nested_reading:?}");
    }
}
