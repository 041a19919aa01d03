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
/// Characters of a date.
const DATE: usize = "2026-01-01".len();
/// What the colours mean.
const LEGEND: &str = "<p class=\"legend\"><span class=\"alive\">at work</span> \
<span class=\"held\">holds a lane</span> <span class=\"refused\">refused</span></p>\n";

/// One process of the page.
#[derive(Debug, Default)]
struct Track<'e> {
    label: String,
    parent: Option<&'e str>,
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
    out.push_str(LEGEND);
    out.push_str("<section aria-label=\"timeline\">\n");
    let common = common_folder(entries);
    for track in families(&tracks) {
        draw(&mut out, track, &common, from, to);
    }
    axis(&mut out, from, to);
    out.push_str("</section>\n");
    table(&mut out, entries, &common);
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
                track.parent = entry.note.parent.as_deref().filter(|parent| *parent != pid);
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

/// Sessions in order of their first line, each followed by what it spawned.
fn families<'t, 'e>(tracks: &'t BTreeMap<&str, Track<'e>>) -> Vec<&'t Track<'e>> {
    let mut order: Vec<(&str, &Track<'e>)> = tracks.iter().map(|(pid, t)| (*pid, t)).collect();
    order.sort_by_key(|(pid, track)| {
        let head = track.parent.filter(|parent| tracks.contains_key(parent)).unwrap_or(pid);
        let first = tracks.get(head).map_or(track.first, |head| head.first);
        (first, head.to_owned(), head != *pid, track.first, (*pid).to_owned())
    });
    order.into_iter().map(|(_, track)| track).collect()
}

/// The folder that all paths are below, with its slash; empty when they share none.
fn common_folder(entries: &[Entry]) -> String {
    let targets = entries.iter().filter_map(|entry| entry.note.target.as_deref());
    let mut paths = targets.filter(|target| target.starts_with('/'));
    let Some(first) = paths.next() else { return String::new() };
    let mut common = first.rfind('/').map_or("", |end| first.get(..=end).unwrap_or_default());
    for path in paths {
        while !path.starts_with(common) {
            let shorter = common.trim_end_matches('/').rfind('/');
            common = shorter.map_or("", |end| common.get(..=end).unwrap_or_default());
        }
    }
    if common == "/" { String::new() } else { common.to_owned() }
}

/// A path without what all paths begin with.
fn below<'p>(path: &'p str, common: &str) -> &'p str {
    path.strip_prefix(common).filter(|rest| !rest.is_empty()).unwrap_or(path)
}

fn axis(out: &mut String, from: u64, to: u64) {
    let [first, middle, last] = [from, from + (to - from) / 2, to].map(clock);
    let _infallible = writeln!(
        out,
        "<div class=\"axis\" aria-hidden=\"true\"><span>{first}</span><span>{middle}</span><span>{last}</span></div>"
    );
}

/// The time of day of a moment.
fn clock(at: u64) -> String {
    moment(at).split_off(DATE + 1)
}

