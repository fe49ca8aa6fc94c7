//! Log records: constants of the C library, types of Python and Node, the tables of the documentation.

use agent_loop_proto::table::logs::{LOG_CODES, LOG_LEVELS, LogCodeRow, LogLevelRow};

use crate::doc::{self, sentence};
use crate::text::constant;

fn levels(write: impl Fn(&LogLevelRow) -> String) -> String {
    LOG_LEVELS.iter().map(write).collect()
}

fn codes(write: impl Fn(&LogCodeRow) -> String) -> String {
    LOG_CODES.iter().map(write).collect()
}

fn name_in_c(row: &LogLevelRow) -> String {
    format!("AGENT_LOG_{}", constant(row.level.as_str()))
}

pub(crate) fn header() -> String {
    levels(|row| format!("{}    {} = {},\n", doc::of_c(&sentence(row.doc, row.since)), name_in_c(row), row.level as u8))
}

pub(crate) fn ffi_constants() -> String {
    levels(|row| {
        let doc = doc::of_rust(&sentence(row.doc, row.since));
        format!("{doc}pub const {}: i32 = {};\n", name_in_c(row), row.level as u8)
    })
}

pub(crate) fn ffi_numbers() -> String {
    levels(|row| format!("        LogLevel::{} => {},\n", row.variant, name_in_c(row)))
}

pub(crate) fn ffi_words() -> String {
    levels(|row| format!("        {} => c\"{}\",\n", name_in_c(row), row.level.as_str()))
}

pub(crate) fn python_codes() -> String {
    codes(|row| format!("    \"{}\",  # {}\n", row.code.word, sentence(row.doc, row.since)))
}

pub(crate) fn node_levels() -> String {
    levels(|row| format!("  /** {} */\n  | '{}'\n", sentence(row.doc, row.since), row.level.as_str()))
}

pub(crate) fn node_list_of_levels() -> String {
    levels(|row| format!("  '{}',\n", row.level.as_str()))
}

pub(crate) fn node_codes() -> String {
    codes(|row| format!("  /** {} */\n  | '{}'\n", sentence(row.doc, row.since), row.code.word))
}

pub(crate) fn docs_codes() -> String {
    let line = |row: &LogCodeRow| {
        let (word, level) = (row.code.word, row.code.level.as_str());
        format!("| `{word}` | {level} | {} | {} |\n", sentence(row.doc, row.since), row.data)
    };
    format!("\n| code | level | meaning | `data` |\n| --- | --- | --- | --- |\n{}\n", codes(line)).replace(" |  |", " | |")
}
