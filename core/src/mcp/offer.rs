//! What a server offers an agent: its tools, and those that stand for its resources and prompts.

use agent_loop_proto::tool::Approval;
use rmcp::RoleClient;
use rmcp::model::Tool;
use rmcp::service::{Peer, ServiceError};
use serde_json::{Value, json};

use super::description::{Description, McpApproval, McpOffer};
use super::names::valid;
use crate::error::Error;
use crate::tool::ToolSpec;

/// What a server offers.
#[derive(Default)]
pub(super) struct Offered {
    /// The server's name, where its tools need one.
    pub(super) server: String,
    pub(super) tools: Vec<OfferedTool>,
    /// Those that cannot be offered to models, by the server's names, and why.
    pub(super) left_out: Vec<(String, Error)>,
    /// Which names of the description are none of its tools': what is wrong, for whoever has described it.
    pub(super) unknown: Option<String>,
}

/// A tool, by the name that it has if no other has it.
pub(super) struct OfferedTool {
    pub(super) spec: ToolSpec,
    pub(super) action: Action,
    /// What the server says about it, as MCP has it; null without.
    pub(super) annotations: Value,
}

/// What a call of a tool asks the server for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// The tool of this name.
    Call(String),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

/// Asks a server what it offers.
pub(super) async fn of(peer: &Peer<RoleClient>, description: &Description) -> Result<Offered, ServiceError> {
    let info = peer.peer_info();
    let own_name = info.as_ref().and_then(|info| info.server_info.as_ref()).map(|server| server.name.as_str());
    let server = valid(description.name.as_deref().or(own_name).unwrap_or("mcp"));
    let capabilities = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
    let offers = |what| description.offer.contains(&what);
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    let has_tools = offers(McpOffer::Tools) && capabilities.tools.is_some();
    let listed = if has_tools { peer.list_all_tools().await? } else { Vec::new() };
    let mut known: Vec<String> = listed.iter().map(|tool| tool.name.to_string()).collect();
    let of_tools = known.len();
    for tool in listed.into_iter().filter(|tool| is_wanted(&tool.name, description)) {
        let name = tool.name.to_string();
        let annotations = tool.annotations.as_ref().and_then(|said| serde_json::to_value(said).ok()).unwrap_or_default();
        match of_tool(tool, description) {
            Ok(spec) => tools.push(OfferedTool { spec, action: Action::Call(name), annotations }),
            Err(why) => left_out.push((name, why)),
        }
    }
    let mut of_server = |what: &str, about: &str, parameters: Value, action| {
        let name = valid(&format!("{}{server}_{what}", description.prefix));
        known.push(what.to_owned());
        if let Ok(spec) = ToolSpec::new(&name, about, parameters) {
            // They only read.
            let spec = with_approval(spec.with_timeout_ms(description.timeout_ms), what, true, description);
            tools.push(OfferedTool { spec, action, annotations: Value::Null });
        }
    };
    let nothing = || json!({ "type": "object", "properties": {} });
    if offers(McpOffer::Resources) && capabilities.resources.is_some() {
        let about = format!("Lists the resources of {server}: their addresses, names and descriptions.");
        of_server("list_resources", &about, nothing(), Action::ListResources);
        let uri = json!({ "type": "string", "description": "The address of the resource." });
        let parameters = json!({ "type": "object", "properties": { "uri": uri }, "required": ["uri"] });
        of_server("read_resource", &format!("Reads a resource of {server}."), parameters, Action::ReadResource);
    }
    if offers(McpOffer::Prompts) && capabilities.prompts.is_some() {
        let about = format!("Lists the prompts of {server}: their names, descriptions and arguments.");
        of_server("list_prompts", &about, nothing(), Action::ListPrompts);
        let properties = json!({
            "name": { "type": "string", "description": "The name of the prompt." },
            "arguments": {
                "type": "object", "description": "Its arguments.", "additionalProperties": { "type": "string" },
            },
        });
        let parameters = json!({ "type": "object", "properties": properties, "required": ["name"] });
        of_server("get_prompt", &format!("Gets a prompt of {server}."), parameters, Action::GetPrompt);
    }
    let unknown = unknown_name(known.get(..of_tools).unwrap_or_default(), &known, description);
    Ok(Offered { server, tools, left_out, unknown })
}

/// A name that stands for no tool: misspelt in `approval` or `exclude` it would let calls pass that must not. `all` has those
/// that stand for resources and prompts, too: `offer` says whether they are there, `approval` whether their calls wait.
fn unknown_name(tools: &[String], all: &[String], description: &Description) -> Option<String> {
    let approval = if let McpApproval::Tools(names) = &description.approval { names.as_slice() } else { &[] };
    let include = description.include.as_deref().unwrap_or_default();
    let mut given =
        [("include", include, tools), ("exclude", &description.exclude, tools), ("approval", approval, all)].into_iter();
    let unknown = given.find_map(|(field, names, known)| {
        let name = names.iter().find(|name| !known.contains(name))?;
        Some((field, name, known))
    });
    let (field, name, known) = unknown?;
    Some(match known {
        [] => format!("{field}: it has no tool named {name:?}; no tools of it are offered"),
        known => format!("{field}: it has no tool named {name:?}; its tools are: {}", known.join(", ")),
    })
}

/// With the approval that its calls need, by the server's name for it.
fn with_approval(spec: ToolSpec, name: &str, is_harmless: bool, description: &Description) -> ToolSpec {
    let needs_approval = match &description.approval {
        McpApproval::Never => false,
        McpApproval::Destructive => !is_harmless,
        McpApproval::Always => true,
        McpApproval::Tools(names) => names.iter().any(|known| known == name),
    };
    if needs_approval { spec.with_needs_approval(Approval::Needed) } else { spec }
}

fn is_wanted(name: &str, description: &Description) -> bool {
    let is_in = |names: &Vec<String>| names.iter().any(|known| known == name);
    description.include.as_ref().is_none_or(is_in) && !is_in(&description.exclude)
}

fn of_tool(tool: Tool, description: &Description) -> Result<ToolSpec, Error> {
    let annotations = tool.annotations.unwrap_or_default();
    let is_harmless = annotations.read_only_hint == Some(true) || annotations.destructive_hint == Some(false);
    let name = valid(&format!("{}{}", description.prefix, tool.name));
    let parameters = Value::Object((*tool.input_schema).clone());
    let spec = ToolSpec::new(&name, tool.description.as_deref().unwrap_or_default(), parameters)?;
    let label = tool.title.or(annotations.title).unwrap_or_else(|| tool.name.to_string());
    let spec = spec.with_label(&label).with_timeout_ms(description.timeout_ms);
    Ok(with_approval(spec, &tool.name, is_harmless, description))
}
