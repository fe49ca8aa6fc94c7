//! What a model says, in no particular wire format: the writers in `speak` put it into the one that was asked for.

use serde::Deserialize;
use serde_json::Value;

/// An assistant message to be streamed.
///
/// In a script either the parts by name (`thinking`, `signature`, `text`, `tool_calls`, said in this order), or a list of blocks
/// under `content`; beside them `stop_reason`, `usage`, `model` and `piece`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Speech {
    pub(crate) said: Vec<Said>,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Tokens,
    pub(crate) model: String,
    pub(crate) piece: usize,
}

/// One block of a message.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Said {
    Thinking {
        thinking: String,
        /// Without one the writers make one up where the service always sends one.
        signature: Option<String>,
    },
    RedactedThinking {
        data: String,
    },
    Text {
        text: String,
    },
    ToolCall(Call),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// Without one, a new id for each answer; Gemini then sends none.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// An object; or a string, which is streamed as it stands (for arguments that are not JSON).
    #[serde(default = "no_arguments")]
    pub(crate) arguments: Value,
}

/// Why the message ends. Each format has its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is finished.
    Stop,
    /// The output limit was reached.
    Length,
    /// The tools are to be called.
    ToolUse,
    /// The model or a filter refused.
    Refusal,
}

/// Tokens as they are reported. `input` does not contain the cached ones, `reasoning` is a part of `output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

impl Default for Tokens {
    fn default() -> Tokens {
        Tokens { input: 25, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 }
    }
}

impl Default for Speech {
    fn default() -> Speech {
        Speech { said: Vec::new(), stop: None, usage: Tokens::default(), model: "mock-model".into(), piece: 16 }
    }
}

impl Speech {
    /// A message that says nothing yet.
    pub fn new() -> Speech {
        Speech::default()
    }

    /// A message of one text.
    pub fn text(text: impl Into<String>) -> Speech {
        Speech::new().and_text(text)
    }

    /// A message of one call. See [`and_call`](Speech::and_call).
    pub fn call(name: impl Into<String>, arguments: impl Into<Value>) -> Speech {
        Speech::new().and_call(name, arguments)
    }

    /// A message that begins with thinking. The signature is made up.
    pub fn thinking(thinking: impl Into<String>) -> Speech {
        Speech::new().and(Said::Thinking { thinking: thinking.into(), signature: None })
    }

    /// Thinking with this signature, which may be empty.
    pub fn signed(thinking: impl Into<String>, signature: impl Into<String>) -> Speech {
        Speech::new().and(Said::Thinking { thinking: thinking.into(), signature: Some(signature.into()) })
    }

    /// Then redacted thinking. Chat and Gemini have none and leave it out.
    pub fn and_redacted_thinking(self, data: impl Into<String>) -> Speech {
        self.and(Said::RedactedThinking { data: data.into() })
    }

    /// Then a text.
    pub fn and_text(self, text: impl Into<String>) -> Speech {
        self.and(Said::Text { text: text.into() })
    }

    /// Then a call, under an id that no other answer has. `arguments` are an object; a string is streamed as it stands.
    pub fn and_call(self, name: impl Into<String>, arguments: impl Into<Value>) -> Speech {
        self.and(Said::ToolCall(Call { id: None, name: name.into(), arguments: arguments.into() }))
    }

    /// Then a call under this id.
    pub fn and_call_with_id(self, id: impl Into<String>, name: impl Into<String>, arguments: impl Into<Value>) -> Speech {
        self.and(Said::ToolCall(Call { id: Some(id.into()), name: name.into(), arguments: arguments.into() }))
    }

    fn and(mut self, said: Said) -> Speech {
        self.said.push(said);
        self
    }

    /// Why it ends. Unless given: because of the calls if there are any, else because it is finished.
    pub fn stop(mut self, stop: Stop) -> Speech {
        self.stop = Some(stop);
        self
    }

    /// What it is said to have cost.
    pub fn usage(mut self, usage: Tokens) -> Speech {
        self.usage = usage;
        self
    }

    /// The model that is said to have answered.
    pub fn model(mut self, model: impl Into<String>) -> Speech {
        self.model = model.into();
        self
    }

    /// How many characters of text, thinking or arguments a delta has; 16 unless given.
    pub fn piece(mut self, characters: usize) -> Speech {
        self.piece = characters;
        self
    }

    pub(crate) fn stop_reason(&self) -> Stop {
        let calls = self.said.iter().any(|said| matches!(said, Said::ToolCall(_)));
        self.stop.unwrap_or(if calls { Stop::ToolUse } else { Stop::Stop })
    }

    /// A text in deltas; an empty one has none.
    pub(crate) fn pieces<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        let size = self.piece.max(1);
        let mut rest = text;
        std::iter::from_fn(move || {
            let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
            let (piece, left) = rest.split_at(end);
            rest = left;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

impl Call {
    /// Its id in answer number `serial`, where it is block number `index`: nine letters and digits, which every service takes.
    pub(crate) fn id(&self, serial: usize, index: usize) -> String {
        self.id.clone().unwrap_or_else(|| format!("m{:06}{:02}", serial % 1_000_000, index % 100))
    }

    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        }
    }
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// A message as scripts have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    content: Option<Vec<Said>>,
    thinking: Option<String>,
    signature: Option<String>,
    text: Option<String>,
    tool_calls: Option<Vec<Call>>,
    stop_reason: Option<Stop>,
    #[serde(default)]
    usage: Tokens,
    model: Option<String>,
    piece: Option<usize>,
}

impl TryFrom<Written> for Speech {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Speech, &'static str> {
        let mut said = Vec::new();
        if written.signature.is_some() && written.thinking.is_none() {
            return Err("a signature is one of thinking: give thinking too, it may be empty");
        }
        said.extend(written.thinking.map(|thinking| Said::Thinking { thinking, signature: written.signature }));
        said.extend(written.text.map(|text| Said::Text { text }));
        said.extend(written.tool_calls.unwrap_or_default().into_iter().map(Said::ToolCall));
        if let Some(content) = written.content {
            if !said.is_empty() {
                return Err("a message has either content (a list of blocks) or thinking, text and tool_calls");
            }
            said = content;
        }
        let plain = Speech::default();
        Ok(Speech {
            said,
            stop: written.stop_reason,
            usage: written.usage,
            model: written.model.unwrap_or(plain.model),
            piece: written.piece.unwrap_or(plain.piece),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_two_ways_to_write_a_message_mean_the_same() {
        let by_name: Speech =
            serde_json::from_value(json!({"thinking": "a", "signature": "s", "text": "b", "tool_calls": [{"name": "c"}]}))
                .unwrap();
        let blocks: Speech = serde_json::from_value(json!({"content": [
            {"type": "thinking", "thinking": "a", "signature": "s"},
            {"type": "text", "text": "b"},
            {"type": "tool_call", "name": "c"},
        ]}))
        .unwrap();
        assert_eq!(by_name, blocks);
        assert_eq!(by_name, Speech::signed("a", "s").and_text("b").and_call("c", json!({})));
        assert_eq!(by_name.stop_reason(), Stop::ToolUse);
    }

    #[test]
    fn text_is_cut_between_characters() {
        let speech = Speech::new().piece(2);
        assert_eq!(speech.pieces("aé€😀b").collect::<Vec<_>>(), ["aé", "€😀", "b"]);
        assert_eq!(speech.pieces("").count(), 0);
    }
}
