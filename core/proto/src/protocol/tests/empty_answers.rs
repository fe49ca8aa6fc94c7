//! Answers without content, as vendors send them in each format, streamed and not: with Anthropic's own word for it such an
//! answer completes the run, elsewhere it is asked for again and then an error. An answer of only images is content.

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::answer_reader::AnswerReader;
use crate::delta::Delta;
use crate::error::{Error, ErrorKind};
use crate::hook::HookAnswer;
use crate::machine::{Action, Config, Input, Loop, ModelEntry, Start};
use crate::message::Message;
use crate::sse::Splitter;
use crate::transcript::Constraints;
use crate::usage::Outcome;

/// What becomes of an answer.
#[derive(Debug, PartialEq)]
enum Becomes {
    /// The run is completed with it.
    Complete,
    /// It is asked for once more, as often as retries allow, and then an error.
    Retried(ErrorKind),
}

const EMPTY: Becomes = Becomes::Retried(ErrorKind::Protocol);

/// The deltas of an answer, and how it ended.
fn read(protocol: &str, bytes: &str) -> (Vec<Delta>, Result<(), Error>) {
    let mut reader = AnswerReader::new(Fixture::of_protocol(protocol).decoder(), "p", false);
    let (mut splitter, mut deltas) = (Splitter::default(), Vec::new());
    let mut more = splitter.feed(bytes.as_bytes(), |frame| reader.frame(&frame, &mut deltas));
    if let Ok(true) = more {
        more = splitter.finish(|frame| reader.frame(&frame, &mut deltas));
    }
    let end = more.and_then(|more| if more { reader.end(&mut deltas) } else { Ok(()) });
    (deltas, end)
}

/// What becomes of a run whose model always answers so.
fn becomes(protocol: &str, bytes: &str) -> Becomes {
    let constraints = Constraints::new("p", protocol, "m");
    let mut config = Config::new("p/m", Ok(ModelEntry { constraints, ..ModelEntry::new(0, "p", protocol, "m") }));
    config.settings.retry.max_retries = 1;
    let mut run = Loop::new(config, Start::new("run", 0, vec![Message::user("go", 0)]));
    let (mut now_ms, mut timer, mut calls) = (0, None, 0);
    loop {
        match run.poll(now_ms) {
            Some(Action::SetTimer(set)) => timer = set,
            Some(Action::CallModel(asked)) => {
                calls += 1;
                let (deltas, result) = read(protocol, bytes);
                run.handle(Input::ModelDeltas { call: asked.call, deltas });
                run.handle(Input::ModelEnd { call: asked.call, result });
            }
            Some(Action::AskHook { question_id, .. }) => {
                run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
            }
            Some(Action::Done(result)) => {
                assert!(result.messages.iter().any(|message| matches!(&**message, Message::Assistant(_))));
                return match (result.outcome, calls, &result.error) {
                    (Outcome::Completed, 1, None) => Becomes::Complete,
                    (Outcome::Error, 2, Some(error)) => Becomes::Retried(error.kind()),
                    other => panic!("{other:?} of {protocol}: {bytes}"),
                };
            }
            Some(_) => {}
            None => now_ms = timer.expect("the run waits for nothing").at_ms,
        }
    }
}

fn streamed(frames: &[Value]) -> String {
    let text = |frame: &Value| frame.as_str().map_or_else(|| frame.to_string(), str::to_owned);
    frames.iter().map(|frame| format!("data: {}\n\n", text(frame))).collect()
}

fn check(protocol: &str, cases: Vec<(&str, String, Becomes)>) {
    for (what, bytes, expected) in cases {
        assert_eq!(becomes(protocol, &bytes), expected, "{protocol}, {what}: {bytes}");
    }
}

#[test]
fn found_w5_empty_answers_of_anthropic() {
    let answer = |blocks: &[Value], reason: Value| {
        let mut frames =
            vec![json!({ "type": "message_start", "message": { "id": "m", "content": [], "usage": { "input_tokens": 9 } } })];
        for (index, block) in blocks.iter().enumerate() {
            frames.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
            frames.push(json!({ "type": "content_block_stop", "index": index }));
        }
        frames.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 2 } }));
        frames.push(json!({ "type": "message_stop" }));
        streamed(&frames)
    };
    let whole =
        |reason: &str| json!({ "type": "message", "role": "assistant", "content": [], "stop_reason": reason }).to_string();
    let text = json!({ "type": "text", "text": "" });
    let search = json!({ "type": "web_search_tool_result", "tool_use_id": "s", "content": [] });
    check(
        "anthropic",
        vec![
            ("nothing to add", answer(&[], json!("end_turn")), Becomes::Complete),
            ("a stop sequence at once", answer(&[], json!("stop_sequence")), Becomes::Complete),
            ("an empty text (Bedrock, Kimi)", answer(std::slice::from_ref(&text), json!("end_turn")), Becomes::Complete),
            ("in capitals (a gateway)", answer(&[], json!("END_TURN")), Becomes::Complete),
            ("not streamed", whole("end_turn"), Becomes::Complete),
            ("only what the server's tool found", answer(&[search], json!("end_turn")), Becomes::Complete),
            ("to be gone on with", answer(&[], json!("pause_turn")), EMPTY),
            ("a call that is missing", answer(&[], json!("tool_use")), EMPTY),
            ("the word of another format", answer(&[text], json!("stop")), EMPTY),
            ("without a word", answer(&[], Value::Null), EMPTY),
            ("not streamed, another word", whole("stop"), EMPTY),
        ],
    );
}

