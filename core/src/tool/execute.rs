//! Hands a call to its tool.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::call::{Carried, PendingCall, ToolContext};
use super::interface::Tool;
use crate::error::{Error, ErrorKind, panic_message};
use crate::host::answer::{self, Answer};
use crate::scope::Scope;
use crate::threads::{Blocking, hand_over};

/// Hands a call to its tool, whose answer is the call's.
pub(crate) fn start(tool: Arc<dyn Tool>, context: ToolContext, arguments: Map<String, Value>, scope: Scope) {
    let called = context.clone();
    let answer = Answer::new(ErrorKind::Callback, move |result| called.done(answer::json(result)));
    call_tool(tool, PendingCall::new(context, arguments, scope, answer));
}

/// Hands a call to its tool and waits for its answer.
pub(super) async fn execute(
    tool: Arc<dyn Tool>,
    context: ToolContext,
    arguments: Map<String, Value>,
    scope: Scope,
    carried: Option<Carried>,
) -> Result<Value, Error> {
    let (answer, receiver) = Answer::awaited();
    call_tool(tool, PendingCall::new(context, arguments, scope, answer).carrying(carried));
    receiver.await.map_or_else(|_| Err(Error::callback("the tool gave no answer")), answer::json)
}

fn call_tool(tool: Arc<dyn Tool>, call: PendingCall) {
    let (answer, scope, may_block) = (call.answer(), call.scope(), tool.may_block());
    let start = move |call: PendingCall| {
        let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scope.run(|| tool.start(call))));
        if let Err(payload) = started {
            answer.fail(format!("the tool panicked: {}", panic_message(&*payload)));
        }
    };
    if !may_block {
        return start(call);
    }
    let start = move |call: PendingCall| {
        // Otherwise it waited for a thread until it was no longer needed.
        if !call.context().over_token().is_cancelled() {
            start(call);
        }
    };
    hand_over(Blocking::Tool, call, start, |call, error| {
        let text = format!("the tool {} could not be called: {}", call.name(), error.message());
        call.fail(text);
    });
}
