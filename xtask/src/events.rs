//! Events: constants and tables of the C library, exports and stubs of Python, interfaces of Node, lists of the documentation.

use agent_loop_proto::table::events::{EventRow, all};
use agent_loop_proto::table::fields::FieldRow;

use crate::text::{camel, constant, wrap};
use crate::{doc, types};

fn each(write: impl Fn(&EventRow) -> String) -> String {
    all().into_iter().map(write).collect()
}

fn documented(row: &EventRow) -> String {
    doc::sentence(row.doc, row.since)
}

fn kind(row: &EventRow) -> String {
    format!("AGENT_EVENT_{}", constant(row.word))
}

pub(crate) fn header() -> String {
    each(|row| format!("{}    {} = {},\n", doc::of_c(&documented(row)), kind(row), row.value))
}

pub(crate) fn ffi_constants() -> String {
    each(|row| format!("{}pub const {}: i32 = {};\n", doc::of_rust(&documented(row)), kind(row), row.value))
}

pub(crate) fn ffi_kinds() -> String {
    each(|row| {
        let (variant, kind) = (row.variant, kind(row));
        let fields = if row.fields.is_empty() { "" } else { " { .. }" };
        match row.is_update {
            true => format!("        EventData::MessageUpdate(MessageUpdate::{variant}{fields}) => {kind},\n"),
            false => format!("        EventData::{variant}{fields} => {kind},\n"),
        }
    })
}

pub(crate) fn ffi_words() -> String {
    each(|row| format!("        {} => c\"{}\",\n", kind(row), row.word))
}

fn names(line: impl Fn(&str) -> String) -> String {
    let mut names: Vec<&str> = all().into_iter().map(|row| row.variant).chain(["Event", "MessageUpdate"]).collect();
    names.sort_unstable();
    names.into_iter().map(line).collect()
}

pub(crate) fn python_imports() -> String {
    names(|name| format!("    {name},\n"))
}

pub(crate) fn python_exports() -> String {
    names(|name| format!("    \"{name}\",\n"))
}

pub(crate) fn python_stubs() -> String {
    let stub = |row: &EventRow| {
        let base = if row.is_update { "MessageUpdate" } else { "_Event" };
        let positional = match row.positional {
            [] => "()".to_owned(),
            names => names.iter().map(|name| format!("Literal[\"{name}\"]")).collect::<Vec<_>>().join(", "),
        };
        // The base class of updates has their index.
        let properties = row.fields.iter().filter(|field| !row.is_update || field.name != "content_index").map(|field| {
            let text = doc::of_python(&doc::of_field(field, row.since), "        ");
            format!("    @property\n    def {}(self) -> {}:\n{text}", field.name, types::names(field).python)
        });
        format!(
            "\n@final\nclass {}({base}):\n{}\n    __match_args__: ClassVar[tuple[{positional}]]\n{}    @property\n    \
             def type(self) -> Literal[\"{}\"]: ...\n{}",
            row.variant,
            doc::of_python(&documented(row), "    "),
            constructor(row),
            row.word,
            properties.collect::<String>()
        )
    };
    format!("{}\n", each(stub))
}

/// The constructor of an event's class: the fields of patterns by position too, the others by name.
fn constructor(row: &EventRow) -> String {
    let (before, after): (Vec<&FieldRow>, Vec<&FieldRow>) =
        row.fields.iter().partition(|field| row.positional.contains(&field.name));
    let parameter = |field: &&FieldRow| {
        let default = if field.is_optional { " = None" } else { "" };
        format!("        {}: {}{default},\n", field.name, types::names(field).python)
    };
    // In the order of the patterns.
    let positional = row.positional.iter().filter_map(|name| before.iter().find(|field| field.name == *name));
    let lines: String = positional.map(parameter).chain(["        *,\n".to_owned()]).chain(after.iter().map(parameter)).collect();
    let common = "        run_id: str = \"run\",\n        seq: int = 0,\n        turn: int = 1,\n";
    format!("    def __new__(\n        cls,\n{lines}{common}    ) -> Self: ...\n")
}

/// The classes of all events.
pub(crate) fn python_union() -> String {
    all().into_iter().map(|row| format!("    {},\n", row.variant)).collect()
}

pub(crate) fn node_interfaces() -> String {
    let interface = |row: &EventRow| {
        let fields = row.fields.iter().map(|field| {
            let text = doc::of_node(&doc::of_field(field, row.since), "  ");
            let optional = if field.is_optional { "?" } else { "" };
            format!("{text}  {}{optional}: {}\n", camel(field.name), types::names(field).node)
        });
        format!(
            "\n{}export interface {}Event extends EventBase {{\n  type: '{}'\n{}}}\n",
            doc::of_node(&documented(row), ""),
            row.variant,
            row.word,
            fields.collect::<String>()
        )
    };
    format!("{}\n", each(interface))
}

pub(crate) fn node_updates() -> String {
    all().into_iter().filter(|row| row.is_update).map(|row| format!("  | {}Event\n", row.variant)).collect()
}

pub(crate) fn node_union() -> String {
    let others = all().into_iter().filter(|row| !row.is_update).map(|row| format!("  | {}Event\n", row.variant));
    others.chain(["  | MessageUpdateEvent\n".to_owned()]).collect()
}

/// The fields of each type on a line, with `?` for what may be missing.
pub(crate) fn docs_fields() -> String {
    let row = |row: &EventRow| {
        let fields: Vec<String> =
            row.fields.iter().map(|field| format!("`{}{}`", field.name, if field.is_optional { "?" } else { "" })).collect();
        format!("| `{}` | {} |\n", row.word, fields.join(", "))
    };
    format!("\n| type | fields |\n| --- | --- |\n{}\n", each(row)).replace("|  |", "| |")
}

/// What each type and each field means.
pub(crate) fn docs_reference() -> String {
    let row = |row: &EventRow| {
        let fields = row.fields.iter().map(|field| {
            let optional = if field.is_optional { "?" } else { "" };
            let text = format!("`{}{optional}` ({}): {}", field.name, types::names(field).json, doc::of_field(field, row.since));
            wrap(&text, "  - ", "    ", 118)
        });
        format!("{}{}", wrap(&format!("`{}`: {}", row.word, documented(row)), "- ", "  ", 118), fields.collect::<String>())
    };
    format!("\n{}\n", each(row))
}
