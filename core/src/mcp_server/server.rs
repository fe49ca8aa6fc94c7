//! What the requests of a client do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::JoinSet;

use super::message::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, error, failed, progress, response, version};
use super::run::{self, Progress};
use crate::agent::Agent;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::mcp::McpServing;
use crate::tool::ToolSpec;

/// An agent that is served.
pub(super) struct Server {
    agent: Agent,
    serving: McpServing,
    /// The tool that it is.
    ask: ToolSpec,
    /// The calls under way, by the JSON of their ids.
    calls: Mutex<HashMap<String, CancelToken>>,
    /// Of one that goes on with its conversation: calls take turns.
    turn: tokio::sync::Mutex<()>,
}

/// What a request is answered with: a result, or a code and a text.
type Answer = Result<Value, (i32, String)>;

impl Server {
    pub(super) fn new(agent: &Agent, serving: McpServing) -> Result<Server, Error> {
        let parameters = json!({
            "type": "object",
            "properties": { "prompt": { "type": "string", "description": "What to do, with all that is needed to do it." } },
            "required": ["prompt"],
        });
        let ask = ToolSpec::new(&serving.name, &serving.description, parameters)?;
        if serving.tools && agent.tools().iter().any(|tool| tool.spec().name() == serving.name) {
            let text =
                format!("name: the agent has a tool named {:?}, which is served, too; give the agent another name", serving.name);
            return Err(Error::invalid_argument(text));
        }
        let (calls, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Server { agent: agent.clone(), serving, ask, calls, turn })
    }

    /// Answers what comes, until that ends, or what is sent is no longer read, or the token is cancelled. Then aborts the calls
    /// under way, and waits for them.
    pub(super) async fn serve(self: Arc<Self>, mut lines: Receiver<Vec<u8>>, output: Sender<Value>, closing: CancelToken) {
        let mut tasks = JoinSet::new();
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = closing.cancelled() => None,
                () = output.closed() => None,
                Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
            };
            let Some(line) = line else { break };
            let answer = match Message::read(&line) {
                _ if line.trim_ascii().is_empty() => continue,
                Message::Request { id, method, params } if method == "tools/call" => self.begin(id, params, &output, &mut tasks),
                Message::Request { id, method, params } => Some(match self.answer(&method, &params) {
                    Ok(result) => response(&id, result),
                    Err((code, text)) => error(&id, code, &text),
                }),
                Message::Notification { method, params } => {
                    if method == "notifications/cancelled" {
                        self.cancel(params.get("requestId"));
                    }
                    None
                }
                Message::Response => None,
                Message::Wrong(answer) => Some(answer),
            };
            if let Some(answer) = answer {
                // It is noticed above when the reader has gone.
                let _ = output.send(answer).await;
            }
        }
        self.calls().values().for_each(CancelToken::cancel);
        while tasks.join_next().await.is_some() {}
    }

    /// Answers what is no call.
    fn answer(&self, method: &str, params: &Map<String, Value>) -> Answer {
        match method {
            "initialize" => Ok(json!({
                "protocolVersion": version(params.get("protocolVersion").and_then(Value::as_str)),
                "capabilities": { "tools": {} },
                "serverInfo": { "name": self.serving.server_name, "version": env!("CARGO_PKG_VERSION") },
            })),
            "ping" => Ok(json!({})),
            "tools/list" => {
                let described = |spec: &ToolSpec| {
                    let (name, about) = (spec.name(), spec.description());
                    json!({ "name": name, "description": about, "inputSchema": spec.parameters() })
                };
                let mut tools = vec![described(&self.ask)];
                if self.serving.tools {
                    tools.extend(self.agent.tools().iter().map(|tool| described(tool.spec())));
                }
                Ok(json!({ "tools": tools }))
            }
            _ => Err((METHOD_NOT_FOUND, format!("there is no method {method:?} here"))),
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, CancelToken>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self, id: Option<&Value>) {
        let call = id.and_then(|id| self.calls().get(&id.to_string()).cloned());
        // Not under the lock: what it wakes may want it.
        call.iter().for_each(CancelToken::cancel);
    }

    /// Begins a call, or gives what is wrong with it.
    fn begin(
        self: &Arc<Self>,
        id: Value,
        params: Map<String, Value>,
        output: &Sender<Value>,
        tasks: &mut JoinSet<()>,
    ) -> Option<Value> {
        let cancel = CancelToken::new();
        match self.calls().entry(id.to_string()) {
            Entry::Occupied(_) => return Some(error(&id, INVALID_REQUEST, "a request of this id is under way")),
            Entry::Vacant(place) => place.insert(cancel.clone()),
        };
        let (server, output) = (Arc::clone(self), output.clone());
        tasks.spawn(async move {
            let answer = server.call(params, &cancel, &output).await;
            server.calls().remove(&id.to_string());
            // What was cancelled gets no answer.
            if !cancel.is_cancelled() {
                let answer = match answer {
                    Ok(result) => response(&id, result),
                    Err((code, text)) => error(&id, code, &text),
                };
                let _ = output.send(answer).await;
            }
        });
        None
    }

    async fn call(&self, mut params: Map<String, Value>, cancel: &CancelToken, output: &Sender<Value>) -> Answer {
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        let send = |step: u64, text: &str| {
            if let Some(token) = &token {
                // If the reader has gone, none is missed.
                let _ = output.try_send(progress(token, step, text));
            }
        };
        let steps = Progress { send, step: 0 };
        let arguments = match params.remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        };
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let ended = if name == self.serving.name {
            match arguments.get("prompt").and_then(Value::as_str).filter(|prompt| !prompt.trim().is_empty()) {
                Some(prompt) => self.ask(prompt, cancel, steps).await,
                None => return Ok(failed("prompt: expected a text that is not empty")),
            }
        } else if self.serving.tools && self.agent.tools().get(name).is_some() {
            run::call(&self.agent, name, arguments, cancel, steps).await
        } else {
            return Err((INVALID_PARAMS, format!("there is no tool named {name:?} here")));
        };
        Ok(ended.unwrap_or_else(|error| failed(error.message())))
    }

    async fn ask<F: Fn(u64, &str)>(&self, prompt: &str, cancel: &CancelToken, steps: Progress<F>) -> Result<Value, Error> {
        if !self.serving.keep_conversation {
            let agent = self.agent.fork(self.agent.messages())?;
            return run::ask(agent, prompt, cancel, steps).await;
        }
        let turn = tokio::select! {
            turn = self.turn.lock() => turn,
            () = cancel.cancelled() => return Ok(failed("it was cancelled")),
        };
        let answer = run::ask(self.agent.clone(), prompt, cancel, steps).await;
        drop(turn);
        answer
    }
}
