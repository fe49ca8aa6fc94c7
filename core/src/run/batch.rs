//! The tool calls of one message: taken up, run side by side or one by one, answered exactly once each.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value};

use super::driver::Driver;
use super::hooks::Unanswered;
use crate::event::{EventData, PartialResult};
use crate::hook::{AfterToolCall, HookKind, ToolOverride};
use crate::message::{Message, ToolCall, ToolResultMessage};
use crate::model::BoxFuture;
use crate::queues::SteeringPolicy;
use crate::tool::{ExecutionMode, Reply, Tool, ToolContext, ToolOutput, call, middleware};

/// One call on its way.
pub(super) struct Call {
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    /// The model's own.
    pub(super) arguments: Arc<Map<String, Value>>,
    pub(super) raw_arguments: Option<String>,
    pub(super) started_ms: u64,
    answer: Option<(ToolOutput, bool)>,
    /// The tool's side of it, once it runs.
    context: Option<ToolContext>,
}

/// A call that may run: the tool and the arguments it gets.
pub(super) type Prepared = (Arc<dyn Tool>, Map<String, Value>);

/// A call that runs.
struct Running<'a> {
    call: &'a mut Call,
    tool: Arc<dyn Tool>,
    /// What the tool got; only where a hook is told of it.
    given: Map<String, Value>,
    /// Its time limit, in milliseconds, and when it passes.
    limit: Option<(u64, BoxFuture<'static, ()>)>,
}

/// What happened while calls ran.
enum Happening {
    Reply(usize, Reply),
    Expired(usize),
    Aborted,
    GraceOver,
}

pub(super) const CUT: &str = "the message was cut off by the output limit, so this call was not executed; make the call again";
pub(super) const SKIPPED: &str = "skipped because of a queued user message, which comes next";
pub(super) const ABORTED: &str = "aborted";

impl Driver {
    /// Answers all calls of a message. Gives the result messages in call order, and whether all of them ask for the end.
    pub(super) async fn call_tools(&mut self, message: &Arc<Message>, execute: bool) -> (Vec<Arc<Message>>, bool) {
        let made: Vec<ToolCall> = message.as_assistant().into_iter().flat_map(|m| m.tool_calls().cloned()).collect();
        let sequential = self.is_sequential(&made);
        // Nothing of a cut message runs, so there is nothing to skip.
        let polls = execute && self.offered.settings.steering_policy == SteeringPolicy::SkipRemaining;
        let mut calls: Vec<Call> = made
            .into_iter()
            .map(|call| Call {
                id: call.id.into(),
                name: call.name.into(),
                arguments: Arc::new(call.arguments),
                raw_arguments: call.raw_arguments,
                started_ms: 0,
                answer: None,
                context: None,
            })
            .collect();
        let mut results = Vec::with_capacity(calls.len());
        if sequential {
            for call in &mut calls {
                if let Some(prepared) = self.take_up(call, message, execute).await {
                    self.run_calls(vec![(&mut *call, prepared)], polls).await;
                }
                results.push(self.show_result(call).await);
                if polls {
                    self.poll_in_batch().await;
                }
            }
        } else {
            let mut ready = Vec::new();
            let mut left = calls.len();
            for call in &mut calls {
                left -= 1;
                match self.take_up(call, message, execute).await {
                    Some(prepared) => ready.push((call, prepared)),
                    None if polls && left + ready.len() > 0 => self.poll_in_batch().await,
                    None => {}
                }
            }
            self.run_calls(ready, polls).await;
            for call in &calls {
                results.push(self.show_result(call).await);
            }
        }
        let terminate = calls.iter().all(|call| call.answer.as_ref().is_some_and(|(output, _)| output.terminate));
        (results, terminate)
    }

    fn is_sequential(&self, calls: &[ToolCall]) -> bool {
        let mode = |call: &ToolCall| self.offered.tools.get(&call.name).and_then(|tool| tool.spec().execution_mode);
        self.offered.settings.tool_execution == ExecutionMode::Sequential
            || calls.iter().any(|call| mode(call) == Some(ExecutionMode::Sequential))
    }

