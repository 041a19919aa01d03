//! The replay as one self-contained page: a bar a process on one scale of time, its lanes and its
//! refusals on it, and every line in a table below. No script, no network; works on a phone, in
//! the dark and with a screen reader. Pure: entries in, text out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::replay::{moment, word};
use super::screen::age;
use crate::journal::Entry;
use crate::policy::verdict::What;

/// Units of the time scale; the picture is stretched to the window.
const WIDTH: f64 = 1000.0;
/// Height of a process's bar.
const HEIGHT: f64 = 28.0;
/// Width of a mark, in the same units.
const MARK: f64 = 5.0;

/// One process of the page.
#[derive(Debug, Default)]
struct Track<'e> {
    label: String,
    first: u64,
    last: u64,
    lanes: Vec<(u64, u64, &'e str)>,
    denials: Vec<(usize, &'e Entry)>,
}

/// Renders entries (in order of time) as a page.
#[must_use]
pub fn render(entries: &[Entry], lease: u64) -> String {
    let from = entries.first().map_or(0, |entry| entry.at);
    let to = entries.last().map_or(from, |entry| entry.at).max(from + 1);
    let tracks = tracks(entries, to, lease);
    let mut out = String::new();
    out.push_str(HEAD);
    let denials = entries.iter().filter(|entry| entry.kind == What::Deny).count();
    let _infallible = write!(
        out,
        "<h1>octo replay</h1>\n<p>{} to {} ({}), {} processes, {} lines, <b>{denials} denied</b></p>\n",
        moment(from),
        moment(to),
        age(to - from),
        tracks.len(),
        entries.len()
    );
    out.push_str("<section aria-label=\"timeline\">\n");
    for track in tracks.values() {
        draw(&mut out, track, from, to);
    }
    out.push_str("</section>\n");
    table(&mut out, entries);
    out.push_str("</main></body></html>\n");
    out
}

fn tracks(entries: &[Entry], to: u64, lease: u64) -> BTreeMap<&str, Track<'_>> {
    let mut tracks: BTreeMap<&str, Track<'_>> = BTreeMap::new();
    let mut open: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let pid = entry.pid.as_str();
        let track = tracks.entry(pid).or_insert_with(|| Track {
            label: pid.to_owned(),
            first: entry.at,
            ..Track::default()
        });
        track.last = entry.at;
        let target = entry.note.target.as_deref();
        match (entry.kind, target) {
            (What::Start, _) => {
                if let Some(kind) = &entry.note.agent_type {
                    track.label = format!("{pid} ({kind})");
                }
            }
            (What::Claim, Some(path)) => {
                open.entry((pid, path)).or_insert(entry.at);
            }
            (What::Release | What::Expire | What::Clean, Some(_))
            | (What::Release | What::Expire, None)
            | (What::Exit, _) => {
                let whole = entry.kind == What::Exit;
                let ends = |owner: &str, path: &str| {
                    owner == pid && (whole || target.is_none_or(|target| target == path))
                };
                open.retain(|(owner, path), since| {
                    let over = ends(owner, path);
                    if over {
                        track.lanes.push((*since, entry.at, path));
                    }
                    !over
                });
            }
            (What::Deny, _) => track.denials.push((index, entry)),
            (
                What::Tool
                | What::Confirm
                | What::Override
                | What::Drift
                | What::Keep
                | What::Fork
                | What::Notice
                | What::Claim
                | What::Clean,
                _,
            ) => {}
        }
    }
    // What was never given up ends a lease after the holder's last word.
    for ((pid, path), since) in open {
        if let Some(track) = tracks.get_mut(pid) {
            track.lanes.push((since, (track.last + lease).min(to), path));
        }
    }
    tracks
}

fn draw(out: &mut String, track: &Track<'_>, from: u64, to: u64) {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a journal are far below 2^52")]
    let x = |at: u64| (at.saturating_sub(from)) as f64 / (to - from) as f64 * WIDTH;
    let label = escape(&track.label);
    let summary = format!("{} lanes, {} denied", track.lanes.len(), track.denials.len());
    let _infallible = write!(
        out,
        "<div class=\"track\"><div class=\"who\" title=\"{label}\">{label}</div>\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}: {summary}\"><rect class=\"life\" x=\"{:.1}\" y=\"10\" \
         width=\"{:.1}\" height=\"8\"><title>{label}, {}</title></rect>",
        x(track.first),
        (x(track.last) - x(track.first)).max(MARK),
        age(track.last - track.first),
    );
    for (since, until, path) in &track.lanes {
        let path = escape(path);
        let _infallible = write!(
            out,
            "<rect class=\"lane\" x=\"{:.1}\" y=\"6\" width=\"{:.1}\" height=\"16\">\
             <title>lane {path}, {}</title></rect>",
            x(*since),
            (x(*until) - x(*since)).max(MARK),
            age(until - since),
        );
    }
    for (index, entry) in &track.denials {
        let rule = escape(entry.note.rule.as_deref().unwrap_or("denied"));
        let target = escape(entry.note.target.as_deref().unwrap_or_default());
        let _infallible = write!(
            out,
            "<a href=\"#l{index}\" aria-label=\"denied {rule} {target}\">\
             <rect class=\"deny\" x=\"{:.1}\" y=\"1\" width=\"{MARK}\" height=\"26\">\
             <title>✕ {rule} {target}</title></rect></a>",
            (x(entry.at) - MARK / 2.0).clamp(0.0, WIDTH - MARK),
        );
    }
    out.push_str("</svg></div>\n");
}

