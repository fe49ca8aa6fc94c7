//! `bench-handwritten`: what a programmer would write for one provider without a library. It parses, accumulates text and
//! tool arguments, hands each delta to its caller, calls the tool and continues. No retries, no limits, no events to
//! listeners, one wire format at a time.

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod sse;

use std::{borrow::Cow, hint::black_box, process::ExitCode};

use agent_loop_benches::{
    answers::{CALC_ANSWER, CALCULATOR, ECHO, Format},
    cli::Tally,
    harness::{self, Client},
    http,
    measure::Marks,
};
use serde::Deserialize;
use serde_json::Value;

/// A string of the JSON that is copied only when it has escapes. (`Option<Cow<str>>` by itself always copies.)
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct HandWritten {
    http: reqwest::Client,
    url: String,
    format: Format,
}

fn main() -> ExitCode {
    harness::main(|command| {
        let url = command.url.trim_end_matches('/').to_owned();
        Ok(HandWritten { http: http::client()?, url, format: command.format })
    })
}

/// A message as it grows.
#[derive(Default)]
struct Message {
    text: String,
    calls: Vec<Call>,
    finished: bool,
    output_tokens: u64,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Client for HandWritten {
    async fn run(&self, model: &str, marks: &Marks) -> Result<Tally, String> {
        let (mut deltas, mut bytes) = (0, 0);
        let mut user = |delta: &str| {
            marks.delta();
            deltas += 1;
            bytes += black_box(delta).len() as u64;
        };
        let mut messages = vec![http::prompt(self.format)];
        loop {
            let message = self.stream(model, &messages, &mut user).await?;
            if message.calls.is_empty() {
                marks.turn();
                if (model.starts_with("calc") || model.starts_with("turns")) && message.text != CALC_ANSWER {
                    return Err(format!("{model} ended with {:?}", message.text));
                }
                black_box(message.output_tokens);
                return Ok(Tally::Deltas { deltas, bytes });
            }
            match self.format {
                Format::Anthropic => messages.push(anthropic::said(&message)?),
                Format::Chat => messages.push(chat::said(&message)),
                Format::Responses => messages.extend(responses::said(&message)),
                Format::Gemini => messages.push(gemini::said(&message)?),
            }
            for call in &message.calls {
                messages.push(http::tool_result(self.format, &call.id, &call.name, &execute(call)?));
            }
            marks.turn();
        }
    }
}

impl HandWritten {
    async fn stream(&self, model: &str, messages: &[Value], user: &mut impl FnMut(&str)) -> Result<Message, String> {
        let url = format!("{}{}", self.url, self.format.path(model));
        let mut response = http::post(&self.http, &url, http::request(self.format, model, messages)).await?;
        let mut frames = sse::Frames::default();
        let mut message = Message::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| format!("the stream broke: {error}"))? {
            frames.feed(&chunk, |data| match self.format {
                Format::Anthropic => anthropic::read(data, &mut message, user),
                Format::Chat => chat::read(data, &mut message, user),
                Format::Responses => responses::read(data, &mut message, user),
                Format::Gemini => gemini::read(data, &mut message, user),
            })?;
        }
        if message.finished { Ok(message) } else { Err("the stream ended before the message did".to_owned()) }
    }
}

fn execute(call: &Call) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Calculation {
        operation: String,
        a: f64,
        b: f64,
    }
    let wrong = |error: serde_json::Error| format!("arguments of {}: {error}", call.name);
    match call.name.as_str() {
        CALCULATOR => {
            let Calculation { operation, a, b } = serde_json::from_str(&call.arguments).map_err(wrong)?;
            let result = match operation.as_str() {
                "add" => a + b,
                "subtract" => a - b,
                "multiply" => a * b,
                "divide" => a / b,
                other => return Err(format!("no operation {other:?}")),
            };
            Ok(result.to_string())
        }
        ECHO => {
            let arguments: Value = serde_json::from_str(&call.arguments).map_err(wrong)?;
            let text = arguments["text"].as_str().ok_or("echo's text is not a string")?;
            Ok(format!("{} bytes", text.len()))
        }
        other => Err(format!("no tool {other:?}")),
    }
}
