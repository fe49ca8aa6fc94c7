//! The option `mcp`: servers in JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::description::{Description, McpApproval, McpOffer, Place};
use super::oauth::McpOAuth;
use super::server::McpServer;
use super::servers::McpServers;
use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::option_fields::{self, Field, is_texts};
use crate::transport::header::check_header;

/// The fields with what they take.
const FIELDS: &[Field] = &[
    ("command", Value::is_string, "the name of a program; its arguments go into args"),
    ("args", is_texts, "a list of texts"),
    ("env", is_text_map, "an object of texts"),
    ("cwd", Value::is_string, "the path of a folder"),
    ("url", Value::is_string, "an address such as \"https://server.example/mcp\""),
    ("headers", is_text_map, "an object of texts"),
    ("oauth", |value| value.is_boolean() || value.is_object(), "true or an object"),
    ("name", Value::is_string, "a text"),
    ("prefix", Value::is_string, "a text"),
    ("include", is_texts, "a list of names of tools"),
    ("exclude", is_texts, "a list of names of tools"),
    ("offer", is_texts, "a list of \"tools\", \"resources\" and \"prompts\""),
    ("approval", |value| value.is_string() || is_texts(value), APPROVAL),
    ("timeout_ms", Value::is_u64, "a whole number of milliseconds (0 for no limit)"),
    ("connect_timeout_ms", Value::is_u64, "a whole number of milliseconds (0 for no limit)"),
    ("optional", Value::is_boolean, "true or false"),
    ("shared", Value::is_boolean, "true or false"),
];

const APPROVAL: &str = "\"never\", \"destructive\", \"always\" or a list of names of tools";

fn is_text_map(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.values().all(Value::is_string))
}

/// A server as a host describes it.
#[derive(Deserialize)]
#[serde(default, rename = "strict", deny_unknown_fields)]
struct Given {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    oauth: Value,
    name: Option<String>,
    prefix: String,
    include: Option<Vec<String>>,
    exclude: Vec<String>,
    offer: Vec<String>,
    approval: Value,
    timeout_ms: u64,
    connect_timeout_ms: u64,
    optional: bool,
    shared: bool,
}

impl Default for Given {
    fn default() -> Given {
        Given {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            oauth: Value::Null,
            name: None,
            prefix: String::new(),
            include: None,
            exclude: Vec::new(),
            offer: vec!["tools".to_owned()],
            approval: Value::Null,
            timeout_ms: 0,
            connect_timeout_ms: 30_000,
            optional: false,
            shared: false,
        }
    }
}

impl FromOption for McpServers {
    fn from_option(value: &Value, spelled: &str, spelling: Spelling) -> Result<McpServers, Error> {
        let wanted = || {
            let text = "expected a list of servers, such as [{\"command\": …, \"args\": […]}, {\"url\": …}]";
            Error::invalid_argument(format!("option {spelled:?}: {text}"))
        };
        let list = match value {
            Value::Null => return Ok(McpServers::default()),
            value => value.as_array().ok_or_else(wanted)?,
        };
        let read = |(at, server): (usize, &Value)| {
            McpServer::from_json_spelled(server, spelling)
                .map_err(|error| error.reworded(|why| format!("option {spelled:?}: [{at}]: {why}")))
        };
        Ok(McpServers::from(list.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?))
    }
}

impl McpServer {
    /// Reads a server: `{command, args?, env?, cwd?}` or `{url, headers?, oauth?}`, and for both `{name?, prefix?, include?,
    /// exclude?, offer?, approval?, timeout_ms?, connect_timeout_ms?, optional?, shared?}`. `offer` is a list of `"tools"`,
    /// `"resources"` and `"prompts"`; `approval` is `"never"`, `"destructive"`, `"always"` or a list of names of tools. Those
    /// that are `shared` and described alike are one server for all agents of a runtime.
    ///
    /// ```
    /// use agent_loop::mcp::McpServer;
    /// use serde_json::json;
    ///
    /// let args = ["-y", "@modelcontextprotocol/server-everything"];
    /// let server = McpServer::from_json(&json!({ "command": "npx", "args": args }))?;
    /// # drop(server);
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    ///
    /// # Errors
    /// `invalid_argument`: an unknown, missing or wrong field (names it).
    pub fn from_json(value: &Value) -> Result<McpServer, Error> {
        McpServer::from_json_spelled(value, Spelling::Snake)
    }

    fn from_json_spelled(value: &Value, spelling: Spelling) -> Result<McpServer, Error> {
        let wrong = |text: &str| Error::invalid_argument(text.to_owned());
        let map = value.as_object().ok_or_else(|| wrong("expected an object with command or url"))?.clone();
        let given: Given = option_fields::read("MCP field", map, FIELDS, spelling).map_err(|text| wrong(&text))?;
        let oauth = McpOAuth::from_json(&given.oauth, spelling).map_err(|text| wrong(&text))?;
        let of_process = !given.args.is_empty() || !given.env.is_empty() || given.cwd.is_some();
        let place = match (given.command, given.url) {
            (Some(command), None) if given.headers.is_empty() && oauth.is_none() && !command.is_empty() => {
                let cwd = given.cwd.map(Into::into);
                Place::Process { command, args: given.args, env: given.env, cwd }
            }
            (None, Some(url)) if !of_process => {
                check_url(&url)?;
                given.headers.iter().try_for_each(|(name, value)| check_header(name, value))?;
                let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
                Place::Address { url, headers: given.headers.into_iter().map(lower).collect(), oauth }
            }
            (Some(_), None) => return Err(wrong("command: expected the name of a program; headers and oauth are for a url")),
            (None, Some(_)) => return Err(wrong("url: args, env and cwd are for a command")),
            _ => return Err(wrong("expected either command or url")),
        };
        let offer = given.offer.iter().map(|word| match word.as_str() {
            "tools" => Ok(McpOffer::Tools),
            "resources" => Ok(McpOffer::Resources),
            "prompts" => Ok(McpOffer::Prompts),
            other => Err(wrong(&format!("offer: expected \"tools\", \"resources\" or \"prompts\", got {other:?}"))),
        });
        let description = Description {
            place,
            name: given.name,
            prefix: given.prefix,
            include: given.include,
            exclude: given.exclude,
            offer: offer.collect::<Result<_, _>>()?,
            approval: approval(&given.approval)?,
            timeout_ms: given.timeout_ms,
            connect_timeout_ms: given.connect_timeout_ms,
            optional: given.optional,
            shared: given.shared,
        };
        Ok(McpServer::new(description))
    }
}

fn check_url(url: &str) -> Result<(), Error> {
    match reqwest::Url::parse(url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(()),
        _ => Err(Error::invalid_argument("url: expected an address such as \"https://server.example/mcp\"")),
    }
}

fn approval(value: &Value) -> Result<McpApproval, Error> {
    Ok(match value {
        Value::Null => McpApproval::default(),
        Value::String(word) if word == "never" => McpApproval::Never,
        Value::String(word) if word == "destructive" => McpApproval::Destructive,
        Value::String(word) if word == "always" => McpApproval::Always,
        Value::Array(names) if names.iter().all(Value::is_string) => {
            McpApproval::Tools(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => {
            let text = format!("approval: expected {APPROVAL}, got {value}");
            return Err(Error::invalid_argument(text));
        }
    })
}
