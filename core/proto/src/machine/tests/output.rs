//! The typed final answer while it is written, and over the end of a process.

use std::sync::Arc;

use serde_json::{Value, json};

use super::drive::{Drive, config, ended, model, says};
use crate::chunk::{Chunk, ChunkReader};
use crate::event::EventData;
use crate::machine::{Action, Config, Input, Loop, Start, interrupted};
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::output::{OutputMode, OutputSpec};
use crate::usage::Outcome;

fn cities() -> OutputSpec {
    OutputSpec::new(json!({ "type": "array", "items": { "type": "string" } })).unwrap()
}

fn asking(mode: OutputMode) -> Config {
    config(&[], |settings| settings.output = Some(cities().with_mode(mode)))
}

/// The answer at each delta of the message.
fn written(mode: OutputMode, chunks: &[Value]) -> Vec<Option<Value>> {
    let mut run = Loop::new(asking(mode), Start::new("run", 0, vec![Message::user("go", 0)]));
    let mut seen = Vec::new();
    while let Some(action) = run.poll(0) {
        match action {
            Action::Emit(event) if matches!(event.data, EventData::MessageUpdate(_)) => {
                seen.push(event.partial.as_ref().and_then(|partial| partial.output()));
            }
            Action::CallModel(request) => {
                let mut reader = ChunkReader::new("script");
                for chunk in chunks {
                    if let Chunk::Deltas(deltas) | Chunk::End(deltas) = reader.read(chunk).unwrap() {
                        run.handle(Input::ModelDeltas { call: request.call, deltas });
                    }
                }
                run.handle(Input::ModelEnd { call: request.call, result: Ok(()) });
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn the_answer_is_read_at_each_delta_of_a_text() {
    let seen = written(
        OutputMode::Native,
        &[json!("{\"resu"), json!("lt\": [\"Os"), json!("lo\", \"B"), json!("\"]}"), json!({ "end": {} })],
    );
    let expected =
        [None, None, Some(json!(["Os"])), Some(json!(["Oslo", "B"])), Some(json!(["Oslo", "B"])), Some(json!(["Oslo", "B"]))];
    assert_eq!(seen, expected);
}

#[test]
fn the_answer_is_read_at_each_delta_of_a_call() {
    let delta = |text: &str| json!({ "type": "tool_call_delta", "content_index": 1, "delta": text });
    let chunks = [
        json!("I have it."),
        json!({ "type": "tool_call_start", "content_index": 1, "id": "f", "name": "final_answer" }),
        delta("{\"result\": ["),
        delta("\"Oslo\""),
        delta("]}"),
        json!({ "end": {} }),
    ];
    let seen = written(OutputMode::Tool, &chunks);
    let last: Vec<_> = seen.into_iter().skip_while(Option::is_none).flatten().collect();
    // The text before it ends behind it.
    assert_eq!(last, [json!([]), json!(["Oslo"]), json!(["Oslo"]), json!(["Oslo"]), json!(["Oslo"])]);
}

#[test]
fn a_run_without_a_type_has_no_answer_to_read() {
    let mut run = Loop::new(config(&[], |_| {}), Start::new("run", 0, vec![Message::user("go", 0)]));
    let mut seen = 0;
    while let Some(action) = run.poll(0) {
        match action {
            Action::Emit(event) if matches!(event.data, EventData::MessageUpdate(_)) => {
                assert_eq!(event.partial.as_ref().and_then(|partial| partial.output()), None);
                seen += 1;
            }
            Action::CallModel(request) => {
                let mut reader = ChunkReader::new("script");
                for chunk in says("{\"a\": 1}").as_array().unwrap() {
                    if let Chunk::Deltas(deltas) | Chunk::End(deltas) = reader.read(chunk).unwrap() {
                        run.handle(Input::ModelDeltas { call: request.call, deltas });
                    }
                }
                run.handle(Input::ModelEnd { call: request.call, result: Ok(()) });
            }
            _ => {}
        }
    }
    assert!(seen > 0);
}

/// The call of a final tool that a process has left: it has no effect that could be had twice.
#[test]
fn an_interrupted_final_call_is_the_answer() {
    let call = json!({ "type": "tool_call", "id": "f", "name": "final_answer", "arguments": { "result": ["Oslo"] } });
    let answer = AssistantMessage::new(vec![serde_json::from_value::<ContentBlock>(call).unwrap()]);
    let transcript = vec![Arc::new(Message::user("go", 0)), Arc::new(Message::Assistant(answer))];
    let start = Start { decided: interrupted(&transcript, &[]), transcript, ..Start::resume("run", 0) };
    let drive = ended(Drive::start(asking(OutputMode::Tool), start, &[]));
    let result = drive.result.unwrap();
    assert_eq!((result.outcome, result.output), (Outcome::Completed, Some(json!(["Oslo"]))));
    assert!(!drive.seen.iter().any(|step| step == "model"));
}

/// Which way a model is asked is decided for each model that is called.
#[test]
fn a_custom_model_is_asked_by_a_tool() {
    let mut config = asking(OutputMode::Auto);
    config.model = Ok(model("own"));
    let (result, seen) = Drive::new(config, &[says("[\"Oslo\"]")]).end();
    assert_eq!(result.output, Some(json!(["Oslo"])), "a text that fits is an answer all the same");
    assert!(!seen.iter().any(|step| step == "tool final_answer"), "the application has no such tool");
}

#[test]
fn the_answer_may_be_null() {
    let null = OutputSpec::new(json!({ "type": ["string", "null"] })).unwrap();
    let config = config(&[], |settings| settings.output = Some(null.with_mode(OutputMode::Native)));
    let (result, _) = Drive::new(config, &[says("{\"result\": null}")]).end();
    assert_eq!(result.output, Some(Value::Null));
    let json = serde_json::to_string(&result).unwrap();
    assert!(json.contains("\"output\":null"), "{json}");
    assert_eq!(serde_json::from_str::<crate::result::RunResult>(&json).unwrap().output, Some(Value::Null));
    assert_eq!(result.output_as::<Option<String>>().unwrap(), None);
}

#[test]
fn why_there_is_no_answer_is_said() {
    let (result, _) = Drive::new(config(&[], |_| {}), &[says("Hello.")]).end();
    let error = result.output_as::<Value>().unwrap_err();
    assert_eq!(error.message(), "the run has no typed final answer: the option output has not asked for one");
    let (mut result, _) = Drive::new(asking(OutputMode::Native), &[says("[\"Oslo\"]")]).end();
    let error = result.output_as::<Vec<u8>>().unwrap_err();
    assert!(error.message().starts_with("output: it is no alloc::vec::Vec<u8>: "), "{}", error.message());
    (result.output, result.outcome) = (None, Outcome::MaxTurns);
    let error = result.output_as::<Vec<u8>>().unwrap_err();
    assert_eq!(error.message(), "the run has no typed final answer: its outcome is max_turns");
}

/// A wrong answer would need another call.
#[test]
fn one_model_call_has_no_answer() {
    let transcript = vec![Arc::new(Message::user("go", 0))];
    let start = Start { transcript, ..Start::one_call("run", 0) };
    let drive = ended(Drive::start(asking(OutputMode::Tool), start, &[says("Hello.")]));
    let result = drive.result.unwrap();
    assert_eq!((result.outcome, &*result.text, result.output), (Outcome::Completed, "Hello.", None));
}
