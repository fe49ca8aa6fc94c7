//! What holds of every run, whatever attacks it.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use agent_loop::machine::wire::{EncodeCache, Served};
use agent_loop::model::{Encoder, Request};
use agent_loop::testing::check_events;
use agent_loop::{Agent, Error, ErrorKind, Message, ModelSpec, Run, RunResult, transcript};
use agent_loop_proto::error::SHUT_DOWN;
use agent_mock::{Flavour, Format, Strict};
use serde_json::{Value, json};

/// The key of every agent, and whatever else is secret.
pub(crate) const SECRET: &str = "sk-attack-7d1f0c9e5b2a";

/// The longest text of a run's error, in bytes.
const MOST_ERROR: usize = 20_000;

/// How long a run may be silent: far longer than any of the limits that are set here.
const LONGEST: Duration = Duration::from_secs(60);

/// The events of a run, in order: they obey the contract, and show no secret.
pub(crate) fn events(events: &[Value]) -> Result<(), String> {
    let lines = |events: &[Value]| events.iter().map(|event| clipped(&event.to_string())).collect::<Vec<_>>().join("\n");
    check_events(events).map_err(|error| format!("{}\n{}", error.message(), lines(events)))?;
    match events.iter().find(|event| event["type"] != "raw" && shows_secret(event)) {
        Some(event) => Err(format!("a secret in {}", clipped(&event.to_string()))),
        None => Ok(()),
    }
}

/// What a model says is its own; all else that an event has shows no secret.
fn shows_secret(event: &Value) -> bool {
    let own = ["delta", "block", "content", "arguments", "messages"];
    match event {
        Value::String(text) => text.contains(SECRET),
        Value::Array(items) => items.iter().any(shows_secret),
        Value::Object(fields) => fields.iter().any(|(name, field)| !own.contains(&name.as_str()) && shows_secret(field)),
        _ => false,
    }
}

/// A text of an error says something, and nothing secret.
pub(crate) fn error_text(text: &str) -> Result<(), String> {
    match text {
        "" => Err("an error without a text".to_owned()),
        _ if text.contains(SECRET) => Err(format!("a secret in an error: {}", clipped(text))),
        _ => Ok(()),
    }
}

/// The text of a run's error: it does not repeat what a server sent without end. What the application's own code says is its own.
fn run_error_text(error: &Error) -> Result<(), String> {
    let text = error.message();
    error_text(text)?;
    let is_long = text.len() > MOST_ERROR && error.kind() != ErrorKind::Callback;
    if is_long { Err(format!("an error of {} bytes: {}", text.len(), clipped(text))) } else { Ok(()) }
}

/// Every call has one result, what is written can be read back, and every service takes it.
pub(crate) fn messages(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    for message in messages {
        match &**message {
            Message::Assistant(answer) => answer.tool_calls().for_each(|call| *open.entry(&call.id).or_default() += 1),
            Message::ToolResult(result) => *open.entry(&result.tool_call_id).or_default() -= 1,
            _ => {}
        }
    }
    if let Some((id, left)) = open.iter().find(|(_, left)| **left != 0) {
        return Err(format!("the call {id:?} has {} results", 1 - left));
    }
    read_back(messages)?;
    sendable(messages)
}

/// Every service takes it.
pub(crate) fn sendable(messages: &[Arc<Message>]) -> Result<(), String> {
    SERVICES.iter().try_for_each(|service| service.takes(messages))
}

/// What is written can be read back, and is the same.
pub(crate) fn read_back(messages: &[Arc<Message>]) -> Result<(), String> {
    let text = json!(messages).to_string();
    let again: Value = serde_json::from_str(&text).map_err(|error| format!("the transcript is no JSON: {error}"))?;
    let read = transcript::read_history(again).map_err(|error| format!("the transcript cannot be read back: {error}"))?;
    // As text: the order of keys counts, too.
    let again = json!(read).to_string();
    if again != text {
        return Err(format!("read back, the transcript differs: {}\n{}", clipped(&again), clipped(&text)));
    }
    Ok(())
}

/// Who could be sent a transcript.
struct Service {
    encoder: Encoder,
    format: Format,
    path: &'static str,
    strict: Strict,
}

static SERVICES: LazyLock<Vec<Service>> = LazyLock::new(|| {
    let service = |spec: Value, format, path, strict| {
        let spec = ModelSpec::from_json(spec).expect("a model");
        let served = Served::of(&spec, None, &|_| None).expect("a provider");
        Service { encoder: Encoder::new(spec, served), format, path, strict }
    };
    let gemini = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    let compatible = json!({ "provider": "p", "id": "m", "protocol": "openai_chat", "base_url": "http://h" });
    vec![
        service(
            json!({ "provider": "anthropic", "id": "claude-sonnet-4-5" }),
            Format::Anthropic,
            "",
            Strict::new().alternation(),
        ),
        service(compatible, Format::Chat, "", Strict::new().flavour(Flavour::Compatible)),
        service(json!({ "provider": "openai", "id": "gpt-5.1" }), Format::Responses, "", Strict::new()),
        service(json!({ "provider": "google", "id": "gemini-2.5-pro" }), Format::Gemini, gemini, Strict::new()),
    ]
});

impl Service {
    fn takes(&self, messages: &[Arc<Message>]) -> Result<(), String> {
        let Encoder { spec, served, .. } = &self.encoder;
        let messages = transcript::repair(messages, &served.constraints(spec)).messages;
        if messages.last().is_none_or(|last| last.role() == "assistant") {
            return Ok(()); // nothing would be asked
        }
        let request = Request { model: spec.name(), messages, ..Request::default() };
        let body = self.encoder.encode(&mut EncodeCache::default(), &request).body;
        let body: Value = serde_json::from_slice(&body).map_err(|error| format!("the request is no JSON: {error}"))?;
        let said = self.strict.check(self.format, self.path, None, &body);
        // Whether an image is one is between the application and the server.
        let said = said.or_else(|refusal| if refusal.message.to_lowercase().contains("base64") { Ok(()) } else { Err(refusal) });
        said.map_err(|refusal| format!("{} refuses it: {}\n{}", spec.name(), refusal.message, clipped(&body.to_string())))
    }
}

/// Reads a run to its end and checks it.
pub(crate) async fn run(agent: &Agent, mut run: Run) -> Result<RunResult, String> {
    let mut written = Vec::new();
    loop {
        match tokio::time::timeout(LONGEST, run.next()).await {
            Ok(Some(event)) => written.push(json!(event)),
            Ok(None) => break,
            Err(_) => {
                let last: Vec<String> = written.iter().rev().take(4).map(|event| clipped(&event.to_string())).collect();
                return Err(format!("the run does not go on; its last events: {}\n{}", last.join("\n"), agent.state_json()));
            }
        }
    }
    events(&written)?;
    let result = run.ended().await.map_err(|error| format!("the run gives no result: {error}"))?;
    if let Some(error) = &result.error {
        run_error_text(error)?;
    }
    if let Some(error) = agent.error() {
        run_error_text(&error)?;
    }
    match &result.error {
        // It ended wherever it was: calls may be without results.
        Some(error) if error.message() == SHUT_DOWN => read_back(&agent.messages()).and_then(|()| sendable(&agent.messages()))?,
        _ => messages(&agent.messages())?,
    }
    Ok(result)
}

/// The start of a long text.
pub(crate) fn clipped(text: &str) -> String {
    const MOST: usize = 600;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
