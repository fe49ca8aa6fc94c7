//! `bench-rust`: the engine through its Rust API.

use std::process::ExitCode;
use std::sync::Arc;

use agent_loop::ui::UiOptions;
use agent_loop::{Agent, EventData, Message, MessageUpdate, ModelSpec, Outcome, Runtime, Tool};
use agent_loop_benches::answers::Format;
use agent_loop_benches::cli::Tally;
use agent_loop_benches::harness;
use agent_loop_benches::measure::Marks;
use agent_loop_benches::tools::{calculator, echo};
use serde_json::json;

struct Engine {
    runtime: Runtime,
    url: String,
    format: Format,
    history: Option<Vec<Message>>,
    tools: [Arc<dyn Tool>; 2],
}

impl harness::Client for Engine {
    async fn run(&self, model: &str, marks: &Marks) -> Result<Tally, String> {
        let text = |error: agent_loop::Error| error.to_string();
        let spec = match self.format {
            Format::Anthropic => ModelSpec::parse(&format!("anthropic/{model}")),
            Format::Chat => ModelSpec::parse(&format!("openai/{model}")),
            Format::Gemini => ModelSpec::parse(&format!("google/{model}")),
            // `openai` uses Chat at any address but its own.
            Format::Responses => {
                ModelSpec::from_json(json!({ "provider": "openai", "id": model, "protocol": "openai_responses" }))
            }
        }
        .map_err(text)?;
        let agent = Agent::builder(spec).runtime(&self.runtime).base_url(&self.url).max_turns(0).build().map_err(text)?;
        for tool in &self.tools {
            agent.add_tool(Arc::clone(tool)).map_err(text)?;
        }
        let run = match &self.history {
            None => agent.stream("What is 15 multiplied by 23?"),
            Some(messages) => agent.replace_messages(messages.clone()).and_then(|()| agent.stream_resume()),
        };
        let mut run = run.map_err(text)?;
        let (mut deltas, mut bytes) = (0, 0);
        match std::env::var("BENCH_READ").as_deref() {
            Ok("ui") => {
                let mut stream = run.to_ui_message_stream(UiOptions::default());
                while let Some(frames) = stream.next().await {
                    bytes += frames.len() as u64;
                }
                return Ok(Tally::Deltas { deltas, bytes });
            }
            Ok("none") => {
                run.result().await.map_err(text)?;
                return Ok(Tally::Deltas { deltas, bytes });
            }
            _ => {}
        }
        while let Some(event) = run.next().await {
            match &event.data {
                EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. } | MessageUpdate::ToolCallDelta { delta, .. }) => {
                    marks.delta();
                    deltas += 1;
                    bytes += delta.len() as u64;
                }
                EventData::TurnEnd { .. } => marks.turn(),
                _ => {}
            }
        }
        let result = run.result().await.map_err(text)?;
        if result.outcome != Outcome::Completed {
            return Err(format!("the run ended {}", result.outcome.as_str()));
        }
        if (model.starts_with("calc") || model.starts_with("turns")) && result.text != "15 multiplied by 23 equals 345." {
            return Err(format!("the answer is {:?}", result.text));
        }
        Ok(Tally::Deltas { deltas, bytes })
    }
}

fn main() -> ExitCode {
    harness::main(|command| {
        let text = |error: agent_loop::Error| error.to_string();
        let history = command.history.as_ref().map(|path| -> Result<Vec<Message>, String> {
            let json = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
            serde_json::from_slice(&json).map_err(|error| format!("{path}: {error}"))
        });
        Ok(Engine {
            runtime: Runtime::current().map_err(text)?,
            url: command.url.clone(),
            format: command.format,
            history: history.transpose()?,
            tools: [Arc::new(calculator().map_err(text)?), Arc::new(echo().map_err(text)?)],
        })
    })
}