#[test]
fn found_w5_empty_answers_of_chat() {
    let answer = |delta: Value, reason: &str| {
        let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        streamed(&[chunk(delta, Value::Null), chunk(json!({}), json!(reason)), json!("[DONE]")])
    };
    let whole = |message: Value| {
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        json!({ "object": "chat.completion", "choices": [choice] })
    };
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QQ==" } });
    check(
        "openai_chat",
        vec![
            ("an empty text", answer(json!({ "role": "assistant", "content": "" }), "stop"), EMPTY),
            ("null", answer(json!({ "role": "assistant", "content": null }), "stop"), EMPTY),
            ("nothing", answer(json!({}), "stop"), EMPTY),
            ("empty thinking (DeepSeek)", answer(json!({ "content": "", "reasoning_content": "" }), "stop"), EMPTY),
            (
                "empty thinking (OpenRouter)",
                answer(json!({ "content": "", "reasoning": "", "reasoning_details": [] }), "stop"),
                EMPTY,
            ),
            ("no calls (vLLM)", answer(json!({ "content": "", "tool_calls": [] }), "stop"), EMPTY),
            ("a call that is missing", answer(json!({ "content": null, "tool_calls": null }), "tool_calls"), EMPTY),
            ("TGI's word", answer(json!({ "content": "" }), "eos_token"), EMPTY),
            ("Anthropic's word, of a gateway", answer(json!({ "content": "" }), "end_turn"), EMPTY),
            ("only the mark", streamed(&[json!("[DONE]")]), EMPTY),
            ("no choices", streamed(&[json!({ "object": "chat.completion.chunk", "choices": [] }), json!("[DONE]")]), EMPTY),
            ("not streamed", whole(json!({ "role": "assistant", "content": "" })).to_string(), EMPTY),
            ("an image (OpenRouter)", answer(json!({ "content": "", "images": [image] }), "stop"), Becomes::Complete),
            ("an image, not streamed", whole(json!({ "content": null, "images": [image] })).to_string(), Becomes::Complete),
        ],
    );
}

#[test]
fn found_w5_empty_answers_of_responses() {
    let response = |items: Value| json!({ "object": "response", "id": "r", "status": "completed", "output": items });
    let answer = |items: &[Value]| {
        let mut frames = vec![json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress" } })];
        for (index, item) in items.iter().enumerate() {
            frames.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
            frames.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        }
        frames.push(json!({ "type": "response.completed", "response": response(json!(items)) }));
        streamed(&frames)
    };
    let message = |content: Value| json!({ "type": "message", "id": "m", "role": "assistant", "content": content });
    let image = json!({ "type": "image_generation_call", "id": "i", "status": "completed", "result": "QQ==" });
    check(
        "openai_responses",
        vec![
            ("no items", answer(&[]), EMPTY),
            ("a message without content", answer(&[message(json!([]))]), EMPTY),
            ("an empty text", answer(&[message(json!([{ "type": "output_text", "text": "", "annotations": [] }]))]), EMPTY),
            ("not streamed", response(json!([])).to_string(), EMPTY),
            (
                "not streamed, an empty text",
                response(json!([message(json!([{ "type": "output_text", "text": "" }]))])).to_string(),
                EMPTY,
            ),
            ("an image", answer(std::slice::from_ref(&image)), Becomes::Complete),
            ("an image, not streamed", response(json!([image])).to_string(), Becomes::Complete),
        ],
    );
}

#[test]
fn found_w5_empty_answers_of_gemini() {
    let chunk =
        |candidate: Value| json!({ "candidates": [candidate], "usageMetadata": { "promptTokenCount": 9 }, "modelVersion": "m" });
    let parts =
        |parts: Value, reason: &str| chunk(json!({ "content": { "role": "model", "parts": parts }, "finishReason": reason }));
    let image = json!([{ "inlineData": { "mimeType": "image/png", "data": "QQ==" } }]);
    let one = |frame: Value| streamed(&[frame]);
    check(
        "gemini",
        vec![
            ("no content", one(chunk(json!({ "finishReason": "STOP", "index": 0 }))), EMPTY),
            ("no parts", one(chunk(json!({ "content": { "role": "model" }, "finishReason": "STOP" }))), EMPTY),
            ("an empty list of parts", one(parts(json!([]), "STOP")), EMPTY),
            ("an empty part", one(parts(json!([{}]), "STOP")), EMPTY),
            ("an empty text", one(parts(json!([{ "text": "" }]), "STOP")), EMPTY),
            ("an empty thought", one(parts(json!([{ "text": "", "thought": true }]), "STOP")), EMPTY),
            ("Anthropic's word, of a gateway", one(parts(json!([{ "text": "" }]), "end_turn")), EMPTY),
            ("not streamed", parts(json!([]), "STOP").to_string(), EMPTY),
            ("not streamed, a list", json!([parts(json!([{ "text": "" }]), "STOP")]).to_string(), EMPTY),
            ("an image", one(parts(image.clone(), "STOP")), Becomes::Complete),
            ("an image, not streamed", parts(image, "STOP").to_string(), Becomes::Complete),
        ],
    );
}
