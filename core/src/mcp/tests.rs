//! Tests of the odd cases, with the server of tests/mcp/scripted_server.py. Those with servers of others: tests/rust/mcp.rs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::content;
use super::names::{free, valid};
use super::{McpApproval, McpOffer, McpServer, McpServers, SharedServers};
use crate::agent::Agent;
use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::ErrorKind;
use crate::event::{Event, EventData};
use crate::hook::{McpElicited, McpSampled};
use crate::result::RunResult;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/mcp/scripted_server.py");

fn server(tools: &[&str]) -> McpServer {
    McpServer::command("python3").args([&[SERVER], tools].concat())
}

/// A model that calls these tools without arguments, each in a turn of its own, and then ends.
fn model(calls: &[&str]) -> String {
    let turn = |(at, name): (usize, &&str)| {
        let call = json!({ "id": format!("c{at}"), "name": name, "arguments": {} });
        json!([{ "delta": { "tool_call": call } }, { "end": "tool_use" }])
    };
    let mut script: Vec<Value> = calls.iter().enumerate().map(turn).collect();
    script.push(json!([{ "delta": "done" }, { "end": "stop" }]));
    json!({ "provider": "scripted", "id": "s", "script": script }).to_string()
}

/// The texts of the results, errors after `!`.
fn results(result: &RunResult) -> Vec<String> {
    let of = |message: &Arc<crate::message::Message>| {
        let json = serde_json::to_value(&**message).unwrap();
        let mark = if json["is_error"] == true { "!" } else { "" };
        (message.role() == "tool_result").then(|| format!("{mark}{}", message.text()))
    };
    result.messages.iter().filter_map(of).collect()
}

fn tools(agent: &Agent) -> Vec<String> {
    serde_json::from_value(agent.state_json()["tools"].clone()).unwrap()
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_an_error_result_and_is_started_again() {
    let agent = Agent::builder(model(&["a", "die", "a"]).as_str()).mcp([server(&["a", "die"])]).build().unwrap();
    let got = results(&agent.prompt("x").await.unwrap());
    assert_eq!((&*got[0], &*got[2]), ("a", "a"));
    let text = "!the MCP server python3: it has closed the connection; its standard error ends with: the end is near; whether it \
                has done what was asked is not known";
    assert_eq!(got[1], text);
}

#[tokio::test]
async fn a_changed_list_counts_in_the_next_turn() {
    let agent = Agent::builder(model(&["grown", "grow", "grown"]).as_str()).mcp([server(&["grow"])]).build().unwrap();
    let got = results(&agent.prompt("x").await.unwrap());
    assert!(got[0].starts_with('!') && got[0].contains("grow"), "{}", got[0]);
    assert_eq!(got[1..], ["grow", "grown"]);
    assert_eq!(tools(&agent), ["grow", "grown"]);
}

#[tokio::test]
async fn names_that_are_taken_get_the_server_s_before_them() {
    let own = crate::tool::FnTool::new("a", "", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("own")) });
    let servers = [server(&["a", "b"]), server(&["b", "c d"]).name("second"), server(&["b"]).name("second")];
    let agent = Agent::builder(model(&["a", "odd_server_a", "second_b"]).as_str()).tool(own.unwrap()).mcp(servers);
    let agent = agent.build().unwrap();
    agent.connect_mcp().await.unwrap();
    assert_eq!(tools(&agent), ["a", "odd_server_a", "b", "second_b", "c_d", "second_b_2"]);
    assert_eq!(results(&agent.prompt("x").await.unwrap()), ["own", "a", "b"]);
}

