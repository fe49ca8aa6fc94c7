//! Which requests an answer is for.

use std::fmt;

use serde::Deserialize;

use crate::Request;

/// Conditions on a request; those that are given must all hold. `user_messages`, `last` and `tools` look into the JSON of a
/// request in one of the four formats and hold for no other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    method: Option<String>,
    path: Option<String>,
    user_messages: Option<usize>,
    last: Option<Last>,
    tools: Option<bool>,
}

/// What the last message of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Last {
    /// The user said something.
    User,
    /// The assistant's own message.
    Assistant,
    /// Results of tools and no words of the user: role `tool` in Chat, a user message of `tool_result` blocks in Messages,
    /// a `function_call_output` in Responses, a user turn of `functionResponse` parts in Gemini.
    ToolResult,
    /// Any other role.
    System,
}

impl When {
    /// No condition: every request fits.
    pub fn new() -> When {
        When::default()
    }

    /// The method, in any case.
    pub fn method(mut self, method: impl Into<String>) -> When {
        self.method = Some(method.into());
        self
    }

    /// The whole path. The query does not matter, unless the condition has one too.
    pub fn path(mut self, path: impl Into<String>) -> When {
        self.path = Some(path.into());
        self
    }

    /// How many messages are the user's; a message that only carries tool results is not.
    pub fn user_messages(mut self, count: usize) -> When {
        self.user_messages = Some(count);
        self
    }

    /// What the last message is.
    pub fn last(mut self, last: Last) -> When {
        self.last = Some(last);
        self
    }

    /// Whether tools are offered.
    pub fn tools(mut self, offered: bool) -> When {
        self.tools = Some(offered);
        self
    }

    /// The first condition that does not hold, as the script has it; `None` if the request fits.
    pub(crate) fn unmet(&self, request: &Request) -> Option<String> {
        if let Some(method) = &self.method
            && !method.eq_ignore_ascii_case(&request.method)
        {
            return Some(format!("method {method}"));
        }
        if let Some(path) = &self.path {
            let asked = if path.contains('?') { &request.path } else { request.path_without_query() };
            if asked != path {
                return Some(format!("path {path}"));
            }
        }
        let conversation = request.conversation();
        if let Some(count) = self.user_messages
            && conversation.is_none_or(|it| it.user_messages != count)
        {
            return Some(format!("user_messages {count}"));
        }
        if let Some(last) = self.last
            && conversation.is_none_or(|it| it.last != Some(last))
        {
            return Some(format!("last {last}"));
        }
        if let Some(offered) = self.tools
            && conversation.is_none_or(|it| it.tools != offered)
        {
            return Some(format!("tools {offered}"));
        }
        None
    }
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Last::User => "user",
            Last::Assistant => "assistant",
            Last::ToolResult => "tool_result",
            Last::System => "system",
        })
    }
}
