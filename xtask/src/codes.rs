//! Codes of diagnostics and of transcript repairs: the tables of the documentation.

use agent_loop_proto::table::codes::{DIAGNOSTICS, REPAIRS};

use crate::text::sentence;

pub(crate) fn docs_diagnostics() -> String {
    let rows: String =
        DIAGNOSTICS.iter().map(|row| format!("| `{}` | {} | {} |\n", row.word, sentence(row.doc), row.data)).collect();
    format!("\n| code | meaning | `data` |\n| --- | --- | --- |\n{rows}\n").replace(" |  |", " | |")
}

pub(crate) fn docs_repairs() -> String {
    let rows: String = REPAIRS.iter().map(|row| format!("| `{}` | {} |\n", row.word, sentence(row.doc))).collect();
    format!("\n| code | what was done |\n| --- | --- |\n{rows}\n")
}