#[tokio::test]
async fn which_tools_are_offered_and_which_need_approval_is_configured() {
    let all = ["a", "harmless", "b", "broken"];
    let offered = async |server: McpServer| {
        let agent = Agent::builder(model(&["x_a"]).as_str()).mcp([server]).build().unwrap();
        agent.connect_mcp().await.unwrap();
        (tools(&agent), agent)
    };
    assert_eq!(offered(server(&all)).await.0, ["a", "harmless", "b"], "one whose schema is none is left out");
    assert_eq!(offered(server(&all).include(["b", "a"]).exclude(["a"])).await.0, ["b"]);
    let (names, agent) = offered(server(&all).prefix("x_").approval(McpApproval::Destructive)).await;
    assert_eq!(names, ["x_a", "x_harmless", "x_b"]);
    assert_eq!(agent.prompt("x").await.unwrap().outcome.as_str(), "suspended");
    let (_, agent) = offered(server(&all).prefix("x_").approval(McpApproval::Tools(vec!["b".into()]))).await;
    assert_eq!(agent.prompt("x").await.unwrap().outcome.as_str(), "completed");
}

#[tokio::test]
async fn a_name_that_is_none_of_its_tools_is_an_error() {
    for (server, field) in [
        (server(&["a", "b"]).approval(McpApproval::Tools(vec!["x_a".into()])).prefix("x_"), "approval"),
        (server(&["a", "b"]).exclude(["x_a"]), "exclude"),
        (server(&["a", "b"]).include(["a", "x_a"]), "include"),
    ] {
        let agent = Agent::builder(model(&[]).as_str()).mcp([server]).build().unwrap();
        let error = agent.connect_mcp().await.unwrap_err();
        let text = format!("the MCP server python3: {field}: it has no tool named \"x_a\"; its tools are: a, b");
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, &*text));
    }
}

#[tokio::test]
async fn a_name_of_what_is_not_offered_is_an_error() {
    let extras = || server(&["a"]).offer([McpOffer::Resources]);
    for (server, text) in [
        (extras().exclude(["a"]), "exclude: it has no tool named \"a\"; no tools of it are offered"),
        (extras().include(["read_resource"]), "include: it has no tool named \"read_resource\"; no tools of it are offered"),
        (
            extras().approval(McpApproval::Tools(vec!["typo".into()])),
            "approval: it has no tool named \"typo\"; its tools are: list_resources, read_resource",
        ),
    ] {
        let agent = Agent::builder(model(&[]).as_str()).mcp([server]).build().unwrap();
        let error = agent.connect_mcp().await.unwrap_err();
        assert_eq!(error.message(), format!("the MCP server python3: {text}"));
    }
}

#[tokio::test]
async fn calls_for_resources_and_prompts_wait_for_a_decision_where_all_do_or_they_are_named() {
    let waiting = async |approval: McpApproval| {
        let server = server(&["a"]).offer([McpOffer::Tools, McpOffer::Resources, McpOffer::Prompts]).approval(approval);
        let agent = Agent::builder(model(&["odd_server_list_resources"]).as_str()).mcp([server]).build().unwrap();
        let listed = agent.mcp_tools().await.unwrap();
        let waiting = listed.into_iter().filter(|tool| tool.needs_approval).map(|tool| tool.name);
        (waiting.collect::<Vec<_>>(), agent)
    };
    let all = ["a", "list_resources", "read_resource", "list_prompts", "get_prompt"];
    let all: Vec<String> = all.iter().map(|name| if *name == "a" { "a".into() } else { format!("odd_server_{name}") }).collect();
    let (found, agent) = waiting(McpApproval::Always).await;
    assert_eq!(found, all);
    assert_eq!(agent.prompt("x").await.unwrap().outcome.as_str(), "suspended");
    assert_eq!(waiting(McpApproval::Destructive).await.0, ["a"]);
    assert_eq!(waiting(McpApproval::Tools(vec!["read_resource".into()])).await.0, ["odd_server_read_resource"]);
}

