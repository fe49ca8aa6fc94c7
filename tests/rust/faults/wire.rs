//! The five wire formats as these tests see them: a model of each, and what of a stream is where.

use agent_loop::host::Spelling;
use agent_loop::{Agent, ModelSpec};
use agent_mock::{Answer, Format, Mock, Speech};
use serde_json::{Value, json};

/// An agent with a model that speaks the format, served by the mock.
pub(super) fn agent(format: Format, mock: &Mock, options: Value) -> Agent {
    let (provider, protocol, id) = match format {
        Format::Anthropic => ("anthropic", "anthropic", "claude-sonnet-4-5"),
        Format::Chat => ("company", "openai_chat", "tiny"),
        Format::Responses => ("company", "openai_responses", "gpt-5"),
        Format::Gemini => ("google", "gemini", "gemini-2.5-flash"),
        Format::Converse => ("amazon-bedrock", "bedrock_converse", "anthropic.claude-sonnet-4-5"),
    };
    let spec = json!({ "provider": provider, "protocol": protocol, "id": id, "base_url": mock.url() });
    let agent = Agent::builder(ModelSpec::from_json(spec).unwrap()).api_key("sk-1").build().unwrap();
    // No pauses before retries.
    agent.set_options(json!({ "retry_base_ms": 0 }).as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    agent
}

/// A turn that thinks, speaks and calls twice.
pub(super) fn turn() -> Answer {
    let speech = Speech::thinking("Two cities are asked for, so I have to look twice.")
        .and_text("I am looking at the weather in both places: Ål and Rome.")
        .and_call("weather", json!({ "city": "Ål, Norway", "days": 3, "note": "with \"wind\" & snow ☃" }))
        .and_call("weather", json!({ "city": "Rome, Italy", "days": 1, "note": "only rain" }));
    Answer::message(speech)
}

/// The cities its calls are about.
pub(super) const CITIES: [&str; 2] = ["Ål, Norway", "Rome, Italy"];

/// The bytes of its stream.
pub(super) fn bytes(format: Format) -> Vec<u8> {
    turn().body_bytes(format).unwrap()
}

/// How far a stream got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reached {
    /// Nothing of a block.
    Nothing,
    /// A block has begun.
    Content,
    /// The closing event is there.
    End,
}

/// A question about a frame.
type Test = fn(&Value) -> bool;

/// What a reader of these bytes knows: whole frames only.
pub(super) fn reached(format: Format, bytes: &[u8]) -> Reached {
    let (begun, closed): (Test, Test) = match format {
        Format::Anthropic => (|data| data["type"] == "content_block_start", |data| data["type"] == "message_stop"),
        Format::Chat => (
            |data| says(&data["choices"][0]["delta"]["reasoning_content"]),
            |data| data["choices"][0]["finish_reason"].is_string() || data == "[DONE]",
        ),
        Format::Responses => (|data| data["type"] == "response.output_item.added", |data| data["type"] == "response.completed"),
        Format::Gemini => (
            |data| says(&data["candidates"][0]["content"]["parts"][0]["text"]),
            |data| data["candidates"][0]["finishReason"].is_string(),
        ),
        Format::Converse => (|data| data.get("contentBlockIndex").is_some(), |data| data["stopReason"].is_string()),
    };
    let frames = frames(format, bytes);
    if frames.iter().any(closed) {
        Reached::End
    } else if frames.iter().any(begun) {
        Reached::Content
    } else {
        Reached::Nothing
    }
}

fn says(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.is_empty())
}

/// The data of the frames that have ended.
fn frames(format: Format, bytes: &[u8]) -> Vec<Value> {
    if format == Format::Converse {
        return messages(bytes).map(|message| serde_json::from_slice(payload(message)).unwrap_or_default()).collect();
    }
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let Some((whole, _)) = text.rsplit_once("\n\n") else { return Vec::new() };
    let data = whole.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok().or_else(|| (data == "[DONE]").then(|| data.into()))).collect()
}

/// The messages of AWS's event stream that have ended.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = u32::from_be_bytes(*bytes.first_chunk()?);
        let (message, rest) = bytes.split_at_checked(length as usize)?;
        bytes = rest;
        Some(message)
    })
}

/// What stands between the headers and the last checksum.
fn payload(message: &[u8]) -> &[u8] {
    let headers = u32::from_be_bytes(*message[4..].first_chunk().unwrap()) as usize;
    &message[12 + headers..message.len() - 4]
}

/// The bytes with checksums that are right again.
pub(super) fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    let crc32 = |bytes: &[u8]| !bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)));
    let whole = messages(bytes).map(|message| {
        let covered = &message[..message.len() - 4];
        [covered, &crc32(covered).to_be_bytes()].concat()
    });
    whole.collect::<Vec<_>>().concat()
}

/// How many frames there are.
pub(super) fn count(format: Format) -> usize {
    frames(format, &bytes(format)).len()
}

/// The bytes of so many frames.
pub(super) fn first_frames(format: Format, count: usize) -> Vec<u8> {
    if format == Format::Converse {
        return messages(&bytes(format)).take(count).collect::<Vec<_>>().concat();
    }
    let text = String::from_utf8(bytes(format)).unwrap().replace("\r\n", "\n");
    text.split_inclusive("\n\n").take(count).collect::<String>().into_bytes()
}
