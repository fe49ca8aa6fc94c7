//! What servers ask for during a call: an answer of a model (sampling), and something that the user knows (elicitation). The
//! hooks of the agent answer whose call it is. Outside of calls a request is refused: no run would answer it.

// MCP will drop sampling some day; servers use it.
#![allow(deprecated)]

use agent_loop_proto::hook::{HookAnswer, HookKind, McpElicitation, McpSampling, Question};
use agent_loop_proto::machine::HookSet;
use agent_loop_proto::table::logs;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, Implementation,
    SamplingCapability,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::hook_call;
use super::wire::{CallOf, Calls};
use crate::error::Error;
use crate::hook::{McpElicited, McpSampled};
use crate::host::work::HostWork;

/// The code that MCP has for what a user refuses.
const REFUSED: ErrorCode = ErrorCode(-1);

/// Our side of a connection. It announces what the agent has hooks for that connects first; all else is refused.
pub(super) struct Client {
    /// The server, for messages.
    pub(super) server: String,
    pub(super) hooks: HookSet,
    pub(super) calls: Calls,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.hooks.has(HookKind::OnMcpSampling) {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        if self.hooks.has(HookKind::OnMcpElicitation) {
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(Default::default()));
        }
        ClientConfig::new(capabilities, Implementation::new("agent-loop", env!("CARGO_PKG_VERSION")))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answer = self.sample(json_of(&params), context).await?;
        serde_json::from_value(answer).map_err(|_| failed(HookKind::OnMcpSampling))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (action, content) = self.elicit(json_of(&params), context).await?;
        let result = ElicitResult::new(action);
        Ok(match content {
            Some(content) => result.with_content(Value::Object(content)),
            None => result,
        })
    }

    /// What rmcp knows by its name, but not by its form.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.and_then(|params| params.as_object().cloned()).unwrap_or_default();
        match request.method.as_str() {
            "sampling/createMessage" => self.sample(params, context).await.map(CustomResult),
            "elicitation/create" => {
                let (action, content) = self.elicit(params, context).await?;
                Ok(CustomResult(match content {
                    Some(content) => json!({ "action": action, "content": content }),
                    None => json!({ "action": action }),
                }))
            }
            method => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
        }
    }
}

impl Client {
    /// The result that a server gets, as MCP has it.
    async fn sample(&self, request: Map<String, Value>, context: RequestContext<RoleClient>) -> Result<Value, ErrorData> {
        let input = McpSampling::of(self.server.clone(), request);
        let kind = HookKind::OnMcpSampling;
        let read = |answer| match answer {
            HookAnswer::OnMcpSampling(McpSampled::Text { text }) => {
                let content = json!({ "type": "text", "text": text });
                Ok(Some(json!({ "role": "assistant", "content": content, "model": "agent-loop", "stopReason": "endTurn" })))
            }
            HookAnswer::OnMcpSampling(McpSampled::Result { mut result }) => {
                result.entry("role").or_insert_with(|| "assistant".into());
                result.entry("model").or_insert_with(|| "agent-loop".into());
                let result = Value::Object(result);
                // Whether it is one.
                match serde_json::from_value::<CreateMessageResult>(result.clone()) {
                    Ok(_) => Ok(Some(result)),
                    Err(why) => Err(format!("its answer is no result of sampling: {why}")),
                }
            }
            _ => Ok(None),
        };
        let answer = self.ask(kind, Question::OnMcpSampling(input), context, read).await?;
        answer.ok_or_else(|| ErrorData::new(REFUSED, "the request was refused".to_owned(), None))
    }

    /// What the user has decided, with what was given.
    async fn elicit(
        &self,
        request: Map<String, Value>,
        context: RequestContext<RoleClient>,
    ) -> Result<(ElicitationAction, Option<Map<String, Value>>), ErrorData> {
        if request.get("mode").is_some_and(|mode| mode != "form") {
            return Err(ErrorData::invalid_params("only the mode \"form\" is announced", None));
        }
        let input = McpElicitation::of(self.server.clone(), request);
        let schema = input.requested_schema.clone();
        let read = |answer| {
            Ok(match answer {
                HookAnswer::OnMcpElicitation(McpElicited::Accept { content }) => {
                    (ElicitationAction::Accept, Some(with_defaults(content, &schema)))
                }
                HookAnswer::OnMcpElicitation(McpElicited::Cancel) => (ElicitationAction::Cancel, None),
                _ => (ElicitationAction::Decline, None),
            })
        };
        self.ask(HookKind::OnMcpElicitation, Question::OnMcpElicitation(input), context, read).await
    }

    /// Asks the hook of the agent whose call is under way: the oldest one of several.
    async fn ask<T>(
        &self,
        kind: HookKind,
        question: Question,
        request: RequestContext<RoleClient>,
        read: impl Fn(HookAnswer) -> Result<T, String>,
    ) -> Result<T, ErrorData> {
        let asked = self.calls.find(|call| Some((call.context.hooks().get(kind)?.clone(), call.clone())));
        let Some((hook, CallOf { context, scope })) = asked else {
            let text = format!("{kind}: there is no such hook, or no call is under way");
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None));
        };
        let cancel = context.cancel_token().child();
        let work = HostWork::new(cancel.clone(), context.work().clock().clone());
        let answer = tokio::select! {
            answer = hook_call::call(hook, question, work, scope) => Some(answer),
            // The server, the run, or the call's time limit.
            () = request.ct.cancelled() => None,
            () = cancel.cancelled() => None,
            () = context.over_token().cancelled() => None,
        };
        let Some(answer) = answer else {
            return Err(ErrorData::new(REFUSED, "the request was cancelled".to_owned(), None));
        };
        answer.and_then(|answer| read(answer).map_err(Error::callback)).map_err(|why| {
            context.log().write(logs::HOOK_ERROR, hook_call::failure(kind, why));
            failed(kind)
        })
    }
}

/// With the defaults that the server has for fields which were left out.
fn with_defaults(content: Map<String, Value>, schema: &Map<String, Value>) -> Map<String, Value> {
    let mut content = content;
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, default) in fields.filter_map(|(name, field)| Some((name, field.get("default")?))) {
        content.entry(name.as_str()).or_insert_with(|| default.clone());
    }
    content
}

/// Without why: that is no business of the server's.
fn failed(kind: HookKind) -> ErrorData {
    ErrorData::internal_error(format!("{kind} failed"), None)
}

fn json_of(params: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(params) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