#[tokio::test]
async fn an_agent_that_takes_over_has_the_tools_of_its_servers() {
    let other = Agent::builder(model(&["a"]).as_str()).mcp([server(&["a"])]).build().unwrap();
    let agent = Agent::builder(model(&["other"]).as_str()).tool(other.as_handoff("other", "").unwrap()).build().unwrap();
    let result = agent.prompt("x").await.unwrap();
    assert_eq!((result.outcome.as_str(), &*results(&result)[1]), ("completed", "a"));
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_result() {
    let agent = Agent::builder(model(&["count"]).as_str()).mcp([server(&["count"])]).build().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let _subscription = agent.subscribe(move |event: &Event| match &event.data {
        EventData::ToolExecutionUpdate { partial_result, .. } => {
            let json = serde_json::to_value(partial_result).unwrap();
            noted.lock().unwrap().push(json["content"][0]["text"].as_str().unwrap().to_owned());
        }
        EventData::ToolExecutionEnd { .. } => noted.lock().unwrap().push("end".to_owned()),
        _ => {}
    });
    agent.prompt("x").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["1 of 3", "2 of 3", "3 of 3", "end"]);
}

#[tokio::test]
async fn an_abort_cancels_the_call_and_a_refusal_is_an_error_result() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let server = server(&["wait", "refuse"]).env("NOTES", notes.to_string_lossy());
    let agent = Agent::builder(model(&["refuse", "wait"]).as_str()).mcp([server]).build().unwrap();
    let aborting = agent.clone();
    let _subscription = agent.subscribe(move |event: &Event| {
        if matches!(&event.data, EventData::ToolExecutionUpdate { .. }) {
            aborting.abort();
        }
    });
    let result = agent.prompt("x").await.unwrap();
    assert_eq!(result.outcome.as_str(), "aborted");
    assert_eq!(results(&result)[0], "!the MCP server python3: not today (-32603)");
    while std::fs::read_to_string(&notes).unwrap() != "started\ncancelled\n" {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// A model that calls these tools with arguments.
fn model_with(calls: &[(&str, Value)]) -> String {
    let turn = |(at, (name, arguments)): (usize, &(&str, Value))| {
        let call = json!({ "id": format!("c{at}"), "name": name, "arguments": arguments });
        json!([{ "delta": { "tool_call": call } }, { "end": "tool_use" }])
    };
    let mut script: Vec<Value> = calls.iter().enumerate().map(turn).collect();
    script.push(json!([{ "delta": "done" }, { "end": "stop" }]));
    json!({ "provider": "scripted", "id": "s", "script": script }).to_string()
}

fn sampling() -> Value {
    let messages = json!([
        { "role": "user", "content": { "type": "text", "text": "Which" } },
        { "role": "user", "content": [{ "type": "text", "text": "city?" }] },
    ]);
    json!({ "messages": messages, "systemPrompt": "Be brief.", "maxTokens": 9, "temperature": 0.5 })
}

fn elicitation() -> Value {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!({ "message": "Which city?", "requestedSchema": schema })
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn without_hooks_nothing_is_announced_and_what_servers_ask_for_is_refused() {
    let calls = [("capabilities", json!({})), ("sample", sampling()), ("elicit", elicitation())];
    let agent = Agent::builder(model_with(&calls).as_str()).mcp([server(&["capabilities", "sample", "elicit"])]);
    let got = results(&agent.build().unwrap().prompt("x").await.unwrap());
    assert_eq!(got[0], "{}");
    assert_eq!(parsed(&got[1])["code"], -32601);
    assert_eq!(parsed(&got[2])["code"], -32601);
}

#[tokio::test]
async fn hooks_answer_what_servers_ask_for() {
    let (first, second) = (sampling(), sampling());
    let calls =
        [("capabilities", json!({})), ("sample", first), ("sample", second), ("sample", sampling()), ("elicit", elicitation())];
    let count = AtomicU32::new(0);
    let agent = Agent::builder(model_with(&calls).as_str())
        .mcp([server(&["capabilities", "sample", "elicit"]).name("odd")])
        .on_mcp_sampling(move |asked, _context| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            async move {
                assert_eq!((&*asked.server, &*asked.prompt, asked.max_tokens), ("odd", "Which\ncity?", 9));
                assert_eq!((asked.system_prompt.as_deref(), &asked.request["temperature"]), (Some("Be brief."), &json!(0.5)));
                let result = json!({ "content": { "type": "text", "text": "Bergen" }, "model": "m", "stopReason": "maxTokens" });
                Ok::<_, String>(match number {
                    0 => McpSampled::text("Oslo"),
                    1 => McpSampled::Result { result: result.as_object().unwrap().clone() },
                    _ => McpSampled::Refuse,
                })
            }
        })
        .on_mcp_elicitation(|asked, _context| async move {
            assert_eq!((&*asked.server, &*asked.message), ("odd", "Which city?"));
            assert_eq!(asked.requested_schema["properties"]["city"]["type"], "string");
            let content = json!({ "city": "Oslo" });
            Ok::<_, String>(McpElicited::Accept { content: content.as_object().unwrap().clone() })
        })
        .build()
        .unwrap();
    let got = results(&agent.prompt("x").await.unwrap());
    assert_eq!(parsed(&got[0]), json!({ "sampling": {}, "elicitation": { "form": {} } }));
    let text = |text: &str| json!({ "type": "text", "text": text });
    let whole = json!({ "role": "assistant", "content": text("Oslo"), "model": "agent-loop", "stopReason": "endTurn" });
    assert_eq!(parsed(&got[1]), whole);
    let whole = json!({ "role": "assistant", "content": text("Bergen"), "model": "m", "stopReason": "maxTokens" });
    assert_eq!(parsed(&got[2]), whole);
    assert_eq!(parsed(&got[3]), json!({ "code": -1, "message": "the request was refused" }));
    assert_eq!(parsed(&got[4]), json!({ "action": "accept", "content": { "city": "Oslo" } }));
}

#[tokio::test]
async fn a_hook_that_fails_is_an_error_for_the_server_alone() {
    let calls = [("sample", sampling()), ("sample", sampling()), ("elicit", elicitation()), ("elicit", json!({ "mode": "url" }))];
    let count = AtomicU32::new(0);
    let agent = Agent::builder(model_with(&calls).as_str())
        .mcp([server(&["sample", "elicit"])])
        .on_mcp_sampling(move |_asked, _context| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            async move {
                let wrong = json!({ "content": 5 }).as_object().unwrap().clone();
                if number == 0 { Err("secret") } else { Ok(McpSampled::Result { result: wrong }) }
            }
        })
        .on_mcp_elicitation(|_asked, _context| async move {
            assert!(std::hint::black_box(false), "secret");
            Ok::<_, String>(McpElicited::Cancel)
        })
        .build()
        .unwrap();
    let result = agent.prompt("x").await.unwrap();
    assert_eq!(result.outcome.as_str(), "completed");
    let got = results(&result);
    for at in [0, 1] {
        assert_eq!(parsed(&got[at]), json!({ "code": -32603, "message": "on_mcp_sampling failed" }));
    }
    assert_eq!(parsed(&got[2]), json!({ "code": -32603, "message": "on_mcp_elicitation failed" }));
    assert_eq!(parsed(&got[3])["code"], -32602, "{}", got[3]);
}

