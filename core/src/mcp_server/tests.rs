//! Tests of a server over channels. Those with clients of others, over standard input and output: tests/mcp/serving.py.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::message::Message;
use super::server::Server;
use crate::agent::Agent;
use crate::cancel::CancelToken;
use crate::error::ErrorKind;
use crate::hook::ToolDecision;
use crate::mcp::McpServing;
use crate::tool::FnTool;

/// A client of a server.
struct Client {
    lines: mpsc::Sender<Vec<u8>>,
    messages: mpsc::Receiver<Value>,
    serving: tokio::task::JoinHandle<()>,
}

impl Client {
    fn of(agent: &Agent, serving: McpServing) -> Client {
        let server = Arc::new(Server::new(agent, serving).unwrap());
        let ((lines, input), (output, messages)) = (mpsc::channel(9), mpsc::channel(9));
        Client { lines, messages, serving: tokio::spawn(server.serve(input, output, CancelToken::new())) }
    }

    async fn send(&self, message: Value) {
        self.lines.send(message.to_string().into_bytes()).await.unwrap();
    }

    async fn call(&self, id: u32, name: &str, arguments: Value) {
        let params = json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": id } });
        self.send(json!({ "id": id, "method": "tools/call", "params": params })).await;
    }

    /// The next message that is no progress.
    async fn next(&mut self) -> Value {
        loop {
            let message = self.messages.recv().await.unwrap();
            if message["method"] != "notifications/progress" {
                return message;
            }
        }
    }

    /// The text of the next result, an error's after `!`.
    async fn result(&mut self) -> String {
        let message = self.next().await;
        let result = &message["result"];
        let mark = if result["isError"] == true { "!" } else { "" };
        format!("{mark}{}", result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}")))
    }
}

fn model(turns: &[Value]) -> String {
    json!({ "provider": "scripted", "id": "s", "script": turns }).to_string()
}

fn says(text: &str) -> Value {
    json!([{ "delta": text }, { "end": "stop" }])
}

fn calls(name: &str) -> Value {
    json!([{ "delta": { "tool_call": { "id": name, "name": name, "arguments": {} } } }, { "end": "tool_use" }])
}

/// A tool that waits until it is cancelled.
fn wait() -> FnTool {
    let wait = |_, context: crate::tool::ToolContext| async move {
        context.update(json!("it waits"));
        context.cancel_token().cancelled().await;
        Err::<Value, _>("it was cancelled")
    };
    FnTool::new("wait", "", json!({ "type": "object" }), wait).unwrap()
}

#[tokio::test]
async fn a_call_is_a_run_of_its_own_and_says_how_it_ends() {
    let agent = Agent::builder(
        model(&[says("one"), says("two"), json!([{ "error": { "kind": "provider", "message": "no" } }])]).as_str(),
    );
    let agent = agent.max_retries(0).build().unwrap();
    let mut client = Client::of(&agent, McpServing::new());
    for expected in ["one", "two"] {
        client.call(1, "ask", json!({ "prompt": "x" })).await;
        assert_eq!(client.result().await, expected);
    }
    client.call(3, "ask", json!({ "prompt": "x" })).await;
    assert!(client.result().await.starts_with("!the subagent has no answer: "));
    client.call(4, "ask", json!({ "prompt": 5 })).await;
    assert_eq!(client.result().await, "!prompt: expected a text that is not empty");
    assert!(agent.messages().is_empty(), "none of them was the agent's own");
}

#[tokio::test]
async fn a_kept_conversation_goes_on_and_calls_take_turns() {
    let agent = Agent::builder(model(&[says("one"), says("two")]).as_str()).build().unwrap();
    let mut client = Client::of(&agent, McpServing::new().name("desk").keep_conversation(true));
    client.call(1, "desk", json!({ "prompt": "x" })).await;
    client.call(2, "desk", json!({ "prompt": "x" })).await;
    let mut got = [client.result().await, client.result().await];
    got.sort();
    assert_eq!(got, ["one", "two"]);
    assert_eq!(agent.messages().len(), 4);
}

