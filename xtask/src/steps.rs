//! Actions and inputs of a loop that is stepped: dicts of Python, interfaces of Node, the lists of the documentation and of the
//! header.

use agent_loop_proto::table::fields::{FieldRow, is_same_type};
use agent_loop_proto::table::steps::{StepRow, actions, inputs};

use crate::text::{camel, wrap};
use crate::{doc, types};

/// The types of fields that have other names here, where all is JSON: Rust, Python, Node, and what JSON has.
const TYPES: &[(&str, &str, &str, &str)] = &[
    ("Event", "dict[str, Any]", "AgentEvent", "event"),
    ("Auth", "Auth", "Auth", "`{header, prefix, variables, optional}`"),
    ("ModelRequest", "dict[str, Any]", "ModelRequest", "object"),
    ("HookInput", "dict[str, Any]", "any", "object"),
    ("Box<RunResult>", "dict[str, Any]", "RunResult", "result"),
    ("Value", "Any", "unknown", "any JSON"),
    ("Option<u64>", "int | None", "number | null", "number or null"),
    ("Option<Value>", "Any", "unknown", "any JSON"),
    ("Option<String>", "str", "string", "text"),
    ("Option<Error>", "Mapping[str, Any]", "LoopFailure", "error"),
];

/// The exact types that a field may name, in the same columns.
const EXACT: &[(&str, &str, &str, &str)] = &[
    ("Headers", "Mapping[str, str]", "Readonly<Record<string, string>>", "object of texts"),
    ("Options", "Mapping[str, Any]", "LoopChanges", "object"),
    ("Prompt", "_Prompt", "PromptInput", "prompt"),
];

fn find(field: &FieldRow) -> Option<(&'static str, &'static str, &'static str)> {
    let (list, wanted) = if field.exact.is_empty() { (TYPES, field.rust) } else { (EXACT, field.exact) };
    list.iter().find(|(name, ..)| is_same_type(name, wanted)).map(|(_, python, node, json)| (*python, *node, *json))
}

fn names(field: &FieldRow) -> (&'static str, &'static str, &'static str) {
    find(field).unwrap_or_else(|| {
        let types::Names { python, node, json } = types::names(field);
        (python, node, json)
    })
}

/// Checks that the types of all fields are known.
///
/// # Errors
/// Names a field whose type is not in the lists of this file.
pub(crate) fn check() -> Result<(), String> {
    let mut fields = actions().iter().chain(inputs()).flat_map(|row| row.fields);
    match fields.find(|field| find(field).is_none() && types::find(field).is_none()) {
        Some(FieldRow { name, rust, exact, .. }) => {
            Err(format!("the field {name}: add its type, {rust} {exact}, to xtask/src/steps.rs"))
        }
        None => Ok(()),
    }
}

fn documented(row: &StepRow) -> String {
    doc::sentence(row.doc, row.since)
}

// ---- Python

fn python_class(row: &StepRow, suffix: &str) -> String {
    let field = |field: &FieldRow| {
        let text = doc::of_python(&doc::of_field(field, row.since), "    ");
        let kind = names(field).0;
        let kind = if field.is_optional { format!("NotRequired[{kind}]") } else { kind.to_owned() };
        format!("    {}: {kind}\n{text}", field.name)
    };
    let (text, variant) = (doc::of_python(&documented(row), "    "), row.variant);
    let fields: String = row.fields.iter().map(field).collect();
    format!("\n\nclass {variant}{suffix}(TypedDict):\n{text}\n    type: Literal[\"{}\"]\n{fields}", row.word)
}

fn python_union(rows: &[StepRow], suffix: &str) -> String {
    rows.iter().map(|row| format!("    | {}{suffix}\n", row.variant)).collect::<String>().replacen("    | ", "    ", 1)
}

pub(crate) fn python_actions() -> String {
    actions().iter().map(|row| python_class(row, "Action")).collect::<String>() + "\n\n"
}

pub(crate) fn python_action_union() -> String {
    python_union(actions(), "Action")
}

pub(crate) fn python_inputs() -> String {
    inputs().iter().map(|row| python_class(row, "Input")).collect::<String>() + "\n\n"
}

pub(crate) fn python_input_union() -> String {
    python_union(inputs(), "Input")
}

// ---- Node

fn node_interface(row: &StepRow, suffix: &str) -> String {
    let field = |field: &FieldRow| {
        let text = doc::of_node(&doc::of_field(field, row.since), "  ");
        let (name, kind) = (camel(field.name), names(field).1);
        match field.is_optional {
            true if kind == "unknown" => format!("{text}  {name}?: {kind}\n"),
            true => format!("{text}  {name}?: {kind} | undefined\n"),
            false => format!("{text}  {name}: {kind}\n"),
        }
    };
    let fields: String = row.fields.iter().map(field).collect();
    let text = doc::of_node(&documented(row), "");
    format!("\n{text}export interface {}{suffix} {{\n  type: '{}'\n{fields}}}\n", row.variant, row.word)
}

fn node_union(rows: &[StepRow], suffix: &str) -> String {
    rows.iter().map(|row| format!("  | {}{suffix}\n", row.variant)).collect()
}

pub(crate) fn node_actions() -> String {
    actions().iter().map(|row| node_interface(row, "Action")).collect::<String>() + "\n"
}

pub(crate) fn node_action_union() -> String {
    node_union(actions(), "Action")
}

pub(crate) fn node_inputs() -> String {
    inputs().iter().map(|row| node_interface(row, "Input")).collect::<String>() + "\n"
}

pub(crate) fn node_input_union() -> String {
    node_union(inputs(), "Input")
}

// ---- C

fn header(rows: &[StepRow]) -> String {
    let line = |row: &StepRow| {
        let fields: Vec<String> =
            row.fields.iter().map(|field| format!("{}{}", field.name, if field.is_optional { "?" } else { "" })).collect();
        let fields = if fields.is_empty() { String::new() } else { format!("{{{}}} ", fields.join(", ")) };
        let text = format!("{fields}{}", documented(row)).replace('`', "");
        wrap(&text, &format!(" *   {:<22} ", row.word), &format!(" * {:25}", ""), 104)
    };
    format!(" *\n{} *\n", rows.iter().map(line).collect::<String>())
}

pub(crate) fn header_actions() -> String {
    header(actions())
}

pub(crate) fn header_inputs() -> String {
    header(inputs())
}

// ---- documentation

fn docs(rows: &[StepRow]) -> String {
    let line = |row: &StepRow| {
        let fields = row.fields.iter().map(|field| {
            let optional = if field.is_optional { "?" } else { "" };
            let text = format!("`{}{optional}` ({}): {}", field.name, names(field).2, doc::of_field(field, row.since));
            wrap(&text, "  - ", "    ", 118)
        });
        format!("{}{}", wrap(&format!("`{}`: {}", row.word, documented(row)), "- ", "  ", 118), fields.collect::<String>())
    };
    format!("\n{}\n", rows.iter().map(line).collect::<String>())
}

pub(crate) fn docs_actions() -> String {
    docs(actions())
}

pub(crate) fn docs_inputs() -> String {
    docs(inputs())
}
