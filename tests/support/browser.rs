//! A real browser that opens a page in a frame of a given width, unchanged, and tells how it
//! came out. Where there is none, a test says so and passes; where `CI` is set, it fails.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::client::skip;

/// Names under which the browser is known.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// What came of a page.
#[derive(Debug)]
pub(crate) struct Shown {
    /// What the script answered.
    pub(crate) answer: Value,
    /// Everything that the browser's console complained of.
    pub(crate) console: Vec<String>,
}

/// Opens `page` in a frame of this width and asks `script`, an expression in which `view` is the
/// page's window. None, with a word why, where there is no browser.
pub(crate) fn show(page: &Path, width: u32, script: &str) -> Option<Shown> {
    let named = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(program) = NAMES.into_iter().find(named) else {
        skip("no chromium");
        return None;
    };
    let frame = page.with_file_name(format!("frame-{width}.html"));
    let name = page.file_name().unwrap().to_str().unwrap();
    let text = format!(
        "<!doctype html><iframe id=f src=\"{name}\" width={width} height=800 \
         style=\"border:0\"></iframe><pre id=said></pre><script>onload=()=>{{\
         const view=document.getElementById('f').contentWindow;\
         document.getElementById('said').textContent='SA'+'ID:'+\
         encodeURIComponent(JSON.stringify({script}))+':E'+'ND'}}</script>"
    );
    fs::write(&frame, text).unwrap();
    let profile = page.with_file_name("profile");
    let mut browser = Command::new(program);
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    browser.args(["--allow-file-access-from-files", "--enable-logging=stderr"]);
    browser.args([
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--dump-dom",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.display()));
    let said = browser.arg(format!("file://{}", frame.display())).output().unwrap();
    let (dom, log) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    let answer = dom.rsplit_once("SAID:").and_then(|(_, rest)| rest.split_once(":END"));
    let (answer, _) = answer.unwrap_or_else(|| panic!("the page did not load: {log}\n{dom}"));
    let answer = serde_json::from_str(&unescaped(answer)).unwrap();
    let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned);
    Some(Shown { answer, console: console.collect() })
}

/// Undoes `encodeURIComponent`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap(), rest.next().unwrap()];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
    }
    String::from_utf8(bytes).unwrap()
}
