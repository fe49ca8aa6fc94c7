//! Model calls and tool calls. Each is a call of a service, whose result Restate keeps: so calls run concurrently, on any worker,
//! and one whose worker dies runs again.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_loop::machine::Input;
use agent_loop::model::{BlockStart, Delta};
use agent_loop::tool::Approval;
use agent_loop::{Agent, AssistantMessage, ContentBlock, Error, Message, ModelSpec, StopReason, ToolSpec, complete};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A model call.
#[derive(Debug, Serialize, Deserialize)]
pub struct ModelStep {
    pub call: u32,
    pub system_prompt: String,
    pub messages: Vec<Arc<Message>>,
}

/// A tool call.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolStep {
    pub call: u32,
    pub name: Arc<str>,
    pub arguments: Map<String, Value>,
    pub idempotency_key: Arc<str>,
}

/// What the loop takes in after a step, and when it was over.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub inputs: Vec<Input>,
    pub at_ms: u64,
}

impl Outcome {
    fn new(inputs: Vec<Input>) -> Json<Outcome> {
        Json(Outcome { inputs, at_ms: now_ms() })
    }
}

pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

pub struct AssistantSteps(Agent);

impl AssistantSteps {
    pub fn new(model: ModelSpec, base_url: Option<&str>) -> Result<AssistantSteps, Error> {
        // The loop retries, and waits for it without a process.
        let mut settings = Agent::builder(model).max_retries(0);
        if let Some(url) = base_url {
            settings = settings.base_url(url);
        }
        settings.build().map(AssistantSteps)
    }
}

#[restate_sdk::service(name = "assistant_steps")]
impl AssistantSteps {
    /// Calls the model. A failed call is a result: whether it is tried again, the loop decides.
    #[handler]
    async fn model(&self, _ctx: Context<'_>, step: Json<ModelStep>) -> Result<Json<Outcome>, TerminalError> {
        let ModelStep { call, system_prompt, messages } = step.into_inner();
        let tools = tools().unwrap_or_default();
        let asked = complete(&self.0, Vec::<Message>::new()).history(messages).system_prompt(system_prompt).tools(tools);
        Ok(Outcome::new(match asked.await {
            Ok(message) => {
                vec![Input::ModelDeltas { call, deltas: deltas_of(&message) }, Input::ModelEnd { call, result: Ok(()) }]
            }
            Err(error) => vec![Input::ModelEnd { call, result: Err(error) }],
        }))
    }

    /// Executes a tool. A failure is a result: the model reads it.
    #[handler]
    async fn tool(&self, _ctx: Context<'_>, step: Json<ToolStep>) -> Result<Json<Outcome>, TerminalError> {
        let ToolStep { call, name, arguments, idempotency_key } = step.into_inner();
        let result = execute(&name, &arguments, &idempotency_key).await;
        Ok(Outcome::new(vec![Input::ToolDone { call, result }]))
    }
}

/// A whole answer as the parts that the loop takes.
fn deltas_of(message: &AssistantMessage) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (key, block) in (0..).zip(&message.content) {
        let (block, text, signature) = match block {
            ContentBlock::Text { text, signature } => (BlockStart::Text, text.clone(), signature),
            ContentBlock::Thinking { thinking, signature, redacted } => {
                (BlockStart::Thinking { redacted: *redacted }, thinking.clone(), signature)
            }
            ContentBlock::ToolCall(call) => {
                let arguments = call.raw_arguments.clone().unwrap_or_else(|| json!(*call.arguments).to_string());
                (BlockStart::ToolCall { id: call.id.clone(), name: call.name.clone() }, arguments, &call.signature)
            }
            ContentBlock::Opaque { protocol, data } => {
                let data = Box::new(data.clone());
                deltas.push(Delta::Start { key, block: BlockStart::Opaque { protocol: protocol.clone(), data } });
                continue;
            }
            _ => continue,
        };
        deltas.push(Delta::Start { key, block });
        deltas.push(Delta::Append { key, text });
        deltas.extend(signature.iter().map(|signature| Delta::Signature { key, signature: signature.clone() }));
        deltas.push(Delta::End { key });
    }
    deltas.push(Delta::Usage(Box::new(message.usage.clone())));
    let (reason, raw) = (message.stop_reason.unwrap_or(StopReason::Stop), message.raw_stop_reason.clone());
    deltas.push(Delta::Stop { reason, raw });
    deltas
}

/// The tools, as the model reads of them.
pub fn tools() -> Result<Vec<ToolSpec>, Error> {
    let city = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let amount = json!({ "type": "object", "properties": { "amount": { "type": "integer" } }, "required": ["amount"] });
    Ok(vec![
        ToolSpec::new("weather", "The weather in a city.", city)?,
        ToolSpec::new("pay", "Pays an amount in euros.", amount)?.with_needs_approval(Approval::Needed),
    ])
}

async fn execute(name: &str, arguments: &Map<String, Value>, idempotency_key: &str) -> Result<Value, String> {
    match name {
        "weather" => Ok(json!(format!("rain in {}", arguments["city"].as_str().unwrap_or_default()))),
        // A bank would get the key: a payment that is sent twice is made once.
        "pay" => Ok(json!(format!("paid {} as {idempotency_key}", arguments["amount"]))),
        _ => Err(format!("there is no tool {name}")),
    }
}
