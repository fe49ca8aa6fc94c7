//! A run as the body of a response.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use agent_loop_proto::ui::{UiFrames, UiOptions, UiProtocol};
use futures_core::Stream;
use tokio::time::Sleep;

use crate::run::Run;

/// A run as the body of a response: a stream of texts, each of one or more frames. Dropping it, as a server does when the client
/// has left, aborts the run.
#[derive(Debug)]
pub struct UiStream {
    pub(super) run: Run,
    frames: UiFrames,
    pub(super) protocol: UiProtocol,
    /// When something was sent last, and the alarm that looks at it while nothing is.
    sent: Instant,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl UiStream {
    pub(super) fn new(run: Run, protocol: UiProtocol, options: UiOptions) -> UiStream {
        UiStream { run, frames: UiFrames::new(protocol, options), protocol, sent: Instant::now(), alarm: None }
    }

    /// The headers of the response.
    pub fn headers(&self) -> &'static [(&'static str, &'static str)] {
        self.protocol.headers()
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