fn table(out: &mut String, entries: &[Entry]) {
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"lines\"><table>\
         <thead><tr><th>time</th><th>process</th><th>what</th><th>rule</th><th>about</th>\
         <th>held by</th></tr></thead><tbody>\n",
    );
    for (index, entry) in entries.iter().enumerate() {
        let note = &entry.note;
        let about = [note.target.as_deref(), note.reason.as_deref()];
        let about: Vec<String> = about.into_iter().flatten().map(escape).collect();
        let holder = note.holder.as_ref();
        let holder = holder.map(|party| escape(&format!("{} {}", party.kind, party.pid)));
        let denied = entry.kind == What::Deny;
        let _infallible = writeln!(
            out,
            "<tr id=\"l{index}\"{}><td>{}</td><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td>\
             <td>{}</td></tr>",
            if denied { " class=\"denied\"" } else { "" },
            moment(entry.at),
            escape(&entry.pid.chars().take(12).collect::<String>()),
            if denied { "✕ " } else { "" },
            word(entry.kind),
            escape(note.rule.as_deref().unwrap_or_default()),
            about.join(" "),
            holder.unwrap_or_default(),
        );
    }
    out.push_str("</tbody></table></div>\n");
}

/// Text for HTML, control characters made visible.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in super::screen::harmless(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
<title>octo replay</title><style>\n\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;--line:#d0d7de;\
--life:#8c959f;--lane:#0969da;--deny:#cf222e;--mark:#fff8c5}\n\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--paper:#0d1117;\
--line:#30363d;--life:#6e7681;--lane:#4493f8;--deny:#f85149;--mark:#3a2d00}}\n\
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);\
font:15px/1.5 system-ui,sans-serif}main{max-width:1100px;margin:0 auto;padding:16px}\n\
h1{font-size:1.3rem;margin:.2em 0}p{color:var(--soft)}\n\
.track{display:grid;grid-template-columns:220px 1fr;gap:10px;align-items:center;\
border-top:1px solid var(--line);padding:4px 0}\n\
.who{font:12px/1.3 ui-monospace,monospace;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n\
svg{display:block;width:100%;height:28px}.life{fill:var(--life)}.lane{fill:var(--lane);opacity:.75}\
.deny{fill:var(--deny)}a:focus-visible .deny{stroke:var(--ink);stroke-width:2}\n\
.scroll{overflow-x:auto;margin-top:20px}table{border-collapse:collapse;font-size:13px;width:100%}\
th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);\
vertical-align:top;white-space:nowrap}td:nth-child(5){white-space:normal;min-width:16em;\
overflow-wrap:anywhere}.denied td:nth-child(3),.denied td:nth-child(4){color:var(--deny);\
font-weight:600}tr:target{background:var(--mark)}\n\
@media(max-width:640px){.track{grid-template-columns:1fr;gap:2px}}\n\
</style></head><body><main>\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::verdict::Note;

    fn entry(at: u64, pid: &str, kind: What, target: Option<&str>) -> Entry {
        let target = target.map(str::to_owned);
        let rule = (kind == What::Deny).then(|| "lane.held".to_owned());
        let note = Note { rule, target, ..Note::default() };
        let pid = pid.to_owned();
        Entry { seq: 1, at, tick: at, pid, kind, note, prev: String::new() }
    }

    #[test]
    fn lanes_end_where_they_were_given_up_or_lapse() {
        let entries = [
            entry(0, "a", What::Claim, Some("/w/x")),
            entry(5, "a", What::Claim, Some("/w/y")),
            entry(10, "a", What::Release, Some("/w/x")),
            entry(2_000, "b", What::Start, None),
        ];
        let tracks = tracks(&entries, 2_000, 900);
        assert_eq!(tracks["a"].lanes, vec![(0, 10, "/w/x"), (5, 910, "/w/y")]);
    }

    #[test]
    fn the_page_stands_alone_and_runs_nothing_from_outside() {
        let entries = [
            entry(0, "a", What::Claim, Some("/w/<script>alert(1)</script>")),
            entry(9, "b\u{1b}", What::Deny, Some("/w/\"x'")),
        ];
        let page = render(&entries, 900);
        assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("src="));
        assert!(!page.contains('\u{1b}'));
        assert!(page.contains("href=\"#l1\"") && page.contains("id=\"l1\" class=\"denied\""));
        assert!(page.contains("1 denied"));
        assert_eq!(page.matches("<svg").count(), 2);
    }

    #[test]
    fn nothing_happened_is_a_page_too() {
        assert!(render(&[], 900).contains("0 lines"));
    }
}
