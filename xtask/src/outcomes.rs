//! Outcomes and stop reasons: constants of the C library, words of Python and Node, the tables of the documentation.

use agent_loop_proto::table::outcomes::{OUTCOMES, OutcomeRow, STOP_REASONS, StopReasonRow};

use crate::doc::{self, sentence};
use crate::text::constant;

fn outcomes(write: impl Fn(&OutcomeRow) -> String) -> String {
    OUTCOMES.iter().map(write).collect()
}

fn stop_reasons(write: impl Fn(&StopReasonRow) -> String) -> String {
    STOP_REASONS.iter().map(write).collect()
}

fn name_in_c(row: &OutcomeRow) -> String {
    format!("AGENT_OUTCOME_{}", constant(row.outcome.as_str()))
}

pub(crate) fn header() -> String {
    outcomes(|row| format!("{}    {} = {},\n", doc::of_c(&sentence(row.doc, row.since)), name_in_c(row), row.value))
}

pub(crate) fn ffi_constants() -> String {
    outcomes(|row| {
        let doc = doc::of_rust(&sentence(row.doc, row.since));
        format!("{doc}pub const {}: i32 = {};\n", name_in_c(row), row.value)
    })
}

pub(crate) fn ffi_numbers() -> String {
    outcomes(|row| format!("        Outcome::{} => {},\n", row.variant, name_in_c(row)))
}

pub(crate) fn ffi_words() -> String {
    outcomes(|row| format!("        {} => c\"{}\",\n", name_in_c(row), row.outcome.as_str()))
}

fn of_python(word: &str, doc: &[&str], since: &str) -> String {
    format!("    \"{word}\",  # {}\n", sentence(doc, since))
}

pub(crate) fn python_outcomes() -> String {
    outcomes(|row| of_python(row.outcome.as_str(), row.doc, row.since))
}

pub(crate) fn python_stop_reasons() -> String {
    stop_reasons(|row| of_python(row.reason.as_str(), row.doc, row.since))
}

fn of_node(word: &str, doc: &[&str], since: &str) -> String {
    format!("{}  | '{word}'\n", doc::of_node(&sentence(doc, since), "  "))
}

pub(crate) fn node_outcomes() -> String {
    outcomes(|row| of_node(row.outcome.as_str(), row.doc, row.since))
}

pub(crate) fn node_stop_reasons() -> String {
    stop_reasons(|row| of_node(row.reason.as_str(), row.doc, row.since))
}

pub(crate) fn docs_outcomes() -> String {
    let rows = outcomes(|row| format!("| `{}` | {} |\n", row.outcome.as_str(), sentence(row.doc, row.since)));
    format!("\n| outcome | when |\n| --- | --- |\n{rows}\n")
}

pub(crate) fn docs_stop_reasons() -> String {
    let rows = stop_reasons(|row| format!("| `{}` | {} |\n", row.reason.as_str(), sentence(row.doc, row.since)));
    format!("\n| `stop_reason` | meaning |\n| --- | --- |\n{rows}| null | The message is not complete. |\n\n")
}
