//! What functions of the application fail with is the source of the errors that it leads to.

use std::error::Error as _;
use std::sync::{Arc, Mutex};

use agent_loop::hook::TurnChange;
use agent_loop::model::ModelCall;
use agent_loop::{BoxError, Error, ErrorKind};
use serde_json::json;

use super::*;

/// An error of the application.
#[derive(Debug, PartialEq)]
struct Unlucky(u32);

impl std::fmt::Display for Unlucky {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unlucky {}", self.0)
    }
}

impl std::error::Error for Unlucky {}

/// The source of an error, if it is the application's.
fn unlucky(error: &Error) -> Option<u32> {
    error.source()?.downcast_ref().map(|Unlucky(number)| *number)
}

#[tokio::test]
async fn found_e15_the_error_of_a_hook_is_the_source_of_the_runs() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let builders = [
        builder(json!([says("hello")])).before_run(|_, _| async { Err(Unlucky(1)) }),
        builder(json!([says("hello")])).transform_context(|_, _| async { Err(Unlucky(1)) }),
        builder(json!([says("hello")])).get_api_key(|_, _| async { Err(Unlucky(1)) }),
        builder(json!([says("hello")])).prepare_next_turn(|_, _| async { Err::<TurnChange, BoxError>(Unlucky(1).into()) }),
        builder(json!([says("hello")])).should_stop_after_turn(|_, _| async { Err(Unlucky(1)) }),
        builder(json!([says("hello")])).get_follow_up_messages(|(), _| async { Err(Unlucky(1)) }),
    ];
    for builder in builders {
        let sink = Arc::clone(&seen);
        let agent = builder
            .after_run(move |result, _| {
                sink.lock().unwrap().push(result.error.as_ref().and_then(unlucky));
                async { Ok::<_, String>(()) }
            })
            .build()
            .unwrap();
        let error = agent.prompt("go").await.unwrap_err();
        assert_eq!((error.kind(), unlucky(&error)), (ErrorKind::Callback, Some(1)), "{error}");
        assert!(error.message().ends_with("failed: unlucky 1"), "{error}");
    }
    assert_eq!(*seen.lock().unwrap(), vec![Some(1); 6]);
}

#[tokio::test]
async fn found_e15_the_error_of_a_provider_keeps_its_source() {
    let fails = |call: ModelCall| call.fail(Error::new(ErrorKind::Server, "no").with_retryable(false).with_source(Unlucky(2)));
    let agent = Agent::builder("mine/m").provider(fails).build().unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.message(), unlucky(&error)), (ErrorKind::Server, "no", Some(2)));
}

#[tokio::test]
async fn found_e15_middleware_gets_the_error_of_the_tool_and_of_links_inside() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let look = |seen: &Arc<Mutex<Vec<Option<u32>>>>| {
        let seen = Arc::clone(seen);
        move |call: agent_loop::tool::MiddlewareCall| {
            let seen = Arc::clone(&seen);
            async move {
                let result = call.next(call.arguments().clone()).await;
                seen.lock().unwrap().push(result.as_ref().err().and_then(unlucky));
                result
            }
        }
    };
    let fails = FnTool::new("t", "", json!({ "type": "object" }), |_, _| async { Err(Unlucky(3)) }).unwrap();
    let agent = builder(json!([[call("c", "t", json!({})), end("tool_use")], says("done")]))
        .tool(fails)
        .middleware(look(&seen))
        .middleware(look(&seen))
        .build()
        .unwrap();
    assert_eq!(results(&agent.prompt("go").await.unwrap()), [("unlucky 3".to_owned(), true)]);
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), [Some(3), Some(3)]);

    // A link that fails by itself, and one that hands on as text what it got.
    let agent = builder(json!([[call("c", "t", json!({})), end("tool_use")], says("done")]))
        .tool(tool("t", |_, _| async { Err("no such city".to_owned()) }))
        .middleware(look(&seen))
        .middleware(|call| async move {
            let failed = call.next(call.arguments().clone()).await.unwrap_err();
            assert_eq!(failed.message(), "no such city");
            Err(Unlucky(4))
        })
        .build()
        .unwrap();
    assert_eq!(results(&agent.prompt("go").await.unwrap()), [("unlucky 4".to_owned(), true)]);
    assert_eq!(*seen.lock().unwrap(), [Some(4)]);
}
