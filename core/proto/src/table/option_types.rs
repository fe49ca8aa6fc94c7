//! What the values of options are: in errors, in the documentation, and in the types of Python and Node.

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// A number with or without a fraction.
    Number,
    /// True or false.
    Flag,
    /// A whole number; what is expected, for errors.
    Whole(&'static str),
    /// Milliseconds.
    Milliseconds,
    /// Milliseconds; 0 for no limit.
    TimeLimit,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Anything else.
    Special {
        /// What is expected, for errors and for the documentation.
        expected: &'static str,
        /// Its type in `options.py`.
        python: &'static str,
        /// Its type in `options.ts`.
        node: &'static str,
    },
}

impl Type {
    /// What is expected, for errors.
    pub fn expected(self) -> String {
        match self {
            Type::Text => "text".to_owned(),
            Type::Texts => "a list of texts".to_owned(),
            Type::Number => "a number".to_owned(),
            Type::Flag => "true or false".to_owned(),
            Type::Milliseconds => "milliseconds".to_owned(),
            Type::TimeLimit => "milliseconds (0 for no limit)".to_owned(),
            Type::Words(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let last = quoted.last().map(String::as_str).unwrap_or_default();
                let first = quoted.get(..quoted.len().saturating_sub(1)).unwrap_or_default();
                if first.is_empty() { last.to_owned() } else { format!("{} or {last}", first.join(", ")) }
            }
            Type::Whole(expected) | Type::Special { expected, .. } => expected.to_owned(),
        }
    }
}

/// The words of the option `thinking_level`.
pub const THINKING_LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh"];
/// The option `model`.
pub const MODEL: Type = Type::Special { expected: "\"provider/id\" or an object", python: "_Model", node: "string | ModelSpec" };
/// The option `fallbacks`.
pub const MODELS: Type =
    Type::Special { expected: "a list of models", python: "Sequence[_Model]", node: "readonly (string | ModelSpec)[]" };
/// The option `messages`.
pub const MESSAGES: Type =
    Type::Special { expected: "an array of messages", python: "_Messages", node: "readonly MessageInput[]" };
/// The option `headers`.
pub const HEADERS: Type =
    Type::Special { expected: "an object of texts", python: "Mapping[str, str]", node: "Record<string, string>" };
/// The option `extra_body`.
pub const EXTRA_BODY: Type =
    Type::Special { expected: "an object of fields", python: "_JsonObject", node: "Record<string, unknown>" };
/// The option `hosted_tools`.
pub const HOSTED_TOOLS: Type =
    Type::Special { expected: "a list of objects", python: "Sequence[_JsonObject]", node: "readonly Record<string, unknown>[]" };
/// The option `system_prompt`. Python and Node make hooks of functions.
pub const SYSTEM_PROMPT: Type = Type::Special { expected: "text", python: "str | _SystemPrompt", node: "string | SystemPrompt" };
/// The option `output`.
pub const OUTPUT: Type = Type::Special {
    expected: "a JSON Schema, or {\"schema\": …, \"name\": …, \"description\": …, \"mode\": …, \"or_text\": …}",
    python: "_Output",
    node: "OutputType",
};
/// The option `limiter`.
pub const LIMITER: Type = Type::Special {
    expected: "true, or {\"requests_per_minute\": …, \"tokens_per_minute\": …, \"max_concurrent\": …, …}",
    python: "Literal[True] | Limiter",
    node: "true | Limiter",
};
/// The option `context`.
pub const CONTEXT: Type = Type::Special {
    expected: "true, or {\"max_tokens\": …, \"keep_last\": …, \"compact\": …, …}",
    python: "Literal[True] | ContextPolicy",
    node: "true | ContextPolicy",
};
/// The option `gate`.
pub const GATE: Type =
    Type::Special { expected: "{\"allow\": [rules], \"ask\": [rules], \"deny\": [rules]}", python: "Gate", node: "Gate" };
/// The option `network`.
pub const NETWORK: Type = Type::Special { expected: "an object", python: "Network", node: "Network" };
/// The option `record`.
pub const RECORD: Type = Type::Special {
    expected: "a path, or {\"path\": …, \"frames\": true}",
    python: "str | PathLike[str] | RecordOptions",
    node: "string | RecordOptions",
};
/// The option `replay`.
pub const REPLAY: Type = Type::Special {
    expected: "a path, or {\"path\": …, \"run\": 2}",
    python: "str | PathLike[str] | ReplayOptions",
    node: "string | ReplayOptions",
};
/// The option `traces`.
pub const TRACES: Type = Type::Special {
    expected: "true or false; in Rust and C also a collector's address",
    python: "bool | _TracerProvider",
    node: "boolean | TracerProvider",
};
/// The option `mcp`.
pub const MCP: Type =
    Type::Special { expected: "a list of servers", python: "Sequence[McpServer]", node: "readonly McpServer[]" };
/// The option `builtin_tools`.
pub const BUILTIN_TOOLS: Type = Type::Special {
    expected: "a list of names, or {\"tools\": […], \"root\": …}",
    python: "Sequence[str] | BuiltinTools",
    node: "readonly string[] | BuiltinTools",
};
/// The option `thinking_budgets`.
pub const BUDGETS: Type =
    Type::Special { expected: "tokens by level, such as {\"low\": 2048}", python: "Mapping[str, int]", node: "ThinkingBudgets" };
/// The option `tool_choice`.
pub const TOOL_CHOICE: Type = Type::Special {
    expected: "\"auto\", \"none\", \"required\" or {\"tool\": name}",
    python: "Literal[\"auto\", \"none\", \"required\"] | _JsonObject",
    node: "ToolChoice",
};