#[tokio::test]
async fn a_cancelled_call_is_aborted_and_gets_no_answer() {
    let agent = Agent::builder(model(&[calls("wait"), calls("wait")]).as_str()).tool(wait()).build().unwrap();
    let mut client = Client::of(&agent, McpServing::new());
    for id in [7, 8] {
        client.call(id, "ask", json!({ "prompt": "x" })).await;
        while client.messages.recv().await.unwrap()["params"]["message"] != "it waits" {}
        if id == 7 {
            client.send(json!({ "method": "notifications/cancelled", "params": { "requestId": 7 } })).await;
            client.send(json!({ "id": "p", "method": "ping" })).await;
            assert_eq!(client.next().await, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
        }
    }
    // The end of the input ends the other one, too.
    drop(client.lines);
    client.serving.await.unwrap();
    while let Some(message) = client.messages.recv().await {
        assert_eq!(message["method"], "notifications/progress", "{message}");
    }
}

#[tokio::test]
async fn the_tools_of_the_agent_are_called_with_all_that_stands_around_them() {
    let add = FnTool::new("add", "Adds.", json!({ "type": "object", "required": ["a"] }), |given, _| async move {
        Ok::<_, String>(json!(format!("{}", given["a"])))
    });
    let pay = FnTool::new("pay", "", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("paid")) });
    let agent = Agent::builder(model(&[]).as_str())
        .tool(add.unwrap())
        .tool(pay.unwrap())
        .before_tool_call(|call, _context| async move {
            Ok::<_, String>(match call.tool_name.as_str() {
                "pay" => ToolDecision::suspend("is it right?"),
                _ => ToolDecision::Allow,
            })
        })
        .build()
        .unwrap();
    let mut client = Client::of(&agent, McpServing::new().tools(true));
    client.send(json!({ "id": 0, "method": "tools/list" })).await;
    let listed = client.next().await["result"]["tools"].clone();
    assert_eq!(
        (&listed[0]["name"], &listed[1]["description"], &listed[2]["name"]),
        (&json!("ask"), &json!("Adds."), &json!("pay"))
    );
    client.call(1, "add", json!({ "a": 5 })).await;
    assert_eq!(client.result().await, "5");
    client.call(2, "add", json!({})).await;
    assert!(client.result().await.starts_with("!the arguments of add do not fit"));
    client.call(3, "pay", json!({})).await;
    assert_eq!(
        client.result().await,
        "!the tool needs an approval, which a client of MCP cannot give; serve the agent without this tool"
    );
    client.call(4, "no", json!({})).await;
    assert_eq!(client.next().await["error"], json!({ "code": -32602, "message": "there is no tool named \"no\" here" }));
    client.send(json!({ "id": 5, "method": "resources/list" })).await;
    assert_eq!(client.next().await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_version_is_agreed_on_and_a_name_that_is_taken_is_refused() {
    let agent = Agent::builder(model(&[]).as_str()).tool(wait()).build().unwrap();
    let mut client = Client::of(&agent, McpServing::new().server_name("s"));
    for (asked, given) in [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")] {
        client.send(json!({ "id": 1, "method": "initialize", "params": { "protocolVersion": asked } })).await;
        let result = client.next().await["result"].clone();
        assert_eq!((&result["protocolVersion"], &result["serverInfo"]["name"]), (&json!(given), &json!("s")));
    }
    let error = Server::new(&agent, McpServing::new().name("wait").tools(true)).err().unwrap();
    let text = "name: the agent has a tool named \"wait\", which is served, too; give the agent another name";
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
    assert_eq!(Server::new(&agent, McpServing::new().name("a b")).err().unwrap().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn what_is_no_message_is_answered_with_an_error() {
    for (line, code) in [("x", -32700), ("[]", -32600), ("{}", -32600), (r#"{"id":null,"method":"ping"}"#, -32600)] {
        match Message::read(line.as_bytes()) {
            Message::Wrong(answer) => assert_eq!(answer["error"]["code"], code, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert_eq!(Message::read(br#"{"id":1,"result":{}}"#), Message::Response);
}

#[test]
fn the_files_of_a_result_are_blocks_of_mcp() {
    let content = json!([
        { "type": "text", "text": "a" },
        { "type": "image", "data": "QQ==", "mime_type": "image/png" },
        { "type": "document", "data": "QQ==", "mime_type": "application/pdf", "name": "a.pdf" },
        { "type": "image", "url": "https://h/cat.png" },
    ]);
    let expected = json!({ "isError": false, "content": [
        { "type": "text", "text": "a" },
        { "type": "image", "data": "QQ==", "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "document:a.pdf", "mimeType": "application/pdf", "blob": "QQ==" } },
        { "type": "resource_link", "uri": "https://h/cat.png", "name": "https://h/cat.png" },
    ] });
    assert_eq!(super::message::result(&content, false, None), expected);
}
