//! The agent on a real Restate server: `python3 tests/restate/with_server.py -- cargo test … -- --ignored`

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agent_loop::machine::workflow::MAX_CONVERSATION_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::*;

const NEEDED: &str = "set by tests/restate/with_server.py";

/// The answer to a request without a connection that is kept.
async fn request(method: &str, url: &str, body: Option<Value>) -> (u16, Value) {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let body = body.map_or_else(String::new, |body| body.to_string());
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let head = format!("{method} /{path} HTTP/1.0\r\nhost: {host}\r\naccept: application/json\r\n{kind}");
    let head = format!("{head}content-length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all([head, body].concat().as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

async fn call(session: &str, handler: &str, body: Option<Value>) -> (u16, Value) {
    let url = format!("{}/assistant/{session}/{handler}", std::env::var("RESTATE_INGRESS").expect(NEEDED));
    request("POST", &url, body).await
}

async fn ask(session: &str, handler: &str, body: Option<Value>) -> Value {
    let (status, value) = call(session, handler, body).await;
    assert_eq!(status, 200, "{handler}: {value}");
    value
}

fn prompt(session: &'static str, text: &'static str) -> JoinHandle<Value> {
    tokio::spawn(ask(session, "prompt", Some(json!(text))))
}

async fn pending(session: &str) -> Value {
    loop {
        let state = ask(session, "state", None).await;
        if state["pending"] != json!([]) {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many timers of a session are over: each was a backoff, as nothing here reaches a limit of time.
async fn timers_that_passed(session: &str) -> usize {
    let of =
        format!("select id from sys_invocation where target_service_name = 'assistant' and target_service_key = '{session}'");
    let sql = format!("select entry_json from sys_journal where entry_type = 'Command: Sleep' and id in ({of})");
    let url = format!("{}/query", std::env::var("RESTATE_ADMIN").expect(NEEDED));
    let (status, answer) = request("POST", &url, Some(json!({ "query": sql }))).await;
    assert_eq!(status, 200, "{answer}");
    let wakes_at = |row: &Value| {
        let entry: Value = serde_json::from_str(row["entry_json"].as_str().unwrap()).unwrap();
        entry["Command"]["Sleep"]["wake_up_time"].as_u64().unwrap()
    };
    answer["rows"].as_array().unwrap().iter().map(wakes_at).filter(|&at_ms| at_ms <= steps::now_ms()).count()
}

/// Role and text of each message.
fn summary(result: &Value) -> Vec<String> {
    let text = |message: &Value| {
        format!("{}: {}", message["role"].as_str().unwrap(), message["content"][0]["text"].as_str().unwrap_or("-"))
    };
    result["messages"].as_array().unwrap().iter().map(text).collect()
}

/// A model server that answers in this order; ends with its standard input.
fn mock() -> (Child, String) {
    let calls = |calls: Value| json!({ "message": { "tool_calls": calls } });
    let weather = |id: &str, city: &str| json!({ "name": "weather", "arguments": { "city": city }, "id": id });
    let pay = || calls(json!([{ "name": "pay", "arguments": { "amount": 5 }, "id": "p1" }]));
    let done = || json!({ "message": { "text": "Done." } });
    let once = |body: Value| json!({ "when": { "last": "user" }, "times": 1, "body": body });
    let script = json!({ "answers": [
        { "when": { "last": "tool_result" }, "body": done() },
        once(calls(json!([weather("c1", "Oslo"), weather("c2", "Rome")]))),
        once(json!({ "error": "overloaded" })),
        once(done()),
        once(pay()),
        once(done()),
        once(pay()),
    ] });
    let file = std::env::temp_dir().join(format!("agent-loop-restate-{}.json", std::process::id()));
    std::fs::write(&file, script.to_string()).unwrap();
    let program = std::env::var("AGENT_MOCK").unwrap_or_else(|_| "../../target/ci/agent-mock".to_owned());
    let mut mock = Command::new(program).arg(&file).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(mock.stdout.take().unwrap()).read_line(&mut url).unwrap();
    std::fs::remove_file(file).unwrap();
    (mock, format!("{}/v1", url.trim()))
}

/// A worker; aborting the task closes its connections, as the death of a process does.
async fn worker(address: &str, base_url: &str) -> (JoinHandle<()>, String) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let endpoint = endpoint(ModelSpec::parse("openai-compatible/m").unwrap(), Some(base_url)).unwrap();
    (tokio::spawn(HttpServer::new(endpoint).serve(listener)), address)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Restate server: tests/restate/with_server.py"]
async fn conversations_outlive_their_worker() {
    let (mut mock, base_url) = mock();
    let (first, address) = worker("127.0.0.1:0", &base_url).await;
    let deployments = format!("{}/deployments", std::env::var("RESTATE_ADMIN").expect(NEEDED));
    let (status, answer) = request("POST", &deployments, Some(json!({ "uri": format!("http://{address}") }))).await;
    assert_eq!(status, 201, "{answer}");

    let result = prompt("oslo", "Rain in Oslo?").await.unwrap();
    let (oslo, rome) = ("tool_result: rain in Oslo", "tool_result: rain in Rome");
    assert_eq!(summary(&result), ["user: Rain in Oslo?", "assistant: -", oslo, rome, "assistant: Done."]);
    // The model fails once.
    let result = prompt("oslo", "And tomorrow?").await.unwrap();
    assert_eq!((&result["outcome"], &result["text"]), (&json!("completed"), &json!("Done.")), "{result}");
    assert_eq!(timers_that_passed("oslo").await, 1);

    // It waits for a decision; the worker is lost meanwhile.
    let waits = prompt("ann", "Pay.");
    assert_eq!(pending("ann").await["pending"][0]["tool_call_id"], "p1");
    assert_eq!(ask("ann", "follow_up", Some(json!("Thanks."))).await, "joined");
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let (_second, _) = worker(&address, &base_url).await;
    ask("ann", "decide", Some(json!({ "p1": "approve" }))).await;
    let paid = "tool_result: paid 5 as assistant/ann/1/1/p1";
    let result = waits.await.unwrap();
    assert_eq!(summary(&result), [paid, "assistant: Done.", "user: Thanks.", "assistant: Done."]);

    // An abort denies calls that wait.
    let waits = prompt("bob", "Pay.");
    pending("bob").await;
    assert_eq!(ask("bob", "abort", None).await, true);
    assert_eq!(waits.await.unwrap()["outcome"], "aborted");
    assert_eq!(ask("bob", "abort", None).await, false);
    assert_eq!(ask("bob", "steer", Some(json!("In cash."))).await, "queued");

    // A message that there is no room for is refused.
    let long = "m".repeat(MAX_CONVERSATION_BYTES);
    for handler in ["prompt", "steer"] {
        let (status, value) = call("carl", handler, Some(json!(long))).await;
        assert_eq!(status, 413, "{handler}: {value}");
        assert!(
            value["message"].as_str().unwrap().starts_with("the conversation would have 31457282 bytes with this"),
            "{value}"
        );
    }
    assert_eq!(ask("carl", "state", None).await["waiting"], json!([]));

    drop(mock.stdin.take());
    mock.wait().unwrap();
}
