//! What the recordings say beyond what all formats' say: items are kept whole, and go back as recorded clients sent them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::message::{ContentBlock, Message, ToolResultMessage};
use crate::protocol::tests::fixture::Fixture;
use crate::protocol::tests::recorded::{decode, expectation, folder, loops};
use crate::request::Request;

/// Sorted, so that a loop's are in order.
fn streams(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "sse")).collect();
    files.sort();
    files
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The items of a stream as their last events have them.
fn items(stream: &str) -> Vec<Value> {
    let events = stream.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok());
    let done = events.filter(|event| event["type"] == "response.output_item.done");
    let mut items: Vec<_> = done.map(|event| (event["output_index"].as_u64().unwrap(), event["item"].clone())).collect();
    items.sort_by_key(|(index, _)| *index);
    items.into_iter().map(|(_, item)| item).collect()
}

#[test]
fn items_are_kept() {
    let folders = loops("responses-").into_iter().chain(["openai-responses".to_owned()]).filter_map(|api| folder(&api));
    let mut seen = 0;
    for path in folders.flat_map(|folder| streams(&folder)) {
        let stream = std::fs::read_to_string(&path).unwrap();
        let items = items(&stream);
        let (message, _) = decode("openai_responses", stream.as_bytes(), &[]);
        assert_eq!(message.content.len(), items.len(), "{path:?}");
        let mut kinds = Vec::new();
        let mut encrypted = Vec::new();
        for (block, item) in message.content.iter().zip(&items) {
            let (kind, kept) = match block {
                ContentBlock::Text { signature, .. } => ("message", signature.clone()),
                ContentBlock::Thinking { signature, .. } => ("reasoning", signature.clone()),
                ContentBlock::ToolCall(call) => ("function_call", call.signature.clone()),
                ContentBlock::Opaque { data, .. } => (data["type"].as_str().unwrap(), Some(data.to_string())),
                ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => panic!("{path:?}: a file"),
            };
            let given = match kind {
                "message" if item.get("phase").is_some() => json!({ "id": item["id"], "phase": item["phase"] }).to_string(),
                "message" => json!({ "id": item["id"] }).to_string(),
                "function_call" => item["id"].as_str().unwrap().to_owned(),
                _ => item.to_string(),
            };
            assert_eq!(kept, Some(given), "{path:?}");
            kinds.push(kind);
            encrypted.extend(item["encrypted_content"].as_str().map(str::len).filter(|_| kind == "reasoning"));
        }
        let oracle = expectation(&path);
        assert_eq!(json!(kinds), oracle.get("blocks").cloned().unwrap_or(json!([])), "{path:?}");
        // Not the hash: OpenAI encrypts anew for the closing event, from which the expectation is taken.
        let lengths: Vec<_> = oracle["signatures"].as_array().into_iter().flatten().map(|given| given["len"].clone()).collect();
        assert_eq!(json!(encrypted), json!(lengths), "{path:?}");
        seen += 1;
    }
    println!("{}", if seen == 0 { "skipped: no recordings at hand".to_owned() } else { format!("played {seen} streams") });
}

/// What a request's items say: calls with their arguments read, results, what is encrypted.
fn said(input: &Value) -> (Vec<Value>, Vec<Value>) {
    let mut calls = Vec::new();
    let mut encrypted = Vec::new();
    for item in input.as_array().unwrap() {
        match item["type"].as_str() {
            Some("function_call") => {
                let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
                calls.push(json!([item["call_id"], item["name"], arguments]));
            }
            Some("function_call_output") => calls.push(json!([item["call_id"], item["output"]])),
            Some("reasoning") => encrypted.push(item["encrypted_content"].clone()),
            _ => {}
        }
    }
    (calls, encrypted)
}

#[test]
fn loops_go_back_as_they_were_sent() {
    let mut compared = 0;
    for folder in loops("responses-").iter().filter_map(|api| folder(api)) {
        // Of the others, the client renamed the calls.
        if json_of(&folder.join("loop.json"))["linked"] != true {
            continue;
        }
        let mut messages = vec![Arc::new(Message::user("hi", 0))];
        for (turn, stream) in (1..).zip(streams(&folder)) {
            let body = json_of(&folder.join(format!("{turn:02}.request.json")))["body"].clone();
            let results = body["input"].as_array().unwrap();
            // The results of the turn before.
            let last = messages.last().cloned();
            for call in last.iter().filter_map(|last| last.as_assistant()).flat_map(|last| last.tool_calls()) {
                let of_call = |item: &&Value| item["type"] == "function_call_output" && item["call_id"] == json!(call.id);
                let output = results.iter().rfind(of_call).unwrap()["output"].as_str().unwrap();
                let content = vec![ContentBlock::text(output)];
                messages.push(Arc::new(Message::ToolResult(ToolResultMessage::new(&call.id, &call.name, content))));
            }
            let request = Request { messages: messages.clone(), ..Request::default() };
            let (ours, theirs) =
                (said(&Fixture::of_protocol("openai_responses").encode(&request)["input"]), said(&body["input"]));
            assert_eq!(ours.0, theirs.0, "{folder:?}: request {turn}");
            // Not all of those clients send reasoning back.
            if !theirs.1.is_empty() && theirs.1.iter().all(Value::is_string) {
                assert_eq!(ours.1, theirs.1, "{folder:?}: request {turn}");
                compared += 1;
            }
            messages.push(Arc::new(Message::Assistant(decode("openai_responses", &std::fs::read(stream).unwrap(), &[]).0)));
        }
    }
    println!(
        "{}",
        if compared == 0 { "skipped: no recordings at hand".to_owned() } else { format!("played {compared} requests") }
    );
}
