//! One call is answered once; one batch of jobs wakes its loop once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::event::{Event, EventData};

#[derive(Debug, Default)]
struct Loop {
    woken: AtomicUsize,
    closed: AtomicUsize,
}

impl Wakeup for Arc<Loop> {
    fn wake(&self) -> bool {
        self.woken.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

type Queue = JobQueue<HostCall, Arc<Loop>>;

fn queue() -> (Arc<Queue>, Arc<Loop>) {
    let host = Arc::new(Loop::default());
    (Arc::new(JobQueue::new(Arc::clone(&host), "the loop is closed")), host)
}

/// Calls a listener through the queue; gives its failure, or an empty text.
fn call(queue: &Arc<Queue>) -> impl Future<Output = String> + Send + 'static + use<> {
    let queue = Arc::clone(queue);
    let event = Event::new("r".into(), 0, 0, EventData::AgentStart, None);
    let answer = HostCall::listener(event, &move |call| queue.call(call.failing_with("dropped"), |call| call));
    async move { answer.await.map_or_else(|error| error.message().to_owned(), |_| String::new()) }
}

#[tokio::test]
async fn a_batch_wakes_its_loop_once() {
    let (queue, host) = queue();
    let answers = [call(&queue), call(&queue), call(&queue)];
    assert_eq!(host.woken.load(Ordering::Relaxed), 1);
    let taken = queue.take(2);
    assert_eq!((taken.len(), host.woken.load(Ordering::Relaxed)), (2, 2), "another wakeup for the rest");
    let rest = queue.take(2);
    assert_eq!((rest.len(), queue.take(2).len(), host.woken.load(Ordering::Relaxed)), (1, 0, 2));
    for call in taken.iter().chain(&rest) {
        call.respond(HostAnswer::Nothing).unwrap();
    }
    for answer in answers {
        assert_eq!(answer.await, "");
    }
}

#[tokio::test]
async fn the_first_answer_counts_and_later_ones_are_refused() {
    let (queue, _) = queue();
    let answer = call(&queue);
    let [taken] = <[HostCall; 1]>::try_from(queue.take(9)).unwrap();
    assert!(!taken.is_answered());
    taken.fail("first").unwrap();
    let late = taken.respond(HostAnswer::Json(json!(1))).unwrap_err();
    assert_eq!((late.kind(), taken.is_answered()), (ErrorKind::InvalidState, true));
    assert_eq!(taken.update(json!(1)).unwrap_err().kind(), ErrorKind::InvalidState);
    assert_eq!(answer.await, "first");
}

#[tokio::test]
async fn a_dropped_call_fails() {
    let (queue, _) = queue();
    let answer = call(&queue);
    drop(queue.take(9));
    assert_eq!(answer.await, "dropped");
}

#[tokio::test]
async fn a_closed_queue_fails_what_is_in_it_what_was_taken_and_what_comes() {
    let (queue, host) = queue();
    let taken = (call(&queue), queue.take(9));
    let queued = call(&queue);
    queue.close();
    let late = call(&queue);
    assert_eq!((queue.take(9).len(), host.closed.load(Ordering::Relaxed)), (0, 1));
    for answer in [taken.0, queued, late] {
        assert_eq!(answer.await, "the loop is closed");
    }
    assert!(taken.1.iter().all(HostCall::is_answered) && queue.closing().is_cancelled());
}
