//! What a scripted model was told: results of its tool calls and the texts around them, taken
//! from the requests the client sent. Looks, never judges.

use serde_json::{Value, json};

/// Everything one script's model was told so far.
pub(crate) struct Heard {
    script: String,
    requests: Vec<Value>,
}

/// The result of one tool call as the client reported it to the model.
#[derive(Debug, Clone)]
pub(crate) struct ToolResult {
    pub(crate) id: String,
    pub(crate) failed: bool,
    pub(crate) text: String,
}

impl Heard {
    pub(crate) fn new(script: &str, requests: Vec<Value>) -> Self {
        Self { script: script.to_owned(), requests }
    }

    /// How often the model was asked.
    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// The results of all tool calls, in order, each once.
    pub(crate) fn results(&self) -> Vec<ToolResult> {
        let mut all: Vec<ToolResult> = Vec::new();
        for request in &self.requests {
            for block in blocks(request).iter().filter(|block| block["type"] == "tool_result") {
                let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                if all.iter().all(|seen| seen.id != id) {
                    let failed = block["is_error"].as_bool().unwrap_or(false);
                    all.push(ToolResult { id, failed, text: texts(&block["content"]).join("\n") });
                }
            }
        }
        all
    }

    /// The nth tool call's result.
    #[track_caller]
    pub(crate) fn result(&self, number: usize) -> ToolResult {
        let all = self.results();
        let found = all.get(number).cloned();
        found.unwrap_or_else(|| panic!("{} has no result {number}: {all:#?}", self.script))
    }

    /// The nth tool call was refused, and the refusal holds all of these words.
    #[track_caller]
    pub(crate) fn refused(&self, number: usize, words: &[&str]) {
        let result = self.result(number);
        assert!(result.failed, "{}: call {number} ran: {}", self.script, result.text);
        for word in words {
            assert!(result.text.contains(word), "no {word:?} in: {}", result.text);
        }
    }

    /// The nth tool call went through.
    #[track_caller]
    pub(crate) fn ran(&self, number: usize) {
        let result = self.result(number);
        assert!(!result.failed, "{}: call {number} failed: {}", self.script, result.text);
    }

    /// True when any text the model was given contains `words`; not what it said itself.
    pub(crate) fn mentions(&self, words: &str) -> bool {
        self.requests.iter().any(|request| {
            let messages = request["messages"].as_array().into_iter().flatten();
            let given = messages.filter(|message| message["role"] != "assistant");
            let given = given.flat_map(|message| texts(&message["content"]));
            texts(&request["system"]).into_iter().chain(given).any(|text| text.contains(words))
        })
    }

    /// Every line the model was given that contains `words`, for a message when a test fails.
    pub(crate) fn lines(&self, words: &str) -> Vec<String> {
        let messages = self.requests.iter().filter_map(|r| r["messages"].as_array()).flatten();
        let given = messages.filter(|message| message["role"] != "assistant");
        let lines = given.flat_map(|message| texts(&message["content"])).flat_map(str::lines);
        lines.filter(|line| line.contains(words)).map(str::to_owned).collect()
    }
}

fn blocks(request: &Value) -> Vec<Value> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let mine = messages.filter(|message| message["role"] == "user");
    let content = mine.flat_map(|message| match message["content"].as_array() {
        Some(blocks) => blocks.clone(),
        None => vec![json!({ "type": "text", "text": message["content"] })],
    });
    content.collect()
}

/// The texts in a message's content, whatever its shape.
pub(crate) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().flat_map(texts_of_block).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn texts_of_block(block: &Value) -> Vec<&str> {
    match block["type"].as_str() {
        Some("tool_result") => texts(&block["content"]),
        _ => block["text"].as_str().into_iter().collect(),
    }
}
