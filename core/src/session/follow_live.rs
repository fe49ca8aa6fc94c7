//! Follows a session delta by delta: its records, and between them the events of the run that goes on in this process.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use agent_loop_proto::session::Entry;
use futures_core::Stream;
use serde::Serialize;

use super::follow::Follow;
use super::live::{LiveReader, Published};
use crate::error::Error;
use crate::event::Event;

/// What [`FollowLive`] gives. Canonical JSON: that of the record or of the event.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Followed {
    /// A record.
    Record(Entry),
    /// An event of the run that goes on.
    Live(LiveEvent),
}

/// An event of a run, while it goes on. Canonical JSON: `{after, event}`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct LiveEvent {
    /// The number of the last record that the follower got before.
    pub after: u64,
    /// The event. That of a `message_start` may have content already: the message so far.
    pub event: Event,
}

/// The records of a session from a number on, and between them the events of the run that goes on, as far as no record says the
/// same: the assistant's `message_start` and the pieces of its message, `tool_execution_update`, `retry` and `diagnostic`. It
/// ends only with an error.
///
/// Whoever joins in the middle of an answer gets, behind the records, its `message_start` with the content so far, then what is
/// added. A follower that is too slow for the run gets the same again in place of the events that it has missed; the run does not
/// wait for it. When the message is whole, it comes as a record. So a follower that goes on with
/// [`Session::follow_live`](super::Session::follow_live) after the number of the last record that it got, and forgets the
/// message that it has begun, loses and repeats nothing.
///
/// `agent_end` comes only where it cannot be recorded, as the store fails or the runtime was shut down: then there is no
/// `run_end`, and no record of the message that was begun. Whoever was too slow, and whoever joins later, gets it, too, until
/// something is recorded behind it.
///
/// There are events only of runs whose session was opened through the same [`Store`](super::Store) or a clone of it. Of what
/// others write, in this process or elsewhere, there are the records.
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::event::EventData;
/// use agent_loop::session::{Followed, JournalRecord, Store};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// let store = Store::open("memory:")?;
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Ye"}, {"delta": "s."}, {"end": "stop"}]]}"#;
/// let agent = Agent::builder(model).session(store.session("user-7")?.open().await?).build()?;
/// let mut followed = store.session("user-7")?.follow_live(0);
/// let run = agent.stream("Rain in Oslo?")?;
/// let mut text = String::new();
/// loop {
///     match followed.next().await? {
///         Followed::Live(live) => match live.event.data {
///             EventData::MessageStart { message } => text = message.text(),
///             _ => text += live.event.delta().unwrap_or_default(),
///         },
///         Followed::Record(entry) => match entry.record {
///             JournalRecord::Message(whole) => text = whole.message.text(),
///             JournalRecord::RunEnd(_) => break,
///             _ => {}
///         },
/// #       _ => {}
///     }
/// }
/// assert_eq!(text, "Yes.");
/// # Ok(()) }
/// ```
#[must_use = "nothing is read until it is polled"]
pub struct FollowLive {
    records: Follow,
    live: LiveReader,
    events: VecDeque<Published>,
    /// The record that is next, behind the events that come before it.
    next: Option<Entry>,
    /// The number of the last record that was handed out.
    after: u64,
    /// How many sessions of this id had been begun by then.
    begun: u64,
    has_failed: bool,
}

impl FollowLive {
    pub(super) fn new(records: Follow, after: u64) -> FollowLive {
        let live = LiveReader::new(records.live());
        let begun = live.begun();
        FollowLive { records, live, events: VecDeque::new(), next: None, after, begun, has_failed: false }
    }

    /// The next record or event, when it is there. May be dropped before; nothing is lost then.
    ///
    /// # Errors
    /// As [`Follow::next`].
    pub async fn next(&mut self) -> Result<Followed, Error> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Followed, Error>> {
        std::task::ready!(self.records.poll_begin(cx))?;
        loop {
            if self.after > 0 && self.begun != self.live.begun() {
                // They are another session's: the next record is an error.
                self.events.clear();
            } else if self.events.is_empty() {
                self.events = self.live.take(self.after, cx);
            }
            // What was published before a record was written is in the queue by the time when the record is read.
            let before = self.next.as_ref().map_or(self.after, |next| next.seq.saturating_sub(1));
            if self.events.front().is_some_and(|event| event.after <= before)
                && let Some(published) = self.events.pop_front()
            {
                let (after, event) = (self.after, published.event());
                return Poll::Ready(Ok(Followed::Live(LiveEvent { after, event })));
            }
            if let Some(entry) = self.next.take() {
                if self.after == 0 {
                    // The one that it follows, which is there by now.
                    self.begun = self.live.begun();
                }
                self.after = entry.seq;
                return Poll::Ready(Ok(Followed::Record(entry)));
            }
            self.next = Some(std::task::ready!(self.records.poll(cx))?);
        }
    }
}

impl Stream for FollowLive {
    type Item = Result<Followed, Error>;

    /// As [`FollowLive::next`]; there is nothing behind an error.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_failed {
            return Poll::Ready(None);
        }
        let next = std::task::ready!(self.poll(cx));
        self.has_failed = next.is_err();
        Poll::Ready(Some(next))
    }
}

impl std::fmt::Debug for FollowLive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FollowLive").field("records", &self.records).field("after", &self.after).finish_non_exhaustive()
    }
}
