//! Runs: events in batches, the partial message at any event, the result.

use std::sync::Arc;
use std::task::{Wake, Waker};

use agent_loop::host::Partial;
use agent_loop::{Delivery, Event, EventData, Message};
use napi_derive::napi;

use crate::bridge::Link;
use crate::error::{Result, thrown};
use crate::event::{self, Batch};
use crate::ui::UiFrames;
use crate::{message, pieces, runtime};

/// The most events of one batch.
const BATCH: usize = 512;

/// A run. If JavaScript drops it before its end, it is aborted.
#[napi]
pub struct Run {
    run: Arc<agent_loop::Run>,
    link: Arc<Link>,
    waker: Waker,
    streams: Vec<Stream>,
    /// The events that were taken from the queue and not yet by JavaScript: the last batch had enough bytes without them.
    taken: std::vec::IntoIter<Event>,
    /// The rest of the last batch, if it is one long event.
    rest: Option<Vec<String>>,
}

/// Wakes the reader of a run: there are events to drain.
struct Readable {
    link: Arc<Link>,
    ticket: u32,
}

impl Wake for Readable {
    fn wake(self: Arc<Self>) {
        self.link.settle(self.ticket, None);
    }
}

impl Run {
    pub(crate) fn new(run: agent_loop::Run, link: Arc<Link>, ticket: u32) -> Run {
        let waker = Waker::from(Arc::new(Readable { link: Arc::clone(&link), ticket }));
        Run { run: Arc::new(run), link, waker, streams: Vec::new(), taken: Vec::new().into_iter(), rest: None }
    }
}

#[napi]
impl Run {
    /// The id that all its events have.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> String {
        self.run.id().to_owned()
    }

    /// Takes the queued events, as a batch. Returns empty text if there are none: the run's ticket is then settled once there
    /// are. Returns nothing if the run is over and all events were taken. A batch that is an object, not an array, is one long
    /// event: `takePieces` has the rest of it.
    #[napi(catch_unwind)]
    pub fn drain_json(&mut self) -> Option<String> {
        if self.taken.len() == 0 {
            let events = self.run.drain(BATCH, Some(&self.waker))?;
            for event in &events {
                Stream::note(&mut self.streams, event);
            }
            if events.is_empty() {
                return Some(String::new());
            }
            self.taken = events.into_iter();
        }
        let Batch { text, events, rest } = event::batch(self.taken.as_slice());
        self.taken.by_ref().take(events).for_each(drop);
        self.rest = rest;
        Some(text)
    }

    /// As `drainJson`, but the frames that these events are for a browser.
    #[napi(catch_unwind)]
    pub fn drain_ui(&self, frames: &mut UiFrames) -> Option<String> {
        self.run.drain_ui(BATCH, Some(&self.waker), &mut frames.stream)
    }

    /// The elements of the list of the long event that `drainJson` returned.
    #[napi(catch_unwind)]
    pub fn take_pieces(&mut self) -> Vec<String> {
        self.rest.take().unwrap_or_default()
    }

    /// The assistant message as it was after the event with this number, as JSON; nothing for events that are not part of a
    /// message's stream, or not taken yet.
    #[napi(catch_unwind)]
    pub fn partial(&self, seq: f64) -> Option<String> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // events are numbered from 0, far below 2^53
        let partial = Stream::find(&self.streams, seq as u64)?;
        Some(message::message(&Message::Assistant(partial.message())))
    }

    /// The typed final answer as it was after the event with this number, as JSON.
    #[napi(catch_unwind)]
    pub fn partial_output(&self, seq: f64) -> Option<String> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // as of `partial`
        let partial = Stream::find(&self.streams, seq as u64)?;
        partial.output().map(|output| output.to_string())
    }

    /// A response reads the events, also while another waits for the result.
    #[napi(catch_unwind)]
    pub fn keep_events(&self) {
        self.run.keep_events();
    }

    /// Settles the ticket with the result when the run is over. Unread events are discarded.
    #[napi(catch_unwind)]
    pub fn outcome(&mut self, ticket: u32) -> Result<()> {
        self.taken = Vec::new().into_iter();
        settle_with_outcome(Arc::clone(&self.run), Arc::clone(&self.link), ticket)
    }

    /// Settles the ticket when the run is over. Until then the run may be dropped, which aborts it, and its events be read.
    #[napi(catch_unwind)]
    pub fn over(&self, ticket: u32) -> Result<()> {
        let (over, link) = (self.run.over(), Arc::clone(&self.link));
        let wait = async move {
            tokio::select! {
                () = over => link.settle(ticket, None),
                () = link.closing().cancelled() => {}
            }
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(wait);
        Ok(())
    }

    /// Fails: JavaScript found that the caller runs inside a callback of the run's agent.
    #[napi(catch_unwind)]
    pub fn refuse_inside(&self, what: String) -> Result<()> {
        check_outside(self.run.agent(), true, &what)
    }

    /// Queues steering messages.
    #[napi(catch_unwind)]
    pub fn steer(&self, message: String) -> Result<&'static str> {
        let message = message::prompt("message", &message).map_err(|e| thrown(&e))?;
        self.run.steer(message).map(Delivery::as_str).map_err(|e| thrown(&e))
    }

    /// Queues follow-up messages.
    #[napi(catch_unwind)]
    pub fn follow_up(&self, message: String) -> Result<&'static str> {
        let message = message::prompt("message", &message).map_err(|e| thrown(&e))?;
        self.run.follow_up(message).map(Delivery::as_str).map_err(|e| thrown(&e))
    }

    /// Ends the run after its current turn.
    #[napi(catch_unwind)]
    pub fn stop_after_turn(&self) {
        self.run.stop_after_turn();
    }

    /// Aborts the run.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.run.abort();
    }

    /// An abort handle that does not keep the run alive.
    #[napi(catch_unwind)]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(self.run.abort_handle())
    }

    /// Whether the run is over.
    #[napi(getter, catch_unwind)]
    pub fn is_finished(&self) -> bool {
        self.run.finished().is_some()
    }
}

