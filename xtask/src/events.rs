//! Events: constants and tables of the C library, exports of Python, the union of Node.

use agent_loop_proto::table::events::{EventRow, all};

use crate::text::{constant, sentence};

fn each(write: impl Fn(&EventRow) -> String) -> String {
    all().into_iter().map(write).collect()
}

fn kind(row: &EventRow) -> String {
    format!("AGENT_EVENT_{}", constant(row.word))
}

pub(crate) fn header() -> String {
    each(|row| format!("    /** {} */\n    {} = {},\n", sentence(row.doc), kind(row), row.value))
}

pub(crate) fn ffi_constants() -> String {
    each(|row| format!("/// {}\npub const {}: i32 = {};\n", sentence(row.doc), kind(row), row.value))
}

pub(crate) fn ffi_kinds() -> String {
    each(|row| {
        let (variant, kind) = (row.variant, kind(row));
        let fields = if row.has_fields { " { .. }" } else { "" };
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

pub(crate) fn node_updates() -> String {
    all().into_iter().filter(|row| row.is_update).map(|row| format!("  | {}Event\n", row.variant)).collect()
}

pub(crate) fn node_union() -> String {
    let others = all().into_iter().filter(|row| !row.is_update).map(|row| format!("  | {}Event\n", row.variant));
    others.chain(["  | MessageUpdateEvent\n".to_owned()]).collect()
}
