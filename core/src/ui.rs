//! A run for a browser, as server-sent events: the AI SDK's UI message stream, which `useChat` and assistant-ui read, and AG-UI.
//!
//! [`UiRequest`] reads the body of the browser's request, [`Agent::stream_ui`] starts the run that it asks for, and
//! [`Run::to_ui_message_stream`] is the body of the response. The browser is not trusted: a server that has the conversation
//! takes nothing of a request but what the user has sent and decided. With
//! `Agent::builder(model).messages(request.history.clone())` the browser keeps it, and may have written all of it.
//!
//! ```
//! use agent_loop::ui::{UiOptions, UiProtocol, UiRequest};
//! use agent_loop::{Agent, Error};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
//! let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
//! let body = r#"{"id": "chat", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}"#;
//!
//! let request = UiRequest::read_text(UiProtocol::AiSdk, body)?;
//! let agent = Agent::new(model)?;
//! let mut stream = agent.stream_ui(&request)?.to_ui_message_stream(UiOptions::default().of(&request));
//! let mut sent = String::new();
//! while let Some(frames) = stream.next().await {
//!     sent += &frames; // to the browser, with the headers of the stream
//! }
//! assert!(sent.contains(r#"{"type":"text-delta","id":"1-0","delta":"Hello."}"#));
//! assert!(sent.ends_with("data: [DONE]\n\n"));
//! # Ok(()) }
//! ```

mod replay;
mod stream;

use serde_json::Value;

pub use agent_loop_proto::ui::{
    UiFrames, UiOptions, UiProtocol, UiRequest, UiRequestOptions, UiStart, frames_after, to_ui_messages,
};

pub use self::replay::{UiReader, UiReplay};
pub use self::stream::UiStream;

use crate::agent::{Agent, PendingRun};
use crate::error::Error;
use crate::run::Run;

impl Run {
    /// The run for `useChat` of the AI SDK, versions 6 and 7, and for assistant-ui. Its events are not to be read before.
    pub fn to_ui_message_stream(self, options: UiOptions) -> UiStream {
        self.into_ui(UiProtocol::AiSdk, options)
    }

    /// The run for clients of AG-UI; else as [`Run::to_ui_message_stream`].
    pub fn to_ag_ui_stream(self, options: UiOptions) -> UiStream {
        self.into_ui(UiProtocol::AgUi, options)
    }

    fn into_ui(self, protocol: UiProtocol, options: UiOptions) -> UiStream {
        UiStream::new(self, protocol, options)
    }

    /// The frames of all events that wait now, as [`Run::drain`] gives these.
    #[cfg(feature = "__bindings")]
    pub fn drain_ui(&self, most: usize, waker: Option<&std::task::Waker>, frames: &mut UiFrames) -> Option<String> {
        let mut text = String::new();
        // Events without a frame are no reason to wake the host.
        while text.is_empty() {
            let events = self.drain(most, waker)?;
            if events.is_empty() {
                break;
            }
            events.iter().for_each(|event| frames.push(event, &mut text));
        }
        Some(text)
    }
}

impl Agent {
    /// The run that a browser asks for, as [`UiRequest::start`] finds: with the message that the user has sent, or edited; over
    /// an earlier one anew; or with what was decided about the calls that wait.
    ///
    /// # Errors
    /// As [`UiRequest::start`], and [`Agent::replace_messages`].
    pub fn answer_ui(&self, request: &UiRequest) -> Result<PendingRun, Error> {
        Ok(match request.start(&self.messages(), &self.pending())? {
            UiStart::Prompt(message) => self.prompt((*message).clone()),
            UiStart::Edit(messages, message) => {
                self.replace_messages(messages)?;
                self.prompt((*message).clone())
            }
            UiStart::Regenerate(messages) => {
                self.replace_messages(messages)?;
                self.resume()
            }
            UiStart::Resume(decisions) => self.resume().decisions(decisions),
            // Both crates have one version: there is no other way to begin.
            #[cfg(not(feature = "__bindings"))]
            _ => self.resume(),
        })
    }

    /// The conversation as `useChat` has it, for a page that is loaded again: an array of UI messages of the AI SDK, in which the
    /// calls that wait may be approved.
    pub fn to_ui_messages(&self, options: &UiOptions) -> Value {
        self.to_ui_messages_until(None, options)
    }

    /// The same, of so many messages: what follows them is streamed to the page.
    pub fn to_ui_messages_until(&self, until: Option<usize>, options: &UiOptions) -> Value {
        let messages = self.messages();
        let until = until.unwrap_or(messages.len()).min(messages.len());
        to_ui_messages(messages.get(..until).unwrap_or_default(), &self.pending(), options)
    }

    /// Starts the run of [`Agent::answer_ui`].
    ///
    /// # Errors
    /// As there, and as [`Agent::stream`]: `busy` while a run is active, `invalid_state` for a message while calls wait.
    pub fn stream_ui(&self, request: &UiRequest) -> Result<Run, Error> {
        self.answer_ui(request)?.stream()
    }
}