fn draw(out: &mut String, track: &Track<'_>, common: &str, from: u64, to: u64) {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a journal are far below 2^52")]
    let x = |at: u64| (at.saturating_sub(from)) as f64 / (to - from) as f64 * WIDTH;
    // What is too short to be seen keeps a mark's width, inside the picture at both ends.
    let bar = |since: u64, until: u64| {
        let width = (x(until) - x(since)).max(MARK);
        (x(since).clamp(0.0, WIDTH - width), width)
    };
    let label = escape(&track.label);
    let summary = format!("{} lanes, {} denied", track.lanes.len(), track.denials.len());
    let class = if track.parent.is_some() { "who child" } else { "who" };
    let (left, width) = bar(track.first, track.last);
    let _infallible = write!(
        out,
        "<div class=\"track\"><div class=\"{class}\" title=\"{label}\">{label}</div>\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}: {summary}\"><rect class=\"life\" x=\"{left:.1}\" y=\"10\" \
         width=\"{width:.1}\" height=\"8\"><title>{label}, {}</title></rect>",
        age(track.last - track.first),
    );
    for (since, until, path) in &track.lanes {
        let path = escape(below(path, common));
        let (left, width) = bar(*since, *until);
        let _infallible = write!(
            out,
            "<rect class=\"lane\" x=\"{left:.1}\" y=\"6\" width=\"{width:.1}\" height=\"16\">\
             <title>lane {path}, {}</title></rect>",
            age(until - since),
        );
    }
    for (index, entry) in &track.denials {
        let rule = escape(entry.note.rule.as_deref().unwrap_or("denied"));
        let target = escape(below(entry.note.target.as_deref().unwrap_or_default(), common));
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

fn table(out: &mut String, entries: &[Entry], common: &str) {
    if !common.is_empty() {
        let _infallible = writeln!(out, "<p class=\"below\">paths below {}</p>", escape(common));
    }
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"lines\"><table role=\"table\">\
         <thead><tr><th>time</th><th>process</th><th>what</th><th>rule</th><th>about</th>\
         <th>held by</th></tr></thead><tbody>\n",
    );
    let mut day = String::new();
    for (index, entry) in entries.iter().enumerate() {
        let today: String = moment(entry.at).chars().take(DATE).collect();
        if today != day {
            let _infallible =
                writeln!(out, "<tr class=\"day\"><th colspan=\"6\">{today}</th></tr>");
            day = today;
        }
        row(out, index, entry, common);
    }
    out.push_str("</tbody></table></div>\n");
}

fn row(out: &mut String, index: usize, entry: &Entry, common: &str) {
    let note = &entry.note;
    let target = note.target.as_deref().map(|target| below(target, common));
    let about = [target, note.reason.as_deref()];
    let about: Vec<String> = about.into_iter().flatten().map(escape).collect();
    let holder = note.holder.as_ref();
    let holder = holder.map(|party| escape(&format!("{} {}", party.kind, party.pid)));
    let denied = entry.kind == What::Deny;
    let _infallible = writeln!(
        out,
        "<tr role=\"row\" id=\"l{index}\"{}><td title=\"{}\">{}</td><td title=\"{}\">{}</td>\
         <td>{}{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        if denied { " class=\"denied\"" } else { "" },
        moment(entry.at),
        clock(entry.at),
        escape(&entry.pid),
        escape(&entry.pid.chars().take(12).collect::<String>()),
        if denied { "✕ " } else { "" },
        word(entry.kind),
        escape(note.rule.as_deref().unwrap_or_default()),
        about.join(" "),
        holder.unwrap_or_default(),
    );
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
.track{display:grid;grid-template-columns:290px 1fr;gap:10px;align-items:center;\
border-top:1px solid var(--line);padding:4px 0}\n\
.who{font:12px/1.3 ui-monospace,monospace;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n\
.child{padding-left:14px}svg{display:block;width:100%;height:28px}.life{fill:var(--life)}\
.lane{fill:var(--lane);opacity:.75}\
.deny{fill:var(--deny)}a:focus-visible .deny{stroke:var(--ink);stroke-width:2}\n\
.axis{display:flex;justify-content:space-between;margin-left:300px;border-top:1px solid var(--line);\
padding-top:4px;color:var(--soft);font-size:12px}\n\
.legend span{margin-right:14px;font-size:13px;white-space:nowrap}.legend span::before{content:'';\
display:inline-block;width:12px;height:12px;margin-right:5px;vertical-align:-1px}\
.alive::before{background:var(--life)}.held::before{background:var(--lane)}\
.refused::before{background:var(--deny)}\n\
.below{margin:20px 0 0;font-size:13px;overflow-wrap:anywhere}.scroll{overflow-x:auto;margin-top:8px}\
table{border-collapse:collapse;font-size:13px;width:100%}\n\
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);\
vertical-align:top;white-space:nowrap}td:nth-child(5){white-space:normal;width:60%;min-width:16em;\
overflow-wrap:anywhere}td:nth-child(1),.day th{color:var(--soft)}\
.denied td:nth-child(3),.denied td:nth-child(4){color:var(--deny);\
font-weight:600}tr:target{background:var(--mark)}\n\
@media(max-width:640px){.track{grid-template-columns:1fr;gap:2px}.axis{margin-left:0}\
thead{display:none}table,tbody,tr{display:block}tr{border-bottom:1px solid var(--line);padding:6px 0}\
th,td{display:inline-block;border:0;padding:0 8px 0 0}td:empty{display:none}\
td:nth-child(n+5){display:block;white-space:normal;min-width:0;width:auto;overflow-wrap:anywhere}\
td:empty:nth-child(n){display:none}td:nth-child(6)::before{content:'held by ';color:var(--soft)}}\n\
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
    fn agents_follow_their_session_and_marks_stay_in_the_picture() {
        let mut child = entry(1, "a", What::Start, None);
        child.note.parent = Some("z".to_owned());
        let late = entry(9, "a", What::Claim, Some("/w/x"));
        let entries =
            [entry(0, "z", What::Start, None), child, entry(5, "m", What::Start, None), late];
        let found = tracks(&entries, 9, 900);
        let labels: Vec<&str> = families(&found).iter().map(|track| &*track.label).collect();
        assert_eq!(labels, ["z", "a", "m"]);
        let page = render(&entries, 900);
        assert!(page.contains("class=\"lane\" x=\"995.0\""), "{page}");
    }

    #[test]
    fn paths_lose_what_all_of_them_begin_with() {
        let of = |paths: &[&str]| {
            let all: Vec<Entry> =
                paths.iter().map(|path| entry(0, "a", What::Claim, Some(path))).collect();
            common_folder(&all)
        };
        assert_eq!(of(&["/w/app/lib/a", "/w/app/lib2/b", "git add -A"]), "/w/app/");
        assert_eq!(of(&["/w/app", "/w/app/b"]), "/w/");
        assert_eq!(of(&["/w/é/a", "/w/è/b"]), "/w/");
        assert_eq!(of(&["/w/a", "/x/b"]), "");
        assert_eq!(of(&["git stash"]), "");
    }

    #[test]
    fn nothing_happened_is_a_page_too() {
        assert!(render(&[], 900).contains("0 lines"));
    }
}