#[tokio::test]
async fn an_abort_cancels_a_hook_that_a_server_asks() {
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let asked = Mutex::new(Some(asked));
    let agent = Agent::builder(model_with(&[("elicit", elicitation())]).as_str())
        .mcp([server(&["elicit"])])
        .on_mcp_elicitation(move |_asked, context| {
            let token = context.cancel_token().clone();
            let _ = asked.lock().unwrap().take().unwrap().send(token);
            async move {
                // For ever.
                context.sleep(u64::MAX).await;
                std::future::pending::<Result<McpElicited, String>>().await
            }
        })
        .build()
        .unwrap();
    let aborting = agent.clone();
    let aborted = tokio::spawn(async move {
        let token = was_asked.await.unwrap();
        aborting.abort();
        token.cancelled().await;
    });
    assert_eq!(agent.prompt("x").await.unwrap().outcome.as_str(), "aborted");
    aborted.await.unwrap();
}

#[tokio::test]
async fn the_tools_of_servers_are_listed() {
    let own = crate::tool::FnTool::new("a", "", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("own")) });
    let servers = [server(&["a", "harmless", "broken"]).approval(McpApproval::Destructive)];
    let agent = Agent::builder(model(&[]).as_str()).tool(own.unwrap()).mcp(servers).build().unwrap();
    let listed = serde_json::to_value(agent.mcp_tools().await.unwrap()).unwrap();
    let schema = json!({ "type": "object" });
    let first = json!({
        "name": "odd_server_a", "server": "python3", "server_tool": "a", "description": "a", "input_schema": schema,
        "annotations": {}, "needs_approval": true,
    });
    let second = json!({
        "name": "harmless", "server": "python3", "server_tool": "harmless", "description": "harmless", "input_schema": schema,
        "annotations": { "destructiveHint": false }, "needs_approval": false,
    });
    assert_eq!(listed, json!([first, second]));
    assert!(Agent::new(model(&[]).as_str()).unwrap().mcp_tools().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_tool_that_is_left_out_is_logged() {
    let runtime = crate::runtime::Runtime::new().unwrap();
    let records = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&records);
    let function = move |record: crate::log::LogRecord| noted.lock().unwrap().push(serde_json::to_value(&record).unwrap());
    runtime.set_log(crate::log::LogLevel::Warn, Some(Arc::new(function)));
    let agent = Agent::builder(model(&[]).as_str()).runtime(&runtime).mcp([server(&["a", "broken"])]).build().unwrap();
    agent.prompt("x").await.unwrap();
    tokio::task::spawn_blocking(move || runtime.shutdown(std::time::Duration::from_secs(9))).await.unwrap();
    let records = records.lock().unwrap();
    assert_eq!((records.len(), &records[0]["code"]), (1, &json!("mcp_tool_left_out")), "{records:?}");
    assert_eq!(records[0]["data"], json!({ "server": "python3", "tool_name": "broken" }));
}