    /// Runs prepared calls, as many at once as allowed, until each has its end. An abort gives those that run the grace time;
    /// steering skips those that do not run yet.
    async fn run_calls(&mut self, prepared: Vec<(&mut Call, Prepared)>, polls: bool) {
        let most = self.offered.settings.max_parallel_tools;
        let mut waiting = prepared.into_iter();
        let mut running: BTreeMap<usize, Running<'_>> = BTreeMap::new();
        let abort = self.run.abort.clone();
        let mut aborted = std::pin::pin!(abort.cancelled());
        let mut grace: Option<BoxFuture<'static, ()>> = None;
        loop {
            if self.steered && grace.is_none() && !self.is_aborted() {
                for (call, _) in waiting.by_ref() {
                    self.end(call, ToolOutput::error(SKIPPED), true).await;
                }
            }
            while grace.is_none() && running.len() < most && !self.is_aborted() {
                let Some((call, (tool, arguments))) = waiting.next() else {
                    break;
                };
                let (number, launched) = self.launch(call, tool, arguments);
                running.insert(number, launched);
            }
            if self.is_aborted() && grace.is_none() {
                // Those that have not begun to run get only their end.
                for (call, _) in waiting.by_ref() {
                    self.end(call, ToolOutput::error(ABORTED), true).await;
                }
                // Before time can go on: a sleeping tool is to be woken by the abort, not passed by the grace time.
                running.values().filter_map(|running| running.call.context.as_ref()).for_each(ToolContext::rouse);
                grace = Some(Box::pin(self.clock.limit(self.offered.settings.abort_grace_ms)));
            }
            if running.is_empty() {
                break;
            }
            self.flush().await;
            let happening = std::future::poll_fn(|cx| {
                // Before the replies: what the abort itself calls forth comes after the ends of those that have not begun.
                if grace.is_none() && aborted.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Happening::Aborted);
                }
                // The channel itself never closes: we hold a sender.
                if let Poll::Ready(Some((number, reply))) = self.replies.1.poll_recv(cx) {
                    return Poll::Ready(Happening::Reply(number, reply));
                }
                if let Some(grace) = &mut grace {
                    return grace.as_mut().poll(cx).map(|()| Happening::GraceOver);
                }
                for (number, running) in &mut running {
                    if let Some((_, limit)) = &mut running.limit
                        && limit.as_mut().poll(cx).is_ready()
                    {
                        return Poll::Ready(Happening::Expired(*number));
                    }
                }
                Poll::Pending
            })
            .await;
            match happening {
                Happening::Aborted => {}
                Happening::GraceOver => {
                    for (_, running) in std::mem::take(&mut running) {
                        self.end(running.call, ToolOutput::error(ABORTED), true).await;
                    }
                }
                Happening::Expired(number) => {
                    let Some(Running { call, tool, given, limit }) = running.remove(&number) else { continue };
                    let ms = limit.map_or(0, |(ms, _)| ms);
                    let name = if tool.spec().timeout_ms == ms { "its timeout_ms" } else { "tool_timeout_ms" };
                    let text = format!("the tool {} did not answer within {name} ({ms}); the call was cancelled", call.name);
                    if let Some(context) = call.context.take() {
                        context.cancel();
                        context.close();
                    }
                    self.finish_call(call, given, ToolOutput::error(text), true).await;
                    if polls && waiting.len() > 0 {
                        self.poll_in_batch().await;
                    }
                }
                Happening::Reply(number, Reply::Done(answer)) => {
                    let Some(Running { call, given, .. }) = running.remove(&number) else { continue };
                    let (output, is_error) = match answer {
                        Ok(value) => ToolOutput::from_value(value),
                        Err(_) if self.is_aborted() => (ToolOutput::error(ABORTED), true),
                        Err(why) => (ToolOutput::error(why), true),
                    };
                    self.finish_call(call, given, output, is_error).await;
                    if polls && waiting.len() > 0 {
                        self.poll_in_batch().await;
                    }
                }
                Happening::Reply(number, reply @ Reply::Update(_)) => match (running.get_mut(&number), reply) {
                    (Some(running), Reply::Update(value)) => self.update(running.call, value).await,
                    (_, reply) => self.late_reply(number, &reply).await,
                },
            }
        }
    }

    /// Hands a call to its tool; gives the number its replies will have.
    fn launch<'a>(&mut self, call: &'a mut Call, tool: Arc<dyn Tool>, arguments: Map<String, Value>) -> (usize, Running<'a>) {
        let number = self.calls.len();
        self.calls.push((Arc::clone(&call.id), Arc::clone(&call.name)));
        let names = (Arc::clone(&call.id), Arc::clone(&call.name));
        let cancel = self.run.abort.child_token();
        let context = ToolContext::new(number, names, cancel, self.replies.0.clone(), self.clock.clone());
        call.context = Some(context.clone());
        let limits = [self.offered.settings.limits.tool_timeout_ms, tool.spec().timeout_ms];
        let limit_ms = limits.into_iter().filter(|ms| *ms > 0).min();
        let limit = limit_ms.map(|ms| (ms, Box::pin(self.clock.limit(ms)) as BoxFuture<'static, ()>));
        let given = if self.offered.hooks.after_tool_call.is_some() { arguments.clone() } else { Map::new() };
        let (links, scope) = (Arc::clone(&self.offered.middleware), self.scope.clone());
        if links.is_empty() {
            call::start(Arc::clone(&tool), context, arguments, scope);
        } else {
            middleware::start(links, Arc::clone(&tool), context, arguments, scope);
        }
        (number, Running { call, tool, given, limit })
    }

    /// The end of a call that ran, as the hook wants it.
    async fn finish_call(&mut self, call: &mut Call, arguments: Map<String, Value>, output: ToolOutput, is_error: bool) {
        let (mut output, mut is_error) = (output, is_error);
        if let Some(context) = call.context.take() {
            context.close();
        }
        if let Some(hook) = self.offered.hooks.after_tool_call.clone() {
            let ran = AfterToolCall {
                tool_call_id: call.id.to_string(),
                tool_name: call.name.to_string(),
                arguments,
                result: output.clone(),
                is_error,
            };
            match self.ask(HookKind::AfterToolCall, &hook, ran).await {
                Ok(ToolOverride { content, details, is_error: failed, terminate }) => {
                    output.content = content.unwrap_or(output.content);
                    output.details = details.unwrap_or(output.details);
                    output.terminate = terminate.unwrap_or(output.terminate);
                    is_error = failed.unwrap_or(is_error);
                }
                // What the tool answered stands.
                Err(Unanswered::Aborted) => {}
                Err(Unanswered::Failed(error)) => (output, is_error) = (ToolOutput::error(error.message()), true),
            }
        }
        self.end(call, output, is_error).await;
    }

    async fn update(&mut self, call: &Call, value: Value) {
        let (output, _) = ToolOutput::from_value(value);
        self.emit(EventData::ToolExecutionUpdate {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
            partial_result: Box::new(PartialResult { content: output.content, details: output.details }),
        })
        .await;
    }

    pub(super) async fn end(&mut self, call: &mut Call, output: ToolOutput, is_error: bool) {
        if let Some(context) = call.context.take() {
            context.close();
        }
        call.answer = Some((output.clone(), is_error));
        self.emit(EventData::ToolExecutionEnd {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            result: Box::new(output),
            is_error,
            duration_ms: self.clock.now_ms().saturating_sub(call.started_ms),
        })
        .await;
    }

    async fn show_result(&mut self, call: &Call) -> Arc<Message> {
        // Each call has its answer by now; were it not so, the model must still get one.
        let (output, is_error) = call.answer.clone().unwrap_or_else(|| (ToolOutput::error("no answer"), true));
        let message = Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            content: output.content,
            details: output.details,
            is_error,
            timestamp: self.clock.now_ms(),
        }));
        self.show_message(Arc::clone(&message)).await;
        message
    }
}
