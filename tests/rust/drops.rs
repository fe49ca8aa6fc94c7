//! What a host gave is dropped when no lock is held: what it owns may call the agent or the run. Where it is, the test hangs.

use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};

use agent_loop::model::{BoxFuture, DeltaSink, ModelInfo, ModelRequest};
use agent_loop::{AbortHandle, Error, ErrorKind, Model};
use futures_util::Stream;

use super::*;

/// The agent that a model calls when it is dropped, and how many were.
#[derive(Default)]
struct Known {
    agent: OnceLock<Agent>,
    dropped: AtomicU32,
}

/// A model that owns its agent.
struct Owner(Arc<Known>);

impl Model for Owner {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { provider: "own", protocol: "own", id: "o", prices: None }
    }

    fn stream<'a>(&'a self, _request: &'a ModelRequest, _sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(agent) = self.0.agent.get() {
            assert!(!agent.model().is_empty());
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn what_a_model_owns_may_call_its_agent_when_it_goes() {
    let known = Arc::<Known>::default();
    let agent = Agent::builder(Owner(Arc::clone(&known))).fallbacks([Owner(Arc::clone(&known))]).build().unwrap();
    known.agent.set(agent.clone()).unwrap();
    let options = |options: Value| {
        agent.set_options(options.as_object().unwrap(), agent_loop::host::Spelling::Snake, &[]).unwrap();
        known.dropped.load(Ordering::Relaxed)
    };
    assert_eq!(options(json!({ "fallbacks": [] })), 1);
    assert_eq!(options(json!({ "model": "openai/a" })), 2);
    agent.set_fallbacks([Owner(Arc::clone(&known))]).unwrap();
    agent.set_fallbacks(["openai/b"]).unwrap();
    assert_eq!(known.dropped.load(Ordering::Relaxed), 3);
    agent.set_model(Owner(Arc::clone(&known))).unwrap();
    agent.set_model("nobody/a").unwrap_err();
    agent.set_model("openai/a").unwrap();
    assert_eq!(known.dropped.load(Ordering::Relaxed), 4);
}

#[test]
fn what_a_refused_model_owns_may_call_the_agent_that_refused_it() {
    let known = Arc::<Known>::default();
    // The fallback has the address of the agent only beside a model of its provider.
    let agent = Agent::builder("nobody/a").base_url("http://localhost").fallbacks(["nobody/b"]).build().unwrap();
    known.agent.set(agent.clone()).unwrap();
    let error = agent.set_model(Owner(Arc::clone(&known))).unwrap_err();
    assert_eq!((error.kind(), known.dropped.load(Ordering::Relaxed)), (ErrorKind::InvalidArgument, 1), "{error}");
    assert_eq!(agent.model(), "nobody/a");
}

/// Aborts the run when it is dropped.
struct Owning(AbortHandle);

impl Wake for Owning {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Owning {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[tokio::test]
async fn what_wakers_and_callbacks_of_a_run_own_may_call_it_when_they_go() {
    let agent = builder(json!([[{ "wait_ms": 50 }, { "delta": "x" }, end("stop")]])).build().unwrap();
    let mut run = agent.stream("go").unwrap();
    let handle = run.abort_handle();
    let poll = |run: &mut Run| {
        let waker = Waker::from(Arc::new(Owning(handle.clone())));
        // The run has not begun: its events come from this thread's runtime.
        assert!(Pin::new(run).poll_next(&mut Context::from_waker(&waker)).is_pending());
    };
    poll(&mut run);
    poll(&mut run);
    let owned = Arc::new(Owning(run.abort_handle()));
    run.set_ready_callback(Some(Box::new(move |_| _ = &owned)));
    run.set_ready_callback(None);
    assert_eq!(all(run).await.1.outcome, agent_loop::Outcome::Aborted);
}
