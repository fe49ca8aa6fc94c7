//! Codes of diagnostics, of transcript repairs and of conversions: types of Python and Node, the tables of the documentation.

use agent_loop_proto::table::codes::{CodeRow, DIAGNOSTICS, LOSSES, REPAIRS};

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

pub(crate) fn python_losses() -> String {
    python(LOSSES)
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

pub(crate) fn node_losses() -> String {
    node(LOSSES)
}

pub(crate) fn docs_diagnostics() -> String {
    let rows = each(DIAGNOSTICS, |row| format!("| `{}` | {} | {} |\n", row.word, sentence(row.doc, row.since), row.data));
    format!("\n| code | meaning | `data` |\n| --- | --- | --- |\n{rows}\n").replace(" |  |", " | |")
}

fn docs(rows: &[CodeRow]) -> String {
    let rows = each(rows, |row| format!("| `{}` | {} |\n", row.word, sentence(row.doc, row.since)));
    format!("\n| code | what was done |\n| --- | --- |\n{rows}\n")
}

pub(crate) fn docs_repairs() -> String {
    docs(REPAIRS)
}

pub(crate) fn docs_losses() -> String {
    docs(LOSSES)
}