#[tokio::test]
async fn a_server_is_shared_by_agents_and_started_once() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let server = server(&["a"]).env("NOTES", notes.to_string_lossy());
    for _ in 0..2 {
        let agent = Agent::builder(model(&["a"]).as_str()).mcp([server.clone()]).build().unwrap();
        assert_eq!(results(&agent.prompt("x").await.unwrap()), ["a"]);
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "started\n");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_the_run_s_error_unless_it_is_optional() {
    let gone = || McpServer::command("no-such-program").args(["secret"]);
    let agent = Agent::builder(model(&[]).as_str()).mcp([gone()]).build().unwrap();
    let error = agent.prompt("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let text = "the MCP server no-such-program: the program \"no-such-program\" cannot be started: there is none of that name; \
                install it, or give its path";
    assert_eq!(error.message(), text);
    assert_eq!(agent.messages().len(), 2, "the prompt, and the answer with the error");
    let whole_line = Agent::builder(model(&[]).as_str()).mcp([McpServer::command("python3 server.py")]).build().unwrap();
    let error = whole_line.prompt("x").await.unwrap_err();
    assert!(error.message().ends_with("there is none of that name; give its arguments in args, each as a text of its own"));

    let agent = Agent::builder(model(&["a"]).as_str()).mcp([gone().optional(true), server(&["a"])]).build().unwrap();
    assert_eq!(results(&agent.prompt("x").await.unwrap()), ["a"]);

    let ends = McpServer::command("python3").args(["-c", "import sys; sys.exit('no licence')"]);
    let error = Agent::builder(model(&[]).as_str()).mcp([ends]).build().unwrap().prompt("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    let text = "the MCP server python3: it ended before it was ready; its standard error ends with: no licence";
    assert_eq!(error.message(), text);

    let echo = McpServer::command("echo").args(["hello"]);
    let error = Agent::builder(model(&[]).as_str()).mcp([echo]).build().unwrap().prompt("x").await.unwrap_err();
    let text = "the MCP server echo: it ended before it was ready, and has written no message of MCP: is it an MCP server, and \
                are its args right?";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Connection, text));

    let silent = McpServer::command("python3").args(["-c", "input()"]).connect_timeout_ms(1);
    let error = Agent::builder(model(&[]).as_str()).mcp([silent]).build().unwrap().prompt("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.message(), "the MCP server python3: it was not ready within connect_timeout_ms (1)");

    let address = McpServer::url("http://127.0.0.1:9/mcp?key=secret").name("far");
    let error = Agent::builder(model(&[]).as_str()).mcp([address]).build().unwrap().prompt("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    let text = "the MCP server far: no connection to its url: ";
    assert!(error.message().starts_with(text) && !error.message().contains("secret"), "{error}");
}

/// The address of a server that gives each request the same answer.
async fn answering(head: &'static str, body: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp?key=secret", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 1 << 16];
            let _ = stream.read(&mut request).await;
            let answer = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
            while matches!(stream.read(&mut request).await, Ok(1..)) {}
        }
    });
    address
}

