//! Each tool of MCP's everything-server, over both transports: tests/mcp/with_server.py has the server.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use agent_loop::event::{Event, EventData};
use agent_loop::hook::{McpElicited, McpSampled};
use agent_loop::mcp::{McpOffer, McpServer};
use agent_loop::{Agent, Message};
use serde_json::{Value, json};

const CALLS: &str = include_str!("../mcp/everything.json");

fn everything() -> [(&'static str, McpServer); 2] {
    let variable = |name| std::env::var(name).expect("run it with tests/mcp/with_server.py");
    let process = McpServer::command("node").args([variable("MCP_EVERYTHING")]);
    [("stdio", process), ("http", McpServer::url(variable("MCP_EVERYTHING_URL")))]
}

/// A model that makes these calls, each in a turn of its own, and then ends.
fn model(calls: &[(&str, Value)]) -> String {
    let turn = |(at, (name, arguments)): (usize, &(&str, Value))| {
        let call = json!({ "id": format!("c{at}"), "name": name, "arguments": arguments });
        json!([{ "delta": { "tool_call": call } }, { "end": "tool_use" }])
    };
    let mut script: Vec<Value> = calls.iter().enumerate().map(turn).collect();
    script.push(json!([{ "delta": "done" }, { "end": "stop" }]));
    json!({ "provider": "scripted", "id": "s", "script": script }).to_string()
}

fn results(messages: &[Arc<Message>]) -> Vec<Value> {
    let messages = messages.iter().map(|message| serde_json::to_value(&**message).unwrap());
    messages.filter(|message| message["role"] == "tool_result").collect()
}

#[tokio::test]
#[ignore = "needs MCP's everything-server"]
async fn each_tool_of_the_everything_server_is_called() {
    let calls: Vec<Value> = serde_json::from_str(CALLS).unwrap();
    let named: Vec<_> = calls.iter().map(|call| (call["tool"].as_str().unwrap(), call["arguments"].clone())).collect();
    for (way, server) in everything() {
        let agent = Agent::builder(model(&named).as_str()).mcp([server]).max_turns(0).build().unwrap();
        let updates = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&updates);
        let _subscription = agent.subscribe(move |event: &Event| {
            if let EventData::ToolExecutionUpdate { tool_name, .. } = &event.data {
                noted.lock().unwrap().push(tool_name.to_string());
            }
        });
        let result = agent.prompt("Call them all.").await.unwrap();
        let offered: BTreeSet<String> = serde_json::from_value(agent.state_json()["tools"].clone()).unwrap();
        assert_eq!(offered, named.iter().map(|(name, _)| (*name).to_owned()).collect(), "{way}");
        let results = results(&result.messages);
        assert_eq!(results.len(), calls.len(), "{way}");
        for (call, result) in calls.iter().zip(&results) {
            let blocks = result["content"].as_array().unwrap();
            let kinds: Vec<&Value> = blocks.iter().map(|block| &block["type"]).collect();
            assert_eq!(json!(kinds), call["blocks"], "{way}: {result}");
            let texts: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            assert!(texts.contains(call["text"].as_str().unwrap()), "{way}: {result}");
            assert_eq!(result["is_error"], call["is_error"] == true, "{way}: {result}");
            if let Some(field) = call["details"].as_str() {
                assert!(result["details"][field].is_object(), "{way}: {result}");
            }
            let updated = updates.lock().unwrap().iter().filter(|name| call["tool"] == name.as_str()).count() as u64;
            assert!(updated >= call["updates"].as_u64().unwrap_or_default(), "{way}: {call}: {updated} updates");
        }
        agent.close_mcp().await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs MCP's everything-server"]
async fn resources_and_prompts_are_tools_when_they_are_asked_for() {
    for (way, server) in everything() {
        let server = server.name("all").offer([McpOffer::Resources, McpOffer::Prompts]);
        let calls = [
            ("all_list_resources", json!({})),
            ("all_read_resource", json!({ "uri": "demo://resource/dynamic/blob/1" })),
            ("all_list_prompts", json!({})),
            ("all_get_prompt", json!({ "name": "args-prompt", "arguments": { "city": "Oslo" } })),
            ("all_get_prompt", json!({ "name": "no-such-prompt" })),
        ];
        let agent = Agent::builder(model(&calls).as_str()).mcp([server]).build().unwrap();
        let result = agent.prompt("Read.").await.unwrap();
        let texts: Vec<String> = result.messages.iter().filter(|m| m.role() == "tool_result").map(|m| m.text()).collect();
        assert!(texts[0].contains("demo://resource/static"), "{way}: {}", texts[0]);
        assert!(texts[1].starts_with("[resource demo://resource/dynamic/blob/1: text/plain, "), "{way}: {}", texts[1]);
        assert!(texts[2].contains("\"name\":\"args-prompt\""), "{way}: {}", texts[2]);
        assert!(texts[3].contains("[user]") && texts[3].contains("Oslo"), "{way}: {}", texts[3]);
        assert!(texts[4].contains("the MCP server all: ") && texts[4].contains("-32602"), "{way}: {}", texts[4]);
    }
}

#[tokio::test]
#[ignore = "needs MCP's everything-server"]
async fn an_abort_ends_a_call() {
    for (way, server) in everything() {
        let calls = [("trigger-long-running-operation", json!({ "duration": 60, "steps": 60 }))];
        let agent = Agent::builder(model(&calls).as_str()).mcp([server]).build().unwrap();
        let aborting = agent.clone();
        let _subscription = agent.subscribe(move |event: &Event| {
            if let EventData::ToolExecutionStart { .. } = &event.data {
                aborting.abort();
            }
        });
        let result = agent.prompt("Take long.").await.unwrap();
        assert_eq!(result.outcome.as_str(), "aborted", "{way}");
    }
}

#[tokio::test]
#[ignore = "needs a server from PyPI"]
async fn a_server_of_the_python_sdk_is_called() {
    let server = McpServer::command(std::env::var("MCP_TIME").expect("run it with tests/mcp/with_server.py"));
    let tokyo = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let calls = [("convert_time", tokyo), ("get_current_time", json!({ "timezone": "Nowhere" }))];
    let agent = Agent::builder(model(&calls).as_str()).mcp([server]).build().unwrap();
    let results = results(&agent.prompt("When?").await.unwrap().messages);
    assert!(results[0]["content"][0]["text"].as_str().unwrap().contains("21:00"), "{}", results[0]);
    assert_eq!(results[1]["is_error"], true, "{}", results[1]);
    agent.close_mcp().await.unwrap();
}

#[tokio::test]
#[ignore = "needs MCP's everything-server"]
async fn the_everything_server_asks_a_model_and_the_user() {
    for (way, server) in everything() {
        let asks = ["trigger-sampling-request", "trigger-elicitation-request"];
        let calls = [(asks[0], json!({ "prompt": "Which city?", "maxTokens": 7 })), (asks[1], json!({}))];
        let agent = Agent::builder(model(&calls).as_str())
            .mcp([server.include(asks)])
            .on_mcp_sampling(|asked, _context| async move {
                Ok::<_, String>(McpSampled::text(format!("{} {} Oslo", asked.prompt, asked.max_tokens)))
            })
            .on_mcp_elicitation(|asked, _context| async move {
                assert!(asked.requested_schema["properties"]["legacyTitledEnum"].is_object());
                let content = json!({ "name": "Ann", "integer": 7 }).as_object().cloned().unwrap_or_default();
                Ok::<_, String>(McpElicited::Accept { content })
            })
            .build()
            .unwrap();
        let listed: Vec<String> = agent.mcp_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(BTreeSet::from_iter(listed), asks.map(str::to_owned).into(), "{way}");
        let results = results(&agent.prompt("Ask.").await.unwrap().messages);
        let text = |at: usize| results[at]["content"].to_string();
        assert!(text(0).contains("context: Which city? 7 Oslo"), "{way}: {}", text(0));
        assert!(text(1).contains("- Name: Ann") && text(1).contains("- Favorite Integer: 7"), "{way}: {}", text(1));
        agent.close_mcp().await.unwrap();
    }
}
