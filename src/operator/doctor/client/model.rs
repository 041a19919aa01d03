//! A model on loopback that makes one list of tool calls, in order, and keeps what the client
//! said to each. Speaks just enough of the Messages API; knows nothing of what the calls are for.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::http;

/// Requests after which it has nothing more to say: a client that keeps asking must end.
const MOST: usize = 40;
/// What the ids of its calls begin with.
const CALL: &str = "octo_call_";

/// A call that the model makes.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool.
    pub tool: &'static str,
    /// Its input.
    pub input: Value,
}

/// What the client said to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Whether it ran.
    pub ran: Ran,
    /// The words.
    pub text: String,
}

/// Whether a call ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// It did.
    Yes,
    /// It was refused, or failed.
    No,
}

/// The model at its door. Closes it when dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    play: Arc<Play>,
}

#[derive(Debug)]
struct Play {
    calls: Vec<Call>,
    said: Mutex<BTreeMap<usize, Said>>,
    asked: AtomicUsize,
    over: AtomicBool,
}

impl Model {
    /// Opens the door to a model that makes these calls.
    pub fn open(calls: Vec<Call>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let play = Arc::new(Play {
            calls,
            said: Mutex::default(),
            asked: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let shared = Arc::clone(&play);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                let play = Arc::clone(&shared);
                thread::spawn(move || drop(serve(&connection, |body| play.answer(body))));
            }
        });
        Ok(Self { address, play })
    }

    /// Where a client reaches it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the client said to the call of this number, if it came to that.
    #[must_use]
    pub fn said(&self, call: usize) -> Option<Said> {
        self.play.said.lock().unwrap_or_else(PoisonError::into_inner).get(&call).cloned()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.play.over.store(true, Ordering::SeqCst);
        // One last connection, so that the waiting thread sees that it is over.
        drop(TcpStream::connect(self.address));
    }
}

/// Answers a connection: to each turn of a conversation what `answer` makes of it, streamed where
/// that is asked for.
pub fn serve(connection: &TcpStream, answer: impl Fn(&Value) -> Value) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut from = BufReader::new(connection.try_clone()?);
    let mut to = connection.try_clone()?;
    while let Some(request) = http::next(&mut from)? {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        if request.path.contains("count_tokens") {
            http::answer(&mut to, &json!({ "input_tokens": 1 }))?;
        } else if request.path.contains("/v1/messages") {
            let message = answer(&body);
            if body.get("stream") == Some(&Value::Bool(true)) {
                http::stream(&mut to, &events(&message))?;
                return connection.shutdown(Shutdown::Both);
            }
            http::answer(&mut to, &message)?;
        } else {
            http::answer(&mut to, &json!({}))?;
        }
    }
    Ok(())
}

impl Play {
    /// The first call that the conversation has no result of; a last word when there is none.
    fn answer(&self, body: &Value) -> Value {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        // A request without tools asks for a title or the like, not for work.
        let works = list(body, "tools").next().is_some();
        let next = if works && number < MOST { self.heard(body) } else { self.calls.len() };
        let (content, reason) = match self.calls.get(next) {
            Some(Call { tool, input }) => {
                let id = format!("{CALL}{next}");
                (json!({ "type": "tool_use", "id": id, "name": tool, "input": input }), "tool_use")
            }
            None => (json!({ "type": "text", "text": "done" }), "end_turn"),
        };
        json!({
            "id": format!("msg_octo_{number}"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [content],
            "stop_reason": reason,
            "stop_sequence": null,
            "usage": { "input_tokens": 1, "output_tokens": 1 },
        })
    }

    /// Keeps the results that a conversation brings; gives the number of the next call.
    fn heard(&self, body: &Value) -> usize {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = 0;
        for block in blocks(body) {
            let id = block.get("tool_use_id").and_then(Value::as_str);
            let number = id.and_then(|id| id.strip_prefix(CALL));
            let Some(call) = number.and_then(|number| number.parse().ok()) else { continue };
            let failed = block.get("is_error") == Some(&Value::Bool(true));
            let ran = if failed { Ran::No } else { Ran::Yes };
            said.insert(call, Said { ran, text: text(block.get("content")) });
            next = next.max(call + 1);
        }
        next
    }
}

/// The results of tools in a conversation.
fn blocks(body: &Value) -> impl Iterator<Item = &Value> {
    let content = list(body, "messages").flat_map(|message| list(message, "content"));
    content.filter(|block| is(block, "tool_result"))
}

/// The elements of a member that is a list.
fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

/// What a result says, in either of the forms it comes in.
fn text(content: Option<&Value>) -> String {
    let Some(parts) = content.and_then(Value::as_array) else {
        return content.and_then(Value::as_str).unwrap_or_default().to_owned();
    };
    let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
    texts.collect::<Vec<_>>().join("\n")
}

/// A message as the stream of events that carries it.
fn events(message: &Value) -> Vec<Value> {
    let with = |value: &Value, changes: &[(&str, Value)]| {
        let mut fields = value.as_object().cloned().unwrap_or_default();
        fields.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Value::Object(fields)
    };
    let opening = with(message, &[("content", json!([])), ("stop_reason", Value::Null)]);
    let mut events = vec![json!({ "type": "message_start", "message": opening })];
    for (index, block) in list(message, "content").enumerate() {
        let (start, delta) = if is(block, "text") {
            let delta = json!({ "type": "text_delta", "text": block.get("text") });
            (with(block, &[("text", json!(""))]), delta)
        } else {
            let input = block.get("input").map(ToString::to_string);
            let delta = json!({ "type": "input_json_delta", "partial_json": input });
            (with(block, &[("input", json!({}))]), delta)
        };
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let end = json!({ "stop_reason": message.get("stop_reason"), "stop_sequence": null });
    let usage = json!({ "output_tokens": 1 });
    events.push(json!({ "type": "message_delta", "delta": end, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play() -> Play {
        let call = |tool| Call { tool, input: json!({}) };
        let calls = vec![call("Write"), call("Bash")];
        Play {
            calls,
            said: Mutex::default(),
            asked: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn asks(results: &[Value]) -> Value {
        json!({ "tools": [{}], "messages": [{ "role": "user", "content": results }] })
    }

    #[test]
    fn calls_come_in_order_and_each_answer_is_kept() {
        let play = play();
        let first = play.answer(&asks(&[]));
        assert_eq!(first["content"][0]["name"], "Write");
        let refused = json!({
            "type": "tool_result", "tool_use_id": first["content"][0]["id"],
            "is_error": true, "content": [{ "type": "text", "text": "no" }],
        });
        let second = play.answer(&asks(std::slice::from_ref(&refused)));
        assert_eq!(second["content"][0]["name"], "Bash");
        assert_ne!(first["id"], second["id"]);
        let ran = json!({
            "type": "tool_result", "tool_use_id": second["content"][0]["id"], "content": "out",
        });
        assert_eq!(play.answer(&asks(&[refused, ran]))["stop_reason"], "end_turn");
        let said = play.said.lock().unwrap();
        assert_eq!(said[&0], Said { ran: Ran::No, text: "no".to_owned() });
        assert_eq!(said[&1], Said { ran: Ran::Yes, text: "out".to_owned() });
    }

    #[test]
    fn a_request_without_tools_and_a_client_without_end_get_a_last_word() {
        let play = play();
        assert_eq!(play.answer(&json!({ "messages": [] }))["stop_reason"], "end_turn");
        for _ in 0..MOST {
            drop(play.answer(&asks(&[])));
        }
        assert_eq!(play.answer(&asks(&[]))["stop_reason"], "end_turn");
    }
}
