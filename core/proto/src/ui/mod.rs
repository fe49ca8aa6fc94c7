//! A run for a browser, as server-sent events: the AI SDK's UI message stream, which `useChat` and assistant-ui read, and AG-UI.
//!
//! - Out: [`UiFrames`] takes the events of a run and writes the frames of the protocol, as text. `ai_sdk` and `ag_ui` have a
//!   protocol each, `frame` what both write, [`UiOptions`] what may be chosen.
//! - [`to_ui_messages`] has the conversation for a page that is loaded again.
//! - [`frames_after`] finds where a browser goes on that has lost its connection.
//! - In: [`UiRequest`] reads the body of a request, and says what to begin: a prompt, the last answer anew, or decisions.
//!
//! Nothing here waits: a frame is written when its event is given.
//!
//! ```
//! use agent_loop_proto::ui::{UiFrames, UiOptions, UiProtocol};
//! # use agent_loop_proto::event::{Event, EventData};
//! # let event = Event::new("run".into(), 0, 0, EventData::AgentStart, None);
//!
//! let mut stream = UiFrames::new(UiProtocol::AiSdk, UiOptions::default());
//! let mut text = String::new();
//! stream.push(&event, &mut text);
//! assert_eq!(text, "data: {\"type\":\"start\"}\n\n");
//! ```

mod ag_ui;
mod ag_ui_request;
mod ai_sdk;
mod ai_sdk_request;
mod blocks;
mod frame;
mod messages;
mod options;
mod replay;
mod request;
mod subagents;
#[cfg(test)]
mod tests;

pub use self::messages::to_ui_messages;
pub use self::options::{UiOptions, UiRequestOptions};
pub use self::replay::frames_after;
pub use self::request::{UiRequest, UiStart};

use serde_json::Value;

use self::replay::Numbers;
use crate::error::Error;
use crate::event::Event;
use crate::surrogate::read_json;

/// What the browser speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiProtocol {
    /// The UI message stream of the AI SDK, versions 6 and 7: <https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol>.
    AiSdk,
    /// AG-UI: <https://docs.ag-ui.com/concepts/events>.
    AgUi,
}

impl UiProtocol {
    /// The protocol of that word: `ai_sdk` or `ag_ui`.
    ///
    /// # Errors
    /// `invalid_argument`: there is none.
    pub fn parse(word: &str) -> Result<UiProtocol, Error> {
        match word {
            "ai_sdk" => Ok(UiProtocol::AiSdk),
            "ag_ui" => Ok(UiProtocol::AgUi),
            _ => Err(Error::invalid_argument(format!("protocol: unknown protocol {word:?}; known are ai_sdk, ag_ui"))),
        }
    }

    /// Its word: `ai_sdk` or `ag_ui`.
    pub fn as_str(self) -> &'static str {
        match self {
            UiProtocol::AiSdk => "ai_sdk",
            UiProtocol::AgUi => "ag_ui",
        }
    }

    /// The headers of the response, by their names in lower case. The last ones keep caches and proxies from holding frames back.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        const ALL: &[(&str, &str)] = &[
            ("x-vercel-ai-ui-message-stream", "v1"),
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("x-accel-buffering", "no"),
        ];
        match self {
            UiProtocol::AiSdk => ALL,
            UiProtocol::AgUi => ALL.get(1..).unwrap_or_default(),
        }
    }
}

/// Writes the events of one run as the frames of a protocol.
#[derive(Debug)]
pub struct UiFrames {
    writer: Writer,
    numbers: Option<Numbers>,
}

#[derive(Debug)]
enum Writer {
    AiSdk(ai_sdk::AiSdkStream),
    AgUi(ag_ui::AgUiStream),
}

impl UiFrames {
    /// One for a run whose events are given from the first one on.
    pub fn new(protocol: UiProtocol, options: UiOptions) -> UiFrames {
        let numbers = options.event_ids.then(Numbers::default);
        let writer = match protocol {
            UiProtocol::AiSdk => Writer::AiSdk(ai_sdk::AiSdkStream::new(options)),
            UiProtocol::AgUi => Writer::AgUi(ag_ui::AgUiStream::new(options)),
        };
        UiFrames { writer, numbers }
    }

    /// What is sent when nothing was sent for [`UiOptions::keep_alive_ms`]: a comment.
    pub const KEEP_ALIVE: &'static str = ": keep-alive\n\n";

    /// The option; `None`: nothing is sent meanwhile. Whoever waits for events keeps the time.
    pub fn keep_alive_ms(&self) -> Option<u64> {
        let options = match &self.writer {
            Writer::AiSdk(stream) => stream.options(),
            Writer::AgUi(stream) => stream.options(),
        };
        Some(options.keep_alive_ms).filter(|ms| *ms > 0)
    }

    /// Appends the frames of an event; of many there are none. The last frame comes with `agent_end`.
    pub fn push(&mut self, event: &Event, out: &mut String) {
        let before = out.len();
        match &mut self.writer {
            Writer::AiSdk(stream) => stream.push(event, out),
            Writer::AgUi(stream) => stream.push(event, out),
        }
        if let Some(numbers) = &mut self.numbers {
            let frames = out.split_off(before);
            numbers.add(&frames, &event.run_id, out);
        }
    }
}

impl UiRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// `invalid_argument`: it is no request of this protocol; the text has the place of what is wrong.
    pub fn read(protocol: UiProtocol, body: &Value) -> Result<UiRequest, Error> {
        let Some(body) = body.as_object() else {
            return Err(Error::invalid_argument("the request: expected an object with messages"));
        };
        match protocol {
            UiProtocol::AiSdk => ai_sdk_request::read(body),
            UiProtocol::AgUi => ag_ui_request::read(body),
        }
    }

    /// The same, of the body's text.
    ///
    /// # Errors
    /// As [`UiRequest::read`].
    pub fn read_text(protocol: UiProtocol, body: &str) -> Result<UiRequest, Error> {
        let body = read_json(body).map_err(|error| error.reworded(|why| format!("the request: {why}")))?;
        UiRequest::read(protocol, &body)
    }
}
