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

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::Stream;
use serde_json::Value;
use tokio::time::Sleep;

pub use agent_loop_proto::ui::{
    UiFrames, UiOptions, UiProtocol, UiRequest, UiRequestOptions, UiStart, frames_after, to_ui_messages,
};

pub use self::replay::{UiReader, UiReplay};

use crate::agent::{Agent, PendingRun};
use crate::error::Error;
use crate::run::Run;

/// A run as the body of a response: a stream of texts, each of one or more frames. Dropping it, as a server does when the client
/// has left, aborts the run.
#[derive(Debug)]
pub struct UiStream {
    run: Run,
    frames: UiFrames,
    protocol: UiProtocol,
    /// When something was sent last, and the alarm that looks at it while nothing is.
    sent: Instant,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl UiStream {
    /// The headers of the response.
    pub fn headers(&self) -> &'static [(&'static str, &'static str)] {
        self.protocol.headers()
    }

    /// The run for pages that come and go: it goes on when its client leaves, and a page that comes back reads it again.
    pub fn resumable(self) -> UiReplay {
        UiReplay::new(self)
    }

    /// The run, to abort it or to wait for its result.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The next frames; `None` when the run is over and the agent idle.
    pub async fn next(&mut self) -> Option<String> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for UiStream {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let mut text = String::new();
        while let Poll::Ready(event) = Pin::new(&mut self.run).poll_next(cx) {
            let Some(event) = event else { return Poll::Ready(None) };
            self.frames.push(&event, &mut text);
            if !text.is_empty() {
                self.sent = Instant::now();
                return Poll::Ready(Some(text));
            }
        }
        ready!(self.poll_alarm(cx));
        Poll::Ready(Some(UiFrames::KEEP_ALIVE.to_owned()))
    }
}

impl UiStream {
    /// Ready when nothing was sent for too long.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(ms) = self.frames.keep_alive_ms() else { return Poll::Pending };
        let pause = Duration::from_millis(ms);
        let run = &self.run;
        let alarm = self.alarm.get_or_insert_with(|| run.sleep(pause));
        // One alarm serves many pieces: it is set anew only when it rings.
        while alarm.as_mut().poll(cx).is_ready() {
            let quiet = self.sent.elapsed();
            let is_due = quiet >= pause;
            let next = if is_due { pause } else { pause - quiet };
            alarm.as_mut().reset(tokio::time::Instant::now() + next);
            if is_due {
                self.sent = Instant::now();
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

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
        let frames = UiFrames::new(protocol, options);
        UiStream { run: self, frames, protocol, sent: Instant::now(), alarm: None }
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
