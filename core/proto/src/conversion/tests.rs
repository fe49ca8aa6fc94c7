//! Conversions: samples of each format come back as they were, our messages too where the format holds them, and what is not
//! carried over is reported.

mod properties;
mod recorded;
mod refusals;
mod reports;
mod samples;

use serde_json::Value;

use super::{Exported, Format, Imported, export, import};

fn read(format: Format, messages: &Value) -> Imported {
    import(format, messages, None).unwrap_or_else(|error| panic!("{}: {error}", format.as_str()))
}

fn written(format: Format, read: &Imported) -> Exported {
    export(format, &read.messages, &read.system_prompt)
}

fn codes(losses: &[super::Loss]) -> Vec<(usize, &str)> {
    losses.iter().map(|loss| (loss.index, loss.code)).collect()
}

/// The messages in canonical JSON.
fn canonical(read: &Imported) -> Value {
    serde_json::to_value(&read.messages).unwrap()
}
