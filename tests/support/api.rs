//! A Messages API on loopback that answers by script: the script is named in the conversation's
//! first prompt, the turn is the number of answers given. Gates hold an answer back until the
//! test says so, so a race is staged and not hoped for. Every request is kept to be asserted on.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use octo::operator::doctor::client::model;
use serde_json::{Value, json};

use super::PATIENCE;
use super::heard::Heard;
use super::script::{Script, Step};

/// The server. Ends with the test: gates still shut are opened, threads run out.
pub(crate) struct Api {
    address: SocketAddr,
    stage: Arc<Stage>,
}

#[derive(Default)]
struct Stage {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    scripts: HashMap<String, Script>,
    requests: Vec<Recorded>,
    /// How many answers wait, or have waited, at a gate.
    arrived: HashMap<String, usize>,
    open: Vec<String>,
    over: bool,
}

struct Recorded {
    script: String,
    turn: usize,
    body: Value,
}

impl Api {
    /// Starts a server that knows these scripts.
    pub(crate) fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stage = Arc::new(Stage::default());
        for script in scripts {
            let old = stage.lock().scripts.insert(script.name.clone(), script);
            assert!(old.is_none(), "two scripts of one name");
        }
        let shared = Arc::clone(&stage);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let stage = Arc::clone(&shared);
                if stage.lock().over {
                    return;
                }
                thread::spawn(move || {
                    drop(model::serve(&connection, |body| message(body, &stage)));
                });
            }
        });
        Self { address, stage }
    }

    /// The base URL for a client.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until an answer stands at the gate: the tools of all turns before have run.
    pub(crate) fn reached(&self, gate: &str) {
        self.reached_by(gate, 1);
    }

    /// Waits until so many answers stand at the gate.
    pub(crate) fn reached_by(&self, gate: &str, answers: usize) {
        self.stage.until(PATIENCE, &format!("{answers} at the gate {gate}"), |state| {
            state.arrived.get(gate).is_some_and(|n| *n >= answers).then_some(())
        });
    }

    /// Waits until the script has no more turns: all its tools have run.
    pub(crate) fn finished(&self, script: &str) {
        self.stage.until(PATIENCE, &format!("the end of {script}"), |state| {
            let turns = state.scripts.get(script).map_or(0, |script| script.turns.len());
            let mut asked = state.requests.iter().filter(|request| request.script == script);
            asked.any(|request| request.turn >= turns).then_some(())
        });
    }

    /// Whether the model of this script was asked anything yet.
    pub(crate) fn asked(&self, script: &str) -> bool {
        self.stage.lock().requests.iter().any(|request| request.script == script)
    }

    /// Opens a gate for good.
    pub(crate) fn open(&self, gate: &str) {
        self.stage.lock().open.push(gate.to_owned());
        self.stage.moved.notify_all();
    }

    /// What the model of this script was told, as far as it was asked.
    pub(crate) fn heard(&self, script: &str) -> Heard {
        let state = self.stage.lock();
        let bodies = state.requests.iter().filter(|r| r.script == script).map(|r| r.body.clone());
        Heard::new(script, bodies.collect())
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.stage.lock().over = true;
        self.stage.moved.notify_all();
        // One last connection, so that the accepting thread sees that it is over.
        drop(TcpStream::connect(self.address));
    }
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn until<T>(
        &self,
        patience: Duration,
        what: &str,
        mut seen: impl FnMut(&State) -> Option<T>,
    ) -> T {
        let start = std::time::Instant::now();
        let mut state = self.lock();
        loop {
            if let Some(found) = seen(&state) {
                return found;
            }
            assert!(start.elapsed() < patience, "waited in vain for {what}");
            let pause = Duration::from_millis(200);
            state =
                self.moved.wait_timeout(state, pause).map_or_else(|e| e.into_inner().0, |w| w.0);
        }
    }

    fn wait_at(&self, gate: &str) {
        *self.lock().arrived.entry(gate.to_owned()).or_default() += 1;
        self.moved.notify_all();
        // Longer than the test itself waits for anything: the test should fail, not this thread.
        self.until(PATIENCE * 5, &format!("somebody to open {gate}"), |state| {
            (state.over || state.open.iter().any(|open| open == gate)).then_some(())
        });
    }
}

/// The model's answer to a request.
fn message(body: &Value, stage: &Stage) -> Value {
    let (name, turn) = place(body);
    let asked_for_work = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let (number, steps) = {
        let mut now = stage.lock();
        if asked_for_work {
            now.requests.push(Recorded { script: name.clone(), turn, body: body.clone() });
        }
        let turns = now.scripts.get(&name).map(|script| &script.turns);
        let steps = turns.and_then(|turns| turns.get(turn)).filter(|_| asked_for_work).cloned();
        (now.requests.len(), steps.unwrap_or_else(|| vec![Step::Say("done".to_owned())]))
    };
    stage.moved.notify_all();
    let mut content = Vec::new();
    for step in steps {
        play(step, body, stage, &mut content);
    }
    if content.is_empty() {
        content.push(json!({ "type": "text", "text": "waited" }));
    }
    for (index, block) in content.iter_mut().enumerate() {
        if block["type"] == "tool_use" {
            block["id"] = json!(format!("toolu_{name}_{number}_{index}"));
        }
    }
    let works = content.iter().any(|block| block["type"] == "tool_use");
    json!({
        "id": format!("msg_{name}_{number}"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": if works { "tool_use" } else { "end_turn" },
        "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 10 },
    })
}

fn play(step: Step, body: &Value, stage: &Stage, content: &mut Vec<Value>) {
    match step {
        Step::Say(text) => content.push(json!({ "type": "text", "text": text })),
        Step::Use { tool, input } => {
            content.push(json!({ "type": "tool_use", "id": "", "name": tool, "input": input }));
        }
        Step::Gate(name) => stage.wait_at(&name),
        Step::From(make) => {
            for step in make(body) {
                play(step, body, stage, content);
            }
        }
    }
}

/// Which script a conversation follows, and how many answers it has had.
fn place(body: &Value) -> (String, usize) {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let turn = messages.iter().filter(|m| m["role"] == "assistant").count();
    let prompts = messages.iter().filter(|m| m["role"] == "user");
    let mut texts = prompts.flat_map(|m| super::heard::texts(&m["content"]));
    let name = texts.find_map(|text| {
        let (_, rest) = text.split_once("SCRIPT:")?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        Some(rest.get(..end.unwrap_or(rest.len()))?.to_owned())
    });
    (name.unwrap_or_default(), turn)
}
