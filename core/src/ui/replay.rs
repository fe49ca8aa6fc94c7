//! A run that pages may leave and come back to.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use agent_loop_proto::ui::{UiFrames, UiProtocol, frames_after};
use futures_core::Stream;

use super::stream::UiStream;
use crate::run::AbortHandle;

/// A run for pages that come and go: it goes on without them, and any number of them read it, each from where it wants. Clones
/// are the same run. It keeps all that was sent, until the last clone and the last reader are dropped.
///
/// With [`UiOptions::event_ids`](super::UiOptions::event_ids) a page that comes back says what it has, in the header
/// `Last-Event-ID`: [`UiReplay::stream_after`].
///
/// ```
/// use agent_loop::ui::UiOptions;
/// use agent_loop::{Agent, Error};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
/// let mut options = UiOptions::default();
/// options.event_ids = true;
/// let run = Agent::new(model)?.stream("Hi")?;
/// let first = format!("{}-1", run.id());
/// let replay = run.to_ui_message_stream(options).resumable();
///
/// let mut page = replay.stream();
/// let mut sent = String::new();
/// while let Some(frames) = page.next().await {
///     sent += &frames;
/// }
/// // It has lost the connection after the first frame, and has come back.
/// let rest = replay.stream_after(&first).next().await.unwrap_or_default();
/// assert_eq!(sent, format!("id: {first}\ndata: {{\"type\":\"start\"}}\n\n{rest}"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct UiReplay(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    protocol: UiProtocol,
    abort: AbortHandle,
    sent: Mutex<Sent>,
}

/// What was sent so far.
#[derive(Debug, Default)]
struct Sent {
    text: String,
    is_over: bool,
    /// How often nothing was sent for too long.
    comments: u64,
    /// Of the readers that have all of it.
    wakers: Vec<Waker>,
}

impl Shared {
    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Sent)) {
        let mut sent = self.sent();
        change(&mut sent);
        let wakers = std::mem::take(&mut sent.wakers);
        drop(sent);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl UiStream {
    /// The run for pages that come and go: it goes on when its client leaves, and a page that comes back reads it again.
    pub fn resumable(self) -> UiReplay {
        UiReplay::new(self)
    }
}

impl UiReplay {
    fn new(mut stream: UiStream) -> UiReplay {
        let shared = Shared { protocol: stream.protocol, abort: stream.run.abort_handle(), sent: Mutex::default() };
        let shared = Arc::new(shared);
        let replay = UiReplay(Arc::clone(&shared));
        let runtime = stream.run.runtime().clone();
        runtime.spawn(async move {
            while let Some(frames) = stream.next().await {
                shared.change(|sent| match frames == UiFrames::KEEP_ALIVE {
                    true => sent.comments += 1,
                    false => sent.text += &frames,
                });
            }
            shared.change(|sent| sent.is_over = true);
        });
        replay
    }

    /// The run from its beginning: what was sent before, and then what comes.
    pub fn stream(&self) -> UiReader {
        self.reader(0)
    }

    /// The run after the frame with this id, for a page that has lost its connection; from its beginning, if no frame has it.
    pub fn stream_after(&self, last_event_id: &str) -> UiReader {
        let sent = self.0.sent();
        let at = frames_after(&sent.text, last_event_id).map_or(0, |rest| sent.text.len() - rest.len());
        drop(sent);
        self.reader(at)
    }

    fn reader(&self, at: usize) -> UiReader {
        let comments = self.0.sent().comments;
        UiReader { shared: Arc::clone(&self.0), at, comments }
    }

    /// Aborts the run. From any thread, any number of times; returns at once.
    pub fn abort(&self) {
        self.0.abort.abort();
    }
}

/// One reader of a [`UiReplay`]: a stream of texts, each of one or more frames. Dropping it leaves the run alone.
#[derive(Debug)]
pub struct UiReader {
    shared: Arc<Shared>,
    at: usize,
    comments: u64,
}

impl UiReader {
    /// The headers of the response.
    pub fn headers(&self) -> &'static [(&'static str, &'static str)] {
        self.shared.protocol.headers()
    }

    /// The next frames; `None` when all of the run was read.
    pub async fn next(&mut self) -> Option<String> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for UiReader {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let shared = Arc::clone(&self.shared);
        let mut sent = shared.sent();
        let frames = sent.text.get(self.at..).unwrap_or_default();
        if !frames.is_empty() {
            self.at = sent.text.len();
            return Poll::Ready(Some(frames.to_owned()));
        }
        if sent.is_over {
            return Poll::Ready(None);
        }
        if sent.comments != self.comments {
            self.comments = sent.comments;
            return Poll::Ready(Some(UiFrames::KEEP_ALIVE.to_owned()));
        }
        sent.wakers.push(cx.waker().clone());
        Poll::Pending
    }
}
