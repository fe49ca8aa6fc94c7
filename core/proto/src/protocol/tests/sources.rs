//! The sources that an answer names are reported in all formats, once, as the server gave them, streamed and not.

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::answer_reader::AnswerReader;
use crate::delta::Delta;
use crate::sse::Splitter;
use crate::table::codes;

/// The text of an answer, and the data of its diagnostics about sources.
fn read(protocol: &str, bytes: &str) -> (String, Vec<Value>) {
    let mut reader = AnswerReader::new(Fixture::of_protocol(protocol).decoder(), "p", false);
    let (mut splitter, mut deltas) = (Splitter::default(), Vec::new());
    let mut more = splitter.feed(bytes.as_bytes(), |frame| reader.frame(&frame, &mut deltas)).unwrap();
    if more {
        more = splitter.finish(|frame| reader.frame(&frame, &mut deltas)).unwrap();
    }
    if more {
        reader.end(&mut deltas).unwrap();
    }
    let (mut text, mut sources) = (String::new(), Vec::new());
    for delta in deltas {
        match delta {
            Delta::Append { text: more, .. } => text += &more,
            Delta::Diagnostic { code, data, .. } if code == codes::CITATIONS => sources.push(*data),
            _ => {}
        }
    }
    (text, sources)
}

fn streamed(frames: &[Value]) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

/// The same answer in a format, streamed and whole, with these sources; and what is reported of them.
fn answers(protocol: &str, sources: &[Value]) -> ([String; 2], Vec<Value>) {
    let reported = if sources.is_empty() { vec![] } else { vec![json!({ "citations": sources })] };
    match protocol {
        "anthropic" => {
            let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
            let mut frames = vec![
                json!({ "type": "message_start", "message": { "id": "m", "content": [] } }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            ];
            frames.extend(sources.iter().map(|source| delta(json!({ "type": "citations_delta", "citation": source }))));
            frames.push(delta(json!({ "type": "text_delta", "text": "so" })));
            frames.push(json!({ "type": "content_block_stop", "index": 0 }));
            frames.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
            frames.push(json!({ "type": "message_stop" }));
            let content = json!([{ "type": "text", "text": "so", "citations": sources }]);
            let whole = json!({ "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn" });
            ([streamed(&frames), whole.to_string()], reported)
        }
        "openai_chat" => {
            let chunk =
                |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
            let frames =
                [chunk(json!({ "content": "so", "annotations": sources }), Value::Null), chunk(json!({}), json!("stop"))];
            let message = json!({ "role": "assistant", "content": "so", "annotations": sources });
            let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
            let whole = json!({ "object": "chat.completion", "choices": [choice] });
            ([streamed(&frames), whole.to_string()], reported)
        }
        "openai_responses" => {
            let content = json!([{ "type": "output_text", "text": "so", "annotations": sources }]);
            let item = json!({ "type": "message", "id": "m", "role": "assistant", "content": content });
            let response = json!({ "object": "response", "id": "r", "status": "completed", "output": [item] });
            let frames = [
                json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
                json!({ "type": "response.completed", "response": response }),
            ];
            ([streamed(&frames), response.to_string()], reported)
        }
        _ => {
            let metadata = json!({ "groundingChunks": sources });
            let candidate = json!({
                "content": { "parts": [{ "text": "so" }] }, "finishReason": "STOP",
                "groundingMetadata": if sources.is_empty() { json!({}) } else { metadata.clone() },
            });
            let chunk = json!({ "candidates": [candidate] });
            let reported = if sources.is_empty() { vec![] } else { vec![json!({ "groundingMetadata": metadata })] };
            ([streamed(std::slice::from_ref(&chunk)), chunk.to_string()], reported)
        }
    }
}

#[test]
fn found_w11_sources_in_all_four_formats() {
    let page = |at: &str| json!({ "type": "url_citation", "url": format!("http://{at}"), "title": "t" });
    // Also of kinds that nobody knows, and what is no object at all: they are the vendor's own.
    let odd = json!({ "type": "from_the_future", "of": [1, null], "url": null });
    for sources in [vec![page("a")], vec![page("a"), page("b")], vec![odd, json!("http://c")], vec![]] {
        for protocol in ["anthropic", "openai_chat", "openai_responses", "gemini"] {
            let (answers, reported) = answers(protocol, &sources);
            for bytes in answers {
                assert_eq!(read(protocol, &bytes), ("so".to_owned(), reported.clone()), "{protocol}: {bytes}");
            }
        }
    }
}
