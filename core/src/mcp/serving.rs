//! How an agent is served as a server: see [`Agent::serve_mcp`](crate::Agent::serve_mcp).

#[cfg(feature = "__bindings")]
use serde_json::{Map, Value};

#[cfg(feature = "__bindings")]
use crate::did_you_mean::{Spelling, canonical_names};
#[cfg(feature = "__bindings")]
use crate::error::Error;

/// How an agent is served as a server of the Model Context Protocol: the tool that it is, and what else there is.
///
/// ```
/// use agent_loop::mcp::McpServing;
///
/// let serving = McpServing::new().name("weather_desk").description("Answers questions about the weather.").tools(true);
/// # drop(serving);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServing {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) server_name: String,
    pub(crate) tools: bool,
    pub(crate) keep_conversation: bool,
}

impl Default for McpServing {
    fn default() -> McpServing {
        McpServing {
            name: "ask".to_owned(),
            description: "Asks an agent, and gives its answer.".to_owned(),
            server_name: "agent-loop".to_owned(),
            tools: false,
            keep_conversation: false,
        }
    }
}

impl McpServing {
    /// As one tool, `ask`, each call of which begins a conversation of its own.
    pub fn new() -> McpServing {
        McpServing::default()
    }

    /// The name of the tool that the agent is.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> McpServing {
        self.name = name.into();
        self
    }

    /// What it is described by, for the models of clients.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> McpServing {
        self.description = description.into();
        self
    }

    /// What the server calls itself.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> McpServing {
        self.server_name = name.into();
        self
    }

    /// Whether the agent's own tools are there, too, one by one. Not those of its MCP servers.
    #[must_use]
    pub fn tools(mut self, tools: bool) -> McpServing {
        self.tools = tools;
        self
    }

    /// Whether calls go on with the agent's own conversation, and its session if it has one. They take turns then.
    #[must_use]
    pub fn keep_conversation(mut self, keep: bool) -> McpServing {
        self.keep_conversation = keep;
        self
    }

    /// As hosts describe it in JSON: `{name?, description?, server_name?, tools?, keep_conversation?}`.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown or wrong field (names it).
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    pub fn from_json(given: Map<String, Value>, spelling: Spelling) -> Result<McpServing, Error> {
        const FIELDS: &[&str] = &["name", "description", "server_name", "tools", "keep_conversation"];
        let mut serving = McpServing::new();
        for (name, value) in canonical_names("option", given, FIELDS, spelling)? {
            let spelled = spelling.spell(&name);
            let wrong = |expected: &str| Error::invalid_argument(format!("option {spelled:?}: expected {expected}, got {value}"));
            let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("a text"));
            let flag = || value.as_bool().ok_or_else(|| wrong("true or false"));
            match name.as_str() {
                _ if value.is_null() => {}
                "name" => serving.name = text()?,
                "description" => serving.description = text()?,
                "server_name" => serving.server_name = text()?,
                "tools" => serving.tools = flag()?,
                _ => serving.keep_conversation = flag()?,
            }
        }
        Ok(serving)
    }
}
