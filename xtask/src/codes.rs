//! Codes of diagnostics and of transcript repairs: types of Python and Node, the tables of the documentation.

use agent_loop_proto::table::codes::{CodeRow, DIAGNOSTICS, REPAIRS};

use crate::doc::sentence;

fn each(rows: &[CodeRow], write: impl Fn(&CodeRow) -> String) -> String {
    rows.iter().map(write).collect()
}

fn python(rows: &[CodeRow]) -> String {
    each(rows, |row| format!("    \"{}\",  # {}\n", row.word, sentence(row.doc, row.since)))
}

pub(crate) fn python_diagnostics() -> String {
    python(DIAGNOSTICS)
}

pub(crate) fn python_repairs() -> String {
    python(REPAIRS)
}

fn node(rows: &[CodeRow]) -> String {
    each(rows, |row| format!("  /** {} */\n  | '{}'\n", sentence(row.doc, row.since), row.word))
}

pub(crate) fn node_diagnostics() -> String {
    node(DIAGNOSTICS)
}

pub(crate) fn node_repairs() -> String {
    node(REPAIRS)
}

pub(crate) fn docs_diagnostics() -> String {
    let rows = each(DIAGNOSTICS, |row| format!("| `{}` | {} | {} |\n", row.word, sentence(row.doc, row.since), row.data));
    format!("\n| code | meaning | `data` |\n| --- | --- | --- |\n{rows}\n").replace(" |  |", " | |")
}

pub(crate) fn docs_repairs() -> String {
    let rows = each(REPAIRS, |row| format!("| `{}` | {} |\n", row.word, sentence(row.doc, row.since)));
    format!("\n| code | what was done |\n| --- | --- |\n{rows}\n")
}
