//! The types of fields in the other languages, by the type that the table gives them in Rust.

use agent_loop_proto::table::fields::{FieldRow, is_same_type};
use agent_loop_proto::table::{events, hooks};

/// Rust, Python, Node, and what JSON has, for the documentation.
const TYPES: &[(&str, &str, &str, &str)] = &[
    ("bool", "bool", "boolean", "true or false"),
    ("u16", "int", "number", "number"),
    ("u32", "int", "number", "number"),
    ("u64", "int", "number", "number"),
    ("String", "str", "string", "text"),
    ("Option<String>", "str | None", "string | null", "text or null"),
    ("Vec<String>", "list[str]", "string[]", "texts"),
    ("ThinkingLevel", "_ThinkingLevel", "ThinkingLevel", "word"),
    ("Arc<str>", "str", "string", "text"),
    ("Cow<'static, str>", "str", "string", "text"),
    ("Map<String, Value>", "dict[str, Any]", "Record<string, any>", "object"),
    ("Arc<Map<String, Value>>", "dict[str, Any]", "Record<string, unknown>", "object"),
    ("Box<Value>", "Any", "unknown", "any JSON"),
    ("Value", "Any", "unknown", "any JSON"),
    ("Option<Value>", "Any", "unknown", "any JSON"),
    ("Option<Box<Value>>", "Any", "unknown", "any JSON"),
    ("Arc<Event>", "Event", "AgentEvent", "event"),
    ("Arc<Message>", "Message", "Message", "message"),
    ("Vec<Arc<Message>>", "tuple[Message, ...]", "Message[]", "messages"),
    ("Box<ContentBlock>", "ContentBlock", "ContentBlock", "block"),
    ("Box<PartialResult>", "PartialResult", "PartialResult", "`{content, details}`"),
    ("Box<ToolOutput>", "ToolOutput", "ToolOutput", "`{content, details, terminate}`"),
    ("ToolOutput", "ToolOutput", "ToolOutput", "`{content, details, terminate}`"),
    ("Box<Usage>", "Usage", "Usage", "usage"),
    ("Outcome", "_Outcome", "Outcome", "outcome"),
    ("Error", "AgentError", "ErrorInfo", "error"),
    ("Option<Box<[SuspendedCall]>>", "tuple[SuspendedCall, ...] | None", "SuspendedCall[]", "calls that wait"),
    ("Option<Error>", "AgentError | None", "ErrorInfo", "error"),
];

/// The exact types that a field may name, in the same columns.
const EXACT: &[(&str, &str, &str, &str)] = &[
    ("DiagnosticCode", "str", "DiagnosticCode | (string & {})", "text"),
    ("TextBlock", "TextBlock", "TextBlock", "`text` block"),
    ("ThinkingBlock", "ThinkingBlock", "ThinkingBlock", "`thinking` block"),
    ("ToolCall", "ToolCall", "ToolCallBlock", "`tool_call` block"),
    ("AssistantMessage", "AssistantMessage", "AssistantMessage", "assistant message"),
    ("MaybeAssistantMessage", "AssistantMessage | None", "AssistantMessage | null", "assistant message or null"),
    ("ToolResults", "tuple[ToolResultMessage, ...]", "ToolResultMessage[]", "tool result messages"),
    ("Headers", "dict[str, str]", "Record<string, string>", "object of texts"),
];

/// The answers of hooks: Rust, Python, Node, and how Node passes them to the engine. Of a type of its own that is not here
/// [`find_answer`] assumes an object, which has the same name in Node.
const ANSWERS: &[(&str, &str, &str, &str)] = &[
    ("()", "object", "", "ignored"),
    ("bool", "bool | None", "boolean", "unchanged"),
    ("Option<String>", "str | None", "string", "unchanged"),
    ("Option<ApiKey>", "str | ApiKeyHeaders | _JsonObject | None", "ApiKey", "unchanged"),
    ("Option<Map<String, Value>>", "_JsonObject | None", "Record<string, unknown>", "unchanged"),
    ("Option<Vec<Arc<Message>>>", "_Messages | None", "readonly MessageInput[]", "canonical"),
    ("Vec<Message>", "_Prompt | Sequence[str] | None", "PromptInput | readonly string[]", "canonical"),
    ("Option<Decision>", "str | _JsonObject | None", "Decision", "unchanged"),
    ("InterruptedDecision", "str | _JsonObject | None", "InterruptedDecision", "canonical"),
    ("McpElicited", "_JsonObject | None", "McpElicited", "unchanged"),
    ("McpSampled", "str | _JsonObject | None", "McpSampled", "unchanged"),
    ("ToolDecision", "ToolDecision | _JsonObject | None", "ToolDecision", "unchanged"),
    ("ToolOverride", "ToolOverride | _JsonObject | None", "ToolOverride", "canonical"),
    ("TurnChange", "TurnChange | _JsonObject | None", "TurnChange", "turnChange"),
];

/// An answer in Python, in Node, and how Node passes it to the engine.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) python: &'static str,
    pub(crate) node: &'static str,
    pub(crate) form: &'static str,
}

fn find_answer(output: &'static str) -> Option<Answer> {
    let known = ANSWERS.iter().find(|(rust, ..)| is_same_type(rust, output));
    let object = is_own_type(output).then_some((output, "_JsonObject | None", output, "canonical"));
    let (_, python, node, form) = known.copied().or(object)?;
    Some(Answer { python, node, form })
}

/// Whether an answer has a type of its own: a name, but for those of the language.
pub(crate) fn is_own_type(output: &str) -> bool {
    output.starts_with(|first: char| first.is_ascii_uppercase())
        && output.chars().all(char::is_alphanumeric)
        && output != "String"
}

/// Of a hook whose type was checked.
pub(crate) fn answer(output: &'static str) -> Answer {
    find_answer(output).unwrap_or(Answer { python: "?", node: "?", form: "?" })
}

/// The names of a type in Python, in Node and in the documentation.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub(crate) python: &'static str,
    pub(crate) node: &'static str,
    pub(crate) json: &'static str,
}

/// Of a field; `None` if its type is not in the lists.
pub(crate) fn find(field: &FieldRow) -> Option<Names> {
    let (list, wanted) = if field.exact.is_empty() { (TYPES, field.rust) } else { (EXACT, field.exact) };
    let (_, python, node, json) = list.iter().find(|(name, ..)| is_same_type(name, wanted))?;
    Some(Names { python, node, json })
}

/// Checks that the types of all fields are known.
///
/// # Errors
/// Names a field whose type is not in the lists of this file.
pub(crate) fn check() -> Result<(), String> {
    let inputs = hooks::all().into_iter().map(|row| row.input);
    let mut fields = events::all().into_iter().flat_map(|row| row.fields).chain(inputs.flat_map(|input| input.fields));
    if let Some(row) = hooks::all().iter().find(|row| find_answer(row.output).is_none()) {
        return Err(format!("the hook {}: add the type of its answer, {}, to xtask/src/types.rs", row.word, row.output));
    }
    match fields.find(|field| find(field).is_none()) {
        Some(FieldRow { name, rust, exact, .. }) => {
            Err(format!("the field {name}: add its type, {rust} {exact}, to xtask/src/types.rs"))
        }
        None => Ok(()),
    }
}

/// Of a field whose type was checked.
pub(crate) fn names(field: &FieldRow) -> Names {
    find(field).unwrap_or(Names { python: "?", node: "?", json: "?" })
}
