//! Drives a run by hand, without a runtime: the loop is a value that takes inputs and gives actions. Here a script stands in for
//! the model; a program would send `call.body` to the model's server. The loop is saved and loaded on the way.
//!
//! `cargo run -p agent-loop-examples --bin step`

use std::error::Error;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_loop::machine::{Action, Config, HookAnswer, Input, Loop, ModelEntry, Start, Tools};
use agent_loop::model::{BlockStart, Delta};
use agent_loop::{EventData, Message, StopReason, ToolSpec};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let weather = ToolSpec::new("weather", "The weather of a city.", parameters)?;
    let model = ModelEntry::new(0, "script", "script", "two-answers");
    let mut config = Config::new(model.name(), Ok(model));
    config.tools = Tools::from(vec![Arc::new(weather)]);
    config.is_stateless = true;
    let prompts = vec![Message::user("Rain in Oslo?", now_ms())];
    let mut run = Loop::new(config, Start::new("run_1", 0, prompts));
    // Without an input on its way, `poll` would return `None`: then a program waits for one, or for the timer.
    while let Some(action) = run.poll(now_ms()) {
        match action {
            Action::Emit(event) => match &event.data {
                EventData::MessageUpdate(_) => {}
                _ => println!("{} {}", event.seq, event.kind()),
            },
            Action::CallModel(call) => {
                let is_first = call.request.messages.len() == 1;
                let deltas = if is_first { call_weather() } else { say("Yes, rain in Oslo.") };
                run.handle(Input::ModelDeltas { call: call.call, deltas });
                run.handle(Input::ModelEnd { call: call.call, result: Ok(()) });
            }
            Action::CallTool { call, name, arguments, .. } => {
                println!("  {name} is called with {}", json!(arguments));
                // Here the process could end, and another one go on with the call.
                run = Loop::load(&run.save()?)?;
                run.handle(Input::ToolDone { call, result: Ok("rain".into()) });
            }
            // Before each tool call: whether to change its arguments. Other hooks are asked if the configuration has them.
            Action::AskHook { question_id, .. } => {
                run.handle(Input::HookAnswer { question_id, answer: Ok(HookAnswer::Nothing.into()) });
            }
            Action::Done(result) => println!("{:?}: {}", result.outcome, result.text),
            // Nothing is cancelled, and no input takes long enough to need the timer.
            _ => {}
        }
    }
    assert!(run.is_over());
    Ok(())
}

fn call_weather() -> Vec<Delta> {
    let block = BlockStart::ToolCall { id: "call_1".into(), name: "weather".into() };
    vec![
        Delta::Start { key: 0, block },
        Delta::Append { key: 0, text: r#"{"city": "Oslo"}"#.into() },
        Delta::End { key: 0 },
        Delta::Stop { reason: StopReason::ToolUse, raw: None },
    ]
}

fn say(text: &str) -> Vec<Delta> {
    vec![
        Delta::Start { key: 0, block: BlockStart::Text },
        Delta::Append { key: 0, text: text.into() },
        Delta::Stop { reason: StopReason::Stop, raw: None },
    ]
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_run_comes_to_its_end() {
        super::main().unwrap();
    }
}