/// Aborts a run without keeping it alive.
#[napi]
pub struct AbortHandle(agent_loop::AbortHandle);

impl AbortHandle {
    pub(crate) fn new(handle: agent_loop::AbortHandle) -> AbortHandle {
        AbortHandle(handle)
    }
}

#[napi]
impl AbortHandle {
    /// Aborts the run, if it is not over.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.0.abort();
    }
}

/// Fails inside a callback of this agent; JavaScript knows whether the caller runs in one.
pub(crate) fn check_outside(agent: &agent_loop::Agent, inside: bool, what: &str) -> Result<()> {
    if inside { agent.scope().run(|| agent.check_outside(what)).map_err(|e| thrown(&e)) } else { Ok(()) }
}

/// Awaits the run and settles the ticket with its result. The end of the environment aborts the run.
pub(crate) fn settle_with_outcome(run: Arc<agent_loop::Run>, link: Arc<Link>, ticket: u32) -> Result<()> {
    let wait = async move {
        let result = tokio::select! {
            result = run.ended() => result,
            () = link.closing().cancelled() => return,
        };
        // The only error, a call inside a callback, was checked before.
        if let Ok(result) = result {
            drop(run);
            link.settle_with(ticket, pieces::result(&result), result.error.as_ref());
        }
    };
    runtime::runtime().map_err(|e| thrown(&e))?.spawn(wait);
    Ok(())
}

/// Settles the ticket with the result of the tool call that has run the agent.
pub(crate) fn settle_with_answer(run: Arc<agent_loop::Run>, link: Arc<Link>, ticket: u32) -> Result<()> {
    let wait = async move {
        let result = tokio::select! {
            result = run.ended() => result,
            () = link.closing().cancelled() => return,
        };
        // The only error, a call inside a callback, was checked before.
        if let Ok(result) = result {
            drop(run);
            link.settle(ticket, Some(result.to_tool_result().to_string()));
        }
    };
    runtime::runtime().map_err(|e| thrown(&e))?.spawn(wait);
    Ok(())
}

/// The buffers of an assistant message, from which it can be built as it was after any of its events.
struct Stream {
    first_seq: u64,
    last_seq: Option<u64>,
    partial: Partial,
    /// The number of steps at an event, for the first event and wherever events and steps diverge (a diagnostic or a raw frame in
    /// between). One entry for most messages.
    steps: Vec<(u64, usize)>,
}

impl Stream {
    fn note(streams: &mut Vec<Stream>, event: &Event) {
        match &event.data {
            EventData::MessageStart { .. } => {
                if let Some(partial) = event.partial_handle().cloned() {
                    let steps = vec![(event.seq, partial.steps())];
                    streams.push(Stream { first_seq: event.seq, last_seq: None, partial, steps });
                }
            }
            EventData::MessageEnd { message } => {
                if let Some(stream) = streams.last_mut()
                    && message.as_assistant().is_some()
                {
                    stream.last_seq = Some(event.seq);
                }
            }
            // Only what is emitted within an assistant's message has a partial message.
            _ => {
                if let Some(stream) = streams.last_mut()
                    && let Some(steps) = event.partial_handle().map(Partial::steps)
                    && stream.steps_at(event.seq) != Some(steps)
                {
                    stream.steps.push((event.seq, steps));
                }
            }
        }
    }

    fn find(streams: &[Stream], seq: u64) -> Option<Partial> {
        let after = streams.partition_point(|stream| stream.first_seq <= seq);
        let stream = streams.get(after.checked_sub(1)?)?;
        // `message_end` has the complete message.
        if stream.last_seq.is_some_and(|last| seq >= last) {
            return None;
        }
        Some(stream.partial.at(stream.steps_at(seq)?))
    }

    fn steps_at(&self, seq: u64) -> Option<usize> {
        let after = self.steps.partition_point(|(first, _)| *first <= seq);
        let (first, steps) = self.steps.get(after.checked_sub(1)?)?;
        Some(steps + usize::try_from(seq - first).ok()?)
    }
}
