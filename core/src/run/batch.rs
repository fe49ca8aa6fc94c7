//! The tool calls of one message: taken up, run side by side or one by one, answered exactly once each.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::driver::Driver;
use crate::error::panic_message;
use crate::event::{EventData, PartialResult};
use crate::message::{Message, ToolCall, ToolResultMessage};
use crate::tool::{ExecutionMode, PendingCall, Reply, Tool, ToolContext, ToolOutput};

/// One call on its way.
struct Call {
    id: Arc<str>,
    name: Arc<str>,
    /// The model's own.
    arguments: Arc<Map<String, Value>>,
    raw_arguments: Option<String>,
    started_ms: u64,
    answer: Option<(ToolOutput, bool)>,
    /// The tool's side of it, once it runs.
    context: Option<ToolContext>,
}

/// A call that may run: the tool and the arguments it gets.
type Prepared = (Arc<dyn Tool>, Map<String, Value>);

const CUT: &str = "the message was cut off by the output limit, so this call was not executed; make the call again";
const ABORTED: &str = "aborted";

impl Driver {
    /// Answers all calls of a message. Gives the result messages in call order, and whether all of them ask for the end.
    pub(super) async fn call_tools(&mut self, calls: Vec<ToolCall>, execute: bool) -> (Vec<Arc<Message>>, bool) {
        let sequential = self.is_sequential(&calls);
        let mut calls: Vec<Call> = calls
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
                if let Some(prepared) = self.take_up(call, execute).await {
                    self.run_calls(vec![(&mut *call, prepared)]).await;
                }
                results.push(self.show_result(call).await);
            }
        } else {
            let mut ready = Vec::new();
            for call in &mut calls {
                if let Some(prepared) = self.take_up(call, execute).await {
                    ready.push((call, prepared));
                }
            }
            self.run_calls(ready).await;
            for call in &calls {
                results.push(self.show_result(call).await);
            }
        }
        let terminate = calls.iter().all(|call| call.answer.as_ref().is_some_and(|(output, _)| output.terminate));
        (results, terminate)
    }

    fn is_sequential(&self, calls: &[ToolCall]) -> bool {
        let (tools, settings) = &self.offered;
        let mode = |call: &ToolCall| tools.get(&call.name).and_then(|tool| tool.spec().execution_mode);
        settings.tool_execution == ExecutionMode::Sequential
            || calls.iter().any(|call| mode(call) == Some(ExecutionMode::Sequential))
    }

    /// The start of a call, and all that can keep it from running. Gives what to run, or ends the call.
    async fn take_up(&mut self, call: &mut Call, execute: bool) -> Option<Prepared> {
        call.started_ms = self.clock.now_ms();
        self.emit(EventData::ToolExecutionStart {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
        })
        .await;
        let prepared = if self.is_aborted() {
            Err(ABORTED.to_owned())
        } else if !execute {
            Err(CUT.to_owned())
        } else {
            self.prepare(call)
        };
        match prepared {
            Ok(prepared) => Some(prepared),
            Err(why) => {
                self.end(call, ToolOutput::error(why), true).await;
                None
            }
        }
    }

    /// Finds the tool and checks the arguments; the error is for the model.
    fn prepare(&self, call: &Call) -> Result<Prepared, String> {
        let (tools, settings) = &self.offered;
        let tool = tools
            .get(&call.name)
            .ok_or_else(|| format!("there is no tool named {:?}; the tools are: {}", call.name, tools.names()))?;
        if let Some(text) = &call.raw_arguments {
            return Err(format!("the arguments of {} are not a JSON object: {text}", call.name));
        }
        let arguments = tool
            .spec()
            .check(&call.arguments, settings.validation)
            .map_err(|violations| format!("the arguments of {} do not fit its schema:\n{violations}", call.name))?;
        Ok((Arc::clone(tool), arguments))
    }

    /// Runs prepared calls, as many at once as allowed, until each has its end. An abort gives those that run the grace time.
    async fn run_calls(&mut self, prepared: Vec<(&mut Call, Prepared)>) {
        let (most, abort_grace_ms) = (self.offered.1.max_parallel_tools, self.offered.1.abort_grace_ms);
        let mut waiting = prepared.into_iter();
        let mut running: HashMap<usize, &mut Call> = HashMap::new();
        let mut order: Vec<usize> = Vec::new();
        let abort = self.run.abort.clone();
        let mut grace = None;
        loop {
            while grace.is_none() && running.len() < most && !self.is_aborted() {
                let Some((call, (tool, arguments))) = waiting.next() else {
                    break;
                };
                let number = self.launch(call, &tool, arguments);
                running.insert(number, call);
                order.push(number);
            }
            if self.is_aborted() && grace.is_none() {
                // Those that have not begun to run get only their end.
                for (call, _) in waiting.by_ref() {
                    self.end(call, ToolOutput::error(ABORTED), true).await;
                }
                // Before time can go on: a sleeping tool is to be woken by the abort, not passed by the grace time.
                running.values().filter_map(|call| call.context.as_ref()).for_each(ToolContext::rouse);
                grace = Some(Box::pin(self.clock.grace(abort_grace_ms)));
            }
            if running.is_empty() {
                break;
            }
            self.flush().await;
            let reply = match &mut grace {
                None => tokio::select! {
                    biased;
                    reply = self.replies.1.recv() => reply,
                    () = abort.cancelled() => continue,
                },
                Some(grace) => tokio::select! {
                    biased;
                    reply = self.replies.1.recv() => reply,
                    () = grace => None,
                },
            };
            let Some((number, reply)) = reply else {
                // The grace time is over (the channel itself never closes: we hold a sender).
                order.retain(|number| running.contains_key(number));
                for number in &order {
                    if let Some(call) = running.remove(number) {
                        self.end(call, ToolOutput::error(ABORTED), true).await;
                    }
                }
                break;
            };
            match (running.remove(&number), reply) {
                (Some(call), Reply::Done(answer)) => {
                    let (output, is_error) = match answer {
                        Ok(value) => ToolOutput::from_value(value),
                        Err(_) if grace.is_some() || self.is_aborted() => (ToolOutput::error(ABORTED), true),
                        Err(why) => (ToolOutput::error(why), true),
                    };
                    self.end(call, output, is_error).await;
                }
                (Some(call), Reply::Update(value)) => {
                    self.update(call, value).await;
                    running.insert(number, call);
                }
                (None, reply) => self.late_reply(number, &reply).await,
            }
        }
    }

    /// Hands a call to its tool; gives the number its replies will have.
    fn launch(&mut self, call: &mut Call, tool: &Arc<dyn Tool>, arguments: Map<String, Value>) -> usize {
        let number = self.calls.len();
        self.calls.push((Arc::clone(&call.id), Arc::clone(&call.name)));
        let pending = PendingCall::new(
            number,
            Arc::clone(&call.id),
            Arc::clone(&call.name),
            arguments,
            self.run.abort.child_token(),
            self.replies.0.clone(),
            self.clock.clone(),
            self.scope.clone(),
        );
        call.context = Some(pending.context().clone());
        let (tool, scope) = (Arc::clone(tool), self.scope.clone());
        let may_block = tool.may_block();
        let context = pending.context().clone();
        let start = move || {
            let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scope.run(|| tool.start(pending))));
            if let Err(payload) = started {
                context.panicked(&panic_message(&*payload));
            }
        };
        if may_block {
            drop(tokio::task::spawn_blocking(start));
        } else {
            start();
        }
        number
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

    async fn end(&mut self, call: &mut Call, output: ToolOutput, is_error: bool) {
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
