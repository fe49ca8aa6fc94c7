//! MCP servers of the command line, and the list of their tools.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::exit;
use crate::failure::Failure;
use crate::settings::{Conversation, Settings};
use crate::show::shortened;

/// The servers of one `--mcp`, as the option `mcp` has them: an address, a JSON file of servers, or a command line.
pub(crate) fn servers_of(given: &str) -> Result<Vec<Value>, Failure> {
    let wrong = |why: String| Failure::usage(format!("--mcp: {given}: {why}"));
    if given.starts_with("http://") || given.starts_with("https://") {
        return Ok(vec![json!({ "url": given })]);
    }
    if given.ends_with(".json") && Path::new(given).is_file() {
        let text = std::fs::read_to_string(given).map_err(|why| wrong(why.to_string()))?;
        let read: Value = serde_json::from_str(&text).map_err(|why| wrong(why.to_string()))?;
        return servers_in(read)
            .ok_or_else(|| wrong("expected a list of servers, or {\"mcpServers\": {name: server}}".to_owned()));
    }
    let mut words = shlex::split(given).ok_or_else(|| wrong("no command line: a quote is not closed".to_owned()))?;
    if words.is_empty() {
        return Err(Failure::usage("--mcp: expected a command line, an address or a JSON file, got an empty text"));
    }
    let command = words.remove(0);
    Ok(vec![json!({ "command": command, "args": words })])
}

/// The servers of a file: our own list, or an object by names, as other programs have it.
fn servers_in(read: Value) -> Option<Vec<Value>> {
    match read {
        Value::Array(servers) => Some(servers),
        Value::Object(mut fields) => {
            let Value::Object(named) = fields.remove("mcpServers")? else { return None };
            let servers = named.into_iter().map(|(name, mut server)| {
                let fields = server.as_object_mut()?;
                // How it is reached is clear from its other fields.
                fields.remove("type");
                fields.insert("name".to_owned(), name.into());
                Some(server)
            });
            servers.collect()
        }
        _ => None,
    }
}

/// Connects to the agent's servers, and lists their tools.
pub(crate) async fn list(settings: &Settings, out: &mut dyn Write) -> Result<u8, Failure> {
    if settings.options.get("mcp").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return Err(Failure::usage("there is no MCP server; name one: --mcp \"npx -y @modelcontextprotocol/server-everything\""));
    }
    let mut settings = settings.with_any_model();
    settings.quiet = true;
    let agent = settings.agent(Conversation::New)?;
    let tools = agent.mcp_tools().await?;
    for tool in &tools {
        match settings.as_json {
            true => writeln!(out, "{}", json!(tool))?,
            false => writeln!(out, "{:<32} {}: {}", tool.name, tool.server, shortened(&tool.description))?,
        }
    }
    agent.close_mcp().await?;
    Ok(exit::COMPLETED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_addresses_or_commands() {
        let of = |given: &str| servers_of(given).unwrap();
        assert_eq!(of("https://server.example/mcp"), [json!({ "url": "https://server.example/mcp" })]);
        assert_eq!(of("npx -y 'a b'"), [json!({ "command": "npx", "args": ["-y", "a b"] })]);
        assert_eq!(servers_of("npx 'a").unwrap_err().code, exit::USAGE);
    }

    #[test]
    fn files_of_other_programs_are_read() {
        let theirs = json!({ "mcpServers": { "files": { "type": "stdio", "command": "npx", "args": [] } } });
        assert_eq!(servers_in(theirs), Some(vec![json!({ "command": "npx", "args": [], "name": "files" })]));
        assert_eq!(servers_in(json!({ "servers": [] })), None);
    }
}
