//! Error kinds: constants in C, classes in Python and Node, the lists of the documentation.

use agent_loop_proto::table::errors::{ERROR_KINDS, ErrorKindRow, Origin};

use crate::doc;
use crate::text::constant;

fn each(write: impl Fn(&ErrorKindRow) -> String) -> String {
    ERROR_KINDS.iter().map(write).collect()
}

fn of(origin: Origin) -> impl Iterator<Item = &'static ErrorKindRow> {
    ERROR_KINDS.iter().filter(move |row| row.origin == origin)
}

fn documented(row: &ErrorKindRow) -> String {
    doc::sentence(row.doc, row.since)
}

fn status(row: &ErrorKindRow) -> String {
    format!("AGENT_{}", constant(row.word))
}

fn python_class(row: &ErrorKindRow) -> String {
    row.python.strip_prefix('=').map_or_else(|| node_class(row), str::to_owned)
}

fn node_class(row: &ErrorKindRow) -> String {
    format!("{}Error", row.variant)
}

pub(crate) fn header() -> String {
    let constants = |origin| -> String {
        of(origin).map(|row| format!("    /** {} */\n    {} = {},\n", documented(row), status(row), row.status)).collect()
    };
    format!(
        "\n    /* Runtime failures: reported in events, messages and agent_run_error(). */\n\n{}\
         \n    /* Usage errors: returned by calls. */\n\n{}\n",
        constants(Origin::Runtime),
        constants(Origin::Usage)
    )
}

pub(crate) fn ffi_constants() -> String {
    each(|row| format!("/// {}\npub const {}: agent_status_t = {};\n", documented(row), status(row), row.status))
}

pub(crate) fn ffi_statuses() -> String {
    each(|row| format!("        ErrorKind::{} => {},\n", row.variant, status(row)))
}

pub(crate) fn ffi_words() -> String {
    each(|row| format!("        {} => c\"{}\",\n", status(row), row.word))
}

pub(crate) fn native_python_classes() -> String {
    each(|row| format!("        ErrorKind::{} => \"{}\",\n", row.variant, python_class(row)))
}

pub(crate) fn native_node_classes() -> String {
    each(|row| format!("        ErrorKind::{} => \"{}\",\n", row.variant, node_class(row)))
}

fn python_names(line: impl Fn(&str) -> String) -> String {
    let mut names: Vec<String> = ERROR_KINDS.iter().map(python_class).chain(["AgentError".to_owned()]).collect();
    names.sort();
    names.iter().map(|name| line(name)).collect()
}

pub(crate) fn python_imports() -> String {
    python_names(|name| format!("    {name},\n"))
}

pub(crate) fn python_exports() -> String {
    python_names(|name| format!("    \"{name}\",\n"))
}

pub(crate) fn python_classes() -> String {
    let class = |row: &ErrorKindRow| {
        let base = if row.python_base.is_empty() { String::new() } else { format!(", {}", row.python_base) };
        let (name, doc, word) = (python_class(row), documented(row), row.word);
        format!("\n\nclass {name}(AgentError{base}):\n    \"\"\"{doc}\"\"\"\n\n    kind = \"{word}\"\n")
    };
    format!("{}\n\n", each(class))
}

pub(crate) fn node_kinds() -> String {
    each(|row| format!("  | '{}'\n", row.word))
}

pub(crate) fn node_classes() -> String {
    each(|row| format!("/** {} */\nexport class {} extends AgentError {{}}\n", documented(row), node_class(row)))
}

pub(crate) fn node_table() -> String {
    each(|row| format!("  {}: {},\n", row.word, node_class(row)))
}

pub(crate) fn node_exports() -> String {
    each(|row| format!("  {},\n", node_class(row)))
}

fn docs(origin: Origin) -> String {
    let rows: String = of(origin)
        .map(|row| {
            let retry = if row.is_retryable { "yes" } else { "" };
            match origin {
                Origin::Runtime => format!("| `{}` | {} | {retry} |\n", row.word, documented(row)),
                Origin::Usage => format!("| `{}` | {} |\n", row.word, documented(row)),
            }
        })
        .collect();
    let head = match origin {
        Origin::Runtime => "| kind | meaning | retryable |\n| --- | --- | --- |",
        Origin::Usage => "| kind | meaning |\n| --- | --- |",
    };
    format!("\n{head}\n{rows}\n")
}

pub(crate) fn docs_runtime() -> String {
    docs(Origin::Runtime)
}

pub(crate) fn docs_usage() -> String {
    docs(Origin::Usage)
}
