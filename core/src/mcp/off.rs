//! The option `mcp` in a build without the feature `mcp`.

use serde_json::Value;

use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::Error;

/// No servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct McpServers;

impl FromOption for McpServers {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<McpServers, Error> {
        match value {
            Value::Null => Ok(McpServers),
            _ => Err(Error::invalid_argument(format!("option {spelled:?}: agent-loop was built without its feature mcp"))),
        }
    }
}
