//! What a user writes down and matches. Compiled and not run: enums that may grow are matched with `_`, and structs that may grow
//! are made by constructors or from their defaults.

#![allow(dead_code)]

use std::sync::Arc;

use agent_loop::event::{Event, EventData, MessageUpdate};
use agent_loop::hook::{ToolDecision, ToolOverride, TurnChange};
use agent_loop::machine::{Action, Config, HookAnswer, Input, Loop, ModelEntry, Queues, Settings, Start, Tools};
use agent_loop::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage, UserMessage};
use agent_loop::model::{
    BlockStart, BoxFuture, Delta, DeltaSink, Model, ModelInfo, ModelRequest, Prices, ThinkingBudgets, ThinkingLevel, ToolChoice,
};
use agent_loop::network::{Network, Proxy, Roots};
use agent_loop::tool::{ExecutionMode, PendingCall, ToolOutput};
use agent_loop::{Agent, Context, Error, ErrorKind, ModelSpec, Outcome, StopReason, Tool, ToolSet, ToolSpec, Usage};
use serde_json::{Map, json};

fn events(event: &Event) -> &str {
    match &event.data {
        EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => delta,
        EventData::AgentEnd { outcome: Outcome::Completed, .. } => "completed",
        EventData::AgentEnd { error: Some(error), .. } => match error.kind() {
            ErrorKind::RateLimited | ErrorKind::Overloaded => "later",
            _ => "failed",
        },
        _ => "",
    }
}

fn messages() -> Vec<Message> {
    let call = ToolCall::new("1", "double", Map::new());
    let mut answer = AssistantMessage::new(vec![ContentBlock::ToolCall(call)]);
    answer.stop_reason = Some(StopReason::ToolUse);
    answer.usage = Usage::new(10, 2);
    let mut result = ToolResultMessage::new("1", "double", vec![ContentBlock::text("42")]);
    result.is_error = false;
    let asked = UserMessage::new(vec![ContentBlock::text("What is 21 doubled?")]);
    vec![Message::User(asked), Message::Assistant(answer), Message::ToolResult(result)]
}

fn model() -> Result<ModelSpec, Error> {
    let mut model = ModelSpec::parse("company/large")?;
    model.base_url = Some("https://models.example/v1".to_owned());
    model.cost = Some(Prices::new(0.5, 1.5));
    Ok(model)
}

fn network() -> Network {
    let mut network = Network::default();
    network.proxy = Proxy::Direct;
    network.roots = Roots::Both;
    network
}

fn context() -> Context {
    Context::new(messages()).system_prompt("Be brief.").tools(ToolSet::default())
}

fn hooks() -> (ToolDecision, ToolOverride, Result<TurnChange, Error>) {
    let change = || Ok(TurnChange::default().model(model()?).thinking_level(ThinkingLevel::High).tools(["double"]));
    (ToolDecision::block("ask first"), ToolOverride::default().terminate(true), change())
}

fn options() -> (ToolChoice, ThinkingBudgets, ExecutionMode) {
    let mut budgets = ThinkingBudgets::default();
    budgets.high = 20_000;
    (ToolChoice::Tool("double".to_owned()), budgets, ExecutionMode::Sequential)
}

struct Answering(ToolSpec);

impl Tool for Answering {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn start(&self, call: PendingCall) {
        call.respond(json!(ToolOutput::new(vec![ContentBlock::text("done")])));
    }
}

struct Parrot;

impl Model for Parrot {
    fn info(&self) -> ModelInfo<'_> {
        let mut info = ModelInfo::new("mine", "mine", "parrot");
        info.prices = Some(Prices::default());
        info
    }

    fn stream<'a>(&'a self, call: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        let asked = call.request.messages.last().map(|message| message.text()).unwrap_or_default();
        Box::pin(async move {
            sink.push(Delta::Start { key: 0, block: BlockStart::Text });
            sink.push(Delta::Append { key: 0, text: asked });
            sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
            Ok(())
        })
    }
}

fn agent() -> Agent {
    Agent::new(Parrot).expect("it needs nothing")
}

/// A run, driven by hand.
fn steps(settings: Settings, queues: Queues) -> Result<(), Error> {
    let model = ModelEntry::new(0, "mine", "mine", "parrot");
    let mut config = Config::new(model.name(), Ok(model));
    config.tools = Tools::from(vec![Arc::new(ToolSpec::new("double", "Doubles a number.", json!({ "type": "object" }))?)]);
    config.settings = settings;
    let mut start = Start::new("run_1", 0, messages());
    start.queues = queues;
    let mut run = Loop::new(config, start);
    while let Some(action) = run.poll(0) {
        match action {
            Action::CallModel(call) => run.handle(Input::ModelEnd { call: call.call, result: Ok(()) }),
            Action::AskHook { question_id, .. } => {
                run.handle(Input::HookAnswer { question_id, answer: Ok(HookAnswer::Nothing.into()) });
            }
            Action::Done(result) => println!("{}", result.text),
            _ => {}
        }
    }
    Ok(())
}
