//! The client that MCP's conformance suite runs: `conformance_client ADDRESS` connects to a server, and calls each of its tools.
//! tests/mcp/conformance.py has the suite. Where a sign-in is wanted, it is a browser that is sent on at once.

use agent_loop::hook::{Hook, McpElicited};
use agent_loop::mcp::{McpOAuth, McpServer};
use agent_loop::{Agent, Error};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args().next_back().expect("an address");
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text).expect("JSON"),
        Err(_) => Value::Null,
    };
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let oauth = match (text("client_id"), text("client_secret")) {
        (Some(id), Some(secret)) if scenario.starts_with("auth/client-credentials") => McpOAuth::client_credentials(id, secret),
        (Some(id), Some(secret)) => McpOAuth::new().client_id(id).client_secret(secret),
        _ => McpOAuth::new().client_metadata_url("https://conformance-test.local/client-metadata.json"),
    };
    let agent = Agent::builder("{\"provider\": \"scripted\", \"id\": \"none\", \"script\": []}")
        .mcp([McpServer::url(url).oauth(oauth)])
        .build()?;
    agent.set_hook(Hook::on_mcp_elicitation(|_, _| async { Ok::<_, String>(McpElicited::Accept { content: Map::new() }) }));
    agent.set_hook(Hook::on_mcp_sign_in(|sign_in, _| async move {
        println!("sign in: {}", sign_in.url);
        let redirected = location(&sign_in.url).await?;
        // The browser goes there, where the engine listens.
        tokio::spawn(async move { location(&redirected).await });
        Ok::<_, String>(None)
    }));
    let tools = agent.mcp_tools().await?;
    let call = |(at, tool): (usize, &agent_loop::mcp::McpToolInfo)| {
        let call = json!({ "id": format!("c{at}"), "name": tool.name, "arguments": arguments(&tool.input_schema) });
        json!([{ "delta": { "tool_call": call } }, { "end": "tool_use" }])
    };
    let mut script: Vec<Value> = tools.iter().enumerate().map(call).collect();
    script.push(json!([{ "delta": "done" }, { "end": "stop" }]));
    agent.set_model(json!({ "provider": "scripted", "id": "s", "script": script }).to_string().as_str())?;
    let result = agent.prompt("Call them all.").await?;
    for message in &result.messages {
        println!("{}", serde_json::to_string(&**message).expect("JSON"));
    }
    agent.close_mcp().await
}

/// A number for each field.
fn arguments(schema: &Value) -> Map<String, Value> {
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    names.map(|name| (name.clone(), json!(2))).collect()
}

/// Where a browser is sent on to.
async fn location(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://").ok_or("not a local address")?;
    let (host, path) = rest.split_once('/').ok_or("no path")?;
    let mut stream = TcpStream::connect(host).await.map_err(|error| error.to_string())?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map_err(|error| error.to_string())?;
    let header = answer.lines().find_map(|line| line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("location")));
    header.map(|(_, value)| value.to_owned()).ok_or_else(|| format!("no redirect: {answer}"))
}
