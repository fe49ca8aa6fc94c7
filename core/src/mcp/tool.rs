//! A tool of a server, as an agent has it.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::Peer;
use serde::Serialize;
use serde_json::{Value, json};
use tracing::Instrument;

use super::connection::Connection;
use super::content;
use super::offer::Action;
use crate::tool::{PendingCall, Tool, ToolSpec};

/// What an agent has of a server's tool: see [`Agent::mcp_tools`](crate::Agent::mcp_tools).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct McpToolInfo {
    /// The name by which the model calls it.
    pub name: String,
    /// The server, by the name that messages have for it.
    pub server: String,
    /// The name that the server has for it: for `include`, `exclude` and `approval`. `None` for a tool that stands for the
    /// server's resources or prompts.
    pub server_tool: Option<String>,
    /// What it does, in the server's words.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// What the server says about it, as MCP has it (`readOnlyHint`, `destructiveHint` and others); null without.
    pub annotations: Value,
    /// Whether its calls wait for a decision.
    pub needs_approval: bool,
}

/// A tool of a server.
pub(super) struct McpTool {
    pub(super) spec: ToolSpec,
    pub(super) action: Action,
    pub(super) connection: Arc<Connection>,
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn start(&self, call: PendingCall) {
        let (connection, action, scope) = (Arc::clone(&self.connection), self.action.clone(), call.scope());
        let answer = async move {
            match answer(&connection, action, &call).await {
                Ok(value) => call.respond(value),
                Err(why) => call.fail(why),
            }
        };
        tokio::spawn(scope.enter(answer).in_current_span());
    }
}

async fn answer(connection: &Arc<Connection>, action: Action, call: &PendingCall) -> Result<Value, String> {
    let (arguments, context) = (call.arguments(), call.context());
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match action {
        Action::Call(name) => connection.call(&name, arguments.clone(), context).await.map(content::of_call),
        Action::ListResources => {
            let listed = |peer: Peer<RoleClient>| async move {
                let resources = peer.list_all_resources().await?;
                // Of servers that have none, too.
                let templates = peer.list_all_resource_templates().await.unwrap_or_default();
                Ok(json!({ "resources": resources, "templates": templates }))
            };
            connection.request(context, listed).await
        }
        Action::ReadResource => {
            let params = ReadResourceRequestParams::new(text("uri"));
            let read = |peer: Peer<RoleClient>| {
                let params = params.clone();
                async move { peer.read_resource(params).await }
            };
            connection.request(context, read).await.map(content::of_resource)
        }
        Action::ListPrompts => {
            let listed = |peer: Peer<RoleClient>| async move { peer.list_all_prompts().await };
            connection.request(context, listed).await.map(|prompts| json!({ "prompts": prompts }))
        }
        Action::GetPrompt => {
            let mut params = GetPromptRequestParams::new(text("name"));
            if let Some(given) = arguments.get("arguments").and_then(Value::as_object) {
                params = params.with_arguments(given.clone());
            }
            let got = |peer: Peer<RoleClient>| {
                let params = params.clone();
                async move { peer.get_prompt(params).await }
            };
            connection.request(context, got).await.map(content::of_prompt)
        }
    }
}