#[tokio::test]
async fn an_address_that_is_no_server_s_is_an_error_that_says_what_to_do() {
    let no_access = "it refuses access: give headers with a valid authorization";
    let no_server = "it does not answer as an MCP server does; is it one, and is the path of its url right?";
    for (head, body, kind, why) in [
        ("401 Unauthorized\r\nwww-authenticate: Bearer", "", ErrorKind::Authentication, no_access),
        ("401 Unauthorized", "", ErrorKind::Authentication, no_access),
        ("403 Forbidden\r\ncontent-type: text/plain", "no", ErrorKind::Authentication, no_access),
        ("404 Not Found\r\ncontent-type: text/plain", "no such page", ErrorKind::Connection, no_server),
        ("200 OK\r\ncontent-type: text/html", "<h1>Welcome</h1>", ErrorKind::Connection, no_server),
        ("200 OK\r\ncontent-type: application/json", "{}", ErrorKind::Connection, no_server),
    ] {
        let server = McpServer::url(answering(head, body).await).name("far");
        let error = Agent::builder(model(&[]).as_str()).mcp([server]).build().unwrap().prompt("x").await.unwrap_err();
        assert_eq!(error.kind(), kind, "{head}: {error}");
        assert!(error.message().starts_with(&format!("the MCP server far: {why}")), "{head}: {error}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}

#[test]
fn names_fit_all_providers() {
    assert_eq!((valid("a.b/c d"), valid(""), valid(&"é".repeat(70))), ("a_b_c_d".into(), "_".into(), "_".repeat(64)));
    let mut taken = BTreeSet::new();
    let long = "n".repeat(64);
    let named: Vec<String> = (0..3).map(|_| free(&long, "s", &mut taken)).collect();
    assert_eq!(named, [long.clone(), format!("s_{}", "n".repeat(62)), format!("s_{}_2", "n".repeat(60))]);
}

#[test]
fn what_cannot_be_shown_is_said() {
    let result = |content: Value| content::of_call(serde_json::from_value(content).unwrap());
    let audio = json!({ "content": [{ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }] });
    let block = json!({ "type": "audio", "data": "AAAA", "mime_type": "audio/wav" });
    assert_eq!(result(audio)["content"][0], block);
    let resource = |kind: &str| {
        let resource = json!({ "uri": "file:///a", "mimeType": kind, "blob": "AAAA" });
        result(json!({ "content": [{ "type": "resource", "resource": resource }] }))["content"][0].clone()
    };
    let pdf = json!({ "type": "document", "data": "AAAA", "mime_type": "application/pdf", "name": "file:///a" });
    assert_eq!(resource("application/pdf"), pdf);
    assert_eq!(resource("audio/wav"), block);
    assert_eq!(resource("video/mp4")["text"], "[resource file:///a: video/mp4, 3 bytes, which cannot be shown here]");
    let structured = result(json!({ "content": [], "structuredContent": { "a": 1 }, "isError": true }));
    assert_eq!(structured["content"][0]["text"], "{\"a\":1}");
    assert_eq!((&structured["details"], &structured["is_error"]), (&json!({ "structured_content": { "a": 1 } }), &json!(true)));
}

#[test]
fn wrong_servers_are_refused_and_no_value_is_shown() {
    let list = "option \"mcp\": expected a list of servers, such as [{\"command\": …, \"args\": […]}, {\"url\": …}]";
    for (given, message) in [
        (json!({ "command": "x" }), list),
        (json!([5]), "option \"mcp\": [0]: expected an object with command or url"),
        (json!([{}]), "option \"mcp\": [0]: expected either command or url"),
        (json!([{ "command": "x", "url": "http://x" }]), "option \"mcp\": [0]: expected either command or url"),
        (
            json!([{ "command": "x", "headers": { "a": "secret" } }]),
            "option \"mcp\": [0]: command: expected the name of a program; headers and oauth are for a url",
        ),
        (json!([{ "url": "http://x", "cwd": "/" }]), "option \"mcp\": [0]: url: args, env and cwd are for a command"),
        (json!([{ "url": "secret" }]), "option \"mcp\": [0]: url: expected an address such as \"https://server.example/mcp\""),
        (
            json!([{ "command": "x", "env": { "K": ["secret"] } }]),
            "option \"mcp\": [0]: env: expected an object of texts, got an object",
        ),
        (
            json!([{ "url": "http://x", "headers": "secret" }]),
            "option \"mcp\": [0]: headers: expected an object of texts, got a text",
        ),
        (json!([{ "command": "x", "args": "secret" }]), "option \"mcp\": [0]: args: expected a list of texts, got a text"),
        (json!([{ "command": "x", "arg": [] }]), "option \"mcp\": [0]: unknown MCP field \"arg\"; did you mean \"args\"?"),
        (
            json!([{ "command": "x", "offer": ["tool"] }]),
            "option \"mcp\": [0]: offer: expected \"tools\", \"resources\" or \"prompts\", got \"tool\"",
        ),
        (
            json!([{ "command": "x", "approval": 1 }]),
            "option \"mcp\": [0]: approval: expected \"never\", \"destructive\", \"always\" or a list of names of tools, got a \
             number",
        ),
        (
            json!([{ "command": "x", "approval": "ask" }]),
            "option \"mcp\": [0]: approval: expected \"never\", \"destructive\", \"always\" or a list of names of tools, got \
             \"ask\"",
        ),
        (
            json!([{ "url": "http://x" }, { "command": ["npx", "secret"] }]),
            "option \"mcp\": [1]: command: expected the name of a program; its arguments go into args, got a list",
        ),
        (
            json!([{ "command": "x", "include": "echo" }]),
            "option \"mcp\": [0]: include: expected a list of names of tools, got a text",
        ),
        (
            json!([{ "command": "x", "timeout_ms": -1 }]),
            "option \"mcp\": [0]: timeout_ms: expected a whole number of milliseconds (0 for no limit), got a number",
        ),
        (json!([{ "command": "x", "optional": "yes" }]), "option \"mcp\": [0]: optional: expected true or false, got a text"),
    ] {
        let error = McpServers::from_option(&given, "mcp", Spelling::Snake).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, message));
    }
    let given = json!([{ "url": "http://x", "connectTimeoutMs": 1, "headers": { "Authorization": "secret" } }]);
    let servers = McpServers::from_option(&given, "mcp", Spelling::Camel).unwrap();
    assert_eq!(format!("{servers:?}"), "McpServers([McpServer(\"http://x\")])");
    let shared = json!([{ "command": "x", "shared": true }, { "command": "x", "shared": true }, { "command": "x" }]);
    let servers = McpServers::from_option(&shared, "mcp", Spelling::Snake).unwrap();
    let runtime = SharedServers::default();
    let servers = servers.shared_in(&runtime).unwrap();
    assert!(servers.shared_in(&runtime).is_none() && servers.shared_in(&SharedServers::default()).is_none());
    assert!(servers.list()[0] == servers.list()[1] && servers.list()[1] != servers.list()[2]);
}
